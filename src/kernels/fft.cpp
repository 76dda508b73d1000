#include "kernels/fft.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <memory>
#include <numbers>
#include <optional>
#include <vector>

#include <unsupported/Eigen/FFT>

#include "base/threads.hpp"
#include "sinter/errors.hpp"

namespace sinter::kernels {
namespace {

using trace::Op;
using Complex = std::complex<double>;

/// The minimum number of elements of a task: fewer are finished before another thread would wake up.
constexpr std::int64_t kTaskElements = 16384;
/// The largest prime factor for a direct transform. A larger factor costs more than Bluestein's three transforms of twice the length.
constexpr std::int64_t kLargeFactor = 50;
/// The maximum size of the tables that a thread keeps between calls, in numbers.
constexpr std::int64_t kMaxCached = std::int64_t{1} << 19;

std::int64_t largest_factor(std::int64_t n) {
  std::int64_t largest = 1;
  for (std::int64_t p = 2; p * p <= n; ++p)
    for (; n % p == 0; n /= p) largest = p;
  return std::max(largest, n);
}

/// Transforms of one length. Threads must not share an object.
class Transform {
 public:
  explicit Transform(std::int64_t n) : n_(n) {
    if (largest_factor(n) <= kLargeFactor) return;
    // Bluestein's algorithm: jk = (j^2 + k^2 - (k - j)^2) / 2 makes the transform a convolution with a chirp, whose phase is counted modulo 2n.
    // https://doi.org/10.1109/TAU.1970.1162132
    padded_ = 1;
    while (padded_ < 2 * n - 1) padded_ *= 2;
    chirp_.resize(static_cast<std::size_t>(n));
    std::vector<Complex> around(static_cast<std::size_t>(padded_));
    std::int64_t square = 0;  // k^2 mod 2n
    for (std::int64_t k = 0; k < n; ++k) {
      chirp_[static_cast<std::size_t>(k)] = std::polar(1.0, -std::numbers::pi * static_cast<double>(square) / static_cast<double>(n));
      around[static_cast<std::size_t>(k)] = std::conj(chirp_[static_cast<std::size_t>(k)]);
      if (k > 0) around[static_cast<std::size_t>(padded_ - k)] = around[static_cast<std::size_t>(k)];
      square = (square + 2 * k + 1) % (2 * n);
    }
    filter_.resize(around.size());
    kiss_.fwd(filter_.data(), around.data(), static_cast<int>(padded_));
    work_.resize(around.size());
    spectrum_.resize(around.size());
  }

  std::int64_t length() const { return n_; }
  std::int64_t table() const { return n_ + 3 * padded_; }
  /// Returns whether real numbers are transformed by a complex transform of half the length.
  bool by_halves() const { return padded_ == 0 && n_ % 4 == 0; }
  /// Transforms n real numbers to the first n / 2 + 1 frequencies, and back. Requires by_halves().
  void from_real(const double* from, Complex* to) { kiss_.fwd(to, from, static_cast<int>(n_)); }
  void to_real(const Complex* from, double* to) { kiss_.inv(to, from, static_cast<int>(n_)); }

  void operator()(const Complex* from, Complex* to) {
    if (n_ == 1) return void(*to = *from);  // kissfft has no stage for this factor
    if (padded_ == 0) return kiss_.fwd(to, from, static_cast<int>(n_));
    std::fill(work_.begin(), work_.end(), Complex());
    for (std::size_t k = 0; k < chirp_.size(); ++k) work_[k] = from[k] * chirp_[k];
    kiss_.fwd(spectrum_.data(), work_.data(), static_cast<int>(padded_));
    for (std::size_t k = 0; k < work_.size(); ++k) spectrum_[k] *= filter_[k];
    kiss_.inv(work_.data(), spectrum_.data(), static_cast<int>(padded_));
    for (std::size_t k = 0; k < chirp_.size(); ++k) to[k] = work_[k] / static_cast<double>(padded_) * chirp_[k];
  }

 private:
  std::int64_t n_, padded_ = 0;
  std::vector<Complex> chirp_, filter_, work_, spectrum_;
  Eigen::internal::kissfft_impl<double> kiss_;
};

/// Returns this thread's transform of this length. It is cached for later calls, because making its tables takes longer than the transform.
Transform& cached_transform(std::int64_t n) {
  thread_local std::vector<std::unique_ptr<Transform>> cached;  // the most recently used transform is at the end
  if (const auto found = std::find_if(cached.begin(), cached.end(), [&](const auto& transform) { return transform->length() == n; }); found != cached.end()) {
    std::rotate(found, found + 1, cached.end());
    return *cached.back();
  }
  cached.push_back(std::make_unique<Transform>(n));
  std::int64_t all = 0;
  for (const auto& transform : cached) all += transform->table();
  while (cached.size() > 1 && all > kMaxCached) {
    all -= cached.front()->table();
    cached.erase(cached.begin());
  }
  return *cached.back();
}

template <class T> class Rows {
 public:
  Rows(const fuse::LibraryCall& call, std::span<void* const> pointers) : call_(call), pointers_(pointers) {}

  void run(std::int64_t n, std::int64_t begin, std::int64_t end) const {
    std::optional<Transform> large;
    Transform& transform = n > kMaxCached ? large.emplace(n) : cached_transform(n);
    const auto count = static_cast<std::size_t>(n);
    const std::int64_t given = call_.operands[0].shape.back(), length = call_.shape.back();
    const bool to_real = call_.op == Op::irfft_even || call_.op == Op::irfft_odd, halves = transform.by_halves() && (to_real || call_.op == Op::rfft);
    std::vector<Complex> in(halves && !to_real ? 0 : count), out(halves && to_real ? 0 : count);
    std::vector<double> real(halves ? count : 0);
    T* const result = static_cast<T*>(pointers_.back());
    for (std::int64_t row = begin; row < end; ++row) {
      const T* const re = at(0, row);
      const T* const im = call_.operands.size() > 1 ? at(1, row) : nullptr;
      if (halves && !to_real) {
        for (std::int64_t k = 0; k < n; ++k) real[static_cast<std::size_t>(k)] = re[k * stride(0)];
        transform.from_real(real.data(), out.data());
        write(out, row, length, result);
        continue;
      }
      for (std::int64_t k = 0; k < given; ++k) in[static_cast<std::size_t>(k)] = Complex(re[k * stride(0)], im ? im[k * stride(1)] : T(0));
      if (halves) {
        transform.to_real(in.data(), real.data());
        for (std::int64_t k = 0; k < n; ++k) result[row * n + k] = static_cast<T>(real[static_cast<std::size_t>(k)]);
        continue;
      }
      if (to_real) {
        in[0] = in[0].real();
        if (n % 2 == 0) in[count / 2] = in[count / 2].real();
        for (std::size_t k = static_cast<std::size_t>(given); k < count; ++k) in[k] = std::conj(in[count - k]);
        for (Complex& value : in) value = std::conj(value);  // the inverse transform is real, and equals the transform of the conjugate
      }
      transform(in.data(), out.data());
      if (to_real) {
        for (std::int64_t k = 0; k < n; ++k) result[row * n + k] = static_cast<T>(out[static_cast<std::size_t>(k)].real());
        continue;
      }
      write(out, row, length, result);
    }
  }

 private:
  static void write(const std::vector<Complex>& out, std::int64_t row, std::int64_t length, T* result) {
    for (std::int64_t k = 0; k < length; ++k) {
      result[row * 2 * length + k] = static_cast<T>(out[static_cast<std::size_t>(k)].real());
      result[(row * 2 + 1) * length + k] = static_cast<T>(out[static_cast<std::size_t>(k)].imag());
    }
  }
  /// Returns the address of operand `k` at row `row`.
  const T* at(std::size_t k, std::int64_t row) const {
    const auto& operand = call_.operands[k];
    std::int64_t place = operand.offset;
    for (std::size_t axis = operand.shape.size() - 1; axis-- > 0; row /= operand.shape[axis]) place += row % operand.shape[axis] * operand.strides[axis];
    return static_cast<const T*>(pointers_[k]) + place;
  }
  std::int64_t stride(std::size_t k) const { return call_.operands[k].strides.back(); }

  const fuse::LibraryCall& call_;
  std::span<void* const> pointers_;
};

}  // namespace

void transform_rows(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads) {
  const Shape& operand = call.operands[0].shape;
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis + 1 < operand.size(); ++axis) rows *= operand[axis];
  const std::int64_t n = call.op == Op::irfft_even || call.op == Op::irfft_odd ? call.shape.back() : operand.back();
  if (n > std::numeric_limits<int>::max() / 4) throw DeviceError("cpu: a Fourier transform of more than 2^29 numbers");
  const std::int64_t together = std::max<std::int64_t>(1, kTaskElements / n);
  const auto run = [&]<class T>() {
    const Rows<T> of(call, pointers);
    run_tasks(threads, (rows + together - 1) / together, [&](std::int64_t task) { of.run(n, task * together, std::min(rows, (task + 1) * together)); });
  };
  if (call.dtype == DType::float32) run.template operator()<float>();
  else run.template operator()<double>();
}

}  // namespace sinter::kernels
