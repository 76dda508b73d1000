// Convolutions of channels in blocks (sinter/blocked.hpp) on the host, without any library.
#pragma once
#include <span>

#include "fuse/library_call.hpp"
#include "kernels/pieces.hpp"

namespace sinter::kernels {

/// pointers: the buffers of x, of the filters and of the bias from their start, then the result's. The result's bits do not depend on `threads`.
void convolve_blocked(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads, const Finished& finished);

}  // namespace sinter::kernels
