#pragma once
#include "device/host/blocked_problem.hpp"
#include "device/host/pieces.hpp"

namespace sinter::device {

/// A 3x3 convolution by tiles of 2x2 places (device/host/winograd.hpp). `weight` is transformed: positions, blocks of filters, blocks of channels, 16, 16.
void convolve_winograd(const BlockedProblem& p, const float* x, const float* weight, const float* bias, float* result, int threads, const Finished& finished);

}  // namespace sinter::device
