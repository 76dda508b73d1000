// Convolutions on the host without any library: a matrix product of the weights with windows that are laid out side by side, a tile of
// places at a time (an implicit GEMM); filters of one channel each are multiplied tap by tap.
#pragma once
#include <span>
#include <string>

#include "fuse/library_call.hpp"
#include "kernels/pieces.hpp"

namespace sinter::kernels {

/// pointers: the buffers of x and of the weights from their start, then the result's. The result's bits do not depend on `threads`: tiles are
/// fixed by the shapes. Throws DTypeError for a type that matrices are not multiplied in.
void convolve(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads, const Finished& finished);

/// "windows side by side, oneDNN 2.6.3"
std::string who_convolves(const fuse::LibraryCall& call);

}  // namespace sinter::kernels
