// Counts the kernels of formulas of real models and programs, planned for a CPU and for an H100. Nothing is compiled or run.
//   bench_fusion
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <string>

#include "../tests/support/formulas.hpp"
#include "../tests/support/host_data_stub.hpp"
#include "../tests/support/kernel_count.hpp"

int main() {
  fmt::print("| formula | CPU | sm_90 | split reason |\n|---|--:|--:|---|\n");
  for (const auto& formula : sinter::fusion::formulas()) {
    std::string counts;
    std::set<std::string> reasons;
    for (const auto& limits : {sinter::fuse::cpu_limits(), sinter::fuse::cuda_limits(90)}) {
      const auto plan = sinter::testing::plan_of(formula.record(), limits);
      counts += fmt::format(" {} |", plan.steps.size());
      for (std::size_t s = 0; s + 1 < plan.steps.size(); ++s) reasons.emplace(name(plan.steps[s].boundary().reason));
    }
    fmt::print("| {} |{} {} |\n", formula.name, counts, fmt::join(reasons, ", "));
  }
}
