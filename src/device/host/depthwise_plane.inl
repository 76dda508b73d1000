// The body of depthwise_plane_*, in the files matmul_{baseline,avx2,avx512}.cpp, which define SINTER_DEPTHWISE_PLANE.
#include "device/host/depthwise_plane.hpp"

namespace sinter::device {
namespace {

/// to[k] += weight * from[k * step]
template <class T> void add_scaled(T* __restrict__ to, const T* __restrict__ from, T weight, std::int64_t count, std::int64_t step) {
  if (step == 1)
    for (std::int64_t k = 0; k < count; ++k) to[k] += weight * from[k];
  else if (step == 2)
    for (std::int64_t k = 0; k < count; ++k) to[k] += weight * from[2 * k];
  else
    for (std::int64_t k = 0; k < count; ++k) to[k] += weight * from[k * step];
}

/// A row of the result at a time, taps in their order: the same sum wherever it is computed.
template <class T> bool plane_of(const DepthwisePlane& p) {
  const T* const x = static_cast<const T*>(p.x);
  T* row = static_cast<T*>(p.result);
  const std::int64_t width = p.places[2], step = p.stride[2];
  for (std::int64_t oz = 0; oz < p.places[0]; ++oz)
    for (std::int64_t oy = 0; oy < p.places[1]; ++oy, row += width) {
      for (std::int64_t k = 0; k < width; ++k) row[k] = T{0};
      const T* weight = static_cast<const T*>(p.weight);
      for (std::int64_t kz = 0; kz < p.taps[0]; ++kz)
        for (std::int64_t ky = 0; ky < p.taps[1]; ++ky) {
          const std::int64_t z = oz * p.stride[0] + kz * p.dilation[0] - p.before[0], y = oy * p.stride[1] + ky * p.dilation[1] - p.before[1];
          if (z < 0 || z >= p.size[0] || y < 0 || y >= p.size[1]) {
            weight += p.taps[2];
            continue;
          }
          const T* const line = x + z * p.x_stride[0] + y * p.x_stride[1];
          for (std::int64_t kx = 0; kx < p.taps[2]; ++kx, ++weight) {
            const std::int64_t first = kx * p.dilation[2] - p.before[2];  // what place 0 reads
            const std::int64_t begin = first < 0 ? (-first + step - 1) / step : 0;
            const std::int64_t last = p.size[2] - 1 - first;
            std::int64_t end = last < 0 ? 0 : last / step + 1;
            if (end > width) end = width;
            if (begin < end) add_scaled(row + begin, line + (first + begin * step) * p.x_stride[2], *weight, end - begin, step * p.x_stride[2]);
          }
        }
    }
  return true;
}

}  // namespace

bool SINTER_DEPTHWISE_PLANE(DType dtype, const DepthwisePlane& plane) {
  switch (dtype) {
    case DType::float32: return plane_of<float>(plane);
    case DType::float64: return plane_of<double>(plane);
    case DType::int32: return plane_of<std::int32_t>(plane);
    case DType::int64: return plane_of<std::int64_t>(plane);
    default: return false;
  }
}

}  // namespace sinter::device
