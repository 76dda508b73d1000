// The library calls that the host computes.
#pragma once
#include <span>
#include <string>

#include "fuse/library_call.hpp"
#include "kernels/pieces.hpp"

namespace sinter::kernels {

/// pointers: the operands' buffers from their start, then the result's. `finished` is told of each piece of the result (ops that come in pieces).
/// Throws MemoryError.
void run_library_call(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads, const Finished& finished);

/// Who computes it: "oneDNN 2.6.3".
std::string library_of(const fuse::LibraryCall& call);

}  // namespace sinter::kernels
