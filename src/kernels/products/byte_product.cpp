#include "kernels/products/byte_product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/per_thread.hpp"
#include "base/threads.hpp"

namespace sinter::kernels {
namespace {

/// Size of a block: the part of the right matrix that it reads stays in the second-level cache.
constexpr std::int64_t kRows = 64, kColumns = 512;
/// The minimum number of bytes of a task that transposes them.
constexpr std::int64_t kTurnedTask = 64 << 10;
/// A thread computes several blocks if they have fewer multiply-adds than this.
constexpr std::int64_t kProductTask = 1 << 20;

/// The maximum number of rows for which lines along the depth are multiplied without panels.
constexpr std::int64_t kFewRows = 8;
/// For panels: the depth that is laid out at a time, the rows that share a panel of the right matrix, and the bytes of results in a piece for the epilogue.
constexpr std::int64_t kDepth = 2048, kPanelsRows = 16 * kPanelRows, kResultBytes = 512 << 10;
/// The minimum number of columns of a task.
constexpr std::int64_t kColumnsOfTask = 256;

/// The matrices of an operand as lines along the depth.
struct Lines {
  const char* data = nullptr;
  std::int64_t step = 0;  // from one line to the next
  std::vector<std::int64_t> batch_strides;
  std::unique_ptr<char[]> turned{};

  const char* of(std::int64_t element, const std::vector<std::int64_t>& batch) const {
    std::int64_t at = 0;
    for (std::size_t axis = batch.size(); axis-- > 0; element /= batch[axis]) at += element % batch[axis] * batch_strides[axis];
    return data + at;
  }
};

/// Returns `lines` lines of `depth` bytes. With `along` they are already in memory. Otherwise each matrix is transposed, a repeated one only once.
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
  for (std::int64_t element = 0; element < elements; ++element)
    from[static_cast<std::size_t>((all.of(element, batch) - all.data) / (lines * depth))] = before.of(element, batch);
  all.turned = std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(matrices * lines * depth));
  // Transposes tiles of 16 by 16, so that both sides stay in the first-level cache.
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

struct Problem {
  const ByteOperand &a, &b;
  const std::int8_t* laid;  // b if it is already in panels, over all of the depth; or null
  std::int32_t* c;
  const std::vector<std::int64_t>& batch;
  std::int64_t elements, m, n, k;
};

/// Reports columns [column, end) of c's rows [row, last) as complete: in one piece if they are whole rows.
void run_epilogue(const Epilogue& epilogue, const Problem& p, std::int64_t row, std::int64_t last, std::int64_t column, std::int64_t end) {
  if (!epilogue) return;
  if (column == 0 && end == p.n) return epilogue(row * p.n, last * p.n);
  for (; row < last; ++row) epilogue(row * p.n + column, row * p.n + end);
}

/// Prefetches part `part` of `parts`. Parts are runs of bytes, so that a few long lines are divided too.
void ask_for(const ByteLines& l, std::int64_t part, std::int64_t parts) {
  constexpr std::int64_t kLine = 64;
  const bool along = l.depth_step == 1;
  const std::int64_t count = along ? l.lines : l.depth, step = along ? l.line_step : l.depth_step, pieces = ((along ? l.depth : l.lines) + kLine - 1) / kLine;
  for (std::int64_t piece = count * pieces * part / parts; piece < count * pieces * (part + 1) / parts; ++piece)
    __builtin_prefetch(l.data + piece / pieces * step + piece % pieces * kLine);
}

/// Computes rows [row, row + rows) and columns [column, column + columns) of one matrix of the batch, into c.
void multiply_panels(const BytePanels& panels, const Problem& p, const char* left, const char* right, std::int64_t row, std::int64_t rows, std::int64_t column,
                     std::int64_t columns, std::int32_t* c) {
  const auto lines = [&](const ByteOperand& operand, bool along, const char* data, std::int64_t first, std::int64_t count, std::int64_t k, std::int64_t depth) {
    const std::int64_t line_step = along ? operand.matrix.leading : 1, depth_step = along ? 1 : operand.matrix.leading;
    return ByteLines{data + first * line_step + k * depth_step, count, depth, line_step, depth_step, operand.is_signed};
  };
  const std::int64_t steps = (rows + kPanelRows - 1) / kPanelRows, deepest = (std::min(p.k, kDepth) + kPanelDepth - 1) / kPanelDepth;
  struct Buffers {
    std::vector<std::uint8_t> left;
    std::vector<std::int8_t> right;
  };
  Buffers& buffers = per_thread<Buffers>();
  const auto reserve = [](auto& list, std::int64_t size) {
    if (static_cast<std::int64_t>(list.size()) < size) list.resize(static_cast<std::size_t>(size));
  };
  reserve(buffers.left, rows * deepest * kPanelDepth);
  if (!p.laid) reserve(buffers.right, kPanelBlocks * kPanelColumns * deepest * kPanelDepth);
  std::int32_t of_rows[kPanelsRows];
  for (std::int64_t k = 0; k < p.k; k += kDepth) {
    const std::int64_t depth = std::min(kDepth, p.k - k), fours = (depth + kPanelDepth - 1) / kPanelDepth, block = kPanelColumns * fours * kPanelDepth;
    const auto first_row = [&](std::int64_t step) { return rows * step / steps; };
    for (std::int64_t step = 0; step < steps; ++step) {
      const std::int64_t first = first_row(step), count = first_row(step + 1) - first;
      panels.lay_left(lines(p.a, !p.a.matrix.transposed, left, row + first, count, k, depth), buffers.left.data() + first * fours * kPanelDepth,
                      p.b.is_signed ? nullptr : of_rows + first);
    }
    // Corrects for flipped bits: right numbers that were unsigned are 128 less, left numbers that were signed are 128 more.
    if (!p.b.is_signed)
      for (std::int64_t i = 0; i < rows; ++i) of_rows[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(of_rows[i]) << 7);
    for (std::int64_t j = 0; j < columns; j += kPanelBlocks * kPanelColumns) {
      const std::int64_t here = std::min<std::int64_t>(kPanelBlocks * kPanelColumns, columns - j);
      std::int32_t begin[kPanelBlocks * kPanelColumns]{};
      const std::int8_t* panel = buffers.right.data();
      std::int64_t from_block = block;
      if (p.laid) {
        from_block = kPanelColumns * ((p.k + kPanelDepth - 1) / kPanelDepth) * kPanelDepth;
        panel = p.laid + (column + j) / kPanelColumns * from_block + k * kPanelColumns;
      }
      for (std::int64_t b = 0; !p.laid && b * kPanelColumns < here; ++b) {
        const ByteLines of_block =
            lines(p.b, p.b.matrix.transposed, right, column + j + b * kPanelColumns, std::min<std::int64_t>(kPanelColumns, here - b * kPanelColumns), k, depth);
        panels.lay_right(of_block, buffers.right.data() + b * block, p.a.is_signed ? begin + b * kPanelColumns : nullptr);
      }
      // Meanwhile prefetches the next panels, because a processor does not recognise pieces of many lines as a stream.
      const std::int64_t ahead = std::min<std::int64_t>(kPanelBlocks * kPanelColumns, columns - j - here);
      const ByteLines next = p.laid ? ByteLines{reinterpret_cast<const char*>(panel + kPanelBlocks * from_block),
                                                (ahead + kPanelColumns - 1) / kPanelColumns,
                                                block,
                                                from_block,
                                                1,
                                                true}
                                    : lines(p.b, p.b.matrix.transposed, right, column + j + here, ahead, k, depth);
      for (std::int32_t& sum : begin) sum = static_cast<std::int32_t>(0U - (static_cast<std::uint32_t>(sum) << 7));
      for (std::int64_t step = 0; step < steps; ++step) {
        const std::int64_t first = first_row(step);
        ask_for(next, step, steps);
        std::int32_t* const to = c + first * p.n + j;
        PanelTile tile{buffers.left.data() + first * fours * kPanelDepth,
                       panel,
                       fours,
                       first_row(step + 1) - first,
                       here,
                       from_block,
                       p.b.is_signed ? nullptr : of_rows + first,
                       begin,
                       to,
                       p.n};
        if (k > 0) {  // adds to the sums of the earlier depth
          if (p.a.is_signed)
            for (std::int64_t i = 0; i < tile.rows; ++i)
              for (std::int64_t l = 0; l < here; ++l)
                to[i * p.n + l] = static_cast<std::int32_t>(static_cast<std::uint32_t>(to[i * p.n + l]) + static_cast<std::uint32_t>(begin[l]));
          tile.begin = nullptr;
        }
        panels.multiply(tile);
      }
    }
  }
}

/// Multiplies operands in panels. The task that multiplies a part of an operand also lays that part out.
void multiply_in_panels(const BytePanels& panels, const Problem& p, int threads, const Epilogue& epilogue) {
  const auto of = [&](const ByteOperand& operand, std::int64_t element) {
    return Lines{static_cast<const char*>(operand.matrix.data), 0, operand.matrix.batch_strides}.of(element, p.batch);
  };
  const std::int64_t max_rows = std::clamp<std::int64_t>(kResultBytes / 4 / p.n / kPanelRows * kPanelRows, 2 * kPanelRows, kPanelsRows);
  const std::int64_t row_blocks = (p.m + max_rows - 1) / max_rows, strip = kPanelBlocks * kPanelColumns;
  const std::int64_t all_work = p.elements * p.m * p.n * p.k,
                     tasks_wanted = threads > 1 ? std::clamp<std::int64_t>(all_work / kProductTask, 1, 4 * threads) : 1;
  const std::int64_t groups =
      std::clamp<std::int64_t>((tasks_wanted + p.elements * row_blocks - 1) / (p.elements * row_blocks), 1, std::max<std::int64_t>(1, p.n / kColumnsOfTask));
  const std::int64_t all = p.elements * row_blocks * groups, strips = (p.n + strip - 1) / strip,
                     together = std::max<std::int64_t>(1, kProductTask / std::max<std::int64_t>(1, all_work / all));
  run_tasks(threads, (all + together - 1) / together, [&](std::int64_t task) {
    for (std::int64_t number = task * together; number < std::min(all, (task + 1) * together); ++number) {
      const std::int64_t element = number / (row_blocks * groups), block = number / groups % row_blocks, group = number % groups;
      const std::int64_t row = p.m * block / row_blocks, rows = p.m * (block + 1) / row_blocks - row;
      const std::int64_t column = strips * group / groups * strip, end = std::min(p.n, strips * (group + 1) / groups * strip);
      multiply_panels(panels, p, of(p.a, element), of(p.b, element), row, rows, column, end - column, p.c + (element * p.m + row) * p.n + column);
      run_epilogue(epilogue, p, element * p.m + row, element * p.m + row + rows, column, end);
    }
  });
}

}  // namespace

const ByteBlocks& byte_blocks() {
  static const ByteBlocks chosen = [] {
#if defined(SINTER_BYTES_X86)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512f"))
      return ByteBlocks{"vnni", &byte_block_vnni, &kBytePanelsVnni};
    if (__builtin_cpu_supports("avx2")) return ByteBlocks{"avx2", &byte_block_avx2, nullptr};
#endif
    return ByteBlocks{"baseline", &byte_block_baseline, nullptr};
  }();
  return chosen;
}

void multiply_bytes(const ByteOperand& a, const ByteOperand& b, std::int32_t* c, const std::vector<std::int64_t>& batch, std::int64_t m, std::int64_t n,
                    std::int64_t k, int threads, const Epilogue& epilogue, const ByteBlocks& blocks) {
  std::int64_t elements = 1;
  for (const std::int64_t size : batch) elements *= size;
  if (elements == 0 || m == 0 || n == 0) return;
  if (k == 0) {
    std::fill_n(c, elements * m * n, 0);
    if (epilogue) epilogue(0, elements * m * n);
    return;
  }
  const int threads_here = thread_count(threads);
  const Problem problem{a, b, nullptr, c, batch, elements, m, n, k};
  if (blocks.panels && (m > kFewRows || !b.matrix.transposed)) return multiply_in_panels(*blocks.panels, problem, threads_here, epilogue);
  const Lines left = lines_of(a.matrix, !a.matrix.transposed, batch, m, k, threads_here),
              right = lines_of(b.matrix, b.matrix.transposed, batch, n, k, threads_here);
  const std::int64_t row_blocks = (m + kRows - 1) / kRows, column_blocks = (n + kColumns - 1) / kColumns, all = elements * row_blocks * column_blocks;
  const std::int64_t together = std::max<std::int64_t>(1, kProductTask / (std::min(m, kRows) * std::min(n, kColumns) * k));
  run_tasks(threads_here, (all + together - 1) / together, [&](std::int64_t task) {
    for (std::int64_t number = task * together; number < std::min(all, (task + 1) * together); ++number) {
      const std::int64_t element = number / (row_blocks * column_blocks), row = number / column_blocks % row_blocks * kRows,
                         column = number % column_blocks * kColumns;
      const std::int64_t first = (element * m + row) * n + column;
      const ByteBlock block{left.of(element, batch) + row * left.step,
                            right.of(element, batch) + column * right.step,
                            c + first,
                            std::min(kRows, m - row),
                            std::min(kColumns, n - column),
                            k,
                            left.step,
                            right.step,
                            n,
                            a.is_signed,
                            b.is_signed};
      blocks.multiply(block);
      run_epilogue(epilogue, problem, element * m + row, element * m + row + block.rows, column, column + block.columns);
    }
  });
}

const BytePanels& byte_panels() { return byte_blocks().panels ? *byte_blocks().panels : kBytePanelsBaseline; }

void multiply_laid_bytes(const std::uint8_t* a, const std::int8_t* panels, std::int32_t* c, std::int64_t m, std::int64_t n, std::int64_t k, int threads,
                         const Epilogue& epilogue, const BytePanels& by) {
  if (m == 0 || n == 0) return;
  const ByteOperand left{{a, k, {}, false}, false}, right{{panels, 0, {}, false}, true};
  const std::vector<std::int64_t> batch;
  multiply_in_panels(by, {left, right, panels, c, batch, 1, m, n, k}, thread_count(threads), epilogue);
}

std::string who_multiplies_bytes() { return fmt::format("bytes as they are stored ({})", byte_blocks().name); }

}  // namespace sinter::kernels
