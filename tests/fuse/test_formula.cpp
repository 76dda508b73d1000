// Long formulas with more ops and inputs than one kernel can have. They must be split, with reasons, and agree with plain loops in float64.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sinter/sinter.hpp>

#include "program.hpp"
#include "seed.hpp"

using nlohmann::json;

namespace {

constexpr std::int64_t kRows = 61, kColumns = 257;
constexpr int kInputs = 60, kOps = 300;

std::uint32_t seed() {
  static const std::uint32_t value = sinter::testing::test_seed();
  return value;
}

/// A formula as a list of steps over numbered values: the inputs first, then one value for each step.
struct Step {
  enum class Kind : std::uint8_t { add, subtract, multiply, maximum, tanh, sin, cos, erf, exp, scale, shift } kind{};
  int a = -1, b = -1;
  float literal = 0;
};
using Kind = Step::Kind;

bool is_binary(Kind kind) { return kind <= Kind::maximum; }

/// Makes a random formula whose last value depends on every input and every step. Magnitudes stay small, so that no error grows without bound.
std::vector<Step> random_formula(std::mt19937& rng) {
  const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(rng() % n); };
  std::vector<double> bound(kInputs, 2.0);  // bound of |value|
  std::vector<int> loose;                   // not used yet
  for (int k = 0; k < kInputs; ++k) loose.push_back(k);
  const auto take = [&] {
    std::swap(loose[pick(loose.size())], loose.back());
    const int value = loose.back();
    loose.pop_back();
    return value;
  };
  std::vector<char> joins(kOps, 0);  // a step that combines two unused values; there is one fewer than there are inputs
  std::fill_n(joins.begin(), kInputs - 1, 1);
  std::shuffle(joins.begin(), joins.end(), rng);
  std::vector<Step> steps;
  for (const bool join : joins) {
    Step step;
    step.a = take();
    const double a = bound[step.a];
    if (join || (pick(3) == 0 && a <= 4)) {
      step.b = join ? take() : static_cast<int>(pick(bound.size()));
      const double b = bound[step.b];
      const Kind kinds[] = {Kind::add, Kind::subtract, Kind::maximum, Kind::multiply};
      step.kind = kinds[pick(a * b <= 16 ? 4 : 3)];
      bound.push_back(step.kind == Kind::multiply ? a * b : a + b);
    } else if (a > 4) {
      const Kind kinds[] = {Kind::tanh, Kind::sin, Kind::cos, Kind::erf};
      step.kind = kinds[pick(4)];
      bound.push_back(1);
    } else {
      const Kind kinds[] = {Kind::tanh, Kind::sin, Kind::erf, Kind::scale, Kind::shift, Kind::exp};
      step.kind = kinds[pick(a <= 1 ? 6 : 5)];
      step.literal = 0.5f + 0.001f * static_cast<float>(pick(400));
      bound.push_back(step.kind == Kind::exp ? 2.8 : step.kind == Kind::scale ? a : step.kind == Kind::shift ? a + 1 : 1);
    }
    loose.push_back(static_cast<int>(bound.size()) - 1);
    steps.push_back(step);
  }
  REQUIRE(loose.size() == 1);
  return steps;
}

Tensor record(const std::vector<Step>& steps, std::vector<Tensor> values) {
  for (const auto& step : steps) {
    const Tensor a = values[step.a];
    const Tensor b = is_binary(step.kind) ? values[step.b] : Tensor();
    switch (step.kind) {
      case Kind::add: values.push_back(a + b); break;
      case Kind::subtract: values.push_back(a - b); break;
      case Kind::multiply: values.push_back(a * b); break;
      case Kind::maximum: values.push_back(sn::maximum(a, b)); break;
      case Kind::tanh: values.push_back(sn::tanh(a)); break;
      case Kind::sin: values.push_back(sn::sin(a)); break;
      case Kind::cos: values.push_back(sn::cos(a)); break;
      case Kind::erf: values.push_back(sn::erf(a)); break;
      case Kind::exp: values.push_back(sn::exp(a)); break;
      case Kind::scale: values.push_back(a * step.literal); break;
      case Kind::shift: values.push_back(a + step.literal); break;
    }
  }
  return values.back();
}

/// A value in float64 and a bound of the error in float32, by first-order propagation of rounding errors (2 ULP per op).
struct Bounded {
  double value = 0, error = 0;
};

Bounded apply(const Step& step, const Bounded& a, const Bounded& b) {
  Bounded r;
  switch (step.kind) {
    case Kind::add: r = {a.value + b.value, a.error + b.error}; break;
    case Kind::subtract: r = {a.value - b.value, a.error + b.error}; break;
    case Kind::multiply: r = {a.value * b.value, std::abs(a.value) * b.error + std::abs(b.value) * a.error}; break;
    case Kind::maximum: r = {std::max(a.value, b.value), std::max(a.error, b.error)}; break;
    case Kind::tanh: r = {std::tanh(a.value), a.error}; break;
    case Kind::sin: r = {std::sin(a.value), a.error}; break;
    case Kind::cos: r = {std::cos(a.value), a.error}; break;
    case Kind::erf: r = {std::erf(a.value), 1.13 * a.error}; break;
    case Kind::exp: r = {std::exp(a.value), std::exp(a.value) * a.error}; break;
    case Kind::scale: r = {a.value * step.literal, step.literal * a.error}; break;
    case Kind::shift: r = {a.value + step.literal, a.error}; break;
  }
  r.error += 2 * 1.2e-7 * std::abs(r.value) + 1e-12;
  return r;
}

/// The inputs are matrices, and vectors that are broadcast over rows or columns.
Shape shape_of_input(int k) { return k % 5 == 3 ? Shape{kColumns} : k % 5 == 4 ? Shape{kRows, 1} : Shape{kRows, kColumns}; }

std::size_t place(const Shape& shape, std::int64_t row, std::int64_t column) {
  const std::int64_t index = shape.size() == 1 ? column : shape[1] == 1 ? row : row * kColumns + column;
  return static_cast<std::size_t>(index);
}

/// Every kernel names its split reason, with the figures that decided it.
void check_reasons(const json& plan) {
  static const std::set<std::string> reasons = {"kernel size", "parameters", "registers", "recompute cost", "measured spill", "reduction dependency"};
  for (std::size_t k = 0; k < plan["kernels"].size(); ++k) {
    const auto& boundary = plan["kernels"][k]["boundary"];
    const auto reason = boundary["reason"].get<std::string>(), detail = boundary["detail"].get<std::string>();
    CAPTURE(reason);
    CAPTURE(detail);
    if (k + 1 == plan["kernels"].size()) {
      CHECK(reason == "output wanted");
      continue;
    }
    CHECK(reasons.count(reason) == 1);
    CHECK(std::any_of(detail.begin(), detail.end(), [](unsigned char c) { return std::isdigit(c); }));
  }
}

json explained(const Tensor& tensor, std::string_view target = {}) { return json::parse(sn::explain(tensor, sn::Format::json, target)); }

}  // namespace

TEST_CASE("300 random ops over 60 inputs are several kernels with reasons, and agree with float64 loops") {
  CAPTURE(seed());
  std::mt19937 rng(seed());
  for (int round = 0; round < 3; ++round) {
    CAPTURE(round);
    const auto steps = random_formula(rng);
    REQUIRE(steps.size() == kOps);
    std::uniform_real_distribution<float> real(-2, 2);
    std::vector<Shape> shapes;
    std::vector<std::vector<float>> inputs;
    std::vector<Tensor> leaves;
    for (int k = 0; k < kInputs; ++k) {
      shapes.push_back(shape_of_input(k));
      inputs.emplace_back(static_cast<std::size_t>(sn::element_count(shapes.back())));
      for (float& v : inputs.back()) v = real(rng);
      leaves.push_back(sn::from_span(inputs.back(), shapes.back()));
    }
    const Tensor y = record(steps, leaves);
    const json plan = explained(y);
    CHECK(plan["kernels"].size() > 1);
    CHECK(plan["kernels"].size() < kOps / 6);
    CHECK(plan["bytes_moved"].get<double>() < plan["bytes_unfused"].get<double>() / 4);
    check_reasons(plan);

    REQUIRE(y.shape() == Shape{kRows, kColumns});
    const auto got = y.to_vector<float>();
    std::vector<Bounded> values(kInputs + kOps);
    double worst = 0;
    for (std::int64_t row = 0; row < kRows; ++row)
      for (std::int64_t column = 0; column < kColumns; ++column) {
        for (int k = 0; k < kInputs; ++k) values[k] = {inputs[k][place(shapes[k], row, column)], 0};
        for (int s = 0; s < kOps; ++s) values[kInputs + s] = apply(steps[s], values[steps[s].a], steps[s].b < 0 ? Bounded{} : values[steps[s].b]);
        const Bounded want = values.back();
        const double error = std::abs(got[static_cast<std::size_t>(row * kColumns + column)] - want.value);
        worst = std::max(worst, error / want.error);
        if (!(error <= want.error)) {
          CAPTURE(row);
          CAPTURE(column);
          CAPTURE(want.value);
          CAPTURE(want.error);
          REQUIRE(error <= want.error);
        }
      }
    MESSAGE(plan["kernels"].size() << " kernels; the largest error is " << worst << " of the bound");
  }
}

namespace {
void need_figures(const json& kernel) {
  REQUIRE_MESSAGE(!kernel["registers"].is_null(), "no NVRTC measured " << kernel["name"].get<std::string>() << ": scripts/setup.sh --tests installs one");
}
}  // namespace

TEST_CASE("a chain of 300 ops is split at the limit of a kernel's size for sm_90") {
  Tensor b = sn::placeholder({1 << 20}, DType::float32);
  for (int k = 0; k < 300; ++k) b = b + 0.02f * static_cast<float>(k + 1);
  const json plan = explained(b, "sm_90");
  CHECK(plan["device"] == "sm_90");
  // The segments have 128 ops, and the last one has the rest.
  REQUIRE(plan["kernels"].size() == 2);
  check_reasons(plan);
  CHECK(plan["kernels"][0]["boundary"]["reason"] == "kernel size");
  CHECK(plan["kernels"][0]["ops"].size() == 128);
  std::size_t ops = 0;
  for (const auto& kernel : plan["kernels"]) {
    ops += kernel["ops"].size();
    need_figures(kernel);
    CHECK(kernel["registers"].get<int>() > 0);
    CHECK(kernel["spill_bytes"] == 0);
  }
  CHECK(ops == 300);
}

TEST_CASE("300 random ops for sm_90 are planned with reasons and none of their kernels spills") {
  CAPTURE(seed());
  std::mt19937 rng(seed());
  std::vector<Tensor> leaves;
  for (int k = 0; k < kInputs; ++k) leaves.push_back(sn::placeholder(shape_of_input(k), DType::float32));
  const json plan = explained(record(random_formula(rng), leaves), "sm_90");
  CHECK(plan["kernels"].size() > 1);
  check_reasons(plan);
  for (const auto& kernel : plan["kernels"]) {
    need_figures(kernel);
    CHECK(kernel["spill_bytes"] == 0);
  }
}

TEST_CASE("softmax of gelu of a scaled and shifted matrix is one kernel on the CPU and on sm_90") {
  for (const char* target : {"cpu", "sm_90"}) {
    CAPTURE(std::string(target));
    const auto row = [] { return sn::placeholder({1024}, DType::float32); };
    const Tensor y = sn::softmax(sn::gelu(sn::placeholder({4096, 1024}, DType::float32) * row() + row()), -1);
    const json plan = explained(y, target);
    REQUIRE(plan["kernels"].size() == 1);
    CHECK(plan["library_calls"].empty());
    CHECK(plan["kernels"][0]["boundary"]["reason"] == "output wanted");
  }
}
