# The matrix product's blocks are compiled for three instruction sets and chosen at run time (src/kernels/products/matmul.cpp).
# They are always optimised. Otherwise Eigen would emit out-of-line copies of shared inline functions with these instructions.
set(kernels ${CMAKE_CURRENT_SOURCE_DIR}/src/kernels)
set(optimise -O3 -fwrapv)
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  # Every 64-bit ARM fuses multiply-adds. A compiler may then contract x*y+z anywhere, so that rounding would depend on inlining. It does so in
  # the library calls' loops alone, as on x86.
  add_compile_options(-ffp-contract=off)
  list(APPEND optimise -ffp-contract=fast)
endif()
set_source_files_properties(${kernels}/products/matmul_baseline.cpp PROPERTIES COMPILE_OPTIONS "${optimise}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(${kernels}/products/matmul.cpp PROPERTIES COMPILE_DEFINITIONS SINTER_MATMUL_X86)
  set_source_files_properties(${kernels}/products/matmul_avx2.cpp PROPERTIES COMPILE_OPTIONS "${optimise};-mavx2;-mfma")
  set_source_files_properties(${kernels}/products/matmul_avx512.cpp PROPERTIES
    # GCC 12 warns of its own _mm512_undefined_* functions.
    COMPILE_OPTIONS "${optimise};-mavx512f;-mavx512dq;-mavx512vl;-mavx512bw;-mavx2;-mfma;$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>")
endif()
# Products of bytes are compiled likewise.
set_source_files_properties(${kernels}/products/byte_block_baseline.cpp ${kernels}/products/byte_panel_baseline.cpp PROPERTIES COMPILE_OPTIONS "${optimise}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(${kernels}/products/byte_product.cpp PROPERTIES COMPILE_DEFINITIONS SINTER_BYTES_X86)
  set_source_files_properties(${kernels}/products/byte_block_avx2.cpp PROPERTIES COMPILE_OPTIONS "${optimise};-mavx2")
  set_source_files_properties(${kernels}/products/byte_block_vnni.cpp ${kernels}/products/byte_panel_vnni.cpp PROPERTIES
    COMPILE_OPTIONS "${optimise};-mavx512f;-mavx512bw;-mavx512vl;-mavx512vnni;$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-uninitialized>")
endif()
# So are convolutions of bytes, whose sums are scaled and shifted with a rounding after each operation.
set(apart ${optimise} -ffp-contract=off)
set_source_files_properties(${kernels}/convolutions/byte_tiles_baseline.cpp PROPERTIES COMPILE_OPTIONS "${apart}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(${kernels}/convolutions/conv_bytes.cpp PROPERTIES COMPILE_DEFINITIONS SINTER_BYTES_X86)
  set_source_files_properties(${kernels}/convolutions/byte_tiles_avx2.cpp PROPERTIES COMPILE_OPTIONS "${apart};-mavx2")
  set_source_files_properties(${kernels}/convolutions/byte_tiles_vnni.cpp PROPERTIES
    COMPILE_OPTIONS "${apart};-mavx512f;-mavx512bw;-mavx512vl;-mavx512vnni;$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-uninitialized>")
endif()
# So are the networks that sort short rows.
set_source_files_properties(${kernels}/sorting/sort_network_baseline.cpp PROPERTIES COMPILE_OPTIONS "${optimise}")
set_source_files_properties(${kernels}/sorting/sort.cpp PROPERTIES COMPILE_OPTIONS "-O2")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(${kernels}/sorting/sort.cpp PROPERTIES COMPILE_DEFINITIONS SINTER_SORT_X86)
  set_source_files_properties(${kernels}/sorting/sort_network_avx2.cpp PROPERTIES COMPILE_OPTIONS "${optimise};-mavx2")
  set_source_files_properties(${kernels}/sorting/sort_network_avx512.cpp PROPERTIES
    COMPILE_OPTIONS "${optimise};-mavx512f;-mavx512dq;-mavx512vl;-mavx512bw;-mavx2;-mprefer-vector-width=512")
endif()
# The gates of a recurrent layer, between its products.
set_source_files_properties(${kernels}/recurrence.cpp PROPERTIES COMPILE_OPTIONS "${optimise}")
# Fourier transforms of several rows at once.
set(fourier ${optimise} $<$<CXX_COMPILER_ID:GNU>:-Wno-psabi>)
set_source_files_properties(${kernels}/fourier/fft.cpp PROPERTIES COMPILE_OPTIONS "-O2;-fwrapv")
set_source_files_properties(${kernels}/fourier/lanes_baseline.cpp PROPERTIES COMPILE_OPTIONS "${fourier}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(${kernels}/fourier/fft.cpp PROPERTIES COMPILE_DEFINITIONS SINTER_FOURIER_X86)
  set_source_files_properties(${kernels}/fourier/lanes_avx2.cpp PROPERTIES COMPILE_OPTIONS "${fourier};-mavx2;-mfma")
  set_source_files_properties(${kernels}/fourier/lanes_avx512.cpp PROPERTIES COMPILE_OPTIONS "${fourier};-mavx512f;-mavx512dq;-mavx512vl;-mavx2;-mfma")
endif()
# The compiler vectorises the interpreter's loops; errno would prevent this for square roots. No multiply and add is contracted, so that
# rounding is the same as in compiled kernels.
set(exact -fno-math-errno -ffp-contract=off)
set_source_files_properties(${kernels}/primitives/interpreter_kernels.cpp PROPERTIES COMPILE_OPTIONS "-O3;${exact}")
# The interpreter's functions are compiled for the same instruction sets as the matrix product. Without traps both sides of a conditional
# may be computed, which a vectorised loop needs.
list(APPEND exact -fno-trapping-math)
set_source_files_properties(${kernels}/primitives/interpreter_functions_baseline.cpp PROPERTIES COMPILE_OPTIONS "${optimise};${exact}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(${kernels}/primitives/interpreter_functions_avx2.cpp PROPERTIES COMPILE_OPTIONS "${optimise};${exact};-mavx2;-mfma")
  set_source_files_properties(${kernels}/primitives/interpreter_functions_avx512.cpp PROPERTIES
    COMPILE_OPTIONS "${optimise};${exact};-mavx512f;-mavx512dq;-mavx512vl;-mavx512bw;-mavx2;-mfma;-mprefer-vector-width=512")
endif()
# Templates of Eigen and of the functions make thousands of loops. With UBSan's checks a compiler takes ten minutes and more for each file.
if(SINTER_SANITIZE MATCHES "undefined")
  file(GLOB templates ${kernels}/products/matmul_*.cpp ${kernels}/primitives/interpreter_functions_*.cpp ${kernels}/primitives/interpreter_kernels.cpp ${kernels}/fourier/*.cpp)
  set_property(SOURCE ${templates} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=undefined)
endif()
# Every evaluation hashes the key of its plan, in debug builds too.
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/src/base/hash.cpp PROPERTIES COMPILE_OPTIONS "-O3")
