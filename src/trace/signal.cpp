#include "sinter/signal.hpp"

#include <limits>
#include <numbers>

#include <fmt/format.h>

#include "sinter/decompositions.hpp"
#include "sinter/ops.hpp"
#include "sinter/shapes.hpp"
#include "sinter/statistics.hpp"
#include "trace/build.hpp"
#include "trace/composed.hpp"
#include "trace/promote.hpp"

namespace sinter {
namespace {

using namespace trace;

struct Vectors {
  Vectors(const Site& site, const Arg& a, const Arg& v) {
    const Arg* const list[] = {&a, &v};
    const DType type = common_type(list);
    x = Tensor(make_cast(site, as_node(site, a), type));
    y = Tensor(make_cast(site, as_node(site, v), type));
    for (Tensor* t : {&x, &y}) {
      if (t->ndim() == 0) *t = reshape(*t, {1});
      if (t->ndim() != 1 || t->size() == 0) fail<ShapeError>(site, fmt::format("vectors with elements are taken, not shape {}", to_string(t->shape())));
    }
  }
  Tensor x, y;
};

/// y, the shorter, slides over x, which gets zeros before and behind: sum over k of x[n + k] * y[k].
Tensor correlated(const Tensor& x, const Tensor& y, ConvolveMode mode) {
  const std::int64_t m = y.size();
  const std::int64_t before = mode == ConvolveMode::full ? m - 1 : mode == ConvolveMode::same ? m / 2 : 0;
  const std::int64_t behind = mode == ConvolveMode::valid ? 0 : mode == ConvolveMode::same ? m - 1 - before : m - 1;
  const Tensor windows = sliding_window_view(pad(x, {{before, behind}}), {m});
  return is_bool(y.dtype()) ? any(windows & y, -1) : sum(windows * y, -1, false, y.dtype());
}

/// n numbers 1 - n, 3 - n, ..., n - 1.
Tensor odd_steps(std::int64_t n) { return astype(2 * arange(n) + (1 - n), DType::float64); }
Tensor cosines(const char* function, std::int64_t n, double mean, double first, double second, Location where) {
  const Scope scope(function, where);
  if (n < 1) return zeros({0});
  if (n == 1) return ones({1});
  const Tensor angle = odd_steps(n) * (std::numbers::pi / static_cast<double>(n - 1));
  const Tensor window = mean + first * cos(angle);
  return second == 0 ? window : window + second * cos(2 * angle);
}

}  // namespace

Tensor convolve(const Arg& a, const Arg& v, ConvolveMode mode) {
  const Scope scope("convolve", a.where());
  const Vectors vectors(scope.site(), a, v);
  const bool swapped = vectors.y.size() > vectors.x.size();
  const Tensor &longer = swapped ? vectors.y : vectors.x, &shorter = swapped ? vectors.x : vectors.y;
  return correlated(longer, flip(shorter), mode);
}
Tensor correlate(const Arg& a, const Arg& v, ConvolveMode mode) {
  const Scope scope("correlate", a.where());
  const Vectors vectors(scope.site(), a, v);
  if (vectors.y.size() <= vectors.x.size()) return correlated(vectors.x, vectors.y, mode);
  // The other way round, and backwards.
  return flip(correlated(vectors.y, vectors.x, mode));
}

Tensor bartlett(std::int64_t n, Location where) {
  const Scope scope("bartlett", where);
  if (n <= 1) return ones({std::max<std::int64_t>(n, 0)});
  return 1 - abs(odd_steps(n)) / static_cast<double>(n - 1);
}
Tensor blackman(std::int64_t n, Location where) { return cosines("blackman", n, 0.42, 0.5, 0.08, where); }
Tensor hamming(std::int64_t n, Location where) { return cosines("hamming", n, 0.54, 0.46, 0, where); }
Tensor hanning(std::int64_t n, Location where) { return cosines("hanning", n, 0.5, 0.5, 0, where); }

Tensor polyval(const Arg& coefficients, const Arg& arg) {
  const Scope scope("polyval", coefficients.where());
  const Tensor p(as_node(scope.site(), coefficients)), x(as_node(scope.site(), arg));
  if (p.ndim() != 1) fail<ShapeError>(scope.site(), fmt::format("coefficients are a vector, not of shape {}", to_string(p.shape())));
  Tensor y = zeros(x.shape(), x.dtype());
  for (std::int64_t k = 0; k < p.size(); ++k) y = y * x + p(k);
  return y;
}
Tensor polyfit(const Arg& arg, const Arg& values, std::int64_t degree) {
  const Scope scope("polyfit", arg.where());
  const Site& site = scope.site();
  const Tensor x = astype(Tensor(as_node(site, arg)), DType::float64), y = astype(Tensor(as_node(site, values)), DType::float64);
  if (x.ndim() != 1 || y.ndim() < 1 || y.ndim() > 2 || y.size(0) != x.size() || x.size() == 0)
    fail<ShapeError>(site, fmt::format("points of shapes {} and {}", to_string(x.shape()), to_string(y.shape())));
  if (degree < 0) fail<ValueError>(site, fmt::format("a degree of {}", degree));
  const Tensor column = broadcast_to(expand_dims(x, 1), {x.size(), degree});
  const Tensor powers = flip(cumprod(concatenate({ones({x.size(), 1}), column}, 1), 1), 1);
  const Tensor scale = sqrt(sum(square(powers), 0));
  const double cut = static_cast<double>(x.size()) * std::numeric_limits<double>::epsilon();
  const Tensor found = lstsq(powers / scale, y.ndim() == 1 ? expand_dims(y, 1) : y, cut).x / expand_dims(scale, 1);
  return y.ndim() == 1 ? squeeze(found, 1) : found;
}

Tensor unwrap(const Arg& arg, std::int64_t axis, double period) {
  const Scope scope("unwrap", arg.where());
  const Composed c = floating(scope.site(), arg);
  const Tensor last = moveaxis(c.values, axis, -1);
  if (last.size() == 0) return c(c.values);
  const Tensor steps = diff(last);
  // Each step brought into [-half, half); a half up stays up.
  Tensor near = remainder(steps + period / 2, period) - period / 2;
  near = where(logical_and(near == -period / 2, steps > 0), period / 2, near);
  const Tensor taken = where(abs(steps) < period / 2, 0, near - steps);
  return c(moveaxis(concatenate({last.at({ellipsis, Slice{0, 1}}), last.at({ellipsis, Slice{1, {}}}) + cumsum(taken, -1)}, -1), -1, axis));
}

}  // namespace sinter
