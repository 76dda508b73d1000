// Sorting the rows of an operand in memory.
#pragma once
#include <span>

#include "fuse/library_call.hpp"

namespace sinter::kernels {

/// Ascending along the last axis, NaN last; equal elements keep their order. pointers: the operand's buffer from its start, then the result's.
void sort_rows(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads);
/// Where the elements lay, as int64. With attributes, where so many first ones lay, the least or (second attribute 1) the greatest first, NaN the greatest;
/// equal elements keep their order either way.
void argsort_rows(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads);

}  // namespace sinter::kernels
