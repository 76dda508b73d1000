// One plane of a convolution whose filters read one channel each: one multiply-add for each tap instead of a matrix product. This file is compiled for several
// instruction sets, so, as in matmul_block.hpp, no function may be defined here.
#pragma once
#include <cstdint>

#include "sinter/dtype.hpp"

namespace sinter::kernels {

/// Lines [0, places) of a plane. The elements that they read are copied with their padding, and divided by position modulo stride into phases, each of
/// `length`. Neighbouring results then read neighbouring elements at every tap, even across the ends of lines. The sums form one long line, in which positions
/// between the end of one line and the start of the next are not used.
struct DepthwisePlane {
  const void* x;       // the channel's first element
  const void* weight;  // the weights of the taps in order
  void* result;        // contiguous
  std::int64_t size[3], places[3];
  std::int64_t x_stride[3];  // in elements
  std::int64_t stride[3], before[3];
  std::int64_t length[3], phases[3], taps;
  const std::int64_t* offsets;  // offset of each tap within the phases
  void* padded;                 // memory for the phases, zero outside of x, and kDepthwiseSlack bytes
  void* sums;                   // memory for the long line, and kDepthwiseSlack bytes
};
constexpr std::int64_t kDepthwiseSlack = 64;

/// Returns false for a type that matrix products do not support.
using DepthwisePlaneFn = bool (*)(DType dtype, const DepthwisePlane& plane);
bool depthwise_plane_baseline(DType dtype, const DepthwisePlane& plane);
bool depthwise_plane_avx2(DType dtype, const DepthwisePlane& plane);
bool depthwise_plane_avx512(DType dtype, const DepthwisePlane& plane);

}  // namespace sinter::kernels
