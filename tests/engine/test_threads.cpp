// Everything that a program may do at the same time from several threads, over shared handles. It is most useful under ThreadSanitizer.
#include <doctest/doctest.h>

#include <atomic>
#include <barrier>
#include <cmath>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "program.hpp"

namespace {

constexpr int kThreads = 4;

/// Runs the function on all threads at the same time. An exception on a thread fails the test.
void together(const std::function<void(int)>& work) {
  std::barrier start(kThreads);
  std::mutex mutex;
  std::vector<std::string> failures;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      try {
        work(t);
      } catch (const std::exception& error) {
        const std::lock_guard lock(mutex);
        failures.push_back(error.what());
      }
    });
  for (auto& thread : threads) thread.join();
  for (const auto& failure : failures) FAIL_CHECK(failure);
}

Tensor ramp(std::int64_t count) { return sn::arange(count).astype(DType::float32) / static_cast<float>(count); }

bool near(double got, double want) { return std::abs(got - want) <= 1e-5 * std::abs(want) + 1e-6; }

}  // namespace

TEST_CASE("all threads evaluate the same node at once, many times") {
  std::atomic<int> wrong{0};
  for (int round = 0; round < 20; ++round) {
    const Tensor x = sn::from_span(ramp(3000 + round).to_vector<float>());
    const Tensor shared = sn::exp(x) + 1.0f;
    const Tensor wide = sn::sum(shared * x);
    together([&](int t) {
      const Tensor mine = t % 2 ? shared : shared * 1.5f + wide;
      const auto got = mine.to_vector<float>();
      const double e = std::exp(x.to_vector<float>()[17]) + 1, s = wide.item<float>();
      wrong += !near(got[17], t % 2 ? e : e * 1.5 + s);
    });
  }
  CHECK(wrong == 0);
}

TEST_CASE("elements that one thread reads stay valid while others evaluate the same node") {
  for (int round = 0; round < 50; ++round) {
    const Tensor shared = sn::exp(ramp(500)) * static_cast<float>(round + 2);
    std::vector<const float*> given(kThreads);
    together([&](int t) {
      const Tensor mine = shared;
      given[static_cast<std::size_t>(t)] = mine.data<float>().data();
    });
    for (const float* first : given) REQUIRE(first == shared.data<float>().data());
  }
}

TEST_CASE("threads that read the rows of one array at once share a plan, and each gets its own rows") {
  const std::int64_t rows = 97, columns = 6;
  const Tensor x = ramp(rows * columns).reshape({rows, columns}), w = ramp(columns * 2).reshape({columns, 2});
  sn::eval({x, w});
  const auto numbers = x.to_vector<float>(), weights = w.to_vector<float>();
  std::atomic<int> wrong{0};
  together([&](int t) {
    for (std::int64_t step = 0; step < rows; ++step) {
      const std::int64_t k = t % 2 ? step : rows - 1 - step;
      const Tensor row = x.at({k}), y = sn::matmul(row, w) * 2.f, z = sn::sum(sn::exp(row));
      sn::eval({y, z});
      double products[2] = {0, 0}, sum = 0;
      for (std::int64_t c = 0; c < columns; ++c) {
        const double number = numbers[static_cast<std::size_t>(k * columns + c)];
        for (int j = 0; j < 2; ++j) products[j] += 2 * number * weights[static_cast<std::size_t>(2 * c + j)];
        sum += std::exp(number);
      }
      const auto got = y.to_vector<float>();
      wrong += !near(got[0], products[0]) || !near(got[1], products[1]) || !near(z.item<float>(), sum);
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("several threads compile new formulas, and a formula that all of them need is compiled once") {
  const auto before = sn::counters();
  std::atomic<int> wrong{0};
  std::vector<float> values(1000);  // the elements are written directly, because a kernel would be counted
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<float>(k) * 1e-3f;
  together([&](int t) {
    const Tensor x = sn::from_span(values);
    const Tensor same = sn::sqrt(sn::cos(x) * sn::cos(x) + 3.25f) - sn::sin(x);
    wrong += !near(same.to_vector<float>()[500], std::sqrt(std::cos(0.5) * std::cos(0.5) + 3.25) - std::sin(0.5));
    Tensor own = x;
    for (int k = 0; k <= t; ++k) own = sn::tanh(own) + 0.5f;
    double want = 0.5;
    for (int k = 0; k <= t; ++k) want = std::tanh(want) + 0.5;
    wrong += !near(own.to_vector<float>()[500], want);
  });
  CHECK(wrong == 0);
  const auto after = sn::counters();
  // One kernel is compiled for `same` and one for each thread's formula. The disk cache may have them from an earlier run.
  CHECK(after.kernels_compiled + after.kernels_from_disk - before.kernels_compiled - before.kernels_from_disk <= 1 + kThreads);
  CHECK(after.fallbacks == before.fallbacks);
}

TEST_CASE("evaluating, explaining, counting and changing settings do not disturb each other") {
  const sn::Options original = sn::options();
  std::atomic<int> wrong{0};
  const Tensor x = ramp(4096).reshape({64, 64});
  const Tensor shared = sn::softmax(x * 2.0f, -1);
  together([&](int t) {
    for (int k = 0; k < 12; ++k) {
      if (t == 0) {
        sn::Options changed = original;
        changed.fuse = k % 2 == 1;
        changed.threads = 1 + k % 3;
        sn::configure(changed);
      }
      const Tensor rows = sn::sum(shared + static_cast<float>(t), -1);
      if (t == 1) wrong += sn::explain(shared * 3.0f, sn::Format::json).find("\"kernels\"") == std::string::npos;
      if (t == 2) wrong += sn::counters().kernels_launched > (std::uint64_t{1} << 40);
      wrong += !near(rows.to_vector<float>()[5], 1 + 64.0 * t);
      if (t == 3) wrong += sn::explain(rows).empty();
    }
  });
  sn::configure(original);
  CHECK(wrong == 0);
}

TEST_CASE("endless loops on several threads with a common initial value, and handles that are destroyed on another thread") {
  const Tensor start = sn::from_span(std::vector<float>(100, 1.0f)) * 2.0f;
  std::atomic<int> wrong{0};
  std::vector<Tensor> handed(kThreads);
  together([&](int t) {
    Tensor b = start;
    for (int k = 0; k < 2500; ++k) b = b + 0.5f;  // past the depth at which recording evaluates by itself
    handed[t] = b;
    wrong += !near(b.to_vector<float>()[99], 2 + 2500 * 0.5);
  });
  together([&](int t) {
    const Tensor other = std::move(handed[(t + 1) % kThreads]);
    wrong += !near((other - start).to_vector<float>()[0], 1250);
  });
  CHECK(wrong == 0);
}

TEST_CASE("errors on several threads are thrown on each of them and affect no other thread") {
  std::atomic<int> caught{0}, wrong{0};
  const Tensor a = sn::ones({3, 4}), b = sn::ones({5});
  together([&](int t) {
    for (int k = 0; k < 20; ++k) {
      try {
        const Tensor c = a + b;
      } catch (const sn::ShapeError&) {
        ++caught;
      }
      wrong += !near(sn::sum(a * static_cast<double>(t)).item<double>(), 12.0 * t);
    }
  });
  CHECK(caught == 20 * kThreads);
  CHECK(wrong == 0);
}
