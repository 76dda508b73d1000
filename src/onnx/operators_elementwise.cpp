// Operators that compute each element by itself.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "onnx/call.hpp"
#include "onnx/quantized.hpp"
#include "onnx/types.hpp"
#include "sinter/sinter.hpp"

namespace sinter::onnx {
namespace {

/// Makes a scalar of the operands' type, because ONNX keeps that type.
Tensor like(const Call& c, const Tensor& x, double value) { return full({}, Arg(value, c.where()), x.dtype()); }

/// Divides. The quotient of integers is rounded towards zero.
Tensor quotient(const Call& c, const Tensor& a, const Tensor& b) {
  const Arg x = c.at_node(a), y = c.at_node(b);
  if (!is_integer(a.dtype())) return divide(x, y);
  if (is_unsigned(a.dtype())) return floor_divide(x, y);
  const Tensor rest = fmod(x, y);
  return floor_divide(c.at_node(subtract(x, c.at_node(rest))), y);
}

Results pow_of(const Call& c) {
  const Tensor &x = c.tensor(0), &y = c.tensor(1);
  if (is_floating(x.dtype()) || is_floating(y.dtype())) {
    const DType wide = is_floating(x.dtype()) ? x.dtype() : y.dtype();
    // A constant exponent is recorded as a literal, so that squares and roots are recorded as such.
    if (const std::optional<double> exponent = c.constant_number(1); exponent && wide == x.dtype() && y.ndim() <= x.ndim()) {
      if (*exponent == 2 || *exponent == 0.5) return {power(c[0], *exponent)};
      if (*exponent == 3) return {multiply(c[0], multiply(c[0], c[0]))};
    }
    return {astype(power(astype(c[0], wide), astype(c[1], wide)), x.dtype())};
  }
  return {astype(power(c[0], astype(c[1], x.dtype())), x.dtype())};
}

template <Tensor (*combine)(const Arg&, const Arg&)> Results over_all(const Call& c) {
  Tensor result = c.tensor(0);
  for (std::size_t i = 1; i < c.count(); ++i) result = combine(c.at_node(result), c[i]);
  return {result};
}

Results clip_of(const Call& c) {
  Tensor x = c.tensor(0);
  if (c.given("min") || c.given("max")) {  // before opset 11
    x = maximum(c.at_node(x), like(c, x, c.number("min", -std::numeric_limits<float>::infinity())));
    return {minimum(c.at_node(x), like(c, x, c.number("max", std::numeric_limits<float>::infinity())))};
  }
  if (c.has(1)) x = maximum(c.at_node(x), c[1]);
  if (c.has(2)) x = minimum(c.at_node(x), c[2]);
  return {x};
}

/// Computes a composition of several functions in float32 or wider, and rounds once to the input's type.
template <class F> Results composed(const Call& c, F&& function) {
  const Tensor& x = c.tensor(0);
  const DType wide = traits(x.dtype()).compute;
  const Tensor in = wide == x.dtype() ? x : astype(c[0], wide);
  const Tensor out = function(c.at_node(in));
  return {out.dtype() == x.dtype() ? out : astype(c.at_node(out), x.dtype())};
}

Results cast_to(const Call& c, DType to) { return {is_float8(to) ? saturated(c, c.tensor(0), to) : astype(c[0], to)}; }

Results is_inf(const Call& c) {
  const bool negative = c.integer("detect_negative", 1) != 0, positive = c.integer("detect_positive", 1) != 0;
  const Tensor inf = isinf(c[0]);
  if (negative && positive) return {inf};
  if (!negative && !positive) return {logical_and(c.at_node(inf), false)};
  return {logical_and(c.at_node(inf), negative ? less(c[0], 0) : greater(c[0], 0))};
}

Results dropout(const Call& c) {
  if (c.has(2) && c.real(2) != 0) {
    if (!c.has(1) || c.real(1) != 0) c.refuse("training_mode is not supported: a model is run, not trained");
  }
  return {c.tensor(0), ones(c.tensor(0).shape(), DType::bool_)};
}

Results bit_shift(const Call& c) {
  const std::string direction = c.text("direction");
  if (direction == "LEFT") return {left_shift(c[0], c[1])};
  if (direction == "RIGHT") return {right_shift(c[0], c[1])};
  c.refuse(fmt::format("direction '{}'", direction));
}

Results gelu_of(const Call& c) {
  const bool tanh = c.text("approximate", "none") == "tanh";
  return {gelu(c[0], tanh ? Approximate::tanh : Approximate::exact)};
}

Results prelu_of(const Call& c) { return {where(c.at_node(less(c[0], 0)), c.at_node(multiply(c[0], c[1])), c[0])}; }

Results shrink(const Call& c) {
  const double bias = c.number("bias", 0), lambd = c.number("lambd", 0.5);
  const Tensor& x = c.tensor(0);
  const Tensor low = add(c[0], like(c, x, bias)), high = subtract(c[0], like(c, x, bias)), zero = like(c, x, 0);
  return {where(c.at_node(less(c[0], like(c, x, -lambd))), c.at_node(low), where(c.at_node(greater(c[0], like(c, x, lambd))), high, zero))};
}

Results selu_of(const Call& c) {
  const double alpha = c.number("alpha", 1.67326319217681884765625), gamma = c.number("gamma", 1.05070102214813232421875);
  return composed(c, [&](const Arg& x) { return multiply(elu(x, alpha), gamma); });
}

Results hard_sigmoid_of(const Call& c) {
  const double alpha = c.number("alpha", 0.2f), beta = c.number("beta", 0.5);
  return composed(c, [&](const Arg& x) { return clip(add(multiply(x, alpha), beta), 0, 1); });
}

Results mod_of(const Call& c) { return {c.integer("fmod", 0) != 0 ? fmod(c[0], c[1]) : remainder(c[0], c[1])}; }

const Operator kElementwiseRows[] = {
    {"Abs", {1, 1}, [](const Call& c) -> Results { return {absolute(c[0])}; }},
    {"Acos", {1, 1}, [](const Call& c) -> Results { return {acos(c[0])}; }},
    {"Acosh", {1, 1}, [](const Call& c) -> Results { return {acosh(c[0])}; }},
    {"Add", {2, 2}, [](const Call& c) -> Results { return {add(c[0], c[1])}; }},
    {"And", {2, 2}, [](const Call& c) -> Results { return {logical_and(c[0], c[1])}; }},
    {"Asin", {1, 1}, [](const Call& c) -> Results { return {asin(c[0])}; }},
    {"Asinh", {1, 1}, [](const Call& c) -> Results { return {asinh(c[0])}; }},
    {"Atan", {1, 1}, [](const Call& c) -> Results { return {atan(c[0])}; }},
    {"Atanh", {1, 1}, [](const Call& c) -> Results { return {atanh(c[0])}; }},
    {"BitShift", {2, 2}, bit_shift},
    {"BitwiseAnd", {2, 2}, [](const Call& c) -> Results { return {bitwise_and(c[0], c[1])}; }},
    {"BitwiseNot", {1, 1}, [](const Call& c) -> Results { return {bitwise_not(c[0])}; }},
    {"BitwiseOr", {2, 2}, [](const Call& c) -> Results { return {bitwise_or(c[0], c[1])}; }},
    {"BitwiseXor", {2, 2}, [](const Call& c) -> Results { return {bitwise_xor(c[0], c[1])}; }},
    {"Cast", {1, 1}, [](const Call& c) { return cast_to(c, element_type(c, c.integer("to"))); }},
    {"CastLike", {2, 2}, [](const Call& c) { return cast_to(c, c.tensor(1).dtype()); }},
    {"Ceil", {1, 1}, [](const Call& c) -> Results { return {ceil(c[0])}; }},
    {"Celu", {1, 1}, [](const Call& c) -> Results { return {celu(c[0], c.number("alpha", 1))}; }},
    {"Clip", {1, 3}, clip_of},
    {"Cos", {1, 1}, [](const Call& c) -> Results { return {cos(c[0])}; }},
    {"Cosh", {1, 1}, [](const Call& c) -> Results { return {cosh(c[0])}; }},
    {"Div", {2, 2}, [](const Call& c) -> Results { return {quotient(c, c.tensor(0), c.tensor(1))}; }},
    {"Dropout", {1, 3}, dropout},
    {"Elu", {1, 1}, [](const Call& c) -> Results { return {elu(c[0], c.number("alpha", 1))}; }},
    {"Equal", {2, 2}, [](const Call& c) -> Results { return {equal(c[0], c[1])}; }},
    {"Erf", {1, 1}, [](const Call& c) -> Results { return {erf(c[0])}; }},
    {"Exp", {1, 1}, [](const Call& c) -> Results { return {exp(c[0])}; }},
    {"Floor", {1, 1}, [](const Call& c) -> Results { return {floor(c[0])}; }},
    {"Gelu", {1, 1}, gelu_of},
    {"Greater", {2, 2}, [](const Call& c) -> Results { return {greater(c[0], c[1])}; }},
    {"GreaterOrEqual", {2, 2}, [](const Call& c) -> Results { return {greater_equal(c[0], c[1])}; }},
    {"HardSigmoid", {1, 1}, hard_sigmoid_of},
    {"HardSwish", {1, 1}, [](const Call& c) -> Results { return {hard_swish(c[0])}; }},
    {"Identity", {1, 1}, [](const Call& c) -> Results { return {c.tensor(0)}; }},
    {"IsInf", {1, 1}, is_inf},
    {"IsNaN", {1, 1}, [](const Call& c) -> Results { return {isnan(c[0])}; }},
    {"LeakyRelu", {1, 1}, [](const Call& c) -> Results { return {leaky_relu(c[0], c.number("alpha", 0.01f))}; }},
    {"Less", {2, 2}, [](const Call& c) -> Results { return {less(c[0], c[1])}; }},
    {"LessOrEqual", {2, 2}, [](const Call& c) -> Results { return {less_equal(c[0], c[1])}; }},
    {"Log", {1, 1}, [](const Call& c) -> Results { return {log(c[0])}; }},
    {"Max", {1, kAny}, over_all<maximum>},
    {"Mean",
     {1, kAny},
     [](const Call& c) -> Results {
       const Tensor sum = over_all<add>(c)[0];
       return {divide(c.at_node(sum), like(c, sum, static_cast<double>(c.count())))};
     }},
    {"Min", {1, kAny}, over_all<minimum>},
    {"Mish", {1, 1}, [](const Call& c) -> Results { return {mish(c[0])}; }},
    {"Mod", {2, 2}, mod_of},
    {"Mul", {2, 2}, [](const Call& c) -> Results { return {multiply(c[0], c[1])}; }},
    {"Neg", {1, 1}, [](const Call& c) -> Results { return {negative(c[0])}; }},
    {"Not", {1, 1}, [](const Call& c) -> Results { return {logical_not(c[0])}; }},
    {"Or", {2, 2}, [](const Call& c) -> Results { return {logical_or(c[0], c[1])}; }},
    {"PRelu", {2, 2}, prelu_of},
    {"Pow", {2, 2}, pow_of},
    {"Reciprocal", {1, 1}, [](const Call& c) -> Results { return {reciprocal(c[0])}; }},
    {"Relu", {1, 1}, [](const Call& c) -> Results { return {relu(c[0])}; }},
    {"Round", {1, 1}, [](const Call& c) -> Results { return {rint(c[0])}; }},
    {"Selu", {1, 1}, selu_of},
    {"Shrink", {1, 1}, shrink},
    {"Sigmoid", {1, 1}, [](const Call& c) -> Results { return {sigmoid(c[0])}; }},
    {"Sign", {1, 1}, [](const Call& c) -> Results { return {sign(c[0])}; }},
    {"Sin", {1, 1}, [](const Call& c) -> Results { return {sin(c[0])}; }},
    {"Sinh", {1, 1}, [](const Call& c) -> Results { return {sinh(c[0])}; }},
    {"Softplus", {1, 1}, [](const Call& c) -> Results { return {softplus(c[0])}; }},
    {"Softsign", {1, 1}, [](const Call& c) -> Results { return {softsign(c[0])}; }},
    {"Sqrt", {1, 1}, [](const Call& c) -> Results { return {sqrt(c[0])}; }},
    {"Sub", {2, 2}, [](const Call& c) -> Results { return {subtract(c[0], c[1])}; }},
    {"Sum", {1, kAny}, over_all<add>},
    {"Swish", {1, 1}, [](const Call& c) { return composed(c, [&](const Arg& x) { return multiply(x, sigmoid(multiply(x, c.number("alpha", 1)))); }); }},
    {"Tan", {1, 1}, [](const Call& c) -> Results { return {tan(c[0])}; }},
    {"Tanh", {1, 1}, [](const Call& c) -> Results { return {tanh(c[0])}; }},
    {"ThresholdedRelu", {1, 1}, [](const Call& c) -> Results { return {threshold(c[0], c.number("alpha", 1), 0)}; }},
    {"Where", {3, 3}, [](const Call& c) -> Results { return {where(c[0], c[1], c[2])}; }},
    {"Xor", {2, 2}, [](const Call& c) -> Results { return {logical_xor(c[0], c[1])}; }},
    // an operator of ONNX Runtime
    {"com.microsoft.BiasGelu", {2, 2}, [](const Call& c) -> Results { return {gelu(c.at_node(add(c[0], c[1])))}; }},
    {"com.microsoft.FastGelu", {1, 2}, [](const Call& c) -> Results { return {gelu(c.has(1) ? c.at_node(add(c[0], c[1])) : c[0], Approximate::tanh)}; }},
    {"com.microsoft.Gelu", {1, 1}, [](const Call& c) -> Results { return {gelu(c[0])}; }},
    {"com.microsoft.QuickGelu",
     {1, 1},
     [](const Call& c) { return composed(c, [&](const Arg& x) { return multiply(x, sigmoid(multiply(x, c.number("alpha", 1.702f)))); }); }},
};

}  // namespace

std::span<const Operator> elementwise_operators() { return kElementwiseRows; }

}  // namespace sinter::onnx
