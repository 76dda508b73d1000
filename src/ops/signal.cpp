#include "sinter/signal.hpp"

#include <algorithm>
#include <limits>
#include <numbers>
#include <span>

#include <fmt/format.h>

#include "ops/composed.hpp"
#include "ops/recording.hpp"
#include "sinter/fft.hpp"
#include "sinter/ops.hpp"
#include "sinter/shapes.hpp"
#include "sinter/statistics.hpp"

namespace sinter {
namespace {

using namespace ops;

struct Vectors {
  Vectors(const Site& site, const Arg& a, const Arg& v) {
    const Arg* const list[] = {&a, &v};
    const DType type = common_type(site, list);
    x = Tensor(make_cast(site, as_node(site, a), type));
    y = Tensor(make_cast(site, as_node(site, v), type));
    for (Tensor* t : {&x, &y}) {
      if (t->ndim() == 0) *t = reshape(*t, {1});
      if (t->ndim() != 1 || t->size() == 0)
        fail<ShapeError>(site, fmt::format("the operands must be vectors with elements, not of shape {}", to_string(t->shape())));
    }
  }
  Tensor x, y;
};

// Up to kFewTaps taps are recorded as a sum of shifted reads, which a kernel holds in registers. Up to kGuardedTaps taps the reads outside x are guarded; with
// more taps it is cheaper to compute the results at the ends separately, unless there are at most kSmallProducts products.
constexpr std::int64_t kFewTaps = 32, kGuardedTaps = 6, kSmallProducts = std::int64_t{1} << 14;

/// Computes the sum over k of x[n + k] * y[k], where y is inside x or extends beyond it by at most `before` and `behind`. Positions outside x are excluded from
/// the sum, because zeros there would be multiplied by taps that may be infinite.
Tensor correlated_with_few(const Tensor& x, const Tensor& y, std::int64_t before, std::int64_t behind) {
  const DType type = y.dtype(), compute = traits(type).compute;  // 16-bit floats are rounded once
  const auto wide = [&](const Tensor& t) { return pad(t, {{before, behind}}); };
  const Tensor all = wide(astype(x, compute)), met = wide(ones(x.shape(), DType::bool_)), taps = astype(y, compute);
  const std::int64_t places = all.size() - y.size() + 1;
  Tensor total;
  for (std::int64_t k = 0; k < y.size(); ++k) {
    const Slice shifted{k, k + places};
    Tensor term = all(shifted) * taps(k);  // for bool this is "and", and the sum "or"
    if (is_floating(type) && before + behind > 0) term = where(met(shifted), term, 0);
    total = k == 0 ? term : total + term;
  }
  return astype(total, type);
}
/// Computes the same with any number of taps, where y is inside x.
Tensor correlated_inside(const Tensor& x, const Tensor& y) {
  if (y.size() <= kFewTaps) return correlated_with_few(x, y, 0, 0);
  const Tensor windows = sliding_window_view(x, {y.size()});
  return is_bool(y.dtype()) ? any(windows & y, -1) : sum(windows * y, -1, false, y.dtype());
}
/// Computes the same where y extends beyond x by at most `before` and `behind`, in one kernel over x with zeros around it.
Tensor correlated_around(const Tensor& x, const Tensor& y, std::int64_t before, std::int64_t behind) {
  const Tensor windows = sliding_window_view(contiguous(pad(x, {{before, behind}})), {y.size()});
  if (is_bool(y.dtype())) return any(windows & y, -1);
  if (!is_floating(y.dtype())) return sum(windows * y, -1, false, y.dtype());
  const Tensor place = reshape(arange(windows.shape()[0]), {-1, 1}) + arange(y.size());
  return sum(where((place >= before) & (place < before + x.size()), windows * y, 0), -1, false, y.dtype());
}

/// Slides y, the shorter, over x and beyond its ends: the sum over k of x[n + k] * y[k].
Tensor correlated(const Tensor& x, const Tensor& y, ConvolveMode mode) {
  const std::int64_t n = x.size(), m = y.size();
  const std::int64_t before = mode == ConvolveMode::full ? m - 1 : mode == ConvolveMode::same ? m / 2 : 0;
  const std::int64_t behind = mode == ConvolveMode::valid ? 0 : mode == ConvolveMode::same ? m - 1 - before : m - 1;
  if (before + behind == 0) return correlated_inside(x, y);
  if (m <= kGuardedTaps) return correlated_with_few(contiguous(x), y, before, behind);
  const Tensor taps = contiguous(y);  // each result reads all of them
  if (n * m <= kSmallProducts || n < 3 * m) return correlated_around(x, taps, before, behind);
  const Tensor laid = contiguous(x), start = contiguous(correlated_around(laid(Slice{0, m - 1}), taps, before, 0)),
               middle = contiguous(correlated_inside(laid, taps)), end = contiguous(correlated_around(laid(Slice{n - m + 1, n}), taps, 0, behind));
  return concatenate({start, middle, end});
}

/// Returns the n numbers 1 - n, 3 - n, ..., n - 1.
Tensor odd_steps(std::int64_t n) { return astype(2 * arange(n) + (1 - n), DType::float64); }
Tensor cosines(const char* function, std::int64_t n, double mean, double first, double second, Location where) {
  const Scope scope(function, where);
  if (n < 1) return zeros({0});
  if (n == 1) return ones({1});
  const Tensor angle = odd_steps(n) * (std::numbers::pi / static_cast<double>(n - 1));
  const Tensor window = mean + first * cos(angle);
  return second == 0 ? window : window + second * cos(2 * angle);
}

/// Evaluates a Chebyshev series by Clenshaw's recurrence.
Tensor chebyshev(const Tensor& x, std::span<const double> series) {
  Tensor b0 = full({}, series[0], x.dtype()), b1 = full({}, 0.0, x.dtype()), b2 = b1;
  for (const double term : series.subspan(1)) {
    b2 = b1;
    b1 = b0;
    b0 = x * b1 - b2 + term;
  }
  return 0.5 * (b0 - b2);
}
// Coefficients of exp(-x) I0(x) in x / 2 - 2 up to 8, and of exp(-x) sqrt(x) I0(x) in 32 / x - 2 beyond, from Cephes' i0.c.
constexpr double kBelow8[] = {
    -4.41534164647933937950E-18, 3.33079451882223809783E-17,  -2.43127984654795469359E-16, 1.71539128555513303061E-15,  -1.16853328779934516808E-14,
    7.67618549860493561688E-14,  -4.85644678311192946090E-13, 2.95505266312963983461E-12,  -1.72682629144155570723E-11, 9.67580903537323691224E-11,
    -5.18979560163526290666E-10, 2.65982372468238665035E-9,   -1.30002500998624804212E-8,  6.04699502254191894932E-8,   -2.67079385394061173391E-7,
    1.11738753912010371815E-6,   -4.41673835845875056359E-6,  1.64484480707288970893E-5,   -5.75419501008210370398E-5,  1.88502885095841655729E-4,
    -5.76375574538582365885E-4,  1.63947561694133579842E-3,   -4.32430999505057594430E-3,  1.05464603945949983183E-2,   -2.37374148058994688156E-2,
    4.93052842396707084878E-2,   -9.49010970480476444210E-2,  1.71620901522208775349E-1,   -3.04682672343198398683E-1,  6.76795274409476084995E-1};
constexpr double kBeyond8[] = {
    -7.23318048787475395456E-18, -4.83050448594418207126E-18, 4.46562142029675999901E-17, 3.46122286769746109310E-17,  -2.82762398051658348494E-16,
    -3.42548561967721913462E-16, 1.77256013305652638360E-15,  3.81168066935262242075E-15, -9.55484669882830764870E-15, -4.15056934728722208663E-14,
    1.54008621752140982691E-14,  3.85277838274214270114E-13,  7.18012445138366623367E-13, -1.79417853150680611778E-12, -1.32158118404477131188E-11,
    -3.14991652796324136454E-11, 1.18891471078464383424E-11,  4.94060238822496958910E-10, 3.39623202570838634515E-9,   2.26666899049817806459E-8,
    2.04891858946906374183E-7,   2.89137052083475648297E-6,   6.88975834691682398426E-5,  3.36911647825569408990E-3,   8.04490411014108831608E-1};

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
  // The operands are exchanged and the result is reversed.
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

Tensor unwrap(const Arg& arg, std::int64_t axis, double period) {
  const Scope scope("unwrap", arg.where());
  const Composed c = floating(scope.site(), arg);
  const Tensor last = moveaxis(c.values, axis, -1);
  if (last.size() == 0) return c(c.values);
  const Tensor steps = diff(last);
  // Each step is reduced to [-half, half), but a step of +half is not changed.
  Tensor near = remainder(steps + period / 2, period) - period / 2;
  near = where(logical_and(near == -period / 2, steps > 0), period / 2, near);
  const Tensor taken = where(abs(steps) < period / 2, 0, near - steps);
  return c(moveaxis(concatenate({last.at({ellipsis, Slice{0, 1}}), last.at({ellipsis, Slice{1, {}}}) + cumsum(taken, -1)}, -1), -1, axis));
}

Complex stft(const Arg& arg, std::int64_t length, std::int64_t step, const Tensor& window) {
  const Scope scope("stft", arg.where());
  const Tensor x(as_node(scope.site(), arg));
  if (x.ndim() == 0 || length < 1 || step < 1 || length > x.shape().back())
    fail<ShapeError>(scope.site(), fmt::format("pieces of {} every {} samples do not fit shape {}", length, step, to_string(x.shape())));
  if (!window.empty_handle() && window.shape() != Shape{length})
    fail<ShapeError>(scope.site(), fmt::format("window shape {} does not fit pieces of {}", to_string(window.shape()), length));
  const Tensor pieces = sliding_window_view(x, {length}, {-1}).at({ellipsis, Slice{{}, {}, step}, Slice{}});
  return fft::rfft(window.empty_handle() ? pieces : pieces * window);
}

Tensor i0(const Arg& arg) {
  const Scope scope("i0", arg.where());
  const Composed c = floating(scope.site(), arg);
  const Tensor x = abs(astype(c.values, DType::float64)), beyond = maximum(x, 8.0);
  return c(exp(x) * where(x <= 8.0, chebyshev(x / 2.0 - 2.0, kBelow8), chebyshev(32.0 / beyond - 2.0, kBeyond8) / sqrt(beyond)));
}

Tensor kaiser(std::int64_t n, double beta, Location where) {
  const Scope scope("kaiser", where);
  if (n <= 1) return ones({std::max(n, std::int64_t{0})}, DType::float64, where);
  const double middle = static_cast<double>(n - 1) / 2;
  const Tensor part = (arange(n) - middle) / middle;
  return i0(beta * sqrt(maximum(1 - square(part), 0.0))) / i0(beta);
}

}  // namespace sinter
