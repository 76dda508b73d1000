// bench_cpu [--threads N,N,...] [--rounds N] [--only TEXT]
// Measures the bandwidth of fused kernels against a triad of the same run.
#include <fmt/format.h>

#include <sstream>
#include <string>
#include <thread>

#include "bench.hpp"

int main(int argc, char** argv) {
  std::string only;
  std::vector<int> threads = {1};
  if (const unsigned cores = std::thread::hardware_concurrency(); cores > 1) threads.push_back(static_cast<int>(cores));
  int rounds = 9;
  for (int k = 1; k < argc; ++k) {
    const std::string option = argv[k];
    const bool has_value = k + 1 < argc;
    if (option == "--only" && has_value) {
      only = argv[++k];
    } else if (option == "--rounds" && has_value) {
      rounds = std::max(1, std::atoi(argv[++k]));
    } else if (option == "--threads" && has_value) {
      threads.clear();
      std::istringstream list(argv[++k]);
      for (std::string one; std::getline(list, one, ',');) threads.push_back(std::max(1, std::atoi(one.c_str())));
    } else {
      fmt::print(stderr, "usage: bench_cpu [--threads N,N,...] [--rounds N] [--only TEXT]\n");
      return 2;
    }
  }
  try {
    for (const int count : threads) bench::run_cases(count, rounds, only);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_cpu: {}\n", error.what());
    return 1;
  }
}
