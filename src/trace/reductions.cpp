// Reductions, and what is composed of them.
#include <limits>

#include <fmt/format.h>

#include "sinter/ops.hpp"
#include "trace/build.hpp"
#include "trace/promote.hpp"

namespace sinter {
namespace {

using namespace trace;

std::int64_t count_along(const Shape& shape, const std::vector<std::int64_t>& axes) {
  std::int64_t count = 1;
  for (const std::int64_t axis : axes) count *= shape[static_cast<std::size_t>(axis)];
  return count;
}

Shape kept(Shape shape, const std::vector<std::int64_t>& axes) {
  for (const std::int64_t axis : axes) shape[static_cast<std::size_t>(axis)] = 1;
  return shape;
}

Tensor reduce(Op op, const Site& site, const RecordedPtr& x, const Axes& axes, bool keepdims) {
  const auto list = checked_axes(site, axes, static_cast<std::int64_t>(x->shape.size()));
  if (list.empty()) return Tensor(x);
  const Shape with_ones = kept(x->shape, list);
  if (!primitive(op).empty_ok && count_along(x->shape, list) == 0 && element_count(with_ones) != 0) {
    fail<ValueError>(site, fmt::format("shape {} has no elements to reduce and {} has no value for nothing", to_string(x->shape),
                                       op == Op::reduce_max ? "max" : "min"));
  }
  const RecordedPtr node = make_reduction(site, op, x, list);
  return Tensor(keepdims ? make_reshape(site, node, with_ones) : node);
}

/// The argument as the type that a sum or product accumulates in.
RecordedPtr accumulated(const Site& site, const Arg& x, std::optional<DType> dtype) {
  const RecordedPtr node = as_node(site, x);
  check_computable(site, node->dtype);
  if (dtype) check_computable(site, *dtype);
  return make_cast(site, node, dtype.value_or(is_floating(node->dtype) ? node->dtype : DType::int64));
}

Tensor scan(Op op, const Site& site, RecordedPtr x, std::optional<std::int64_t> axis) {
  if (!axis) x = make_reshape(site, x, {element_count(x->shape)});
  return Tensor(make_scan(site, op, x, checked_axis(site, axis.value_or(0), static_cast<std::int64_t>(x->shape.size()))));
}
RecordedPtr computable(const Site& site, const Arg& x) {
  RecordedPtr node = as_node(site, x);
  check_computable(site, node->dtype);
  return node;
}

Tensor extreme(Op op, const char* name, const Arg& x, const Axes& axes, bool keepdims) {
  const Site site = site_of(name, x.where());
  const RecordedPtr node = as_node(site, x);
  check_computable(site, node->dtype);
  return reduce(op, site, node, axes, keepdims);
}

Tensor truth(Op op, const char* name, const Arg& x, const Axes& axes, bool keepdims) {
  const Site site = site_of(name, x.where());
  const RecordedPtr node = as_node(site, x);
  check_computable(site, node->dtype);
  const RecordedPtr flags = make_cast(site, node, DType::bool_);
  const auto list = checked_axes(site, axes, static_cast<std::int64_t>(flags->shape.size()));
  const Shape with_ones = kept(flags->shape, list);
  if (count_along(flags->shape, list) == 0) {  // of nothing: any is false, all is true
    Shape shape = keepdims ? with_ones : Shape{};
    for (std::size_t k = 0, next = 0; !keepdims && k < with_ones.size(); ++k) {
      if (next < list.size() && list[next] == static_cast<std::int64_t>(k)) {
        ++next;
      } else {
        shape.push_back(with_ones[k]);
      }
    }
    return Tensor(make_constant(site, make_scalar_int(DType::bool_, op == Op::reduce_min), std::move(shape)));
  }
  return reduce(op, site, flags, axes, keepdims);
}

/// The argument as a floating tensor, checked; what mean, var and softmax compute in.
Tensor floating(const Site& site, const Arg& x) {
  const RecordedPtr node = as_node(site, x);
  check_computable(site, node->dtype);
  return Tensor(is_floating(node->dtype) ? node : make_cast(site, node, DType::float64));
}

std::int64_t count_of(const Site& site, const Tensor& x, const Axes& axes) {
  return count_along(x.shape(), checked_axes(site, axes, x.ndim()));
}

}  // namespace

Tensor sum(const Arg& x, const Axes& axes, bool keepdims, std::optional<DType> dtype) {
  const Site site = site_of("sum", x.where());
  return reduce(Op::reduce_sum, site, accumulated(site, x, dtype), axes, keepdims);
}
Tensor prod(const Arg& x, const Axes& axes, bool keepdims, std::optional<DType> dtype) {
  const Site site = site_of("prod", x.where());
  return reduce(Op::reduce_prod, site, accumulated(site, x, dtype), axes, keepdims);
}
Tensor min(const Arg& x, const Axes& axes, bool keepdims) { return extreme(Op::reduce_min, "min", x, axes, keepdims); }
Tensor max(const Arg& x, const Axes& axes, bool keepdims) { return extreme(Op::reduce_max, "max", x, axes, keepdims); }
Tensor any(const Arg& x, const Axes& axes, bool keepdims) { return truth(Op::reduce_max, "any", x, axes, keepdims); }
Tensor all(const Arg& x, const Axes& axes, bool keepdims) { return truth(Op::reduce_min, "all", x, axes, keepdims); }

Tensor cumsum(const Arg& x, std::optional<std::int64_t> axis, std::optional<DType> dtype) {
  const Site site = site_of("cumsum", x.where());
  return scan(Op::reduce_sum, site, accumulated(site, x, dtype), axis);
}
Tensor cumprod(const Arg& x, std::optional<std::int64_t> axis, std::optional<DType> dtype) {
  const Site site = site_of("cumprod", x.where());
  return scan(Op::reduce_prod, site, accumulated(site, x, dtype), axis);
}
Tensor cummax(const Arg& x, std::optional<std::int64_t> axis) {
  const Site site = site_of("cummax", x.where());
  return scan(Op::reduce_max, site, computable(site, x), axis);
}
Tensor cummin(const Arg& x, std::optional<std::int64_t> axis) {
  const Site site = site_of("cummin", x.where());
  return scan(Op::reduce_min, site, computable(site, x), axis);
}

Tensor mean(const Arg& x, const Axes& axes, bool keepdims, std::optional<DType> dtype) {
  const Scope scope("mean", x.where());
  const Tensor values = dtype ? astype(x, *dtype) : floating(scope.site(), x);
  if (!is_floating(values.dtype())) {
    return divide(sum(values, axes, keepdims), count_of(scope.site(), values, axes)).astype(values.dtype());
  }
  return divide(sum(values, axes, keepdims), count_of(scope.site(), values, axes));
}

Tensor var(const Arg& x, const Axes& axes, bool keepdims, int ddof) {
  const Scope scope("var", x.where());
  const Tensor values = floating(scope.site(), x);
  const std::int64_t n = count_of(scope.site(), values, axes);
  const Tensor centered = values - mean(values, axes, true);
  return divide(sum(square(centered), axes, keepdims), n > ddof ? n - ddof : 0);
}

Tensor stddev(const Arg& x, const Axes& axes, bool keepdims, int ddof) {
  const Scope scope("stddev", x.where());
  return sqrt(var(x, axes, keepdims, ddof));
}

Tensor logsumexp(const Arg& x, const Axes& axes, bool keepdims) {
  const Scope scope("logsumexp", x.where());
  const Tensor values = floating(scope.site(), x);
  if (count_of(scope.site(), values, axes) == 0) return log(sum(values, axes, keepdims));  // of nothing: log 0
  const Tensor top = max(values, axes, true);
  const Tensor shift = where(isfinite(top), top, 0);  // inf - inf would be NaN
  const Tensor result = log(sum(exp(values - shift), axes, true)) + shift;
  if (keepdims) return result;
  const Axes reduced(checked_axes(scope.site(), axes, values.ndim()));
  return squeeze(result, reduced);
}

Tensor softmax(const Arg& x, const Axes& axes) {
  const Scope scope("softmax", x.where());
  const Tensor values = floating(scope.site(), x);
  const Tensor e = exp(values - max(values, axes, true));
  return e / sum(e, axes, true);
}

Tensor log_softmax(const Arg& x, const Axes& axes) {
  const Scope scope("log_softmax", x.where());
  const Tensor values = floating(scope.site(), x);
  const Tensor shifted = values - max(values, axes, true);
  return shifted - log(sum(exp(shifted), axes, true));
}

Tensor layer_norm(const Arg& x, const Tensor& weight, const Tensor& bias, double eps, const Axes& axes) {
  const Scope scope("layer_norm", x.where());
  const Tensor values = floating(scope.site(), x);
  const Tensor centered = values - mean(values, axes, true);
  Tensor y = centered * rsqrt(mean(square(centered), axes, true) + eps);
  if (!weight.empty_handle()) y = y * weight;
  if (!bias.empty_handle()) y = y + bias;
  return y;
}

Tensor rms_norm(const Arg& x, const Tensor& weight, double eps, const Axes& axes) {
  const Scope scope("rms_norm", x.where());
  const Tensor values = floating(scope.site(), x);
  const Tensor y = values * rsqrt(mean(square(values), axes, true) + eps);
  return weight.empty_handle() ? y : y * weight;
}

Tensor sigmoid(const Arg& x) {
  const Scope scope("sigmoid", x.where());
  return 1 / (1 + exp(-floating(scope.site(), x)));
}

Tensor silu(const Arg& x) {
  const Scope scope("silu", x.where());
  const Tensor values = floating(scope.site(), x);
  return values / (1 + exp(-values));
}

Tensor relu(const Arg& x) {
  const Scope scope("relu", x.where());
  return maximum(x, 0);
}

Tensor gelu(const Arg& x, Approximate approximate) {
  const Scope scope("gelu", x.where());
  const Tensor values = floating(scope.site(), x);
  if (approximate == Approximate::exact) {
    constexpr double kInverseSqrt2 = 0.70710678118654752440;
    return 0.5 * values * (1 + erf(values * kInverseSqrt2));
  }
  constexpr double kSqrt2OverPi = 0.79788456080286535588;
  const Tensor cubic = values + 0.044715 * (values * values * values);
  return 0.5 * values * (1 + tanh(kSqrt2OverPi * cubic));
}

}  // namespace sinter
