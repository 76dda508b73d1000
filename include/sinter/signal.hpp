// Convolutions of vectors, window functions and polynomials: compositions that fuse.
#pragma once
#include <cstdint>
#include <utility>

#include "sinter/complex.hpp"
#include "sinter/tensor.hpp"

namespace sinter {

/// The part of a convolution that is returned. full: where the vectors overlap; same: as many elements as the longer has; valid: where the shorter lies inside.
enum class ConvolveMode : std::uint8_t { full, same, valid };
/// Return the sum over k of a[k] * v[n - k], and the sum over k of a[n + k] * v[k], of vectors. They multiply windows by the shorter vector and sum: n*m
/// products. For long vectors irfft(rfft(a, n) * rfft(v, n), n) is faster (sinter/fft.hpp).
Tensor convolve(const Arg& a, const Arg& v, ConvolveMode mode = ConvolveMode::full);
Tensor correlate(const Arg& a, const Arg& v, ConvolveMode mode = ConvolveMode::valid);

/// Returns the Fourier transforms of pieces of a signal's last axis, which have `length` samples and begin `step` apart: (.., pieces, length / 2 + 1). A window
/// of `length` numbers weighs the samples; an empty handle means 1. Samples at the end that do not fill a piece are left out; pad first to keep them.
Complex stft(const Arg& x, std::int64_t length, std::int64_t step, const Tensor& window = {});

// Symmetric windows of n numbers, float64.
Tensor bartlett(std::int64_t n, Location where = Location::current());
Tensor blackman(std::int64_t n, Location where = Location::current());
Tensor hamming(std::int64_t n, Location where = Location::current());
Tensor hanning(std::int64_t n, Location where = Location::current());
/// Returns i0(beta sqrt(1 - t^2)) / i0(beta) for t from -1 to 1.
Tensor kaiser(std::int64_t n, double beta, Location where = Location::current());

/// Returns the modified Bessel function of the first kind and order 0, computed in float64; integers become float64.
Tensor i0(const Arg& x);

/// Evaluates the polynomial at x by Horner's rule. The coefficients are a vector of at most 2^20, the highest power first.
Tensor polyval(const Arg& coefficients, const Arg& x);
/// Returns the coefficients, highest power first, of the polynomial of this degree nearest to the points (least squares, columns scaled as in NumPy).
Tensor polyfit(const Arg& x, const Arg& y, std::int64_t degree);

/// These take and return coefficients, the highest power first, as above.
Tensor polyadd(const Arg& a, const Arg& b);
Tensor polysub(const Arg& a, const Arg& b);
Tensor polymul(const Arg& a, const Arg& b);
/// Returns the quotient and the remainder. Evaluates the remainder and drops its leading zeros (magnitudes up to 1e-8, as in NumPy).
std::pair<Tensor, Tensor> polydiv(const Arg& a, const Arg& b);
/// Return the derivative, and the integral with these constants (one, or one for each integration), applied `times` times.
Tensor polyder(const Arg& p, std::int64_t times = 1);
Tensor polyint(const Arg& p, std::int64_t times = 1, const Arg& constants = 0);
/// Returns the polynomial with these roots and the highest coefficient 1; for a square matrix, its characteristic polynomial.
Tensor poly(const Arg& roots);
Complex poly(const ComplexArg& roots);
/// Returns the zeros: the eigenvalues of the companion matrix, then a 0 for each trailing coefficient that is 0. Evaluates the coefficients.
Complex roots(const Arg& coefficients);

/// Removes jumps of more than half a period between neighbours along an axis by adding whole periods; integers become float64.
Tensor unwrap(const Arg& x, std::int64_t axis = -1, double period = 6.283185307179586476925);

}  // namespace sinter
