// The library calls that the host computes.
#pragma once
#include <span>

#include "fuse/library_call.hpp"

namespace sinter::device {

/// pointers: the operands' buffers from their start, then the result's.
void run_library_call(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads);

}  // namespace sinter::device
