#include "device/host/scatter.hpp"

#include <algorithm>
#include <type_traits>

#include "device/host/threads.hpp"

namespace sinter::device {
namespace {

// Elements to a task at least: each task reads all indices.
constexpr std::int64_t kTaskElements = 65536;

struct Matrix {
  explicit Matrix(const fuse::LibraryOperand& operand)
      : offset(operand.offset), rows(operand.shape[0]), columns(operand.shape[1]), row_stride(operand.strides[0]), column_stride(operand.strides[1]) {}
  std::int64_t offset, rows, columns, row_stride, column_stride;
};

/// One task's part of the result.
struct Block {
  std::int64_t first_row, last_row, first_column, last_column;
};

template <class T, class Combine>
void scatter(const Matrix& old, const T* base, std::int64_t count, std::int64_t index_stride, const std::int64_t* index, const Matrix& given, const T* values,
             T* result, const Block& block, const Combine& combine) {
  const std::int64_t columns = old.columns;
  for (std::int64_t row = block.first_row; row < block.last_row; ++row) {
    const T* from = base + row * old.row_stride;
    for (std::int64_t c = block.first_column; c < block.last_column; ++c) result[row * columns + c] = from[c * old.column_stride];
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = index[i * index_stride];
    if (row < block.first_row || row >= block.last_row) continue;
    const T* from = values + i * given.row_stride;
    for (std::int64_t c = block.first_column; c < block.last_column; ++c) {
      T& to = result[row * columns + c];
      to = combine(to, from[c * given.column_stride]);
    }
  }
}

}  // namespace

void scatter_rows(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads) {
  const Matrix old(call.operands[0]), given(call.operands[2]);
  const auto* index = static_cast<const std::int64_t*>(pointers[1]) + call.operands[1].offset;
  const std::int64_t count = call.operands[1].shape[0], index_stride = call.operands[1].strides[0];
  // The result is cut along its longer side: no two tasks have an element in common.
  const bool by_rows = old.rows >= old.columns;
  const std::int64_t length = by_rows ? old.rows : old.columns, work = (old.rows + count) * old.columns;
  const std::int64_t tasks = std::clamp<std::int64_t>(work / kTaskElements, 1, std::min<std::int64_t>(length, thread_count(threads)));
  visit_storage(call.dtype, [&]<class T>() {
    const T* base = static_cast<const T*>(pointers[0]) + old.offset;
    const T* values = static_cast<const T*>(pointers[2]) + given.offset;
    run_tasks(threads, tasks, [&](std::int64_t task) {
      const std::int64_t first = length * task / tasks, last = length * (task + 1) / tasks;
      const Block block = by_rows ? Block{first, last, 0, old.columns} : Block{0, old.rows, first, last};
      const auto run = [&](const auto& combine) { scatter(old, base, count, index_stride, index, given, values, static_cast<T*>(pointers[3]), block, combine); };
      if (call.op == trace::Op::scatter) run([](T, T value) { return value; });
      else if constexpr (std::is_same_v<T, bool>) run([](bool a, bool b) { return a || b; });
      else if constexpr (std::is_integral_v<T>) run([](T a, T b) { return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b)); });
      else if constexpr (std::is_floating_point_v<T>) run([](T a, T b) { return a + b; });
      else run([](T a, T b) { return T(static_cast<float>(a) + static_cast<float>(b)); });
    });
  });
}

}  // namespace sinter::device
