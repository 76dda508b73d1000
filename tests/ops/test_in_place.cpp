// Small assignments that are written in place. Other handles of the elements, and values that were recorded from them, must not change.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <sinter/adopt.hpp>
#include <sinter/freeze.hpp>

#include "program.hpp"
#include "reference.hpp"
#include "seed.hpp"

using namespace sinter::testing;
using sn::Index;

namespace {

/// Handles of a random program, each with its expected value.
struct Held {
  Tensor x;
  std::vector<double> want;
};

double stored(DType dtype, double value) {
  return sn::visit_storage(dtype, [&]<class T>() { return static_cast<double>(static_cast<T>(value)); });
}

}  // namespace

TEST_CASE("random programs of small assignments, copies, views and readers") {
  const auto seed = test_seed();
  std::mt19937 rng(seed);
  const auto pick = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
  for (int round = 0; round < (sn::options().backend == "interpreter" ? 150 : 15) && !time_is_over(); ++round) {
    const DType dtype =
        std::vector{DType::float32, DType::float64, DType::int32, DType::int64, DType::uint8, DType::float16}[static_cast<std::size_t>(pick(6))];
    const int rows = 1 + pick(6), columns = 1 + pick(9);
    const auto count = static_cast<std::size_t>(rows * columns);
    std::vector<Held> held;
    const auto fresh = [&]() -> Held {
      switch (pick(4)) {
        case 0: return {sn::full({rows, columns}, 3.0).astype(dtype), std::vector<double>(count, 3)};
        case 1: return {Tensor::zeros({rows, columns}, dtype), std::vector<double>(count, 0)};
        case 2: {
          Held it{sn::from_span(std::vector<double>(count, 7), {rows, columns}).astype(dtype), std::vector<double>(count, 7)};
          sn::eval(it.x);
          return it;
        }
        default: return {sn::ones({rows, columns}, dtype) + sn::ones({rows, 1}, dtype), std::vector<double>(count, 2)};
      }
    };
    std::vector<std::pair<Tensor, double>> read;  // values recorded from the handles, and the expected number
    held.push_back(fresh());
    for (int step = 0; step < 50; ++step) {
      const auto at = static_cast<std::size_t>(pick(static_cast<int>(held.size())));
      switch (pick(14)) {
        case 0: held.push_back(fresh()); break;
        case 1: held.push_back(held[at]); break;  // two handles of one value
        case 2: held.push_back({held[at].x.reshape({columns, rows}).reshape({rows, columns}), held[at].want}); break;
        case 3: {
          double sum = 0;
          for (const double v : held[at].want) sum += v;
          read.emplace_back(held[at].x.astype(DType::float64).sum(), sum);
          break;
        }
        case 4: {
          const int i = pick(rows), j = pick(columns);
          read.emplace_back(held[at].x(i, j), held[at].want[static_cast<std::size_t>(i * columns + j)]);
          break;
        }
        case 5: sn::eval(held[at].x); break;
        case 6: held[at] = held[static_cast<std::size_t>(pick(static_cast<int>(held.size())))]; break;
        case 7: {  // from another handle, or from itself
          const int to = pick(rows), from = pick(rows);
          const Held source = held[static_cast<std::size_t>(pick(static_cast<int>(held.size())))];
          held[at].x(to) = source.x(from);
          for (int j = 0; j < columns; ++j)
            held[at].want[static_cast<std::size_t>(to * columns + j)] = source.want[static_cast<std::size_t>(from * columns + j)];
          break;
        }
        case 8: {  // backwards, with a step
          const Tensor value = sn::from_span(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9}).astype(dtype);
          if (pick(2)) sn::eval(value);
          const int i = pick(rows), step_by = 1 + pick(3);
          const int many = (columns + step_by - 1) / step_by;
          held[at].x(i, Slice{{}, {}, -step_by}) = value(Slice{0, many});
          for (int k = 0; k < many; ++k) held[at].want[static_cast<std::size_t>(i * columns + columns - 1 - k * step_by)] = k + 1;
          break;
        }
        default: {
          const int times = 1 + pick(pick(3) == 0 ? 40 : 3);
          for (int k = 0; k < times; ++k) {
            const int i = pick(rows), j = pick(columns), number = pick(5);
            double& want = held[at].want[static_cast<std::size_t>(i * columns + j)];
            switch (pick(4)) {
              case 0: held[at].x(i, j) += number, want = stored(dtype, want + number); break;
              case 1: held[at].x(i, j) *= 2, want = stored(dtype, want * 2); break;
              case 2: held[at].x(i - rows, Slice{j, j + 1}) = Tensor(number).astype(dtype), want = number; break;
              default: held[at].x(i, j) = number, want = number;
            }
            if (std::fabs(want) > 100) held[at].x(i, j) = 1, want = 1;  // the values fit the narrow types
          }
        }
      }
      if (held.size() > 6) held.erase(held.begin() + pick(6));
    }
    INFO("SINTER_TEST_SEED=", seed, ", round ", round, ", ", sn::name(dtype));
    for (const auto& [value, want] : read) CHECK(values(value)[0] == want);
    for (const Held& it : held) CHECK(values(it.x) == it.want);
  }
}

TEST_CASE("random programs of assignments to parts of large arrays, copies and readers") {
  constexpr int kRows = 40, kColumns = 1000;  // so large that a value is evaluated and written
  constexpr auto kCount = static_cast<std::size_t>(kRows * kColumns);
  const auto seed = test_seed();
  std::mt19937 rng(seed);
  const auto pick = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 12 && !time_is_over(); ++round) {
    std::vector<Held> held(1);
    held[0].want.resize(kCount);
    const int start = pick(3);  // a number, a pending value, or elements
    for (double& v : held[0].want) v = start == 0 ? 4 : pick(100);
    held[0].x = start == 0 ? sn::full({kRows, kColumns}, 4.0) : sn::from_span(held[0].want, {kRows, kColumns}) + 0.0;
    if (start == 2) sn::eval(held[0].x);
    std::vector<std::pair<Tensor, double>> read;
    for (int step = 0; step < 25; ++step) {
      Held& it = held[static_cast<std::size_t>(pick(static_cast<int>(held.size())))];
      const auto want = [&](int i, int j) -> double& { return it.want[static_cast<std::size_t>(i * kColumns + j)]; };
      const int i = pick(kRows), j = pick(kColumns), other = pick(kRows), number = pick(50);
      switch (pick(10)) {
        case 0:
          if (held.size() < 4) held.push_back(Held(it));
          break;
        case 1: read.emplace_back(it.x(i, j) * 2, want(i, j) * 2); break;
        case 2: sn::eval(it.x); break;
        case 3:
          it.x(i) = number;
          for (int k = 0; k < kColumns; ++k) want(i, k) = number;
          break;
        case 4:
          it.x(i) = it.x(other) + 1;
          for (int k = 0; k < kColumns; ++k) want(i, k) = want(other, k) + 1;
          break;
        case 5:
          it.x(Slice{}, j) = it.x(Slice{}, 0) * 2;
          for (int k = kRows; k-- > 0;) want(k, j) = want(k, 0) * 2;
          break;
        case 6: {  // the last of equal indices counts
          const std::int64_t first = pick(kRows), second = pick(kRows) - kRows;
          it.x(Tensor{first, second, first}, j) = Tensor{1.0, 2.0, 3.0} * number;
          want(static_cast<int>(second) + kRows, j) = 2 * number;
          want(static_cast<int>(first), j) = 3 * number;
          break;
        }
        case 8: {  // an element from others, which it then replaces
          const Tensor first = it.x(i, j), second = it.x(other, 0) - first;
          it.x(i, j) = it.x(other, 0) + 1;
          it.x(other, 0) = second;
          const double was = want(i, j), by = want(other, 0) - was;
          want(i, j) = want(other, 0) + 1;
          want(other, 0) = by;
          read.emplace_back(first, was);
          break;
        }
        case 7: {  // whole rows, exchanged
          it.x({i, other}) = Tensor(it.x({other, i}));
          for (int k = 0; k < kColumns; ++k) std::swap(want(i, k), want(other, k));
          break;
        }
        default: {
          it.x(Slice{{}, {}, -3}, Slice{j, {}, 7}) += number;
          for (int k = kRows - 1; k >= 0; k -= 3)
            for (int m = j; m < kColumns; m += 7) want(k, m) += number;
        }
      }
    }
    INFO("SINTER_TEST_SEED=", seed, ", round ", round);
    for (const auto& [value, want] : read) CHECK(values(value)[0] == want);
    for (const Held& it : held) CHECK(values(it.x) == it.want);
  }
}

TEST_CASE("an assignment to a part of a large evaluated array does not copy the array") {
  if (on_gpu()) return;
  Tensor x = Tensor::zeros({400, 1000}, DType::float64) + 1.0;
  const Tensor row = sn::arange(1000.0), column = sn::arange(400.0);
  sn::eval(x);
  const double* const elements = x.data<double>().data();
  x(3) = 2.0;
  x(4) = row * 2;
  x(Slice{}, 5) = column + 1;
  x(Tensor{std::int64_t{7}, std::int64_t{9}}) = row;
  for (int k = 100; k < 103; ++k) {
    const Tensor one = x(k, 8), two = x(k + 1, 8);
    x(k, 8) = two;
    x(k + 1, 8) = one + 2;
  }
  CHECK(x.data<double>().data() == elements);
  CHECK(values(x(Slice{100, 104}, 8)) == std::vector<double>{1, 1, 1, 7});
  CHECK(values(x(Slice{3, 10}, Slice{4, 6})) == std::vector<double>{2, 4, 8, 5, 1, 6, 1, 7, 4, 5, 1, 9, 4, 5});
  const Tensor kept = x;
  x(0) = 0.0;
  CHECK(values(kept(0, 0))[0] == 1);
}

TEST_CASE("the columns of a value that is not evaluated are assigned in few plans") {
  if (on_gpu()) return;
  Tensor x = Tensor::zeros({300, 60}, DType::float64) + sn::arange(60.0);
  const auto before = sn::counters();
  for (int j = 0; j < 60; ++j) x(Slice{}, j) = x(Slice{}, j) * 2 - sn::mean(x(Slice{}, 0)) + j;
  CHECK(values(x(Slice{0, 2})) == make({2, 60}, [](const Coords& at) { return 3.0 * static_cast<double>(at[1]); }).v);
  CHECK(sn::counters().plans_made - before.plans_made <= 16);
  Tensor counts = Tensor::zeros({400, 1000});
  for (int k = 0; k < 5; ++k) counts(Tensor{std::int64_t{1}, std::int64_t{3}}, Tensor{std::int64_t{k}, std::int64_t{k}}) = k + 1;
  const double* const elements = counts.data<double>().data();
  counts(Tensor{std::int64_t{1}}, Tensor{std::int64_t{0}}) = 9.0;
  CHECK(counts.data<double>().data() == elements);
  CHECK(values(counts(3, Slice{0, 6})) == std::vector<double>{1, 2, 3, 4, 5, 0});
}

TEST_CASE("filling an array element by element makes no plans") {
  if (on_gpu()) return;
  const auto before = sn::counters();
  Tensor x = Tensor::zeros({60, 50});
  for (int i = 0; i < 60; ++i)
    for (int j = 0; j < 50; ++j) x(i, j) = std::sin(i) * j;
  for (int i = 0; i < 60; ++i)
    for (int j = 0; j < 50; ++j) x(i, j) += 1;
  CHECK(sn::counters().plans_made - before.plans_made <= 2);
  CHECK(values(x) == make({60, 50}, [](const Coords& at) { return std::sin(static_cast<int>(at[0])) * static_cast<double>(at[1]) + 1; }).v);
}

TEST_CASE("memory that is not sinter's is never written to") {
  std::vector<double> mine(6, 1.0);
  {
    Tensor x = sn::adopt_memory(nullptr, mine.data(), DType::float64, {6});
    sn::eval(x);
    for (int k = 0; k < 40; ++k) x(k % 6) = k;
    CHECK(values(x) == std::vector<double>{36, 37, 38, 39, 34, 35});
  }
  CHECK(mine == std::vector<double>(6, 1.0));
  const auto given = sn::allocate_host(6 * sizeof(double));
  auto* const numbers = static_cast<double*>(given.get());
  std::fill_n(numbers, 6, 1.0);
  Tensor shared = sn::adopt_host(given, DType::float64, {6});
  for (int k = 0; k < 40; ++k) shared(k % 6) = k;
  CHECK(std::all_of(numbers, numbers + 6, [](double number) { return number == 1; }));  // the test still holds it
  Tensor own = sn::adopt_host(sn::allocate_host(8000), DType::float64, {1000});
  const double* const elements = own.data<double>().data();
  own(7) = 3.0;
  CHECK((own.data<double>().data() == elements && elements[7] == 3));

  const auto path = (std::filesystem::temp_directory_path() / ("sinter_in_place_" + std::to_string(std::random_device{}()) + ".npy")).string();
  sn::save_npy(path, sn::arange(5.0));
  Tensor x = sn::load_npy(path);
  for (int k = 0; k < 40; ++k) x(k % 5) = -k;
  CHECK(values(x) == std::vector<double>{-35, -36, -37, -38, -39});
  CHECK(values(sn::load_npy(path)) == values(sn::arange(5.0)));
  std::filesystem::remove(path);
}

TEST_CASE("a write in place discards the known properties of a result") {
  Tensor x = sn::abs(Tensor{-1.0, 2.0});
  sn::eval(x);
  x(0) = -3.0;
  CHECK(values(sn::abs(x)) == std::vector<double>{3, 2});
  Tensor c = sn::full({4}, 2.0);
  sn::eval(c);
  c(1) = 5.0;
  CHECK(values(c + c(1)) == std::vector<double>{7, 10, 7, 7});
}

TEST_CASE("updates in place give the same values as kernels") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  std::mt19937 rng(test_seed());
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::int8, DType::int16, DType::int32, DType::uint8, DType::uint64}) {
    const bool floating = sn::is_floating(dtype);
    std::vector<double> start = {0, 1, 3, 100, 127};
    if (floating) start.insert(start.end(), {-0.0, 1e-30, 3e4, inf, -inf, nan});
    for (int round = 0; round < 20; ++round) {
      const double literal = floating ? std::vector{0.1, 3.0, 1e30, inf, 0.0}[rng() % 5] : 0;
      const int whole = static_cast<int>(rng() % 120);
      const int op = static_cast<int>(rng() % 4);
      if (op == 3 && !floating) continue;
      const Tensor original = sn::from_span(start).astype(dtype);
      Tensor x = original + Tensor::zeros({1}, dtype), y = x;
      sn::eval(x, y);
      y = y.copy() + Tensor::zeros({1}, dtype);
      const auto apply = [&]<class Target>(Target&& target) {
        switch (op) {
          case 0: floating&& whole % 2 ? std::forward<Target>(target) += literal : std::forward<Target>(target) += whole; break;
          case 1: floating&& whole % 2 ? std::forward<Target>(target) -= literal : std::forward<Target>(target) -= whole; break;
          case 2: floating&& whole % 2 ? std::forward<Target>(target) *= literal : std::forward<Target>(target) *= whole; break;
          default: whole % 2 ? std::forward<Target>(target) /= literal : std::forward<Target>(target) /= whole;
        }
      };
      const int size = static_cast<int>(start.size());
      for (int k = 0; k < size; ++k) apply(x(k));
      apply(y);
      INFO(sn::name(dtype), " op ", op, " ", literal, " or ", whole);
      CHECK(sn::array_equal(x, y, true).item<bool>());
      if (floating) CHECK(sn::array_equal(sn::signbit(sn::where(sn::isnan(x), 1, x)), sn::signbit(sn::where(sn::isnan(y), 1, y))).item<bool>());
    }
  }
}

TEST_CASE("a frozen formula that fills an array records the same operations for every size") {
  const sn::Function f = sn::freeze(
      [](const Tensor& x) {
        Tensor w = Tensor::zeros({x.shape()[0]});
        for (int k = 0; k < 12; ++k) w(k) = k + 1;
        w(0) += 5;
        return x * w;
      },
      {sn::InputSpec{.dtype = DType::float64, .shape = {"n"}}});
  for (const int n : {12, 20, 33}) {
    const Tensor y = f(sn::ones({n}))[0];
    CHECK(values(y) == make({n}, [](const Coords& at) { return at[0] == 0 ? 6.0 : at[0] < 12 ? static_cast<double>(at[0] + 1) : 0.0; }).v);
  }
}
