// Operations that arrange elements: pad, concatenate and their compositions. One primitive, pad, places each piece in the result. So the pieces are guarded
// reads inside the kernel that uses the result, and never copies.
#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "ops/recording.hpp"
#include "sinter/counted.hpp"
#include "sinter/ops.hpp"

namespace sinter {
namespace {

using namespace ops;

RecordedPtr arranged(const Site& site, const Arg& x) { return as_node(site, x); }

RecordedPtr zeros_of(const Site& site, DType dtype, Shape shape) { return make_constant(site, make_scalar_int(dtype, 0), std::move(shape)); }

/// Returns `count` elements of an axis: start, start + step, ...
RecordedPtr part_of(const Site& site, const RecordedPtr& x, std::size_t axis, std::int64_t start, std::int64_t step, std::int64_t count) {
  std::vector<std::int64_t> start_step;
  for (std::size_t k = 0; k < x->shape.size(); ++k) start_step.insert(start_step.end(), {0, 1});
  start_step[2 * axis] = start;
  start_step[2 * axis + 1] = step;
  Shape shape = x->shape;
  shape[axis] = count;
  return make_slice(site, x, std::move(start_step), std::move(shape));
}

/// Concatenates pieces of one type whose shapes differ only along the axis.
RecordedPtr joined(const Site& site, std::vector<RecordedPtr> pieces, std::size_t axis) {
  const RecordedPtr first = pieces.front();
  // A piece without elements needs no computation.
  if (pieces.size() > 1) std::erase_if(pieces, [&](const RecordedPtr& piece) { return piece->shape[axis] == 0; });
  if (pieces.empty()) return first;
  // Many pieces are concatenated in groups, and then the groups, so that no element tests the pads of all pieces.
  constexpr std::size_t kGroup = 16;
  while (pieces.size() > 1) {
    std::vector<RecordedPtr> groups;
    for (std::size_t begin = 0; begin < pieces.size(); begin += kGroup) {
      const std::size_t end = std::min(begin + kGroup, pieces.size());
      Shape shape = pieces[begin]->shape;
      shape[axis] = 0;
      for (std::size_t k = begin; k < end; ++k) shape[axis] += pieces[k]->shape[axis];
      check_shape(site, shape, pieces[begin]->dtype);
      RecordedPtr group = zeros_of(site, pieces[begin]->dtype, shape);
      std::int64_t before = 0;
      for (std::size_t k = begin; k < end; ++k) {
        const std::int64_t size = pieces[k]->shape[axis];
        std::vector<std::int64_t> widths(2 * shape.size(), 0);
        widths[2 * axis] = before;
        widths[2 * axis + 1] = shape[axis] - before - size;
        group = make_pad(site, pieces[k], group, std::move(widths));
        before += size;
      }
      groups.push_back(std::move(group));
    }
    pieces = std::move(groups);
  }
  return pieces.front();
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

/// Extends an axis on both sides, by its edge elements or by copies of itself; unless the mode is wrap, every second copy is mirrored.
RecordedPtr continued(const Site& site, const RecordedPtr& x, std::size_t axis, std::int64_t before, std::int64_t after, PadMode mode) {
  const std::int64_t size = x->shape[axis];
  if (before == 0 && after == 0) return x;
  if (size == 0) fail<ValueError>(site, fmt::format("axis {} of shape {} is empty: only a constant can be put around it", axis, to_string(x->shape)));
  std::vector<RecordedPtr> pieces;
  if (mode == PadMode::edge || size == 1) {
    const auto repeated = [&](std::int64_t at, std::int64_t count) {
      Shape shape = x->shape;
      shape[axis] = count;
      return make_broadcast(site, part_of(site, x, axis, at, 1, 1), shape);
    };
    return joined(site, {repeated(0, before), x, repeated(size - 1, after)}, axis);
  }
  // The axis is a sequence of copies of this length. Even copies run forwards from element 0; odd copies run backwards, unless the mode is wrap.
  const std::int64_t stretch = mode == PadMode::reflect ? size - 1 : size;
  constexpr std::int64_t kMaxStretches = 4096;
  if ((before + after) / stretch > kMaxStretches)
    fail<ValueError>(site, fmt::format("{} around an axis of {} take more than {} copies of it", counted(before + after, "element"), size, kMaxStretches));
  for (std::int64_t at = -before; at < size + after;) {
    const std::int64_t number = floor_div(at, stretch), offset = at - number * stretch;
    const std::int64_t count = std::min(stretch - offset, size + after - at);
    const bool mirrored = number % 2 != 0 && mode != PadMode::wrap;
    pieces.push_back(mirrored ? part_of(site, x, axis, size - 1 - offset, -1, count) : part_of(site, x, axis, offset, 1, count));
    at += count;
  }
  return joined(site, std::move(pieces), axis);
}

/// Compares row number + k with the column number: shape (rows, columns), bool.
Tensor on_diagonal(const Site& site, std::int64_t rows, std::int64_t columns, std::int64_t k, Tensor (*compare)(const Arg&, const Arg&)) {
  k = std::clamp(k, -rows, columns);  // no element is beyond these diagonals, and sums of rows and k fit in 64 bits
  const Shape shape{rows, columns};
  const Tensor row{make_broadcast(site, make_reshape(site, make_iota(site, rows), {rows, 1}), shape)};
  const Tensor column{make_broadcast(site, make_iota(site, columns), shape)};
  return compare(row + k, column);
}

Tensor triangle(const char* name, const Arg& x, std::int64_t k, bool lower) {
  const Scope scope(name, x.where());
  const Site& site = scope.site();
  const RecordedPtr node = arranged(site, x);
  if (node->shape.empty()) fail<ShapeError>(site, "a 0-d tensor has no triangle");
  const std::int64_t columns = node->shape.back(), rows = node->shape.size() == 1 ? columns : node->shape[node->shape.size() - 2];
  const Tensor kept = lower ? on_diagonal(site, rows, columns, k, greater_equal) : on_diagonal(site, rows, columns, k, less_equal);
  return where(kept, Tensor(node), Tensor(zeros_of(site, node->dtype, {})));
}

}  // namespace

Tensor pad(const Arg& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths, PadMode mode, const Arg& value) {
  const Scope scope("pad", x.where());
  const Site& site = scope.site();
  RecordedPtr node = arranged(site, x);
  const std::size_t rank = node->shape.size();
  if (widths.size() != rank && widths.size() != 1)
    fail<ShapeError>(site, fmt::format("{} for shape {}: give one, or one for each axis", counted(widths.size(), "pair of widths", "pairs of widths"),
                                       to_string(node->shape)));
  std::vector<std::int64_t> before_after;
  Shape shape = node->shape;
  for (std::size_t k = 0; k < rank; ++k) {
    const auto [before, after] = widths[widths.size() == 1 ? 0 : k];
    if (before < 0 || after < 0) fail<ValueError>(site, fmt::format("widths ({}, {}) of axis {} are negative; slice instead", before, after, k));
    if (before > (std::int64_t{1} << 60) || after > (std::int64_t{1} << 60))
      fail<ShapeError>(site, fmt::format("widths ({}, {}) are too large", before, after));
    before_after.insert(before_after.end(), {before, after});
    shape[k] += before + after;
  }
  check_shape(site, shape, node->dtype);
  if (mode == PadMode::constant) {
    const Shape& given = shape_of(site, value);
    if (element_count(given) != 1)
      fail<ShapeError>(site, fmt::format("a value of shape {}; it must be a number, or a tensor of one element", to_string(given)));
    const Tensor one = value.is_tensor() && !given.empty() ? Tensor(make_reshape(site, value.tensor().node(), Shape{})) : Tensor();
    return Tensor(make_pad(site, node, operand(site, one.empty_handle() ? value : Arg(one, value.where()), node->dtype, shape), std::move(before_after)));
  }
  for (std::size_t k = 0; k < rank; ++k) node = continued(site, node, k, before_after[2 * k], before_after[2 * k + 1], mode);
  return Tensor(node);
}

namespace {

/// Returns whether the node, apart from views, is computed by a kernel.
bool is_computed(const Recorded& node) {
  if (node.evaluated() || node.op == Op::constant || node.op == Op::data) return false;
  if (!is_view(node.op)) return true;
  const Operands operands = node.inputs();
  return !operands.empty() && is_computed(*operands[0]);
}
/// Returns whether many computed pieces become the columns of a matrix. Neighbouring elements then come from different formulas. It takes less time to compute
/// the pieces as rows and to transpose these.
bool are_columns(const std::vector<RecordedPtr>& pieces, std::size_t axis) {
  constexpr std::size_t kMany = 16;
  return pieces.size() >= kMany && axis > 0 && axis + 1 == pieces[0]->shape.size() &&
         std::all_of(pieces.begin(), pieces.end(), [](const RecordedPtr& piece) { return piece->shape.back() == 1 && is_computed(*piece); });
}
RecordedPtr joined_as_rows(const Site& site, std::vector<RecordedPtr> pieces) {
  Shape row{1};
  row.insert(row.end(), pieces[0]->shape.begin(), pieces[0]->shape.end() - 1);
  for (RecordedPtr& piece : pieces) piece = make_reshape(site, piece, row);
  std::vector<std::int64_t> order(row.size());
  std::iota(order.begin(), order.end() - 1, 1);
  order.back() = 0;
  return make_permute(site, make_contiguous(site, joined(site, std::move(pieces), 0)), order);
}

}  // namespace

Tensor concatenate(const std::vector<Tensor>& parts, std::int64_t axis, Location where) {
  const Scope scope("concatenate", where);
  const Site& site = scope.site();
  if (parts.empty()) fail<ValueError>(site, "there is nothing to concatenate");
  std::vector<RecordedPtr> pieces;
  DType dtype = node_of(site, parts.front())->dtype;
  const Shape& first = node_of(site, parts.front())->shape;
  if (first.empty()) fail<ShapeError>(site, "0-d tensors cannot be concatenated; stack() makes an axis of them");
  const std::int64_t along = checked_axis(site, axis, static_cast<std::int64_t>(first.size()));
  for (const Tensor& part : parts) {
    const RecordedPtr& node = node_of(site, part);
    bool fits = node->shape.size() == first.size();
    for (std::size_t k = 0; fits && k < first.size(); ++k) fits = static_cast<std::int64_t>(k) == along || node->shape[k] == first[k];
    if (!fits) fail<ShapeError>(site, fmt::format("shapes {} and {} do not fit: only axis {} may differ", to_string(first), to_string(node->shape), along));
    dtype = promote(site, dtype, node->dtype);
    pieces.push_back(node);
  }
  for (RecordedPtr& piece : pieces) piece = make_cast(site, piece, dtype);
  if (are_columns(pieces, static_cast<std::size_t>(along))) return Tensor(joined_as_rows(site, std::move(pieces)));
  return Tensor(joined(site, std::move(pieces), static_cast<std::size_t>(along)));
}

Tensor stack(const std::vector<Tensor>& parts, std::int64_t axis, Location where) {
  const Scope scope("stack", where);
  const Site& site = scope.site();
  if (parts.empty()) fail<ValueError>(site, "there is nothing to stack");
  const Shape& first = node_of(site, parts.front())->shape;
  const std::int64_t along = checked_axis(site, axis, static_cast<std::int64_t>(first.size()) + 1);
  std::vector<Tensor> widened;
  for (const Tensor& part : parts) {
    if (node_of(site, part)->shape != first)
      fail<ShapeError>(site, fmt::format("shapes {} and {} cannot be stacked; they must be equal", to_string(first), to_string(part.shape())));
    widened.push_back(expand_dims(part, along));
  }
  return concatenate(widened, along, where);
}

Tensor roll(const Arg& x, const std::vector<std::int64_t>& shifts, const Axes& axes) {
  const Scope scope("roll", x.where());
  const Site& site = scope.site();
  const RecordedPtr node = arranged(site, x);
  if (axes.all()) {
    if (shifts.size() != 1) fail<ValueError>(site, "several shifts need one axis each");
    const Tensor flat = roll(reshape(Tensor(node), {-1}), shifts, 0);
    return reshape(flat, node->shape);
  }
  if (shifts.size() != 1 && shifts.size() != axes.list().size())
    fail<ValueError>(site, fmt::format("{} for {}", counted(shifts.size(), "shift"), counted(axes.list().size(), "axis", "axes")));
  RecordedPtr rolled = node;
  for (std::size_t n = 0; n < axes.list().size(); ++n) {  // if an axis occurs twice, its shifts are added
    const auto axis = static_cast<std::size_t>(checked_axis(site, axes.list()[n], static_cast<std::int64_t>(node->shape.size())));
    const std::int64_t size = node->shape[axis];
    if (size < 2) continue;
    const std::int64_t wrapped = shifts[shifts.size() == 1 ? 0 : n] % size, shift = wrapped < 0 ? wrapped + size : wrapped;
    rolled = joined(site, {part_of(site, rolled, axis, size - shift, 1, shift), part_of(site, rolled, axis, 0, 1, size - shift)}, axis);
  }
  return Tensor(rolled);
}

Tensor tile(const Arg& x, const std::vector<std::int64_t>& repetitions) {
  const Scope scope("tile", x.where());
  const Site& site = scope.site();
  const RecordedPtr node = arranged(site, x);
  const std::size_t rank = std::max(node->shape.size(), repetitions.size());
  Shape apart, repeated, result;
  for (std::size_t k = 0; k < rank; ++k) {
    const std::size_t no_axis = rank - node->shape.size(), no_count = rank - repetitions.size();
    const std::int64_t size = k < no_axis ? 1 : node->shape[k - no_axis], times = k < no_count ? 1 : repetitions[k - no_count];
    if (times < 0) fail<ValueError>(site, fmt::format("{} of axis {}", counted(times, "repetition"), k));
    apart.insert(apart.end(), {1, size});
    repeated.insert(repeated.end(), {times, size});
    result.push_back(size_product(site, size, times));
  }
  check_shape(site, repeated, node->dtype);
  return Tensor(make_reshape(site, make_broadcast(site, make_reshape(site, node, apart), repeated), result));
}

Tensor repeat(const Arg& x, std::int64_t count, std::optional<std::int64_t> axis) {
  const Scope scope("repeat", x.where());
  const Site& site = scope.site();
  RecordedPtr node = arranged(site, x);
  if (count < 0) fail<ValueError>(site, fmt::format("an element cannot be repeated {} times", count));
  if (!axis) node = make_reshape(site, node, {element_count(node->shape)});
  const auto along = static_cast<std::size_t>(checked_axis(site, axis.value_or(0), static_cast<std::int64_t>(node->shape.size())));
  Shape apart = node->shape, result = node->shape;
  apart.insert(apart.begin() + static_cast<std::ptrdiff_t>(along) + 1, 1);
  Shape repeated = apart;
  repeated[along + 1] = count;
  check_shape(site, repeated, node->dtype);
  result[along] = size_product(site, result[along], count);
  return Tensor(make_reshape(site, make_broadcast(site, make_reshape(site, node, apart), repeated), result));
}

Tensor tril(const Arg& x, std::int64_t k) { return triangle("tril", x, k, true); }
Tensor triu(const Arg& x, std::int64_t k) { return triangle("triu", x, k, false); }

Tensor eye(std::int64_t rows, std::optional<std::int64_t> columns, std::int64_t k, DType dtype, Location where) {
  const Scope scope("eye", where);
  check_shape(scope.site(), {rows, columns.value_or(rows)}, DType::float64);
  return astype(on_diagonal(scope.site(), rows, columns.value_or(rows), k, equal), dtype);
}

Tensor diagonal(const Arg& x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2) {
  const Scope scope("diagonal", x.where());
  const Site& site = scope.site();
  const RecordedPtr node = arranged(site, x);
  const auto rank = static_cast<std::int64_t>(node->shape.size());
  if (rank < 2) fail<ShapeError>(site, fmt::format("shape {} has no diagonal: a diagonal needs two axes", to_string(node->shape)));
  const std::int64_t first = checked_axis(site, axis1, rank), second = checked_axis(site, axis2, rank);
  if (first == second) fail<AxisError>(site, fmt::format("axis {} is given twice", first));
  std::vector<std::int64_t> order;
  for (std::int64_t k = 0; k < rank; ++k)
    if (k != first && k != second) order.push_back(k);
  order.insert(order.end(), {first, second});
  RecordedPtr turned = make_permute(site, node, order);
  // Selects the square whose main diagonal this is; successive elements of a main diagonal are one row and one column apart.
  const auto rows = static_cast<std::size_t>(rank) - 2, columns = rows + 1;
  offset = std::clamp(offset, -turned->shape[rows], turned->shape[columns]);
  const std::int64_t down = offset < 0 ? -offset : 0, right = offset > 0 ? offset : 0;
  const std::int64_t size = std::max<std::int64_t>(0, std::min(turned->shape[rows] - down, turned->shape[columns] - right));
  turned = part_of(site, part_of(site, turned, rows, size > 0 ? down : 0, 1, size), columns, size > 0 ? right : 0, 1, size);
  Shape flat(turned->shape.begin(), turned->shape.end() - 2);
  flat.push_back(size * size);
  return Tensor(part_of(site, make_reshape(site, turned, flat), rows, 0, size + 1, size));
}

Tensor diag(const Arg& x, std::int64_t k) {
  const Scope scope("diag", x.where());
  const Site& site = scope.site();
  const RecordedPtr node = arranged(site, x);
  if (node->shape.size() == 2) return diagonal(Tensor(node), k, 0, 1);
  if (node->shape.size() != 1) fail<ShapeError>(site, fmt::format("shape {} is neither a vector nor a matrix", to_string(node->shape)));
  constexpr std::int64_t kFar = std::int64_t{1} << 31;  // no matrix of that side fits in memory
  if (k < -kFar || k > kFar) fail<ShapeError>(site, fmt::format("no matrix is large enough for a diagonal {} from the main one", k));
  const std::int64_t shift = k < 0 ? -k : k, size = node->shape[0] + shift;
  check_shape(site, {size, size}, node->dtype);
  // If k >= 0, an element's row is its index in x; if k < 0, its column is.
  const RecordedPtr longer = make_pad(site, node, zeros_of(site, node->dtype, {size}), {0, shift});
  const RecordedPtr spread = make_broadcast(site, k < 0 ? longer : make_reshape(site, longer, {size, 1}), {size, size});
  return where(on_diagonal(site, size, size, k, equal), Tensor(spread), Tensor(zeros_of(site, node->dtype, {})));
}

}  // namespace sinter
