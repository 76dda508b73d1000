// Convolutions of channels in blocks (ops/blocked.hpp) on the host, without a library.
#pragma once
#include <span>

#include "fuse/library_call.hpp"
#include "kernels/epilogue.hpp"

namespace sinter::kernels {

/// Computes a convolution. pointers: the starts of the buffers of x, the filters, the bias and the result. The result's bits do not depend on `threads`.
void convolve_blocked(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads, const Epilogue& epilogue);

}  // namespace sinter::kernels
