// Sorts and inverted indices on a GPU, in linear work: a stable sort by digits of eight bits. Each pass over a digit counts the items, scans the counts and
// moves the items. The items of all rows are sorted together, by the digits of their keys and then by those of the row's number.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "fuse/library_call.hpp"
#include "jit/source.hpp"
#include "runtime/cuda/gpu.hpp"
#include "runtime/executor.hpp"

namespace sinter::runtime::cuda {

/// Returns the sources of a call's kernels, which depend on its types and not on its sizes.
std::vector<jit::Source> sources_by_digits(const fuse::LibraryCall& call, int sm);
/// Describes the method for explain.
std::string who_sorts_by_digits(const fuse::LibraryCall& call);
/// Enqueues the call on the GPU's stream, with the kernels of these sources. pointers: the starts of the operands, then of the result. Returns the number of
/// launches.
std::size_t call_by_digits(Gpu& gpu, const fuse::LibraryCall& call, std::span<Kernel* const> kernels, std::span<void* const> pointers);

}  // namespace sinter::runtime::cuda
