// ONNX Runtime's own operators on 8-bit integers, which its quantiser writes in the format QOperator. Each computes with the represented numbers and rounds
// once.
#include "onnx/call.hpp"
#include "onnx/quantized.hpp"
#include "sinter/nn.hpp"
#include "sinter/sinter.hpp"

namespace sinter::onnx {
namespace {

/// Dequantises input i. The two inputs after it are its scale and zero point.
Tensor dequantized(const Call& c, std::size_t i) {
  Tensor numbers = astype(c[i], DType::int32);
  if (c.has(i + 2)) numbers = subtract(c.at_node(numbers), astype(c.at_node(reshape(c[i + 2], {})), DType::int32));
  return multiply(c.at_node(astype(c.at_node(numbers), DType::float32)), reshape(c[i + 1], {}));
}

/// Quantises by the scale and the zero point that are inputs i and i + 1.
Results as_numbers(const Call& c, const Tensor& x, std::size_t i) {
  const Tensor zero = c.tensor_or_none(i + 1);
  return {quantized(c, x, c.tensor(i), zero, small_type(c, zero))};
}

Results qlinear_add(const Call& c) { return as_numbers(c, add(c.at_node(dequantized(c, 0)), dequantized(c, 3)), 6); }
Results qlinear_mul(const Call& c) { return as_numbers(c, multiply(c.at_node(dequantized(c, 0)), dequantized(c, 3)), 6); }
Results qlinear_sigmoid(const Call& c) { return as_numbers(c, sigmoid(c.at_node(dequantized(c, 0))), 3); }
Results qlinear_leaky_relu(const Call& c) { return as_numbers(c, leaky_relu(c.at_node(dequantized(c, 0)), c.number("alpha", 0.01)), 3); }

/// Averages over axes 2 and later, which are axes 2 and 3 even with channels in blocks (ops/blocked.hpp).
Results qlinear_global_average_pool(const Call& c) {
  if (c.integer("channels_last", 0) != 0) c.refuse("channels along the last axis (channels_last) are not supported");
  const Tensor x = dequantized(c, 0);
  if (x.ndim() != 4 && x.ndim() != 5) c.refuse("the tensor must have exactly two spatial axes");
  return as_numbers(c, mean(c.at_node(x), {2, 3}, true), 3);
}

Results qlinear_concat(const Call& c) {
  std::vector<Tensor> parts;
  for (std::size_t i = 2; i < c.count(); i += 3) parts.push_back(dequantized(c, i));
  return as_numbers(c, concatenate(parts, c.axis(c.integer("axis"), parts[0].ndim())), 0);
}

Results qgemm(const Call& c) {
  if (c.integer("transA", 0) != 0 || c.number("alpha", 1) != 1) c.refuse("a transposed first matrix, or an alpha other than 1, is not supported");
  Tensor sums = product_of_centred(c, 0, 2, 3, 5, c.integer("transB", 0) != 0);
  if (c.has(6)) sums = add(c.at_node(sums), c.tensor(6));
  const Tensor scale = multiply(c.at_node(reshape(c[1], {})), c.tensor(4).size() == 1 ? reshape(c[4], {}) : c.tensor(4));
  const Tensor y = multiply(c.at_node(astype(c.at_node(sums), DType::float32)), scale);
  return c.has(7) ? as_numbers(c, y, 7) : Results{y};
}

/// Inputs: (a, b, scale of a, scale of b, zero point of a, zero point of b, bias). Multiplies 8-bit numbers and returns floats.
Results matmul_integer_to_float(const Call& c) {
  const auto one = [&](std::size_t i) { return c.tensor(i).size() == 1 ? reshape(c[i], {}) : c.tensor(i); };
  const Tensor sums = astype(c.at_node(product_of_centred(c, 0, 4, 1, 5)), c.tensor(2).dtype());
  const Tensor y = multiply(c.at_node(sums), multiply(c.at_node(one(2)), one(3)));
  return {c.has(6) ? add(c.at_node(y), c.tensor(6)) : y};
}

}  // namespace

Results dynamic_quantize_matmul(const Call& c) {
  const Results a = dynamically_quantized(c, c.tensor(0));
  return matmul_integer_to_float(
      c.with({a[0], c.tensor(1), a[1], c.tensor(2), a[2], c.is_constant_zero(3) ? Tensor() : c.tensor_or_none(3), c.tensor_or_none(4)}));
}

namespace {

const Operator kRuntimeQuantizedRows[] = {
    {"com.microsoft.DynamicQuantizeMatMul", {3, 5}, dynamic_quantize_matmul},
    {"com.microsoft.MatMulIntegerToFloat", {4, 7}, matmul_integer_to_float},
    {"com.microsoft.QGemm", {6, 9}, qgemm},
    {"com.microsoft.QLinearAdd", {7, 8}, qlinear_add},
    {"com.microsoft.QLinearConcat", {4, kAny}, qlinear_concat},
    {"com.microsoft.QLinearGlobalAveragePool", {4, 5}, qlinear_global_average_pool},
    {"com.microsoft.QLinearLeakyRelu", {4, 5}, qlinear_leaky_relu},
    {"com.microsoft.QLinearMul", {7, 8}, qlinear_mul},
    {"com.microsoft.QLinearSigmoid", {4, 5}, qlinear_sigmoid},
};

}  // namespace

std::span<const Operator> runtime_quantized_operators() { return kRuntimeQuantizedRows; }

}  // namespace sinter::onnx
