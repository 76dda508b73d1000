#include "trace/library.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>

#include "sinter/errors.hpp"

namespace sinter::trace {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 56;

// The `shape` column.

/// Returns the shape of (..., m, k) x (..., k, n) -> (..., m, n).
Shape contraction(std::span<const Shape> operands, std::span<const std::int64_t>) {
  Shape shape = operands[0];
  shape.back() = operands[1].back();
  return shape;
}

/// Returns the operand's shape. For an argsort with attributes, the last axis has the size of the first attribute.
Shape as_operand(std::span<const Shape> operands, std::span<const std::int64_t> ints) {
  Shape shape = operands[0];
  if (!ints.empty()) shape.back() = ints[0];
  return shape;
}

Shape convolution(std::span<const Shape> operands, std::span<const std::int64_t> ints) {
  const Shape &x = operands[0], &weight = operands[1];
  const Convolution how = Convolution::of(ints);
  Shape shape{x[0], weight[0]};
  for (std::size_t axis = 0; axis < how.axes(); ++axis) shape.push_back(how.places(axis, x[axis + 2], weight[axis + 2]));
  return shape;
}
/// Filters are (blocks, channels, taps.., [16,] 16), (blocks, taps.., 16) of one channel each, or (positions, blocks, channels, 16, 16) for minimal filtering.
Shape convolution_in_blocks(std::span<const Shape> operands, std::span<const std::int64_t> ints) {
  const Shape &x = operands[0], &filters = operands[1];
  const Convolution how = Convolution::of(ints);
  if (filters.size() == 5 && x.size() == 5) return {x[0], filters[1], how.places(0, x[2], 3), how.places(1, x[3], 3), filters.back()};
  const std::size_t first_tap = filters.size() == 4 ? 1 : 2;
  return {x[0], filters[0], how.places(0, x[2], filters[first_tap]), how.places(1, x[3], filters[first_tap + 1]), filters.back()};
}
/// Takes filters (blocks, channels, taps.., fours, 16, 4), or (blocks, taps.., 16) of one channel each.
Shape convolution_of_bytes(std::span<const Shape> operands, std::span<const std::int64_t> ints) {
  const Shape &x = operands[0], &filters = operands[1];
  const Convolution how = Convolution::of(ints);
  const bool depthwise = filters.size() == 4;
  const std::size_t first_tap = depthwise ? 1 : 2;
  return {x[0], filters[0], how.places(0, x[2], filters[first_tap]), how.places(1, x[3], filters[first_tap + 1]), filters[depthwise ? 3 : 5]};
}
/// Takes (..., m, k) and panels; the attribute is the number of columns.
Shape product_with_panels(std::span<const Shape> operands, std::span<const std::int64_t> ints) {
  Shape shape = operands[0];
  shape.back() = ints[0];
  return shape;
}
/// Returns the shape of the states after each step and the final ones.
Shape steps_and_states(std::span<const Shape> operands, std::span<const std::int64_t>) {
  Shape shape = operands[2];
  shape[0] += operands[0][0];
  return shape;
}
/// Returns the number of starts of rows (one more than rows) plus the number of positions.
Shape starts_and_order(std::span<const Shape> operands, std::span<const std::int64_t>) { return {operands[1][0] + 1 + operands[0][0]}; }
Shape as_right_side(std::span<const Shape> operands, std::span<const std::int64_t>) { return operands[1]; }

// Decompositions of (..., m, n). Several results are side by side as columns of one matrix, so that each is a view of it.

/// Returns the batch's shape followed by these axes.
Shape batch_of(const Shape& matrices, std::initializer_list<std::int64_t> axes) {
  Shape shape(matrices.begin(), matrices.end() - 2);
  shape.insert(shape.end(), axes);
  return shape;
}
std::int64_t rows(const Shape& matrices) { return matrices[matrices.size() - 2]; }
std::int64_t columns(const Shape& matrices) { return matrices.back(); }
std::int64_t shorter(const Shape& matrices) { return std::min(rows(matrices), columns(matrices)); }

/// The result has the determinant, its sign, and the logarithm of its magnitude.
Shape three_numbers(std::span<const Shape> operands, std::span<const std::int64_t>) { return batch_of(operands[0], {3}); }
/// The result has min(m, n) values.
Shape diagonal_values(std::span<const Shape> operands, std::span<const std::int64_t>) { return batch_of(operands[0], {shorter(operands[0])}); }
/// The result has k = min(m, n) rows: Q transposed, R.
Shape q_and_r(std::span<const Shape> operands, std::span<const std::int64_t>) {
  const Shape& a = operands[0];
  return batch_of(a, {shorter(a), rows(a) + columns(a)});
}
/// The result has m rows: Q transposed, R.
Shape q_and_r_complete(std::span<const Shape> operands, std::span<const std::int64_t>) {
  const Shape& a = operands[0];
  return batch_of(a, {rows(a), rows(a) + columns(a)});
}
/// The result has k = min(m, n) rows: U transposed, a column of S, Vh.
Shape u_s_and_vh(std::span<const Shape> operands, std::span<const std::int64_t>) {
  const Shape& a = operands[0];
  return batch_of(a, {shorter(a), rows(a) + 1 + columns(a)});
}
/// The result has max(m, n) rows: the same with complete U and Vh, filled with zeros.
Shape u_s_and_vh_full(std::span<const Shape> operands, std::span<const std::int64_t>) {
  const Shape& a = operands[0];
  return batch_of(a, {std::max(rows(a), columns(a)), rows(a) + 1 + columns(a)});
}
/// The result has n rows: the eigenvalue, the eigenvector.
Shape values_and_vectors(std::span<const Shape> operands, std::span<const std::int64_t>) {
  return batch_of(operands[0], {rows(operands[0]), rows(operands[0]) + 1});
}

/// The result has n rows: the eigenvalue's real and imaginary part, the eigenvector's real parts, its imaginary parts.
Shape complex_values_and_vectors(std::span<const Shape> operands, std::span<const std::int64_t>) {
  return batch_of(operands[0], {rows(operands[0]), 2 * (rows(operands[0]) + 1)});
}
Shape complex_values(std::span<const Shape> operands, std::span<const std::int64_t>) { return batch_of(operands[0], {rows(operands[0]), 2}); }

/// Complex matrices have their real parts in the first half of their columns, their imaginary parts in the second half. So does the result of a call.
template <Shape (*of_real)(std::span<const Shape>, std::span<const std::int64_t>)>
Shape two_halves(std::span<const Shape> operands, std::span<const std::int64_t> ints) {
  Shape matrices = operands[0];
  matrices.back() /= 2;
  Shape shape = of_real({&matrices, 1}, ints);
  shape.back() *= 2;
  return shape;
}

// Fourier transforms of (..., n): real parts, then imaginary parts.

Shape two_rows(std::span<const Shape> operands, std::span<const std::int64_t>) {
  Shape shape = operands[0];
  shape.insert(shape.end() - 1, 2);
  return shape;
}
Shape two_half_rows(std::span<const Shape> operands, std::span<const std::int64_t>) {
  Shape shape = two_rows(operands, {});
  shape.back() = shape.back() / 2 + 1;
  return shape;
}
Shape even_row(std::span<const Shape> operands, std::span<const std::int64_t>) {
  Shape shape = operands[0];
  shape.back() = 2 * (shape.back() - 1);
  return shape;
}
Shape odd_row(std::span<const Shape> operands, std::span<const std::int64_t>) {
  Shape shape = even_row(operands, {});
  ++shape.back();
  return shape;
}

// Exchanges between ranks (ranks/exchange.hpp): a part is sent, and a link orders the calls. Received elements form one axis.
Shape link(std::span<const Shape>, std::span<const std::int64_t>) { return {1}; }
Shape received(std::span<const Shape>, std::span<const std::int64_t> ints) { return {ints[1]}; }

// The `takes` column.

bool one_type(const CallTerms& call) {
  return std::all_of(call.dtypes.begin(), call.dtypes.end(), [&](DType dtype) { return dtype == call.dtypes[0]; });
}
bool have_types(const CallTerms& call, std::initializer_list<DType> dtypes) {
  return std::equal(call.dtypes.begin(), call.dtypes.end(), dtypes.begin(),
                    dtypes.begin() + std::min<std::ptrdiff_t>(std::ssize(dtypes), std::ssize(call.dtypes)));
}
bool is_real(const CallTerms& call) { return one_type(call) && (call.dtypes[0] == DType::float32 || call.dtypes[0] == DType::float64); }
bool same_batch(const Shape& a, const Shape& b) { return a.size() == b.size() && std::equal(a.begin(), a.end() - 2, b.begin()); }

/// Accepts two matrices of one type, or bytes of either kind.
bool matrices(const CallTerms& call) {
  const Shape &a = call.shapes[0], &b = call.shapes[1];
  const auto is_byte = [](DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; };
  return a.size() >= 2 && same_batch(a, b) && a.back() == b[b.size() - 2] && (one_type(call) || std::all_of(call.dtypes.begin(), call.dtypes.end(), is_byte));
}
bool one_row(const CallTerms& call) { return !call.shapes[0].empty() && call.ints.empty(); }
bool row_and_count(const CallTerms& call) {
  if (call.shapes[0].empty()) return false;
  return call.ints.empty() || (call.ints.size() == 2 && call.ints[0] >= 0 && call.ints[0] <= call.shapes[0].back() && (call.ints[1] == 0 || call.ints[1] == 1));
}
bool rows_at_places(const CallTerms& call) {
  const Shape &whole = call.shapes[0], &places = call.shapes[1];
  return whole.size() == 2 && places.size() == 1 && call.shapes[2] == Shape{places[0], whole[1]} && call.dtypes[1] == DType::int64 &&
         call.dtypes[0] == call.dtypes[2];
}

bool index_of_rows(const CallTerms& call) {
  const Shape &index = call.shapes[0], &rows = call.shapes[1];
  return index.size() == 1 && rows.size() == 1 && have_types(call, {DType::int64, DType::int64}) &&
         rows[0] + 1 + index[0] <= std::numeric_limits<std::int32_t>::max();
}

/// Accepts attributes by which sizes can be divided and whose sums with sizes do not overflow.
bool are_windows(std::span<const std::int64_t> ints) {
  constexpr std::int64_t kMaxStep = std::int64_t{1} << 31, kMaxPadding = std::int64_t{1} << 40;
  if (ints.size() < 5 || ints.size() % 4 != 1) return false;
  const Convolution how = Convolution::of(ints);
  const auto within = [](const std::vector<std::int64_t>& list, std::int64_t low, std::int64_t high) {
    return std::all_of(list.begin(), list.end(), [&](std::int64_t n) { return n >= low && n <= high; });
  };
  return how.groups >= 1 && within(how.stride, 1, kMaxStep) && within(how.dilation, 1, kMaxStep) && within(how.before, -kMaxPadding, kMaxPadding) &&
         within(how.after, -kMaxPadding, kMaxPadding);
}
bool channels(const CallTerms& call) {
  if (!are_windows(call.ints) || !one_type(call)) return false;
  const Convolution how = Convolution::of(call.ints);
  const Shape &x = call.shapes[0], &filters = call.shapes[1];
  return x.size() == how.axes() + 2 && filters.size() == x.size() && filters[0] >= how.groups && filters[0] % how.groups == 0 && filters[1] >= 0 &&
         x[1] % how.groups == 0 && x[1] / how.groups == filters[1];
}
bool channel_blocks(const CallTerms& call) {
  if (!are_windows(call.ints) || !have_types(call, {DType::float32, DType::float32, DType::float32})) return false;
  const Convolution how = Convolution::of(call.ints);
  const Shape &x = call.shapes[0], &filters = call.shapes[1];
  if (how.axes() != 2 || !filters_read(x, filters, how.groups) || !pads_nothing_away(how)) return false;
  const bool transformed = x.size() == 5 && filters.size() == 5;  // for minimal filtering
  if (transformed && (how.stride != Shape{1, 1} || how.dilation != Shape{1, 1})) return false;
  return call.shapes[2] == Shape{filters[transformed ? 1 : 0] * filters.back()};
}
bool byte_blocks(const CallTerms& call) {
  if (!are_windows(call.ints) || !have_types(call, {DType::uint8, DType::int8, DType::int32, DType::float32})) return false;
  const Convolution how = Convolution::of(call.ints);
  const Shape &x = call.shapes[0], &filters = call.shapes[1];
  if (how.axes() != 2 || how.groups != 1 || x.size() != 5 || !pads_nothing_away(how)) return false;
  const bool depthwise = filters.size() == 4;
  const bool reads = depthwise ? filters[0] == x[1] && filters[3] == kChannelBlock && x[4] == kChannelBlock
                               : filters.size() == 7 && filters[1] == x[1] && (x[4] == 4 || x[4] == kChannelBlock) && filters[4] * 4 == x[4] &&
                                     filters[5] == kChannelBlock && filters[6] == 4;
  const std::int64_t all = reads ? filters[0] * kChannelBlock : 0;
  return reads && call.shapes[2] == Shape{all + 1} && (call.shapes.size() == 3 || call.shapes[3] == Shape{2, all});
}
bool byte_panels(const CallTerms& call) {
  const Shape& rows = call.shapes[0];
  return rows.size() >= 2 && call.ints.size() == 1 && call.ints[0] >= 0 && call.ints[0] < kMaxElements &&
         panels_hold(call.shapes[1], rows.back(), call.ints[0]) && have_types(call, {DType::uint8, DType::int8});
}
bool gate_sums(const CallTerms& call) {
  const auto how = Recurrence::of(call.ints);
  return how && how->takes(call.shapes) && have_types(call, {DType::float32, DType::float32, DType::float32, DType::int64});
}
bool gate_sums_of_bytes(const CallTerms& call) {
  const auto how = Recurrence::of(call.ints);
  return how && how->takes_bytes(call.shapes) && (call.dtypes[3] == DType::int8 || call.dtypes[3] == DType::uint8) &&
         have_types(call, {DType::float32, DType::float32, DType::float32, call.dtypes[3]});
}

bool matrix(const CallTerms& call) { return call.shapes[0].size() >= 2 && is_real(call) && call.ints.empty(); }
bool complex_matrix(const CallTerms& call) { return matrix(call) && columns(call.shapes[0]) % 2 == 0; }
bool complex_square(const CallTerms& call) { return matrix(call) && 2 * rows(call.shapes[0]) == columns(call.shapes[0]); }
bool square(const CallTerms& call) { return matrix(call) && rows(call.shapes[0]) == columns(call.shapes[0]); }
bool system_of_equations(const CallTerms& call) {
  return square(call) && same_batch(call.shapes[0], call.shapes[1]) && rows(call.shapes[1]) == rows(call.shapes[0]);
}
bool part_and_link(const CallTerms& call) { return call.ints.size() == 6 && call.ints[1] >= 1 && call.ints[1] < kMaxElements; }
bool real_row(const CallTerms& call) { return !call.shapes[0].empty() && call.shapes[0].back() >= 1 && is_real(call) && call.ints.empty(); }
bool two_parts(const CallTerms& call) { return real_row(call) && call.shapes[1] == call.shapes[0]; }

/// The columns of a record that this module reads.
struct LibraryColumns {
  bool (*takes)(const CallTerms&);
  Shape (*shape)(std::span<const Shape>, std::span<const std::int64_t>);
  DType (*result)(DType first);
};

LibraryColumns columns_of(Op op) {
  switch (op) {
    using enum DType;
#define SINTER_LIBRARY(id, arity, sharding, takes, shape, result, ...) \
  case Op::id: return {takes, shape, []([[maybe_unused]] DType same) { return result; }};
#include "trace/primitives.def"
    default: throw InternalError("the op is not a library call and has no record");
  }
}

}  // namespace

bool library_takes(Op op, const CallTerms& terms) {
  const auto arity = static_cast<std::size_t>(primitive(op).arity);
  return terms.shapes.size() == arity && terms.dtypes.size() == arity && columns_of(op).takes(terms);
}

DType library_dtype(Op op, DType first) { return columns_of(op).result(first); }

Shape library_shape(Op op, std::span<const Shape> operands, std::span<const std::int64_t> ints) { return columns_of(op).shape(operands, ints); }

bool pads_nothing_away(const Convolution& how) {
  return std::min(*std::min_element(how.before.begin(), how.before.end()), *std::min_element(how.after.begin(), how.after.end())) >= 0;
}

bool filters_read(const Shape& x, const Shape& filters, std::int64_t groups) {
  const bool blocks = x.size() == 5;
  if ((!blocks && x.size() != 4) || filters.empty() || filters.back() != kChannelBlock || groups < 1) return false;
  if (groups > 1 && (filters.size() != 6 || filters[0] % groups != 0 || x[1] % groups != 0)) return false;
  switch (filters.size()) {
    case 6: return blocks && filters[1] == x[1] / groups && filters[4] == x[4];  // blocked
    case 5:
      return !blocks ? filters[1] == x[1]                                                                               // planes
                     : filters[0] == 16 && filters[2] == x[1] && filters[3] == kChannelBlock && x[4] == kChannelBlock;  // for minimal filtering
    case 4: return blocks && filters[0] == x[1] && x[4] == kChannelBlock;                                               // depthwise
    default: return false;
  }
}

bool panels_hold(const Shape& panels, std::int64_t depth, std::int64_t columns) {
  const auto pieces = [](std::int64_t count, std::int64_t of) { return count / of + (count % of != 0); };  // for any number of them, without overflow
  return panels == Shape{pieces(columns, kChannelBlock), pieces(depth, 4), kChannelBlock, 4};
}

bool Recurrence::takes(std::span<const Shape> operands) const {
  const Shape &x = operands[0], &weights = operands[1], &start = operands[2];
  if (x.size() != 3 || weights.size() != 2 || start.size() != 3 || start[2] > kMaxElements) return false;  // no product below overflows
  const std::int64_t size = start[2], sums = gates() * size;
  const bool ragged = operands.size() == 4;
  if (ragged && operands[3] != Shape{x[1]}) return false;
  const std::int64_t of_inputs = rows_of_inputs(weights, start);
  return start[0] == states() && x[1] == start[1] && weights[1] == sums && (of_inputs == 0 ? x[2] == sums : ragged && of_inputs == x[2] + 1);
}

bool Recurrence::takes_bytes(std::span<const Shape> operands) const {
  const Shape &x = operands[0], &start = operands[2];
  if (x.size() != 3 || start.size() != 3 || start[2] > kMaxElements) return false;
  const std::int64_t size = start[2], sums = gates() * size;
  return start[0] == states() && x[1] == start[1] && x[2] == sums && operands[1] == Shape{3, sums} && operands[3] == Shape{size, sums};
}

std::optional<Recurrence> Recurrence::of(std::span<const std::int64_t> ints) {
  if (ints.size() != 2 || ints[0] < 0 || ints[0] > static_cast<std::int64_t>(Cell::lstm) || ints[1] < 0 || ints[1] > 1) return {};
  return Recurrence{static_cast<Cell>(ints[0]), ints[1] == 1};
}

std::int64_t Convolution::places(std::size_t axis, std::int64_t size, std::int64_t taps) const {
  const std::int64_t space = size + before[axis] + after[axis] - ((taps - 1) * dilation[axis] + 1);
  return space < 0 ? 0 : space / stride[axis] + 1;
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
