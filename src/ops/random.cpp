// Random numbers are ordinary nodes over one primitive, philox, so they fuse like all others.
#include "sinter/random.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include "base/philox.hpp"
#include "ops/gathers.hpp"
#include "ops/recording.hpp"
#include "sinter/counted.hpp"
#include "sinter/sorting.hpp"
#include "sinter/whole.hpp"

namespace sinter::random {
namespace {

using namespace ops;

// The third word of a counter identifies its use; it is 0 for the elements of tensors.
constexpr std::uint64_t kSplit = 1, kFold = 2, kTry = 3;

Key derived(Key key, std::uint64_t number, std::uint64_t purpose) {
  const auto block = philox_block<std::uint64_t>(low_half(number), high_half(number), purpose, 0, low_half(key.bits()), high_half(key.bits()));
  return Key(joined_halves(block.word[1], block.word[0]));
}

/// Returns 64 random bits per element, uint64. Another `draw` gives other bits: half of the counters are for draw 0, half for draw 1.
Tensor words(Key key, const Shape& shape, bool draw = false) {
  const Site site = site_of("random", {});
  check_shape(site, shape, DType::uint64);
  const std::int64_t count = element_count(shape);
  RecordedPtr counter = make_cast(site, make_iota(site, count), DType::uint64);
  const auto literal = [&](std::uint64_t value) { return make_constant(site, make_scalar_int(DType::uint64, static_cast<std::int64_t>(value)), {count}); };
  if (draw) counter = make_elementwise(site, Op::bitwise_or, {counter, literal(std::uint64_t{1} << 63)});
  const RecordedPtr made = make_elementwise(site, Op::philox, {counter, literal(key.bits())});
  return Tensor(make_reshape(site, made, shape));
}

Tensor low_word(const Tensor& words) { return astype(words, DType::uint32); }
Tensor high_word(const Tensor& words) { return astype(right_shift(words, 32), DType::uint32); }

void check_floating(const Site& site, DType dtype) {
  if (!is_floating(dtype)) fail<DTypeError>(site, fmt::format("the dtype is {}, but has to be a floating one", name(dtype)));
}

void check_integer(const Site& site, DType dtype) {
  if (!is_integer(dtype) || is_bool(dtype)) fail<DTypeError>(site, fmt::format("the dtype is {}, but has to be an integer one", name(dtype)));
}

/// Returns numbers in [0, 1) with as many bits as the type's significand.
Tensor fraction(Key key, const Shape& shape, DType dtype) {
  const Tensor drawn = words(key, shape);
  if (dtype == DType::float64) return multiply(astype(astype(right_shift(drawn, 11), DType::int64), dtype), 0x1p-53);
  const int digits = visit_storage(dtype, []<class T>() { return std::numeric_limits<T>::digits; });
  const Tensor whole = astype(right_shift(low_word(drawn), 32 - digits), DType::int32);  // fits, and int32 converts in one instruction
  return astype(multiply(astype(whole, DType::float32), std::ldexp(1.0f, -digits)), dtype);
}

/// Returns numbers in (0, 1], whose logarithms are finite; float32 or float64.
Tensor positive_fraction(const Tensor& drawn, DType computed) {
  if (computed == DType::float64) return multiply(add(astype(astype(right_shift(drawn, 11), DType::int64), computed), 1.0), 0x1p-53);
  return multiply(add(astype(low_word(drawn), computed), 1.0f), 0x1p-32f);
}

/// Returns (r * range) >> 64 for 64 random bits r: a number in [0, range).
Tensor scaled(const Tensor& r, std::uint64_t range) {
  const std::uint64_t mask = 0xffffffffu, low = range & mask, high = range >> 32;
  const auto times = [](const Tensor& x, std::uint64_t by) { return multiply(x, by); };
  const Tensor r_low = bitwise_and(r, mask), r_high = right_shift(r, 32);
  const Tensor middle = add(times(r_high, low), right_shift(times(r_low, low), 32));
  if (high == 0) return right_shift(middle, 32);
  const Tensor second = add(times(r_low, high), bitwise_and(middle, mask));
  return add(add(times(r_high, high), right_shift(middle, 32)), right_shift(second, 32));
}

/// Returns a parameter in the type and the shape of the result; throws ShapeError if a tensor does not broadcast to it.
Tensor parameter(const Site& site, const Arg& x, DType dtype, const Shape& shape) {
  return x.is_tensor() ? broadcast_to(astype(x, dtype), shape) : Tensor(operand(site, x, dtype, shape));
}

}  // namespace

std::array<Key, 2> Key::split() const {
  const std::vector<Key> keys = split(2);
  return {keys[0], keys[1]};
}

std::vector<Key> Key::split(std::size_t count) const {
  check_parts(site_of("random::Key::split", {}), detail::saturated(static_cast<double>(count)), "keys", std::int64_t{1} << 26);
  std::vector<Key> keys;
  keys.reserve(count);
  for (std::size_t k = 0; k < count; ++k) keys.push_back(derived(*this, k, kSplit));
  return keys;
}
Key Key::fold_in(std::uint64_t number) const { return derived(*this, number, kFold); }

Tensor bits(Key key, const Shape& shape, DType dtype, Location where) {
  const Scope scope("random::bits", where);
  check_integer(scope.site(), dtype);
  return astype(words(key, shape), dtype);
}

Tensor uniform(Key key, const Shape& shape, const Arg& low, const Arg& high, DType dtype) {
  const Scope scope("random::uniform", low.where());
  check_floating(scope.site(), dtype);
  const Tensor unit = fraction(key, shape, dtype);
  const Tensor from = parameter(scope.site(), low, dtype, shape), to = parameter(scope.site(), high, dtype, shape);
  return add(multiply(unit, subtract(to, from)), from);
}

Tensor normal(Key key, const Shape& shape, const Arg& mean, const Arg& std, DType dtype) {
  const Scope scope("random::normal", mean.where());
  check_floating(scope.site(), dtype);
  const DType computed = traits(dtype).compute;
  const Tensor drawn = words(key, shape);
  const Tensor radius = sqrt(multiply(log(positive_fraction(drawn, computed)), -2.0));
  const Tensor turn = computed == DType::float32
                          ? multiply(astype(astype(high_word(drawn), DType::int32), computed), std::numbers::pi_v<double> * 0x1p-31)
                          : multiply(astype(astype(words(key, shape, true), DType::int64), computed), std::numbers::pi_v<double> * 0x1p-63);
  const Tensor unit = astype(multiply(radius, cos(turn)), dtype);
  return add(multiply(unit, parameter(scope.site(), std, dtype, shape)), parameter(scope.site(), mean, dtype, shape));
}

Tensor integers(Key key, const Shape& shape, std::int64_t low, std::int64_t high, DType dtype, Location where) {
  const Scope scope("random::integers", where);
  check_integer(scope.site(), dtype);
  if (low >= high) fail<ValueError>(scope.site(), fmt::format("there is no integer from {} to below {}", low, high));
  if (!fits(Arg(low, where), dtype) || !fits(Arg(high - 1, where), dtype))
    fail<ValueError>(scope.site(), fmt::format("{} to {} are not all values of {}", low, high - 1, name(dtype)));
  const Tensor chosen = scaled(words(key, shape), static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low));
  return astype(add(astype(chosen, DType::int64), low), dtype);
}

Tensor bernoulli(Key key, const Shape& shape, const Arg& p) {
  const Scope scope("random::bernoulli", p.where());
  const DType computed = p.is_tensor() && is_floating(p.tensor().dtype()) ? traits(p.tensor().dtype()).compute : DType::float64;
  return less(fraction(key, shape, computed), parameter(scope.site(), p, computed, shape));
}

Tensor exponential(Key key, const Shape& shape, const Arg& scale, DType dtype) {
  const Scope scope("random::exponential", scale.where());
  check_floating(scope.site(), dtype);
  const DType computed = traits(dtype).compute;
  const Tensor unit = astype(negative(log(positive_fraction(words(key, shape), computed))), dtype);
  return multiply(unit, parameter(scope.site(), scale, dtype, shape));
}

namespace {

/// Samples by the inverse of a cumulative distribution function, then shifts and scales.
template <class Function> Tensor inverted(const char* name, Key key, const Shape& shape, const Arg& loc, const Arg& scale, DType dtype, Function function) {
  const Scope scope(name, loc.where());
  check_floating(scope.site(), dtype);
  const Tensor drawn = words(key, shape);
  const DType computed = traits(dtype).compute;
  const Tensor unit = astype(function(positive_fraction(drawn, computed), drawn, computed), dtype);
  return add(multiply(unit, parameter(scope.site(), scale, dtype, shape)), parameter(scope.site(), loc, dtype, shape));
}

/// Returns a random bit that positive_fraction does not use: the lowest for float64, the highest for others.
Tensor coin(const Tensor& drawn, DType computed) {
  return not_equal(bitwise_and(drawn, computed == DType::float64 ? std::uint64_t{1} : std::uint64_t{1} << 63), 0);
}

}  // namespace

Tensor laplace(Key key, const Shape& shape, const Arg& loc, const Arg& scale, DType dtype) {
  return inverted("random::laplace", key, shape, loc, scale, dtype, [](const Tensor& u, const Tensor& drawn, DType computed) {
    const Tensor size = negative(log(u));
    return where(coin(drawn, computed), size, negative(size));
  });
}
Tensor logistic(Key key, const Shape& shape, const Arg& loc, const Arg& scale, DType dtype) {
  return inverted("random::logistic", key, shape, loc, scale, dtype, [](const Tensor& u, const Tensor& drawn, DType computed) {
    // The logarithm of the odds of half of u, which is the smaller probability and exact.
    const Tensor half = multiply(u, 0.5), odds = subtract(log(half), log1p(negative(half)));
    return where(coin(drawn, computed), odds, negative(odds));
  });
}
Tensor gumbel(Key key, const Shape& shape, const Arg& loc, const Arg& scale, DType dtype) {
  return inverted("random::gumbel", key, shape, loc, scale, dtype, [](const Tensor& u, const Tensor&, DType computed) {
    // The upper tail comes from u near 0, where u has a fine resolution; u is limited below 1, where the formula would give infinity.
    const Tensor below = minimum(u, computed == DType::float64 ? 1 - 0x1p-53 : 1 - 0x1p-24);
    return negative(log(negative(log1p(negative(below)))));
  });
}
Tensor cauchy(Key key, const Shape& shape, const Arg& loc, const Arg& scale, DType dtype) {
  return inverted("random::cauchy", key, shape, loc, scale, dtype, [](const Tensor& u, const Tensor& drawn, DType computed) {
    const Tensor size = reciprocal(tan(multiply(u, std::numbers::pi / 2)));
    return where(coin(drawn, computed), size, negative(size));
  });
}
Tensor rayleigh(Key key, const Shape& shape, const Arg& scale, DType dtype) {
  return inverted("random::rayleigh", key, shape, Arg(0, scale.where()), scale, dtype,
                  [](const Tensor& u, const Tensor&, DType) { return sqrt(multiply(log(u), -2)); });
}

Tensor weibull(Key key, const Shape& shape, const Arg& a, DType dtype) {
  const Scope scope("random::weibull", a.where());
  check_floating(scope.site(), dtype);
  const DType computed = traits(dtype).compute;
  return astype(power(negative(log(positive_fraction(words(key, shape), computed))), reciprocal(parameter(scope.site(), a, computed, shape))), dtype);
}
Tensor pareto(Key key, const Shape& shape, const Arg& a, DType dtype) {
  const Scope scope("random::pareto", a.where());
  check_floating(scope.site(), dtype);
  const DType computed = traits(dtype).compute;
  return astype(expm1(divide(negative(log(positive_fraction(words(key, shape), computed))), parameter(scope.site(), a, computed, shape))), dtype);
}
Tensor lognormal(Key key, const Shape& shape, const Arg& mean, const Arg& sigma, DType dtype) {
  const Scope scope("random::lognormal", mean.where());
  return exp(normal(key, shape, mean, sigma, dtype));
}
Tensor truncated_normal(Key key, const Shape& shape, const Arg& low, const Arg& high, DType dtype) {
  const Scope scope("random::truncated_normal", low.where());
  check_floating(scope.site(), dtype);
  const DType computed = traits(dtype).compute;
  const Tensor from = parameter(scope.site(), low, computed, shape), to = parameter(scope.site(), high, computed, shape);
  const double root = std::numbers::sqrt2;
  const Tensor begin = erf(from / root), end = erf(to / root);
  const Tensor x = erfinv(begin + fraction(key, shape, computed) * (end - begin)) * root;
  return astype(clip(x, from, to), dtype);
}
Tensor rademacher(Key key, const Shape& shape, DType dtype, Location where) {
  const Scope scope("random::rademacher", where);
  return astype(sinter::where(bernoulli(key, shape), 1, -1), dtype);
}

namespace {

/// Returns the logarithm of a gamma number, in a compute type.
Tensor log_of_gamma(Key key, const Shape& shape, const Tensor& a) {
  constexpr int kTries = 6;
  const DType type = a.dtype();
  // For a below 1, a number for a + 1 is multiplied by a uniform number to the power of 1 / a.
  const Tensor small = a < 1, raised = where(small, a + 1, a);
  const Tensor d = raised - 1.0 / 3, c = reciprocal(sqrt(d * 9));
  Tensor cube = ones({}, type);
  for (int attempt = kTries; attempt-- > 0;) {  // the first accepted try is used
    const Key mine = derived(key, static_cast<std::uint64_t>(attempt), kTry);
    const Tensor x = normal(mine, shape, 0, 1, type), u = positive_fraction(words(derived(mine, 0, kTry), shape), type);
    const Tensor root = x * c + 1, v = root * root * root;
    const Tensor positive_v = where(v > 0, v, 1);
    const Tensor accepted = logical_and(v > 0, log(u) < square(x) * 0.5 + d * (1 - positive_v + log(positive_v)));
    cube = where(accepted, v, cube);
  }
  const Tensor less = log(positive_fraction(words(derived(key, kTries, kTry), shape), type)) / a;
  return log(d * cube) + where(small, less, 0);
}

void check_positive(const Site& site, const Arg& x, const char* what) {
  if (!x.is_tensor() && !(x.as_double() > 0)) fail<ValueError>(site, fmt::format("{} is {}, and has to be positive", what, x.as_double()));
}

Tensor log_of_gamma(const Site& site, Key key, const Shape& shape, const Arg& a, DType dtype, const char* what) {
  check_floating(site, dtype);
  check_positive(site, a, what);
  return log_of_gamma(key, shape, parameter(site, a, traits(dtype).compute, shape));
}

}  // namespace

Tensor loggamma(Key key, const Shape& shape, const Arg& a, DType dtype) {
  const Scope scope("random::loggamma", a.where());
  return astype(log_of_gamma(scope.site(), key, shape, a, dtype, "a"), dtype);
}
Tensor gamma(Key key, const Shape& shape, const Arg& a, const Arg& scale, DType dtype) {
  const Scope scope("random::gamma", a.where());
  return multiply(astype(exp(log_of_gamma(scope.site(), key, shape, a, dtype, "a")), dtype), parameter(scope.site(), scale, dtype, shape));
}
Tensor beta(Key key, const Shape& shape, const Arg& a, const Arg& b, DType dtype) {
  const Scope scope("random::beta", a.where());
  const Tensor first = log_of_gamma(scope.site(), derived(key, 0, kTry), shape, a, dtype, "a");
  const Tensor second = log_of_gamma(scope.site(), derived(key, 1, kTry), shape, b, dtype, "b");
  return astype(sigmoid(first - second), dtype);
}
Tensor chisquare(Key key, const Shape& shape, const Arg& df, DType dtype) {
  const Scope scope("random::chisquare", df.where());
  check_positive(scope.site(), df, "df");
  return gamma(key, shape, divide(df, 2.0), 2, dtype);
}
Tensor standard_t(Key key, const Shape& shape, const Arg& df, DType dtype) {
  const Scope scope("random::standard_t", df.where());
  check_floating(scope.site(), dtype);
  check_positive(scope.site(), df, "df");
  const DType computed = traits(dtype).compute;
  const Tensor half = parameter(scope.site(), df, computed, shape) * 0.5;
  const Tensor spread = log_of_gamma(derived(key, 0, kTry), shape, half) - log(half);
  return astype(normal(derived(key, 1, kTry), shape, 0, 1, computed) * exp(spread * -0.5), dtype);
}
Tensor dirichlet(Key key, const Tensor& alpha, const Shape& shape, DType dtype, Location where) {
  const Scope scope("random::dirichlet", where);
  const Shape& given = node_of(scope.site(), alpha)->shape;
  if (given.empty()) fail<ShapeError>(scope.site(), "alpha is 0-d, and has to be one number for each element of a row");
  return softmax(loggamma(key, shape.empty() ? given : shape, alpha, dtype), -1);
}

namespace {

constexpr double kMaxVariance = 1e10;  // a table covers all numbers within ten deviations of the mean

/// Samples numbers from `first` on with these cumulative weights.
Tensor from_table(const Site& site, Key key, const Shape& shape, std::vector<double> cumulative, std::int64_t first, DType dtype) {
  for (double& sum : cumulative) sum /= cumulative.back();
  cumulative.pop_back();  // the last number gets the remaining probability
  check_integer(site, dtype);
  if (cumulative.empty()) return full(shape, Arg(first, site.where), dtype);
  return astype(count_before(site, from_span(cumulative), fraction(key, shape, DType::float64), true, false) + first, dtype);
}

/// Computes cumulative weights of `first` to `last` from the ratios of neighbours, weight(k + 1) / weight(k). The mode lies in between.
std::vector<double> cumulated(std::int64_t first, std::int64_t last, std::int64_t mode, const std::function<double(double)>& ratio) {
  std::vector<double> weights(static_cast<std::size_t>(last - first + 1));
  const auto at = [&](std::int64_t k) -> double& { return weights[static_cast<std::size_t>(k - first)]; };
  at(mode) = 1;
  for (std::int64_t k = mode; k < last; ++k) at(k + 1) = at(k) * ratio(static_cast<double>(k));
  for (std::int64_t k = mode; k > first; --k) at(k - 1) = at(k) / ratio(static_cast<double>(k - 1));
  double sum = 0;
  for (double& weight : weights) weight = sum += weight;
  return weights;
}

}  // namespace

Tensor poisson(Key key, const Shape& shape, double rate, DType dtype, Location where) {
  const Scope scope("random::poisson", where);
  if (!(rate >= 0 && rate < kMaxVariance)) fail<ValueError>(scope.site(), fmt::format("a rate of {}; it must be at least 0 and below 10^10", rate));
  if (rate == 0) return zeros(shape, dtype);
  // Outside of this range the weights are below 2^-64 of the total.
  const double width = 10 * std::sqrt(rate) + 40;
  const std::int64_t mode = detail::saturated(rate), first = detail::saturated(std::max(0.0, rate - width)), last = detail::saturated(rate + width);
  return from_table(scope.site(), key, shape, cumulated(first, last, mode, [&](double k) { return rate / (k + 1); }), first, dtype);
}

Tensor binomial(Key key, const Shape& shape, std::int64_t n, double p, DType dtype, Location where) {
  const Scope scope("random::binomial", where);
  if (n < 0 || !(p >= 0 && p <= 1)) fail<ValueError>(scope.site(), fmt::format("{} tries with probability {}", n, p));
  if (p == 0 || p == 1 || n == 0) return full(shape, Arg(p == 1 ? n : 0, where), dtype);
  const double tries = static_cast<double>(n), mean = tries * p, width = 10 * std::sqrt(mean * (1 - p)) + 40;
  if (!(mean * (1 - p) < kMaxVariance)) fail<ValueError>(scope.site(), fmt::format("{} tries with probability {}: their variance must be below 10^10", n, p));
  const std::int64_t mode = std::min(n, detail::saturated((tries + 1) * p));
  const std::int64_t first = detail::saturated(std::max(0.0, mean - width)), last = std::min(n, detail::saturated(mean + width));
  return from_table(scope.site(), key, shape, cumulated(first, last, mode, [&](double k) { return (tries - k) / (k + 1) * (p / (1 - p)); }), first, dtype);
}

Tensor geometric(Key key, const Shape& shape, double p, DType dtype, Location where) {
  const Scope scope("random::geometric", where);
  check_integer(scope.site(), dtype);
  if (!(p > 0 && p <= 1)) fail<ValueError>(scope.site(), fmt::format("a probability of {}", p));
  if (p == 1) return ones(shape, dtype);
  const Tensor tries = maximum(ceil(log(positive_fraction(words(key, shape), DType::float64)) / std::log1p(-p)), 1);
  constexpr double kMinFraction = 0x1p-53;  // the smallest positive fraction, which bounds the number of tries
  const Scalar largest = neutral(Op::reduce_min, dtype);
  if (std::log(kMinFraction) / std::log1p(-p) < largest.as_double()) return astype(tries, dtype);
  // As in NumPy, the type's largest value stands for numbers beyond it. One above it is a power of two, and so a double.
  const Tensor beyond = greater_equal(tries, largest.as_double());
  return sinter::where(beyond, Tensor(make_constant(scope.site(), largest, Shape{})), astype(sinter::where(beyond, 1.0, tries), dtype));
}

Tensor categorical(Key key, const Arg& logits, std::int64_t axis, const std::optional<Shape>& shape) {
  const Scope scope("random::categorical", logits.where());
  const Site& site = scope.site();
  const Tensor weights(as_node(site, logits));
  const auto along = static_cast<std::size_t>(checked_axis(site, axis, weights.ndim()));
  Shape rows = weights.shape();
  rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(along));
  const Shape wanted = shape.value_or(rows);
  if (wanted.size() < rows.size() || !std::equal(rows.rbegin(), rows.rend(), wanted.rbegin()))
    fail<ShapeError>(site, fmt::format("shape {} does not end with {}, the shape of the rows", to_string(wanted), to_string(rows)));
  const std::size_t more = wanted.size() - rows.size();
  Shape drawn(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(more));
  drawn.insert(drawn.end(), weights.shape().begin(), weights.shape().end());
  const DType type = is_floating(weights.dtype()) ? traits(weights.dtype()).compute : DType::float64;
  return argmax(gumbel(key, drawn, 0, 1, type) + astype(weights, type), static_cast<std::int64_t>(more + along));
}

Tensor permutation(Key key, std::int64_t n, Location where) {
  const Scope scope("random::permutation", where);
  check_shape(scope.site(), {n}, DType::uint64);
  return argsort(words(key, {n}));
}
Tensor permutation(Key key, const Tensor& x, std::int64_t axis, Location where) {
  const Scope scope("random::permutation", where);
  const std::int64_t along = checked_axis(scope.site(), axis, node_of(scope.site(), x)->shape.size());
  const std::int64_t n = x.size(static_cast<int>(along));
  return n == 0 ? x : Tensor(make_take(scope.site(), x.node(), permutation(key, n).node(), along));
}

Tensor choice(Key key, const Arg& x, std::int64_t count, std::int64_t axis, bool replace, const Tensor& p) {
  const Scope scope("random::choice", x.where());
  const Site& site = scope.site();
  if (!x.is_tensor()) fail<ValueError>(site, "a number has no elements to choose from; choose from arange(n)");
  const Tensor from(node_of(site, x.tensor()));
  const std::int64_t along = checked_axis(site, axis, from.ndim()), size = from.shape()[static_cast<std::size_t>(along)];
  if (size == 0 && count > 0) fail<ValueError>(site, fmt::format("axis {} of shape {} is empty: there is nothing to choose", axis, to_string(from.shape())));
  if (!replace && count > size) fail<ValueError>(site, fmt::format("{} of {} without replacement", count, counted(size, "element")));
  if (!p.empty_handle() && node_of(site, p)->shape != Shape{size})
    fail<ShapeError>(site, fmt::format("probabilities of shape {} for {}", to_string(p.shape()), counted(size, "element")));
  if (count == 0) return take(x, zeros({0}, DType::int64), along);
  Tensor places;
  if (p.empty_handle()) {
    places = replace ? integers(key, {count}, 0, size) : permutation(key, size)(Slice{0, count});
  } else if (replace) {
    const Tensor sums = cumsum(astype(p, DType::float64));
    places = searchsorted(sums, fraction(key, {count}, DType::float64) * sums(size - 1), Side::right);
  } else {
    places = topk(gumbel(key, {size}) + log(astype(p, DType::float64)), count).second;
  }
  return take(x, places, along, IndexMode::clip);
}

}  // namespace sinter::random
