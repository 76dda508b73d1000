// Pools: reductions of windows over the last axes.
#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "ops/composed.hpp"
#include "ops/per_axis.hpp"
#include "sinter/counted.hpp"
#include "sinter/nn.hpp"
#include "sinter/ops.hpp"

namespace sinter {
namespace {

using namespace ops;

struct Pool {
  std::vector<std::int64_t> taps, stride, dilation, places;
  std::vector<std::pair<std::int64_t, std::int64_t>> widths;  // the widths of padding, as requested
  std::size_t first = 0;                                      // the number of the first pooled axis
  std::vector<std::int64_t> size;                             // the sizes of the pooled axes

  std::int64_t reach(std::size_t axis) const { return (taps[axis] - 1) * dilation[axis] + 1; }
  /// Returns how many elements of window i are at positions in [low, high); position 0 is the first element of x.
  std::int64_t within(std::size_t axis, std::int64_t i, std::int64_t low, std::int64_t high) const {
    const std::int64_t begin = i * stride[axis] - widths[axis].first, step = dilation[axis];
    const auto before = [&](std::int64_t end) { return end <= begin ? 0 : std::min((end - begin + step - 1) / step, taps[axis]); };
    return before(high) - before(low);
  }
};

constexpr std::int64_t kMaxBeyond = std::int64_t{1} << 16;         // maximum number of positions of a window outside its axis, each of which is read
constexpr std::int64_t kMaxCounts = std::int64_t{1} << 26;         // maximum number of windows over a padded axis, whose elements are counted
constexpr std::int64_t kMaxUnevenWindows = std::int64_t{1} << 16;  // maximum number of windows of different sizes, which are recorded one by one

/// Returns the number of pooled axes: one number stands for all spatial axes, those after batch and channels.
std::size_t axes_of(const PerAxis& given, std::size_t rank) { return given.list().size() == 1 && rank > 3 ? rank - 2 : given.list().size(); }

Pool pool_of(const Site& site, const Shape& shape, const PerAxis& kernel_size, const PoolOptions& how) {
  Pool pool;
  const std::size_t axes = axes_of(kernel_size, shape.size());
  pool.taps = per_axis(site, "kernel_size", kernel_size, axes, 1);
  pool.stride = how.stride ? per_axis(site, "stride", *how.stride, axes, 1) : pool.taps;
  pool.dilation = per_axis(site, "dilation", how.dilation, axes, 1);
  pool.widths = per_axis(site, how.padding, axes);
  if (axes == 0 || shape.size() < axes + 1)
    fail<ShapeError>(site, fmt::format("x of shape {} needs {} after its channels", to_string(shape), counted(axes, "axis", "axes")));
  pool.first = shape.size() - axes;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const std::int64_t size = shape[pool.first + axis], reach = pool.reach(axis);
    auto& [before, after] = pool.widths[axis];
    if (how.padding.is_same()) {
      const std::int64_t wanted = (size + pool.stride[axis] - 1) / pool.stride[axis];
      const std::int64_t more = std::max<std::int64_t>(0, (wanted - 1) * pool.stride[axis] + reach - size);
      before = more / 2;
      after = more - before;
    }
    if (pool.taps[axis] - size > kMaxPadding)
      fail<ShapeError>(site, fmt::format("windows of {} over axis {} of shape {}; at most {} points of a window may lie outside it", pool.taps[axis],
                                         pool.first + axis, to_string(shape), kMaxPadding));
    if (before >= reach || after >= reach)
      fail<ValueError>(site, fmt::format("padding of {} and {} for windows of {}: a window would contain only padding", before, after, reach));
    const std::int64_t space = size + before + after - reach, step = pool.stride[axis];
    // If sizes are rounded up, a window may begin inside and end beyond the padding; it may even be larger than the axis.
    if ((how.ceil_mode ? space + step - 1 : space) < 0 || size == 0)
      fail<ShapeError>(site, fmt::format("windows of {} do not fit into axis {} of shape {} with padding of {} and {}", reach, pool.first + axis,
                                         to_string(shape), before, after));
    std::int64_t places = space / step + 1;
    if (how.ceil_mode) {
      places = (space + step - 1) / step + 1;
      if ((places - 1) * step >= size + before) --places;  // it would begin after the end
    }
    pool.places.push_back(places);
    pool.size.push_back(size);
  }
  return pool;
}

Tensor largest(const Tensor& x, const Axes& axes) { return max(x, axes); }
Tensor total(const Tensor& x, const Axes& axes) { return sum(x, axes); }

/// Combines each window to one element; `fill` is the value outside of x. A window of few elements becomes as many slices, combined elementwise: the kernel
/// is then vectorised along the result, and neighbours share their reads. Larger overlapping windows are reduced along one axis at a time, disjoint windows
/// along all axes at once.
Tensor over_windows(const Site& site, const Tensor& x, const Pool& pool, const Tensor& fill, Tensor (*combined)(const Arg&, const Arg&),
                    Tensor (*reduced)(const Tensor&, const Axes&)) {
  std::vector<std::pair<std::int64_t, std::int64_t>> widths(pool.first, {0, 0});
  std::int64_t count = 1;
  bool overlap = false;
  for (std::size_t axis = 0; axis < pool.taps.size(); ++axis) {
    const auto [before, after] = pool.widths[axis];
    const std::int64_t needed = (pool.places[axis] - 1) * pool.stride[axis] + pool.reach(axis);
    widths.emplace_back(before, std::max(after, needed - before - pool.size[axis]));
    count *= pool.taps[axis];
    overlap |= pool.stride[axis] < pool.reach(axis) && pool.places[axis] > 1;
  }
  Tensor y = pad(x, widths, PadMode::constant, fill);
  const auto windows = [&](std::size_t axis) {
    return Tensor(make_windows(site, y.node(), pool.first + axis, pool.places[axis], pool.stride[axis], pool.taps[axis], pool.dilation[axis]));
  };
  constexpr std::int64_t kFew = 32;
  if (count > kFew && !overlap) {
    std::vector<std::int64_t> last;
    for (std::size_t axis = 0; axis < pool.taps.size(); ++axis) {
      y = windows(axis);
      last.push_back(-1 - static_cast<std::int64_t>(axis));
    }
    return reduced(y, Axes(last));
  }
  for (std::size_t axis = pool.taps.size(); axis-- > 0;) {
    if (count > kFew) {
      y = reduced(windows(axis), -1);
      continue;
    }
    Tensor all;
    for (std::int64_t k = 0; k < pool.taps[axis]; ++k) {
      std::vector<Index> index(pool.first + axis, Slice{});
      const std::int64_t start = k * pool.dilation[axis];
      index.push_back(Slice{start, start + (pool.places[axis] - 1) * pool.stride[axis] + 1, pool.stride[axis]});
      const Tensor part = slice(y, index);
      all = k == 0 ? part : combined(all, part);
    }
    y = all;
  }
  return y;
}

/// Divides the sum of each window.
Tensor divided(const Site& site, const Tensor& sums, const Pool& pool, const PoolOptions& how) {
  if (how.divisor_override) return sums / static_cast<double>(*how.divisor_override);
  Tensor result = sums;
  std::int64_t all = 1;
  for (std::size_t axis = 0; axis < pool.taps.size(); ++axis) {
    const auto [before, after] = pool.widths[axis];
    if (before == 0 && after == 0 && !how.ceil_mode) {
      all = size_product(site, all, pool.taps[axis]);
      continue;
    }
    check_parts(site, pool.places[axis], "windows over an axis with padding", kMaxCounts);
    std::vector<double> counts;
    for (std::int64_t i = 0; i < pool.places[axis]; ++i)
      counts.push_back(
          static_cast<double>(how.count_include_pad ? pool.within(axis, i, -before, pool.size[axis] + after) : pool.within(axis, i, 0, pool.size[axis])));
    if (std::all_of(counts.begin(), counts.end(), [&](double count) { return count == counts.front(); })) {
      all = size_product(site, all, whole(site, counts.front(), "a count"));
      continue;
    }
    Shape along(sums.shape().size(), 1);
    along[pool.first + axis] = pool.places[axis];
    result = result / astype(reshape(from_span(counts), along), sums.dtype());
  }
  return result / static_cast<double>(all);
}

/// Returns a number for each axis that the function's name implies; a single number is repeated for all axes.
PerAxis for_axes(const PerAxis& kernel_size, std::size_t axes) {
  return kernel_size.list().size() == 1 ? PerAxis(std::vector<std::int64_t>(axes, kernel_size.list().front())) : kernel_size;
}
PerAxis checked_axes_of(const char* name, const Arg& x, const PerAxis& kernel_size, std::size_t axes) {
  const Site site = site_of(name, x.where());
  const PerAxis all = for_axes(kernel_size, axes);
  if (all.list().size() != axes)
    fail<ValueError>(site, fmt::format("{} for kernel_size where there are {}", counted(all.list().size(), "number"), counted(axes, "axis", "axes")));
  const std::size_t rank = shape_of(site, x).size();
  if (rank != axes + 1 && rank != axes + 2)
    fail<ShapeError>(site,
                     fmt::format("x of shape {}; it has {}, or {} without a batch", to_string(shape_of(site, x)), counted(axes + 2, "axis", "axes"), axes + 1));
  return all;
}

template <class Function> Tensor named(const char* name, const Arg& x, const PerAxis& kernel_size, const PoolOptions& how, std::size_t axes, Function pool) {
  const Scope scope(name, x.where());
  return pool(x, checked_axes_of(name, x, kernel_size, axes), how);
}

/// Reduces each window of an adaptive pool; windows of different sizes are reduced one after another.
Tensor adaptive(const char* name, const Arg& x, const PerAxis& output_size, Tensor (*reduced)(const Tensor&, std::int64_t)) {
  const Scope scope(name, x.where());
  const Site& site = scope.site();
  Tensor y(as_node(site, x));
  const std::size_t axes = axes_of(output_size, y.shape().size());
  const auto places = per_axis(site, "output_size", output_size, axes, 1);
  if (y.shape().size() < axes + 1)
    fail<ShapeError>(site, fmt::format("x of shape {} needs {} after its channels", to_string(y.shape()), counted(axes, "axis", "axes")));
  for (std::size_t k = 0; k < axes; ++k) {
    const std::size_t axis = y.shape().size() - axes + k;
    const auto along = static_cast<std::int64_t>(axis);
    const std::int64_t size = y.shape()[axis], count = places[k];
    if (size == 0) fail<ShapeError>(site, fmt::format("axis {} of shape {} is empty", axis, to_string(y.shape())));
    if (size % count == 0) {
      Shape apart = y.shape();
      apart[axis] = count;
      apart.insert(apart.begin() + along + 1, size / count);
      y = reduced(reshape(y, apart), along + 1);
      continue;
    }
    check_parts(site, count, "windows of several sizes", kMaxUnevenWindows);
    std::vector<Tensor> parts;
    for (std::int64_t i = 0; i < count; ++i) {
      std::vector<Index> index(axis, Slice{});
      index.push_back(Slice{i * size / count, ((i + 1) * size + count - 1) / count});
      parts.push_back(expand_dims(reduced(slice(y, index), along), along));
    }
    y = concatenate(parts, along);
  }
  return y;
}

Axes places_of(const Site& site, const Tensor& x) {
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = 2; axis < x.ndim(); ++axis) axes.push_back(axis);
  if (axes.empty()) fail<ShapeError>(site, fmt::format("x of shape {} is not (batch, channels, spatial axes..)", to_string(x.shape())));
  return Axes(axes);
}

}  // namespace

Tensor max_pool(const Arg& x, const PerAxis& kernel_size, const PoolOptions& how) {
  const Scope scope("max_pool", x.where());
  const Site& site = scope.site();
  const Tensor held(as_node(site, x));
  const Pool pool = pool_of(site, held.shape(), kernel_size, how);
  const Tensor lowest(make_constant(site, neutral(Op::reduce_max, held.dtype()), Shape{}));
  return over_windows(site, held, pool, lowest, maximum, largest);
}

Tensor avg_pool(const Arg& x, const PerAxis& kernel_size, const PoolOptions& how) {
  const Scope scope("avg_pool", x.where());
  const Composed average = floating(scope.site(), x);
  if (how.divisor_override && *how.divisor_override == 0) fail<ValueError>(scope.site(), "divisor_override of 0");
  const Pool pool = pool_of(scope.site(), average.values.shape(), kernel_size, how);
  const Tensor zero(make_constant(scope.site(), make_scalar_int(average.values.dtype(), 0), Shape{}));
  return average(divided(scope.site(), over_windows(scope.site(), average.values, pool, zero, add, total), pool, how));
}

Tensor lp_pool(const Arg& x, double p, const PerAxis& kernel_size, const PoolOptions& how) {
  const Scope scope("lp_pool", x.where());
  const Composed norm = floating(scope.site(), x);
  if (!(p > 0)) fail<ValueError>(scope.site(), fmt::format("p of {}; it is positive", p));
  if (std::isinf(p)) return norm(max_pool(abs(norm.values), kernel_size, how));
  const Pool pool = pool_of(scope.site(), norm.values.shape(), kernel_size, how);
  const Tensor zero(make_constant(scope.site(), make_scalar_int(norm.values.dtype(), 0), Shape{}));
  const Tensor raised = p == 1 ? abs(norm.values) : p == 2 ? square(norm.values) : power(abs(norm.values), p);
  const Tensor sums = over_windows(scope.site(), raised, pool, zero, add, total);
  return norm(p == 1 ? sums : p == 2 ? sqrt(sums) : power(sums, 1 / p));
}

Tensor max_pool1d(const Arg& x, const PerAxis& kernel_size, const PoolOptions& how) { return named("max_pool1d", x, kernel_size, how, 1, max_pool); }
Tensor max_pool2d(const Arg& x, const PerAxis& kernel_size, const PoolOptions& how) { return named("max_pool2d", x, kernel_size, how, 2, max_pool); }
Tensor max_pool3d(const Arg& x, const PerAxis& kernel_size, const PoolOptions& how) { return named("max_pool3d", x, kernel_size, how, 3, max_pool); }
Tensor avg_pool1d(const Arg& x, const PerAxis& kernel_size, const PoolOptions& how) { return named("avg_pool1d", x, kernel_size, how, 1, avg_pool); }
Tensor avg_pool2d(const Arg& x, const PerAxis& kernel_size, const PoolOptions& how) { return named("avg_pool2d", x, kernel_size, how, 2, avg_pool); }
Tensor avg_pool3d(const Arg& x, const PerAxis& kernel_size, const PoolOptions& how) { return named("avg_pool3d", x, kernel_size, how, 3, avg_pool); }

Tensor adaptive_avg_pool(const Arg& x, const PerAxis& output_size) {
  const Scope scope("adaptive_avg_pool", x.where());
  const Composed average = floating(scope.site(), x);
  return average(adaptive("adaptive_avg_pool", average.values, output_size, [](const Tensor& y, std::int64_t axis) { return mean(y, axis); }));
}
Tensor adaptive_max_pool(const Arg& x, const PerAxis& output_size) {
  return adaptive("adaptive_max_pool", x, output_size, [](const Tensor& y, std::int64_t axis) { return max(y, axis); });
}

Tensor global_avg_pool(const Arg& x) {
  const Scope scope("global_avg_pool", x.where());
  const Tensor held(as_node(scope.site(), x));
  return mean(held, places_of(scope.site(), held), true);
}
Tensor global_max_pool(const Arg& x) {
  const Scope scope("global_max_pool", x.where());
  const Tensor held(as_node(scope.site(), x));
  return max(held, places_of(scope.site(), held), true);
}

}  // namespace sinter
