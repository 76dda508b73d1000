// Linear algebra of complex matrices: uses the real matrix of twice the size if that gives the same result, otherwise separate library calls.
#include "ops/matrices.hpp"
#include "sinter/complex.hpp"
#include "sinter/decompositions.hpp"
#include "sinter/ops.hpp"
#include "sinter/shapes.hpp"
#include "sinter/types.hpp"

namespace sinter {

using namespace ops;

namespace {

/// Complex matrices in the layout of a library call: the real parts, then the imaginary parts, as columns of one matrix.
struct ComplexMatrices {
  Matrices m;  // counts complex columns, half of those of `both`
  Tensor both;

  Complex operator()(const Complex& z) const { return {m(z.re), m(z.im)}; }
  Complex identities(std::int64_t n) const { return n == 0 ? nothing({n, n}) : Complex{m(ops::identities(m, n)), m(ops::nothing(m, {n, n}))}; }
  Complex nothing(std::initializer_list<std::int64_t> axes) const { return {m(ops::nothing(m, axes)), m(ops::nothing(m, axes))}; }
};
ComplexMatrices complex_matrices(const Site& site, const ComplexArg& x) {
  Matrices m = matrices(site, x.re());
  return {m, concatenate({m.as.values, astype(x.im(), m.as.values.dtype())}, -1)};
}
ComplexMatrices square_complex_matrices(const Site& site, const ComplexArg& x) {
  square_matrices(site, x.re());
  return complex_matrices(site, x);
}

/// Splits a packed result into its real and imaginary halves.
Complex decomposed_complex(const Site& site, Op op, const ComplexMatrices& x) {
  const std::vector<Tensor> halves = split(decomposed(site, op, x.both), 2, -1);
  return {halves[0], halves[1]};
}
Complex part(const Complex& packed, std::int64_t rows, std::int64_t begin, std::int64_t columns) {
  return {ops::part(packed.re, rows, begin, columns), ops::part(packed.im, rows, begin, columns)};
}
Complex transposed(const Complex& x) { return {matrix_transpose(x.re), matrix_transpose(x.im)}; }
Complex hermitian(const ComplexArg& x) { return {matrix_transpose(x.re()), -matrix_transpose(x.im())}; }
Complex triangle_of(const ComplexArg& x, Triangle triangle) { return triangle == Triangle::lower ? Complex{x.re(), x.im()} : hermitian(x); }

/// Returns the complex matrix of a doubled one, whose first half of columns holds re above im.
Complex halved(const Tensor& both) {
  const std::vector<Tensor> parts = split(split(both, 2, -1)[0], 2, -2);
  return {parts[0], parts[1]};
}
/// Returns one value of each pair of equal values.
Tensor each_second(const Tensor& values) { return values.at({ellipsis, Slice{{}, {}, 2}}); }

}  // namespace

Tensor doubled(const ComplexArg& x) { return concatenate({concatenate({x.re(), -x.im()}, -1), concatenate({x.im(), x.re()}, -1)}, -2); }

Complex solve(const ComplexArg& a, const ComplexArg& b) {
  const Scope scope("solve", a.where());
  const std::int64_t axis = b.re().ndim() == 1 ? -1 : -2;
  const std::vector<Tensor> parts = split(solve(doubled(a), concatenate({b.re(), b.im()}, axis)), 2, axis);
  return {parts[0], parts[1]};
}
Complex inv(const ComplexArg& x) {
  const Scope scope("inv", x.where());
  square_matrices(scope.site(), x.re());
  return halved(inv(doubled(x)));
}
Complex pinv(const ComplexArg& x, std::optional<double> rtol) {
  const Scope scope("pinv", x.where());
  const Matrices m = matrices(scope.site(), x.re());
  if (m.empty()) return {m(nothing(m, {m.columns, m.rows})), m(nothing(m, {m.columns, m.rows}))};
  return halved(pinv(doubled(x), m.tolerance(rtol)));
}
Complex matrix_power(const ComplexArg& x, std::int64_t n) {
  const Scope scope("matrix_power", x.where());
  square_matrices(scope.site(), x.re());
  return halved(matrix_power(doubled(x), n));
}

ComplexSlogdetResult slogdet(const ComplexArg& x) {
  const Scope scope("slogdet", x.where());
  const ComplexMatrices z = square_complex_matrices(scope.site(), x);
  if (z.m.empty()) return {z({ones(z.m.batch, z.m.as.type), zeros(z.m.batch, z.m.as.type)}), z.m(zeros(z.m.batch, z.m.as.type))};
  const Tensor packed = decomposed(scope.site(), Op::complex_determinant, z.both);
  const auto number = [&](std::int64_t at) { return z.m(packed.at({ellipsis, at})); };
  return {{number(1), number(4)}, number(2)};
}
Complex det(const ComplexArg& x) {
  const Scope scope("det", x.where());
  const ComplexMatrices z = square_complex_matrices(scope.site(), x);
  if (z.m.empty()) return z({ones(z.m.batch, z.m.as.type), zeros(z.m.batch, z.m.as.type)});
  const Tensor packed = decomposed(scope.site(), Op::complex_determinant, z.both);
  return z({packed.at({ellipsis, 0}), packed.at({ellipsis, 3})});
}

Complex cholesky(const ComplexArg& x, bool upper) {
  const Scope scope("cholesky", x.where());
  if (upper) return hermitian(cholesky(hermitian(x)));
  const Matrices m = square_matrices(scope.site(), x.re());
  if (m.empty()) return {m(nothing(m, {0, 0})), m(nothing(m, {0, 0}))};
  // Each element becomes the block [[re, -im], [im, re]]. The complex factor in blocks is triangular with a positive diagonal, so it is the real factor.
  const Tensor top = stack({x.re(), -x.im()}, -1), bottom = stack({x.im(), x.re()}, -1);
  const std::int64_t n = m.rows;
  const Tensor blocks = reshape(cholesky(reshape(stack({top, bottom}, -3), m.with({2 * n, 2 * n}))), m.with({n, 2, n, 2}));
  const auto element = [&](std::int64_t row) { return blocks.at({ellipsis, Slice{}, row, Slice{}, 0}); };
  return {element(0), element(1)};
}

ComplexQRResult qr(const ComplexArg& x, QRMode mode) {
  const Scope scope("qr", x.where());
  const ComplexMatrices z = complex_matrices(scope.site(), x);
  const std::int64_t rows = z.m.rows, columns = z.m.columns, k = mode == QRMode::complete ? rows : z.m.shorter();
  if (z.m.empty()) return {k == 0 ? z.nothing({rows, 0}) : z.identities(k), z.nothing({k, columns})};
  const Complex packed = decomposed_complex(scope.site(), mode == QRMode::complete ? Op::complex_qr_complete : Op::complex_qr, z);
  return {z(transposed(part(packed, k, 0, rows))), z(part(packed, k, rows, columns))};
}

ComplexSVDResult svd(const ComplexArg& x, bool full_matrices) {
  const Scope scope("svd", x.where());
  const ComplexMatrices z = complex_matrices(scope.site(), x);
  const std::int64_t rows = z.m.rows, columns = z.m.columns, k = z.m.shorter(), us = full_matrices ? rows : k, vs = full_matrices ? columns : k;
  if (z.m.empty()) return {us == 0 ? z.nothing({rows, 0}) : z.identities(us), z.m(nothing(z.m, {0})), vs == 0 ? z.nothing({0, columns}) : z.identities(vs)};
  const Complex packed = decomposed_complex(scope.site(), full_matrices ? Op::complex_svd_full : Op::complex_svd, z);
  return {z(transposed(part(packed, us, 0, rows))), z.m(column(packed.re, k, rows)), z(part(packed, vs, rows + 1, columns))};
}
Tensor svdvals(const ComplexArg& x) {
  const Scope scope("svdvals", x.where());
  matrices(scope.site(), x.re());
  return each_second(svdvals(doubled(x)));
}
Tensor matrix_rank(const ComplexArg& x, std::optional<double> rtol, std::optional<double> tol) {
  const Scope scope("matrix_rank", x.where());
  if (x.re().ndim() < 2) return astype(any(logical_or(x.re() != 0, x.im() != 0)), DType::int64);
  const Matrices m = matrices(scope.site(), x.re());
  return floor_divide(matrix_rank(doubled(x), m.tolerance(rtol), tol), 2);
}

ComplexEighResult eigh(const ComplexArg& x, Triangle triangle) {
  const Scope scope("eigh", x.where());
  const ComplexMatrices z = square_complex_matrices(scope.site(), triangle_of(x, triangle));
  const std::int64_t n = z.m.rows;
  if (z.m.empty()) return {z.m(nothing(z.m, {0})), z.nothing({0, 0})};
  const Complex packed = decomposed_complex(scope.site(), Op::complex_eigh, z);
  return {z.m(column(packed.re, n, 0)), z(transposed(part(packed, n, 1, n)))};
}
Tensor eigvalsh(const ComplexArg& x, Triangle triangle) {
  const Scope scope("eigvalsh", x.where());
  square_matrices(scope.site(), x.re());
  const Complex z = triangle_of(x, triangle);
  // The lower triangle of the doubled matrix contains all of im, so the upper triangle of im must be the one of a Hermitian matrix.
  const Tensor below = tril(z.im, -1);
  return each_second(eigvalsh(doubled(Complex{z.re, below - matrix_transpose(below)})));
}

EigResult eig(const ComplexArg& x) {
  const Scope scope("eig", x.where());
  const ComplexMatrices z = square_complex_matrices(scope.site(), x);
  const std::int64_t n = z.m.rows;
  if (z.m.empty()) return {z.nothing({0}), z.nothing({0, 0})};
  const Complex packed = decomposed_complex(scope.site(), Op::complex_eig, z);
  return {z({column(packed.re, n, 0), column(packed.im, n, 0)}), z(transposed(part(packed, n, 1, n)))};
}
Complex eigvals(const ComplexArg& x) { return eig(x).eigenvalues; }

}  // namespace sinter
