// Discrete Fourier transforms, with the names of numpy.fft. Complex tensors are pairs of real ones of one shape (sinter/complex.hpp).
//
// Eigen's FFT computes them on the host in float64, over all other axes at once. This holds for a GPU, too; explain() says so. Lengths with large prime factors
// use Bluestein's algorithm, so every n takes n log n. float32 and floats of 8 and 16 bits give float32; all other types give float64.
#pragma once
#include <cstdint>
#include <optional>

#include "sinter/complex.hpp"
#include "sinter/tensor.hpp"

namespace sinter::fft {

/// Says which transform is multiplied by 1/n. backward: the inverse transform; forward: the forward transform; ortho: both are multiplied by 1/sqrt(n).
enum class Norm : std::uint8_t { backward, ortho, forward };

/// Transforms along an axis. The axis is first shortened to `n` elements, or padded with zeros to `n`. Throws ValueError for n < 1.
Complex fft(const Complex& x, std::optional<std::int64_t> n = {}, std::int64_t axis = -1, Norm norm = Norm::backward, Location where = Location::current());
Complex fft(const Arg& x, std::optional<std::int64_t> n = {}, std::int64_t axis = -1, Norm norm = Norm::backward);
Complex ifft(const Complex& x, std::optional<std::int64_t> n = {}, std::int64_t axis = -1, Norm norm = Norm::backward, Location where = Location::current());
/// Transforms real numbers and returns the n/2 + 1 frequencies from 0 on; the others are their conjugates.
Complex rfft(const Arg& x, std::optional<std::int64_t> n = {}, std::int64_t axis = -1, Norm norm = Norm::backward);
/// Inverts rfft and returns `n` elements. By default n is 2 * (m - 1) for m frequencies, so an odd n has to be given. The imaginary part of the first element
/// is treated as 0, and for an even n that of the last one, too.
Tensor irfft(const Complex& x, std::optional<std::int64_t> n = {}, std::int64_t axis = -1, Norm norm = Norm::backward, Location where = Location::current());

/// hfft transforms a signal whose spectrum is real. x is the first half of the signal, m elements; the other half are their conjugates. hfft returns `n` real
/// numbers, by default 2 * (m - 1). ihfft inverts hfft.
Tensor hfft(const Complex& x, std::optional<std::int64_t> n = {}, std::int64_t axis = -1, Norm norm = Norm::backward, Location where = Location::current());
Complex ihfft(const Arg& x, std::optional<std::int64_t> n = {}, std::int64_t axis = -1, Norm norm = Norm::backward);

/// These transform along several axes, one after the other: the given axes; without them, the last axes, as many as `s` has sizes; without both, all axes. `s`
/// gives the size to which each axis is shortened or padded. The real transforms treat the last axis as rfft and irfft do.
Complex fftn(const Complex& x, const Shape& s = {}, const Axes& axes = {}, Norm norm = Norm::backward, Location where = Location::current());
Complex fftn(const Arg& x, const Shape& s = {}, const Axes& axes = {}, Norm norm = Norm::backward);
Complex ifftn(const Complex& x, const Shape& s = {}, const Axes& axes = {}, Norm norm = Norm::backward, Location where = Location::current());
Complex rfftn(const Arg& x, const Shape& s = {}, const Axes& axes = {}, Norm norm = Norm::backward);
Tensor irfftn(const Complex& x, const Shape& s = {}, const Axes& axes = {}, Norm norm = Norm::backward, Location where = Location::current());

/// These return the frequencies of the results of fft and of rfft, for samples that are d apart, in float64: 0, 1/(dn), ..., and for fft the negative ones
/// after them.
Tensor fftfreq(std::int64_t n, double d = 1, Location where = Location::current());
Tensor rfftfreq(std::int64_t n, double d = 1, Location where = Location::current());
/// fftshift moves frequency 0 to the middle, and ifftshift moves it back.
Tensor fftshift(const Arg& x, const Axes& axes = {});
Tensor ifftshift(const Arg& x, const Axes& axes = {});

}  // namespace sinter::fft
