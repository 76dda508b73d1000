// Prices over time: moving averages from running sums, the volatility, the worst fall from a peak, and the crossings of two averages.
#include "example.hpp"

namespace sn = sinter;
using sn::Slice;

namespace {

// --- the program
sn::Tensor moving_average(const sn::Tensor& x, std::int64_t days) {
  const sn::Tensor sums = sn::pad(sn::cumsum(x), {{1, 0}});
  return (sums(Slice{days, {}}) - sums(Slice{0, -days})) / days;
}

sn::Tensor report(const sn::Tensor& prices) {
  const sn::Tensor returns = sn::diff(sn::log(prices));
  const sn::Tensor volatility = sn::sqrt(moving_average(sn::square(returns), 20)) * std::sqrt(252.0);
  const sn::Tensor fall = 1 - prices / sn::cummax(prices, 0);
  const sn::Tensor fast = moving_average(prices, 10)(Slice{40, {}}), slow = moving_average(prices, 50);
  const sn::Tensor crossings = sn::count_nonzero(sn::diff((fast > slow).astype(sn::DType::int32)));
  return sn::stack({sn::max(volatility), sn::max(fall), crossings.astype(sn::DType::float64)});
}
// ---

int analyse(bool full) {
  const std::int64_t days = full ? 2'000'000 : 2000;
  const sn::Tensor prices = sn::exp(sn::cumsum(example::numbers({days}, 1, sn::DType::float64) * 0.01)) * 100;
  sn::eval(prices);
  const sn::Tensor result = example::measured([&] { return report(prices); });

  const auto p = prices.to_vector<double>();
  const auto mean = [](const std::vector<double>& x, std::size_t end, std::size_t width) {
    double sum = 0;
    for (std::size_t k = end - width; k < end; ++k) sum += x[k];
    return sum / static_cast<double>(width);
  };
  std::vector<double> squares;
  double peak = 0, fall = 0, volatility = 0, crossings = 0;
  for (std::size_t k = 0; k < p.size(); ++k) {
    if (k > 0) squares.push_back(std::pow(std::log(p[k]) - std::log(p[k - 1]), 2));
    if (squares.size() >= 20) volatility = std::max(volatility, std::sqrt(mean(squares, squares.size(), 20) * 252));
    peak = std::max(peak, p[k]);
    fall = std::max(fall, 1 - p[k] / peak);
    if (k >= 50) crossings += (mean(p, k + 1, 10) > mean(p, k + 1, 50)) != (mean(p, k, 10) > mean(p, k, 50));
  }
  const auto got = result.data<double>();
  example::Checks checks;
  checks.close("highest volatility", got[0], volatility, 1e-6);  // differences of running sums over all days
  checks.close("worst fall", got[1], fall, 1e-12);
  checks.close("crossings", got[2], crossings, full ? 50 : 0);
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  return example::run([&] { return analyse(example::full_size(argc, argv)); });
}
