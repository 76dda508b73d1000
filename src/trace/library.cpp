#include "trace/library.hpp"

#include "sinter/errors.hpp"

namespace sinter::trace {
namespace {

// The `shape` column.

/// (..., m, k) x (..., k, n) -> (..., m, n).
Shape contraction(std::span<const Shape> operands) {
  Shape shape = operands[0];
  shape.back() = operands[1].back();
  return shape;
}

Shape as_operand(std::span<const Shape> operands) { return operands[0]; }

}  // namespace

DType library_dtype(Op op, DType first) {
  using enum DType;
  const DType same = first;
  switch (op) {
#define SINTER_ELEMENTWISE(id, ...)
#define SINTER_REDUCTION(id, ...)
#define SINTER_STRUCTURAL(id, ...)
#define SINTER_LIBRARY(id, arity, shape, result, layout, expansion) \
  case Op::id: return result;
#include "trace/primitives.def"
#undef SINTER_LIBRARY
#undef SINTER_ELEMENTWISE
#undef SINTER_REDUCTION
#undef SINTER_STRUCTURAL
    default: throw InternalError("library_dtype: not a library's op");
  }
}

Shape library_shape(Op op, std::span<const Shape> operands) {
  switch (op) {
#define SINTER_ELEMENTWISE(id, ...)
#define SINTER_REDUCTION(id, ...)
#define SINTER_STRUCTURAL(id, ...)
#define SINTER_LIBRARY(id, arity, shape, result, layout, expansion) \
  case Op::id: return shape(operands);
#include "trace/primitives.def"
#undef SINTER_LIBRARY
#undef SINTER_ELEMENTWISE
#undef SINTER_REDUCTION
#undef SINTER_STRUCTURAL
    default: throw InternalError("library_shape: not a library's op");
  }
}

}  // namespace sinter::trace
