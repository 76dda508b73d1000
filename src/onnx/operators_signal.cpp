// Operators on signals: Fourier transforms of whole signals and of windows, and window functions.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "onnx/call.hpp"
#include "onnx/types.hpp"
#include "sinter/counted.hpp"
#include "sinter/sinter.hpp"

namespace sinter::onnx {
namespace {

/// The parts of numbers along a last axis of size 1 (real) or 2 (real and imaginary).
struct Parts {
  Tensor re, im;  // im: empty for real numbers
};

Parts parts_of(const Call& c, const Tensor& x) {
  const std::int64_t last = x.ndim() > 0 ? x.shape().back() : 0;
  if (x.ndim() < 2 || (last != 1 && last != 2)) c.refuse(fmt::format("a signal of shape {}; the last axis must hold one number or two", to_string(x.shape())));
  return {x.at({ellipsis, 0}, c.where()), last == 2 ? x.at({ellipsis, 1}, c.where()) : Tensor()};
}

Tensor side_by_side(const Call& c, const Complex& x, DType dtype) { return astype(c.at_node(stack({x.re, x.im}, -1, c.where())), dtype); }

Complex transformed(const Call& c, const Parts& x, std::optional<std::int64_t> length, std::int64_t axis, bool onesided) {
  if (x.im.empty_handle()) return onesided ? fft::rfft(c.at_node(x.re), length, axis) : fft::fft(c.at_node(x.re), length, axis);
  if (onesided) c.refuse("onesided is only for real signals; the halves of a complex spectrum differ");
  return fft::fft(Complex{x.re, x.im}, length, axis, fft::Norm::backward, c.where());
}

Results dft(const Call& c) {
  const Tensor& x = c.tensor(0);
  const bool attribute = c.opset() < 20;
  std::int64_t axis = attribute ? c.integer("axis", 1) : c.has(2) ? c.value(2) : -2;
  axis = c.axis(axis, x.ndim());
  if (axis == x.ndim() - 1) c.refuse("the axis holds the real and imaginary parts");
  std::optional<std::int64_t> length;
  if (c.has(1)) length = c.within({c.value(1)}, "the length", 1)[0];
  const Parts parts = parts_of(c, x);
  const bool onesided = c.integer("onesided", 0) != 0;
  if (c.integer("inverse", 0) == 0) return {side_by_side(c, transformed(c, parts, length, axis, onesided), x.dtype())};
  if (onesided)
    return {astype(c.at_node(expand_dims(c.at_node(fft::irfft(Complex{parts.re, parts.im.empty_handle() ? zeros_like(c.at_node(parts.re)) : parts.im}, length,
                                                              axis, fft::Norm::backward, c.where())),
                                         -1)),
                   x.dtype())};
  const Complex whole{parts.re, parts.im.empty_handle() ? zeros_like(c.at_node(parts.re)) : parts.im};
  return {side_by_side(c, fft::ifft(whole, length, axis, fft::Norm::backward, c.where()), x.dtype())};
}

/// Transforms pieces that begin `step` apart, each multiplied by a window: [batch, pieces, frequencies, 2].
Results stft(const Call& c) {
  const Tensor& x = c.tensor(0);
  if (x.ndim() != 2 && x.ndim() != 3) c.refuse(fmt::format("a signal of shape {}", to_string(x.shape())));
  const Parts parts = x.ndim() == 2 ? Parts{x, {}} : parts_of(c, x);
  const std::int64_t step = c.value(1), samples = parts.re.size(1);
  const std::int64_t length = c.has(3) ? c.value(3) : c.has(2) ? c.tensor(2).size() : 0;
  if (step < 1 || length < 1 || length > samples)
    c.refuse(fmt::format("pieces of {} every {} samples do not fit {}", length, step, sinter::counted(samples, "sample")));
  if (c.has(2) && c.tensor(2).shape() != Shape{length})
    c.refuse(fmt::format("window shape {} does not fit pieces of {}", to_string(c.tensor(2).shape()), length));
  const auto pieces = [&](const Tensor& signal) {
    const Tensor all = sliding_window_view(c.at_node(signal), {length}, {1}).at({Slice{}, Slice{{}, {}, step}}, c.where());
    return c.has(2) ? multiply(c.at_node(all), c.tensor(2)) : all;
  };
  const Parts frames{pieces(parts.re), parts.im.empty_handle() ? Tensor() : pieces(parts.im)};
  return {side_by_side(c, transformed(c, frames, {}, -1, c.integer("onesided", 1) != 0), x.dtype())};
}

/// a0 - a1 cos(t) + a2 cos(2t). If periodic, t takes a full turn in `size` steps; otherwise t is 0 at the first position and a full turn at the last.
Results cosines(const Call& c, double a0, double a1, double a2) {
  const std::int64_t size = c.within({c.value(0)}, "the window's size", 1)[0];
  const double round = static_cast<double>(c.integer("periodic", 1) != 0 ? size : std::max<std::int64_t>(size - 1, 1));
  const Tensor t = astype(arange(Arg(size, c.where())), DType::float64) * (2 * std::numbers::pi / round);
  return {astype(c.at_node(a0 - a1 * cos(t) + a2 * cos(2.0 * t)), element_type(c, c.integer("output_datatype", 1)))};
}

const Operator kSignalRows[] = {
    {"BlackmanWindow", {1, 1}, [](const Call& c) { return cosines(c, 0.42, 0.5, 0.08); }},
    {"DFT", {1, 3}, dft},
    {"HammingWindow", {1, 1}, [](const Call& c) { return cosines(c, 25.0 / 46, 21.0 / 46, 0); }},
    {"HannWindow", {1, 1}, [](const Call& c) { return cosines(c, 0.5, 0.5, 0); }},
    {"STFT", {2, 4}, stft},
};

}  // namespace

std::span<const Operator> signal_operators() { return kSignalRows; }

}  // namespace sinter::onnx
