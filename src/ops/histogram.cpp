// Histograms: each element gets the number of its bin, and the weights of each bin are added in order.
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ops/recording.hpp"
#include "sinter/counted.hpp"
#include "sinter/ops.hpp"
#include "sinter/sorting.hpp"
#include "sinter/statistics.hpp"
#include "trace/host_access.hpp"

namespace sinter {
namespace {

using namespace ops;

/// Evaluates the tensor and returns its elements.
template <class T> std::vector<T> elements(const Site& site, const Tensor& x) {
  const T* first = static_cast<const T*>(host_data(x.node(), site));
  return std::vector<T>(first, first + x.size());
}

/// Sums the weights of equal numbers in [0, count), and skips other numbers. Without weights it counts.
Tensor sums(const Site& site, const Tensor& numbers, const Tensor& weights, std::int64_t count) {
  if (!weights.empty_handle() && node_of(site, weights)->shape != numbers.shape())
    fail<ShapeError>(site, fmt::format("weights of shape {} for shape {}", to_string(weights.shape()), to_string(numbers.shape())));
  const DType type = weights.empty_handle() || is_bool(weights.dtype()) ? DType::int64 : traits(weights.dtype()).compute;
  const std::int64_t n = numbers.size();
  if (count == 0 || n == 0) return zeros({count}, type);
  const RecordedPtr none = make_constant(site, make_scalar_int(type, 0), {count, 1});
  const RecordedPtr weigh =
      weights.empty_handle() ? make_constant(site, make_scalar_int(type, 1), {n, 1}) : make_reshape(site, make_cast(site, weights.node(), type), {n, 1});
  return Tensor(make_reshape(site, make_library(site, Op::scatter_add, {none, make_reshape(site, numbers.node(), {n}), weigh}), {count}));
}

DType edge_type(DType of_elements) { return is_floating(of_elements) ? of_elements : DType::float64; }

std::pair<double, double> ends_of(const Site& site, const Tensor& x, std::optional<std::pair<double, double>> range) {
  std::pair<double, double> ends = range.value_or(std::pair(0.0, 1.0));
  if (!range && x.size() > 0) {
    const auto found = elements<double>(site, astype(stack({min(x), max(x)}), DType::float64));
    ends = {found[0], found[1]};
  }
  if (!std::isfinite(ends.first) || !std::isfinite(ends.second))
    fail<ValueError>(site, fmt::format("bins from {} to {} are not finite", ends.first, ends.second));
  if (ends.first > ends.second) fail<ValueError>(site, fmt::format("bins cannot run from {} down to {}", ends.first, ends.second));
  if (ends.first == ends.second) ends.first -= 0.5, ends.second += 0.5;
  return ends;
}

struct Binned {
  Tensor numbers, edges;  // the bin of each element, -1 outside of all bins
};

/// Finds the bin of each element among bins of equal width: computes it by a product, then compares the element with the bin's edges, because the product
/// rounds.
Binned equal_bins(const Site& site, const Tensor& x, std::int64_t bins, std::optional<std::pair<double, double>> range) {
  if (bins < 1) fail<ValueError>(site, fmt::format("{}: at least one is needed", counted(bins, "bin")));
  const auto [first, last] = ends_of(site, x, range);
  const Tensor edges = linspace(Arg(first, site.where), Arg(last, site.where), bins + 1, true, edge_type(x.dtype()));
  const DType type = is_floating(x.dtype()) ? traits(x.dtype()).compute : DType::float64;
  const Tensor values = astype(x, type), limits = astype(edges, type);
  Tensor number = astype((values - first) / (last - first) * static_cast<double>(bins), DType::int64);
  number = clip(number, 0, bins - 1);
  number = number - astype(values < take(limits, number, 0, IndexMode::clip), DType::int64);
  number = number + astype(logical_and(values >= take(limits, number + 1, 0, IndexMode::clip), number < bins - 1), DType::int64);
  return {where(logical_and(values >= first, values <= last), number, -1), edges};
}

Binned bins_between(const Site& site, const Tensor& x, const Tensor& edges) {
  const Tensor list(node_of(site, edges));
  if (list.ndim() != 1 || list.size() < 2) fail<ShapeError>(site, fmt::format("edges are a vector of two or more, not of shape {}", to_string(list.shape())));
  const std::int64_t n = list.size();
  if (!elements<bool>(site, all(list(Slice{1, {}}) >= list(Slice{0, -1})))[0]) fail<ValueError>(site, "edges must ascend");
  const Tensor number = searchsorted(list, x, Side::right) - 1;
  const Tensor at_the_end = x == list(n - 1);
  return {where(number < n - 1, number, where(at_the_end, n - 2, -1)), list};
}

Histogram histogram_in(const Site& site, const Binned& bins, const Tensor& weights, bool density) {
  const std::int64_t count = bins.edges.size() - 1;
  const Tensor sum = sums(site, bins.numbers, weights, count);
  const Tensor typed = weights.empty_handle() || is_bool(weights.dtype()) ? sum : astype(sum, weights.dtype());
  if (!density) return {typed, bins.edges};
  return {typed / astype(diff(bins.edges), DType::float64) / sinter::sum(typed), bins.edges};
}

}  // namespace

Tensor bincount(const Arg& arg, const Tensor& weights, std::int64_t minlength) {
  const Scope scope("bincount", arg.where());
  const Site& site = scope.site();
  const Tensor x(as_node(site, arg));
  if (x.ndim() != 1) fail<ShapeError>(site, fmt::format("x must be a vector, not of shape {}", to_string(x.shape())));
  if (is_floating(x.dtype())) fail<DTypeError>(site, fmt::format("integers are counted, not {}", name(x.dtype())));
  if (minlength < 0) fail<ValueError>(site, fmt::format("minlength is {}, and cannot be negative", minlength));
  std::int64_t count = minlength;
  const Tensor numbers = astype(x, DType::int64);
  if (x.size() > 0) {
    const auto ends = elements<std::int64_t>(site, stack({min(numbers), max(numbers)}));
    if (ends[0] < 0) fail<ValueError>(site, fmt::format("{} is negative: there is no such bin", ends[0]));
    count = std::max(count, ends[1] + 1);
    check_shape(site, {count}, DType::int64);
  }
  return sums(site, numbers, weights.empty_handle() ? weights : astype(weights, DType::float64), count);
}

Histogram histogram(const Arg& arg, std::int64_t bins, std::optional<std::pair<double, double>> range, const Tensor& weights, bool density) {
  const Scope scope("histogram", arg.where());
  const Tensor x(as_node(scope.site(), arg));
  return histogram_in(scope.site(), equal_bins(scope.site(), x, bins, range), weights, density);
}

Histogram histogram(const Arg& arg, const Tensor& edges, const Tensor& weights, bool density) {
  const Scope scope("histogram", arg.where());
  const Tensor x(as_node(scope.site(), arg));
  return histogram_in(scope.site(), bins_between(scope.site(), x, edges), weights, density);
}

Tensor histogram_bin_edges(const Arg& arg, std::int64_t bins, std::optional<std::pair<double, double>> range) {
  const Scope scope("histogram_bin_edges", arg.where());
  const Tensor x(as_node(scope.site(), arg));
  return equal_bins(scope.site(), x, bins, range).edges;
}

HistogramDd histogramdd(const Arg& arg, const std::vector<Bins>& bins, const Tensor& weights, bool density) {
  const Scope scope("histogramdd", arg.where());
  const Site& site = scope.site();
  const Tensor points(as_node(site, arg));
  if (points.ndim() != 2) fail<ShapeError>(site, fmt::format("points are the rows of a matrix, not of shape {}", to_string(points.shape())));
  const auto axes = static_cast<std::size_t>(points.shape()[1]);
  if (axes == 0 || (bins.size() != 1 && bins.size() != axes))
    fail<ValueError>(site, fmt::format("{} for points of {}; give one, or one for each", counted(bins.size(), "bin"), counted(axes, "number")));
  HistogramDd found;
  Tensor number = zeros({points.shape()[0]}, DType::int64), inside = ones({points.shape()[0]}, DType::bool_);
  Shape shape;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const Tensor along = std::as_const(points)(Slice{}, axis);
    const Bins& wanted = bins[bins.size() == 1 ? 0 : axis];
    const Binned binned = wanted.edges().empty_handle() ? equal_bins(site, along, wanted.count(), wanted.range()) : bins_between(site, along, wanted.edges());
    const std::int64_t count = binned.edges.size() - 1;
    inside = logical_and(inside, binned.numbers >= 0);
    number = number * count + binned.numbers;
    shape.push_back(count);
    found.edges.push_back(binned.edges);
  }
  check_shape(site, shape, DType::float64);
  found.counts = reshape(astype(sums(site, where(inside, number, -1), weights, element_count(shape)), DType::float64), shape);
  if (!density) return found;
  found.counts = found.counts / sum(found.counts);
  for (std::size_t axis = 0; axis < axes; ++axis) {
    Shape along(axes, 1);
    along[axis] = shape[axis];
    found.counts = found.counts / reshape(astype(diff(found.edges[axis]), DType::float64), along);
  }
  return found;
}

Histogram2d histogram2d(const Arg& x, const Arg& y, const Bins& x_bins, const Bins& y_bins, const Tensor& weights, bool density) {
  const Scope scope("histogram2d", x.where());
  const Site& site = scope.site();
  const Tensor first(as_node(site, x)), second(as_node(site, y));
  if (first.ndim() != 1 || first.shape() != second.shape())
    fail<ShapeError>(site, fmt::format("x and y are vectors of one length, not of shapes {} and {}", to_string(first.shape()), to_string(second.shape())));
  const HistogramDd found = histogramdd(stack({first, second}, 1), {x_bins, y_bins}, weights, density);
  return {found.counts, found.edges[0], found.edges[1]};
}

}  // namespace sinter
