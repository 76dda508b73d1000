// Functions that all operators on 8-bit integers share.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "onnx/call.hpp"

namespace sinter::onnx {

/// The name of a Conv of the results of two DequantizeLinear nodes, with their operands: x, scale, zero point, weights, scale, zero point, [bias]; and the same
/// for a MatMul. The rewrite `keep_quantized` makes these operators; they occur in no file.
inline constexpr std::string_view kQuantizedConv = "sinter.QuantizedConv", kQuantizedMatMul = "sinter.QuantizedMatMul";

/// The maximum number of products of two 8-bit integers minus their zero points whose sum fits in int32.
inline constexpr std::int64_t kMaxProducts = ((std::int64_t{1} << 31) - 1) / (255 * 255);

/// The positions of the inputs of an operator that convolves 8-bit integers.
struct QuantizedInputs {
  std::size_t x, x_zero, w, w_zero;
};
std::optional<QuantizedInputs> convolution_inputs(std::string_view op);

/// The float32 value of a convolution's int32 sums: (sums + begin) * scale + shift. Each parameter is a number, or one number for each filter; an omitted one
/// adds nothing. ConvInteger gives the sums themselves.
struct Scaling {
  Tensor begin, scale, shift;
};
std::optional<Scaling> scaling_of(const Call& c);
/// Returns the node's result from the scaled sums, or from the sums.
Tensor of_scaled(const Call& c, const Tensor& y);

/// Rounds to even, and clips to the type's range.
Tensor saturated(const Call& c, const Tensor& numbers, DType to);
/// Quantises as QuantizeLinear does, with one scale and one zero point or with those along the node's axis.
Tensor quantized(const Call& c, const Tensor& x, const Tensor& scale, const Tensor& zero_point, DType to);
/// Returns (x as uint8 between its extremes, the scale, the zero point).
Results dynamically_quantized(const Call& c, const Tensor& x);
/// Returns uint8 if there is no zero point. Refuses dtypes of other sizes than 8 and 16 bits.
DType small_type(const Call& c, const Tensor& zero_point);
/// Returns the product of two operands minus their zero points, in int32 (tensors by input; a zero point may be omitted). `turned`: the right one is
/// transposed.
Tensor product_of_centred(const Call& c, std::size_t left, std::size_t left_zero, std::size_t right, std::size_t right_zero, bool turned = false);
/// The operator DynamicQuantizeMatMul. Inputs: (a, b, scale of b, zero point of b, bias). Rounds a to 8 bits between its extremes, and multiplies it by the
/// 8-bit numbers of b. The zero point and the bias may be omitted.
Results dynamic_quantize_matmul(const Call& c);

}  // namespace sinter::onnx
