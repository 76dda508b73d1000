// Repeated evaluations: launches are prepared once and repeated with other data and literals. The results agree with the first evaluation and with float64
// loops; memory that results share is released. Threads and alternating sizes are tested, too.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "draws.hpp"
#include "program.hpp"
#include "sinter/decompositions.hpp"
#include "sinter/freeze.hpp"
#include "sinter/profile.hpp"

using namespace sinter;
using testing::floats;
using testing::random_tensor;

namespace {

/// SINTER_EMULATOR_LOSE names the kernel that loses the device; then the run tests this loss.
const bool losing = std::getenv("SINTER_EMULATOR_LOSE") != nullptr;

bool switched_off(const char* variable) {
  const char* value = std::getenv(variable);
  return value && std::string_view(value) == "0";
}
bool replays() { return testing::on_cuda(); }  // OpenCL launches each kernel by itself
bool graphs() { return replays() && !switched_off("SINTER_EMULATOR_GRAPHS"); }

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  const auto x = a.astype(DType::float64).to_vector<double>(), y = b.astype(DType::float64).to_vector<double>();
  return std::memcmp(x.data(), y.data(), x.size() * sizeof(double)) == 0;
}

/// Normalises columns and rows in several iterations: each has at least two kernels, and each kernel depends on the one before.
Tensor normalised(Tensor x, int rounds) {
  for (int k = 0; k < rounds; ++k) {
    x = x / (sum(abs(x), 0, true) + 0.5f);
    x = cumsum(x, 1) / (sum(abs(x), 1, true) + 0.25f);
  }
  return x;
}
std::vector<double> normalised(std::vector<double> x, std::size_t rows, std::size_t columns, int rounds) {
  for (int k = 0; k < rounds; ++k) {
    for (std::size_t j = 0; j < columns; ++j) {
      double all = 0.5;
      for (std::size_t i = 0; i < rows; ++i) all += std::fabs(x[i * columns + j]);
      for (std::size_t i = 0; i < rows; ++i) x[i * columns + j] /= all;
    }
    for (std::size_t i = 0; i < rows; ++i) {
      double all = 0.25, running = 0;
      for (std::size_t j = 0; j < columns; ++j) all += std::fabs(x[i * columns + j]);
      for (std::size_t j = 0; j < columns; ++j) x[i * columns + j] = (running += x[i * columns + j]) / all;
    }
  }
  return x;
}
/// The tolerance is relative to the largest value, because running sums can be near zero.
double worst_error(const Tensor& got, const std::vector<double>& want) {
  const auto values = got.to_vector<float>();
  REQUIRE(values.size() == want.size());
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    worst = std::max(worst, std::fabs(values[i] - want[i]));
    largest = std::max(largest, std::fabs(want[i]));
  }
  return worst / largest;
}
std::vector<double> doubles(const std::vector<float>& x) { return {x.begin(), x.end()}; }

}  // namespace

TEST_CASE("one kernel is repeated with other literals and other data" * doctest::skip(losing)) {
  for (int k = 0; k < 6; ++k) {
    const std::vector<float> x = floats(1000);
    const float factor = 1.5f + static_cast<float>(k), more = 0.25f * static_cast<float>(k + 1);
    const Tensor given = from_span(x);
    eval(given);
    const Counters before = counters();
    const Tensor y = given * factor + more;
    eval(y);
    const Counters after = counters();
    CHECK(after.kernels_launched - before.kernels_launched == 1);
    CHECK(after.replays - before.replays == (replays() && k > 0 ? 1 : 0));
    CHECK(after.graph_launches == before.graph_launches);
    const auto got = y.to_vector<float>();
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) worst = std::max(worst, std::fabs(got[i] - (double{x[i]} * factor + more)));
    CHECK(worst < 2e-6);
  }
}

TEST_CASE("several kernels are one graph, which runs them in any order that their dependencies allow" * doctest::skip(losing)) {
  constexpr std::size_t kRows = 12, kColumns = 40;
  const Function frozen = freeze([](const Tensor& x) { return normalised(x, 3); }, {{DType::float32, {12, 40}, "x"}});
  for (int k = 0; k < 5; ++k) {
    const std::vector<float> x = floats(kRows * kColumns);
    const Tensor given = from_span(x, {kRows, kColumns});
    eval(given);
    const Counters before = counters();
    const Tensor recorded = normalised(given, 3);
    eval(recorded);
    const Counters between = counters();
    const Tensor called = frozen(given)[0];
    const Counters after = counters();
    CHECK(between.kernels_launched - before.kernels_launched >= 3);
    CHECK(between.replays - before.replays == (replays() && k > 0 ? 1 : 0));
    CHECK(between.graph_launches - before.graph_launches == (graphs() && k > 0 ? 1 : 0));
    CHECK(after.replays - between.replays == (replays() ? 1 : 0));
    CHECK(after.graph_launches - between.graph_launches == (graphs() ? 1 : 0));
    const std::vector<double> want = normalised(doubles(x), kRows, kColumns, 3);
    CHECK(worst_error(recorded, want) < 1e-5);
    CHECK(worst_error(called, want) < 1e-5);
  }
}

TEST_CASE("ten dependent kernels that are recorded each time are one graph" * doctest::skip(losing)) {
  const auto chain = [](Tensor x) {
    for (int k = 0; k < 5; ++k) x = softmax(softmax(x, 0), 1);
    return x;
  };
  constexpr std::size_t kRows = 6, kColumns = 10;
  for (int k = 0; k < 4; ++k) {
    const std::vector<float> x = floats(kRows * kColumns, -4, 4);
    const Tensor given = from_span(x, {kRows, kColumns});
    eval(given);
    const Counters before = counters();
    const Tensor y = chain(given);
    eval(y);
    const Counters after = counters();
    CHECK(after.plans_made - before.plans_made == (k == 0 ? 1 : 0));
    CHECK(after.replays - before.replays == (replays() && k > 0 ? 1 : 0));
    CHECK(after.graph_launches - before.graph_launches == (graphs() && k > 0 ? 1 : 0));
    std::vector<double> want = doubles(x);
    const auto normalise = [&](std::size_t first, std::size_t count, std::size_t step) {
      double all = 0;
      for (std::size_t i = 0; i < count; ++i) all += want[first + i * step] = std::exp(want[first + i * step]);
      for (std::size_t i = 0; i < count; ++i) want[first + i * step] /= all;
    };
    for (int round = 0; round < 5; ++round) {
      for (std::size_t j = 0; j < kColumns; ++j) normalise(j, kRows, kColumns);
      for (std::size_t i = 0; i < kRows; ++i) normalise(i * kColumns, kColumns, 1);
    }
    CHECK(worst_error(y, want) < 2e-6);
  }
}

TEST_CASE("a value that is the result of one run and the input of the next" * doctest::skip(losing)) {
  constexpr std::size_t kRows = 8, kColumns = 24;
  const std::vector<float> x = floats(kRows * kColumns);
  const Function frozen = freeze([](const Tensor& y) { return normalised(y, 2); }, {{DType::float32, {8, 24}, "y"}});
  Tensor recorded = from_span(x, {kRows, kColumns}), called = recorded;
  std::vector<double> want = doubles(x);
  for (int k = 0; k < 12; ++k) {
    recorded = normalised(recorded, 2);
    eval(recorded);
    called = frozen(called)[0];
    want = normalised(std::move(want), kRows, kColumns, 2);
  }
  CHECK(worst_error(recorded, want) < 1e-4);
  CHECK(worst_error(called, want) < 1e-4);
}

namespace {

/// A random program over values of one shape. Each operation uses earlier values; some operations are separate kernels.
std::vector<Tensor> program(unsigned chosen, const std::vector<Tensor>& inputs, const Tensor& places) {
  std::mt19937 draw(chosen);
  std::vector<Tensor> values = inputs;
  const auto any = [&] { return values[draw() % values.size()]; };
  const int length = 5 + static_cast<int>(draw() % 12);
  for (int k = 0; k < length; ++k) {
    const Tensor a = any(), b = any();
    switch (draw() % 10) {
      case 0: values.push_back(a + b * 0.5f); break;
      case 1: values.push_back(tanh(a) - b); break;
      case 2: values.push_back(softmax(a, 0) + b); break;
      case 3: values.push_back(a - mean(b, 1, true)); break;
      case 4: values.push_back(cumsum(a, 1) * 0.125f); break;
      case 5: values.push_back(matmul(a, transpose(b)) * 0.125f); break;
      case 6: values.push_back(transpose(a) + b); break;
      case 7: values.push_back(take(a, places, 0)); break;
      case 8: values.push_back(roll(a, 3, 1) * sum(b)); break;
      default: values.push_back(where(a > b, a, sum(b, 0, true))); break;
    }
    values.back() = values.back() / (1.f + max(abs(values.back())));
  }
  std::vector<Tensor> wanted{values.back()};
  for (std::size_t k = inputs.size(); k < values.size(); ++k)
    if (draw() % 4 == 0) wanted.push_back(values[k]);
  return wanted;
}

}  // namespace

TEST_CASE("every repeated evaluation of a random program gives the bits of the first, and of one without a graph" * doctest::skip(losing)) {
  constexpr std::int64_t kSide = 16;
  for ([[maybe_unused]] const std::int64_t p : testing::sampled(testing::integers(1, testing::on_gpu() ? 5 : 40))) {
    const unsigned chosen = testing::numbers()();
    CAPTURE(chosen);
    const std::vector<Tensor> first{random_tensor({kSide, kSide}), random_tensor({kSide, kSide})},
        second{random_tensor({kSide, kSide}), random_tensor({kSide, kSide})};
    std::vector<std::int64_t> list(kSide);
    for (auto& place : list) place = static_cast<std::int64_t>(testing::numbers()() % kSide);
    const Tensor places = from_span(list);
    const auto compute = [&](const std::vector<Tensor>& inputs) {
      const auto wanted = program(chosen, inputs, places);
      eval(wanted);
      return wanted;
    };
    const auto a = compute(first), b = compute(first), c = compute(second), d = compute(first);
    std::vector<Tensor> e;
    {
      const Profile step_by_step;
      e = compute(second);
    }
    for (std::size_t k = 0; k < a.size(); ++k) {
      CHECK(same_bits(a[k], b[k]));
      CHECK(same_bits(a[k], d[k]));
      CHECK(same_bits(c[k], e[k]));
    }
  }
}

TEST_CASE("results that share memory: a result that is kept does not change, and the memory is released with the last one" * doctest::skip(losing)) {
  const Tensor x = random_tensor({64, 256});
  eval(x);
  const auto step = [&](float factor) {
    std::vector<Tensor> three{x * factor, x * x + factor, sqrt(abs(x)) * factor};
    eval(three);
    return three;
  };
  constexpr std::uint64_t kOne = 64 * 256 * 4;
  for (int k = 0; k < 3; ++k) (void)step(1.f);
  synchronize();
  const std::uint64_t before = counters().bytes_now;
  Tensor kept;
  {
    auto three = step(2.f);
    CHECK(counters().bytes_now - before >= 3 * kOne);
    CHECK(counters().bytes_now - before <= 3 * kOne + 4096);
    kept = three[1];
  }
  CHECK(counters().bytes_now - before <= 3 * kOne + 4096);
  CHECK(counters().bytes_now - before >= kOne);
  for (int k = 0; k < 4; ++k) (void)step(3.f + static_cast<float>(k));
  const auto xv = x.to_vector<float>(), values = kept.to_vector<float>();
  int wrong = 0;
  for (std::size_t i = 0; i < xv.size(); ++i) wrong += std::fabs(values[i] - (double{xv[i]} * xv[i] + 2.)) > 1e-6;
  CHECK(wrong == 0);
  const std::uint64_t with_host = counters().bytes_now;  // a value that was read has a copy on the host
  CHECK(with_host >= before);
  kept = Tensor();
  CHECK(counters().bytes_now <= before + kOne);  // x's copy on the host
}

TEST_CASE("a small result does not keep a large result's memory alive" * doctest::skip(losing)) {
  const Tensor x = random_tensor({256, 1024});
  eval(x);
  std::vector<Tensor> losses;
  std::uint64_t before = 0;
  for (int k = 0; k < 8; ++k) {
    if (k == 3) before = counters().bytes_now;
    std::vector<Tensor> both{sum(x * static_cast<float>(k)), x * 2.f - static_cast<float>(k)};
    eval(both);
    losses.push_back(both[0]);
  }
  synchronize();
  CHECK(counters().bytes_now - before < 64 << 10);
}

TEST_CASE("sizes that alternate, and more sizes than a plan stays bound to" * doctest::skip(losing)) {
  for (const std::vector<std::size_t>& sizes : {std::vector<std::size_t>{24, 40}, {20, 24, 28, 32, 36, 40, 44}})
    for (int round = 0; round < 3; ++round)
      for (const std::size_t rows : sizes) {
        const std::vector<float> x = floats(static_cast<std::int64_t>(rows) * 16);
        const Tensor y = normalised(from_span(x, {static_cast<std::int64_t>(rows), 16}), 2);
        eval(y);
        CHECK(worst_error(y, normalised(doubles(x), rows, 16, 2)) < 1e-5);
      }
}

TEST_CASE("an index out of range is reported in a repeated evaluation too" * doctest::skip(losing)) {
  const Tensor x = random_tensor({10, 4});
  for (int k = 0; k < 6; ++k) {
    const std::vector<std::int64_t> list{1, k == 4 ? 10 : 9, 3};
    const Tensor y = take(normalised(x, 1), from_span(list), 0) + 1.f;
    if (k == 4) CHECK_THROWS_WITH_AS(eval(y), doctest::Contains("index 10 is out of bounds for axis 0 with size 10"), IndexError);
    else CHECK_NOTHROW(eval(y));
  }
}

TEST_CASE("a library call that the host computes for the device, between kernels that are repeated" * doctest::skip(losing)) {
  for (int k = 0; k < 4; ++k) {
    const Tensor a = random_tensor({5, 5});
    const Tensor spd = matmul(a, transpose(a)) + eye(5).astype(DType::float32) * 4.f, l = cholesky(spd), back = matmul(l, transpose(l)) - spd;
    eval(back);
    double worst = 0;
    for (const float e : back.to_vector<float>()) worst = std::max(worst, std::fabs(double{e}));
    CHECK(worst < 1e-5);
  }
}

TEST_CASE("several threads repeat the same plans, each with its own values" * doctest::skip(losing)) {
  constexpr int kThreads = 4, kTimes = 6;
  constexpr std::size_t kRows = 6, kColumns = 20;
  const Function frozen = freeze([](const Tensor& x) { return normalised(x, 2); }, {{DType::float32, {6, 20}, "x"}});
  std::vector<std::vector<float>> inputs;
  for (int k = 0; k < kThreads * kTimes; ++k) inputs.push_back(floats(kRows * kColumns));
  std::vector<Tensor> recorded(inputs.size()), called(inputs.size());
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int k = 0; k < kTimes; ++k) {
        const std::size_t at = static_cast<std::size_t>(t * kTimes + k);
        const Tensor x = from_span(inputs[at], {kRows, kColumns});
        recorded[at] = normalised(x, 2);
        eval(recorded[at]);
        called[at] = frozen(x)[0];
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const std::vector<double> want = normalised(doubles(inputs[k]), kRows, kColumns, 2);
    CHECK(worst_error(recorded[k], want) < 1e-5);
    CHECK(worst_error(called[k], want) < 1e-5);
  }
}

TEST_CASE("if a device is lost in a graph, the error names its kernels" * doctest::skip(!losing)) {
  testing::may_fall_back = true;
  const Tensor x = random_tensor({12, 40});
  std::string report;
  try {
    for (int k = 0; k < 20; ++k) {
      const Tensor y = normalised(x, 3);
      eval(y);
      synchronize();
    }
  } catch (const DeviceError& error) {
    report = error.what();
  }
  CAPTURE(report);
  CHECK(report.find("CUDA_ERROR_ILLEGAL_ADDRESS") != std::string::npos);
  CHECK(report.find("at fault is one of the") != std::string::npos);
  CHECK(counters().graph_launches > 0);
  CHECK_THROWS_WITH_AS(eval(normalised(x, 3)), doctest::Contains("the device was lost earlier"), DeviceError);
}
