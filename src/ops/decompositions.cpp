// Decompositions, expressed by library calls. A call with several results returns one tensor, and each result is a view of it. Functions of singular values are
// composed.
#include "sinter/decompositions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "ops/matrices.hpp"
#include "sinter/counted.hpp"
#include "sinter/ops.hpp"
#include "sinter/statistics.hpp"
#include "sinter/types.hpp"

namespace sinter {
namespace {

using namespace ops;

/// Returns 1/s for singular values that count, else 0.
Tensor inverted(const Tensor& s, double rtol) { return where(greater(s, max(s, -1, true) * rtol), 1 / s, 0); }

}  // namespace

namespace {

/// Returns x with a @ x = b by a call of this op.
Tensor solved(const Site& site, Op op, const Arg& a, const Arg& b) {
  const RecordedPtr right = as_node(site, b);
  const std::array operands{&a, &b};
  const DType common = common_type(site, operands), type = is_floating(common) ? common : DType::float64;
  const Matrices m = square_matrices(site, a);
  if (right->shape.empty()) fail<MatrixShapeError>(site, "the right side is 0-d: give a vector or matrices");
  const bool vector = right->shape.size() == 1;
  Shape sides = right->shape;
  if (vector) sides.push_back(1);
  const std::int64_t n = sides[sides.size() - 2], k = sides.back();
  if (n != m.rows)
    fail<MatrixShapeError>(site, fmt::format("matrices of shape {} and a right side of shape {}: it must have {}, not {}", to_string(m.as.values.shape()),
                                             to_string(right->shape), counted(m.rows, "row"), n));
  const Shape batch_b(sides.begin(), sides.end() - 2);
  const std::array batches{&m.batch, &batch_b};
  const Shape batch = broadcast_shape(site, batches);
  const auto matrices_of = [&](const RecordedPtr& node, std::int64_t rows, std::int64_t columns) {
    Shape shape = batch, own = node->shape;
    if (own.size() == 1) own.push_back(1);
    shape.insert(shape.end(), {rows, columns});
    check_shape(site, shape, type);
    return make_broadcast(site, make_reshape(site, make_cast(site, node, traits(type).compute), own), shape);
  };
  const Tensor x(make_library(site, op, {matrices_of(as_node(site, a), n, n), matrices_of(right, n, k)}));
  return astype(vector ? squeeze(x, -1) : x, type);
}

}  // namespace

Tensor solve(const Arg& a, const Arg& b) {
  const Scope scope("solve", a.where());
  return solved(scope.site(), Op::solve, a, b);
}

Tensor solve_triangular(const Arg& a, const Arg& b, Triangle triangle, bool unit_diagonal) {
  const Scope scope("solve_triangular", a.where());
  const Site& site = scope.site();
  const Op op = triangle == Triangle::lower ? Op::solve_lower : Op::solve_upper;
  if (!unit_diagonal) return solved(site, op, a, b);
  const Matrices m = square_matrices(site, a);
  return solved(site, op, Arg(where(eye(m.rows, {}, 0, DType::bool_), 1, Tensor(as_node(site, a))), site.where), b);
}

Tensor cho_solve(const Arg& factor, const Arg& b, Triangle triangle) {
  const Scope scope("cho_solve", factor.where());
  const Site& site = scope.site();
  square_matrices(site, factor);
  const Tensor given(as_node(site, factor)), turned = swapaxes(given, -1, -2);
  const bool lower = triangle == Triangle::lower;
  const Tensor first = solved(site, Op::solve_lower, Arg(lower ? given : turned, site.where), b);
  return solved(site, Op::solve_upper, Arg(lower ? turned : given, site.where), Arg(first, site.where));
}

Tensor inv(const Arg& x) {
  const Scope scope("inv", x.where());
  const Matrices m = square_matrices(scope.site(), x);
  return m(decomposed(scope.site(), Op::inverse, m.as.values));
}

Tensor det(const Arg& x) {
  const Scope scope("det", x.where());
  const Matrices m = square_matrices(scope.site(), x);
  if (m.empty()) return ones(m.batch, m.as.type);
  return m(decomposed(scope.site(), Op::determinant, m.as.values).at({ellipsis, 0}));
}

SlogdetResult slogdet(const Arg& x) {
  const Scope scope("slogdet", x.where());
  const Matrices m = square_matrices(scope.site(), x);
  if (m.empty()) return {ones(m.batch, m.as.type), zeros(m.batch, m.as.type)};
  const Tensor packed = decomposed(scope.site(), Op::determinant, m.as.values);
  return {m(packed.at({ellipsis, 1})), m(packed.at({ellipsis, 2}))};
}

Tensor cholesky(const Arg& x, bool upper) {
  const Scope scope("cholesky", x.where());
  const Matrices m = square_matrices(scope.site(), x);
  if (!upper) return m(decomposed(scope.site(), Op::cholesky, m.as.values));
  return m(matrix_transpose(decomposed(scope.site(), Op::cholesky, matrix_transpose(m.as.values))));
}

QRResult qr(const Arg& x, QRMode mode) {
  const Scope scope("qr", x.where());
  const Matrices m = matrices(scope.site(), x);
  const std::int64_t k = mode == QRMode::complete ? m.rows : m.shorter();
  if (m.empty()) return {k == 0 ? nothing(m, {m.rows, k}) : identities(m, k), nothing(m, {k, m.columns})};
  const Tensor packed = decomposed(scope.site(), mode == QRMode::complete ? Op::qr_complete : Op::qr, m.as.values);
  return {m(matrix_transpose(part(packed, k, 0, m.rows))), m(part(packed, k, m.rows, m.columns))};
}

SVDResult svd(const Arg& x, bool full_matrices) {
  const Scope scope("svd", x.where());
  const Matrices m = matrices(scope.site(), x);
  const std::int64_t k = m.shorter(), us = full_matrices ? m.rows : k, vs = full_matrices ? m.columns : k;
  if (m.empty()) {
    return {us == 0 ? nothing(m, {m.rows, 0}) : identities(m, us), nothing(m, {0}), vs == 0 ? nothing(m, {0, m.columns}) : identities(m, vs)};
  }
  const Tensor packed = decomposed(scope.site(), full_matrices ? Op::svd_full : Op::svd, m.as.values);
  return {m(matrix_transpose(part(packed, us, 0, m.rows))), m(column(packed, k, m.rows)), m(part(packed, vs, m.rows + 1, m.columns))};
}

Tensor svdvals(const Arg& x) {
  const Scope scope("svdvals", x.where());
  const Matrices m = matrices(scope.site(), x);
  return m(decomposed(scope.site(), Op::svdvals, m.as.values));
}

EighResult eigh(const Arg& x, Triangle triangle) {
  const Scope scope("eigh", x.where());
  const Matrices m = square_matrices(scope.site(), x);
  if (m.empty()) return {nothing(m, {0}), nothing(m, {0, 0})};
  const Tensor packed = decomposed(scope.site(), Op::eigh, triangle == Triangle::lower ? m.as.values : matrix_transpose(m.as.values));
  return {m(column(packed, m.rows, 0)), m(matrix_transpose(part(packed, m.rows, 1, m.rows)))};
}

Tensor eigvalsh(const Arg& x, Triangle triangle) {
  const Scope scope("eigvalsh", x.where());
  const Matrices m = square_matrices(scope.site(), x);
  return m(decomposed(scope.site(), Op::eigvalsh, triangle == Triangle::lower ? m.as.values : matrix_transpose(m.as.values)));
}

EigResult eig(const Arg& x) {
  const Scope scope("eig", x.where());
  const Matrices m = square_matrices(scope.site(), x);
  if (m.empty()) return {{nothing(m, {0}), nothing(m, {0})}, {nothing(m, {0, 0}), nothing(m, {0, 0})}};
  const Tensor packed = decomposed(scope.site(), Op::eig, m.as.values);
  const auto vectors = [&](std::int64_t begin) { return m(matrix_transpose(part(packed, m.rows, begin, m.rows))); };
  return {{m(column(packed, m.rows, 0)), m(column(packed, m.rows, 1))}, {vectors(2), vectors(2 + m.rows)}};
}

Complex eigvals(const Arg& x) {
  const Scope scope("eigvals", x.where());
  const Matrices m = square_matrices(scope.site(), x);
  if (m.empty()) return {nothing(m, {0}), nothing(m, {0})};
  const Tensor packed = decomposed(scope.site(), Op::eigvals, m.as.values);
  return {m(column(packed, m.rows, 0)), m(column(packed, m.rows, 1))};
}

LstsqResult lstsq(const Arg& a, const Arg& b, std::optional<double> rcond) {
  const Scope scope("lstsq", a.where());
  const Site& site = scope.site();
  const RecordedPtr right = as_node(site, b);
  const std::array operands{&a, &b};
  const DType common = common_type(site, operands), type = is_floating(common) ? common : DType::float64;
  const Tensor given = astype(a, type);
  const Matrices m = matrices(site, given);
  if (!m.batch.empty()) fail<MatrixShapeError>(site, fmt::format("shape {} is more than one matrix", to_string(given.shape())));
  if (right->shape.empty() || right->shape.size() > 2 || right->shape[0] != m.rows)
    fail<MatrixShapeError>(site, fmt::format("a matrix of shape {} and a right side of shape {}: it must have {}", to_string(given.shape()),
                                             to_string(right->shape), counted(m.rows, "row")));
  const bool vector = right->shape.size() == 1;
  const std::int64_t k = vector ? 1 : right->shape[1];
  const Tensor sides(make_reshape(site, make_cast(site, right, traits(type).compute), {m.rows, k}));
  Tensor x, s;
  if (m.empty()) {
    x = zeros({m.columns, k}, sides.dtype());
    s = zeros({0}, sides.dtype());
  } else {
    const auto [u, values, vh] = svd(m.as.values, false);
    x = matmul(matrix_transpose(vh), expand_dims(inverted(values, m.tolerance(rcond)), -1) * matmul(matrix_transpose(u), sides));
    s = values;
  }
  const Tensor residuals = m.rows > m.columns ? sum(square(sides - matmul(m.as.values, x)), 0) : zeros({0}, sides.dtype());
  return {astype(vector ? squeeze(x, -1) : x, type), astype(residuals, type),
          m.empty() ? zeros({}, DType::int64) : count_nonzero(inverted(s, m.tolerance(rcond))), astype(s, type)};
}

Tensor pinv(const Arg& x, std::optional<double> rtol) {
  const Scope scope("pinv", x.where());
  const Matrices m = matrices(scope.site(), x);
  if (m.empty()) return nothing(m, {m.columns, m.rows});
  const auto [u, s, vh] = svd(m.as.values, false);
  return m(matmul(matrix_transpose(vh), expand_dims(inverted(s, m.tolerance(rtol)), -1) * matrix_transpose(u)));
}

Tensor matrix_rank(const Arg& x, std::optional<double> rtol, std::optional<double> tol) {
  const Scope scope("matrix_rank", x.where());
  const Tensor given(as_node(scope.site(), x));
  if (given.ndim() < 2) return astype(any(not_equal(given, 0)), DType::int64);
  const Matrices m = matrices(scope.site(), given);
  if (m.empty()) return zeros(m.batch, DType::int64);
  const Tensor s = svdvals(m.as.values);
  return count_nonzero(tol ? greater(s, *tol) : greater(s, max(s, -1, true) * m.tolerance(rtol)), -1);
}

Tensor cond(const Arg& x, NormOrder p) {
  const Scope scope("cond", x.where());
  const bool two = p.number() && std::abs(*p.number()) == 2;
  const Matrices m = two ? matrices(scope.site(), x) : square_matrices(scope.site(), x);
  if (m.empty()) fail<ValueError>(scope.site(), fmt::format("a matrix of shape {} has no elements", to_string(m.as.values.shape())));
  const Tensor& values = m.as.values;
  const auto quotient = [&] {
    const Tensor s = svdvals(values), largest = s.at({ellipsis, 0}), smallest = s.at({ellipsis, -1});
    return *p.number() > 0 ? largest / smallest : smallest / largest;
  };
  const Tensor found = two ? quotient() : matrix_norm(values, false, p) * matrix_norm(decomposed(scope.site(), Op::inverse_or_nan, values), false, p);
  return m(where(logical_and(isnan(found), logical_not(any(isnan(values), {-2, -1}))), std::numeric_limits<double>::infinity(), found));
}

}  // namespace sinter
