// Convolutions of vectors, window functions and polynomials: compositions that fuse.
#pragma once
#include <cstdint>
#include <utility>

#include "sinter/complex.hpp"
#include "sinter/tensor.hpp"

namespace sinter {

/// The part of a convolution that is returned. full: all places where the vectors overlap; same: the middle part, with as many elements as the longer vector;
/// valid: the places where the shorter vector lies inside the longer one.
enum class ConvolveMode : std::uint8_t { full, same, valid };
/// These take vectors. convolve returns the sum over k of a[k] * v[n - k], correlate the sum over k of a[n + k] * v[k]. For vectors of n and m elements they
/// compute n * m products; for long vectors irfft(rfft(a, n) * rfft(v, n), n) is faster (sinter/fft.hpp).
Tensor convolve(const Arg& a, const Arg& v, ConvolveMode mode = ConvolveMode::full);
Tensor correlate(const Arg& a, const Arg& v, ConvolveMode mode = ConvolveMode::valid);

/// Returns the Fourier transforms of pieces of a signal, which lies along the last axis. Each piece has `length` samples, and the pieces begin `step` samples
/// apart; the result has shape (.., pieces, length / 2 + 1). The samples of a piece are multiplied by `window`, a vector of `length` numbers; an empty handle
/// stands for ones. Samples at the end that do not fill a piece are left out; pad the signal first to include them.
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

/// Returns the value of the polynomial at x, by Horner's rule. The coefficients are a vector of at most 2^20 elements, the highest power first.
Tensor polyval(const Arg& coefficients, const Arg& x);
/// Fits a polynomial of this degree to the points by least squares, with columns scaled as in NumPy. Returns its coefficients, the highest power first.
Tensor polyfit(const Arg& x, const Arg& y, std::int64_t degree);

/// These take and return coefficients, the highest power first, as above.
Tensor polyadd(const Arg& a, const Arg& b);
Tensor polysub(const Arg& a, const Arg& b);
Tensor polymul(const Arg& a, const Arg& b);
/// Returns the quotient and the remainder. Evaluates the remainder, and drops leading coefficients of magnitudes up to 1e-8, as NumPy does.
std::pair<Tensor, Tensor> polydiv(const Arg& a, const Arg& b);
/// polyder returns the derivative, polyint the integral, taken `times` times. `constants` holds the constant of integration: one number, or one for each
/// integration.
Tensor polyder(const Arg& p, std::int64_t times = 1);
Tensor polyint(const Arg& p, std::int64_t times = 1, const Arg& constants = 0);
/// Returns the polynomial that has these roots and the highest coefficient 1. For a square matrix it returns the characteristic polynomial.
Tensor poly(const Arg& roots);
Complex poly(const ComplexArg& roots);
/// Returns the zeros: the eigenvalues of the companion matrix, then a 0 for each trailing coefficient that is 0. Evaluates the coefficients.
Complex roots(const Arg& coefficients);

/// Adds whole periods to elements along an axis, so that neighbours differ by at most half a period. Integers become float64.
Tensor unwrap(const Arg& x, std::int64_t axis = -1, double period = 6.283185307179586476925);

}  // namespace sinter
