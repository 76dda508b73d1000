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

// The `layout` column.

/// A matrix in the last two axes, its rows or its columns contiguous and apart; the axes before are free.
bool rows_or_columns(const Shape& shape, const std::vector<std::int64_t>& strides) {
  const std::size_t rank = shape.size();
  const std::int64_t rows = shape[rank - 2], columns = shape[rank - 1], row = strides[rank - 2], column = strides[rank - 1];
  return (column == 1 && (row >= columns || rows == 1)) || (row == 1 && (column >= rows || columns == 1));
}

}  // namespace

Shape library_shape(Op op, std::span<const Shape> operands) {
  switch (op) {
#define SINTER_ELEMENTWISE(id, ...)
#define SINTER_REDUCTION(id, ...)
#define SINTER_STRUCTURAL(id, ...)
#define SINTER_LIBRARY(id, arity, shape, layout, expansion) \
  case Op::id: return shape(operands);
#include "trace/primitives.def"
#undef SINTER_LIBRARY
    default: throw InternalError("library_shape: not a library's op");
  }
}

bool library_takes(Op op, const Shape& shape_of_operand, const std::vector<std::int64_t>& strides) {
  switch (op) {
#define SINTER_LIBRARY(id, arity, shape, layout, expansion) \
  case Op::id: return layout(shape_of_operand, strides);
#include "trace/primitives.def"
#undef SINTER_LIBRARY
#undef SINTER_ELEMENTWISE
#undef SINTER_REDUCTION
#undef SINTER_STRUCTURAL
    default: throw InternalError("library_takes: not a library's op");
  }
}

}  // namespace sinter::trace
