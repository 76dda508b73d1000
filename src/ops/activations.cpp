// Activation functions: compositions that are accurate even for very small results.
#include <cmath>

#include <fmt/format.h>

#include "ops/composed.hpp"
#include "sinter/counted.hpp"
#include "sinter/nn.hpp"
#include "sinter/ops.hpp"

namespace sinter {
namespace {

using namespace ops;

Tensor sigmoid_of(const Site& site, const Tensor& x) { return Tensor(make_elementwise(site, Op::sigmoid, {x.node()})); }
/// Multiplies x by a factor that is about exp(x) for very negative x. If the factor would be subnormal, with few digits, it is evaluated at a larger argument
/// and scaled down at the end.
template <class Factor> Tensor times(const Tensor& x, Factor factor) {
  const bool wide = x.dtype() == DType::float64;
  const double far = wide ? -700 : -80, shift = wide ? 640 : 60;  // x + shift is exact
  const Tensor beyond = x < far;
  const Tensor product = x * factor(where(beyond, x + shift, x));
  return where(beyond, product * std::exp(-shift), product);
}
Tensor silu_of(const Site& site, const Tensor& x) {
  return times(x, [&](const Tensor& at) { return sigmoid_of(site, at); });
}
/// Computes log(1 + exp(x)) without an overflow.
Tensor softplus_of(const Tensor& x) { return maximum(x, 0) + log1p(exp(-abs(x))); }
Tensor relu6_of(const Tensor& x) { return minimum(maximum(x, 0), 6); }
/// Computes alpha * (exp(x / scale) - 1) for x below 0. The argument is clamped so that the unused branch does not overflow.
Tensor elu_of(const Tensor& x, double alpha, double scale = 1) {
  const Tensor below = minimum(x, 0);
  return where(x > 0, x, alpha * expm1(scale == 1 ? below : below / scale));
}

/// Returns the two halves of an axis.
struct Halves {
  Tensor first, second;
};
Halves halves(const Site& site, const Tensor& x, std::int64_t axis) {
  const std::int64_t along = checked_axis(site, axis, x.ndim()), size = x.shape()[static_cast<std::size_t>(along)];
  if (size % 2 != 0) fail<ShapeError>(site, fmt::format("axis {} of shape {} has no two equal halves", axis, to_string(x.shape())));
  std::vector<Index> first(static_cast<std::size_t>(along), Slice{}), second = first;
  first.push_back(Slice{0, size / 2});
  second.push_back(Slice{size / 2, size});
  return {slice(x, first), slice(x, second)};
}

}  // namespace

Tensor sigmoid(const Arg& x) {
  const Scope scope("sigmoid", x.where());
  const Composed sigmoid = floating(scope.site(), x);
  return sigmoid(sigmoid_of(scope.site(), sigmoid.values));
}

Tensor silu(const Arg& x) {
  const Scope scope("silu", x.where());
  const Composed silu = floating(scope.site(), x);
  return silu(silu_of(scope.site(), silu.values));
}

Tensor relu(const Arg& x) {
  const Scope scope("relu", x.where());
  return maximum(x, 0);
}

Tensor gelu(const Arg& x, Approximate approximate) {
  const Scope scope("gelu", x.where());
  const Composed gelu = floating(scope.site(), x);
  const Tensor& values = gelu.values;
  if (approximate == Approximate::exact) return gelu(values * ndtr(values));
  // 0.5 (1 + tanh(u)) is computed as sigmoid(2u), which loses no digits by cancellation.
  constexpr double kTwiceSqrt2OverPi = 1.59576912160573071176;
  const Tensor cubic = values + 0.044715 * (values * values * values);
  return gelu(values * sigmoid_of(scope.site(), kTwiceSqrt2OverPi * cubic));
}

Tensor leaky_relu(const Arg& x, double negative_slope) {
  const Scope scope("leaky_relu", x.where());
  const Composed leaky_relu = floating(scope.site(), x);
  return leaky_relu(where(leaky_relu.values < 0, leaky_relu.values * negative_slope, leaky_relu.values));
}

Tensor elu(const Arg& x, double alpha) {
  const Scope scope("elu", x.where());
  const Composed elu = floating(scope.site(), x);
  return elu(elu_of(elu.values, alpha));
}

Tensor selu(const Arg& x) {
  const Scope scope("selu", x.where());
  const Composed selu = floating(scope.site(), x);
  constexpr double kScale = 1.0507009873554804934193349852946, kAlpha = 1.6732632423543772848170429916717;
  return selu(kScale * elu_of(selu.values, kAlpha));
}

Tensor celu(const Arg& x, double alpha) {
  const Scope scope("celu", x.where());
  if (alpha == 0) fail<ValueError>(scope.site(), "alpha divides and cannot be 0");
  const Composed celu = floating(scope.site(), x);
  return celu(elu_of(celu.values, alpha, alpha));
}

Tensor softplus(const Arg& x) {
  const Scope scope("softplus", x.where());
  const Composed softplus = floating(scope.site(), x);
  return softplus(softplus_of(softplus.values));
}

Tensor mish(const Arg& x) {
  const Scope scope("mish", x.where());
  const Composed mish = floating(scope.site(), x);
  // tanh(log(1 + e)) = n / (n + 2) with n = e (e + 2), which is 1 long before e overflows.
  return mish(times(mish.values, [](const Tensor& at) {
    const Tensor e = exp(minimum(at, 20)), n = e * (e + 2);
    return n / (n + 2);
  }));
}

Tensor hard_sigmoid(const Arg& x) {
  const Scope scope("hard_sigmoid", x.where());
  const Composed hard_sigmoid = floating(scope.site(), x);
  return hard_sigmoid(relu6_of(hard_sigmoid.values + 3) / 6);
}

Tensor hard_swish(const Arg& x) {
  const Scope scope("hard_swish", x.where());
  const Composed hard_swish = floating(scope.site(), x);
  return hard_swish(hard_swish.values * (relu6_of(hard_swish.values + 3) / 6));
}

Tensor glu(const Arg& x, std::int64_t axis) {
  const Scope scope("glu", x.where());
  const Composed glu = floating(scope.site(), x);
  const auto [value, gate] = halves(scope.site(), glu.values, axis);
  return glu(value * sigmoid_of(scope.site(), gate));
}

Tensor swiglu(const Arg& x, std::int64_t axis) {
  const Scope scope("swiglu", x.where());
  const Composed swiglu = floating(scope.site(), x);
  const auto [gate, value] = halves(scope.site(), swiglu.values, axis);
  return swiglu(silu_of(scope.site(), gate) * value);
}

Tensor prelu(const Arg& x, const Tensor& weight) {
  const Scope scope("prelu", x.where());
  const Composed prelu = floating(scope.site(), x);
  const Shape &shape = prelu.values.shape(), &given = node_of(scope.site(), weight)->shape;
  const std::int64_t count = element_count(given), channels = shape.size() < 2 ? 1 : shape[1];
  if (given.size() > 1 || (count != 1 && count != channels))
    fail<ShapeError>(scope.site(), fmt::format("weight of shape {} for {} of x of shape {}", to_string(given), counted(channels, "channel"), to_string(shape)));
  Shape along(shape.size(), 1);
  if (shape.size() > 1) along[1] = count;
  const Tensor slope = reshape(astype(weight, prelu.values.dtype()), along);
  return prelu(where(prelu.values < 0, prelu.values * slope, prelu.values));
}

Tensor relu6(const Arg& x) {
  const Scope scope("relu6", x.where());
  return relu6_of(Tensor(as_node(scope.site(), x)));
}

Tensor hardtanh(const Arg& x, double min_val, double max_val) {
  const Scope scope("hardtanh", x.where());
  if (!(min_val <= max_val)) fail<ValueError>(scope.site(), fmt::format("min_val of {} above max_val of {}", min_val, max_val));
  const Composed hardtanh = floating(scope.site(), x);
  return hardtanh(minimum(maximum(hardtanh.values, min_val), max_val));
}

Tensor threshold(const Arg& x, double threshold, double value) {
  const Scope scope("threshold", x.where());
  const Composed held = floating(scope.site(), x);
  return held(where(held.values > threshold, held.values, value));
}

Tensor softsign(const Arg& x) {
  const Scope scope("softsign", x.where());
  const Composed softsign = floating(scope.site(), x);
  return softsign(softsign.values / (1 + abs(softsign.values)));
}

Tensor logsigmoid(const Arg& x) {
  const Scope scope("logsigmoid", x.where());
  const Composed logsigmoid = floating(scope.site(), x);
  return logsigmoid(-softplus_of(-logsigmoid.values));
}

Tensor tanhshrink(const Arg& x) {
  const Scope scope("tanhshrink", x.where());
  const Composed tanhshrink = floating(scope.site(), x);
  return tanhshrink(tanhshrink.values - tanh(tanhshrink.values));
}

Tensor hardshrink(const Arg& x, double lambda) {
  const Scope scope("hardshrink", x.where());
  const Composed hardshrink = floating(scope.site(), x);
  return hardshrink(where((hardshrink.values >= -lambda) & (hardshrink.values <= lambda), 0, hardshrink.values));
}

Tensor softshrink(const Arg& x, double lambda) {
  const Scope scope("softshrink", x.where());
  const Composed softshrink = floating(scope.site(), x);
  const Tensor& values = softshrink.values;
  return softshrink(where(values > lambda, values - lambda, where(values < -lambda, values + lambda, values * 0)));
}

}  // namespace sinter
