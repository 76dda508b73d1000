#define SINTER_MATMUL_BLOCK matmul_block_baseline
#include "kernels/products/matmul_block.inl"
#define SINTER_DEPTHWISE_PLANE depthwise_plane_baseline
#include "kernels/convolutions/depthwise_plane.inl"
#define SINTER_LAY_OUT lay_out_baseline
#include "kernels/convolutions/windows.inl"
#define SINTER_CONV_TILE conv_tile_baseline
#define SINTER_DEPTHWISE_TILE depthwise_tile_baseline
#include "kernels/convolutions/conv_tile.inl"
#define SINTER_THIN_PRODUCT thin_product_baseline
#include "kernels/products/thin_product.inl"
#define SINTER_NARROW_PRODUCT narrow_product_baseline
#include "kernels/products/narrow_product.inl"
#define SINTER_BYTE_WEIGHTS multiply_byte_weights_baseline
#include "kernels/products/byte_weights.inl"
#define SINTER_WINOGRAD_INPUT winograd_input_baseline
#define SINTER_WINOGRAD_OUTPUT winograd_output_baseline
#include "kernels/convolutions/winograd.inl"
