// Decompositions and systems of equations: values are compared with elimination in long double, and the defining properties are checked, for batches, views,
// types and sizes. Operands without a result give errors that name the line.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <sinter/decompositions.hpp>
#include <sinter/signal.hpp>

#include "program.hpp"
#include "reference.hpp"
#include "says.hpp"
#include "seed.hpp"

using namespace sinter::testing;

namespace {

std::mt19937 rng{test_seed()};

using Dense = std::vector<std::vector<long double>>;

/// Returns matrix number `element` of a batch.
Dense matrix(const Ref& x, std::int64_t element) {
  const std::int64_t m = x.shape[x.shape.size() - 2], n = x.shape.back();
  Dense out(static_cast<std::size_t>(m), std::vector<long double>(static_cast<std::size_t>(n)));
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      out[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = x.v[static_cast<std::size_t>((element * m + i) * n + j)];
  return out;
}

/// Solves a x = b by Gauss-Jordan elimination. Returns x and the determinant.
struct Eliminated {
  Dense x;
  long double determinant = 1;
};
Eliminated eliminated(Dense a, Dense b) {
  Eliminated out;
  const std::size_t n = a.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k; i < n; ++i)
      if (std::fabs(a[i][k]) > std::fabs(a[pivot][k])) pivot = i;
    if (pivot != k) out.determinant = -out.determinant;
    std::swap(a[k], a[pivot]);
    std::swap(b[k], b[pivot]);
    out.determinant *= a[k][k];
    for (std::size_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const long double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j < n; ++j) a[i][j] -= factor * a[k][j];
      for (std::size_t j = 0; j < b[i].size(); ++j) b[i][j] -= factor * b[k][j];
    }
  }
  for (std::size_t k = 0; k < n; ++k)
    for (auto& value : b[k]) value /= a[k][k];
  out.x = b;
  return out;
}
Ref solved(const Ref& a, const Ref& b) {
  Ref out = b;
  const std::int64_t n = b.shape[b.shape.size() - 2], k = b.shape.back();
  for (std::int64_t element = 0; element * n * k < static_cast<std::int64_t>(b.v.size()); ++element) {
    const Dense x = eliminated(matrix(a, element), matrix(b, element)).x;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < k; ++j)
        out.v[static_cast<std::size_t>((element * n + i) * k + j)] = static_cast<double>(x[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]);
  }
  return out;
}

double tolerance(DType type) {
  switch (type) {
    case DType::float64: return 1e-10;
    case DType::float32: return 1e-4;
    case DType::float16: return 1e-2;
    case DType::bfloat16: return 8e-2;
    default: return 1e-10;  // integers: computed in float64
  }
}

/// Compares relative to the largest value.
void near(const Tensor& got, const Ref& want, double within) {
  REQUIRE(got.shape() == want.shape);
  const auto found = values(got);
  double size = 1;
  for (const double v : want.v) size = std::max(size, std::fabs(v));
  for (std::size_t k = 0; k < found.size(); ++k) {
    CAPTURE(k);
    CAPTURE(found[k]);
    CAPTURE(want.v[k]);
    REQUIRE(std::fabs(found[k] - want.v[k]) <= within * size);
  }
}
void near(const Tensor& got, const Tensor& want, double within) { near(got, Ref{want.shape(), values(want)}, within); }

/// Returns matrices of size n with n added to the diagonal, so that they are far from singular.
std::pair<Tensor, Ref> dominant(Shape batch, std::int64_t n, DType dtype) {
  batch.insert(batch.end(), {n, n});
  auto [x, rx] = random(rng, batch, dtype, is_floating(dtype) ? -1 : 0, 2);
  for (std::size_t k = 0; k < rx.v.size(); ++k)
    if (k / static_cast<std::size_t>(n) % static_cast<std::size_t>(n) == k % static_cast<std::size_t>(n)) rx.v[k] += static_cast<double>(2 * n + 1);
  const Tensor made = sn::from_span(rx.v, batch).astype(dtype);
  return {made, Ref{batch, values(made)}};
}

Tensor identity(const Shape& batch, std::int64_t n) {
  Shape shape = batch;
  shape.insert(shape.end(), {n, n});
  return sn::broadcast_to(sn::eye(n), shape);
}
Tensor wide(const Tensor& x) { return sn::astype(x, DType::float64); }
Tensor transposed(const Tensor& x) { return sn::matrix_transpose(x); }

std::vector<DType> types() {
  return on_gpu() ? std::vector{DType::float32} : std::vector{DType::float64, DType::float32, DType::float16, DType::bfloat16, DType::int32};
}
std::vector<Shape> shapes() {
  if (on_gpu()) return {{4, 3}, {2, 3, 5}};
  return {{1, 1}, {3, 3}, {7, 4}, {4, 7}, {2, 3, 5}, {3, 1, 6, 2}, {33, 20}, {1, 5}, {5, 1}};
}

}  // namespace

TEST_CASE("solve and inv agree with elimination") {
  for (const DType type : types())
    for (const std::int64_t n : {1, 2, 5, 19})
      for (const Shape& batch : {Shape{}, Shape{3}}) {
        if (on_gpu() && (n > 2) == batch.empty()) continue;
        CAPTURE(sn::name(type));
        CAPTURE(n);
        const auto [a, ra] = dominant(batch, n, type);
        Shape sides = batch;
        sides.insert(sides.end(), {n, 3});
        const auto [b, rb] = random(rng, sides, type, -4, 4);
        near(sn::solve(a, b), solved(ra, rb), tolerance(type));
        CHECK(sn::solve(a, b).dtype() == (is_floating(type) ? type : DType::float64));
        const Tensor ones = identity(batch, n);
        near(sn::inv(a), solved(ra, Ref{ones.shape(), values(ones)}), tolerance(type));
      }
}

TEST_CASE("triangular systems agree with elimination, for any values in the other triangle") {
  for (const DType type : types())
    for (const std::int64_t n : {1, 2, 5, 19})
      for (const Shape& batch : {Shape{}, Shape{3}})
        for (const bool lower : {false, true})
          for (const bool unit : {false, true}) {
            if (on_gpu() && ((n > 2) == batch.empty() || lower == unit)) continue;
            CAPTURE(sn::name(type));
            CAPTURE(n);
            const Tensor a = dominant(batch, n, type).first;
            Tensor read = lower ? sn::tril(a) : sn::triu(a);
            if (unit) read = sn::where(sn::eye(n, {}, 0, DType::bool_), 1, read);
            Shape sides = batch;
            sides.insert(sides.end(), {n, 3});
            const auto [b, rb] = random(rng, sides, type, -4, 4);
            const Tensor x = sn::solve_triangular(a, b, lower ? sn::Triangle::lower : sn::Triangle::upper, unit);
            CHECK(x.dtype() == (is_floating(type) ? type : DType::float64));
            near(x, solved(Ref{read.shape(), values(read)}, rb), unit ? 50 * tolerance(type) : tolerance(type));
          }
}

TEST_CASE("systems by a Cholesky factor") {
  for (const DType type : {DType::float64, DType::float32})
    for (const std::int64_t n : {1, 2, 7})
      for (const bool lower : {true, false}) {
        if (on_gpu() && n != 2) continue;
        CAPTURE(n);
        CAPTURE(lower);
        const Tensor half = dominant({2}, n, type).first, a = sn::matmul(half, sn::swapaxes(half, -1, -2));
        const auto [b, rb] = random(rng, {2, n, 3}, type, -4, 4);
        const Tensor factor = sn::cholesky(a, !lower), other = sn::full({2, n, n}, 7, type);  // the other triangle is not read
        const Tensor given = lower ? sn::tril(factor) + sn::triu(other, 1) : sn::triu(factor) + sn::tril(other, -1);
        near(sn::cho_solve(given, b, lower ? sn::Triangle::lower : sn::Triangle::upper), solved(Ref{a.shape(), values(a)}, rb), 100 * tolerance(type));
      }
  CHECK_THROWS_AS(sn::cho_solve(sn::zeros({2, 3}), Tensor{1., 2.}), sn::MatrixShapeError);
}

TEST_CASE("right-hand sides may be vectors or batches that broadcast") {
  const auto [a, ra] = dominant({3}, 4, DType::float64);
  const auto [v, rv] = random(rng, {4}, DType::float64, -1, 1);
  const Tensor x = sn::solve(a, v);
  CHECK(x.shape() == Shape{3, 4});
  near(sn::squeeze(sn::matmul(a, sn::expand_dims(x, -1)), -1), broadcast(rv, {3, 4}), 1e-10);
  const auto [b, rb] = random(rng, {2, 1, 4, 2}, DType::float64, -1, 1);
  const Tensor y = sn::solve(a, b);
  CHECK(y.shape() == Shape{2, 3, 4, 2});
  near(sn::matmul(a, y), broadcast(rb, {2, 3, 4, 2}), 1e-10);
  CHECK(sn::solve(a(0), v).shape() == Shape{4});
  CHECK(sn::solve(sn::astype(a, DType::float32), b).dtype() == DType::float64);
}

TEST_CASE("determinants") {
  for (const std::int64_t n : {1, 2, 6, 20}) {
    const auto [a, ra] = random(rng, {4, n, n}, DType::float64, -1, 1);
    const auto [sign, logabs] = sn::slogdet(a);
    const auto d = values(sn::det(a)), s = values(sign), l = values(logabs);
    for (std::int64_t k = 0; k < 4; ++k) {
      const long double want = eliminated(matrix(ra, k), Dense(static_cast<std::size_t>(n))).determinant;
      const auto at = static_cast<std::size_t>(k);
      // The error of a product of pivots grows with the condition number of the matrix.
      CHECK(std::fabs(d[at] - static_cast<double>(want)) <= 1e-9 * std::max(1e-3, std::fabs(static_cast<double>(want))));
      CHECK(s[at] == (want < 0 ? -1 : 1));
      CHECK(std::fabs(std::exp(l[at]) * s[at] - d[at]) <= 1e-9 * std::max(1e-6, std::fabs(d[at])));
    }
  }
  // The intermediate product overflows or underflows float64.
  const Tensor far = sn::diag(Tensor{1e200, 1e200, -1e-200, 1e-200});
  CHECK(sn::det(far).item<double>() == doctest::Approx(-1).epsilon(1e-12));
  const Tensor singular = {{1., 2.}, {2., 4.}};
  CHECK(sn::det(singular).item<double>() == 0);
  CHECK(sn::slogdet(singular).sign.item<double>() == 0);
  CHECK(sn::slogdet(singular).logabsdet.item<double>() == -std::numeric_limits<double>::infinity());
}

TEST_CASE("cholesky") {
  for (const DType type : types())
    for (const std::int64_t n : {1, 4, 23}) {
      if (!is_floating(type) || (on_gpu() && n != 4)) continue;
      CAPTURE(sn::name(type));
      const Tensor half = random(rng, {2, n, n}, DType::float64, -1, 1).first;
      const Tensor a = sn::astype(sn::matmul(half, transposed(half)) + static_cast<double>(n) * identity({2}, n), type);
      const Tensor l = sn::cholesky(a), u = sn::cholesky(a, true);
      near(wide(l), sn::tril(wide(l)), 0);
      near(wide(u), sn::triu(wide(u)), 0);
      near(sn::matmul(wide(l), transposed(wide(l))), wide(a), tolerance(type));
      near(sn::matmul(transposed(wide(u)), wide(u)), wide(a), tolerance(type));
      CHECK(l.dtype() == type);
    }
  // The other triangle is not read.
  const Tensor a = {{4., NAN}, {2., 5.}};
  near(sn::cholesky(a), Tensor{{2., 0.}, {1., 2.}}, 1e-15);
  near(sn::cholesky(transposed(a), true), Tensor{{2., 1.}, {0., 2.}}, 1e-15);
}

TEST_CASE("QR: Q has orthonormal columns, R is triangular, their product is the matrix") {
  for (const DType type : types())
    for (const Shape& shape : shapes()) {
      CAPTURE(sn::name(type));
      CAPTURE(sn::to_string(shape));
      const auto [x, rx] = random(rng, shape, type, -3, 3);
      const std::int64_t m = shape[shape.size() - 2], k = std::min(m, shape.back());
      const Shape batch(shape.begin(), shape.end() - 2);
      for (const bool complete : {false, true}) {
        const auto [q, r] = sn::qr(x, complete ? sn::QRMode::complete : sn::QRMode::reduced);
        CHECK(q.shape()[shape.size() - 1] == (complete ? m : k));
        near(sn::matmul(wide(q), wide(r)), wide(x), tolerance(type));
        near(sn::matmul(transposed(wide(q)), wide(q)), identity(batch, complete ? m : k), tolerance(type));
        near(wide(r), sn::triu(wide(r)), 0);
      }
    }
}

TEST_CASE("singular values and vectors") {
  for (const DType type : types())
    for (const Shape& shape : shapes()) {
      CAPTURE(sn::name(type));
      CAPTURE(sn::to_string(shape));
      const auto [x, rx] = random(rng, shape, type, -3, 3);
      const std::int64_t m = shape[shape.size() - 2], n = shape.back(), k = std::min(m, n);
      const Shape batch(shape.begin(), shape.end() - 2);
      for (const bool full : {false, true}) {
        const auto [u, s, vh] = sn::svd(x, full);
        const Tensor left = wide(u), right = wide(vh);
        near(sn::matmul(transposed(left), left), identity(batch, full ? m : k), tolerance(type));
        near(sn::matmul(right, transposed(right)), identity(batch, full ? n : k), tolerance(type));
        const Tensor scaled = left.at({sn::ellipsis, sn::Slice{0, k}}) * sn::expand_dims(wide(s), -2);
        near(sn::matmul(scaled, right.at({sn::ellipsis, sn::Slice{0, k}, sn::Slice{}})), wide(x), tolerance(type));
        CHECK(sn::all(sn::greater_equal(s, 0)).item<bool>());
        near(sn::flip(sn::sort(wide(s)), -1), wide(s), 0);
        near(wide(sn::svdvals(x)), wide(s), tolerance(type));
      }
    }
}

TEST_CASE("eigenvalues and vectors of symmetric matrices") {
  for (const DType type : types())
    for (const std::int64_t n : {1, 2, 6, 25}) {
      if (on_gpu() && n != 6) continue;
      CAPTURE(sn::name(type));
      CAPTURE(n);
      const Tensor half = random(rng, {3, n, n}, type, -3, 3).first, a = half + transposed(half);
      const auto [w, v] = sn::eigh(a);
      near(sn::matmul(wide(a), wide(v)), wide(v) * sn::expand_dims(wide(w), -2), 4 * tolerance(type));
      near(sn::matmul(transposed(wide(v)), wide(v)), identity({3}, n), tolerance(type));
      near(sn::sort(wide(w)), wide(w), 0);
      near(wide(sn::eigvalsh(a)), wide(w), 4 * tolerance(type));
      if (!is_floating(type)) continue;
      const Tensor upper = sn::triu(a);
      near(wide(sn::eigvalsh(upper, sn::Triangle::upper)), wide(w), 4 * tolerance(type));
      near(wide(sn::eigh(transposed(upper)).eigenvalues), wide(w), 4 * tolerance(type));
    }
}

TEST_CASE("eigenvalues and vectors of any square matrix") {
  for (const DType type : types())
    for (const std::int64_t n : {1, 2, 3, 7, 24}) {
      if (on_gpu() && n != 7) continue;
      CAPTURE(sn::name(type));
      CAPTURE(n);
      const Tensor a = random(rng, {3, n, n}, type, -3, 3).first;
      const sn::EigResult found = sn::eig(a);
      const sn::Complex w{wide(found.eigenvalues.re), wide(found.eigenvalues.im)}, v{wide(found.eigenvectors.re), wide(found.eigenvectors.im)};
      REQUIRE(w.re.shape() == Shape{3, n});
      REQUIRE(v.im.shape() == Shape{3, n, n});
      // Checks that a v = v w, that the columns of v have length 1 and a real largest element, and that the trace is the sum of the eigenvalues.
      const Tensor wr = sn::expand_dims(w.re, -2), wi = sn::expand_dims(w.im, -2);
      near(sn::matmul(wide(a), v.re), v.re * wr - v.im * wi, 8 * tolerance(type));
      near(sn::matmul(wide(a), v.im), v.re * wi + v.im * wr, 8 * tolerance(type));
      const Tensor sizes = sn::square(v.re) + sn::square(v.im);
      near(sn::sum(sizes, -2), sn::ones({3, n}), tolerance(type));
      // One of the largest elements (up to rounding) is real.
      const Tensor largest = sizes >= sn::max(sizes, -2, true) * (itemsize(type) == 2 ? 0.9 : 1 - 1e-5);
      near(sn::min(sn::where(largest, sn::abs(v.im), 2), -2), sn::zeros({3, n}), tolerance(type));
      near(sn::sum(w.re, -1), sn::matrix_trace(wide(a), 0, -2, -1), 8 * tolerance(type));
      near(sn::sum(w.im, -1), sn::zeros({3}), 8 * tolerance(type));
      const sn::Complex alone = sn::eigvals(a);
      near(sn::sort(wide(alone.re)), sn::sort(w.re), std::max(1e-6, 16 * tolerance(type)));  // a double eigenvalue has half of the digits
    }
  // All matrices of two by two small integers. Some have a double eigenvalue and one eigenvector.
  const Tensor digits = sn::arange(7) - 3, all = sn::stack(sn::meshgrid({digits, digits, digits, digits}), -1).reshape({-1, 2, 2});
  const sn::EigResult of_all = sn::eig(all);
  const Tensor wr = sn::expand_dims(of_all.eigenvalues.re, -2), wi = sn::expand_dims(of_all.eigenvalues.im, -2);
  const sn::Complex& v = of_all.eigenvectors;
  near(sn::matmul(wide(all), v.re), v.re * wr - v.im * wi, 1e-13);
  near(sn::matmul(wide(all), v.im), v.re * wi + v.im * wr, 1e-13);
  // Elements of very different sizes: the polynomial (x - 1) (x - 1e-8) (x - 1e8), whose roots need a balanced matrix.
  const sn::Complex far = sn::roots({1.0, -(1 + 1e-8 + 1e8), 1e-8 + 1e8 + 1, -1.0});
  const auto roots = values(sn::sort(far.re));
  CHECK(std::fabs(roots[0] / 1e-8 - 1) < 1e-10);
  CHECK(std::fabs(roots[1] - 1) < 1e-10);
  CHECK(std::fabs(roots[2] / 1e8 - 1) < 1e-10);
  // A rotation has no real eigenvalue.
  const sn::Complex turned = sn::eigvals({{0., -1.}, {1., 0.}});
  near(turned.re, Ref{{2}, {0, 0}}, 1e-15);
  near(sn::sort(turned.im), Ref{{2}, {-1, 1}}, 1e-15);
}

TEST_CASE("polynomials") {
  for (const std::int64_t degree : {1, 2, 3, 6}) {
    CAPTURE(degree);
    const Tensor zeros_at = random(rng, {degree}, DType::float64, -2, 2).first, p = sn::poly(zeros_at);
    REQUIRE(p.shape() == Shape{degree + 1});
    near(sn::polyval(p, zeros_at), sn::zeros({degree}), 1e-10);
    const sn::Complex again = sn::poly(sn::roots(p));
    near(again.re, p, 1e-7);
    near(again.im, sn::zeros({degree + 1}), 1e-7);
    near(sn::polyder(sn::polyint(p, 2, {3., 4.}), 2), p, 1e-12);
    near(sn::polyval(sn::polyint(p, 1, 7.5), 0), Ref{{}, {7.5}}, 1e-15);
    const Tensor q = random(rng, {3}, DType::float64, 1, 2).first;
    const auto [quotient, rest] = sn::polydiv(p, q);
    const Tensor x = random(rng, {5}, DType::float64, -2, 2).first;
    near(sn::polyval(quotient, x) * sn::polyval(q, x) + sn::polyval(rest, x), sn::polyval(p, x), 1e-9);
    near(sn::polyval(sn::polyadd(p, q), x), sn::polyval(p, x) + sn::polyval(q, x), 1e-12);
    near(sn::polyval(sn::polysub(p, q), x), sn::polyval(p, x) - sn::polyval(q, x), 1e-12);
    near(sn::polyval(sn::polymul(p, q), x), sn::polyval(p, x) * sn::polyval(q, x), 1e-10);
  }
  const Tensor square{{2., 1.}, {1., 2.}};
  near(sn::poly(square), Ref{{3}, {1, -4, 3}}, 1e-12);
  CHECK(sn::roots({0., 0.}).re.size() == 0);
  near(sn::roots({0., 0., 2., 0., 0.}).re, Ref{{2}, {0, 0}}, 0);
  says<sn::ShapeError>([&] { sn::roots(square); }, "roots: coefficients are a vector, not of shape (2, 2)");
  says<sn::ShapeError>([&] { sn::polyint({1., 2.}, 3, {1., 2.}); }, "polyint: 2 constants for 3 integrations; give one, or one for each");
}

TEST_CASE("least squares, the pseudo-inverse, ranks") {
  for (const Shape& shape : {Shape{8, 3}, Shape{3, 8}, Shape{5, 5}}) {
    if (on_gpu() && shape[0] != 8) continue;
    CAPTURE(sn::to_string(shape));
    const Tensor a = random(rng, shape, DType::float64, -1, 1).first, b = random(rng, {shape[0], 2}, DType::float64, -1, 1).first;
    const auto [x, residuals, rank, s] = sn::lstsq(a, b);
    const Tensor rest = sn::matmul(a, x) - b;
    near(sn::matmul(a.T(), rest), sn::zeros(x.shape()), 1e-12 * (1 + sn::max(sn::abs(x)).item<double>()));
    if (shape[0] > shape[1]) near(residuals, sn::sum(sn::square(rest), 0), 1e-10);
    else CHECK(residuals.shape() == Shape{0});
    CHECK(rank.item<std::int64_t>() == std::min(shape[0], shape[1]));
    near(s, sn::svdvals(a), 1e-12);
    const auto [largest, smallest] = std::pair(sn::max(s).item<double>(), sn::min(s).item<double>());
    const double within = 1e-12 * largest / smallest;  // the condition number enlarges rounding errors
    near(sn::lstsq(a, b.at({sn::Slice{}, 0})).x, x.at({sn::Slice{}, 0}), within);
    near(sn::matmul(sn::pinv(a), b), x, within);
  }
  // For matrices without full rank, checks the four Moore-Penrose conditions.
  const Tensor thin = random(rng, {2, 6, 2}, DType::float64, -1, 1).first, low = sn::matmul(thin, random(rng, {2, 2, 5}, DType::float64, -1, 1).first);
  const Tensor p = sn::pinv(low, 1e-10);
  CHECK(p.shape() == Shape{2, 5, 6});
  const Tensor there = sn::matmul(low, p), back = sn::matmul(p, low);
  near(sn::matmul(there, low), low, 1e-7);
  near(sn::matmul(back, p), p, 1e-7);
  near(there, transposed(there), 1e-7);
  near(back, transposed(back), 1e-7);
  CHECK(sn::matrix_rank(low, 1e-10).to_vector<std::int64_t>() == std::vector<std::int64_t>{2, 2});
  CHECK(sn::matrix_rank(sn::eye(4)).item<std::int64_t>() == 4);
  CHECK(sn::matrix_rank(sn::diag(Tensor{3., 1., 0.5}), {}, 0.7).item<std::int64_t>() == 2);
  CHECK(sn::matrix_rank(Tensor{0., 0.}).item<std::int64_t>() == 0);
}

TEST_CASE("norms and condition numbers of matrices") {
  const Tensor a = random(rng, {3, 4, 4}, DType::float64, -1, 1).first;
  const Tensor s = sn::svdvals(a);
  const double infinity = std::numeric_limits<double>::infinity();
  near(sn::matrix_norm(a), sn::sqrt(sn::sum(sn::square(s), -1)), 1e-12);
  near(sn::matrix_norm(a, false, 2), sn::max(s, -1), 1e-12);
  near(sn::matrix_norm(a, false, -2), sn::min(s, -1), 1e-12);
  near(sn::matrix_norm(a, false, "nuc"), sn::sum(s, -1), 1e-12);
  near(sn::matrix_norm(a, false, 1), sn::max(sn::sum(sn::abs(a), -2), -1), 1e-12);
  near(sn::matrix_norm(a, false, -infinity), sn::min(sn::sum(sn::abs(a), -1), -1), 1e-12);
  CHECK(sn::matrix_norm(a, true, "nuc").shape() == Shape{3, 1, 1});
  near(sn::norm(sn::moveaxis(a, 0, 1), 2, {0, 2}), sn::max(s, -1), 1e-12);
  CHECK(sn::norm(a, "fro", {0, 1}, true).shape() == Shape{1, 1, 4});
  near(sn::cond(a), sn::max(s, -1) / sn::min(s, -1), 1e-12);
  near(sn::cond(a, "fro"), sn::matrix_norm(a) * sn::matrix_norm(sn::inv(a)), 1e-9);
  const Tensor singular = {{1., 2.}, {2., 4.}};
  CHECK(sn::cond(singular, 1).item<double>() == infinity);
  CHECK(sn::cond(sn::zeros({2, 2})).item<double>() == infinity);
  near(sn::matrix_power(a(0), -2), sn::matmul(sn::inv(a(0)), sn::inv(a(0))), 1e-9);
}

TEST_CASE("matrices of no elements and of one element") {
  CHECK(sn::solve(sn::zeros({0, 0}), sn::zeros({0, 2})).shape() == Shape{0, 2});
  CHECK(sn::solve(sn::eye(2), sn::zeros({2, 0})).shape() == Shape{2, 0});
  CHECK(sn::inv(sn::zeros({3, 0, 0})).shape() == Shape{3, 0, 0});
  CHECK(sn::inv(sn::zeros({0, 2, 2})).shape() == Shape{0, 2, 2});
  CHECK(sn::det(sn::zeros({2, 0, 0})).to_vector<double>() == std::vector<double>{1, 1});
  CHECK(sn::slogdet(sn::zeros({0, 0})).logabsdet.item<double>() == 0);
  const auto [q, r] = sn::qr(sn::zeros({3, 0}), sn::QRMode::complete);
  near(q, sn::eye(3), 0);
  CHECK(r.shape() == Shape{3, 0});
  CHECK(sn::qr(sn::zeros({0, 3})).R.shape() == Shape{0, 3});
  const auto [u, s, vh] = sn::svd(sn::zeros({0, 3}));
  CHECK(u.shape() == Shape{0, 0});
  CHECK(s.shape() == Shape{0});
  near(vh, sn::eye(3), 0);
  CHECK(sn::svd(sn::zeros({0, 3}), false).Vh.shape() == Shape{0, 3});
  CHECK(sn::eigh(sn::zeros({0, 0})).eigenvectors.shape() == Shape{0, 0});
  CHECK(sn::pinv(sn::zeros({2, 0, 3})).shape() == Shape{2, 3, 0});
  CHECK(sn::matrix_rank(sn::zeros({0, 3})).item<std::int64_t>() == 0);
  CHECK(sn::matrix_norm(sn::zeros({0, 3}), false, 2).item<double>() == 0);
  CHECK(sn::lstsq(sn::zeros({0, 3}), sn::zeros({0})).x.shape() == Shape{3});
  CHECK(sn::inv(Tensor{{4.f}}).item<float>() == 0.25f);
  CHECK(sn::svd(Tensor{{-3.}}).S.item<double>() == 3);
  CHECK(sn::eigh(Tensor{{-3.}}).eigenvalues.item<double>() == -3);
}

TEST_CASE("decompositions between other operations, of views") {
  const auto [a, ra] = dominant({5}, 4, DType::float64);
  const Tensor b = random(rng, {4, 5}, DType::float64, -1, 1).first;
  // Operands that are views of memory, and operands that have to be computed.
  const Tensor turned = sn::permute(a, {0, 2, 1}), every = a.at({sn::Slice{{}, {}, -2}});
  near(sn::matmul(turned, sn::inv(turned)), identity({5}, 4), 1e-10);
  near(sn::inv(every), sn::inv(a).at({sn::Slice{{}, {}, -2}}), 1e-12);
  near(sn::solve(a(0), b), sn::matmul(sn::inv(a(0)), b), 1e-10);
  near(sn::solve(a(0) * 2. + 1., b.T().T()), sn::matmul(sn::inv(a(0) * 2. + 1.), b), 1e-10);
  // Each subset of the results of one call is requested, with operations on them.
  const Tensor c = random(rng, {6, 4}, DType::float64, -1, 1).first;
  const auto [u, s, vh] = sn::svd(c, false);
  const Tensor low = sn::matmul(u.at({sn::Slice{}, sn::Slice{0, 2}}) * s.at({sn::Slice{0, 2}}), vh.at({sn::Slice{0, 2}})), rest = sn::sum(sn::square(c - low));
  const auto before = sn::counters();
  sn::eval(u, s, low, rest);
  const auto after = sn::counters();
  CHECK(after.host_calls - before.host_calls == (on_gpu() ? 1 : 0));
  const auto left = values(s);
  CHECK(rest.item<double>() == doctest::Approx(left[2] * left[2] + left[3] * left[3]).epsilon(1e-9));
  const std::string report = sn::explain(rest);
  CHECK(report.find("svd (6, 4)") != std::string::npos);
  const bool multiplies = !on_gpu() || report.find("cuBLASLt") != std::string::npos;
  CHECK(after.library_calls - before.library_calls == (multiplies ? 2 : 1));  // the decomposition, and the product if a library computes it
  CHECK((report.find("on the host") != std::string::npos) == on_gpu());
  // Newton's iteration for the inverse, from an initial value that a decomposition gives.
  Tensor x = a(1).T() / (sn::norm(a(1), 1) * sn::norm(a(1), std::numeric_limits<double>::infinity()));
  for (int k = 0; k < 40; ++k) x = 2. * x - sn::matmul(sn::matmul(x, a(1)), x);
  near(x, sn::inv(a(1)), 1e-9);
}

TEST_CASE("another size makes no new plan") {
  const auto run = [&](std::int64_t n) {
    const auto [a, ra] = dominant({2}, n, DType::float64);
    const auto [q, r] = sn::qr(a * 2.);
    near(sn::matmul(q, r), a * 2., 1e-10);
  };
  run(9);
  const auto before = sn::counters().plans_made;
  run(11);
  CHECK(sn::counters().plans_made == before);
}

TEST_CASE("any number of threads gives the same bits") {
  if (on_gpu()) return;
  const Tensor a = random(rng, {40, 9, 9}, DType::float32, -1, 1).first;
  std::vector<float> first;
  for (const int threads : {1, 2, 5}) {
    const auto scope = with_threads(threads);
    const auto got = sn::svd(a).U.to_vector<float>();
    if (first.empty()) first = got;
    CHECK(got == first);
  }
}

TEST_CASE("if there is no result, the error names the operation, the matrix and the line") {
  const Tensor singular = {{1., 2.}, {2., 4.}}, batch = sn::stack({sn::eye(2), singular, sn::eye(2), singular}, 0);
  const auto fails = [](const Tensor& x, const std::string& what, int line) {
    std::string text = "nothing was thrown";
    try {
      sn::eval(x);
    } catch (const sn::LinAlgError& error) {
      text = error.what();
    }
    CHECK(text == what + " at " + __FILE__ + ":" + std::to_string(line));
  };
  const int line = __LINE__ + 1;
  const Tensor x = sn::inv(singular);
  fails(x, "inv: the matrix of shape (2, 2) is singular", line);
  fails(sn::solve(batch, Tensor{1., 2.}) + 1., "solve: the matrix [1] of shape (4, 2, 2) is singular", __LINE__);
  fails(sn::inv(sn::reshape(batch, {2, 2, 2, 2})), "inv: the matrix [0, 1] of shape (2, 2, 2, 2) is singular", __LINE__);
  // The same plan is used for a formula at another line, and the error names that line.
  fails(sn::solve(batch, Tensor{1., 2.}) + 1., "solve: the matrix [1] of shape (4, 2, 2) is singular", __LINE__);
  fails(sn::solve_triangular(Tensor{{1., 2.}, {2., 0.}}, Tensor{1., 2.}), "solve_triangular: the matrix of shape (2, 2) is singular", __LINE__);
  fails(sn::matrix_power(singular, -2), "matrix_power: the matrix of shape (2, 2) is singular", __LINE__);
  fails(sn::cholesky(-sn::eye(3)), "cholesky: the matrix of shape (3, 3) is not positive definite", __LINE__);
  fails(sn::svdvals(Tensor{{NAN, 1.}, {1., 2.}}), "svdvals: the matrix of shape (2, 2) is not decomposed: the iteration does not converge", __LINE__);
  // The error is found again, because no result was stored.
  fails(x, "inv: the matrix of shape (2, 2) is singular", line);
  // Other functions pass NaN on.
  const Tensor bad = {{NAN, 1.}, {1., 2.}};
  for (const Tensor& y :
       {sn::inv(bad), sn::det(bad), sn::solve(bad, Tensor{1., 1.}), sn::qr(bad).R, sn::cholesky(bad), sn::eigh(bad).eigenvectors, sn::eigvalsh(bad)})
    CHECK(sn::any(sn::isnan(y)).item<bool>());
}

TEST_CASE("wrong shapes and types are errors") {
  const Tensor x = Tensor::ones({3, 4}), v = Tensor::ones({4});
  says<sn::ShapeError>([&] { sn::inv(x); }, "inv: shape (3, 4) is not that of a square matrix");
  says<sn::ShapeError>([&] { sn::svd(v); }, "svd: shape (4,) is not that of a matrix");
  says<sn::ShapeError>([&] { sn::solve(sn::eye(3), v); }, "solve: matrices of shape (3, 3) and a right side of shape (4,): it must have 3 rows, not 4");
  says<sn::ShapeError>([&] { sn::solve(sn::zeros({2, 3, 3}), sn::zeros({4, 3, 1})); }, "solve: shapes (2,) and (4,) do not broadcast (axis -1: 2 against 4)");
  says<sn::ShapeError>([&] { sn::lstsq(x, v); }, "lstsq: a matrix of shape (3, 4) and a right side of shape (4,): it must have 3 rows");
  says<sn::ValueError>([&] { sn::matrix_norm(x, false, "max"); },
                       "matrix_norm: a matrix's norm is of order 1, 2, infinity, their negatives, \"fro\" or \"nuc\", not \"max\"");
  says<sn::ValueError>([&] { sn::norm(v, "nuc", 0); }, "norm: \"nuc\" is a norm of matrices; it needs two axes");
  says<sn::ValueError>([&] { sn::cond(sn::zeros({0, 3})); }, "cond: a matrix of shape (0, 3) has no elements");
  says<sn::ShapeError>([&] { sn::cross(v, v); }, "cross: shapes (4,) and (4,): axis -1 is not of 3 numbers");
}

TEST_CASE("cross products") {
  const auto [a, ra] = random(rng, {5, 3}, DType::float64, -1, 1);
  const auto [b, rb] = random(rng, {3}, DType::float64, -1, 1);
  Ref want = ra;
  for (std::size_t k = 0; k < 5; ++k)
    for (std::size_t i = 0; i < 3; ++i) want.v[3 * k + i] = ra.v[3 * k + (i + 1) % 3] * rb.v[(i + 2) % 3] - ra.v[3 * k + (i + 2) % 3] * rb.v[(i + 1) % 3];
  near(sn::cross(a, b), want, 1e-14);
  near(sn::cross(a.T(), sn::reshape(b, {3, 1}), 0).T(), want, 1e-14);
}
