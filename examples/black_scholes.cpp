// European calls and puts of a million options by the formula of Black and Scholes: two results, one kernel.
#include <random>
#include <vector>

#include "example.hpp"

namespace sn = sinter;

namespace {

struct Prices {
  sn::Tensor call, put;
};

/// The standard normal distribution function.
sn::Tensor normal_cdf(const sn::Tensor& x) { return 0.5f * (1 + sn::erf(x * std::sqrt(0.5f))); }

Prices black_scholes(const sn::Tensor& spot, const sn::Tensor& strike, const sn::Tensor& years, float rate, float volatility) {
  auto spread = volatility * sn::sqrt(years);
  auto d1 = (sn::log(spot / strike) + (rate + 0.5f * volatility * volatility) * years) / spread;
  auto d2 = d1 - spread;
  auto discounted = strike * sn::exp(-rate * years);
  auto call = spot * normal_cdf(d1) - discounted * normal_cdf(d2);
  auto put = discounted * normal_cdf(-d2) - spot * normal_cdf(-d1);
  return {call, put};
}

template <class T> void plain_loop(std::span<const float> spot, std::span<const float> strike, std::span<const float> years, T rate, T volatility,
                                   std::span<T> call, std::span<T> put) {
  const auto cdf = [](T x) { return T(0.5) * (1 + std::erf(x * std::sqrt(T(0.5)))); };
  for (std::size_t k = 0; k < spot.size(); ++k) {
    const T s = spot[k], x = strike[k], t = years[k], spread = volatility * std::sqrt(t);
    const T d1 = (std::log(s / x) + (rate + T(0.5) * volatility * volatility) * t) / spread, d2 = d1 - spread;
    const T discounted = x * std::exp(-rate * t);
    call[k] = s * cdf(d1) - discounted * cdf(d2);
    put[k] = discounted * cdf(-d2) - s * cdf(-d1);
  }
}

int price() {
  const std::size_t n = 1'000'000;
  const float rate = 0.02f, volatility = 0.3f;
  std::mt19937 random(1973);
  const auto uniform = [&](float from, float to) {
    std::uniform_real_distribution<float> distribution(from, to);
    std::vector<float> values(n);
    for (auto& value : values) value = distribution(random);
    return values;
  };
  const auto spots = uniform(5, 30), strikes = uniform(1, 100), times = uniform(0.25f, 10);
  auto spot = sn::from_span(spots), strike = sn::from_span(strikes), years = sn::from_span(times);

  Prices prices;
  const auto compute = [&] {
    prices = black_scholes(spot, strike, years, rate, volatility);
    sn::eval(prices.call, prices.put);
  };
  std::printf("Black-Scholes, %zu options\n", n);
  const double first = example::best_ms(1, compute), warm = example::best_ms(10, compute);
  example::print_counters();

  std::vector<double> call(n), put(n);
  plain_loop<double>(spots, strikes, times, 0.02f, 0.3f, call, put);
  std::vector<float> call32(n), put32(n);
  const double loop = example::best_ms(3, [&] { plain_loop<float>(spots, strikes, times, rate, volatility, call32, put32); });

  std::printf("  first option: spot %.2f strike %.2f years %.2f: call %.4f, put %.4f\n", spots[0], strikes[0], times[0], prices.call.data<float>()[0],
              prices.put.data<float>()[0]);
  std::printf("  first call %.1f ms, then %.2f ms; a plain float loop on one thread %.1f ms: %.1f times as long\n", first, warm, loop, loop / warm);

  example::Checks checks;
  checks.close<float, double>("calls against float64", prices.call.data<float>(), call, 1e-4);
  checks.close<float, double>("puts against float64", prices.put.data<float>(), put, 1e-4);
  // Put-call parity, computed by sinter too: call - put = spot - strike * exp(-rate * years)
  auto parity = sn::max(sn::abs(prices.call - prices.put - (spot - strike * sn::exp(-rate * years))));
  checks.close("put-call parity", parity.item<float>(), 0, 1e-4);
  return checks.exit_code();
}

}  // namespace

int main() { return example::run(price); }
