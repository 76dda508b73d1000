// Finds values of a body that only one side of a `where` needs. If positions alone decide the side (the parts of a concatenation, padding, a triangle), most
// vectors are entirely on one side, so a branch skips the values of the other side.
#pragma once
#include <vector>

#include "jit/loop_nest.hpp"

namespace sinter::jit::forms::cpu {

struct OneSided {
  /// Operand `operand` (1 or 2) of the instruction `where`, with the values that it alone needs.
  struct Side {
    int where = -1, operand = 0;
  };
  std::vector<Side> sides;  // number 0 is the body itself
  std::vector<int> of;      // by instruction: the innermost side that alone needs it

  /// Returns the side's number, or -1 if the operand is computed unconditionally.
  int find(int where, int operand) const;
};

/// Returns the sides for which a branch pays.
OneSided one_sided(const LoopNest& nest, const Stage& stage);

}  // namespace sinter::jit::forms::cpu
