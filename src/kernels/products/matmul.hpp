// Matrix products on the host: Eigen's kernels, built for several instruction sets and chosen when first used.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/convolutions/conv_tile.hpp"
#include "kernels/convolutions/depthwise_plane.hpp"
#include "kernels/convolutions/windows.hpp"
#include "kernels/convolutions/winograd.hpp"
#include "kernels/pieces.hpp"
#include "kernels/products/matmul_block.hpp"
#include "sinter/dtype.hpp"

namespace sinter::kernels {

/// The blocks of the instruction set in use: "avx512", "avx2" or "baseline".
struct HostBlocks {
  const char* instruction_set;
  MatmulBlockFn multiply, multiply_thin;
  DepthwisePlaneFn depthwise;
  LayOutFn lay_out;
  ConvTileFn conv_tile;
  DepthwiseTileFn depthwise_tile;
  WinogradInputFn winograd_input;
  WinogradOutputFn winograd_output;
};
const HostBlocks& host_blocks();

/// Who multiplies the blocks of a product of so many multiply-adds: a library from a size on that is worth opening it.
struct BlockProduct {
  MatmulBlockFn multiply;
  std::string name;  // "oneDNN 2.6.3", "Eigen (avx512)"
};
BlockProduct block_product(DType dtype, double multiply_adds);
/// Throws DeviceError where the library fails.
void multiply(const BlockProduct& product, DType dtype, const MatmulBlock& block);

/// Whether a product of m rows is computed as the right matrix lies, without blocks.
bool is_thin(DType dtype, bool a_transposed, bool b_transposed, std::int64_t m);

/// One operand: element (i, j) of a matrix is at i * leading + j from the matrix's start, or, when transposed, at j * leading + i.
/// The matrices start at the sum of batch index * batch stride over the batch axes; a stride of 0 repeats.
struct MatmulOperand {
  const void* data = nullptr;
  std::int64_t leading = 0;
  std::vector<std::int64_t> batch_strides;  // one per batch axis
  bool transposed = false;
};

/// Matrices one below the other that are multiplied by the same one are one matrix: where it is so, the last axes of the batch become rows.
void join_rows(MatmulOperand& a, MatmulOperand& b, std::vector<std::int64_t>& batch, std::int64_t& m, std::int64_t k);

/// c (batch..., m, n), contiguous row-major, = a (batch..., m, k) times b (batch..., k, n), in one call for the whole batch. Integers wrap; bool is an or of
/// ands. The result's bits do not depend on `threads`: the grid of blocks that threads take is fixed by the shape, and k is never divided. Throws DTypeError
/// for a type it does not compute.
void matmul(DType dtype, const MatmulOperand& a, const MatmulOperand& b, void* c, const std::vector<std::int64_t>& batch, std::int64_t m, std::int64_t n,
            std::int64_t k, int threads, const Finished& finished = {});

}  // namespace sinter::kernels
