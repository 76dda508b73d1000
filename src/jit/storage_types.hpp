// Arithmetic on storage types. A lowered loop nest may compute on bfloat16 or float8. After this pass those types occur only in memory: every op on them is
// computed in float32 and rounded.
#pragma once
#include "jit/loop_nest.hpp"

namespace sinter::jit {

/// Puts casts around the ops on storage types. Executors then only load, store, cache and convert such a type: from float32 and float64, and to float32. Each
/// op's result is rounded immediately, as if it had been stored, so that a kernel's values do not depend on fusion.
void compute_in_wider_types(LoopNest& nest);

}  // namespace sinter::jit
