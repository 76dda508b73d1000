#include "fuse/library_call.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fuse/graph.hpp"
#include "sinter/errors.hpp"
#include "trace/library.hpp"

namespace sinter::fuse {
namespace {

// The functions of the `layout` column.

/// Accepts a matrix in the last two axes with contiguous rows or columns that do not overlap; the earlier axes are free.
bool rows_or_columns(const Sizes& shape, const Sizes& strides) {
  const std::size_t rank = shape.size();
  const Size &rows = shape[rank - 2], &columns = shape[rank - 1], &row = strides[rank - 2], &column = strides[rank - 1];
  return (column == 1 && (row >= columns || rows == 1)) || (row == 1 && (column >= rows || columns == 1));
}

bool any_layout(const Sizes&, const Sizes&) { return true; }

/// Accepts elements in row-major order.
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

LibraryCall todays(const PlannedCall& call) {
  LibraryCall result;
  convert(call, result, [](const Size& number) { return number.hint(); });
  return result;
}

LibraryCall bound(const LibraryCall& call, const std::int64_t* numbers) {
  LibraryCall result;
  convert(call, result, [&](std::int64_t) { return *numbers++; });
  return result;
}

namespace {

enum class GpuLibrary : std::uint8_t { none, products };

/// The columns of a record (trace/library_calls.def) that this file uses.
struct Columns {
  bool (*layout)(const Sizes& shape, const Sizes& strides);
  Pieces pieces;
  GpuLibrary gpu;
  bool on_host;
};

Columns columns(decltype(Columns::layout) layout, Pieces pieces, GpuLibrary gpu, std::string_view expansion) {
  return {layout, pieces, gpu, expansion == "on_host"};
}

Columns columns_of(trace::Op op) {
  using trace::Op;
  switch (op) {
#define SINTER_ELEMENTWISE(id, ...)
#define SINTER_REDUCTION(id, ...)
#define SINTER_STRUCTURAL(id, ...)
#define SINTER_LIBRARY(id, arity, sharding, takes, shape, result, layout, pieces, gpu, expansion, host, by) \
  case Op::id: return columns(layout, Pieces::pieces, GpuLibrary::gpu, #expansion);
#include "trace/primitives.def"
#undef SINTER_LIBRARY
#undef SINTER_ELEMENTWISE
#undef SINTER_REDUCTION
#undef SINTER_STRUCTURAL
    default: throw InternalError("a library call's record was asked for of another op");
  }
}

}  // namespace

bool reads_layout(trace::Op op, const Sizes& shape, const Sizes& strides) { return columns_of(op).layout(shape, strides); }

bool has_library(const Limits& limits, trace::Op op, DType dtype) {
  if (limits.library_calls) return true;
  return limits.products && columns_of(op).gpu == GpuLibrary::products && (dtype == DType::float32 || dtype == DType::float64);
}

bool stays_on_host(trace::Op op) { return columns_of(op).on_host; }

Pieces pieces_of(trace::Op op) { return columns_of(op).pieces; }

bool multiplies_into(DType stored, DType result) { return is_storage_only(stored) && itemsize(stored) == 2 && traits(stored).compute == result; }

bool multiplies_bytes_into(DType stored, DType result) { return result == DType::int32 && (stored == DType::int8 || stored == DType::uint8); }

bool is_sound(const LibraryCall& call) {
  const Columns record = columns_of(call.op);
  const bool product = record.gpu == GpuLibrary::products;
  std::vector<Shape> shapes;
  std::vector<DType> dtypes;
  for (const LibraryOperand& operand : call.operands) {
    if (!record.layout(Sizes(operand.shape.begin(), operand.shape.end()), Sizes(operand.strides.begin(), operand.strides.end()))) return false;
    shapes.push_back(operand.shape);
    dtypes.push_back(operand.dtype);
  }
  if (call.row) {  // a row that is added to each row of the product
    if (!product || shapes.empty() || call.shape.empty() || shapes.back() != Shape{call.shape.back()}) return false;
    shapes.pop_back();
    dtypes.pop_back();
  }
  if (!trace::library_takes(call.op, {shapes, dtypes, call.ints}) || call.shape != trace::library_shape(call.op, shapes, call.ints)) return false;
  // A product's library may read its operands before their conversion, and may round its result.
  const DType dtype = trace::library_dtype(call.op, dtypes[0]);
  if (dtype != call.dtype && !(product && (multiplies_into(dtype, call.dtype) || multiplies_bytes_into(dtype, call.dtype)))) return false;
  return call.stored == call.dtype || (product && multiplies_into(call.stored, call.dtype));
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
