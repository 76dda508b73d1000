// Fourier transforms of several rows at once: a vector register holds one number of each row.
#pragma once
#include <complex>
#include <cstdint>
#include <vector>

namespace sinter::kernels {

/// How a length is taken apart into stages: the radix of each, and the length that remains after it.
struct Stages {
  std::vector<int> radices, remainders;
  int largest = 1;  ///< the largest radix
};

struct LanePlan;

/// The loops of one instruction set. An array of complex numbers in `lanes` rows contains, for each number, the real parts of all rows and then their
/// imaginary parts; it is aligned to 64 bytes.
struct FourierLanes {
  int lanes;
  /// Makes the tables of transforms of length n; it takes the stages' vectors. The caller frees the plan. Threads must not share one.
  LanePlan* (*make)(std::int64_t n, Stages& stages);
  void (*free)(LanePlan* plan);
  /// Transforms n complex numbers of each row.
  void (*run)(LanePlan& plan, const double* from, double* to);
  /// numbers[k] *= by[k] in each row; then takes the conjugate if `conjugate`.
  void (*multiply)(double* numbers, const std::complex<double>* by, std::int64_t n, bool conjugate);
  /// numbers[k] *= by[k] * each[k], where each row has its own each[k].
  void (*twist)(double* numbers, const std::complex<double>* by, const double* each, std::int64_t n);
  /// Transforms of n real numbers by complex transforms of n / 2, see halves.inl.
  void (*split_halves)(const double* from, double* to, const std::complex<double>* roots, std::int64_t half);
  void (*join_halves)(const double* from, double* to, const std::complex<double>* roots, std::int64_t half);
};

/// Returns the loops for this processor.
const FourierLanes& fourier_lanes();

extern const FourierLanes fourier_lanes_baseline, fourier_lanes_avx2, fourier_lanes_avx512;

}  // namespace sinter::kernels
