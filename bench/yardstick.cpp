#include "yardstick.hpp"

#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numbers>
#include <thread>
#include <vector>

#include <Eigen/Core>
#include <unsupported/Eigen/SpecialFunctions>

#if defined(__SSE__)
#include <immintrin.h>
#endif

namespace bench {
namespace {

/// Threads that wait between calls: starting them for each call would take as long as a small case.
class Team {
 public:
  explicit Team(int threads) : start_(threads), finish_(threads) {
    for (int k = 1; k < threads; ++k)
      workers_.emplace_back([this, k] {
        for (;;) {
          start_.arrive_and_wait();
          if (!task_) return;
          (*task_)(k);
          finish_.arrive_and_wait();
        }
      });
  }
  ~Team() {
    task_ = nullptr;
    start_.arrive_and_wait();
    for (auto& worker : workers_) worker.join();
  }
  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  void run(const std::function<void(int)>& task) {
    task_ = &task;
    start_.arrive_and_wait();
    task(0);
    finish_.arrive_and_wait();
  }

 private:
  std::barrier<> start_, finish_;
  const std::function<void(int)>* task_ = nullptr;
  std::vector<std::thread> workers_;
};

/// Splits [0, count) at multiples of 64 elements.
void in_parts(std::size_t count, int threads, const std::function<void(std::size_t, std::size_t)>& part) {
  const std::size_t step = (count / static_cast<std::size_t>(threads) + 63) / 64 * 64;
  on_threads(threads, [&](int k) {
    const std::size_t begin = std::min(count, step * static_cast<std::size_t>(k));
    part(begin, k == threads - 1 ? count : std::min(count, begin + step));
  });
}

using Array = Eigen::Array<float, Eigen::Dynamic, 1>;
constexpr std::size_t kBlock = 2048;

template <class Formula> void in_blocks(float* out, const float* x, std::size_t count, int threads, const Formula& formula) {
  in_parts(count, threads, [&](std::size_t begin, std::size_t end) {
    for (; begin < end; begin += kBlock) {
      const auto size = static_cast<Eigen::Index>(std::min(kBlock, end - begin));
      formula(Eigen::Map<Array>(out + begin, size), Eigen::Map<const Array>(x + begin, size));
    }
  });
}

}  // namespace

void on_threads(int threads, const std::function<void(int)>& task) {
  static std::unique_ptr<Team> team;
  if (threads == 1) return task(0);
  if (!team || team->threads() != threads) team = std::make_unique<Team>(threads);
  team->run(task);
}

void triad(float* a, const float* b, const float* c, float s, std::size_t count, int threads) {
  in_parts(count, threads, [&](std::size_t begin, std::size_t end) {
    float* __restrict to = a;
    for (std::size_t i = begin; i < end; ++i) to[i] = b[i] + s * c[i];
  });
}

void triad_streaming(float* a, const float* b, const float* c, float s, std::size_t count, int threads) {
  in_parts(count, threads, [&](std::size_t begin, std::size_t end) {
    std::size_t i = begin;
#if defined(__AVX512F__)
    for (; i < end && reinterpret_cast<std::uintptr_t>(a + i) % 64 != 0; ++i) a[i] = b[i] + s * c[i];
    const __m512 factor = _mm512_set1_ps(s);
    for (; i + 16 <= end; i += 16) _mm512_stream_ps(a + i, _mm512_fmadd_ps(factor, _mm512_loadu_ps(c + i), _mm512_loadu_ps(b + i)));
    _mm_sfence();
#elif defined(__AVX__)
    for (; i < end && reinterpret_cast<std::uintptr_t>(a + i) % 32 != 0; ++i) a[i] = b[i] + s * c[i];
    const __m256 factor = _mm256_set1_ps(s);
    for (; i + 8 <= end; i += 8)
      _mm256_stream_ps(a + i, _mm256_add_ps(_mm256_loadu_ps(b + i), _mm256_mul_ps(factor, _mm256_loadu_ps(c + i))));
    _mm_sfence();
#endif
    for (; i < end; ++i) a[i] = b[i] + s * c[i];
  });
}

void eigen_gelu_erf(float* out, const float* x, float s, float b, std::size_t count, int threads) {
  in_blocks(out, x, count, threads, [&](auto to, const auto& from) {
    const auto u = from * s + b;
    to = u * 0.5f * (1.0f + (u * std::numbers::sqrt2_v<float> * 0.5f).erf());
  });
}

void eigen_gelu_tanh(float* out, const float* x, float s, float b, std::size_t count, int threads) {
  const float scale = std::sqrt(2.0f / std::numbers::pi_v<float>);
  in_blocks(out, x, count, threads, [&](auto to, const auto& from) {
    const auto u = from * s + b;
    to = u * 0.5f * (1.0f + (scale * (u + 0.044715f * u.cube())).tanh());
  });
}

}  // namespace bench
