// Sorting of the rows of an operand in memory.
#pragma once
#include <span>

#include "fuse/library_call.hpp"

namespace sinter::kernels {

/// Sorts ascending along the last axis, NaN last. Equal elements keep their order. pointers: the starts of the operand's buffer and of the result's.
void sort_rows(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads);
/// Writes the original positions of the sorted elements, as int64. With attributes it is topk: it writes the positions of only the first elements, the least
/// or, if the second attribute is 1, the greatest (NaN is the greatest). Equal elements keep their order in both cases.
void argsort_rows(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads);

}  // namespace sinter::kernels
