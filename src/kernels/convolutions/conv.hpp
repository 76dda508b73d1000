// Convolutions on the host without a library: a matrix product of the weights with windows that are laid out side by side, one tile of positions at a time (an
// implicit GEMM). Filters that read a single channel are multiplied tap by tap.
#pragma once
#include <span>
#include <string>

#include "fuse/library_call.hpp"
#include "kernels/epilogue.hpp"

namespace sinter::kernels {

/// Computes a convolution. pointers: the starts of the buffers of x, of the weights and of the result. The result's bits do not depend on `threads`, because
/// the tiles depend only on shapes. Throws DTypeError for a type that matrix products do not support.
void convolve(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads, const Epilogue& epilogue);

/// Describes the method: "implicit GEMM, oneDNN 2.6.3".
std::string who_convolves(const fuse::LibraryCall& call);

}  // namespace sinter::kernels
