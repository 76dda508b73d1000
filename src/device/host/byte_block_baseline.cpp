// cmake/matmul.cmake sets this file's instruction set.
#define SINTER_BYTE_BLOCK byte_block_baseline
#include "device/host/byte_block.inl"
