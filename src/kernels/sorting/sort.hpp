// Sorting the rows of an operand in memory.
#pragma once
#include "fuse/library_call.hpp"

namespace sinter::kernels {

/// Ascending along the last axis, NaN last; equal elements keep their order. The result is contiguous. `buffer` is the operand's from
/// its start.
void sort_rows(const fuse::LibraryOperand& operand, const void* buffer, void* result, int threads);
/// Where the elements lay, as int64.
void argsort_rows(const fuse::LibraryOperand& operand, const void* buffer, void* result, int threads);
/// Where the first of them lay, the least or (attribute 1) the greatest first, NaN the greatest; equal elements keep their order either way.
void argtopk_rows(const fuse::LibraryCall& call, const void* buffer, void* result, int threads);

}  // namespace sinter::kernels
