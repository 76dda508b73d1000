#include "fuse/library_call.hpp"

#include <fmt/format.h>

#include "fuse/graph.hpp"
#include "sinter/errors.hpp"

namespace sinter::fuse {
namespace {

// The `layout` column of the table of primitives.

/// A matrix in the last two axes, its rows or its columns contiguous and apart; the axes before are free.
bool rows_or_columns(const Sizes& shape, const Sizes& strides) {
  const std::size_t rank = shape.size();
  const Size &rows = shape[rank - 2], &columns = shape[rank - 1], &row = strides[rank - 2], &column = strides[rank - 1];
  return (column == 1 && (row >= columns || rows == 1)) || (row == 1 && (column >= rows || columns == 1));
}

bool any_layout(const Sizes&, const Sizes&) { return true; }

/// Elements one after the other.
bool in_order(const Sizes& shape, const Sizes& strides) {
  Size step = 1;
  for (std::size_t axis = shape.size(); axis-- > 0; step = step * shape[axis])
    if (!(shape[axis] == 1) && !(strides[axis] == step)) return false;
  return true;
}

template <class From, class To, class Convert> void convert(const LibraryCallOf<From>& call, LibraryCallOf<To>& result, Convert number) {
  const auto all = [&](const std::vector<From>& from) {
    std::vector<To> to;
    for (const From& value : from) to.push_back(number(value));
    return to;
  };
  result.op = call.op;
  result.dtype = call.dtype;
  result.stored = call.stored;
  result.row = call.row;
  result.node = call.node;
  result.ints = call.ints;
  result.call = call.call;
  result.fast_math = call.fast_math;
  result.shape = all(call.shape);
  for (const auto& operand : call.operands) {
    LibraryOperandOf<To> converted;
    converted.node = operand.node;
    converted.dtype = operand.dtype;
    converted.offset = number(operand.offset);
    converted.shape = all(operand.shape);
    converted.strides = all(operand.strides);
    result.operands.push_back(std::move(converted));
  }
}

}  // namespace

Sizes numbers_of(const PlannedCall& call) {
  Sizes numbers;
  PlannedCall same;
  convert(call, same, [&](const Size& size) {
    numbers.push_back(size);
    return size;
  });
  return numbers;
}

LibraryCall bound(const PlannedCall& call, const std::int64_t* numbers) {
  LibraryCall result;
  convert(call, result, [&](const Size&) { return *numbers++; });
  return result;
}

PlannedCall planned(const LibraryCall& call) {
  PlannedCall result;
  convert(call, result, [](std::int64_t number) { return Size(number); });
  return result;
}

bool library_takes(trace::Op op, const Sizes& shape_of_operand, const Sizes& strides) {
  using trace::Op;
  switch (op) {
#define SINTER_ELEMENTWISE(id, ...)
#define SINTER_REDUCTION(id, ...)
#define SINTER_STRUCTURAL(id, ...)
#define SINTER_LIBRARY(id, arity, shape, result, layout, expansion) \
  case Op::id: return layout(shape_of_operand, strides);
#include "trace/primitives.def"
#undef SINTER_LIBRARY
#undef SINTER_ELEMENTWISE
#undef SINTER_REDUCTION
#undef SINTER_STRUCTURAL
    default: throw InternalError("library_takes: not a library's op");
  }
}

bool has_library(const Limits& limits, trace::Op op, DType dtype) {
  return limits.library_calls || (limits.products && op == trace::Op::matmul && (dtype == DType::float32 || dtype == DType::float64));
}

bool multiplies_into(DType stored, DType result) { return is_storage_only(stored) && traits(stored).compute == result; }

bool multiplies_bytes_into(DType stored, DType result) { return result == DType::int32 && (stored == DType::int8 || stored == DType::uint8); }

bool comes_in_pieces(trace::Op op) {
  using enum trace::Op;
  return op == matmul || op == conv || op == conv_blocked || op == conv_bytes || op == conv_bytes_scaled || op == matmul_panels;
}

namespace {

template <class Number, class Shown> std::string shown(const LibraryCallOf<Number>& call, Shown shape) {
  std::string text(trace::name(call.op));
  for (const auto& operand : call.operands) text += (call.row && &operand == &call.operands.back() ? " + " : " ") + shape(operand.shape);
  if (call.stored != call.dtype) text += fmt::format(", as {}", name(call.stored));
  return text;
}

}  // namespace

std::string to_string(const PlannedCall& call) {
  return shown(call, [](const Sizes& shape) { return to_string(shape); });
}

std::string to_string(const LibraryCall& call) {
  return shown(call, [](const Shape& shape) { return sinter::to_string(shape); });
}

}  // namespace sinter::fuse
