// Arithmetic on types that are only stored: a loop nest as lowered may compute on bfloat16 or float8; afterwards those occur in
// memory alone, and every op on them is done in float32 and rounded.
#pragma once
#include "jit/loop_nest.hpp"

namespace sinter::jit {

/// Puts casts around the ops on storage types, so that all that executors must know of such a type is how to load, store, keep and
/// convert it: from float32 and float64, and to float32. Each op's result is rounded at once, as if it had been stored: a kernel's
/// values do not depend on what was fused.
void compute_in_wider_types(LoopNest& nest);

}  // namespace sinter::jit
