// Operators on 8-bit integers that represent numbers: x = (q - zero_point) * scale.
#include <fmt/format.h>

#include "onnx/call.hpp"
#include "onnx/quantized.hpp"
#include "onnx/types.hpp"
#include "onnx/windows.hpp"
#include "sinter/nn.hpp"
#include "sinter/sinter.hpp"

namespace sinter::onnx {
namespace {

/// Reshapes a scale or zero point so that it broadcasts to x: one number, one for each index of an axis, or one for each block of indices.
Tensor along_axis(const Call& c, const Tensor& parameter, const Tensor& x) {
  if (const std::int64_t block = c.within({c.integer("block_size", 0)}, "block_size", 0)[0]; block != 0) {
    const auto axis = static_cast<std::size_t>(c.axis(c.integer("axis", 1), x.ndim()));
    Shape blocks = x.shape();
    blocks[axis] = (blocks[axis] + block - 1) / block;
    if (parameter.shape() != blocks)
      c.refuse(fmt::format("scales or zero points of shape {} do not fit blocks of {} along axis {} of {}", to_string(parameter.shape()), block, axis,
                           to_string(x.shape())));
    std::vector<Index> covered(axis, Index(Slice{}));
    covered.push_back(Slice{0, x.shape()[axis]});
    return repeat(c.at_node(parameter), block, static_cast<std::int64_t>(axis)).at(covered, c.where());
  }
  if (parameter.size() == 1) return reshape(c.at_node(parameter), {});
  if (parameter.ndim() != 1) c.refuse(fmt::format("scales or zero points of shape {} without a block_size", to_string(parameter.shape())));
  const std::int64_t axis = c.axis(c.integer("axis", 1), x.ndim());
  Shape shape(static_cast<std::size_t>(x.ndim()), 1);
  shape[static_cast<std::size_t>(axis)] = parameter.size();
  return reshape(c.at_node(parameter), shape);
}

}  // namespace

/// Clips to the range of the type. For integers, minimum and maximum take one instruction each, while clip() also tests for NaN; NaN becomes the least number.
/// For float8, NaN stays NaN.
Tensor saturated(const Call& c, const Tensor& numbers, DType to) {
  if (is_floating(to)) {
    if (c.integer("saturate", 1) == 0) return astype(c.at_node(numbers), to);
    const double largest = finfo(to).max;
    const Tensor wide = astype(c.at_node(numbers), is_floating(numbers.dtype()) ? traits(numbers.dtype()).compute : DType::float64);
    return astype(c.at_node(clip(c.at_node(wide), -largest, largest)), to);
  }
  const bool is_signed = !is_unsigned(to);
  const int bits = static_cast<int>(itemsize(to)) * 8;
  const Tensor low = full({}, is_signed ? -std::ldexp(1.0, bits - 1) : 0, DType::float32),
               high = full({}, std::ldexp(1.0, is_signed ? bits - 1 : bits) - 1, DType::float32);
  const Tensor above = where(c.at_node(greater(c.at_node(numbers), low)), numbers, low);
  return astype(c.at_node(where(c.at_node(less(c.at_node(above), high)), above, high)), to);
}

DType small_type(const Call& c, const Tensor& zero_point) {
  const DType dtype = zero_point.empty_handle() ? DType::uint8 : zero_point.dtype();
  if (dtype != DType::uint8 && dtype != DType::int8 && dtype != DType::uint16 && dtype != DType::int16) c.refuse(fmt::format("quantized to {}", name(dtype)));
  return dtype;
}

Tensor quantized(const Call& c, const Tensor& x, const Tensor& scale, const Tensor& zero_point, DType to) {
  Tensor numbers = divide(c.at_node(astype(c.at_node(x), DType::float32)), astype(c.at_node(along_axis(c, scale, x)), DType::float32));
  if (!is_floating(to)) numbers = rint(c.at_node(numbers));
  if (!zero_point.empty_handle()) numbers = add(c.at_node(numbers), astype(c.at_node(along_axis(c, zero_point, x)), DType::float32));
  return saturated(c, numbers, to);
}

namespace {

Results quantize_linear(const Call& c) {
  const Tensor zero_point = c.tensor_or_none(2);
  DType to = !zero_point.empty_handle() && is_float8(zero_point.dtype()) ? zero_point.dtype() : small_type(c, zero_point);
  if (zero_point.empty_handle() && c.integer("output_dtype", 0) != 0) to = element_type(c, c.integer("output_dtype"));
  return {quantized(c, c.tensor(0), c.tensor(1), zero_point, to)};
}

Results dequantize_linear(const Call& c) {
  const Tensor &x = c.tensor(0), &scale = c.tensor(1);
  const DType computed = is_float8(x.dtype()) ? DType::float32 : DType::int32;
  Tensor numbers = astype(c[0], computed);
  if (c.has(2)) numbers = subtract(c.at_node(numbers), astype(c.at_node(along_axis(c, c.tensor(2), x)), computed));
  return {astype(multiply(astype(c.at_node(numbers), DType::float32), astype(c.at_node(along_axis(c, scale, x)), DType::float32)), scale.dtype())};
}

}  // namespace

Results dynamically_quantized(const Call& c, const Tensor& x) {
  const Tensor low = minimum(c.at_node(min(c.at_node(x))), 0), high = maximum(c.at_node(max(c.at_node(x))), 0);
  const Tensor scale = divide(subtract(c.at_node(high), low), 255);
  const Tensor zero_point = saturated(c, rint(divide(negative(c.at_node(low)), scale)), DType::uint8);
  return {quantized(c, x, scale, zero_point, DType::uint8), scale, zero_point};
}

namespace {

/// Returns the operand minus its zero point, in int32. There is one zero point for each row of the first operand, or for each column of the second.
Tensor centred(const Call& c, std::size_t operand, std::size_t zero_point, bool rows) {
  const Tensor wide = astype(c[operand], DType::int32);
  if (!c.has(zero_point)) return wide;
  const Tensor zero = astype(c[zero_point], DType::int32);
  return subtract(c.at_node(wide), zero.ndim() == 1 && zero.size() > 1 && rows ? reshape(c.at_node(zero), {-1, 1})
                                   : zero.size() == 1                          ? reshape(c.at_node(zero), {})
                                                                               : zero);
}

/// Reshapes a zero point, in int32, so that it broadcasts to the product: a number stays a number, the rows' zero points become a column, the columns' a row.
Tensor beside_product(const Call& c, const Tensor& zero, bool rows) {
  const Tensor wide = astype(c.at_node(zero), DType::int32);
  return zero.size() == 1 ? reshape(c.at_node(wide), {}) : zero.ndim() == 1 && rows ? reshape(c.at_node(wide), {-1, 1}) : wide;
}

}  // namespace

/// Multiplies the stored bytes and then corrects the product for the zero points, because devices multiply bytes directly.
Tensor product_of_centred(const Call& c, std::size_t left, std::size_t left_zero, std::size_t right, std::size_t right_zero, bool turned) {
  const Tensor& a = c.tensor(left);
  Tensor b = c.tensor(right);
  if (turned) {
    if (a.ndim() != 2 || b.ndim() != 2) c.refuse("a product of operands that are not matrices");
    b = transpose(c.at_node(b));
  }
  if (a.ndim() < 2 || b.ndim() < 2) return matmul(c.at_node(centred(c, left, left_zero, true)), centred(c, right, right_zero, false));
  const Tensor wide_a = astype(c.at_node(a), DType::int32), wide_b = astype(c.at_node(b), DType::int32);
  Tensor product = matmul(c.at_node(wide_a), wide_b);
  const auto zero_of = [&](std::size_t zero, bool rows) {
    return c.has(zero) && !c.is_constant_zero(zero) ? beside_product(c, c.tensor(zero), rows) : Tensor();
  };
  const Tensor zero_a = zero_of(left_zero, true), zero_b = zero_of(right_zero, false);
  const bool by_a = !zero_a.empty_handle(), by_b = !zero_b.empty_handle();
  if (by_a) product = subtract(c.at_node(product), multiply(sum(c.at_node(wide_b), {-2}, true, DType::int32), zero_a));
  if (by_b) product = subtract(c.at_node(product), multiply(sum(c.at_node(wide_a), {-1}, true, DType::int32), zero_b));
  if (by_a && by_b) product = add(c.at_node(product), multiply(c.at_node(zero_a), zero_b) * static_cast<std::int32_t>(a.shape().back()));
  return product;
}

namespace {

Results matmul_integer(const Call& c) { return {product_of_centred(c, 0, 2, 1, 3)}; }

Results qlinear_matmul(const Call& c) {
  const Tensor product = astype(c.at_node(product_of_centred(c, 0, 2, 3, 5)), DType::float32);
  const auto number = [&](std::size_t i) { return astype(c[i], DType::float32); };
  const Tensor scale = divide(multiply(c.at_node(number(1)), number(4)), number(6));
  const Tensor numbers = add(rint(multiply(c.at_node(product), scale)), number(7));
  return {saturated(c, numbers, small_type(c, c.tensor(7)))};
}

/// Convolves quantised operands, in int32. `w`: the number of the operand with the weights. There is one zero point for all filters, or one for each.
Tensor conv_of_centred(const Call& c, std::size_t x_zero, std::size_t w, std::size_t w_zero, const Tensor& bias) {
  const Tensor x = centred(c, 0, x_zero, false);
  Tensor weight = astype(c[w], DType::int32);
  if (x.ndim() < 3 || weight.ndim() != x.ndim())
    c.refuse(fmt::format("weights of shape {} do not fit a tensor of shape {}", to_string(weight.shape()), to_string(x.shape())));
  if (c.has(w_zero)) {
    const Tensor zero = astype(c[w_zero], DType::int32);
    Shape filters(static_cast<std::size_t>(weight.ndim()), 1);
    if (zero.size() > 1) filters[0] = zero.size();
    weight = subtract(c.at_node(weight), reshape(c.at_node(zero), filters));
  }
  const Windows how = windows(c, {weight.shape().begin() + 2, weight.shape().end()}, {x.shape().begin() + 2, x.shape().end()});
  return conv(c.at_node(x), weight, bias, {.stride = how.stride, .padding = how.padding, .dilation = how.dilation, .groups = c.size("group", 1)});
}

/// Computes in the order in which the model states the operations.
Results convolution_of_numbers(const Call& c) {
  const QuantizedInputs of = *convolution_inputs(c.node().op);
  Tensor y = conv_of_centred(c, of.x_zero, of.w, of.w_zero, {});
  const auto beside = [&](const Tensor& each) {
    Shape filters(static_cast<std::size_t>(y.ndim()), 1);
    filters[1] = each.size();
    return reshape(c.at_node(each), each.size() == 1 ? Shape{} : filters);
  };
  if (const auto by = scaling_of(c)) {
    if (!by->begin.empty_handle()) y = add(c.at_node(y), beside(by->begin));
    y = multiply(c.at_node(astype(c.at_node(y), DType::float32)), beside(by->scale));
    if (!by->shift.empty_handle()) y = add(c.at_node(y), beside(by->shift));
  }
  return {of_scaled(c, y)};
}

Tensor dequantized(const Call& c, std::size_t numbers, std::size_t scale, std::size_t zero, std::size_t channel_axis) {
  const Tensor& q = c.tensor(numbers);
  const auto beside = [&](const Tensor& parameter) {
    Shape shape(static_cast<std::size_t>(q.ndim()), 1);
    if (parameter.size() > 1) shape[channel_axis] = parameter.size();
    return reshape(c.at_node(parameter), parameter.size() > 1 ? shape : Shape{});
  };
  Tensor wide = astype(c.at_node(q), DType::int32);
  if (c.has(zero)) wide = subtract(c.at_node(wide), beside(astype(c[zero], DType::int32)));
  return multiply(c.at_node(astype(c.at_node(wide), DType::float32)), beside(c.tensor(scale)));
}

Results quantized_conv(const Call& c) {
  const Tensor& w = c.tensor(3);
  if (w.ndim() < 3 || c.tensor(0).ndim() < 3 || w.size() <= kMaxProducts * w.shape()[0]) return convolution_of_numbers(c);
  const Tensor x = dequantized(c, 0, 1, 2, 1), weight = dequantized(c, 3, 4, 5, 0);
  const Windows how = windows(c, {w.shape().begin() + 2, w.shape().end()}, {x.shape().begin() + 2, x.shape().end()});
  return {
      conv(c.at_node(x), weight, c.tensor_or_none(6), {.stride = how.stride, .padding = how.padding, .dilation = how.dilation, .groups = c.size("group", 1)})};
}

Results quantized_matmul(const Call& c) {
  const Tensor &a = c.tensor(0), &b = c.tensor(3);
  if (a.ndim() > 0 && b.ndim() > 0 && a.shape().back() > kMaxProducts)
    return {matmul(c.at_node(dequantized(c, 0, 1, 2, 0)), dequantized(c, 3, 4, 5, static_cast<std::size_t>(b.ndim() - 1)))};
  const Tensor scale = multiply(c.at_node(reshape(c[1], {})), c.tensor(4).size() == 1 ? reshape(c[4], {}) : c.tensor(4));
  return {multiply(c.at_node(astype(c.at_node(product_of_centred(c, 0, 2, 3, 5)), DType::float32)), scale)};
}

/// Multiplies by a matrix of 4-bit or 8-bit numbers, in blocks along the rows of its transpose; an operator of ONNX Runtime.
Results matmul_n_bits(const Call& c) {
  const std::int64_t k = c.size("K"), n = c.size("N"), block = c.size("block_size"), bits = c.size("bits", 4);
  c.shape({n, k + block}, "the weights");
  if ((bits != 4 && bits != 8) || block < 16) c.refuse(fmt::format("{} bits in blocks of {} are not supported for {} x {}", bits, block, n, k));
  if (c.has(4)) c.refuse("rows in another order (g_idx) are not supported");
  const std::int64_t blocks = (k + block - 1) / block;
  if (c.tensor(1).dtype() != DType::uint8 || c.tensor(1).size() != n * blocks * block * bits / 8 || c.tensor(2).size() != n * blocks)
    c.refuse(fmt::format("weights {} and {} scales do not fit {} x {} in blocks of {}", to_string(c.tensor(1).shape()), c.tensor(2).size(), n, k, block));
  const auto apart = [&](const Tensor& packed) {  // along the last axis; the lower half of each byte comes first
    if (bits == 8) return packed;
    const Tensor low = bitwise_and(c.at_node(packed), 15), high = right_shift(c.at_node(packed), 4);
    Shape shape = packed.shape();
    shape.back() *= 2;
    return reshape(c.at_node(stack({low, high}, packed.ndim(), c.where())), shape);
  };
  Tensor weights = astype(c.at_node(apart(reshape(c[1], {n, blocks, block * bits / 8}))), DType::float32);
  if (!c.has(3)) {
    weights = subtract(c.at_node(weights), bits == 4 ? 8 : 128);
  } else if (is_floating(c.tensor(3).dtype())) {
    weights = subtract(c.at_node(weights), reshape(c.at_node(astype(c[3], DType::float32)), {n, blocks, 1}));
  } else {
    const Tensor zero = apart(reshape(c[3], {n, -1})).at({Index(Slice{}), Index(Slice{0, blocks})}, c.where());
    weights = subtract(c.at_node(weights), reshape(c.at_node(astype(c.at_node(zero), DType::float32)), {n, blocks, 1}));
  }
  weights = multiply(c.at_node(weights), reshape(c.at_node(astype(c[2], DType::float32)), {n, blocks, 1}));
  weights = reshape(c.at_node(weights), {n, blocks * block}).at({Index(Slice{}), Index(Slice{0, k})}, c.where());
  const Tensor result = matmul(c[0], astype(c.at_node(matrix_transpose(c.at_node(weights))), c.tensor(0).dtype()));
  return {c.has(5) ? add(c.at_node(result), c.tensor(5)) : result};
}

}  // namespace

std::optional<QuantizedInputs> convolution_inputs(std::string_view op) {
  if (op == "ConvInteger") return QuantizedInputs{0, 2, 1, 3};
  if (op == "QLinearConv" || op == kQuantizedConv) return QuantizedInputs{0, 2, 3, 5};
  return {};
}

std::optional<Scaling> scaling_of(const Call& c) {
  if (c.node().op == "ConvInteger") return {};
  const auto floats = [&](std::size_t i) { return astype(c.at_node(reshape(c[i], c.tensor(i).size() == 1 ? Shape{} : Shape{-1})), DType::float32); };
  const Tensor scale = multiply(c.at_node(floats(1)), floats(4));
  if (c.node().op == kQuantizedConv) return Scaling{{}, scale, c.tensor_or_none(6)};
  return Scaling{c.tensor_or_none(8), divide(c.at_node(scale), floats(6)), {}};
}

Tensor of_scaled(const Call& c, const Tensor& y) {
  if (c.node().op != "QLinearConv") return y;
  const Tensor numbers = rint(c.at_node(y));
  return saturated(c, c.has(7) ? add(c.at_node(numbers), astype(c.at_node(reshape(c[7], {})), DType::float32)) : numbers, small_type(c, c.tensor_or_none(7)));
}

namespace {

const Operator kQuantizedRows[] = {
    {"ConvInteger", {2, 4}, convolution_of_numbers},
    {"DequantizeLinear", {2, 3}, dequantize_linear},
    {"DynamicQuantizeLinear", {1, 1}, [](const Call& c) { return dynamically_quantized(c, c.tensor(0)); }},
    {"MatMulInteger", {2, 4}, matmul_integer},
    {"QLinearConv", {8, 9}, convolution_of_numbers},
    {"QLinearMatMul", {8, 8}, qlinear_matmul},
    {"QuantizeLinear", {2, 3}, quantize_linear},
    {"com.microsoft.MatMulNBits", {3, 6}, matmul_n_bits},
    {kQuantizedConv, {6, 7}, quantized_conv},
    {kQuantizedMatMul, {5, 6}, quantized_matmul},
};

}  // namespace

std::span<const Operator> quantized_operators() { return kQuantizedRows; }

}  // namespace sinter::onnx
