// The decompositions of linear algebra, matrix by matrix over a batch in memory.
#pragma once
#include <span>

#include "fuse/library_call.hpp"

namespace sinter::kernels {

/// Of float32 or float64. pointers: the operands' buffers from their start, then the result's. Throws Refused, of the first matrix that has no result.
void decompose(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads);

}  // namespace sinter::kernels
