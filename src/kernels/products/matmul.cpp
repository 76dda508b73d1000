#include "kernels/products/matmul.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/threads.hpp"
#include "kernels/products/matmul_block.hpp"
#include "kernels/products/onednn.hpp"
#include "sinter/errors.hpp"

namespace sinter::kernels {
namespace {

// Blocks of c. Their sizes are multiples of every kernel's panel (48 rows with AVX-512), large enough that packing the operands again for each block costs
// little, and small enough for many threads.
constexpr std::int64_t kBlockRows = 192, kBlockColumns = 384;
/// If there are fewer than kBlocks blocks, they are halved as long as they are wider than kMinColumns and have at least kWorthHalving multiplications.
constexpr std::int64_t kBlocks = 8, kMinColumns = 96, kWorthHalving = 2 << 20;
/// Fewer multiplications than this are finished before another thread would wake up.
constexpr double kWorthThreads = 64 << 10;

bool is_float(DType dtype) { return dtype == DType::float32 || dtype == DType::float64; }

/// Computes the product of bools, an "or" of "and"s, one row of c at a time.
void multiply_bool(const MatmulBlock& p) {
  const auto* a = static_cast<const std::uint8_t*>(p.a);
  const auto* b = static_cast<const std::uint8_t*>(p.b);
  for (std::int64_t i = 0; i < p.rows; ++i) {
    auto* c = static_cast<std::uint8_t*>(p.c) + i * p.c_leading;
    std::memset(c, 0, static_cast<std::size_t>(p.columns));
    for (std::int64_t l = 0; l < p.depth; ++l) {
      if (!a[p.a_transposed ? l * p.a_leading + i : i * p.a_leading + l]) continue;
      const auto* row = b + (p.b_transposed ? l : l * p.b_leading);
      const std::int64_t step = p.b_transposed ? p.b_leading : 1;
      for (std::int64_t j = 0; j < p.columns; ++j) c[j] |= row[j * step];
    }
  }
}

/// Returns the address of row `row` and column `column` of the batch's matrix number `element`.
const char* advance(const MatmulOperand& operand, std::size_t size, const std::vector<std::int64_t>& batch, std::int64_t element, std::int64_t row,
                    std::int64_t column) {
  std::int64_t at = operand.transposed ? column * operand.leading + row : row * operand.leading + column;
  for (std::size_t axis = batch.size(); axis-- > 0; element /= batch[axis]) at += element % batch[axis] * operand.batch_strides[axis];
  return static_cast<const char*>(operand.data) + at * static_cast<std::int64_t>(size);
}

/// The minimum number of columns of a thin product in one task.
constexpr std::int64_t kMinThinColumns = 256;
/// The minimum number of elements of a right matrix that the last-level cache, or one core's share of it, does not keep from one call to the next. A library
/// copies the matrix, or if it is transposed, copies it from kCopied rows on. For up to kManyThinRows rows the copy takes longer than the products.
constexpr std::int64_t kFarMatrix = 4 << 20, kCopied = 16;
/// With 32 registers of 64 bytes also matrices that a cache keeps are read in their own layout: by up to kMoreThinRows rows, from kSmallMatrix elements on, and
/// transposed ones from a depth of kLongSum on, because the lanes of each sum are added at its end.
constexpr std::int64_t kMoreThinRows = 8, kSmallMatrix = 1 << 16, kLongSum = 128;

bool has_wide_registers() {
#if defined(SINTER_MATMUL_X86)
  return host_blocks().multiply_thin == &thin_product_avx512;
#else
  return false;
#endif
}

bool is_thin(DType dtype, bool a_transposed, bool b_transposed, std::int64_t m, std::int64_t n, std::int64_t k) {
  if (!is_float(dtype) || (a_transposed && b_transposed) || m > kManyThinRows) return false;
  if (m <= kThinRows) return true;
  if (has_wide_registers() && (b_transposed ? k >= kLongSum : m <= kMoreThinRows && n * k >= kSmallMatrix)) return true;
  return n * k >= kFarMatrix && (!b_transposed || m >= kCopied);
}
bool is_narrow(DType dtype, bool a_transposed, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kLittleDepth = 8;  // to here the widest rows, too, take less time than with packing
  if (!is_float(dtype)) return false;
  if (n <= kFewColumns && !a_transposed) return n * k <= kNarrowElements;
  const auto size = static_cast<std::int64_t>(itemsize(dtype)), row = n * size;
  if (row > kNarrowBytes / 2) return row <= kNarrowBytes && k <= kLittleDepth;
  return k * (row <= kNarrowBytes / 4 ? kNarrowBytes / 4 : kNarrowBytes / 2) <= kNarrowElements * size;
}

}  // namespace

void join_rows(MatmulOperand& a, MatmulOperand& b, std::vector<std::int64_t>& batch, std::int64_t& m, std::int64_t k) {
  while (!batch.empty()) {
    const std::int64_t count = batch.back(), step = a.batch_strides.back();
    if (count > 1) {
      if (a.transposed || b.batch_strides.back() != 0 || step < k || (m > 1 && step != m * a.leading)) return;
      if (m == 1) a.leading = step;  // a single row had no leading dimension
      m *= count;
    }
    batch.pop_back();
    a.batch_strides.pop_back();
    b.batch_strides.pop_back();
  }
}

void turn_column(MatmulOperand& a, MatmulOperand& b, std::int64_t& m, std::int64_t& n, std::int64_t k) {
  if (n != 1 || m == 1 || k == 1) return;
  MatmulOperand row = b, matrix = a;
  row.transposed = !b.transposed;
  matrix.transposed = !a.transposed;
  if (row.transposed && row.leading == 1) row.transposed = false, row.leading = k;  // one row without gaps
  if (row.transposed && matrix.transposed) return;
  a = row, b = matrix;
  std::swap(m, n);
}

const HostBlocks& host_blocks() {
  static const HostBlocks chosen = [] {
#if defined(SINTER_MATMUL_X86)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("fma"))
      return HostBlocks{
          "avx512",          &matmul_block_avx512,   &thin_product_avx512,   &narrow_product_avx512,  &depthwise_plane_avx512,      &lay_out_avx512,
          &conv_tile_avx512, &depthwise_tile_avx512, &winograd_input_avx512, &winograd_output_avx512, &multiply_byte_weights_avx512};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
      return HostBlocks{"avx2",          &matmul_block_avx2,   &thin_product_avx2,   &narrow_product_avx2,  &depthwise_plane_avx2,      &lay_out_avx2,
                        &conv_tile_avx2, &depthwise_tile_avx2, &winograd_input_avx2, &winograd_output_avx2, &multiply_byte_weights_avx2};
#endif
    return HostBlocks{
        "baseline",          &matmul_block_baseline,   &thin_product_baseline,   &narrow_product_baseline,  &depthwise_plane_baseline,      &lay_out_baseline,
        &conv_tile_baseline, &depthwise_tile_baseline, &winograd_input_baseline, &winograd_output_baseline, &multiply_byte_weights_baseline};
  }();
  return chosen;
}

void multiply(const BlockProduct& product, DType dtype, const MatmulBlock& block) {
  if (!product.multiply(dtype, block))
    throw DeviceError(fmt::format("cpu: {} failed to multiply matrices of {} by {} by {}", product.name(), block.rows, block.depth, block.columns));
}

std::string BlockProduct::name() const {
  return is_library ? std::string(implementation) : fmt::format("{} ({})", implementation, host_blocks().instruction_set);
}

BlockProduct block_product(DType dtype, double multiply_adds) {
  constexpr double kWorthLibrary = 8 << 20;  // such products take a tenth of a millisecond; opening the library takes about ten milliseconds, once
  if (dtype == DType::float32 && multiply_adds >= kWorthLibrary)
    if (const OneDnn* library = onednn()) return {.multiply = library->multiply, .implementation = library->version, .is_library = true};
  return {host_blocks().multiply, "Eigen"};
}

BlockProduct product_of(DType dtype, bool a_transposed, bool b_transposed, std::int64_t products, std::int64_t m, std::int64_t n, std::int64_t k) {
  if (is_thin(dtype, a_transposed, b_transposed, m, n, k)) return {host_blocks().multiply_thin, "rows times the matrix, unpacked", true};
  if (is_narrow(dtype, a_transposed, n, k)) return {host_blocks().multiply_narrow, "rows times a narrow matrix, unpacked"};
  // With little depth oneDNN 2.6 takes up to a hundred times as long for some numbers of columns.
  constexpr std::int64_t kLibraryDepth = 16;
  const double multiply_adds = static_cast<double>(products) * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  return block_product(dtype, k >= kLibraryDepth ? multiply_adds : 0);
}

void matmul(DType dtype, const MatmulOperand& a, const MatmulOperand& b, void* c, const std::vector<std::int64_t>& batch, std::int64_t m, std::int64_t n,
            std::int64_t k, int threads, const Epilogue& epilogue) {
  if (dtype != DType::bool_ && !host_blocks().multiply(dtype, MatmulBlock{}))
    throw DTypeError(fmt::format("matmul: no product of {} matrices; cast them first", name(dtype)));
  std::int64_t elements = 1;
  for (const std::int64_t axis : batch) elements *= axis;
  if (elements == 0 || m == 0 || n == 0) return;
  const std::size_t size = itemsize(dtype);
  if (k == 0) {
    std::memset(c, 0, static_cast<std::size_t>(elements * m * n) * size);
    if (epilogue) epilogue(0, elements * m * n);
    return;
  }
  const BlockProduct product = product_of(dtype, a.transposed, b.transposed, elements, m, n, k);
  const bool thin = product.thin;
  const int threads_here = thread_count(threads);
  // The bits of thin products do not depend on the division of columns. Each thread gets some columns, in long pieces of memory.
  const std::int64_t wide = std::max(kMinThinColumns, (n / (threads_here > 1 ? 4 * threads_here : 1) + kThinColumns - 1) / kThinColumns * kThinColumns);
  std::int64_t block_columns = thin ? std::min(wide, n) : kBlockColumns;
  const std::int64_t row_blocks = (m + kBlockRows - 1) / kBlockRows;
  // If there are few blocks, they are divided, depending only on shapes, so that several threads have work.
  while (!thin && block_columns > kMinColumns && elements * row_blocks * ((n + block_columns - 1) / block_columns) < kBlocks &&
         std::min(kBlockRows, m) * block_columns * k >= kWorthHalving)
    block_columns /= 2;
  const std::int64_t column_blocks = (n + block_columns - 1) / block_columns;
  const auto run_block = [&](std::int64_t task) {
    const std::int64_t element = task / (row_blocks * column_blocks), in_element = task % (row_blocks * column_blocks);
    const std::int64_t row = in_element / column_blocks * kBlockRows, column = in_element % column_blocks * block_columns;
    const MatmulBlock block{advance(a, size, batch, element, row, 0),
                            advance(b, size, batch, element, 0, column),
                            static_cast<char*>(c) + ((element * m + row) * n + column) * static_cast<std::int64_t>(size),
                            std::min(kBlockRows, m - row),
                            std::min(block_columns, n - column),
                            k,
                            a.leading,
                            b.leading,
                            n,
                            a.transposed,
                            b.transposed};
    if (dtype == DType::bool_) multiply_bool(block);
    else multiply(product, dtype, block);
    if (!epilogue) return;
    const std::int64_t first = (element * m + row) * n + column;
    if (block.columns == n) epilogue(first, first + block.rows * n);
    else
      for (std::int64_t i = 0; i < block.rows; ++i) epilogue(first + i * n, first + i * n + block.columns);
  };
  // Small products of a large batch are grouped into tasks, because starting a task for each would cost more than the product.
  const double each = static_cast<double>(std::min(kBlockRows, m)) * static_cast<double>(std::min(block_columns, n)) * static_cast<double>(k);
  const auto together = static_cast<std::int64_t>(std::max(1.0, kWorthThreads / std::max(each, 1.0)));
  const std::int64_t blocks = elements * row_blocks * column_blocks;
  run_tasks(threads_here, (blocks + together - 1) / together, [&](std::int64_t piece) {
    for (std::int64_t block = piece * together; block < std::min(blocks, (piece + 1) * together); ++block) run_block(block);
  });
}

}  // namespace sinter::kernels
