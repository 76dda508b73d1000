// Attention and embeddings.
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "ops/composed.hpp"
#include "sinter/counted.hpp"
#include "sinter/nn.hpp"
#include "sinter/ops.hpp"

namespace sinter {
namespace {

using namespace ops;

/// Repeats each head until there are `heads` heads; the copies of a head are adjacent.
Tensor shared_heads(const Site& site, const Tensor& x, std::int64_t heads) {
  const std::int64_t own = x.ndim() < 3 ? 1 : x.shape()[x.shape().size() - 3];
  if (own == heads) return x;
  if (own == 0 || heads % own != 0 || x.ndim() < 3)
    fail<ShapeError>(site, fmt::format("{} of the query cannot share the {} of shape {}", counted(heads, "head"), counted(own, "head"), to_string(x.shape())));
  return repeat(x, heads / own, x.ndim() - 3);
}

}  // namespace

Tensor scaled_dot_product_attention(const Arg& query, const Tensor& key, const Tensor& value, const AttentionOptions& how) {
  const Scope scope("scaled_dot_product_attention", query.where());
  const Site& site = scope.site();
  const Composed q = floating(site, query);
  const DType computed = q.values.dtype();
  Tensor k = astype(Tensor(node_of(site, key)), computed), v = astype(Tensor(node_of(site, value)), computed);
  const auto shapes = [&] { return fmt::format("query {}, key {} and value {}", to_string(q.values.shape()), to_string(k.shape()), to_string(v.shape())); };
  if (q.values.ndim() < 2 || k.ndim() < 2 || v.ndim() < 2) fail<ShapeError>(site, shapes() + ": each must have at least two axes, (.., length, features)");
  const std::int64_t features = q.values.shape().back(), queries = q.values.shape()[q.values.shape().size() - 2], keys = k.shape()[k.shape().size() - 2];
  if (k.shape().back() != features) fail<ShapeError>(site, shapes() + ": query and key must have the same number of features");
  if (v.shape()[v.shape().size() - 2] != keys) fail<ShapeError>(site, shapes() + ": key and value must have the same length");
  if (how.enable_gqa && q.values.ndim() > 2) {
    const std::int64_t heads = q.values.shape()[q.values.shape().size() - 3];
    k = shared_heads(site, k, heads);
    v = shared_heads(site, v, heads);
  }
  // The scale is applied to the query, which has fewer elements than the scores.
  const double scale = how.scale.value_or(1 / std::sqrt(static_cast<double>(features)));
  Tensor scores = matmul(q.values * scale, swapaxes(k, -1, -2));
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  if (how.is_causal) {
    if (!how.mask.empty_handle()) fail<ValueError>(site, "is_causal and a mask are both given; write the triangle into the mask");
    scores = where(tril(ones({queries, keys}, DType::bool_)), scores, kNever);
  } else if (!how.mask.empty_handle()) {
    scores = is_bool(how.mask.dtype()) ? where(how.mask, scores, kNever) : scores + astype(how.mask, computed);
  }
  return q(matmul(softmax(scores, -1), v));
}

Tensor embedding(const Arg& indices, const Tensor& weight) {
  const Scope scope("embedding", indices.where());
  const Shape& shape = node_of(scope.site(), weight)->shape;
  if (shape.size() != 2) fail<ShapeError>(scope.site(), fmt::format("weight of shape {}; expected (rows, features)", to_string(shape)));
  return take(weight, indices, 0);
}

Tensor one_hot(const Arg& indices, std::int64_t num_classes, DType dtype) {
  const Scope scope("one_hot", indices.where());
  const Site& site = scope.site();
  const Tensor places(as_node(site, indices));
  if (!is_integer(places.dtype())) fail<DTypeError>(site, fmt::format("indices are integers, not {}", name(places.dtype())));
  if (num_classes < 1) fail<ValueError>(site, fmt::format("num_classes is {}; it must be at least 1", num_classes));
  return astype(equal(expand_dims(places, -1), arange(num_classes)), dtype);
}

}  // namespace sinter
