// Recurrent layers (sinter/recurrent.hpp) on the host: a product for each step, and what the gates make of it.
#pragma once
#include <span>

#include "fuse/library_call.hpp"

namespace sinter::kernels {

/// pointers: the buffers of x, of the weights and of the start from their start, then the result's. The result's bits do not depend on `threads`.
void recur(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads);

}  // namespace sinter::kernels
