// The decompositions of linear algebra, for the matrices of a batch in memory.
#pragma once
#include <span>

#include "fuse/library_call.hpp"

namespace sinter::kernels {

/// Decomposes float32 or float64. pointers: the starts of the operands' buffers, then of the result's. Throws Refused for the first matrix without a result.
void decompose(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads);

}  // namespace sinter::kernels
