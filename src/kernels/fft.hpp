// Fourier transforms along the last axis of operands in memory.
#pragma once
#include <span>

#include "fuse/library_call.hpp"

namespace sinter::kernels {

/// Op::fft, rfft, irfft_even, irfft_odd of float32 or float64; pointers: the operands' buffers from their start, then the result's.
void transform_rows(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads);

}  // namespace sinter::kernels
