// Replacing rows at computed indices, or adding to them.
#pragma once
#include <span>

#include "fuse/library_call.hpp"

namespace sinter::kernels {

/// Replaces row index[i] of the first operand by row i of the third, or adds that row to it, in the order of i: the last row for an index counts, and sums are
/// added in this order on any number of threads. Indices out of range are ignored. pointers: the buffers of the operands and of the result.
void scatter_rows(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads);

/// Writes the inverted index: where each row's positions begin, and the positions of the index ordered by row (trace/graph.hpp).
void invert_index(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads);

}  // namespace sinter::kernels
