#include "kernels/scatter.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <type_traits>
#include <vector>

#include "base/threads.hpp"
#include "kernels/primitives/interpreter_math.hpp"

namespace sinter::kernels {
namespace {

// The minimum number of elements of a task.
constexpr std::int64_t kTaskElements = 65536;
// Rows with at least this many elements are divided into columns for the tasks. Each task reads all indices.
constexpr std::int64_t kMinTaskColumns = 16;

struct Matrix {
  explicit Matrix(const fuse::LibraryOperand& operand)
      : offset(operand.offset), rows(operand.shape[0]), columns(operand.shape[1]), row_stride(operand.strides[0]), column_stride(operand.strides[1]) {}
  std::int64_t offset, rows, columns, row_stride, column_stride;
};

/// Functions that combine an element with a new value.
struct Replace {
  template <class T> T operator()(T, T value) const { return value; }
};
/// Returns the function as a combination of two elements; 16-bit and 8-bit floats are combined in float32.
template <class Function> constexpr auto combining(Function function) {
  return [function]<class T>(T a, T b) -> T {
    if constexpr (std::is_arithmetic_v<T>) return function(a, b);
    else return T(function(static_cast<float>(a), static_cast<float>(b)));
  };
}
constexpr auto kAdd = combining([](auto a, auto b) { return math::add(a, b); });
constexpr auto kMultiply = combining([](auto a, auto b) { return math::multiply(a, b); });
constexpr auto kMinimum = combining([](auto a, auto b) { return math::minimum(a, b); });
constexpr auto kMaximum = combining([](auto a, auto b) { return math::maximum(a, b); });

template <class T> struct Scatter {
  Matrix old, given;
  const T* base;
  const T* values;
  const std::int64_t* index;
  std::int64_t count, index_stride;
  T* result;

  void copy(std::int64_t first_row, std::int64_t last_row) const {
    if (old.row_stride == old.columns && (old.column_stride == 1 || old.columns == 1)) {
      std::copy(base + first_row * old.columns, base + last_row * old.columns, result + first_row * old.columns);
      return;
    }
    for (std::int64_t row = first_row; row < last_row; ++row) {
      const T* from = base + row * old.row_stride;
      for (std::int64_t c = 0; c < old.columns; ++c) result[row * old.columns + c] = from[c * old.column_stride];
    }
  }
  bool inside(std::int64_t row) const { return static_cast<std::uint64_t>(row) < static_cast<std::uint64_t>(old.rows); }

  /// Combines the values of indices [first, last), in order, into columns of `to`.
  template <class Combine>
  void put(T* to, std::int64_t first, std::int64_t last, std::int64_t first_column, std::int64_t last_column, const Combine& combine) const {
    if (old.columns == 1) {
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t row = index[i * index_stride];
        if (inside(row)) to[row] = combine(to[row], values[i * given.row_stride]);
      }
      return;
    }
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t row = index[i * index_stride];
      if (!inside(row)) continue;
      T* const at = to + row * old.columns;
      const T* const from = values + i * given.row_stride;
      for (std::int64_t c = first_column; c < last_column; ++c) at[c] = combine(at[c], from[c * given.column_stride]);
    }
  }

  /// Gives each task its own columns, so that each element's values are combined in their order.
  template <class Combine> void in_order(int threads, const Combine& combine) const {
    const std::int64_t copies =
        std::clamp<std::int64_t>(old.rows * old.columns / kTaskElements, 1, std::max<std::int64_t>(1, std::min<std::int64_t>(old.rows, thread_count(threads))));
    const std::int64_t parts = old.columns < kMinTaskColumns
                                   ? 1
                                   : std::clamp<std::int64_t>((old.rows + count) * old.columns / kTaskElements, 1,
                                                              std::min<std::int64_t>(old.columns / kMinTaskColumns, thread_count(threads)));
    run_tasks(threads, copies, [&](std::int64_t task) { copy(old.rows * task / copies, old.rows * (task + 1) / copies); });
    run_tasks(threads, parts, [&](std::int64_t task) { put(result, 0, count, old.columns * task / parts, old.columns * (task + 1) / parts, combine); });
  }

  /// Adds integers, whose sums do not depend on the order. Each task adds a part of the values in a separate table.
  void in_tables(int threads, std::int64_t tasks) const {
    const std::int64_t elements = old.rows * old.columns;
    std::vector<std::unique_ptr<T[]>> tables(static_cast<std::size_t>(tasks));
    run_tasks(threads, tasks, [&](std::int64_t task) {
      auto& table = tables[static_cast<std::size_t>(task)];
      table = std::make_unique<T[]>(static_cast<std::size_t>(elements));
      put(table.get(), count * task / tasks, count * (task + 1) / tasks, 0, old.columns, kAdd);
    });
    copy(0, old.rows);
    for (const auto& table : tables)
      for (std::int64_t e = 0; e < elements; ++e) result[e] = kAdd(result[e], table[static_cast<std::size_t>(e)]);
  }
};

}  // namespace

void scatter_rows(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads) {
  const Matrix old(call.operands[0]), given(call.operands[2]);
  const auto* index = static_cast<const std::int64_t*>(pointers[1]) + call.operands[1].offset;
  const std::int64_t count = call.operands[1].shape[0], index_stride = call.operands[1].strides[0];
  visit_storage(call.dtype, [&]<class T>() {
    const Scatter<T> scatter{old,
                             given,
                             static_cast<const T*>(pointers[0]) + old.offset,
                             static_cast<const T*>(pointers[2]) + given.offset,
                             index,
                             count,
                             index_stride,
                             static_cast<T*>(pointers[3])};
    switch (call.op) {
      case trace::Op::scatter: return scatter.in_order(threads, Replace());
      case trace::Op::scatter_prod: return scatter.in_order(threads, kMultiply);
      case trace::Op::scatter_min: return scatter.in_order(threads, kMinimum);
      case trace::Op::scatter_max: return scatter.in_order(threads, kMaximum);
      default: break;
    }
    if constexpr (std::is_integral_v<T>) {
      // Tables are used only if they are much smaller than the values.
      const std::int64_t tasks = std::min<std::int64_t>(count * old.columns / kTaskElements, thread_count(threads));
      if (tasks > 1 && 4 * tasks * old.rows <= count) return scatter.in_tables(threads, tasks);
    }
    scatter.in_order(threads, kAdd);
  });
}

void invert_index(const fuse::LibraryCall& call, std::span<void* const> pointers, int) {
  const auto& operand = call.operands[0];
  const auto* index = static_cast<const std::int64_t*>(pointers[0]) + operand.offset;
  const std::int64_t rows = call.operands[1].shape[0], count = operand.shape[0];
  auto* const starts = static_cast<std::int32_t*>(pointers[2]);
  const auto row_of = [&](std::int64_t i) {
    const std::int64_t row = index[i * operand.strides[0]];
    return row >= 0 && row < rows ? row : rows;
  };
  std::vector<std::int32_t> next(static_cast<std::size_t>(rows) + 2);  // next position in the list of each row, and in that of indices out of range
  for (std::int64_t i = 0; i < count; ++i) ++next[static_cast<std::size_t>(row_of(i)) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::copy_n(next.begin(), rows + 1, starts);
  for (std::int64_t i = 0; i < count; ++i) starts[rows + 1 + next[static_cast<std::size_t>(row_of(i))]++] = static_cast<std::int32_t>(i);
}

}  // namespace sinter::kernels
