// cmake/instruction_sets.cmake sets this file's instruction set.
#if defined(__AVX2__)
#define SINTER_BYTE_BLOCK byte_block_avx2
#include "kernels/products/byte_block.inl"
#endif
