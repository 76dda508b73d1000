// Sets: the elements are sorted, and the first of equal neighbours is taken.
#include "sinter/sets.hpp"

#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ops/gathers.hpp"
#include "ops/masks.hpp"
#include "ops/recording.hpp"
#include "ops/scatter.hpp"
#include "sinter/indexing.hpp"
#include "sinter/ops.hpp"
#include "sinter/shapes.hpp"
#include "sinter/sorting.hpp"
#include "trace/host_access.hpp"

namespace sinter {
namespace {

using namespace ops;

/// Evaluates the tensor, so that its users do not sort again.
const Tensor& evaluated(const Site& site, const Tensor& x) {
  if (x.size() > 0) host_data(x.node(), site);
  return x;
}

Tensor from(const Tensor& x, std::int64_t begin, std::int64_t end) { return x(Slice{begin, end}); }

/// Tests whether a row of a matrix (an element of a vector) differs from the one before it; the first one does.
Tensor first_of_its_kind(const Tensor& sorted, bool equal_nan) {
  const std::int64_t n = sorted.size(0);
  const Tensor after = from(sorted, 1, n), before = from(sorted, 0, n - 1);
  Tensor differ = after != before;
  if (equal_nan && is_floating(sorted.dtype())) differ = logical_and(differ, logical_not(logical_and(isnan(after), isnan(before))));
  if (sorted.ndim() > 1) differ = any(differ, 1);
  return concatenate({ones({1}, DType::bool_), differ});
}

/// The groups of sorted rows or elements: whether each is the first of its group, the places of the first ones, the groups' values, and their sizes.
struct Groups {
  Tensor first, starts, values, counts;
};
Groups groups_of(const Site& site, const Tensor& sorted, bool equal_nan) {
  Groups groups;
  groups.first = evaluated(site, first_of_its_kind(sorted, equal_nan));
  groups.starts = Tensor(places_of_trues(site, groups.first.node()));
  groups.values = Tensor(make_take(site, sorted.node(), groups.starts.node(), 0));
  groups.counts = concatenate({from(groups.starts, 1, groups.starts.size()), full({1}, Arg(sorted.size(0), site.where))}) - groups.starts;
  return groups;
}

/// Groups the rows of a matrix or the elements of a vector, given the order that sorts them.
Unique grouped(const Site& site, const Tensor& rows, const Tensor& order, bool equal_nan) {
  const std::int64_t n = rows.size(0);
  const Groups groups = groups_of(site, evaluated(site, Tensor(make_take(site, rows.node(), order.node(), 0))), equal_nan);
  Unique result{groups.values, Tensor(make_take(site, order.node(), groups.starts.node(), 0)), {}, groups.counts};
  // The number of each sorted element's group is written to the element's original position.
  const Tensor group = cumsum(groups.first) - 1;
  result.inverse = Tensor(make_scatter(site, Op::scatter, zeros({n}, DType::int64).node(), {Index(order, site.where)}, Arg(group, site.where)));
  return result;
}

// With at least this many elements, finding the range of the searched tensor is cheaper than the search.
constexpr std::int64_t kTableFrom = 4096;

/// Tests which elements of x are among those of y, of one integer type (bool as a number), by a table of y's range, if that is not much longer than both
/// tensors (NumPy's rule). Returns nullopt if y is not known or its range is too wide.
std::optional<Tensor> among(const Site& site, const Tensor& x, const Tensor& y) {
  if (!is_integer(y.dtype()) || y.node()->symbolic || x.size() < kTableFrom) return std::nullopt;
  const Tensor ends = astype(stack({min(y), max(y)}), DType::uint64);  // differences of these bits are correct for signed numbers, too
  const auto* const bits = static_cast<const std::uint64_t*>(host_data(ends.node(), site));
  const std::uint64_t smallest = bits[0], range = bits[1] - smallest;
  if (range >= static_cast<std::uint64_t>(6 * (x.size() + y.size()))) return std::nullopt;
  const auto place = [&](const Tensor& number) { return astype(number, DType::uint64) - Arg(smallest, site.where); };
  const Tensor none = zeros({static_cast<std::int64_t>(range) + 1}, DType::bool_), places = astype(reshape(place(y), {-1}), DType::int64);
  const Tensor table(make_scatter(site, Op::scatter, none.node(), {Index(places, site.where)}, Arg(true, site.where)));
  const Tensor at = place(x);
  return logical_and(at <= Arg(range, site.where), take(table, astype(at, DType::int64), 0, IndexMode::clip));
}

Unique nothing(const Tensor& values) {
  const Tensor none = zeros({0}, DType::int64);
  return {values, none, none, none};
}

Unique of_elements(const Site& site, const Arg& arg, bool equal_nan) {
  const Tensor x(as_node(site, arg)), flat(make_reshape(site, x.node(), {x.size()}));
  Unique result = x.size() == 0 ? nothing(flat) : grouped(site, flat, evaluated(site, argsort(flat)), equal_nan);
  result.inverse = reshape(result.inverse, x.shape());
  return result;
}

Unique of_slices(const Site& site, const Arg& arg, std::int64_t axis, bool equal_nan) {
  const Tensor x(as_node(site, arg));
  const std::int64_t along = checked_axis(site, axis, x.ndim());
  const Tensor slices = moveaxis(x, along, 0);
  const std::int64_t n = slices.size(0), m = n == 0 ? 0 : slices.size() / n;
  if (m == 0) {
    if (n > 0) fail<ShapeError>(site, fmt::format("the slices of shape {} along axis {} have no elements", to_string(x.shape()), axis));
    return nothing(x);
  }
  check_parts(site, m, "elements of a slice to sort by");
  const Tensor rows = evaluated(site, reshape(slices, {n, m}));
  std::vector<Tensor> keys;
  for (std::int64_t column = m; column-- > 0;) keys.push_back(rows(Slice{}, column));
  Unique result = grouped(site, rows, evaluated(site, lexsort(keys)), equal_nan);
  Shape shape = slices.shape();
  shape[0] = result.values.size(0);
  result.values = moveaxis(reshape(result.values, shape), 0, along);
  return result;
}

/// Returns only the values, because their positions are not needed.
Tensor values_of(const Site& site, const Arg& arg, bool equal_nan) {
  const Tensor x(as_node(site, arg)), flat(make_reshape(site, x.node(), {x.size()}));
  if (x.size() == 0) return flat;
  const Tensor sorted = evaluated(site, sort(flat));
  return compress(first_of_its_kind(sorted, equal_nan), sorted);
}

/// Returns the values and their counts. Their positions are not needed, so elements are sorted, which takes less time than finding their order.
std::pair<Tensor, Tensor> values_and_counts(const Site& site, const Arg& arg, bool equal_nan) {
  const Tensor x(as_node(site, arg)), flat(make_reshape(site, x.node(), {x.size()}));
  if (x.size() == 0) return {flat, zeros({0}, DType::int64)};
  const Groups groups = groups_of(site, evaluated(site, sort(flat)), equal_nan);
  return {groups.values, groups.counts};
}

/// Returns both in their common type, each element once.
std::pair<Tensor, Tensor> both(const Site& site, const Arg& a, const Arg& b) {
  const Arg* const list[] = {&a, &b};
  const DType type = common_type(site, list);
  return {values_of(site, Tensor(make_cast(site, as_node(site, a), type)), true), values_of(site, Tensor(make_cast(site, as_node(site, b), type)), true)};
}

}  // namespace

Unique unique_all(const Arg& x) {
  const Scope scope("unique_all", x.where());
  return of_elements(scope.site(), x, false);
}
Tensor unique_values(const Arg& x) {
  const Scope scope("unique_values", x.where());
  return values_of(scope.site(), x, false);
}
std::pair<Tensor, Tensor> unique_counts(const Arg& x, bool equal_nan) {
  const Scope scope("unique_counts", x.where());
  return values_and_counts(scope.site(), x, equal_nan);
}
std::pair<Tensor, Tensor> unique_inverse(const Arg& x) {
  const Scope scope("unique_inverse", x.where());
  const Unique all = of_elements(scope.site(), x, false);
  return {all.values, all.inverse};
}
Tensor unique(const Arg& x, std::optional<std::int64_t> axis, bool equal_nan) {
  const Scope scope("unique", x.where());
  return axis ? of_slices(scope.site(), x, *axis, equal_nan).values : values_of(scope.site(), x, equal_nan);
}
Unique unique_with(const Arg& x, std::optional<std::int64_t> axis, bool equal_nan) {
  const Scope scope("unique", x.where());
  return axis ? of_slices(scope.site(), x, *axis, equal_nan) : of_elements(scope.site(), x, equal_nan);
}

Tensor isin(const Arg& element, const Arg& test_elements, bool invert) {
  const Scope scope("isin", element.where());
  const Site& site = scope.site();
  const Arg* const list[] = {&element, &test_elements};
  const Tensor given(as_node(site, element)), tested(as_node(site, test_elements));
  if (is_integer(given.dtype()) && is_integer(tested.dtype()) && is_floating(promote(site, given.dtype(), tested.dtype()))) {
    // int64 and uint64 have no common integer type: the bits as uint64 are compared, for numbers that both types hold.
    const Tensor x = astype(given, DType::uint64);
    const Tensor found = logical_and(isin(x, astype(tested, DType::uint64)), astype(x, DType::int64) >= 0);
    return invert ? logical_not(found) : found;
  }
  const DType type = common_type(site, list);
  const Tensor x(make_cast(site, given.node(), type)), y(make_cast(site, tested.node(), type));
  if (y.size() == 0 || x.size() == 0) return full(x.shape(), Arg(invert, site.where));
  if (const auto known = among(site, x, y)) return invert ? logical_not(*known) : *known;
  const Tensor sorted = sort(y, std::nullopt);
  const Tensor found = take(sorted, searchsorted(sorted, x), 0, IndexMode::clip);
  return invert ? found != x : found == x;
}
Tensor in1d(const Arg& element, const Arg& test_elements, bool invert) {
  const Scope scope("in1d", element.where());
  return isin(reshape(element, Shape{-1}), test_elements, invert);
}

Tensor intersect1d(const Arg& a, const Arg& b) {
  const Scope scope("intersect1d", a.where());
  const auto [x, y] = both(scope.site(), a, b);
  return compress(isin(x, y), x);
}
Tensor union1d(const Arg& a, const Arg& b) {
  const Scope scope("union1d", a.where());
  return unique(concatenate({reshape(a, Shape{-1}), reshape(b, Shape{-1})}));
}
Tensor setdiff1d(const Arg& a, const Arg& b) {
  const Scope scope("setdiff1d", a.where());
  const Tensor x = unique(a);
  return compress(isin(x, b, true), x);
}
Tensor setxor1d(const Arg& a, const Arg& b) {
  const Scope scope("setxor1d", a.where());
  const auto [x, y] = both(scope.site(), a, b);
  return sort(concatenate({compress(isin(x, y, true), x), compress(isin(y, x, true), y)}));
}

}  // namespace sinter
