// The body of depthwise_plane_*, in the files matmul_{baseline,avx2,avx512}.cpp, which define SINTER_DEPTHWISE_PLANE.
#include <cstring>

#include "kernels/convolutions/depthwise_plane.hpp"
#include "kernels/lanes.inl"

namespace sinter::kernels {
namespace {

/// Computes to[k] = sum over taps of weights[tap] * x[k + offsets[tap]]. The taps are always added in their order.
template <class T> void sum_of_taps(const T* x, const T* weights, const std::int64_t* offsets, std::int64_t taps, std::int64_t count, T* to) {
  using Word = typename Lanes<T>::Word;
  using In = const typename Lanes<T>::Unaligned;
  constexpr std::int64_t kWord = Lanes<T>::kCount;
  std::int64_t k = 0;
  for (; k + 4 * kWord <= count; k += 4 * kWord) {
    Word sums[4] = {};
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const T* const from = x + k + offsets[tap];
      sums[0] += weights[tap] * *reinterpret_cast<In*>(from);
      sums[1] += weights[tap] * *reinterpret_cast<In*>(from + kWord);
      sums[2] += weights[tap] * *reinterpret_cast<In*>(from + 2 * kWord);
      sums[3] += weights[tap] * *reinterpret_cast<In*>(from + 3 * kWord);
    }
    std::memcpy(to + k, sums, sizeof(sums));
  }
  for (; k < count; k += kWord) {  // the last words extend beyond the end, where memory is reserved for them
    Word sum = {};
    for (std::int64_t tap = 0; tap < taps; ++tap) sum += weights[tap] * *reinterpret_cast<In*>(x + k + offsets[tap]);
    std::memcpy(to + k, &sum, sizeof(sum));
  }
}

/// Copies the elements 0, step, 2 step, ...
template <class T> void copy_strided(const T* from, std::int64_t step, std::int64_t count, T* to) {
  if (step == 1) std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
  else if (step == 2)
    for (std::int64_t k = 0; k < count; ++k) to[k] = from[2 * k];
  else
    for (std::int64_t k = 0; k < count; ++k) to[k] = from[k * step];
}

template <class T> bool plane_of(const DepthwisePlane& p) {
  const T* const x = static_cast<const T*>(p.x);
  T* to = static_cast<T*>(p.padded);
  for (std::int64_t pz = 0; pz < p.phases[0]; ++pz)
    for (std::int64_t py = 0; py < p.phases[1]; ++py)
      for (std::int64_t px = 0; px < p.phases[2]; ++px, to += p.length[0] * p.length[1] * p.length[2]) {
        const std::int64_t first = px - p.before[2], step = p.stride[2];  // the element that position 0 reads
        const std::int64_t begin = first < 0 ? (-first + step - 1) / step : 0;
        const std::int64_t there = first < p.size[2] ? (p.size[2] - 1 - first) / step + 1 : 0, end = there < p.length[2] ? there : p.length[2];
        if (begin >= end) continue;
        for (std::int64_t lz = 0; lz < p.length[0]; ++lz)
          for (std::int64_t ly = 0; ly < p.length[1]; ++ly) {
            const std::int64_t z = lz * p.stride[0] + pz - p.before[0], y = ly * p.stride[1] + py - p.before[1];
            if (z < 0 || z >= p.size[0] || y < 0 || y >= p.size[1]) continue;
            copy_strided(x + z * p.x_stride[0] + y * p.x_stride[1] + (first + begin * step) * p.x_stride[2], step * p.x_stride[2], end - begin,
                         to + (lz * p.length[1] + ly) * p.length[2] + begin);
          }
      }
  T* const sums = static_cast<T*>(p.sums);
  const std::int64_t count = ((p.places[0] - 1) * p.length[1] + p.places[1] - 1) * p.length[2] + p.places[2];
  sum_of_taps(static_cast<const T*>(p.padded), static_cast<const T*>(p.weight), p.offsets, p.taps, count, sums);
  T* line = static_cast<T*>(p.result);
  for (std::int64_t oz = 0; oz < p.places[0]; ++oz)
    for (std::int64_t oy = 0; oy < p.places[1]; ++oy, line += p.places[2])
      std::memcpy(line, sums + (oz * p.length[1] + oy) * p.length[2], static_cast<std::size_t>(p.places[2]) * sizeof(T));
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

}  // namespace sinter::kernels
