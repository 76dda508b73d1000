// One plane of a convolution whose filters read one channel each: no matrix product, one multiply-add for each tap. Compiled for
// several instruction sets beside matmul_block.hpp, and under the same rule: nothing shared here.
#pragma once
#include <cstdint>

#include "sinter/dtype.hpp"

namespace sinter::kernels {

/// Lines [0, places) of a plane. What it reads is laid out with its padding, and apart by the remainders of places by the strides (phases, each
/// of `length`): then neighbouring results read neighbouring elements at every tap, over the ends of lines too, and the result is one long line,
/// of which the places between one line's end and the next one's begin are nobody's.
struct DepthwisePlane {
  const void* x;       // the channel's first element
  const void* weight;  // the taps, one after the other
  void* result;        // contiguous
  std::int64_t size[3], places[3];
  std::int64_t x_stride[3];  // in elements
  std::int64_t stride[3], before[3];
  std::int64_t length[3], phases[3], taps;
  const std::int64_t* offsets;  // of each tap, in the phases
  void* padded;                 // room for the phases, zero where x is not, and kDepthwiseSlack bytes
  void* sums;                   // room for the long line, and kDepthwiseSlack bytes
};
constexpr std::int64_t kDepthwiseSlack = 64;

/// False when the type is none of those that matrices are multiplied in.
using DepthwisePlaneFn = bool (*)(DType dtype, const DepthwisePlane& plane);
bool depthwise_plane_baseline(DType dtype, const DepthwisePlane& plane);
bool depthwise_plane_avx2(DType dtype, const DepthwisePlane& plane);
bool depthwise_plane_avx512(DType dtype, const DepthwisePlane& plane);

}  // namespace sinter::kernels
