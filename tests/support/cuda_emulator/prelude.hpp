// Is included before a generated kernel, so that a host compiler accepts it: the language extensions and built-in functions of CUDA C++ that sinter's kernels
// use. No standard header is included, because that would take longer to compile than the kernel. Code that is the same for all kernels is compiled once
// (checks.cpp).
#pragma once
#include "hooks.hpp"

extern "C" {
__attribute__((visibility("default"))) cuda_emulator::Hooks* cuda_emulator_hooks = nullptr;

double fabs(double), floor(double), ceil(double), rint(double), trunc(double), sqrt(double), exp(double), exp2(double), expm1(double), log(double),
    log2(double), log10(double), log1p(double), sin(double), cos(double), tan(double), asin(double), acos(double), atan(double), sinh(double), cosh(double),
    tanh(double), asinh(double), acosh(double), atanh(double), cbrt(double), erf(double), erfc(double), lgamma(double), pow(double, double),
    atan2(double, double), hypot(double, double), fmod(double, double), fmin(double, double), fmax(double, double), copysign(double, double),
    nextafter(double, double), ldexp(double, int), fma(double, double, double);
float fabsf(float), floorf(float), ceilf(float), rintf(float), truncf(float), sqrtf(float), expf(float), exp2f(float), expm1f(float), logf(float), log2f(float),
    log10f(float), log1pf(float), sinf(float), cosf(float), tanf(float), asinf(float), acosf(float), atanf(float), sinhf(float), coshf(float), tanhf(float),
    asinhf(float), acoshf(float), atanhf(float), cbrtf(float), erff(float), erfcf(float), powf(float, float), atan2f(float, float), hypotf(float, float),
    fmodf(float, float), fminf(float, float), fmaxf(float, float), copysignf(float, float), nextafterf(float, float), ldexpf(float, int),
    fmaf(float, float, float);
}

// Corrects the rounding of the argument of erfc, which matters for large arguments.
inline double normcdf(double x) {
  const double root = 0x1.6a09e667f3bcdp-1, z = -x * root, rest = __builtin_fma(-x, root, -z) + x * 0x1.bdd3413b26456p-55;
  return (erfc(z) - (fabs(z) < 40 ? 1.12837916709551257 * exp(-z * z) * rest : 0)) / 2;
}
inline double erfinv(double x) {
  const double a = fabs(x);
  if (!(a < 1)) return a == 1 ? x * __builtin_inf() : __builtin_nan("");
  const double w = -log((1 - a) * (1 + a));
  double y = w < 5 ? a * 0.886 : sqrt(w) * 0.9;
  for (int k = 0; k < 40 && y > 0; ++k) {  // Halley's step, in a short form
    const double step = (a < 0.5 ? a - erf(y) : erfc(y) - (1 - a)) * 0.88622692545275801 * exp(y * y), short_step = step > 0.5    ? 0.5
                                                                                                                    : step < -0.5 ? -0.5
                                                                                                                                  : step;
    y += short_step / (1 - y * short_step);
  }
  return copysign(y, x);
}
inline float erfinvf(float x) { return (float)erfinv((double)x); }
inline float normcdff(float x) { return (float)normcdf((double)x); }

// A GPU is within 2 ULP. This function is inexact on purpose.
inline float rsqrtf(float x) { return (float)(1 / sqrt((double)x) * (1 - 0x1p-24)); }
inline double rsqrt(double x) { return 1 / sqrt(x); }

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
// The threads of a block are fibers of one host thread, so thread-local variables are shared by the block. Unlike `static`, thread_local may follow `extern`.
#define __shared__ thread_local

#define threadIdx (cuda_emulator_hooks->thread)
#define blockIdx (cuda_emulator_hooks->block)
#define blockDim (cuda_emulator_hooks->block_size)
#define gridDim (cuda_emulator_hooks->grid_size)

inline void __syncthreads(unsigned line = __builtin_LINE()) { cuda_emulator_hooks->barrier(line); }
inline void __syncwarp(unsigned mask = 0xffffffffu) { cuda_emulator_hooks->warp_barrier(mask); }

namespace cuda_emulator {
inline unsigned thread_in_block() {
  const Hooks& h = *cuda_emulator_hooks;
  return h.thread.x + h.block_size.x * (h.thread.y + h.block_size.y * h.thread.z);
}
template <class T> T shuffle(unsigned mask, T value, int source_lane) {
  static_assert(sizeof(T) <= 8);
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  bits = cuda_emulator_hooks->shuffle(mask, bits, source_lane);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

// PTX's conversions, which use the host compiler's conversions.
inline float cvt_f32_f16(unsigned short bits) {
  _Float16 value;
  __builtin_memcpy(&value, &bits, 2);
  return value;
}
inline unsigned short cvt_rn_f16_f32(float x) {
  const _Float16 value = static_cast<_Float16>(x);
  unsigned short bits;
  __builtin_memcpy(&bits, &value, 2);
  return bits;
}
inline unsigned short cvt_rn_bf16_f32(float x) {
  unsigned bits;
  __builtin_memcpy(&bits, &x, 4);
  return x != x ? 0x7fff : static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
// The first operand becomes the upper half.
inline unsigned cvt_rn_f16x2_f32(float high, float low) { return static_cast<unsigned>(cvt_rn_f16_f32(high)) << 16 | cvt_rn_f16_f32(low); }
inline unsigned cvt_rn_bf16x2_f32(float high, float low) { return static_cast<unsigned>(cvt_rn_bf16_f32(high)) << 16 | cvt_rn_bf16_f32(low); }
// All NaNs become one NaN, and -0 is less than +0.
inline float max_NaN_f32(float a, float b) {
  if (a != a || b != b) return __builtin_nanf("0x3fffff");
  return a == b ? (__builtin_signbit(a) ? b : a) : a > b ? a : b;
}
inline float min_NaN_f32(float a, float b) {
  if (a != a || b != b) return __builtin_nanf("0x3fffff");
  return a == b ? (__builtin_signbit(a) ? a : b) : a < b ? a : b;
}
inline void barrier_cluster_arrive_release_aligned() { cuda_emulator_hooks->cluster_arrive(); }
inline void barrier_cluster_wait_acquire_aligned() { cuda_emulator_hooks->cluster_wait(); }
inline unsigned long long mapa_u64(const void* own, unsigned rank) { return reinterpret_cast<unsigned long long>(cuda_emulator_hooks->of_block(own, rank)); }
// A GPU is within 1 ULP. This function has such an error on purpose, so that no code relies on a smaller one.
inline float rcp_approx_ftz_f32(float x) { return 1 / x * (1 - 0x1p-24f); }
}  // namespace cuda_emulator

template <class T> T __shfl_sync(unsigned mask, T value, int lane) { return cuda_emulator::shuffle(mask, value, lane & 31); }
template <class T> T __shfl_xor_sync(unsigned mask, T value, int lanes) {
  return cuda_emulator::shuffle(mask, value, static_cast<int>(cuda_emulator::thread_in_block() & 31) ^ lanes);
}
template <class T> T __shfl_up_sync(unsigned mask, T value, unsigned distance) {
  const unsigned lane = cuda_emulator::thread_in_block() & 31;
  return cuda_emulator::shuffle(mask, value, static_cast<int>(lane >= distance ? lane - distance : lane));
}
template <class T> T __shfl_down_sync(unsigned mask, T value, unsigned distance) {
  const unsigned lane = cuda_emulator::thread_in_block() & 31;
  return cuda_emulator::shuffle(mask, value, static_cast<int>(lane + distance < 32 ? lane + distance : lane));
}

inline void __threadfence() { cuda_emulator_hooks->fence(); }
inline void __threadfence_block() {}

namespace cuda_emulator {
template <class T, class Change> __attribute__((no_sanitize("thread"))) T atomic(T* address, Change change) {
  cuda_emulator_hooks->atomic(address, sizeof(T));
  const T old = *address;
  *address = change(old);
  return old;
}
}  // namespace cuda_emulator
template <class T> T atomicAdd(T* address, T value) {
  return cuda_emulator::atomic(address, [&](T old) { return static_cast<T>(old + value); });
}
template <class T> T atomicExch(T* address, T value) {
  return cuda_emulator::atomic(address, [&](T) { return value; });
}
template <class T> T atomicCAS(T* address, T expected, T value) {
  return cuda_emulator::atomic(address, [&](T old) { return old == expected ? value : old; });
}
template <class T> T atomicMin(T* address, T value) {
  return cuda_emulator::atomic(address, [&](T old) { return value < old ? value : old; });
}
template <class T> T atomicMax(T* address, T value) {
  return cuda_emulator::atomic(address, [&](T old) { return old < value ? value : old; });
}
inline unsigned atomicInc(unsigned* address, unsigned last) {
  return cuda_emulator::atomic(address, [&](unsigned old) { return old >= last ? 0u : old + 1; });
}

inline float __int_as_float(int bits) {
  float value;
  __builtin_memcpy(&value, &bits, 4);
  return value;
}
inline int __float_as_int(float value) {
  int bits;
  __builtin_memcpy(&bits, &value, 4);
  return bits;
}
inline double __longlong_as_double(long long bits) {
  double value;
  __builtin_memcpy(&value, &bits, 8);
  return value;
}

// Unpacks a launch's parameters by the entry's own types.
namespace cuda_emulator {
template <unsigned...> struct Numbers {};
template <unsigned N, unsigned... Rest> struct Count : Count<N - 1, N - 1, Rest...> {};
template <unsigned... All> struct Count<0, All...> {
  using Type = Numbers<All...>;
};
template <class... Types, unsigned... N> __attribute__((no_sanitize("thread"))) void call(void (*entry)(Types...), void** parameters, Numbers<N...>) {
  entry(*static_cast<Types*>(parameters[N])...);
}
template <class... Types> __attribute__((no_sanitize("thread"))) void call(void (*entry)(Types...), void** parameters) {
  call(entry, parameters, typename Count<sizeof...(Types)>::Type());
}
/// Returns the number of the entry's parameters, and the size of each if `sizes` is given.
template <class... Types> __attribute__((no_sanitize("thread"))) unsigned parameter_sizes(void (*)(Types...), unsigned* sizes) {
  if (sizes) ((*sizes++ = sizeof(Types)), ...);
  return sizeof...(Types);
}
}  // namespace cuda_emulator
