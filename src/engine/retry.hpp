// Retries after failures. If planning with fusion fails inside sinter, the program continues without fusion, where fewer faults are possible. If a library
// turns out to have no algorithm for a product, kernels for the product are generated.
#pragma once
#include "engine/kernels.hpp"
#include "runtime/executor.hpp"
#include "sinter/errors.hpp"

namespace sinter::engine {

/// Warns once for each reason that planning failed inside sinter and is tried without fusion.
void warn_of_failed_plan(const InternalError& error);
/// Returns limits without the feature for which a library had no algorithm: first without additions, then without products. Warns the user at the first call of
/// each kind. Throws the error if no feature is left to remove.
fuse::Limits without_what_lacks(const fuse::Limits& limits, const runtime::NoAlgorithm& lacking);

/// Calls work(target). After an InternalError it calls work once more without fusion, and after NoAlgorithm without the feature that the library lacks.
template <class Work> auto with_less_if_it_fails(const Target& target, Work work) {
  Target less;
  for (const Target* at = &target;;) {
    fuse::Limits limits = at->limits;
    try {
      return work(*at);
    } catch (const runtime::NoAlgorithm& lacking) {
      limits = without_what_lacks(limits, lacking);
    } catch (const InternalError& error) {
      if (!limits.fuse) throw;
      warn_of_failed_plan(error);
      limits.fuse = limits.channel_blocks = limits.block_bytes = limits.lay_out_bytes = false;
    }
    if (at == &target) less = target;
    less.limits = limits;
    at = &less;
  }
}

}  // namespace sinter::engine
