// Measures each case's bandwidth (every input read once, every output written once) against a triad that moves as many bytes. The two are timed in turn, so
// that other load on the machine slows both.
#include <fmt/format.h>

#include <memory>
#include <numeric>
#include <string>

#include "bench.hpp"
#include "sinter/sinter.hpp"
#include "yardstick.hpp"

namespace sn = sinter;

namespace bench {
namespace {

constexpr std::int64_t kLarge = std::int64_t{64} << 20;

struct Contender {
  std::string name;
  std::function<void()> run;
};
struct Case {
  std::string name;
  double bytes;
  std::vector<Contender> contenders;
};

/// Returns elements that all differ, between -3 and 3.
sn::Tensor ramp(const sn::Shape& shape) {
  const std::int64_t count = sn::element_count(shape);
  const sn::Tensor i = sn::arange(count);
  sn::Tensor x = sn::reshape(sn::sin(sn::astype(i % 100003, sn::DType::float32)) * 3.f, shape);
  sn::eval(x);
  return x;
}

/// Evaluates the recording of the recipe and frees the result: memory comes from the pool, as in a loop.
Contender fused(std::function<sn::Tensor()> recipe) {
  return {"sinter", [recipe = std::move(recipe)] { sn::eval(recipe()); }};
}

std::vector<Case> make_cases(int threads, const std::string& only) {
  std::vector<Case> cases;
  const auto wanted = [&](const char* name) { return std::string(name).find(only) != std::string::npos; };

  if (wanted("gelu chain")) {
    const sn::Tensor x = ramp({kLarge});
    const auto out = std::make_shared<std::vector<float>>(kLarge);
    const float* from = x.data<float>().data();
    const auto eigen = [=](auto function) { return [=] { function(out->data(), from, 1.5f, 0.25f, static_cast<std::size_t>(kLarge), threads); }; };
    cases.push_back({"gelu chain f32[64M]",
                     8.0 * kLarge,
                     {fused([x] { return sn::gelu(x * 1.5f + 0.25f); }),
                      {"sinter, outputs kept",
                       [x] {  // fresh memory each time: page faults are paid
                         static sn::Tensor before;
                         sn::Tensor now = sn::gelu(x * 1.5f + 0.25f);
                         sn::eval(now);
                         before = now;
                       }},
                      {"Eigen erf", eigen(eigen_gelu_erf)},
                      {"Eigen tanh", eigen(eigen_gelu_tanh)}}});
  }
  if (wanted("softmax")) {
    const sn::Tensor x = ramp({4096, 1024}), s = ramp({1024}), b = ramp({1024});
    cases.push_back({"softmax(gelu) f32[4096,1024]", 8.0 * 4096 * 1024, {fused([=] { return sn::softmax(sn::gelu(x * s + b), -1); })}});
  }
  if (wanted("layer_norm")) {
    const sn::Tensor x = ramp({512, 8192}), w = ramp({8192}), b = ramp({8192});
    cases.push_back({"layer_norm f32[512,8192]", 8.0 * 512 * 8192, {fused([=] { return sn::layer_norm(x, w, b); })}});
  }
  if (wanted("full sum")) {
    const sn::Tensor x = ramp({kLarge});
    cases.push_back({"full sum f32[64M]", 4.0 * kLarge, {fused([=] { return sn::sum(x); })}});
  }
  if (wanted("column sum")) {
    const sn::Tensor x = ramp({16384, 4096});
    cases.push_back({"column sum f32[16384,4096]", 4.0 * kLarge, {fused([=] { return sn::sum(x, 0); })}});
  }
  if (wanted("transpose")) {
    const sn::Tensor x = ramp({4096, 4096}), y = ramp({4096, 4096});
    cases.push_back({"transpose+add f32[4096,4096]", 12.0 * 4096 * 4096, {fused([=] { return x.T() + y; })}});
  }
  if (wanted("black-scholes")) {
    const std::int64_t n = std::int64_t{16} << 20;
    const sn::Tensor u = ramp({n}), spot = sn::abs(u) * 30.f + 10.f, strike = sn::abs(u) * 20.f + 20.f, years = sn::abs(u) + 0.1f;
    sn::eval(spot, strike, years);
    cases.push_back({"black-scholes f32[16M]", 16.0 * n, {fused([=] {
                       const sn::Tensor root = sn::sqrt(years) * 0.3f;
                       const sn::Tensor d1 = (sn::log(spot / strike) + years * (0.02f + 0.045f)) / root, d2 = d1 - root;
                       const auto normal = [](const sn::Tensor& d) { return sn::erf(d * 0.70710678f) * 0.5f + 0.5f; };
                       return spot * normal(d1) - strike * sn::exp(years * -0.02f) * normal(d2);
                     })}});
  }
  return cases;
}

}  // namespace

nlohmann::json run_cases(int threads, int rounds, const std::string& only) {
  sn::Options options = sn::options();
  options.threads = threads;
  sn::configure(options);
  nlohmann::json results = nlohmann::json::array();
  std::vector<float> a(kLarge), b(kLarge, 1.f), c(kLarge, 2.f);
  for (Case& made : make_cases(threads, only)) {
    const auto count = static_cast<std::size_t>(made.bytes / 12);
    made.contenders.push_back({"triad", [&] { triad(a.data(), b.data(), c.data(), 3.f, count, threads); }});
    made.contenders.push_back({"triad, streaming stores", [&] { triad_streaming(a.data(), b.data(), c.data(), 3.f, count, threads); }});
    std::vector<std::vector<double>> times(made.contenders.size());
    for (int round = -1; round < rounds; ++round)  // the first warms up: compiles, touches memory
      for (std::size_t k = 0; k < made.contenders.size(); ++k) {
        const double time = seconds(made.contenders[k].run);
        if (round >= 0) times[k].push_back(time);
      }
    const std::vector<double>& reference = times[times.size() - 2];
    const std::vector<double>& streaming = times[times.size() - 1];
    const auto fraction = [](const std::vector<double>& of, const std::vector<double>& time) {
      std::vector<double> ratios;
      for (std::size_t round = 0; round < time.size(); ++round) ratios.push_back(of[round] / time[round]);
      return median(ratios);
    };
    for (std::size_t k = 0; k < times.size(); ++k) {
      const double middle = median(times[k]), best = minimum(times[k]);
      results.push_back({{"case", made.name},
                         {"by", made.contenders[k].name},
                         {"threads", threads},
                         {"bytes", made.bytes},
                         {"ms_median", middle * 1e3},
                         {"ms_min", best * 1e3},
                         {"gb_per_s", made.bytes / middle * 1e-9},
                         {"of_triad", fraction(reference, times[k])},
                         {"of_streaming_triad", fraction(streaming, times[k])},
                         {"of_triad_min", minimum(reference) / best}});
      const auto& r = results.back();
      fmt::print("{:30} {:24} {} thread{} {:8.2f} ms (min {:7.2f}) {:6.1f} GB/s  {:4.2f} of triad (minima {:4.2f}), {:4.2f} of streaming\n", made.name,
                 made.contenders[k].name, threads, threads == 1 ? " " : "s", middle * 1e3, best * 1e3, r["gb_per_s"].get<double>(), r["of_triad"].get<double>(),
                 r["of_triad_min"].get<double>(), r["of_streaming_triad"].get<double>());
    }
    std::fflush(stdout);
  }
  return results;
}

}  // namespace bench
