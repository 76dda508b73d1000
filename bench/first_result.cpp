// Measures the time to the first result of a new formula: ten ops on a million float32 values, in a fresh process with an empty cache, beside the interpreter
// alone. Before the clock starts, two inputs and one small result are computed, as in any program.
//   bench_first_result [ROUNDS]
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <sinter/sinter.hpp>
#include <string>
#include <vector>

#include "bench.hpp"

namespace sn = sinter;
using sn::Tensor;

namespace {

constexpr int kOps = 10;
constexpr std::int64_t kElements = 1000000;

/// Returns ten ops of a kind and order that no other seed has (except 1 in 6e9).
Tensor formula(const Tensor& x, const Tensor& y, unsigned seed) {
  std::mt19937 rng(seed);
  Tensor value = x;
  for (int k = 0; k < kOps; ++k) switch (rng() % 10) {
      case 0: value = value + y; break;
      case 1: value = value * y; break;
      case 2: value = sn::tanh(value); break;
      case 3: value = sn::sin(value); break;
      case 4: value = sn::exp(value); break;
      case 5: value = sn::sqrt(value); break;
      case 6: value = sn::maximum(value, y); break;
      case 7: value = value - y; break;
      case 8: value = sn::abs(value); break;
      default: value = sn::erf(value); break;
    }
  return value;
}

// Runs in one process: prints the milliseconds from recording to the result, then those of the next evaluation after compilation.
int measure(unsigned seed) {
  const Tensor x = sn::astype(sn::arange(kElements), sn::DType::float32) / static_cast<float>(kElements), y = x + 0.5f;
  sn::eval(x, y);
  const double first = bench::seconds([&] { sn::eval(formula(x, y, seed)); });
  sn::synchronize();
  std::vector<double> later;
  for (int k = 0; k < 5; ++k) later.push_back(bench::seconds([&] { sn::eval(formula(x, y, seed)); }));
  fmt::print("{} {}\n", first * 1e3, bench::median(later) * 1e3);
  return 0;
}

struct Times {
  double first, later;
};
Times in_fresh_process(const std::string& self, const std::string& settings, unsigned seed) {
  std::string folder = (std::filesystem::temp_directory_path() / "sinter-first-XXXXXX").string();
  if (!mkdtemp(folder.data())) throw std::runtime_error("mkdtemp");
  const std::string command = fmt::format("env SINTER_CACHE_DIR={} SINTER_LOG=off {} {} --measure {}", folder, settings, self, seed);
  FILE* pipe = popen(command.c_str(), "r");
  Times times{};
  const int read = std::fscanf(pipe, "%lf %lf", &times.first, &times.later);
  pclose(pipe);
  std::filesystem::remove_all(folder);
  if (read != 2) throw std::runtime_error("failed: " + command);
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 && std::string(argv[1]) == "--measure") return measure(static_cast<unsigned>(std::stoul(argv[2])));
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
  const std::vector<std::pair<std::string, std::string>> ways = {{"interpreter alone", "SINTER_BACKEND=interpreter"},
                                                                 {"LLVM, not waited for", "SINTER_WAIT=off"},
                                                                 {"LLVM is missing", "SINTER_WAIT=off SINTER_LLVM=/nonexistent"},
                                                                 {"LLVM, waited for", "SINTER_WAIT=on"}};
  std::map<std::string, std::vector<double>> first, later, ratios;
  std::random_device seeds;
  for (int round = 0; round < rounds; ++round) {
    const unsigned seed = seeds();
    double alone = 0;
    for (const auto& [name, settings] : ways) {
      const Times times = in_fresh_process(argv[0], settings, seed);
      if (alone == 0) alone = times.first;
      first[name].push_back(times.first);
      later[name].push_back(times.later);
      ratios[name].push_back(times.first / alone);
    }
  }
  fmt::print("| {} ops on {} float32, {} formulas | first result, ms | of the interpreter's (median of ratios) | later results, ms |\n|---|--:|--:|--:|\n",
             kOps, kElements, rounds);
  for (const auto& [name, settings] : ways)
    fmt::print("| {} | {:.2f} | {:.2f} | {:.2f} |\n", name, bench::median(first[name]), bench::median(ratios[name]), bench::median(later[name]));
}
