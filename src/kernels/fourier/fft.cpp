#include "kernels/fourier/fft.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <memory>
#include <new>
#include <numbers>
#include <optional>
#include <vector>

#include <unsupported/Eigen/FFT>

#include "base/threads.hpp"
#include "kernels/fourier/halves.inl"
#include "kernels/fourier/lanes.hpp"
#include "sinter/errors.hpp"

namespace sinter::kernels {
namespace {

using trace::Op;
using Complex = std::complex<double>;

/// The minimum number of elements of a task: fewer are finished before another thread would wake up.
constexpr std::int64_t kTaskElements = 16384;
/// The largest prime factor for a direct transform. A larger factor costs more than Bluestein's three transforms of twice the length.
constexpr std::int64_t kLargeFactor = 50;
/// The longest rows that are transformed side by side; their numbers and tables fit the second cache.
constexpr std::int64_t kLongest = 2048;
/// Single rows of this length and more are transformed as matrices, so that the lanes of a register have work.
constexpr std::int64_t kShortestMatrix = 128;
/// The maximum size of the tables that a thread keeps between calls, in numbers.
constexpr std::int64_t kMaxCached = std::int64_t{1} << 19;

std::size_t index(std::int64_t k) { return static_cast<std::size_t>(k); }

/// Numbers at an address that every vector register may load from.
class Buffer {
 public:
  explicit Buffer(std::int64_t count) : at_(static_cast<double*>(::operator new(index(count) * sizeof(double), kAlignment))) {}
  operator double*() { return at_.get(); }
  operator const double*() const { return at_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(double* at) const { ::operator delete(at, kAlignment); }
  };
  std::unique_ptr<double, Free> at_;
};

std::int64_t largest_factor(std::int64_t n) {
  std::int64_t largest = 1;
  for (std::int64_t p = 2; p * p <= n; ++p)
    for (; n % p == 0; n /= p) largest = p;
  return std::max(largest, n);
}
/// Returns the largest divisor of n whose square is at most n.
std::int64_t short_side(std::int64_t n) {
  auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n)));
  while (n % side != 0 || side * side > n) --side;
  return side;
}
/// Returns the least product of powers of 2, 3 and 5 that is not less than n.
std::int64_t smooth_length(std::int64_t n) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t five = 1; five < 5 * n; five *= 5)
    for (std::int64_t three = five; three < 3 * n; three *= 3) {
      std::int64_t length = three;
      while (length < n) length *= 2;
      least = std::min(least, length);
    }
  return least;
}
/// Returns exp(-2 pi i k / n) for 0 <= k < n. The angle is taken from the nearest multiple of a quarter turn, so that its rounding is small.
Complex root(std::int64_t k, std::int64_t n) {
  const std::int64_t quarters = (4 * k + n / 2) / n, rest = 4 * k - quarters * n;
  const double angle = std::numbers::pi / 2 * static_cast<double>(rest) / static_cast<double>(n), c = std::cos(angle), s = std::sin(angle);
  switch (quarters % 4) {
    case 0: return {c, -s};
    case 1: return {-s, -c};
    case 2: return {-c, s};
    default: return {s, c};
  }
}
/// Returns exp(-2 pi i k / n) for 0 <= k < count.
std::vector<Complex> roots(std::int64_t n, std::int64_t count) {
  std::vector<Complex> all(index(count));
  for (std::int64_t k = 0; k < count; ++k) all[index(k)] = root(k, n);
  return all;
}
Complex product(Complex a, Complex b) {  // std::complex's treats infinities, which takes longer than the product
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// Complex numbers in two places: real and imaginary parts.
struct Planes {
  double *re, *im;
};
struct ConstPlanes {
  const double *re, *im;
  Complex operator[](std::int64_t k) const { return {re[k], im[k]}; }
};

/// Direct transforms of one length in all lanes. Threads must not share an object.
class Direct {
 public:
  explicit Direct(std::int64_t n) : n_(n) {
    Eigen::internal::kiss_cpx_fft<double> kiss;
    kiss.factorize(static_cast<int>(n));
    Stages stages{std::move(kiss.m_stageRadix), std::move(kiss.m_stageRemainder)};
    stages.largest = *std::max_element(stages.radices.begin(), stages.radices.end());
    plan_.reset(fourier_lanes().make(n, stages));
  }
  std::int64_t table() const { return n_ * fourier_lanes().lanes; }
  void operator()(const double* from, double* to) const { fourier_lanes().run(*plan_, from, to); }

 private:
  struct Free {
    void operator()(LanePlan* plan) const { fourier_lanes().free(plan); }
  };
  std::int64_t n_;
  std::unique_ptr<LanePlan, Free> plan_;
};

/// Returns the thread's object for length n. It is kept for later calls, because making its tables takes longer than a transform.
template <class Made> std::shared_ptr<const Made> cached(std::int64_t n) {
  struct Entry {
    std::int64_t n;
    std::shared_ptr<const Made> made;
  };
  thread_local std::vector<Entry> entries;  // the most recently used is at the end
  const auto found = std::find_if(entries.begin(), entries.end(), [n](const Entry& entry) { return entry.n == n; });
  if (found != entries.end()) {
    std::rotate(found, found + 1, entries.end());
    return entries.back().made;
  }
  auto made = std::make_shared<const Made>(n);
  std::int64_t all = made->table();
  if (all > kMaxCached) return made;
  for (const Entry& entry : entries) all += entry.made->table();
  while (all > kMaxCached) {
    all -= entries.front().made->table();
    entries.erase(entries.begin());
  }
  entries.push_back({n, made});
  return made;
}

/// The factors of Bluestein's algorithm: jk = (j^2 + k^2 - (k - j)^2) / 2 makes a transform of any length a convolution with a chirp, whose phase is counted
/// modulo 2n. https://doi.org/10.1109/TAU.1970.1162132
struct Chirp {
  std::int64_t padded = 0;
  std::vector<Complex> factors;  ///< exp(-pi i k^2 / n)
  std::vector<Complex> around;   ///< its conjugates, at k and padded - k
  explicit Chirp(std::int64_t n) {
    padded = smooth_length(2 * n - 1);
    factors.resize(index(n));
    around.resize(index(padded));
    std::int64_t square = 0;  // k^2 mod 2n
    for (std::int64_t k = 0; k < n; ++k) {
      factors[index(k)] = root(square, 2 * n);
      around[index(k)] = std::conj(factors[index(k)]);
      if (k > 0) around[index(padded - k)] = around[index(k)];
      square = (square + 2 * k + 1) % (2 * n);
    }
  }
};

/// Transforms of a short length, of `lanes` rows at once. Threads must not share an object.
class Rowwise {
 public:
  explicit Rowwise(std::int64_t n) : n_(n) {
    if (largest_factor(n) <= kLargeFactor) {
      direct_.emplace(n);
      return;
    }
    const Chirp& chirp = chirp_.emplace(n);
    const std::int64_t padded = chirp.padded, lanes = fourier_lanes().lanes;
    direct_.emplace(padded);
    Buffer from(2 * padded * lanes), to(2 * padded * lanes);
    for (std::int64_t k = 0; k < padded; ++k) {
      std::fill_n(from + 2 * k * lanes, lanes, chirp.around[index(k)].real());
      std::fill_n(from + (2 * k + 1) * lanes, lanes, chirp.around[index(k)].imag());
    }
    (*direct_)(from, to);
    for (std::int64_t k = 0; k < padded; ++k) filter_.emplace_back(to[2 * k * lanes], to[(2 * k + 1) * lanes]);
    for (const Complex& factor : chirp.factors) last_.push_back(std::conj(factor) / static_cast<double>(padded));
  }
  std::int64_t table() const { return direct_->table() + 2 * length(); }
  /// Returns the length of the arrays for a transform.
  std::int64_t length() const { return chirp_ ? chirp_->padded : n_; }
  /// Transforms `from` to `to` and overwrites `from`.
  void operator()(double* from, double* to) const {
    const FourierLanes& lanes = fourier_lanes();
    if (!chirp_) return (*direct_)(from, to);
    const std::int64_t padded = length(), width = 2 * lanes.lanes;
    lanes.multiply(from, chirp_->factors.data(), n_, false);
    std::fill(from + n_ * width, from + padded * width, 0.0);
    (*direct_)(from, to);
    lanes.multiply(to, filter_.data(), padded, true);  // the inverse transform is the conjugate of the transform of the conjugate
    (*direct_)(to, from);
    std::copy_n(static_cast<const double*>(from), n_ * width, static_cast<double*>(to));
    lanes.multiply(to, last_.data(), n_, true);
  }

 private:
  std::int64_t n_;
  std::optional<Direct> direct_;
  std::optional<Chirp> chirp_;
  std::vector<Complex> filter_, last_;
};

/// Transforms of one long row at a time: transforms of the columns and then of the rows of a matrix. https://doi.org/10.1007/BF00162341
class Matrixwise {
 public:
  explicit Matrixwise(std::int64_t n) : n_(n) {
    if (largest_factor(n) > kLargeFactor) {
      const std::int64_t padded = chirp_.emplace(n).padded;
      convolved_ = std::make_unique<Matrixwise>(padded);
      Buffer around(2 * padded), filter(2 * padded);
      for (std::int64_t k = 0; k < padded; ++k) {
        around[k] = chirp_->around[index(k)].real();
        around[padded + k] = chirp_->around[index(k)].imag();
      }
      (*convolved_)({around, around + padded}, {filter, filter + padded}, 1);
      for (std::int64_t k = 0; k < padded; ++k) filter_.emplace_back(filter[k], filter[padded + k]);
      return;
    }
    rows_ = short_side(n);
    columns_ = n / rows_;
    const std::int64_t lanes = fourier_lanes().lanes;
    fine_count_ = 1;
    while (fine_count_ * fine_count_ < n) fine_count_ *= 2;
    fine_ = roots(n, fine_count_);
    for (std::int64_t k = 0; k < n; k += fine_count_) coarse_.push_back(root(k, n));
    each_.emplace(2 * rows_ * lanes);
    for (std::int64_t k = 0; k < rows_; ++k)
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        const Complex turned = root(lane * k % n, n);
        (*each_)[2 * k * lanes + lane] = turned.real();
        (*each_)[(2 * k + 1) * lanes + lane] = turned.imag();
      }
  }
  std::int64_t table() const { return chirp_ ? 4 * chirp_->padded : rows_ * fourier_lanes().lanes + 2 * fine_count_; }

  void operator()(ConstPlanes from, Planes to, int threads) const {
    if (chirp_) return convolve(from, to, threads);
    switch (fourier_lanes().lanes) {
      case 2: return transform<2>(from, to, threads);
      case 4: return transform<4>(from, to, threads);
      default: return transform<8>(from, to, threads);
    }
  }

 private:
  template <std::int64_t lanes> void transform(ConstPlanes from, Planes to, int threads) const {
    Buffer middle(2 * n_);
    const Planes between{middle, middle + n_};
    const auto groups = [&](std::int64_t count, std::int64_t length, auto&& group) {
      const std::int64_t all = (count + lanes - 1) / lanes, together = std::max<std::int64_t>(1, kTaskElements / (length * lanes));
      run_tasks(threads, (all + together - 1) / together, [&](std::int64_t task) {
        Buffer a(2 * length * lanes), b(2 * length * lanes);
        const auto direct = cached<Direct>(length);
        for (std::int64_t g = task * together; g < std::min(all, (task + 1) * together); ++g)
          group(*direct, a, b, g * lanes, std::min(lanes, count - g * lanes));
      });
    };
    groups(columns_, rows_, [&](const Direct& direct, double* a, double* b, std::int64_t column, std::int64_t count) {
      load<lanes>(from, column, columns_, rows_, count, a);
      direct(a, b);
      turn(column, b);
      store_transposed<lanes>(b, rows_, count, {between.re + column * rows_, between.im + column * rows_});
    });
    groups(rows_, columns_, [&](const Direct& direct, double* a, double* b, std::int64_t row, std::int64_t count) {
      load<lanes>({between.re, between.im}, row, rows_, columns_, count, a);
      direct(a, b);
      store<lanes>(b, row, rows_, columns_, count, to);
    });
  }

  /// Loads the numbers first + lane + k * step, one lane each.
  template <std::int64_t lanes> static void load(ConstPlanes from, std::int64_t first, std::int64_t step, std::int64_t length, std::int64_t count, double* to) {
    for (std::int64_t k = 0; k < length; ++k, to += 2 * lanes) {
      const double *const re = from.re + first + k * step, *const im = from.im + first + k * step;
      if (count == lanes) {
        for (std::int64_t lane = 0; lane < lanes; ++lane) to[lane] = re[lane];
        for (std::int64_t lane = 0; lane < lanes; ++lane) to[lanes + lane] = im[lane];
        continue;
      }
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        to[lane] = lane < count ? re[lane] : 0;
        to[lanes + lane] = lane < count ? im[lane] : 0;
      }
    }
  }
  /// Stores them.
  template <std::int64_t lanes>
  static void store(const double* from, std::int64_t first, std::int64_t step, std::int64_t length, std::int64_t count, Planes to) {
    for (std::int64_t k = 0; k < length; ++k, from += 2 * lanes) {
      double *const re = to.re + first + k * step, *const im = to.im + first + k * step;
      if (count == lanes) {
        for (std::int64_t lane = 0; lane < lanes; ++lane) re[lane] = from[lane];
        for (std::int64_t lane = 0; lane < lanes; ++lane) im[lane] = from[lanes + lane];
        continue;
      }
      for (std::int64_t lane = 0; lane < count; ++lane) re[lane] = from[lane], im[lane] = from[lanes + lane];
    }
  }
  /// Multiplies number k of each column by exp(-2 pi i column k / n): a product for the first column and one for the distance to it.
  void turn(std::int64_t column, double* numbers) const {
    std::vector<Complex> by(index(rows_));
    for (std::int64_t k = 0, turns = 0; k < rows_; ++k, turns = (turns + column) % n_)
      by[index(k)] = product(coarse_[index(turns / fine_count_)], fine_[index(turns % fine_count_)]);
    fourier_lanes().twist(numbers, by.data(), *each_, rows_);
  }
  /// Stores each lane's numbers side by side, `length` apart.
  template <std::int64_t lanes> static void store_transposed(const double* from, std::int64_t length, std::int64_t count, Planes to) {
    constexpr std::int64_t kLine = 8;  // numbers
    for (std::int64_t k = 0; k < length; k += kLine)
      for (std::int64_t lane = 0; lane < count; ++lane)
        for (std::int64_t i = k; i < std::min(k + kLine, length); ++i) {
          to.re[lane * length + i] = from[2 * i * lanes + lane];
          to.im[lane * length + i] = from[(2 * i + 1) * lanes + lane];
        }
  }
  void convolve(ConstPlanes from, Planes to, int threads) const {
    const std::int64_t padded = chirp_->padded;
    Buffer work(4 * padded);
    const Planes a{work, work + padded}, b{work + 2 * padded, work + 3 * padded};
    const auto put = [](Planes at, std::int64_t k, Complex value) { at.re[k] = value.real(), at.im[k] = value.imag(); };
    for (std::int64_t k = 0; k < n_; ++k) put(a, k, product(from[k], chirp_->factors[index(k)]));
    for (std::int64_t k = n_; k < padded; ++k) put(a, k, 0);
    (*convolved_)({a.re, a.im}, b, threads);
    for (std::int64_t k = 0; k < padded; ++k) put(b, k, std::conj(product({b.re[k], b.im[k]}, filter_[index(k)])));
    (*convolved_)({b.re, b.im}, a, threads);
    for (std::int64_t k = 0; k < n_; ++k) put(to, k, product(Complex(a.re[k], -a.im[k]) / static_cast<double>(padded), chirp_->factors[index(k)]));
  }

  std::int64_t n_, rows_ = 0, columns_ = 0, fine_count_ = 0;
  std::vector<Complex> fine_, coarse_;  // the n-th roots of unity in two steps
  std::optional<Buffer> each_;          // those of each lane's distance to the first
  std::optional<Chirp> chirp_;
  std::unique_ptr<Matrixwise> convolved_;
  std::vector<Complex> filter_;
};

/// The roots of unity for transforms of n real numbers by halves.
struct HalfRoots {
  explicit HalfRoots(std::int64_t n) : of(roots(n, n / 4 + 1)) {}
  std::int64_t table() const { return static_cast<std::int64_t>(of.size()); }
  std::vector<Complex> of;
};

/// Numbers of T in memory, `stride` apart.
template <class T> struct Reals {
  const T* at;
  std::int64_t stride;
  double operator[](std::int64_t k) const { return static_cast<double>(at[k * stride]); }
};
template <class T> struct RowIn {
  Reals<T> re, im;
};

template <class T> class Rows {
 public:
  Rows(const fuse::LibraryCall& call, std::span<void* const> pointers, std::int64_t n)
      : call_(call),
        pointers_(pointers),
        n_(n),
        length_(call.shape.back()),
        result_(static_cast<T*>(pointers.back())),
        to_real_(call.op == Op::irfft_even || call.op == Op::irfft_odd),
        halves_(n % 2 == 0 && (to_real_ || call.op == Op::rfft)),
        half_roots_(halves_ ? cached<HalfRoots>(n) : nullptr) {}

  /// The length of the complex transform.
  std::int64_t length() const { return halves_ ? n_ / 2 : n_; }

  /// Transforms the rows side by side.
  void together(std::int64_t begin, std::int64_t end) const {
    const FourierLanes& loops = fourier_lanes();
    const std::int64_t lanes = loops.lanes, width = 2 * lanes, half = n_ / 2;
    const auto transform = cached<Rowwise>(length());
    const std::int64_t size = std::max(transform->length(), half + 1) * width;
    Buffer a(size), b(size);
    std::vector<RowIn<T>> rows(index(lanes));
    for (std::int64_t first = begin; first < end; first += lanes) {
      const std::int64_t count = std::min(lanes, end - first);
      if (count < lanes) std::fill_n(static_cast<double*>(a), size, 0.0);
      for (std::int64_t lane = 0; lane < count; ++lane) rows[index(lane)] = row_of(first + lane);
      in_blocks(loaded(), count, [&](std::int64_t lane, std::int64_t from, std::int64_t to) {
        load(rows[index(lane)], from, to,
             [width, lanes, at = a + lane](std::int64_t k, double re, double im) { at[k * width] = re, at[k * width + lanes] = im; });
      });
      double *given = a, *result = b;
      if (halves_ && to_real_) {
        loops.join_halves(given, result, half_roots_->of.data(), half);
        std::swap(given, result);
      }
      (*transform)(given, result);
      if (halves_ && !to_real_) {
        loops.split_halves(result, given, half_roots_->of.data(), half);
        std::swap(given, result);
      }
      in_blocks(stored(), count, [&](std::int64_t lane, std::int64_t from, std::int64_t to) {
        store(first + lane, from, to,
              [width, lanes, at = static_cast<const double*>(result) + lane](std::int64_t k) { return Complex(at[k * width], at[k * width + lanes]); });
      });
    }
  }

  /// Transforms one row as a matrix.
  void alone(std::int64_t row, int threads) const {
    const std::int64_t m = length(), half = n_ / 2;
    Buffer work(4 * (m + 1));
    Planes a{work, work + m + 1}, b{work + 2 * (m + 1), work + 3 * (m + 1)};
    const auto put_in = [](Planes to) { return [to](std::int64_t k, double re, double im) { to.re[k] = re, to.im[k] = im; }; };
    const auto get = [](Planes from) { return [from](std::int64_t k) { return Complex(from.re[k], from.im[k]); }; };
    const auto root_of = [&](std::int64_t k) { return half_roots_->of[index(k)]; };
    load(row_of(row), 0, loaded(), put_in(a));
    if (halves_ && to_real_) {
      join_halves(half, get(a), put_in(b), root_of);
      std::swap(a, b);
    }
    (*cached<Matrixwise>(m))({a.re, a.im}, b, threads);
    if (halves_ && !to_real_) {
      split_halves(half, get(b), put_in(a), root_of);
      std::swap(a, b);
    }
    store(row, 0, stored(), get(b));
  }

 private:
  /// How many complex numbers load() and store() count.
  std::int64_t loaded() const { return halves_ ? n_ / 2 + (to_real_ ? 1 : 0) : n_; }
  std::int64_t stored() const { return !to_real_ ? length_ : halves_ ? n_ / 2 : n_; }

  /// Calls work(lane, begin, end) for pieces of a row that are as short as a cache line: longer ones of other lanes evict the lines that lanes share.
  template <class Work> static void in_blocks(std::int64_t length, std::int64_t lanes, Work&& work) {
    constexpr std::int64_t kBlock = 8;
    for (std::int64_t k = 0; k < length; k += kBlock)
      for (std::int64_t lane = 0; lane < lanes; ++lane) work(lane, k, std::min(k + kBlock, length));
  }
  /// Calls put(k, real part, imaginary part) for numbers begin ... end - 1 of those to transform or, of a real result by halves, to join.
  template <class Put> void load(const RowIn<T>& row, std::int64_t begin, std::int64_t end, Put&& put) const {
    const Reals<T>&re = row.re, &im = row.im;
    if (call_.op == Op::rfft) {
      if (halves_)
        for (std::int64_t k = begin; k < end; ++k) put(k, re[2 * k], re[2 * k + 1]);
      else
        for (std::int64_t k = begin; k < end; ++k) put(k, re[k], 0);
      return;
    }
    if (!to_real_) {
      for (std::int64_t k = begin; k < end; ++k) put(k, re[k], im[k]);
      return;
    }
    // The first frequency of a real result, and the middle one of an even number, count as real.
    for (std::int64_t k = begin; k < end; ++k) {
      if (halves_) put(k, re[k], k == 0 || 2 * k == n_ ? 0 : im[k]);
      else if (2 * k < n_) put(k, re[k], k == 0 ? 0 : -im[k]);  // the inverse transform is real, and equals the transform of the conjugate
      else put(k, re[n_ - k], im[n_ - k]);
    }
  }
  /// Stores numbers begin ... end - 1 that get(k) returns.
  template <class Get> void store(std::int64_t row, std::int64_t begin, std::int64_t end, Get&& get) const {
    if (to_real_) {
      T* const to = result_ + row * n_;
      if (!halves_)
        for (std::int64_t k = begin; k < end; ++k) to[k] = static_cast<T>(get(k).real());
      else
        for (std::int64_t k = begin; k < end; ++k) {
          to[2 * k] = static_cast<T>(get(k).imag());
          to[2 * k + 1] = static_cast<T>(get(k).real());
        }
      return;
    }
    T *const re = result_ + row * 2 * length_, *const im = re + length_;
    for (std::int64_t k = begin; k < end; ++k) {
      const Complex value = get(k);
      re[k] = static_cast<T>(value.real());
      im[k] = static_cast<T>(value.imag());
    }
  }
  RowIn<T> row_of(std::int64_t row) const { return {operand_at(0, row), operand_at(call_.operands.size() - 1, row)}; }
  Reals<T> operand_at(std::size_t k, std::int64_t row) const {
    const auto& operand = call_.operands[k];
    std::int64_t place = operand.offset;
    for (std::size_t axis = operand.shape.size() - 1; axis-- > 0; row /= operand.shape[axis]) place += row % operand.shape[axis] * operand.strides[axis];
    return {static_cast<const T*>(pointers_[k]) + place, operand.strides.back()};
  }

  const fuse::LibraryCall& call_;
  std::span<void* const> pointers_;
  std::int64_t n_, length_;
  T* result_;
  bool to_real_, halves_;
  std::shared_ptr<const HalfRoots> half_roots_;
};

}  // namespace

void transform_rows(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads) {
  const Shape& operand = call.operands[0].shape;
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis + 1 < operand.size(); ++axis) rows *= operand[axis];
  const std::int64_t n = call.op == Op::irfft_even || call.op == Op::irfft_odd ? call.shape.back() : operand.back();
  if (n > std::numeric_limits<int>::max() / 4) throw DeviceError("cpu: a Fourier transform of more than 2^29 numbers");
  const auto run = [&]<class T>() {
    const Rows<T> of(call, pointers, n);
    const std::int64_t lanes = fourier_lanes().lanes, m = of.length();
    if (m <= kLongest && (rows >= lanes || m < kShortestMatrix)) {
      const std::int64_t together = std::max<std::int64_t>(1, kTaskElements / (m * lanes)) * lanes;
      run_tasks(threads, (rows + together - 1) / together, [&](std::int64_t task) { of.together(task * together, std::min(rows, (task + 1) * together)); });
    } else if (rows >= threads) {
      run_tasks(threads, rows, [&](std::int64_t row) { of.alone(row, 1); });
    } else {
      for (std::int64_t row = 0; row < rows; ++row) of.alone(row, threads);
    }
  };
  if (call.dtype == DType::float32) run.template operator()<float>();
  else run.template operator()<double>();
}

const FourierLanes& fourier_lanes() {
  static const FourierLanes& chosen = []() -> const FourierLanes& {
#if defined(SINTER_FOURIER_X86)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma"))
      return fourier_lanes_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return fourier_lanes_avx2;
#endif
    return fourier_lanes_baseline;
  }();
  return chosen;
}

}  // namespace sinter::kernels
