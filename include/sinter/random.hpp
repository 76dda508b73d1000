// Random numbers that depend only on a key and an element's position: they have no state, are the same on every device and for any number of threads, and are
// computed inside the kernel that uses them.
//
// Element i of a tensor (in row-major order) is made from the 64 bits of Philox4x32-10 (Salmon et al., SC 2011) whose counter is i. A key gives the same
// numbers each time it is used: split it to get others.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sinter/ops.hpp"

namespace sinter::random {

/// A key of 64 bits. Numbers under different keys are independent.
class Key {
 public:
  /// A seed is a key: normal(7, {1000}).
  Key(std::uint64_t seed) : bits_(seed) {}
  std::uint64_t bits() const { return bits_; }
  /// Return new keys that differ from each other and from this one: auto [a, b] = key.split(), or `count` of them.
  std::array<Key, 2> split() const;
  std::vector<Key> split(std::size_t count) const;
  /// Returns the key for a number, for example a step of training.
  Key fold_in(std::uint64_t number) const;
  friend bool operator==(const Key&, const Key&) = default;

 private:
  std::uint64_t bits_;
};

/// Returns integers whose bits are all random.
Tensor bits(Key key, const Shape& shape, DType dtype = DType::uint32, Location where = Location::current());

/// Returns numbers in [low, high): low + (high - low) * u. u is in [0, 1) and has as many random bits as the type's significand has bits, 24 for float32 and 53
/// for float64. low and high broadcast to the shape. As in NumPy, rounding may give `high` itself, unless low is 0 and high is 1.
Tensor uniform(Key key, const Shape& shape, const Arg& low = 0, const Arg& high = 1, DType dtype = DType::float64);
inline Tensor uniform(Key key, const Shape& shape, DType dtype, Location where = Location::current()) {
  return uniform(key, shape, Arg(0, where), Arg(1, where), dtype);
}

/// Returns normally distributed numbers, by Box and Muller's transform of two uniform numbers. For float32 and narrower types these have 32 bits, so no value
/// is beyond 6.66 standard deviations; for float64 they have 53 bits, and the limit is 8.57. mean and std broadcast to the shape.
Tensor normal(Key key, const Shape& shape, const Arg& mean = 0, const Arg& std = 1, DType dtype = DType::float64);
inline Tensor normal(Key key, const Shape& shape, DType dtype, Location where = Location::current()) {
  return normal(key, shape, Arg(0, where), Arg(1, where), dtype);
}

/// Returns integers in [low, high). The probability of a value is off by less than one part in 2^64 / (high - low).
Tensor integers(Key key, const Shape& shape, std::int64_t low, std::int64_t high, DType dtype = DType::int64, Location where = Location::current());

/// Returns bool elements that are true with probability p. p is a number, or a tensor that broadcasts to the shape.
Tensor bernoulli(Key key, const Shape& shape, const Arg& p = 0.5);

/// Returns exponentially distributed numbers with mean `scale`, which broadcasts to the shape.
Tensor exponential(Key key, const Shape& shape, const Arg& scale = 1, DType dtype = DType::float64);
inline Tensor exponential(Key key, const Shape& shape, DType dtype, Location where = Location::current()) {
  return exponential(key, shape, Arg(1, where), dtype);
}

// Other distributions, with the names and parameters of NumPy and JAX; `loc` and `scale` broadcast to the shape. They apply the inverse of the cumulative
// distribution function, so the resolution of a uniform number of the type limits the tails.
Tensor laplace(Key key, const Shape& shape, const Arg& loc = 0, const Arg& scale = 1, DType dtype = DType::float64);
Tensor logistic(Key key, const Shape& shape, const Arg& loc = 0, const Arg& scale = 1, DType dtype = DType::float64);
Tensor gumbel(Key key, const Shape& shape, const Arg& loc = 0, const Arg& scale = 1, DType dtype = DType::float64);
Tensor cauchy(Key key, const Shape& shape, const Arg& loc = 0, const Arg& scale = 1, DType dtype = DType::float64);
Tensor rayleigh(Key key, const Shape& shape, const Arg& scale = 1, DType dtype = DType::float64);
Tensor weibull(Key key, const Shape& shape, const Arg& a, DType dtype = DType::float64);
/// Samples Lomax's distribution, which begins at 0, as NumPy's pareto does.
Tensor pareto(Key key, const Shape& shape, const Arg& a, DType dtype = DType::float64);
/// Returns exp of a normal number.
Tensor lognormal(Key key, const Shape& shape, const Arg& mean = 0, const Arg& sigma = 1, DType dtype = DType::float64);
/// Returns normal numbers within [low, high], by the inverse of the error function.
Tensor truncated_normal(Key key, const Shape& shape, const Arg& low, const Arg& high, DType dtype = DType::float64);
/// Returns 1 or -1.
Tensor rademacher(Key key, const Shape& shape, DType dtype = DType::int64, Location where = Location::current());

/// Samples the gamma distribution with `a` > 0 by Marsaglia and Tsang's rejection (ACM TOMS 26, 2000). Each element makes six tries; the probability that all
/// six fail is at most 10^-7. If `a` is below 1, the function multiplies by a power of a uniform number. float32 is computed in float32, float64 in float64.
Tensor gamma(Key key, const Shape& shape, const Arg& a, const Arg& scale = 1, DType dtype = DType::float64);
/// Returns log(gamma(key, shape, a)), also where gamma itself would underflow to 0.
Tensor loggamma(Key key, const Shape& shape, const Arg& a, DType dtype = DType::float64);
Tensor beta(Key key, const Shape& shape, const Arg& a, const Arg& b, DType dtype = DType::float64);
Tensor chisquare(Key key, const Shape& shape, const Arg& df, DType dtype = DType::float64);
Tensor standard_t(Key key, const Shape& shape, const Arg& df, DType dtype = DType::float64);
/// Returns positive numbers that sum to 1 along the last axis. `shape` is the shape of the result, to which alpha broadcasts; by default it is alpha's shape.
Tensor dirichlet(Key key, const Tensor& alpha, const Shape& shape = {}, DType dtype = DType::float64, Location where = Location::current());

/// These return whole numbers: they look up a uniform number of 53 bits in a table of the cumulative distribution function. They throw ValueError for a
/// variance of 10^10 or more.
Tensor poisson(Key key, const Shape& shape, double rate = 1, DType dtype = DType::int64, Location where = Location::current());
Tensor binomial(Key key, const Shape& shape, std::int64_t n, double p, DType dtype = DType::int64, Location where = Location::current());
/// Returns the number of tries until the first success, from 1 on; a number beyond the type becomes the type's largest value, as in NumPy.
Tensor geometric(Key key, const Shape& shape, double p, DType dtype = DType::int64, Location where = Location::current());
/// Draws for each row an index along the axis, with the probabilities softmax(logits). By default each row gives one index, and the result has the shape of the
/// rows. A longer `shape` gives more; it must end with the shape of the rows.
Tensor categorical(Key key, const Arg& logits, std::int64_t axis = -1, const std::optional<Shape>& shape = {});

/// These return the numbers from 0 to n - 1, or the slices of x along an axis, in random order, which is the order of 64 random bits each.
Tensor permutation(Key key, std::int64_t n, Location where = Location::current());
Tensor permutation(Key key, const Tensor& x, std::int64_t axis = 0, Location where = Location::current());
/// Draws elements of an axis of x with or without replacement. p is a vector of probabilities, one for each element of the axis; its sum need not be 1. Without
/// replacement, the function adds Gumbel numbers to the logarithm of p and takes the elements with the largest sums.
Tensor choice(Key key, const Arg& x, std::int64_t count, std::int64_t axis = 0, bool replace = true, const Tensor& p = {});

}  // namespace sinter::random
