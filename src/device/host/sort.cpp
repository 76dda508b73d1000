#include "device/host/sort.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>

#include "device/host/threads.hpp"

namespace sinter::device {
namespace {

// Elements to a task: short rows share one.
constexpr std::int64_t kTaskElements = 16384;

template <class T> bool is_nan(T value) {
  if constexpr (std::integral<T>) return false;
  else return std::isnan(static_cast<float>(value));
}

template <class T> void sort_row(const T* from, std::int64_t stride, T* to, std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) to[k] = from[k * stride];
  T* const numbers = std::stable_partition(to, to + n, [](T value) { return !is_nan(value); });
  std::stable_sort(to, numbers, [](T a, T b) { return a < b; });  // stable: zeros of either sign keep their order
}

}  // namespace

void sort_rows(DType dtype, const fuse::LibraryOperand& operand, const void* buffer, void* result, int threads) {
  const std::size_t rank = operand.shape.size();
  const std::int64_t n = operand.shape[rank - 1], stride = operand.strides[rank - 1];
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis + 1 < rank; ++axis) rows *= operand.shape[axis];
  if (n == 0) return;
  const std::int64_t rows_a_task = std::max<std::int64_t>(1, kTaskElements / n);
  visit_storage(dtype, [&]<class T>() {
    const T* const elements = static_cast<const T*>(buffer) + operand.offset;
    run_tasks(threads, (rows + rows_a_task - 1) / rows_a_task, [&](std::int64_t task) {
      for (std::int64_t row = task * rows_a_task; row < std::min(rows, (task + 1) * rows_a_task); ++row) {
        std::int64_t at = 0, rest = row;
        for (std::size_t axis = rank - 1; axis-- > 0; rest /= operand.shape[axis]) at += rest % operand.shape[axis] * operand.strides[axis];
        sort_row(elements + at, stride, static_cast<T*>(result) + row * n, n);
      }
    });
  });
}

}  // namespace sinter::device
