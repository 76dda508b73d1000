// What the operators on 8-bit numbers share, however their convolutions are computed.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "onnx/call.hpp"

namespace sinter::onnx {

/// A Conv of what two DequantizeLinear give, with the numbers they read: x, scale, zero point, weights, scale, zero point, [bias]; and a MatMul likewise.
/// The rewrite `keep_quantized` makes them; no file has them.
inline constexpr std::string_view kQuantizedConv = "sinter.QuantizedConv", kQuantizedMatMul = "sinter.QuantizedMatMul";

/// So many products of two numbers of 8 bits less their zero points fit into int32.
inline constexpr std::int64_t kMostProducts = ((std::int64_t{1} << 31) - 1) / (255 * 255);

/// Which inputs of an operator that convolves 8-bit numbers are what.
struct QuantizedInputs {
  std::size_t x, x_zero, w, w_zero;
};
std::optional<QuantizedInputs> convolution_inputs(std::string_view op);

/// What the sums of a convolution, in int32, stand for: (sums + begin) * scale + shift, in float32. Each is a number, or one for each filter; what is left out
/// adds nothing. ConvInteger gives the sums themselves.
struct Scaling {
  Tensor begin, scale, shift;
};
std::optional<Scaling> scaling_of(const Call& c);
/// What the node gives of that, or of the sums.
Tensor of_scaled(const Call& c, const Tensor& y);

/// Rounded to even, and to what the type holds.
Tensor saturated(const Call& c, const Tensor& numbers, DType to);
/// As QuantizeLinear does, with one scale and one zero point or those along the node's axis.
Tensor quantized(const Call& c, const Tensor& x, const Tensor& scale, const Tensor& zero_point, DType to);
/// uint8, where there is no zero point; refuses other types than those of 8 and 16 bits.
DType small_type(const Call& c, const Tensor& zero_point);
/// The product of two operands less their zero points, in int32 (tensors by input; a zero point may be left out). `turned`: the right one is transposed.
Tensor product_of_centred(const Call& c, std::size_t left, std::size_t left_zero, std::size_t right, std::size_t right_zero, bool turned = false);

}  // namespace sinter::onnx
