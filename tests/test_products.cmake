sinter_program(test_products)
sinter_run(products_llvm test_products SINTER_BACKEND=llvm)
sinter_run(products_interpreter test_products SINTER_BACKEND=interpreter)
sinter_run(products_unfused test_products SINTER_FUSE=off)
sinter_run_cuda(products test_products)
# Products of floats by the stand-in for cuBLASLt.
sinter_run_emulated(products_cublaslt test_products SINTER_CUBLASLT=${CMAKE_CURRENT_BINARY_DIR}/cuda_emulator/libcublaslt_emulator.so)
sinter_run_emulated(products_cublaslt_no_epilogues test_products SINTER_EMULATOR_EPILOGUES=0
  SINTER_CUBLASLT=${CMAKE_CURRENT_BINARY_DIR}/cuda_emulator/libcublaslt_emulator.so)
sinter_run_emulated(products_cublaslt_no_algorithms test_products SINTER_EMULATOR_PRODUCTS=0
  SINTER_CUBLASLT=${CMAKE_CURRENT_BINARY_DIR}/cuda_emulator/libcublaslt_emulator.so)
