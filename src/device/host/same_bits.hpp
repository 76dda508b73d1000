// Where interpreter and machine code give the same bits, so that the one may stand in while the other is compiled.
#pragma once
#include "jit/loop_nest.hpp"

namespace sinter::device {

/// True for nests of exactly rounded operations on every element, where there is but one right result.
bool same_bits(const jit::LoopNest& nest);

}  // namespace sinter::device
