// What sinter itself gets wrong in fusing must not stop a program: without fusion there is less to get wrong.
#pragma once
#include "engine/kernels.hpp"
#include "sinter/errors.hpp"

namespace sinter::engine {

/// Tells the user, once for each reason, that a plan failed inside and is tried without fusion.
void warn_of_failed_plan(const InternalError& error);

/// work(target), and after an InternalError once more for the same target without fusion.
template <class Work> auto without_fusion_if_it_fails(const Target& target, Work work) {
  try {
    return work(target);
  } catch (const InternalError& error) {
    if (!target.limits.fuse) throw;
    warn_of_failed_plan(error);
  }
  Target unfused = target;
  unfused.limits.fuse = false;
  return work(unfused);
}

}  // namespace sinter::engine
