// Random numbers as ordinary nodes over one primitive, philox: they fuse like anything else.
#include "sinter/random.hpp"

#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include "trace/build.hpp"
#include "trace/philox.hpp"

namespace sinter::random {
namespace {

using namespace trace;

// The third word of a counter tells what it is for: the elements of tensors have 0.
constexpr std::uint64_t kSplit = 1, kFold = 2;

Key derived(Key key, std::uint64_t number, std::uint64_t purpose) {
  const auto block = philox_block<std::uint64_t>(low_half(number), high_half(number), purpose, 0, low_half(key.bits()), high_half(key.bits()));
  return Key(joined_halves(block.word[1], block.word[0]));
}

/// 64 random bits an element, uint64. `draw` gives others: half of the counters are for 0, half for 1.
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

/// In [0, 1), of as many bits as the type's significand has.
Tensor fraction(Key key, const Shape& shape, DType dtype) {
  const Tensor drawn = words(key, shape);
  if (dtype == DType::float64) return multiply(astype(astype(right_shift(drawn, 11), DType::int64), dtype), 0x1p-53);
  const int digits = visit_storage(dtype, []<class T>() { return std::numeric_limits<T>::digits; });
  const Tensor whole = astype(right_shift(low_word(drawn), 32 - digits), DType::int32);  // fits, and int32 converts in one instruction
  return astype(multiply(astype(whole, DType::float32), std::ldexp(1.0f, -digits)), dtype);
}

/// In (0, 1], so that it has a logarithm; float32 or float64.
Tensor positive_fraction(const Tensor& drawn, DType computed) {
  if (computed == DType::float64) return multiply(add(astype(astype(right_shift(drawn, 11), DType::int64), computed), 1.0), 0x1p-53);
  return multiply(add(astype(low_word(drawn), computed), 1.0f), 0x1p-32f);
}

/// (r * range) >> 64 for 64 random bits r: a number in [0, range).
Tensor scaled(const Tensor& r, std::uint64_t range) {
  const std::uint64_t mask = 0xffffffffu, low = range & mask, high = range >> 32;
  const auto times = [](const Tensor& x, std::uint64_t by) { return multiply(x, by); };
  const Tensor r_low = bitwise_and(r, mask), r_high = right_shift(r, 32);
  const Tensor middle = add(times(r_high, low), right_shift(times(r_low, low), 32));
  if (high == 0) return right_shift(middle, 32);
  const Tensor second = add(times(r_low, high), bitwise_and(middle, mask));
  return add(add(times(r_high, high), right_shift(middle, 32)), right_shift(second, 32));
}

/// A parameter in the type and the shape of the result; ShapeError where a tensor does not broadcast to it.
Tensor parameter(const Site& site, const Arg& x, DType dtype, const Shape& shape) {
  return x.is_tensor() ? broadcast_to(astype(x, dtype), shape) : Tensor(operand(site, x, dtype, shape));
}

}  // namespace

std::vector<Key> Key::split(std::size_t count) const {
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
  const Tensor turn = computed == DType::float32 ? multiply(astype(astype(high_word(drawn), DType::int32), computed), std::numbers::pi_v<double> * 0x1p-31)
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

Tensor choice(Key key, const Arg& x, std::int64_t count, std::int64_t axis) {
  const Scope scope("random::choice", x.where());
  if (!x.is_tensor()) fail<ValueError>(scope.site(), "a number has no elements to choose from; choose from arange(n)");
  const Shape& shape = shape_of(scope.site(), x);
  const auto along = static_cast<std::size_t>(checked_axis(scope.site(), axis, static_cast<std::int64_t>(shape.size())));
  if (shape[along] == 0 && count > 0) fail<ValueError>(scope.site(), fmt::format("axis {} of shape {} is empty: there is nothing to choose", axis, to_string(shape)));
  if (count == 0) return take(x, zeros({0}, DType::int64), static_cast<std::int64_t>(along));
  return take(x, integers(key, {count}, 0, shape[along]), static_cast<std::int64_t>(along), IndexMode::clip);
}

}  // namespace sinter::random
