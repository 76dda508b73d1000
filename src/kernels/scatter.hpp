// Rows put, or added, at places that were computed.
#pragma once
#include <span>

#include "fuse/library_call.hpp"

namespace sinter::kernels {

/// Row index[i] of the first operand replaced by row i of the third, or increased by it, one after the other: of several at one place the
/// last counts, and sums are added up in this order on any number of threads. An index out of range is passed over. pointers: the
/// operands' buffers and the result's.
void scatter_rows(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads);

}  // namespace sinter::kernels
