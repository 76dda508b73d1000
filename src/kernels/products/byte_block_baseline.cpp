// cmake/instruction_sets.cmake sets this file's instruction set.
#define SINTER_BYTE_BLOCK byte_block_baseline
#include "kernels/products/byte_block.inl"
