// Measures loops without eval: time, kernels, plans and compiles of each with and without it. 1.5 times the time is allowed. The time is the processor's, the
// least of several runs, so that other load does not count: SINTER_THREADS=1 SINTER_WAIT=on. "first ms" is the wall time of the first run without eval,
// before the loop is planned.
//   bench_loops [ELEMENTS [LOOP]]
#include "loops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <string>

#include "bench.hpp"

namespace {

template <class Run> double processor_seconds(Run run) {
  const std::clock_t start = std::clock();
  run();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t n = argc > 1 ? std::atoll(argv[1]) : 1000000;
  const std::string only = argc > 2 ? argv[2] : "";
  fmt::print("{:18} {:>6} {:>10} {:>10} {:>12} {:>7} {:>9} {:>9} {:>9}\n", "loop", "steps", "first ms", "eval ms", "without ms", "ratio", "kernels", "plans",
             "compiles");
  for (const auto& loop : sinter::loops::all(n)) {
    if (loop.name.find(only) == std::string::npos) continue;
    double with = 1e9, without = 1e9;
    const auto between = sinter::counters();
    const double first = bench::seconds([&] { loop.run(loop.steps, false); });
    const auto after = sinter::counters();
    for (int round = 0; round < 5; ++round) with = std::min(with, processor_seconds([&] { loop.run(loop.steps, true); }));
    for (int round = 0; round < 5; ++round) without = std::min(without, processor_seconds([&] { loop.run(loop.steps, false); }));
    fmt::print("{:18} {:6} {:10.2f} {:10.2f} {:12.2f} {:7.2f} {:9} {:9} {:9}\n", loop.name, loop.steps, first * 1e3, with * 1e3, without * 1e3, without / with,
               after.kernels_launched - between.kernels_launched, after.plans_made - between.plans_made,
               after.kernels_compiled + after.kernels_from_disk - between.kernels_compiled - between.kernels_from_disk);
  }
}
