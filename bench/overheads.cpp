// Measures the overhead of sinter itself, apart from the work: recording, repeating, compiling.
#include <fmt/format.h>

#include "bench.hpp"
#include "sinter/sinter.hpp"

namespace sn = sinter;

namespace bench {
namespace {

constexpr int kChain = 18;

/// Eighteen ops on x, as a user would write them.
sn::Tensor chain(const sn::Tensor& x) {
  sn::Tensor t = x;
  for (int k = 0; k < kChain / 3; ++k) t = (t * x + x) - t;
  return t;
}
/// Eighteen ops, half of them with a literal.
sn::Tensor chain_with_literals(const sn::Tensor& x) {
  sn::Tensor t = x;
  for (int k = 0; k < kChain / 2; ++k) t = (t * 0.5f) + x;
  return t;
}

std::vector<double> repeated(int rounds, int times, const std::function<void()>& work) {
  std::vector<double> each;
  for (int round = 0; round < rounds; ++round)
    each.push_back(seconds([&] {
                     for (int k = 0; k < times; ++k) work();
                   }) /
                   times);
  return each;
}

}  // namespace

nlohmann::json run_overheads() {
  const sn::Tensor x = {1.f, 2.f, 3.f, 4.f, 5.f, 6.f, 7.f, 8.f, 9.f, 10.f, 11.f, 12.f, 13.f, 14.f, 15.f, 16.f};
  nlohmann::json results;
  const auto report = [&](const char* what, std::vector<double> times, double unit) {
    results[what] = {{"median", median(times) * unit}, {"min", minimum(times) * unit}};
    fmt::print("{:52} {:9.2f} (min {:.2f})\n", what, median(times) * unit, minimum(times) * unit);
  };
  report("record an op, ns", repeated(50, 1000, [&] { chain(x); }), 1e9 / kChain);
  report("record an op, half with a literal, ns", repeated(50, 1000, [&] { chain_with_literals(x); }), 1e9 / kChain);
  const auto repeat = [&](auto recipe) {
    sn::eval(recipe(x));
    return repeated(50, 500, [&] { sn::eval(recipe(x)); });
  };
  report("record and run an 18-op kernel on 16 elements, us", repeat(chain), 1e6);
  report("the same, half with a literal, us", repeat(chain_with_literals), 1e6);
  report("record and run 1 op on 16 elements, us", repeat([](const sn::Tensor& t) { return t + t; }), 1e6);

  // Each of these is new to the process; the disk cache is off.
  sn::Options options = sn::options();
  const std::string size = options.cache_size;
  options.cache_size = "0";
  sn::configure(options);
  report("first compile, opening LLVM, ms", {seconds([&] { sn::eval(sn::exp(x) - x); })}, 1e3);
  std::vector<double> compiles;
  for (int ops = 1; ops <= 8; ++ops)
    compiles.push_back(seconds([&] {
      sn::Tensor t = sn::gelu(x);
      for (int k = 0; k < ops; ++k) t = t * x - 1.f;
      sn::eval(t);
    }));
  report("compile and run a new map of gelu and 2 to 16 ops, ms", compiles, 1e3);
  compiles.clear();
  const sn::Tensor rows = sn::reshape(sn::astype(sn::arange(256), sn::DType::float32) * 0.01f, {4, 64});
  sn::eval(rows);
  for (int ops = 1; ops <= 8; ++ops)
    compiles.push_back(seconds([&] {
      sn::Tensor t = rows;
      for (int k = 0; k < ops; ++k) t = t * rows - 1.f;
      sn::eval(sn::softmax(sn::gelu(t), -1));
    }));
  report("compile and run a new softmax(gelu(...)), ms", compiles, 1e3);
  options.cache_size = size;
  sn::configure(options);
  return results;
}

}  // namespace bench
