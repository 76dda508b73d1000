// Small programs as different people would write them, each next to the same thing in plain C++ loops. A program records through the
// public header alone; test_programs.cpp runs the list in both float types, with and without an evaluation at each step.
#pragma once
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <sinter/sinter.hpp>
#include <string>
#include <utility>
#include <vector>

#include "reference.hpp"

namespace sinter::testing {

using Numbers = std::vector<double>;
inline const Slice kAll{};

/// The environment of a program: gives it inputs, evaluates (or not) at each step, and checks its results.
class Desk {
 public:
  Desk(std::uint32_t seed, DType type, bool evaluates) : real(type), rng_(seed), evaluates_(evaluates) {}

  const DType real;  // float32 or float64

  /// Values that both float types hold.
  std::pair<Tensor, Numbers> random(const Shape& shape, double low = -2, double high = 2) {
    auto [tensor, ref] = testing::random(rng_, shape, DType::float32, low, high);
    return {astype(tensor, real), std::move(ref.v)};
  }
  std::pair<Tensor, Numbers> integers(const Shape& shape, std::int64_t low, std::int64_t end, DType dtype = DType::int64) {
    auto [tensor, ref] = testing::random(rng_, shape, dtype, static_cast<double>(low), static_cast<double>(end));
    return {tensor, std::move(ref.v)};
  }

  /// Is called at the end of a step. One mode evaluates the values here, the other only continues to record.
  template <class... T> void step(const T&... tensors) const {
    if (evaluates_) eval(tensors...);
  }

  /// Errors are relative to the largest value, because differences of nearly equal values lose digits.
  void expect(const Tensor& got, const Numbers& want, double slack = 1) const {
    REQUIRE(got.size() == static_cast<std::int64_t>(want.size()));
    double scale = 1;
    for (double w : want) scale = std::max(scale, std::abs(w));
    const double tolerance = scale * slack * (got.dtype() == DType::float32 ? 1e-5 : is_floating(got.dtype()) ? 1e-12 : 0);
    const auto list = values(got);
    for (std::size_t k = 0; k < list.size(); ++k) {
      const bool close = std::abs(list[k] - want[k]) <= tolerance || (std::isnan(list[k]) && std::isnan(want[k]));
      if (!close) FAIL_CHECK("element " << k << " is " << list[k] << ", not " << want[k] << " (at most " << tolerance << " off)");
      if (!close) return;
    }
  }
  void expect(const Tensor& got, double want, double slack = 1) const { expect(got, Numbers{want}, slack); }

 private:
  std::mt19937 rng_;
  bool evaluates_;
};

struct Program {
  const char* name;
  void (*run)(Desk&);
};

std::vector<Program> learning_programs();
std::vector<Program> physics_programs();
std::vector<Program> image_programs();
std::vector<Program> number_programs();
std::vector<Program> linear_programs();
std::vector<Program> selection_programs();
std::vector<Program> network_programs();

}  // namespace sinter::testing
