// Which values of a body only one side of a `where` needs. Where the places alone decide which side that is (the pieces of a concatenation, what is
// padded, a triangle), most vectors lie on one side, and what the other one needs is computed behind a branch.
#pragma once
#include <vector>

#include "jit/loop_nest.hpp"

namespace sinter::jit::llvm {

struct OneSided {
  /// Operand `operand` (1 or 2) of the instruction `where`, and what it alone needs.
  struct Side {
    int where = -1, operand = 0;
  };
  std::vector<Side> sides;  // number 0: the body itself
  std::vector<int> of;      // by instruction: the innermost side that alone needs it

  /// The side's number; -1 where it is computed with everything else.
  int find(int where, int operand) const;
};

/// Sides whose computation is worth a branch.
OneSided one_sided(const LoopNest& nest, const Stage& stage);

}  // namespace sinter::jit::llvm
