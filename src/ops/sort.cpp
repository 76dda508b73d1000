// Sorting, expressed by library calls along the last axis, and functions that use it.
#include "sinter/sorting.hpp"

#include <bit>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ops/composed.hpp"
#include "ops/gathers.hpp"
#include "ops/recording.hpp"
#include "sinter/counted.hpp"
#include "sinter/ops.hpp"
#include "trace/host_access.hpp"

namespace sinter {
namespace {

using namespace ops;

// If a row is at least this many times longer than the selection, elements are selected; otherwise the whole row is sorted.
constexpr std::int64_t kSelected = 8;

/// The argument in the form that is sorted: the axis is counted from the front, and without an axis the tensor is flattened.
struct Line {
  Line(const Site& site, const Arg& arg, std::optional<std::int64_t> axis) : x(as_node(site, arg)) {
    if (!axis) x = Tensor(make_reshape(site, x.node(), {x.size()}));
    along = checked_axis(site, axis.value_or(0), x.ndim());
    length = x.shape()[static_cast<std::size_t>(along)];
  }
  Tensor x;
  std::int64_t along, length;
};

/// Sorts by the library along the last axis. Exchanging two axes moves the axis to the end and back.
Tensor ordered(const Site& site, Op op, const Tensor& x, std::int64_t along, std::vector<std::int64_t> ints = {}) {
  if (x.shape()[static_cast<std::size_t>(along)] == 1 && ints.empty()) return op == Op::sort ? x : zeros(x.shape(), DType::int64);
  std::vector<std::int64_t> swapped(x.shape().size());
  std::iota(swapped.begin(), swapped.end(), 0);
  std::swap(swapped[static_cast<std::size_t>(along)], swapped.back());
  return Tensor(make_permute(site, make_library(site, op, {make_permute(site, x.node(), swapped)}, std::move(ints)), swapped));
}

/// Returns the positions in sorted order. For descending order it flips the tensor and then the positions, so that equal elements keep their order.
Tensor places(const Site& site, const Line& line, bool descending) {
  if (!descending) return ordered(site, Op::argsort, line.x, line.along);
  return (line.length - 1) - flip(ordered(site, Op::argsort, flip(line.x, line.along), line.along), line.along);
}

Tensor first(const Tensor& x, std::int64_t axis, std::int64_t count) {
  std::vector<Index> index(static_cast<std::size_t>(x.ndim()), Slice{});
  index[static_cast<std::size_t>(axis)] = Slice{0, count};
  return x.at(index);
}

void check_kth(const Site& site, const Line& line, std::int64_t kth) {
  if (kth < -line.length || kth >= line.length) fail<ValueError>(site, fmt::format("kth = {} is out of bounds for {}", kth, counted(line.length, "element")));
}

}  // namespace

Tensor sort(const Arg& x, std::optional<std::int64_t> axis, bool descending) {
  const Scope scope("sort", x.where());
  const Line line(scope.site(), x, axis);
  const Tensor sorted = ordered(scope.site(), Op::sort, line.x, line.along);
  return descending ? flip(sorted, line.along) : sorted;
}

Tensor argsort(const Arg& x, std::optional<std::int64_t> axis, bool descending) {
  const Scope scope("argsort", x.where());
  if (shape_of(scope.site(), x).empty())
    return places(scope.site(), Line(scope.site(), reshape(x, {1}), axis), descending);  // as in NumPy, which sorts at least vectors
  return places(scope.site(), Line(scope.site(), x, axis), descending);
}

Tensor lexsort(const std::vector<Tensor>& keys, std::int64_t axis, Location where) {
  const Scope scope("lexsort", where);
  if (keys.empty()) fail<ValueError>(scope.site(), "there is no key to sort by");
  Tensor order;
  for (const Tensor& key : keys) {
    if (node_of(scope.site(), key)->shape != node_of(scope.site(), keys[0])->shape)
      fail<ShapeError>(scope.site(), fmt::format("keys of shapes {} and {}", to_string(keys[0].shape()), to_string(key.shape())));
    order = order.empty_handle() ? argsort(key, axis) : take_along_axis(order, argsort(take_along_axis(key, order, axis), axis), axis);
  }
  return order;
}

std::pair<Tensor, Tensor> topk(const Arg& x, std::int64_t count, std::int64_t axis, bool largest) {
  const Scope scope("topk", x.where());
  const Line line(scope.site(), x, axis);
  if (count < 0 || count > line.length) fail<ValueError>(scope.site(), fmt::format("{} of {} along axis {}", count, counted(line.length, "element"), axis));
  const Tensor order = kSelected * count <= line.length ? ordered(scope.site(), Op::argsort, line.x, line.along, {count, largest})
                                                        : first(places(scope.site(), line, largest), line.along, count);
  return {take_along_axis(line.x, order, line.along), order};
}

Tensor partition(const Arg& x, std::int64_t kth, std::optional<std::int64_t> axis) {
  const Scope scope("partition", x.where());
  const Line line(scope.site(), x, axis);
  check_kth(scope.site(), line, kth);
  return sort(line.x, line.along);
}
Tensor argpartition(const Arg& x, std::int64_t kth, std::optional<std::int64_t> axis) {
  const Scope scope("argpartition", x.where());
  const Line line(scope.site(), x, axis);
  check_kth(scope.site(), line, kth);
  return argsort(line.x, line.along);
}

Tensor searchsorted(const Arg& ascending, const Arg& values, Side side, const Tensor& sorter) {
  const Scope scope("searchsorted", ascending.where());
  const Site& site = scope.site();
  const Tensor list(as_node(site, ascending));
  if (list.ndim() != 1) fail<ShapeError>(site, fmt::format("the searched tensor must be a vector, not of shape {}", to_string(list.shape())));
  const std::int64_t n = list.size();
  if (!sorter.empty_handle() && (node_of(site, sorter)->shape != list.shape() || !is_integer(sorter.dtype()) || is_bool(sorter.dtype())))
    fail<ShapeError>(site, fmt::format("sorter is of shape {} and {}, not the argsort of shape {}", to_string(sorter.shape()), name(sorter.dtype()),
                                       to_string(list.shape())));
  const Arg typed[] = {Arg(list, site.where), values};
  const DType common = common_type(site, std::array{&typed[0], &typed[1]}), type = traits(common).compute;
  const Tensor sorted = astype(sorter.empty_handle() ? list : take(list, sorter), type);
  const Tensor wanted = astype(Tensor(operand(site, values, common, shape_of(site, values))), type);
  if (n == 0) return zeros(wanted.shape(), DType::int64);
  return count_before(site, sorted, wanted, side == Side::right, true);
}

Tensor digitize(const Arg& x, const Arg& edges, bool right) {
  const Scope scope("digitize", x.where());
  const Site& site = scope.site();
  const Tensor list(as_node(site, edges));
  if (list.ndim() != 1) fail<ShapeError>(site, fmt::format("edges are a vector, not of shape {}", to_string(list.shape())));
  const std::int64_t n = list.size();
  bool rises = true, falls = true;
  if (n > 1) {
    const Tensor after = list(Slice{1, {}}), before = list(Slice{0, -1});
    const Tensor both = stack({all(after >= before), all(after <= before)});
    const auto* found = static_cast<const bool*>(host_data(both.node(), site));
    rises = found[0], falls = found[1];
  }
  if (!rises && !falls) fail<ValueError>(site, "edges must increase throughout or decrease throughout");
  if (rises) return searchsorted(list, x, right ? Side::left : Side::right);
  return n - searchsorted(flip(list), x, right ? Side::left : Side::right);
}

}  // namespace sinter

namespace sinter::ops {

// With at most this many elements, comparing all of them with the value is cheaper than a search.
constexpr std::int64_t kCompared = 12;

Tensor count_before(const Site& site, const Tensor& ascending, const Tensor& values, bool equal, bool placed) {
  const bool nan = placed && is_floating(values.dtype());
  const Tensor unordered = nan ? isnan(values) : Tensor();
  const auto comes_before = [&](const Tensor& element) {
    const Tensor less = equal ? element <= values : element < values;
    return nan ? logical_or(less, equal ? unordered : logical_and(unordered, logical_not(isnan(element)))) : less;
  };
  const std::int64_t n = ascending.size();
  Tensor first = zeros(values.shape(), DType::int64);
  if (n <= kCompared) {
    for (std::int64_t k = 0; k < n; ++k) first = first + astype(comes_before(ascending(k)), DType::int64);
    return first;
  }
  const auto before = [&](const Tensor& place) { return comes_before(Tensor(make_take(site, ascending.node(), place.node(), 0))); };
  // The count is between `first` and `first + length`, and the length is a power of two, so no position is outside the vector.
  auto length = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n)));
  if (length < n) first = where(before(first + (length - 1)), n - length, first);
  for (length /= 2; length > 0; length /= 2) first = where(before(first + (length - 1)), first + length, first);
  return first + astype(before(first), DType::int64);
}

}  // namespace sinter::ops
