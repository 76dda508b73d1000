// The yardsticks of sinter's kernels: the speed of memory, and the best speed of Eigen's array expressions.
#pragma once
#include <cstddef>
#include <functional>

namespace bench {

/// Runs task(k) on thread k of `threads`, the calling thread among them. The threads are kept.
void on_threads(int threads, const std::function<void(int)>& task);

/// Computes a[i] = b[i] + s * c[i]; each thread computes its part.
void triad(float* a, const float* b, const float* c, float s, std::size_t count, int threads);
/// Computes the same with stores that bypass the cache, so that overwritten lines are not read.
void triad_streaming(float* a, const float* b, const float* c, float s, std::size_t count, int threads);

/// Computes gelu(x * s + b) as one array expression per block that fits in the first cache, exactly with erf, or by tanh.
void eigen_gelu_erf(float* out, const float* x, float s, float b, std::size_t count, int threads);
void eigen_gelu_tanh(float* out, const float* x, float s, float b, std::size_t count, int threads);

}  // namespace bench
