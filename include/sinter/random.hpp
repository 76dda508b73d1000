// Random numbers that depend on a key and a place alone: no state, the same on every device and for any number of threads, computed
// inside the kernel that uses them.
//
// Element i of a tensor (in row-major order) is made from the 64 bits of Philox4x32-10 (Salmon et al., SC 2011) whose counter is i.
// A key gives the same numbers each time it is used: split it for others.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "sinter/ops.hpp"

namespace sinter::random {

/// 64 bits. Numbers under different keys have nothing to do with each other.
class Key {
 public:
  explicit Key(std::uint64_t seed) : bits_(seed) {}
  std::uint64_t bits() const { return bits_; }
  /// `count` keys, each unlike the others and this one.
  std::vector<Key> split(std::size_t count = 2) const;
  /// The key for a number: a step of training, say.
  Key fold_in(std::uint64_t number) const;
  friend bool operator==(const Key&, const Key&) = default;

 private:
  std::uint64_t bits_;
};

/// All bits random; an integer type.
Tensor bits(Key key, const Shape& shape, DType dtype = DType::uint32, Location where = Location::current());

/// In [low, high), as fine as the type's significand is near 1: multiples of 2^-24 (float32) or 2^-53 (float64) of high - low. low and
/// high broadcast to the shape. As in NumPy, rounding may give `high` itself where the two are not 0 and 1.
Tensor uniform(Key key, const Shape& shape, const Arg& low = 0, const Arg& high = 1, DType dtype = DType::float64);

/// By Box and Muller's transform of two uniform numbers: of 32 bits each for float32 and narrower types (so that no value is beyond
/// 6.66 standard deviations), of 53 for float64 (8.57). mean and std broadcast to the shape.
Tensor normal(Key key, const Shape& shape, const Arg& mean = 0, const Arg& std = 1, DType dtype = DType::float64);

/// In [low, high). The probability of a value is off by less than one part in 2^64 / (high - low).
Tensor integers(Key key, const Shape& shape, std::int64_t low, std::int64_t high, DType dtype = DType::int64, Location where = Location::current());

/// True with probability p, a number or a tensor that broadcasts to the shape.
Tensor bernoulli(Key key, const Shape& shape, const Arg& p = 0.5);

/// Of mean `scale`, which broadcasts to the shape.
Tensor exponential(Key key, const Shape& shape, const Arg& scale = 1, DType dtype = DType::float64);

/// Elements of an axis of x, drawn with replacement.
Tensor choice(Key key, const Arg& x, std::int64_t count, std::int64_t axis = 0);

}  // namespace sinter::random
