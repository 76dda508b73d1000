// What sinter's kernels are measured against: memory's own speed, and the best that Eigen's array expressions do.
#pragma once
#include <cstddef>
#include <functional>

namespace bench {

/// Runs task(k) on thread k of `threads`, the calling thread among them. The threads are kept.
void on_threads(int threads, const std::function<void(int)>& task);

/// a[i] = b[i] + s * c[i], each thread its part.
void triad(float* a, const float* b, const float* c, float s, std::size_t count, int threads);
/// The same with stores that bypass the cache, which spares reading what is overwritten.
void triad_streaming(float* a, const float* b, const float* c, float s, std::size_t count, int threads);

/// gelu(x * s + b) as one array expression per block that fits in the first cache; exact with erf, or by tanh.
void eigen_gelu_erf(float* out, const float* x, float s, float b, std::size_t count, int threads);
void eigen_gelu_tanh(float* out, const float* x, float s, float b, std::size_t count, int threads);

}  // namespace bench
