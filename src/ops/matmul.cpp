// Matrix products by NumPy's rules, expressed by a library call on operands of equal rank.
#include <array>

#include <fmt/format.h>

#include "ops/recording.hpp"
#include "sinter/ops.hpp"

namespace sinter {

using namespace ops;

namespace {

/// Returns the type in which a library multiplies matrices. Integers wrap, so the product is the low bits of a wider product. A bool product counts the true
/// terms and compares the count with 0.
DType product_type(DType t) {
  if (is_floating(t)) return traits(t).compute;
  return is_integer(t) && itemsize(t) <= 4 ? DType::int32 : DType::int64;
}

}  // namespace

Tensor matmul(const Arg& a, const Arg& b) {
  const Site site = site_of("matmul", a.where());
  const Shape &sa = shape_of(site, a), &sb = shape_of(site, b);
  if (sa.empty() || sb.empty()) {
    fail<ShapeError>(site, fmt::format("shapes {} and {}: 0-d operands are not allowed; use * instead", to_string(sa), to_string(sb)));
  }
  const std::array operands{&a, &b};
  const DType result = common_type(site, operands);
  const DType type = product_type(result);

  const std::int64_t m = sa.size() == 1 ? 1 : sa[sa.size() - 2], k = sa.back();
  const std::int64_t inner = sb.size() == 1 ? sb[0] : sb[sb.size() - 2], n = sb.size() == 1 ? 1 : sb.back();
  if (k != inner) fail<ShapeError>(site, fmt::format("shapes {} and {}: the inner sizes {} and {} differ", to_string(sa), to_string(sb), k, inner));
  Shape batch;
  if (sa.size() > 2 || sb.size() > 2) {
    const Shape batch_a(sa.begin(), sa.end() - std::min<std::ptrdiff_t>(std::ssize(sa), 2)),
        batch_b(sb.begin(), sb.end() - std::min<std::ptrdiff_t>(std::ssize(sb), 2));
    batch = broadcast_shape(site, std::array{&batch_a, &batch_b}, std::array{&sa, &sb});
  }
  const auto with = [&](std::int64_t rows, std::int64_t columns) {
    Shape shape = batch;
    shape.insert(shape.end(), {rows, columns});
    return shape;
  };
  const auto prepared = [&](const Arg& x, std::int64_t rows, std::int64_t columns) {
    RecordedPtr typed = make_cast(site, node_of(site, x.tensor()), type);
    if (typed->shape.size() == 1) typed = make_reshape(site, typed, std::array{rows, columns});
    return batch.empty() ? typed : make_broadcast(site, typed, with(rows, columns));
  };
  RecordedPtr product;
  if (k == 0) {
    check_shape(site, with(m, n), type);
    product = make_constant(site, make_scalar_int(type, 0), with(m, n));
  } else {
    product = make_library(site, Op::matmul, {prepared(a, m, k), prepared(b, k, n)});
  }
  if (sa.size() == 1 || sb.size() == 1) {
    Shape shape = batch;
    if (sa.size() > 1) shape.push_back(m);
    if (sb.size() > 1) shape.push_back(n);
    product = make_reshape(site, product, shape);
  }
  return Tensor(make_cast(site, product, result));
}

Tensor dot(const Arg& a, const Arg& b) {
  const Scope scope("dot", a.where());
  const Shape sa = shape_of(scope.site(), a), sb = shape_of(scope.site(), b);
  if (sa.empty() || sb.empty()) return multiply(a, b);
  if (sb.size() <= 2) return matmul(a, b);
  // multiplies a's rows by all matrices of b, which are placed side by side
  std::vector<std::int64_t> front{static_cast<std::int64_t>(sb.size()) - 2};
  for (std::int64_t k = 0; k < static_cast<std::int64_t>(sb.size()); ++k)
    if (k != front[0]) front.push_back(k);
  Shape result(sa.begin(), sa.end() - 1);
  result.insert(result.end(), sb.begin(), sb.end() - 2);
  result.push_back(sb.back());
  const Shape side_by_side{sb[sb.size() - 2], element_count(Shape(sb.begin(), sb.end() - 2)) * sb.back()};
  return reshape(matmul(a, reshape(permute(b, front), side_by_side)), result);
}

}  // namespace sinter
