// Matrix products on the host: Eigen's kernels, built for several instruction sets and chosen at the first use.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/convolutions/conv_tile.hpp"
#include "kernels/convolutions/depthwise_plane.hpp"
#include "kernels/convolutions/windows.hpp"
#include "kernels/convolutions/winograd.hpp"
#include "kernels/epilogue.hpp"
#include "kernels/products/byte_weights.hpp"
#include "kernels/products/matmul_block.hpp"
#include "sinter/dtype.hpp"

namespace sinter::kernels {

/// The functions for the instruction set in use: "avx512", "avx2" or "baseline".
struct HostBlocks {
  const char* instruction_set;
  MatmulBlockFn multiply, multiply_thin, multiply_narrow;
  DepthwisePlaneFn depthwise;
  LayOutFn lay_out;
  ConvTileFn conv_tile;
  DepthwiseTileFn depthwise_tile;
  WinogradInputFn winograd_input;
  WinogradOutputFn winograd_output;
  RowsTimesBytesFn multiply_byte_weights;
};
const HostBlocks& host_blocks();

/// Returns the function that multiplies the blocks of a product with this number of multiply-adds. It is a library's function if the product is so large that
/// opening the library pays.
struct BlockProduct {
  MatmulBlockFn multiply;
  std::string_view implementation;  // "oneDNN 2.6.3", "Eigen"; never freed
  bool thin = false;                // it takes columns of any number at once
  bool is_library = false;          // oneDNN; others are compiled for several instruction sets

  std::string name() const;  // with the instruction set: "Eigen (avx512)". Formatting it takes longer than a small product.
};
BlockProduct block_product(DType dtype, double multiply_adds);
/// Multiplies a block. Throws DeviceError if the library fails.
void multiply(const BlockProduct& product, DType dtype, const MatmulBlock& block);

/// One operand. Element (i, j) of a matrix is at i * leading + j from the matrix's start, or, when transposed, at j * leading + i. A matrix starts at the sum
/// of batch index * batch stride over the batch axes; a stride of 0 repeats.
struct MatmulOperand {
  const void* data = nullptr;
  std::int64_t leading = 0;
  std::vector<std::int64_t> batch_strides;  // one for each batch axis
  bool transposed = false;
};

/// Turns the last axes of the batch into rows if the stacked matrices are multiplied by the same right matrix.
void join_rows(MatmulOperand& a, MatmulOperand& b, std::vector<std::int64_t>& batch, std::int64_t& m, std::int64_t k);

/// Makes a product by one column a product of one row, which has the same result in memory.
void turn_column(MatmulOperand& a, MatmulOperand& b, std::int64_t& m, std::int64_t& n, std::int64_t k);

/// Returns how `products` products of m by k and k by n elements, not bool, are computed. The unpacked ways are for few rows, and for narrow right matrices.
BlockProduct product_of(DType dtype, bool a_transposed, bool b_transposed, std::int64_t products, std::int64_t m, std::int64_t n, std::int64_t k);

/// Computes c (batch..., m, n), contiguous row-major, = a (batch..., m, k) times b (batch..., k, n), in one call for the whole batch. Integers wrap around;
/// a bool product is an "or" of "and"s. The result's bits do not depend on `threads`, because the grid of blocks depends only on the shape, and k is never
/// divided. Throws DTypeError for a type that it does not compute.
void matmul(DType dtype, const MatmulOperand& a, const MatmulOperand& b, void* c, const std::vector<std::int64_t>& batch, std::int64_t m, std::int64_t n,
            std::int64_t k, int threads, const Epilogue& epilogue = {});

}  // namespace sinter::kernels
