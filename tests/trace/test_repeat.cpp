// A formula that is recorded again: its plan is found without making a graph, and is used only for formulas of the same structure.
#include <doctest/doctest.h>
#include <pthread.h>

#include <atomic>
#include <cmath>
#include <fstream>
#include <random>
#include <thread>

#include "draws.hpp"
#include "program.hpp"

namespace {

/// A value as the library computes it and as doubles, side by side.
struct Pair {
  Tensor tensor;
  std::vector<double> values;
};

Pair leaf(std::mt19937& rng, std::int64_t count) {
  std::vector<float> values;
  for (std::int64_t k = 0; k < count; ++k) values.push_back(static_cast<float>(static_cast<int>(rng() % 17) - 8) / 8.f);
  return {sn::from_span(values), {values.begin(), values.end()}};
}

template <class Op> Pair apply(const Pair& a, const Pair& b, Op op) {
  Pair result{op(a.tensor, b.tensor), {}};
  for (std::size_t k = 0; k < a.values.size(); ++k) result.values.push_back(op(a.values[k], b.values[k]));
  return result;
}

/// Uses literals with few values, and operands that are often the same tensor, so that parts which are equal in one program differ in the next.
Pair random_formula(std::mt19937& rng, const std::vector<Pair>& leaves, int ops) {
  std::vector<Pair> values = leaves;
  const auto any = [&]() -> const Pair& { return values[values.size() - 1 - rng() % std::min<std::size_t>(values.size(), 4)]; };
  for (int k = 0; k < ops; ++k) {
    const Pair a = any();
    const double literal = static_cast<double>(static_cast<int>(rng() % 3)) / 2;
    switch (rng() % 6) {
      case 0: values.push_back(apply(a, any(), [](const auto& x, const auto& y) { return x + y; })); break;
      case 1: values.push_back(apply(a, any(), [](const auto& x, const auto& y) { return (x - y) * 0.5; })); break;
      case 2: values.push_back(apply(a, any(), [](const auto& x, const auto& y) { return x * y; })); break;
      case 3: values.push_back(apply(a, a, [&](const auto& x, const auto&) { return x * literal; })); break;
      case 4: values.push_back(apply(a, a, [&](const auto& x, const auto&) { return x + literal; })); break;
      case 5: values.push_back(apply(a, a, [&](const auto& x, const auto&) { return (x + literal) * (literal - x) * 0.25; })); break;
    }
  }
  return values.back();
}

void check(const Pair& pair) {
  const auto got = pair.tensor.to_vector<float>();
  REQUIRE(got.size() == pair.values.size());
  int wrong = 0;
  double size = 1;
  for (const double value : pair.values) size = std::max(size, std::abs(value));
  for (std::size_t k = 0; k < got.size(); ++k) wrong += !(std::abs(static_cast<double>(got[k]) - pair.values[k]) <= 1e-4 * size);
  REQUIRE(wrong == 0);
}

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * 4096;
}

}  // namespace

TEST_CASE("random formulas with few literals and shared operands, many of them equal in structure, give their own values") {
  const char* wanted = std::getenv("SINTER_TEST_SEED");
  std::mt19937 rng(wanted ? static_cast<unsigned>(std::atoi(wanted)) : 20u);
  const int rounds = sinter::testing::on_gpu() ? 30 : 400;
  const auto before = sn::counters();
  for (int round = 0; round < rounds && !sinter::testing::time_is_over(); ++round) {
    CAPTURE(round);
    const std::int64_t count = 3 + static_cast<std::int64_t>(rng() % 3);
    const std::vector<Pair> leaves = {leaf(rng, count), leaf(rng, count)};
    const int ops = 1 + static_cast<int>(rng() % 3);
    check(random_formula(rng, leaves, ops));
  }
  const auto after = sn::counters();
  const auto reused = after.plans_reused - before.plans_reused;
  if (after.plans_made - before.plans_made + reused >= 30) CHECK(reused > 0);  // a sample on a slow device may repeat no structure
  CHECK(after.plans_made - before.plans_made < static_cast<std::uint64_t>(rounds));
}

TEST_CASE("equal literals are one constant; the same formula with different literals has another structure") {
  const Tensor x = {1.f, 2.f, 3.f};
  const auto formula = [&](float a, float b) { return ((x * a + b) * x).to_vector<float>(); };
  const auto expected = [](float a, float b) { return std::vector<float>{a + b, (2 * a + b) * 2, (3 * a + b) * 3}; };
  for (int round = 0; round < 3; ++round) {
    CHECK(formula(2, 2) == expected(2, 2));
    CHECK(formula(2, 3) == expected(2, 3));
    CHECK(formula(5, 5) == expected(5, 5));
    CHECK(formula(5, 4) == expected(5, 4));
  }
}

TEST_CASE("a repeated formula plans nothing, and explain says where its kernels come from") {
  const Tensor x = {1.f, 2.f, 3.f}, y = {4.f, 5.f, 6.f};
  const auto formula = [&](float factor) { return sn::sqrt(x * factor + y) - x; };
  sn::eval(formula(2.f));
  const auto before = sn::counters();
  for (int k = 0; k < 10; ++k) {
    const Tensor again = formula(static_cast<float>(k + 2));  // a product with 1 would be simplified
    CHECK(again.to_vector<float>()[1] == doctest::Approx(std::sqrt(2.0 * (k + 2) + 5) - 2));
    CHECK(sn::explain(again).find(sn::options().backend == "interpreter" ? "interpreted" : "from memory") != std::string::npos);
  }
  const auto after = sn::counters();
  CHECK(after.plans_made == before.plans_made);
  CHECK(after.sources_generated == before.sources_generated);
  CHECK(after.plans_reused == before.plans_reused + 10);
  CHECK(after.kernels_launched == before.kernels_launched + 10);
}

TEST_CASE("a repeated index that is out of range names its own line") {
  const Tensor x = {1.f, 2.f, 3.f};
  const auto element = [&](std::int64_t k, unsigned line) {
    const Tensor places = sn::from_span(std::vector<std::int64_t>{k});
    return sn::take(sn::Arg(x, {"program.cpp", line}), places, 0);
  };
  CHECK(element(2, 10).item<float>() == 3.f);
  for (unsigned line : {11u, 12u}) {
    try {
      (void)element(7, line).item<float>();
      FAIL("no error");
    } catch (const sn::IndexError& error) {
      CHECK(std::string(error.what()).find("index 7") != std::string::npos);
      CHECK(std::string(error.what()).find("program.cpp:" + std::to_string(line)) != std::string::npos);
    }
  }
}

TEST_CASE("a million repeated evaluations do not grow the process; in a sample, a hundred thousand") {
  const Tensor x = {1.f, 2.f, 3.f, 4.f};
  const auto some = [&](int times) {
    Tensor held = x;
    for (int k = 0; k < times; ++k) {
      const Tensor a = held * 0.5f + 1.f, b = a * x;
      held = (b - a) * 0.25f;
      if (k % 2) (void)held.data<float>();
      else sn::eval(held, a);
    }
    CHECK(std::isfinite(held.to_vector<float>()[3]));
  };
  const int times = sinter::testing::on_gpu() ? 2000 : sinter::testing::is_sample() ? 100000 : 1000000;
  some(times / 100 + 200);
  const auto before = sn::counters();
  const std::size_t resident = resident_bytes();
  some(times);
  CHECK(sn::counters().bytes_now == before.bytes_now);
  CHECK(sn::counters().plans_made == before.plans_made);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const std::size_t own = std::size_t{512} << 20;  // a sanitizer retains up to 256 MiB of freed memory, and its shadow
#else
  const std::size_t own = 0;
#endif
  CHECK(resident_bytes() < resident + own + (std::size_t{4} << 20));
}

namespace {
/// Runs on a thread with a stack of 128 KiB.
void on_a_small_stack(void (*work)()) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 128 << 10);
  pthread_t thread;
  REQUIRE(pthread_create(
              &thread, &attributes,
              [](void* function) -> void* {
                reinterpret_cast<void (*)()>(function)();
                return nullptr;
              },
              reinterpret_cast<void*>(work)) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}
}  // namespace

TEST_CASE("deep chains are dropped without recursion, in any order of their handles") {
  on_a_small_stack([] {
    Tensor chain = sn::placeholder({4}, DType::float32);
    for (int k = 0; k < 300000; ++k) chain = chain * 0.5f;
    chain = Tensor();
  });
  on_a_small_stack([] {  // a handle to the middle of a chain, and two chains with a common start
    Tensor start = sn::placeholder({4}, DType::float32), middle, a, b;
    for (int k = 0; k < 100000; ++k) start = sn::sqrt(start);
    a = b = middle = start;
    for (int k = 0; k < 100000; ++k) a = a + b, b = b * a;
    start = Tensor();
    a = Tensor();
    b = Tensor();
    middle = Tensor();
  });
}

TEST_CASE("threads evaluate overlapping formulas from both ends at once") {
  const int rounds = sinter::testing::on_gpu() ? 5 : 200;
  for (int round = 0; round < rounds && !sinter::testing::time_is_over(); ++round) {
    const Tensor x = {1.f, 2.f, 3.f};
    std::vector<Tensor> chain{x + static_cast<float>(round)}, back{x * 2.f};
    for (int k = 1; k < 24; ++k) {
      chain.push_back(chain.back() * 0.5f + back.back());
      back.push_back(back.back() - chain.back() * 0.25f);
    }
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        const std::size_t at = t % 2 ? 23 - static_cast<std::size_t>(round % 5) : 10 + static_cast<std::size_t>(t);
        const Tensor first = chain[at] + back[at], second = back[23 - at] * chain[23 - at];
        double c = 1 + round, b = 2;
        std::vector<double> cs{c}, bs{b};
        for (int k = 1; k < 24; ++k) {
          cs.push_back(c = c * 0.5 + b);
          bs.push_back(b = b - c * 0.25);
        }
        const auto near = [](double got, double want) { return std::abs(got - want) <= 1e-4 * (1 + std::abs(want)); };
        wrong += !near(first.to_vector<float>()[0], cs[at] + bs[at]);
        wrong += !near(second.to_vector<float>()[0], cs[23 - at] * bs[23 - at]);
      });
    for (auto& thread : threads) thread.join();
    REQUIRE(wrong == 0);
  }
}
