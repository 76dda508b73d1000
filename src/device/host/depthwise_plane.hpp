// One plane of a convolution whose filters read one channel each: no matrix product, one multiply-add for each tap. Compiled for
// several instruction sets beside matmul_block.hpp, and under the same rule: nothing shared here.
#pragma once
#include <cstdint>

#include "sinter/dtype.hpp"

namespace sinter::device {

struct DepthwisePlane {
  const void* x;        // the channel's first element
  const void* weight;   // the taps, one after the other
  void* result;         // contiguous
  std::int64_t size[3], taps[3], places[3];
  std::int64_t x_stride[3];  // in elements
  std::int64_t stride[3], dilation[3], before[3];
};

/// False when the type is none of those that matrices are multiplied in.
using DepthwisePlaneFn = bool (*)(DType dtype, const DepthwisePlane& plane);
bool depthwise_plane_baseline(DType dtype, const DepthwisePlane& plane);
bool depthwise_plane_avx2(DType dtype, const DepthwisePlane& plane);
bool depthwise_plane_avx512(DType dtype, const DepthwisePlane& plane);

}  // namespace sinter::device
