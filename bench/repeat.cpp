// Measures a repeated formula of ten ops on a thousand float32 elements, from the first op to the result, and the recording of one op, on one thread. The
// kernels are compiled and every plan is made before the clock starts. bench/repeat.py compares with NumPy and JAX.
//   bench_repeat [--json FILE]
#include <sinter/sinter.hpp>

#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench.hpp"

namespace sn = sinter;
using sn::Tensor;

namespace {

constexpr int kOps = 10, kElements = 1000, kRounds = 200, kTimes = 500;

Tensor formula(const Tensor& x, const Tensor& y, const Tensor& z) { return sn::maximum(((x * y + z) * x - y) * z + x, y) * y - z + x; }
Tensor with_literals(const Tensor& x, const Tensor& y, const Tensor& z) { return (sn::maximum((x * 2.f + y) * 0.5f - z, 0.f) * x + 1.f) * y - 0.25f + z; }
/// The formula as written with a name for every step.
Tensor with_names(const Tensor& x, const Tensor& y, const Tensor& z) {
  const Tensor a = x * y, b = a + z, c = b * x, d = c - y, e = d * z, f = e + x, g = sn::maximum(f, y), h = g * y, i = h - z;
  return i + x;
}

Tensor data(float factor) { return sn::sin(sn::astype(sn::arange(kElements), sn::DType::float32) * factor); }

}  // namespace

int main(int argc, char** argv) {
  sn::Options options = sn::options();
  options.threads = 1;
  options.wait = true;
  sn::configure(options);
  const Tensor x = data(0.01f), y = data(0.02f), z = data(0.03f);
  sn::eval(x, y, z);
  nlohmann::json results;
  const auto timed = [&](const std::string& what, double unit, const std::function<void()>& work) {
    std::vector<double> rounds;
    for (int round = 0; round < kRounds; ++round)
      rounds.push_back(bench::seconds([&] {
                         for (int k = 0; k < kTimes; ++k) work();
                       }) /
                       kTimes * unit);
    results[what] = {{"median", bench::median(rounds)}, {"min", bench::minimum(rounds)}};
    fmt::print("{:44} {:9.3f} (min {:.3f})\n", what, bench::median(rounds), bench::minimum(rounds));
  };
  float seen = 0;  // sums one element of each result, so that no computation is optimised away
  struct Case {
    const char* name;
    Tensor (*recipe)(const Tensor&, const Tensor&, const Tensor&);
  };
  for (const auto& [name, recipe] : {Case{"ten ops", formula}, {"ten ops, five with a literal", with_literals}, {"ten ops, each with a name", with_names}}) {
    timed(fmt::format("{}: record, ns an op", name), 1e9 / kOps, [&, recipe = recipe] { recipe(x, y, z); });
    timed(fmt::format("{}: result, us", name), 1e6, [&, recipe = recipe] {
      const Tensor result = recipe(x, y, z);
      seen += result.data<float>()[kElements - 1];
    });
  }
  timed("one op: result, us", 1e6, [&] {
    const Tensor result = x + y;
    seen += result.data<float>()[kElements - 1];
  });
  fmt::print("(checksum of the results: {})\n", seen);
  if (argc == 3 && std::strcmp(argv[1], "--json") == 0) std::ofstream(argv[2]) << results.dump(2) << '\n';
}
