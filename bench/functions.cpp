// Measures the nanoseconds an element of the float64 functions on one thread, over arrays that stay in L2: sinter's kernel beside a loop over the C library's
// function, and Black-Scholes with both. bench/functions.py adds NumPy's times.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <numbers>
#include <vector>

#include "bench.hpp"
#include "sinter/sinter.hpp"

namespace sn = sinter;
using sn::Tensor;

namespace {

constexpr std::size_t kElements = 1 << 14;
constexpr int kRounds = 300;

std::vector<double> between(double low, double high) {
  std::vector<double> x(kElements);
  for (std::size_t k = 0; k < kElements; ++k) x[k] = low + (high - low) * static_cast<double>(k) / kElements;
  return x;
}

double best_of(const std::function<void()>& work) {
  double best = 1e9;
  for (int k = 0; k < kRounds; ++k) best = std::min(best, bench::seconds(work));
  return best / kElements * 1e9;
}

struct Function {
  const char* name;
  Tensor (*ours)(const sn::Arg&);
  double (*libm)(double);
  double low, high;
};
#define F(name, low, high) {#name, sn::name, std::name, low, high}
const Function kFunctions[] = {F(exp, -10, 10),     F(exp2, -10, 10), F(expm1, -2, 2), F(log, 0.1, 10), F(log2, 0.1, 10), F(log10, 0.1, 10),
                               F(log1p, -0.5, 5),   F(sin, -10, 10),  F(cos, -10, 10), F(tan, -10, 10), F(asin, -1, 1),   F(acos, -1, 1),
                               F(atan, -5, 5),      F(sinh, -5, 5),   F(cosh, -5, 5),  F(tanh, -3, 3),  F(asinh, -5, 5),  F(acosh, 1, 9),
                               F(atanh, -0.9, 0.9), F(cbrt, -9, 9),   F(erf, -3, 3),   F(erfc, -3, 5)};
#undef F

}  // namespace

int main() {
  sn::Options options = sn::options();
  options.threads = 1;
  options.wait = true;
  sn::configure(options);
  nlohmann::json report;
  volatile double sink = 0;
  for (const Function& f : kFunctions) {
    const std::vector<double> values = between(f.low, f.high);
    std::vector<double> out(kElements);
    const Tensor x = sn::from_span(values);
    const double ours = best_of([&] { sn::eval(f.ours(x)); });
    const double libm = best_of([&] {
      for (std::size_t k = 0; k < kElements; ++k) out[k] = f.libm(values[k]);
      sink = out[kElements / 2];
    });
    report[f.name] = {{"low", f.low}, {"high", f.high}, {"sinter", ours}, {"libm", libm}};
  }
  const std::vector<double> spot = between(50, 150), strike = between(150, 60), time = between(0.1, 2);
  std::vector<double> out(kElements);
  const Tensor s = sn::from_span(spot), k = sn::from_span(strike), t = sn::from_span(time);
  const double rate = 0.03, sigma = 0.2;
  const double ours = best_of([&] {
    const Tensor spread = sigma * sn::sqrt(t), d1 = (sn::log(s / k) + (rate + sigma * sigma / 2) * t) / spread;
    sn::eval(s * sn::ndtr(d1) - k * sn::exp(-rate * t) * sn::ndtr(d1 - spread));
  });
  const double libm = best_of([&] {
    const auto cdf = [](double d) { return 0.5 * std::erfc(-d * std::numbers::sqrt2 / 2); };
    for (std::size_t i = 0; i < kElements; ++i) {
      const double spread = sigma * std::sqrt(time[i]), d1 = (std::log(spot[i] / strike[i]) + (rate + sigma * sigma / 2) * time[i]) / spread;
      out[i] = spot[i] * cdf(d1) - strike[i] * std::exp(-rate * time[i]) * cdf(d1 - spread);
    }
    sink = out[kElements / 2];
  });
  report["black_scholes"] = {{"sinter", ours}, {"libm", libm}};
  fmt::print("{}\n", report.dump(1));
}
