// Kernels that write more than a cache holds use stores that bypass it; transposes and column sums use tiles and panels. Sizes are odd, so that rows start at
// every alignment and no size is a multiple of a tile or vector.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <vector>

#include "program.hpp"
#include "sinter/sinter.hpp"

namespace {

/// Fills the memory that the pool will give to the next results of this size with NaN.
void poison(const sn::Shape& shape) {
  const sn::Tensor nan = sn::contiguous(sn::full(shape, std::numeric_limits<float>::quiet_NaN()) + sn::zeros(shape, sn::DType::float32));
  sn::eval(nan);
}

/// Returns whether test cases may take four gigabytes: on a real GPU, or with SINTER_TEST_HUGE=1.
bool huge() {
  const auto is_set = [](const char* variable) {
    const char* value = std::getenv(variable);
    return value && *value == '1';
  };
  return is_set("SINTER_TEST_GPU") || is_set("SINTER_TEST_HUGE");
}

std::vector<float> numbers(std::int64_t count, std::uint32_t seed) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>((seed = seed * 1664525u + 1013904223u) >> 16) - 32768.f;
  return values;
}

std::size_t wrong(const std::vector<float>& got, const std::vector<float>& want) {
  REQUIRE(got.size() == want.size());
  std::size_t count = 0;
  for (std::size_t k = 0; k < got.size(); ++k) count += !(got[k] == want[k]);
  return count;
}

}  // namespace

TEST_CASE("every element of a large elementwise result is written") {
  for (const sn::Shape& shape : {sn::Shape{9000005}, sn::Shape{3001, 3003}, sn::Shape{2, 1500, 3072}}) {
    CAPTURE(sn::to_string(shape));
    std::vector<float> x = numbers(sn::element_count(shape), 1), want = x;
    for (float& value : want) value = value * 2.f + 1.f;
    poison(shape);
    CHECK(wrong((sn::from_span(x, shape) * 2.f + 1.f).to_vector<float>(), want) == 0);
  }
}

TEST_CASE("two large outputs of one kernel") {
  const std::int64_t count = 9000005;
  const std::vector<float> x = numbers(count, 2);
  const sn::Tensor in = sn::from_span(x), a = in + 1.f, b = sn::astype(in, sn::DType::float64) * 0.5;
  sn::eval(a, b);
  const auto sums = a.to_vector<float>();
  const auto halves = b.to_vector<double>();
  std::size_t bad = 0;
  for (std::int64_t k = 0; k < count; ++k) bad += sums[k] != x[k] + 1.f || halves[k] != x[k] * 0.5;
  CHECK(bad == 0);
}

TEST_CASE("more than 2^31 elements" * doctest::skip(!(huge()))) {
  constexpr std::int64_t kPast = std::int64_t{1} << 31, kCount = kPast + 1000003;
  const sn::Tensor x = sn::astype(sn::remainder(sn::arange(kCount), 251), sn::DType::uint8);
  sn::eval(x);
  const auto at = [&](const sn::Index& index) { return x.at({index}).astype(sn::DType::int64).to_vector<std::int64_t>(); };
  for (const std::int64_t first : {std::int64_t{0}, kPast - 4, kPast, kCount - 8}) {
    const auto got = at(sn::Slice{first, first + 8});
    for (std::int64_t k = 0; k < 8; ++k) CHECK(got[static_cast<std::size_t>(k)] == (first + k) % 251);
  }
  const auto turned = at(sn::Slice{kCount - 1, kCount - 9, -1});
  for (std::int64_t k = 0; k < 8; ++k) CHECK(turned[static_cast<std::size_t>(k)] == (kCount - 1 - k) % 251);
  // The kernel writes each element at the position of the element that it reads. Each sum reads positions on both sides of 2^31.
  const sn::Tensor next = x + sn::Tensor(1).astype(sn::DType::uint8);
  sn::eval(next);
  CHECK(next.at({sn::Slice{kCount - 1, {}}}).astype(sn::DType::int64).item<std::int64_t>() == (kCount - 1) % 251 + 1);
  const std::int64_t whole = kCount / 251, rest = kCount % 251;
  CHECK(sn::sum(x, {}, false, sn::DType::int64).item<std::int64_t>() == whole * (250 * 251 / 2) + rest * (rest - 1) / 2);
  constexpr std::int64_t kRows = 3, kColumns = kCount / kRows;
  const auto columns = sn::reshape(x.at({sn::Slice{0, kRows * kColumns}}), {kRows, kColumns});
  const auto sums = sn::sum(columns, 0, false, sn::DType::int64).at({sn::Slice{kColumns - 6, {}}}).to_vector<std::int64_t>();
  for (std::int64_t k = 0; k < 6; ++k) {
    std::int64_t want = 0;
    for (std::int64_t row = 0; row < kRows; ++row) want += (row * kColumns + kColumns - 6 + k) % 251;
    CHECK(sums[static_cast<std::size_t>(k)] == want);
  }
}

TEST_CASE("transposes whose sizes leave any remainder after whole tiles") {
  for (const sn::Shape& shape : {sn::Shape{3001, 2999}, sn::Shape{64, 80}, sn::Shape{17, 131}, sn::Shape{15, 1}, sn::Shape{3072, 3072}}) {
    CAPTURE(sn::to_string(shape));
    const std::int64_t rows = shape[0], columns = shape[1];
    const std::vector<float> x = numbers(rows * columns, 3), y = numbers(rows * columns, 4);
    std::vector<float> want(x.size());
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) want[j * rows + i] = x[i * columns + j] + y[j * rows + i];
    poison({columns, rows});
    CHECK(wrong((sn::from_span(x, shape).T() + sn::from_span(y, sn::Shape{columns, rows})).to_vector<float>(), want) == 0);
  }
}

TEST_CASE("column reductions whose sizes leave any remainder after whole vectors") {
  for (const sn::Shape& shape : {sn::Shape{37, 5003}, sn::Shape{1, 1040}, sn::Shape{4, 16}, sn::Shape{6, 2049}, sn::Shape{1003, 100}}) {
    CAPTURE(sn::to_string(shape));
    const std::int64_t rows = shape[0], columns = shape[1];
    const std::vector<float> x = numbers(rows * columns, 5);
    std::vector<float> sum(columns, 0.f), top(columns, -1e30f);
    std::vector<std::uint8_t> positive(columns, 0);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        const float value = x[i * columns + j];
        sum[j] += value;
        top[j] = std::max(top[j], value);
        positive[j] |= value > 30000.f;
      }
    const sn::Tensor in = sn::from_span(x, shape), maxima = sn::max(in, 0), some = sn::any(in > 30000.f, 0);
    const auto got = sn::sum(in, 0).to_vector<float>();
    std::size_t bad = 0;
    for (std::int64_t j = 0; j < columns; ++j) bad += std::abs(got[j] - sum[j]) > 64.f;
    CHECK(bad == 0);
    CHECK(wrong(maxima.to_vector<float>(), top) == 0);
    const auto flags = some.to_vector<bool>();
    for (std::int64_t j = 0; j < columns; ++j) bad += flags[j] != (positive[j] != 0);
    CHECK(bad == 0);
  }
}
