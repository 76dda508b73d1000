#pragma once
#include "kernels/convolutions/blocked_problem.hpp"
#include "kernels/epilogue.hpp"

namespace sinter::kernels {

/// Computes a 3x3 convolution by tiles of 2x2 outputs (kernels/convolutions/winograd.hpp). `weight` is transformed: positions, blocks of filters, blocks of
/// channels, 16, 16.
void convolve_winograd(const BlockedProblem& p, const float* x, const float* weight, const float* bias, float* result, int threads, const Epilogue& epilogue);

}  // namespace sinter::kernels
