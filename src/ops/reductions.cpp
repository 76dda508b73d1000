// Reductions, and functions composed of them.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "ops/composed.hpp"
#include "ops/recording.hpp"
#include "sinter/ops.hpp"
#include "trace/known_shapes.hpp"

namespace sinter {
namespace {

using namespace ops;

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
  auto list = reduced_axes(site, axes, static_cast<std::int64_t>(x->shape.size()));
  if (list.empty()) return Tensor(x);
  FewSizes with_ones(x->shape.size());
  std::copy(x->shape.begin(), x->shape.end(), with_ones.span().begin());
  for (const std::int64_t axis : list) with_ones[static_cast<std::size_t>(axis)] = 1;
  if (!primitive(op).empty_ok && count_along(x->shape, list) == 0 && std::ranges::find(with_ones.span(), 0) == with_ones.span().end()) {
    fail<ValueError>(site,
                     fmt::format("shape {} has no elements to reduce, and {} needs at least one", to_string(x->shape), op == Op::reduce_max ? "max" : "min"));
  }
  const RecordedPtr node = make_reduction(site, op, x, std::move(list));
  return Tensor(keepdims ? make_reshape(site, node, with_ones) : node);
}

/// Computes a sum or product in the accumulator's type and returns it in NumPy's.
Tensor accumulated(Op op, const char* name, const Arg& x, const Axes& axes, bool keepdims, std::optional<DType> dtype) {
  const Site site = site_of(name, x.where());
  const RecordedPtr node = as_node(site, x);
  const DType type = dtype.value_or(is_floating(node->dtype) ? node->dtype : traits(node->dtype).sum);
  const Tensor total = reduce(op, site, make_cast(site, node, traits(type).compute), axes, keepdims);
  return Tensor(make_cast(site, total.node(), type));
}

/// Scans x, which is in the compute type, and returns the result in `type`.
Tensor scan(Op op, const Site& site, RecordedPtr x, std::optional<std::int64_t> axis, DType type) {
  if (!axis || x->shape.empty()) x = make_reshape(site, x, {element_count(x->shape)});
  x = make_cast(site, x, traits(type).compute);
  x = make_scan(site, op, x, checked_axis(site, axis.value_or(0), static_cast<std::int64_t>(x->shape.size())));
  return Tensor(make_cast(site, x, type));
}
/// Scans sums or products.
Tensor accumulated(Op op, const char* name, const Arg& x, std::optional<std::int64_t> axis, std::optional<DType> dtype) {
  const Site site = site_of(name, x.where());
  const RecordedPtr node = as_node(site, x);
  return scan(op, site, node, axis, dtype.value_or(is_floating(node->dtype) ? node->dtype : traits(node->dtype).sum));
}
Tensor extreme_so_far(Op op, const char* name, const Arg& x, std::optional<std::int64_t> axis) {
  const Site site = site_of(name, x.where());
  const RecordedPtr node = as_node(site, x);
  return scan(op, site, node, axis, node->dtype);
}

Tensor extreme(Op op, const char* name, const Arg& x, const Axes& axes, bool keepdims) {
  const Site site = site_of(name, x.where());
  const RecordedPtr node = as_node(site, x);
  const Tensor extremum = reduce(op, site, make_cast(site, node, traits(node->dtype).compute), axes, keepdims);
  return Tensor(make_cast(site, extremum.node(), node->dtype));
}

Tensor truth(Op op, const char* name, const Arg& x, const Axes& axes, bool keepdims) {
  const Site site = site_of(name, x.where());
  const RecordedPtr node = as_node(site, x);
  const RecordedPtr flags = make_cast(site, node, DType::bool_);
  const auto list = reduced_axes(site, axes, static_cast<std::int64_t>(flags->shape.size()));
  const Shape with_ones = kept(flags->shape, list);
  if (count_along(flags->shape, list) == 0) {  // without elements any is false and all is true
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

std::int64_t count_of(const Site& site, const Tensor& x, const Axes& axes) {
  if (!axes.all() && axes.list().size() == 1) return x.shape()[static_cast<std::size_t>(checked_axis(site, axes.list().front(), x.ndim()))];
  return count_along(x.shape(), checked_axes(site, axes, x.ndim()));
}

}  // namespace

Tensor sum(const Arg& x, const Axes& axes, bool keepdims, std::optional<DType> dtype) { return accumulated(Op::reduce_sum, "sum", x, axes, keepdims, dtype); }
Tensor prod(const Arg& x, const Axes& axes, bool keepdims, std::optional<DType> dtype) {
  return accumulated(Op::reduce_prod, "prod", x, axes, keepdims, dtype);
}
Tensor min(const Arg& x, const Axes& axes, bool keepdims) { return extreme(Op::reduce_min, "min", x, axes, keepdims); }
Tensor max(const Arg& x, const Axes& axes, bool keepdims) { return extreme(Op::reduce_max, "max", x, axes, keepdims); }
Tensor any(const Arg& x, const Axes& axes, bool keepdims) { return truth(Op::reduce_max, "any", x, axes, keepdims); }
Tensor all(const Arg& x, const Axes& axes, bool keepdims) { return truth(Op::reduce_min, "all", x, axes, keepdims); }

Tensor cumsum(const Arg& x, std::optional<std::int64_t> axis, std::optional<DType> dtype) { return accumulated(Op::reduce_sum, "cumsum", x, axis, dtype); }
Tensor cumprod(const Arg& x, std::optional<std::int64_t> axis, std::optional<DType> dtype) { return accumulated(Op::reduce_prod, "cumprod", x, axis, dtype); }
Tensor cummax(const Arg& x, std::optional<std::int64_t> axis) { return extreme_so_far(Op::reduce_max, "cummax", x, axis); }
Tensor cummin(const Arg& x, std::optional<std::int64_t> axis) { return extreme_so_far(Op::reduce_min, "cummin", x, axis); }

Tensor mean(const Arg& x, const Axes& axes, bool keepdims, std::optional<DType> dtype) {
  const Scope scope("mean", x.where());
  const Composed mean = dtype ? Composed{astype(x, *dtype).astype(traits(*dtype).compute), *dtype} : floating(scope.site(), x);
  return mean(divide(sum(mean.values, axes, keepdims), count_of(scope.site(), mean.values, axes)));
}

Tensor var(const Arg& x, const Axes& axes, bool keepdims, int ddof) {
  const Scope scope("var", x.where());
  const Composed var = floating(scope.site(), x);
  const std::int64_t n = count_of(scope.site(), var.values, axes);
  const Tensor centered = var.values - mean(var.values, axes, true);
  return var(divide(sum(square(centered), axes, keepdims), n > ddof ? n - ddof : 0));
}

Tensor stddev(const Arg& x, const Axes& axes, bool keepdims, int ddof) {
  const Scope scope("stddev", x.where());
  const Composed stddev = floating(scope.site(), x);
  return stddev(sqrt(var(stddev.values, axes, keepdims, ddof)));
}

Tensor logsumexp(const Arg& x, const Axes& axes, bool keepdims) {
  const Scope scope("logsumexp", x.where());
  const Composed logsumexp = floating(scope.site(), x);
  if (count_of(scope.site(), logsumexp.values, axes) == 0)
    return logsumexp(log(sum(logsumexp.values, axes, keepdims)));  // without elements the result is log 0
  const Tensor top = max(logsumexp.values, axes, true);
  const Tensor shift = where(isfinite(top), top, 0);  // inf - inf would be NaN
  const Tensor result = logsumexp(log(sum(exp(logsumexp.values - shift), axes, true)) + shift);
  if (keepdims) return result;
  const Axes reduced(checked_axes(scope.site(), axes, logsumexp.values.ndim()));
  return squeeze(result, reduced);
}

Tensor softmax(const Arg& x, const Axes& axes) {
  const Scope scope("softmax", x.where());
  const Composed softmax = floating(scope.site(), x);
  if (count_of(scope.site(), softmax.values, axes) == 0) return softmax(softmax.values);  // there are no elements
  const Tensor e = exp(softmax.values - max(softmax.values, axes, true));
  return softmax(e / sum(e, axes, true));
}

Tensor log_softmax(const Arg& x, const Axes& axes) {
  const Scope scope("log_softmax", x.where());
  const Composed log_softmax = floating(scope.site(), x);
  if (count_of(scope.site(), log_softmax.values, axes) == 0) return log_softmax(log_softmax.values);  // there are no elements
  const Tensor shifted = log_softmax.values - max(log_softmax.values, axes, true);
  return log_softmax(shifted - log(sum(exp(shifted), axes, true)));
}

namespace {

/// Refuses a shape in the place of the weight: PyTorch's layer_norm has the normalised shape there.
void refuse_shape_as_weight(const Site& site, const Tensor& weight, const char* what) {
  if (weight.empty_handle() || is_floating(weight.dtype())) return;
  fail<DTypeError>(site, fmt::format("the {} is {} {}; it has to be floating. (The axes that are normalised are an argument of their own, not a shape)", what,
                                     name(weight.dtype()), to_string(weight.shape())));
}

}  // namespace

Tensor layer_norm(const Arg& x, const Tensor& weight, const Tensor& bias, double eps, const Axes& axes) {
  const Scope scope("layer_norm", x.where());
  Composed layer_norm = floating(scope.site(), x);
  refuse_shape_as_weight(scope.site(), weight, "weight");
  refuse_shape_as_weight(scope.site(), bias, "bias");
  const Tensor centered = layer_norm.values - mean(layer_norm.values, axes, true);
  Tensor y = centered * rsqrt(mean(square(centered), axes, true) + eps);
  if (!weight.empty_handle()) {
    y = y * weight;
    layer_norm.type = promote(scope.site(), layer_norm.type, weight.dtype());
  }
  if (!bias.empty_handle()) {
    y = y + bias;
    layer_norm.type = promote(scope.site(), layer_norm.type, bias.dtype());
  }
  return layer_norm(y);
}

Tensor rms_norm(const Arg& x, const Tensor& weight, double eps, const Axes& axes) {
  const Scope scope("rms_norm", x.where());
  Composed rms_norm = floating(scope.site(), x);
  refuse_shape_as_weight(scope.site(), weight, "weight");
  const Tensor y = rms_norm.values * rsqrt(mean(square(rms_norm.values), axes, true) + eps);
  if (weight.empty_handle()) return rms_norm(y);
  rms_norm.type = promote(scope.site(), rms_norm.type, weight.dtype());
  return rms_norm(y * weight);
}

}  // namespace sinter
