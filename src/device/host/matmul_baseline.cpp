#define SINTER_MATMUL_BLOCK matmul_block_baseline
#include "device/host/matmul_block.inl"
#define SINTER_DEPTHWISE_PLANE depthwise_plane_baseline
#include "device/host/depthwise_plane.inl"
#define SINTER_LAY_OUT lay_out_baseline
#include "device/host/windows.inl"
#define SINTER_CONV_TILE conv_tile_baseline
#define SINTER_DEPTHWISE_TILE depthwise_tile_baseline
#include "device/host/conv_tile.inl"
#define SINTER_THIN_PRODUCT thin_product_baseline
#include "device/host/thin_product.inl"
#define SINTER_WINOGRAD_INPUT winograd_input_baseline
#define SINTER_WINOGRAD_OUTPUT winograd_output_baseline
#include "device/host/winograd.inl"
