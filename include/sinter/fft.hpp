// Discrete Fourier transforms, with the names of numpy.fft. Complex tensors are pairs of real ones of one shape (sinter/complex.hpp).
//
// Eigen's FFT computes them on the host in float64 (also for a GPU: explain() says so), over all other axes at once. Lengths with large prime factors use
// Bluestein's algorithm, so every n takes n log n. float32 and floats of 8 and 16 bits give float32; all other types give float64.
#pragma once
#include <cstdint>
#include <optional>

#include "sinter/complex.hpp"
#include "sinter/tensor.hpp"

namespace sinter::fft {

/// The transform that has the factor 1/n: the inverse (backward), both as 1/sqrt(n) (ortho), or the forward transform.
enum class Norm : std::uint8_t { backward, ortho, forward };

/// Transforms along an axis, which is first cut to `n` elements or padded to it with zeros. Throws ValueError for n < 1.
Complex fft(const Complex& x, std::optional<std::int64_t> n = {}, std::int64_t axis = -1, Norm norm = Norm::backward, Location where = Location::current());
Complex fft(const Arg& x, std::optional<std::int64_t> n = {}, std::int64_t axis = -1, Norm norm = Norm::backward);
Complex ifft(const Complex& x, std::optional<std::int64_t> n = {}, std::int64_t axis = -1, Norm norm = Norm::backward, Location where = Location::current());
/// Transforms real numbers and returns the n/2 + 1 frequencies from 0 on; the others are their conjugates.
Complex rfft(const Arg& x, std::optional<std::int64_t> n = {}, std::int64_t axis = -1, Norm norm = Norm::backward);
/// Inverts rfft and returns `n` elements, 2 * (m - 1) by default: an odd n has to be given. The imaginary part of the first element, and for an even n of the
/// last, is treated as 0.
Tensor irfft(const Complex& x, std::optional<std::int64_t> n = {}, std::int64_t axis = -1, Norm norm = Norm::backward, Location where = Location::current());

/// hfft transforms a signal whose spectrum is real. x is the signal's first half; its conjugates are the other half. It returns `n` real numbers, 2 * (m - 1)
/// by default. ihfft inverts hfft.
Tensor hfft(const Complex& x, std::optional<std::int64_t> n = {}, std::int64_t axis = -1, Norm norm = Norm::backward, Location where = Location::current());
Complex ihfft(const Arg& x, std::optional<std::int64_t> n = {}, std::int64_t axis = -1, Norm norm = Norm::backward);

/// Transform along one axis after the other: the given ones, or as many of the last ones as there are sizes `s`, or all. `s` cuts or pads each axis. The real
/// transforms treat the last axis as rfft and irfft do.
Complex fftn(const Complex& x, const Shape& s = {}, const Axes& axes = {}, Norm norm = Norm::backward, Location where = Location::current());
Complex fftn(const Arg& x, const Shape& s = {}, const Axes& axes = {}, Norm norm = Norm::backward);
Complex ifftn(const Complex& x, const Shape& s = {}, const Axes& axes = {}, Norm norm = Norm::backward, Location where = Location::current());
Complex rfftn(const Arg& x, const Shape& s = {}, const Axes& axes = {}, Norm norm = Norm::backward);
Tensor irfftn(const Complex& x, const Shape& s = {}, const Axes& axes = {}, Norm norm = Norm::backward, Location where = Location::current());

/// Return the frequencies of the results of fft and of rfft for samples d apart, float64: 0, 1/(dn), ..., then for fft the negative ones.
Tensor fftfreq(std::int64_t n, double d = 1, Location where = Location::current());
Tensor rfftfreq(std::int64_t n, double d = 1, Location where = Location::current());
/// Move frequency 0 to the middle, and back.
Tensor fftshift(const Arg& x, const Axes& axes = {});
Tensor ifftshift(const Arg& x, const Axes& axes = {});

}  // namespace sinter::fft
