sinter_suite(blocked llvm interpreter cuda_long opencl loops_long)
sinter_run(blocked_unfused test_blocked SINTER_FUSE=off SINTER_ONEDNN=off)
sinter_suite(byte_products llvm interpreter unfused cuda_long opencl loops_long)
sinter_test(test_byte_blocks freeze)
sinter_suite(conv_bytes llvm interpreter unfused cuda_long opencl loops_long)
sinter_test(test_byte_tiles freeze)
sinter_suite(products llvm interpreter unfused cuda_long opencl)
sinter_optimised(test_products)
# Floating-point products with the stand-in for cuBLASLt.
sinter_run_emulated(products_cublaslt test_products SINTER_CUBLASLT=${CMAKE_CURRENT_BINARY_DIR}/cuda_emulator/libcublaslt_emulator.so)
sinter_run_emulated(products_cublaslt_no_epilogues test_products SINTER_EMULATOR_EPILOGUES=0
  SINTER_CUBLASLT=${CMAKE_CURRENT_BINARY_DIR}/cuda_emulator/libcublaslt_emulator.so)
sinter_run_emulated(products_cublaslt_no_algorithms test_products SINTER_EMULATOR_PRODUCTS=0
  SINTER_CUBLASLT=${CMAKE_CURRENT_BINARY_DIR}/cuda_emulator/libcublaslt_emulator.so)
set_tests_properties(products_cublaslt_no_epilogues products_cublaslt_no_algorithms PROPERTIES LABELS long)
# They compute the library calls that passes record.
target_include_directories(test_blocked PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_include_directories(test_byte_products PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_include_directories(test_conv_bytes PRIVATE ${PROJECT_SOURCE_DIR}/src)
