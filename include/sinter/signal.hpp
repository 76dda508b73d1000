// Convolutions of vectors, windows, polynomials: compositions that fuse.
#pragma once
#include <cstdint>
#include <utility>

#include "sinter/complex.hpp"
#include "sinter/tensor.hpp"

namespace sinter {

/// Which places of a convolution: all where the vectors meet, as many as the longer has, those where the shorter lies inside.
enum class ConvolveMode : std::uint8_t { full, same, valid };
/// sum over k of a[k] * v[n - k], and sum over k of a[n + k] * v[k], of vectors. Windows times the shorter vector, summed: n*m products; for long ones
/// irfft(rfft(a, n) * rfft(v, n), n) is faster (sinter/fft.hpp).
Tensor convolve(const Arg& a, const Arg& v, ConvolveMode mode = ConvolveMode::full);
Tensor correlate(const Arg& a, const Arg& v, ConvolveMode mode = ConvolveMode::valid);

// Windows of n numbers, symmetric, float64.
Tensor bartlett(std::int64_t n, Location where = Location::current());
Tensor blackman(std::int64_t n, Location where = Location::current());
Tensor hamming(std::int64_t n, Location where = Location::current());
Tensor hanning(std::int64_t n, Location where = Location::current());
/// i0(beta sqrt(1 - t^2)) / i0(beta) for t from -1 to 1.
Tensor kaiser(std::int64_t n, double beta, Location where = Location::current());

/// The modified Bessel function of the first kind and order 0; computed in float64, integers become it.
Tensor i0(const Arg& x);

/// The polynomial at x, by Horner's rule; coefficients are a vector of at most 2^20, the highest power first.
Tensor polyval(const Arg& coefficients, const Arg& x);
/// The coefficients, highest power first, of the polynomial of this degree that lies nearest to the points (least squares, as NumPy scaled by column).
Tensor polyfit(const Arg& x, const Arg& y, std::int64_t degree);

/// Of coefficients, the highest power first, as above.
Tensor polyadd(const Arg& a, const Arg& b);
Tensor polysub(const Arg& a, const Arg& b);
Tensor polymul(const Arg& a, const Arg& b);
/// The quotient and what is left. Evaluates what is left, of which zeros in front are dropped (magnitudes up to 1e-8, as in NumPy).
std::pair<Tensor, Tensor> polydiv(const Arg& a, const Arg& b);
/// The derivative, and the integral with these constants (one, or one for each integration), so many times over.
Tensor polyder(const Arg& p, std::int64_t times = 1);
Tensor polyint(const Arg& p, std::int64_t times = 1, const Arg& constants = 0);
/// The polynomial with these roots, the highest coefficient 1; of a square matrix its characteristic one.
Tensor poly(const Arg& roots);
Complex poly(const ComplexArg& roots);
/// Where the polynomial is 0: the eigenvalues of its companion matrix, then zeros for coefficients of 0 at the end. Evaluates the coefficients.
Complex roots(const Arg& coefficients);

/// Jumps of more than half a period between neighbours along an axis taken out by whole periods; integers become float64.
Tensor unwrap(const Arg& x, std::int64_t axis = -1, double period = 6.283185307179586476925);

}  // namespace sinter
