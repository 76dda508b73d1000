// Products of matrices of bytes into int32, without a conversion of the operands. A sum of up to 2^15 products never overflows.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/epilogue.hpp"
#include "kernels/products/byte_panel.hpp"
#include "kernels/products/matmul.hpp"

namespace sinter::kernels {

/// A block: c[i][j] = the sum over k of left[i][k] * right[j][k], modulo 2^32. The steps are the distances, in elements, from one i or j to the next. Elements
/// along k are adjacent.
struct ByteBlock {
  const void* left;
  const void* right;
  std::int32_t* c;
  std::int64_t rows, columns, depth;
  std::int64_t left_step, right_step, c_step;
  bool left_signed, right_signed;  // true for int8, false for uint8
};
using ByteBlockFn = void (*)(const ByteBlock& block);
void byte_block_baseline(const ByteBlock& block);
void byte_block_avx2(const ByteBlock& block);
void byte_block_vnni(const ByteBlock& block);

/// The functions of one instruction set.
struct ByteBlocks {
  const char* name;
  ByteBlockFn multiply;
  const BytePanels* panels;  // null: lines are multiplied without panels
};
/// Returns the functions for this processor.
const ByteBlocks& byte_blocks();

struct ByteOperand {
  MatmulOperand matrix;
  bool is_signed;
};

/// Computes c (batch..., m, n), contiguous row-major, of int32 = a (batch..., m, k) times b (batch..., k, n) of bytes.
void multiply_bytes(const ByteOperand& a, const ByteOperand& b, std::int32_t* c, const std::vector<std::int64_t>& batch, std::int64_t m, std::int64_t n,
                    std::int64_t k, int threads, const Epilogue& epilogue, const ByteBlocks& blocks = byte_blocks());
/// Computes c (m, n) = a (m, k) of uint8 times int8 in the layout of ops/blocked.hpp's byte_panels.
void multiply_laid_bytes(const std::uint8_t* a, const std::int8_t* panels, std::int32_t* c, std::int64_t m, std::int64_t n, std::int64_t k, int threads,
                         const Epilogue& epilogue, const BytePanels& by = byte_panels());
/// Describes the method: "bytes as they are stored (vnni)".
std::string who_multiplies_bytes();

}  // namespace sinter::kernels
