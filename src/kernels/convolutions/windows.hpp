// The matrix of a convolution's windows in memory. It is compiled for several instruction sets, so, as in matmul_block.hpp, no function may be defined here.
#pragma once
#include <cstdint>

namespace sinter::kernels {

/// Rows [row_begin, row_end) of the matrix at positions [begin, end). A row is (channel, taps), a column is an output position. Elements outside of x are 0.
struct Windows {
  const void* x;  // the first channel's first element
  void* to;       // row after row
  std::int64_t row_begin, row_end, begin, end;
  std::int64_t size[3], taps[3], places[3];
  std::int64_t stride[3], dilation[3], before[3];
  std::int64_t x_channel, x_stride[3];  // in elements
};

/// Moves elements as words of 4 or 8 bytes.
using LayOutFn = void (*)(const Windows& windows, std::int64_t bytes);
void lay_out_baseline(const Windows& windows, std::int64_t bytes);
void lay_out_avx2(const Windows& windows, std::int64_t bytes);
void lay_out_avx512(const Windows& windows, std::int64_t bytes);

}  // namespace sinter::kernels
