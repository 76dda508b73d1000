#include "fuse/library_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "fuse/graph.hpp"
#include "sinter/errors.hpp"
#include "trace/library.hpp"

namespace sinter::fuse {
namespace {

// The functions of the `layout` column.

/// Accepts a matrix in the last two axes with contiguous rows or columns that do not overlap; the earlier axes are free.
bool rows_or_columns(const Sizes& shape, const Sizes& strides) {
  const std::size_t rank = shape.size();
  if (rank < 2) return false;
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

enum class OnGpu : std::uint8_t { none, products, digits };

/// The columns of a record (trace/library_calls.def) that this file uses.
struct Columns {
  bool (*layout)(const Sizes& shape, const Sizes& strides);
  Pieces pieces;
  OnGpu gpu;
  bool on_host;
};

Columns columns(decltype(Columns::layout) layout, Pieces pieces, OnGpu gpu, std::string_view expansion) {
  return {layout, pieces, gpu, expansion == "on_host"};
}

Columns columns_of(trace::Op op) {
  using trace::Op;
  switch (op) {
#define SINTER_LIBRARY(id, arity, sharding, takes, shape, result, layout, pieces, gpu, expansion, host, by) \
  case Op::id: return columns(layout, Pieces::pieces, OnGpu::gpu, #expansion);
#include "trace/primitives.def"
    default: throw InternalError("the op is not a library call and has no record");
  }
}

}  // namespace

bool reads_layout(trace::Op op, const Sizes& shape, const Sizes& strides) { return columns_of(op).layout(shape, strides); }

bool has_library(const Limits& limits, trace::Op op, DType dtype) {
  if (limits.library_calls) return true;
  if (by_digits(op)) return limits.sorts_by_digits;
  return limits.products && columns_of(op).gpu == OnGpu::products && (dtype == DType::float32 || dtype == DType::float64);
}

bool by_digits(trace::Op op) { return columns_of(op).gpu == OnGpu::digits; }

namespace {

constexpr int kDigitBits = 8;
int digits(std::uint64_t largest) { return (std::bit_width(largest) + kDigitBits - 1) / kDigitBits; }
std::uint64_t items_of(const LibraryCall& call) { return static_cast<std::uint64_t>(sinter::element_count(call.operands[0].shape)); }

}  // namespace

int passes_over_rows(const LibraryCall& call) {
  const auto length = static_cast<std::uint64_t>(call.operands[0].shape.back());
  return call.op == trace::Op::invert_index || length == 0 || items_of(call) == 0 ? 0 : digits(items_of(call) / length - 1);
}
int passes_by_digits(const LibraryCall& call) {
  if (call.op == trace::Op::invert_index) return digits(static_cast<std::uint64_t>(call.operands[1].shape[0]));
  const DType dtype = call.operands[0].dtype;
  return (is_bool(dtype) ? 1 : static_cast<int>(8 * itemsize(dtype)) / kDigitBits) + passes_over_rows(call);
}
double bytes_by_digits(const LibraryCall& call) {
  const double key = call.op != trace::Op::invert_index && itemsize(call.operands[0].dtype) > 4 ? 8 : 4, place = 4;
  // First the keys and the positions are written. Each pass reads the keys to count them, then reads and writes both. At the end the positions are read.
  return static_cast<double>(items_of(call)) * (key + place + passes_by_digits(call) * (3 * key + 2 * place) + place);
}

bool stays_on_host(trace::Op op) { return columns_of(op).on_host; }

Pieces pieces_of(trace::Op op) { return columns_of(op).pieces; }

bool multiplies_into(DType stored, DType result) { return is_storage_only(stored) && itemsize(stored) == 2 && traits(stored).compute == result; }

bool multiplies_bytes_into(DType stored, DType result) { return result == DType::int32 && (stored == DType::int8 || stored == DType::uint8); }

bool is_sound(const LibraryCall& call) {
  const Columns record = columns_of(call.op);
  const bool product = record.gpu == OnGpu::products;
  std::vector<Shape> shapes;
  std::vector<DType> dtypes;
  for (const LibraryOperand& operand : call.operands) {
    if (call.row && &operand == &call.operands.back()) {  // a row that is added to each row of the product
      const bool is_row = !call.shape.empty() && operand.shape == Shape{call.shape.back()} && (operand.shape[0] == 1 || operand.strides[0] == 1);
      if (!product || !is_row || operand.dtype != call.stored) return false;
      continue;
    }
    if (!record.layout(Sizes(operand.shape.begin(), operand.shape.end()), Sizes(operand.strides.begin(), operand.strides.end()))) return false;
    shapes.push_back(operand.shape);
    dtypes.push_back(operand.dtype);
  }
  if (!trace::library_takes(call.op, {shapes, dtypes, call.ints}) || call.shape != trace::library_shape(call.op, shapes, call.ints)) return false;
  // The library of products may read operands before their conversion, and may round the result.
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
