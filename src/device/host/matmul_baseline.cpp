#define SINTER_MATMUL_BLOCK matmul_block_baseline
#include "device/host/matmul_block.inl"
