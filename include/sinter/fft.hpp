// Discrete Fourier transforms, with the names of numpy.fft. Complex tensors are pairs of real ones of one shape (sinter/complex.hpp).
//
// Computed in float64 whatever the type, by Eigen's FFT on the host (on a GPU: explain() says so), over all other axes at once; lengths with large prime
// factors by Bluestein's algorithm, so n log n for every n. float32 gives float32, and so do floats of 8 and 16 bits; all else float64.
#pragma once
#include <cstdint>
#include <optional>

#include "sinter/complex.hpp"
#include "sinter/tensor.hpp"

namespace sinter::fft {

/// Where the factor 1/n is: in the inverse, in both as 1/sqrt(n), in the forward transform.
enum class Norm : std::uint8_t { backward, ortho, forward };

/// Along an axis, which is first cut to `n` elements or filled up to it with zeros. Throws ValueError for n < 1.
Complex fft(const Complex& x, std::optional<std::int64_t> n = {}, std::int64_t axis = -1, Norm norm = Norm::backward, Location where = Location::current());
Complex fft(const Arg& x, std::optional<std::int64_t> n = {}, std::int64_t axis = -1, Norm norm = Norm::backward);
Complex ifft(const Complex& x, std::optional<std::int64_t> n = {}, std::int64_t axis = -1, Norm norm = Norm::backward, Location where = Location::current());
/// Of real numbers: the n/2 + 1 frequencies from 0 on, of which the others are the conjugates.
Complex rfft(const Arg& x, std::optional<std::int64_t> n = {}, std::int64_t axis = -1, Norm norm = Norm::backward);
/// The inverse of rfft. `n` elements result, 2 * (m - 1) by default: an odd n has to be told. The imaginary part of the first, and for an even n of the
/// last, is taken for 0.
Tensor irfft(const Complex& x, std::optional<std::int64_t> n = {}, std::int64_t axis = -1, Norm norm = Norm::backward, Location where = Location::current());

/// The transform of a signal whose frequencies are real, of which x is the first half and the others are its conjugates: `n` real numbers, 2 * (m - 1) by
/// default; and back.
Tensor hfft(const Complex& x, std::optional<std::int64_t> n = {}, std::int64_t axis = -1, Norm norm = Norm::backward, Location where = Location::current());
Complex ihfft(const Arg& x, std::optional<std::int64_t> n = {}, std::int64_t axis = -1, Norm norm = Norm::backward);

/// Along one axis after the other: the given ones, or as many of the last ones as there are sizes `s`, or all. `s` cuts or fills up each. The real ones
/// take the last axis as rfft and irfft do.
Complex fftn(const Complex& x, const Shape& s = {}, const Axes& axes = {}, Norm norm = Norm::backward, Location where = Location::current());
Complex fftn(const Arg& x, const Shape& s = {}, const Axes& axes = {}, Norm norm = Norm::backward);
Complex ifftn(const Complex& x, const Shape& s = {}, const Axes& axes = {}, Norm norm = Norm::backward, Location where = Location::current());
Complex rfftn(const Arg& x, const Shape& s = {}, const Axes& axes = {}, Norm norm = Norm::backward);
Tensor irfftn(const Complex& x, const Shape& s = {}, const Axes& axes = {}, Norm norm = Norm::backward, Location where = Location::current());

/// The frequencies of fft's results for samples d apart, float64: 0, 1/(dn), ..., then the negative ones; those of rfft's.
Tensor fftfreq(std::int64_t n, double d = 1, Location where = Location::current());
Tensor rfftfreq(std::int64_t n, double d = 1, Location where = Location::current());
/// Frequency 0 to the middle, and back.
Tensor fftshift(const Arg& x, const Axes& axes = {});
Tensor ifftshift(const Arg& x, const Axes& axes = {});

}  // namespace sinter::fft
