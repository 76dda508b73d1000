// The loops of Fourier transforms of each instruction set that the processor has, compared with the definitions.
#include <doctest/doctest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "kernels/fourier/lanes.hpp"
#include "seed.hpp"

using namespace sinter::kernels;
using Wide = std::complex<long double>;

namespace {

std::mt19937 rng{sinter::testing::test_seed()};

std::vector<const FourierLanes*> all_lanes() {
  std::vector<const FourierLanes*> all{&fourier_lanes_baseline};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) all.push_back(&fourier_lanes_avx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) all.push_back(&fourier_lanes_avx512);
#endif
  return all;
}

/// Complex numbers of each lane, at an address that every vector register may load from.
struct Numbers {
  Numbers(std::int64_t n, int side_by_side, bool drawn) : lanes(side_by_side), store(static_cast<std::size_t>(n * 2 * side_by_side + 8)) {
    at = store.data();
    while (reinterpret_cast<std::uintptr_t>(at) % 64 != 0) ++at;
    for (std::int64_t k = 0; k < n * 2 * lanes; ++k) at[k] = drawn ? std::uniform_real_distribution<>(-1, 1)(rng) : std::nan("");
  }
  Wide operator()(std::int64_t k, int lane) const { return {at[2 * k * lanes + lane], at[(2 * k + 1) * lanes + lane]}; }
  int lanes;
  std::vector<double> store;
  double* at;
};
Wide root(std::int64_t k, std::int64_t n) {
  return std::polar(1.0L, -2 * std::numbers::pi_v<long double> * static_cast<long double>(k % n) / static_cast<long double>(n));
}
Stages stages_of(std::int64_t n) {
  Stages stages;
  for (int p = 2; n > 1; ++p)
    for (; n % p == 0; stages.largest = p) {
      n /= p;
      stages.radices.push_back(p);
      stages.remainders.push_back(static_cast<int>(n));
    }
  return stages;
}
void near(Wide got, Wide want, std::int64_t n) { REQUIRE(std::abs(got - want) <= 2e-15L * static_cast<long double>(n)); }

}  // namespace

TEST_CASE("each lane is transformed on its own") {
  for (const FourierLanes* lanes : all_lanes())
    for (const std::int64_t n : {2, 3, 4, 5, 7, 12, 30, 64, 77}) {
      CAPTURE(n);
      CAPTURE(lanes->lanes);
      Stages stages = stages_of(n);
      LanePlan* const plan = lanes->make(n, stages);
      const Numbers from(n, lanes->lanes, true), to(n, lanes->lanes, false);
      lanes->run(*plan, from.at, to.at);
      lanes->free(plan);
      for (int lane = 0; lane < lanes->lanes; ++lane)
        for (std::int64_t k = 0; k < n; ++k) {
          Wide want;
          for (std::int64_t j = 0; j < n; ++j) want += from(j, lane) * root(j * k, n);
          near(to(k, lane), want, n);
        }
    }
}

TEST_CASE("products with one factor for all lanes, and with one for each") {
  constexpr std::int64_t n = 11;
  for (const FourierLanes* lanes : all_lanes()) {
    std::vector<std::complex<double>> by;
    for (std::int64_t k = 0; k < n; ++k) by.emplace_back(std::uniform_real_distribution<>(-1, 1)(rng), std::uniform_real_distribution<>(-1, 1)(rng));
    const Numbers each(n, lanes->lanes, true), start(n, lanes->lanes, true);
    for (const int kind : {0, 1, 2}) {
      Numbers numbers(n, lanes->lanes, false);
      std::copy_n(start.at, n * 2 * lanes->lanes, numbers.at);
      if (kind == 2) lanes->twist(numbers.at, by.data(), each.at, n);
      else lanes->multiply(numbers.at, by.data(), n, kind == 1);
      for (int lane = 0; lane < lanes->lanes; ++lane)
        for (std::int64_t k = 0; k < n; ++k) {
          Wide want = start(k, lane) * Wide(by[static_cast<std::size_t>(k)]);
          if (kind == 1) want = std::conj(want);
          if (kind == 2) want *= each(k, lane);
          near(numbers(k, lane), want, 1);
        }
    }
  }
}

TEST_CASE("real numbers are transformed by halves, and back") {
  for (const FourierLanes* lanes : all_lanes())
    for (const std::int64_t half : {1, 2, 3, 6, 15, 32}) {
      CAPTURE(half);
      CAPTURE(lanes->lanes);
      const std::int64_t n = 2 * half;
      const Numbers z(half, lanes->lanes, true), x(half + 1, lanes->lanes, false), back(half, lanes->lanes, false);
      std::vector<std::complex<double>> roots;
      for (std::int64_t k = 0; k <= half / 2; ++k) roots.emplace_back(root(k, n));
      lanes->split_halves(z.at, x.at, roots.data(), half);
      lanes->join_halves(x.at, back.at, roots.data(), half);
      for (int lane = 0; lane < lanes->lanes; ++lane) {
        const auto mirrored = [&](std::int64_t k) { return std::conj(z((half - k) % half, lane)); };
        for (std::int64_t k = 0; k <= half; ++k) {
          const Wide even = (z(k % half, lane) + mirrored(k % half)) / 2.0L, odd = (z(k % half, lane) - mirrored(k % half)) / Wide(0, 2);
          near(x(k, lane), even + root(k, n) * odd, 4);
        }
        for (std::int64_t k = 0; k < half; ++k) near(back(k, lane), Wide(0, 2) * std::conj(z(k, lane)), 8);
      }
    }
}
