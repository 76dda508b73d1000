// cmake/instruction_sets.cmake sets this file's instruction set.
#define Eigen Eigen_avx512
#define SINTER_MATMUL_BLOCK matmul_block_avx512
#define SINTER_MATMUL_WIDER
#include "kernels/products/matmul_block.inl"
#define SINTER_DEPTHWISE_PLANE depthwise_plane_avx512
#include "kernels/convolutions/depthwise_plane.inl"
#define SINTER_LAY_OUT lay_out_avx512
#include "kernels/convolutions/windows.inl"
#define SINTER_CONV_TILE conv_tile_avx512
#define SINTER_DEPTHWISE_TILE depthwise_tile_avx512
#include "kernels/convolutions/conv_tile.inl"
#define SINTER_THIN_PRODUCT thin_product_avx512
#include "kernels/products/thin_product.inl"
#define SINTER_NARROW_PRODUCT narrow_product_avx512
#include "kernels/products/narrow_product.inl"
#define SINTER_BYTE_WEIGHTS multiply_byte_weights_avx512
#include "kernels/products/byte_weights.inl"
#define SINTER_WINOGRAD_INPUT winograd_input_avx512
#define SINTER_WINOGRAD_OUTPUT winograd_output_avx512
#include "kernels/convolutions/winograd.inl"
