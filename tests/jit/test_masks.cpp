// Rows and axes whose last elements fill no vector: all mixtures of dtypes in a kernel, all lengths below the number of lanes, one and two row axes. Buffers
// are guarded (SINTER_GUARD), so that a store beyond the last row is found.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "draws.hpp"
#include "program.hpp"

using sinter::testing::integers;
using sinter::testing::sampled;

namespace {

constexpr DType kRead[] = {DType::bool_, DType::int8, DType::uint8, DType::int16, DType::float16, DType::int32, DType::float32, DType::int64, DType::float64};
constexpr DType kWritten[] = {DType::bool_, DType::int8, DType::float8_e4m3fn, DType::int16, DType::bfloat16, DType::float32, DType::float64};

/// Small whole numbers of both signs. Every dtype except bool represents them or wraps them in the same way.
std::vector<double> some_numbers(std::int64_t count) {
  std::vector<double> numbers(static_cast<std::size_t>(count));
  for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = static_cast<double>(k * 37 % 101);
  return numbers;
}

/// Returns the elements as doubles; the library converts the evaluated tensor.
std::vector<double> numbers_of(const Tensor& tensor) {
  std::vector<double> values;
  for (const double value : sn::astype(tensor, DType::float64).to_vector<double>()) values.push_back(value);
  return values;
}

void check_elements(const Tensor& got, const std::vector<double>& source, double over) {
  const std::vector<double> values = numbers_of(got);
  REQUIRE(values.size() == source.size());
  std::size_t wrong = 0;
  for (std::size_t k = 0; k < values.size(); ++k) wrong += values[k] != (source[k] > over ? 1.0 : 0.0);
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("a row's elementwise result of another dtype, beside its reduction") {
  for (const auto& [from, to, n, kind] : sampled(kRead, kWritten, integers(1, 19), std::array{0, 1, 2})) {
    const Shape shape = kind == 0 ? Shape{3, n} : kind == 1 ? Shape{n} : Shape{5, 3, n};
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    std::vector<double> numbers = some_numbers(count);
    if (from == DType::bool_)
      for (double& number : numbers) number = number > 50;
    const double over = from == DType::bool_ ? 0 : 50;
    const Tensor x = sn::astype(sn::reshape(sn::from_span(numbers), shape), from);
    sn::eval(x);
    INFO(sn::name(from), " to ", sn::name(to), " ", sn::to_string(shape));
    const Tensor mask = sn::astype(x > over, to);
    // Two row axes: the reduction is over the first and the last axis of three.
    const Tensor places = kind == 2 ? sn::max(x, {0, 2}) : sn::max(x, {-1});
    const Tensor at = kind == 2 ? sn::argmax(sn::reshape(sn::permute(x, {1, 0, 2}), {3, 5 * n}), 1) : sn::argmax(x, -1);
    sn::eval(mask, places, at);
    check_elements(mask, numbers, over);
    const Tensor alone = sn::astype(x > over, to);
    check_elements(alone, numbers, over);
  }
}

TEST_CASE("parts of rows: what is joined and padded along the lanes") {
  for (const auto& [from, n] : sampled(kRead, integers(1, 19))) {
    std::vector<double> numbers = some_numbers(4 * n);
    if (from == DType::bool_)
      for (double& number : numbers) number = number > 50;
    const double over = from == DType::bool_ ? 0 : 50;
    const Tensor x = sn::astype(sn::reshape(sn::from_span(numbers), {4, n}), from);
    sn::eval(x);
    INFO(sn::name(from), " ", n);
    const Tensor joined = sn::concatenate({x > over, sn::pad(x > over, {{0, 0}, {1, 2}}), x <= over}, 1);
    sn::eval(joined, sn::sum(x, 1));
    const std::vector<double> got = numbers_of(joined);
    std::size_t wrong = 0;
    for (std::int64_t row = 0; row < 4; ++row)
      for (std::int64_t k = 0; k < 3 * n + 3; ++k) {
        const auto holds = [&](std::int64_t column) { return numbers[static_cast<std::size_t>(row * n + column)] > over; };
        const bool expected = k < n ? holds(k) : k < 2 * n + 3 ? k > n && k <= 2 * n && holds(k - n - 1) : !holds(k - 2 * n - 3);
        wrong += got[static_cast<std::size_t>(row * (3 * n + 3) + k)] != expected;
      }
    CHECK(wrong == 0);
  }
}
