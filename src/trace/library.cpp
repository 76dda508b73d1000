#include "trace/library.hpp"

#include "sinter/errors.hpp"

namespace sinter::trace {
namespace {

// The `shape` column.

/// (..., m, k) x (..., k, n) -> (..., m, n).
Shape contraction(std::span<const Shape> operands, std::span<const std::int64_t>) {
  Shape shape = operands[0];
  shape.back() = operands[1].back();
  return shape;
}

Shape as_operand(std::span<const Shape> operands, std::span<const std::int64_t>) { return operands[0]; }

Shape convolution(std::span<const Shape> operands, std::span<const std::int64_t> ints) {
  const Shape &x = operands[0], &weight = operands[1];
  const Convolution how = Convolution::of(ints);
  Shape shape{x[0], weight[0]};
  for (std::size_t axis = 0; axis < how.axes(); ++axis) shape.push_back(how.places(axis, x[axis + 2], weight[axis + 2]));
  return shape;
}

}  // namespace

Shape library_shape(Op op, std::span<const Shape> operands, std::span<const std::int64_t> ints) {
  switch (op) {
#define SINTER_ELEMENTWISE(id, ...)
#define SINTER_REDUCTION(id, ...)
#define SINTER_STRUCTURAL(id, ...)
#define SINTER_LIBRARY(id, arity, shape, layout, expansion) \
  case Op::id: return shape(operands, ints);
#include "trace/primitives.def"
#undef SINTER_LIBRARY
#undef SINTER_ELEMENTWISE
#undef SINTER_REDUCTION
#undef SINTER_STRUCTURAL
    default: throw InternalError("library_shape: not a library's op");
  }
}

std::int64_t Convolution::places(std::size_t axis, std::int64_t size, std::int64_t taps) const {
  const std::int64_t room = size + before[axis] + after[axis] - ((taps - 1) * dilation[axis] + 1);
  return room < 0 ? 0 : room / stride[axis] + 1;
}

std::vector<std::int64_t> Convolution::ints() const {
  std::vector<std::int64_t> result{groups};
  for (const auto* list : {&stride, &dilation, &before, &after}) result.insert(result.end(), list->begin(), list->end());
  return result;
}

Convolution Convolution::of(std::span<const std::int64_t> ints) {
  Convolution how;
  how.groups = ints[0];
  const std::size_t axes = (ints.size() - 1) / 4;
  auto from = ints.begin() + 1;
  for (auto* list : {&how.stride, &how.dilation, &how.before, &how.after}) {
    list->assign(from, from + static_cast<std::ptrdiff_t>(axes));
    from += static_cast<std::ptrdiff_t>(axes);
  }
  return how;
}

}  // namespace sinter::trace
