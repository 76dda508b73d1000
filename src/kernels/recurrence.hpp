// Recurrent layers (sinter/recurrent.hpp) on the host: each step is a product, and then the functions of the gates.
#pragma once
#include <span>

#include "fuse/library_call.hpp"

namespace sinter::kernels {

/// Computes a layer. pointers: the starts of the buffers of the operands (trace/library.hpp) and the result. The result's bits do not depend on `threads`.
void recur(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads);

}  // namespace sinter::kernels
