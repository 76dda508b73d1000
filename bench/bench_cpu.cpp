// bench_cpu [--json FILE] [--threads N,N,...] [--rounds N] [--only TEXT] [--no-overheads]
// Measures the bandwidth of fused kernels against a triad of the same run, and sinter's own overheads.
#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "bench.hpp"
#include "sinter/sinter.hpp"

int main(int argc, char** argv) {
  std::string json_file, only;
  std::vector<int> threads = {1};
  if (const unsigned cores = std::thread::hardware_concurrency(); cores > 1) threads.push_back(static_cast<int>(cores));
  int rounds = 9;
  bool overheads = true;
  for (int k = 1; k < argc; ++k) {
    const std::string option = argv[k];
    const bool has_value = k + 1 < argc;
    if (option == "--no-overheads") {
      overheads = false;
    } else if (option == "--json" && has_value) {
      json_file = argv[++k];
    } else if (option == "--only" && has_value) {
      only = argv[++k];
    } else if (option == "--rounds" && has_value) {
      rounds = std::max(1, std::atoi(argv[++k]));
    } else if (option == "--threads" && has_value) {
      threads.clear();
      std::istringstream list(argv[++k]);
      for (std::string one; std::getline(list, one, ',');) threads.push_back(std::max(1, std::atoi(one.c_str())));
    } else {
      fmt::print(stderr, "usage: bench_cpu [--json FILE] [--threads N,N,...] [--rounds N] [--only TEXT] [--no-overheads]\n");
      return 2;
    }
  }
  try {
    nlohmann::json results = {{"version", sinter::version()}, {"rounds", rounds}, {"cases", nlohmann::json::array()}};
    for (const int count : threads)
      for (auto& result : bench::run_cases(count, rounds, only)) results["cases"].push_back(std::move(result));
    if (overheads) results["overheads"] = bench::run_overheads();
    if (!json_file.empty()) std::ofstream(json_file) << results.dump(1) << '\n';
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_cpu: {}\n", error.what());
    return 1;
  }
}
