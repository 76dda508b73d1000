#include "device/host/byte_product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "device/host/threads.hpp"

namespace sinter::device {
namespace {

/// Of a block: what is read of the right matrix stays in the second cache.
constexpr std::int64_t kRows = 64, kColumns = 512;
/// Bytes that are worth a task where they are only turned.
constexpr std::int64_t kTurnedTask = 64 << 10;
/// Multiply-adds below which one thread takes several blocks.
constexpr std::int64_t kWorthTask = 1 << 20;

struct Blocks {
  const char* name;
  ByteBlockFn multiply;
};

const Blocks& blocks() {
  static const Blocks chosen = [] {
#if defined(SINTER_BYTES_X86)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512f"))
      return Blocks{"vnni", &byte_block_vnni};
    if (__builtin_cpu_supports("avx2")) return Blocks{"avx2", &byte_block_avx2};
#endif
    return Blocks{"baseline", &byte_block_baseline};
  }();
  return chosen;
}

/// The matrices of an operand, each as lines along the depth.
struct Lines {
  const char* data = nullptr;
  std::int64_t step = 0;  // from line to line
  std::vector<std::int64_t> batch_strides;
  std::unique_ptr<char[]> turned{};

  const char* of(std::int64_t element, const std::vector<std::int64_t>& batch) const {
    std::int64_t at = 0;
    for (std::size_t axis = batch.size(); axis-- > 0; element /= batch[axis]) at += element % batch[axis] * batch_strides[axis];
    return data + at;
  }
};

/// `lines` of `depth` bytes; `along`: they lie so in memory. What lies across is turned, a matrix that is repeated once.
Lines lines_of(const MatmulOperand& operand, bool along, const std::vector<std::int64_t>& batch, std::int64_t lines, std::int64_t depth, int threads) {
  Lines all{static_cast<const char*>(operand.data), operand.leading, operand.batch_strides};
  if (along) return all;
  std::int64_t matrices = 1;
  for (std::size_t axis = batch.size(); axis-- > 0;) {
    const bool repeated = operand.batch_strides[axis] == 0;
    all.batch_strides[axis] = repeated ? 0 : matrices * lines * depth;
    if (!repeated) matrices *= batch[axis];
  }
  std::vector<const char*> from(static_cast<std::size_t>(matrices));
  std::int64_t elements = 1;
  for (const std::int64_t size : batch) elements *= size;
  const Lines before{all.data, all.step, operand.batch_strides};
  for (std::int64_t element = 0; element < elements; ++element) from[static_cast<std::size_t>((all.of(element, batch) - all.data) / (lines * depth))] = before.of(element, batch);
  all.turned = std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(matrices * lines * depth));
  // Squares of 16, so that both sides stay in the first cache.
  const std::int64_t some = std::clamp<std::int64_t>(kTurnedTask / depth / 16 * 16, 16, lines), parts = (lines + some - 1) / some;
  run_tasks(threads, matrices * parts, [&](std::int64_t task) {
    const char* const source = from[static_cast<std::size_t>(task / parts)];
    char* const to = all.turned.get() + task / parts * lines * depth;
    const std::int64_t last = std::min(lines, (task % parts + 1) * some);
    for (std::int64_t k = 0; k < depth; k += 16)
      for (std::int64_t line = task % parts * some; line < last; ++line)
        for (std::int64_t j = k; j < std::min(depth, k + 16); ++j) to[line * depth + j] = source[j * operand.leading + line];
  });
  all.data = all.turned.get();
  all.step = depth;
  return all;
}

}  // namespace

void multiply_bytes(const ByteOperand& a, const ByteOperand& b, std::int32_t* c, const std::vector<std::int64_t>& batch, std::int64_t m, std::int64_t n, std::int64_t k,
                    int threads, const Finished& finished) {
  std::int64_t elements = 1;
  for (const std::int64_t size : batch) elements *= size;
  if (elements == 0 || m == 0 || n == 0) return;
  if (k == 0) {
    std::fill_n(c, elements * m * n, 0);
    if (finished) finished(0, elements * m * n);
    return;
  }
  const int threads_here = thread_count(threads);
  const Lines left = lines_of(a.matrix, !a.matrix.transposed, batch, m, k, threads_here), right = lines_of(b.matrix, b.matrix.transposed, batch, n, k, threads_here);
  const std::int64_t row_blocks = (m + kRows - 1) / kRows, column_blocks = (n + kColumns - 1) / kColumns, all = elements * row_blocks * column_blocks;
  const std::int64_t together = std::max<std::int64_t>(1, kWorthTask / (std::min(m, kRows) * std::min(n, kColumns) * k));
  run_tasks(threads_here, (all + together - 1) / together, [&](std::int64_t task) {
    for (std::int64_t number = task * together; number < std::min(all, (task + 1) * together); ++number) {
      const std::int64_t element = number / (row_blocks * column_blocks), row = number / column_blocks % row_blocks * kRows, column = number % column_blocks * kColumns;
      const std::int64_t first = (element * m + row) * n + column;
      const ByteBlock block{left.of(element, batch) + row * left.step, right.of(element, batch) + column * right.step, c + first, std::min(kRows, m - row), std::min(kColumns, n - column), k,
                            left.step, right.step, n, a.is_signed, b.is_signed};
      blocks().multiply(block);
      if (!finished) continue;
      if (block.columns == n) finished(first, first + block.rows * n);
      else
        for (std::int64_t i = 0; i < block.rows; ++i) finished(first + i * n, first + i * n + block.columns);
    }
  });
}

std::string who_multiplies_bytes() { return fmt::format("bytes as they are stored ({})", blocks().name); }

}  // namespace sinter::device
