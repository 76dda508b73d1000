// The body of lanes_{baseline,avx2,avx512}.cpp, which define SINTER_FOURIER_LANES (the record's name) and SINTER_FOURIER_COUNT (rows at once) and rename
// Eigen. No function of the standard library may be emitted here, because the linker could choose this copy for the whole library: the vectors of integers are
// made elsewhere and swapped in.
#include <complex>
#include <vector>

#include <unsupported/Eigen/FFT>

#include "kernels/fourier/halves.inl"
#include "kernels/fourier/lanes.hpp"

namespace sinter::kernels {
namespace {

/// A number of each row.
struct Number {
  typedef double Word __attribute__((vector_size(8 * SINTER_FOURIER_COUNT)));
  Word v;
  Number() = default;
  Number(double each) : v(each - Word{}) {}
  explicit Number(Word word) : v(word) {}
  Number& operator+=(const Number& o) { return v += o.v, *this; }
  Number& operator-=(const Number& o) { return v -= o.v, *this; }
  Number& operator*=(const Number& o) { return v *= o.v, *this; }
  friend Number operator+(const Number& a, const Number& b) { return Number(a.v + b.v); }
  friend Number operator-(const Number& a, const Number& b) { return Number(a.v - b.v); }
  friend Number operator*(const Number& a, const Number& b) { return Number(a.v * b.v); }
  Number operator-() const { return Number(-v); }
};
using Complex = std::complex<Number>;

const Complex* numbers(const double* at) { return reinterpret_cast<const Complex*>(at); }
Complex* numbers(double* at) { return reinterpret_cast<Complex*>(at); }

}  // namespace

struct LanePlan {};  // what it is differs between the instruction sets

namespace {

struct Kiss : LanePlan, Eigen::internal::kiss_cpx_fft<Number> {};

LanePlan* make(std::int64_t n, Stages& stages) {
  Kiss* const plan = new Kiss;
  plan->make_twiddles(static_cast<int>(n), false);
  plan->m_stageRadix.swap(stages.radices);
  plan->m_stageRemainder.swap(stages.remainders);
  plan->m_scratchBuf.resize(static_cast<std::size_t>(stages.largest));
  return plan;
}
void free(LanePlan* plan) { delete static_cast<Kiss*>(plan); }
void run(LanePlan& plan, const double* from, double* to) { static_cast<Kiss&>(plan).work(0, numbers(to), numbers(from), 1, 1); }

void multiply(double* at, const std::complex<double>* by, std::int64_t n, bool conjugate) {
  Complex* const to = numbers(at);
  const double sign = conjugate ? -1 : 1;
  for (std::int64_t k = 0; k < n; ++k) {
    const Number re = to[k].real(), im = to[k].imag(), c = by[k].real(), s = by[k].imag();
    to[k] = Complex(re * c - im * s, (re * s + im * c) * sign);
  }
}
void twist(double* at, const std::complex<double>* by, const double* each, std::int64_t n) {
  Complex* const to = numbers(at);
  const Complex* const of_row = numbers(each);
  for (std::int64_t k = 0; k < n; ++k) to[k] *= of_row[k] * Complex(by[k].real(), by[k].imag());
}

void split(const double* from, double* to, const std::complex<double>* roots, std::int64_t half) {
  split_halves(
      half, [from](std::int64_t k) { return numbers(from)[k]; }, [to](std::int64_t k, Number re, Number im) { numbers(to)[k] = Complex(re, im); },
      [roots](std::int64_t k) { return Complex(roots[k].real(), roots[k].imag()); });
}
void join(const double* from, double* to, const std::complex<double>* roots, std::int64_t half) {
  join_halves(
      half, [from](std::int64_t k) { return numbers(from)[k]; }, [to](std::int64_t k, Number re, Number im) { numbers(to)[k] = Complex(re, im); },
      [roots](std::int64_t k) { return Complex(roots[k].real(), roots[k].imag()); });
}

}  // namespace

const FourierLanes SINTER_FOURIER_LANES{SINTER_FOURIER_COUNT, &make, &free, &run, &multiply, &twist, &split, &join};

}  // namespace sinter::kernels
