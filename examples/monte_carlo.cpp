// Prices an Asian option by simulation: the mean of a random path decides its payoff.
#include "example.hpp"

namespace sn = sinter;

namespace {

// --- the program
sn::Tensor payoffs(std::int64_t paths, std::int64_t days, double rate, double volatility, double strike) {
  const double dt = 1.0 / static_cast<double>(days);
  const sn::Tensor moves = sn::random::normal(sn::random::Key(7), {paths, days});
  const sn::Tensor prices = 100 * sn::exp(sn::cumsum((rate - volatility * volatility / 2) * dt + volatility * std::sqrt(dt) * moves, 1));
  return std::exp(-rate) * sn::maximum(sn::exp(sn::mean(sn::log(prices), 1)) - strike, 0);  // the geometric mean, whose price is known
}
// ---

/// Returns the price of an option on the geometric mean of days (Kemna and Vorst).
double exact(double days, double rate, double volatility, double strike) {
  const double variance = volatility * volatility * (days + 1) * (2 * days + 1) / (6 * days * days);
  const double mean = (rate - volatility * volatility / 2) * (days + 1) / (2 * days);
  const auto normal = [](double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); };
  const double d = (std::log(100 / strike) + mean + variance) / std::sqrt(variance);
  return std::exp(-rate) * (100 * std::exp(mean + variance / 2) * normal(d) - strike * normal(d - std::sqrt(variance)));
}

int price(bool full) {
  const std::int64_t paths = full ? 100'000 : 20'000, days = full ? 250 : 50;
  const sn::Tensor paid = example::measured([&] { return payoffs(paths, days, 0.05, 0.2, 100); });
  const double mean = sn::mean(paid).item<double>(), error = sn::stddev(paid).item<double>() / std::sqrt(static_cast<double>(paths));
  std::printf("  price %.4f, standard error %.4f\n", mean, error);
  example::Checks checks;
  checks.close("price against the formula", mean, exact(static_cast<double>(days), 0.05, 0.2, 100), 4 * error);
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  return example::run([&] { return price(example::full_size(argc, argv)); });
}
