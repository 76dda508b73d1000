// The library columns of the table of primitives: what recording and scheduling ask of a row that a device's library computes.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "trace/graph.hpp"

namespace sinter::trace {

/// The result's shape for operands of these shapes, which recording has checked and broadcast.
Shape library_shape(Op op, std::span<const Shape> operands);
/// The result's dtype, where the first operand is of this one.
DType library_dtype(Op op, DType first);

}  // namespace sinter::trace
