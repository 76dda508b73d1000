// Fourier transforms along the last axis of operands in memory.
#pragma once
#include <span>

#include "fuse/library_call.hpp"

namespace sinter::kernels {

/// Computes Op::fft, rfft, irfft_even and irfft_odd of float32 or float64. pointers: the starts of the operands' buffers, then of the result's.
void transform_rows(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads);

}  // namespace sinter::kernels
