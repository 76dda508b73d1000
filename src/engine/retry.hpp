// What sinter itself gets wrong in fusing must not stop a program: without fusion there is less to get wrong. Nor must what a library cannot do,
// though it said that it multiplies: what it lacks is generated.
#pragma once
#include "engine/kernels.hpp"
#include "runtime/executor.hpp"
#include "sinter/errors.hpp"

namespace sinter::engine {

/// Tells the user, once for each reason, that a plan failed inside and is tried without fusion.
void warn_of_failed_plan(const InternalError& error);
/// What is left of a library's limits after it had no algorithm: products without additions, then none. The user is told, of the
/// first call of each kind by a warning. Throws the error where nothing is left to do without.
fuse::Limits without_what_lacks(const fuse::Limits& limits, const runtime::NoAlgorithm& lacking);

/// work(target); after an InternalError once more for the same target without fusion, after NoAlgorithm without what the library lacks.
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
