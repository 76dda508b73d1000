// A slow, obvious reference for whole programs: arrays of double, and a loop over coordinates for every op.
#pragma once
#include <cstdint>
#include <functional>
#include <random>
#include <sinter/sinter.hpp>
#include <vector>

namespace sinter::testing {

struct Ref {
  Shape shape;
  std::vector<double> v;
};

using Coords = std::vector<std::int64_t>;

std::int64_t flat(const Shape& shape, const Coords& at);

void each(const Shape& shape, const std::function<void(const Coords&)>& visit);

Ref make(const Shape& shape, const std::function<double(const Coords&)>& value);

Ref permute(const Ref& x, const std::vector<std::int64_t>& axes);
Ref strided(const Ref& x, const Shape& shape, const Coords& start, const Coords& step);
Ref broadcast(const Ref& x, const Shape& shape);
Ref map(const Ref& x, const std::function<double(double)>& f);
Ref zip(const Ref& a, const Ref& b, const std::function<double(double, double)>& f);
Ref reduce(const Ref& x, const std::vector<std::int64_t>& axes, double start, const std::function<double(double, double)>& f);

/// Returns the tensor's elements as doubles, for any dtype.
std::vector<double> values(const Tensor& t);

/// Returns a tensor of random values and the same values as a Ref.
std::pair<Tensor, Ref> random(std::mt19937& rng, const Shape& shape, DType dtype, double low, double high);

/// Returns a random view of a tensor (transposes, slices with steps of either sign, broadcasts) and of its Ref.
std::pair<Tensor, Ref> random_view(std::mt19937& rng, std::pair<Tensor, Ref> x);

}  // namespace sinter::testing
