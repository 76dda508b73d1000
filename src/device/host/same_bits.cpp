#include "device/host/same_bits.hpp"

#include <algorithm>

namespace sinter::device {
namespace {

/// Ops whose result IEEE 754, or integer arithmetic, fixes to the last bit, NaN's sign and payload included: both executors leave
/// those alone. What is approximated by a polynomial is not here.
bool exact(trace::Op op) {
  using trace::Op;
  switch (op) {
    case Op::negative:
    case Op::absolute:
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::divide:
    case Op::sqrt:
    case Op::equal:
    case Op::not_equal:
    case Op::less:
    case Op::less_equal:
    case Op::bitwise_and:
    case Op::bitwise_or:
    case Op::bitwise_xor:
    case Op::bitwise_not:
    case Op::where:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool same_bits(const jit::LoopNest& nest) {
  if (nest.fast_math) return false;
  const bool reduces = std::any_of(nest.stages.begin(), nest.stages.end(), [](const jit::Stage& stage) { return !stage.reductions.empty(); });
  return !reduces && std::all_of(nest.instrs.begin(), nest.instrs.end(), [](const jit::Instr& instr) {
    return instr.kind != jit::Instr::Kind::op || exact(instr.op);
  });
}

}  // namespace sinter::device
