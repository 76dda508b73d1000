// Elementary functions of complex numbers against C's at random, special and branch-cut values, and decompositions of complex matrices.
#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <sinter/adopt.hpp>
#include <sinter/decompositions.hpp>

#include "program.hpp"
#include "seed.hpp"

namespace sn = sinter;
using sn::Complex;
using sn::Tensor;

namespace {

const std::uint32_t seed = sinter::testing::test_seed();
std::mt19937 rng{seed};
using Number = std::complex<double>;
using Numbers = std::vector<Number>;

Complex pair(const Numbers& numbers) {
  std::vector<double> re, im;
  for (const Number& z : numbers) re.push_back(z.real()), im.push_back(z.imag());
  const auto count = static_cast<std::int64_t>(numbers.size());
  return {sn::adopt(std::move(re), {count}), sn::adopt(std::move(im), {count})};
}
Numbers numbers(const Complex& z) {
  const auto re = z.re.to_vector<double>(), im = z.im.to_vector<double>();
  Numbers all;
  for (std::size_t k = 0; k < re.size(); ++k) all.emplace_back(re[k], im[k]);
  return all;
}
bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b)) || (a != 0 && std::fabs(a - b) < 1e-14 * std::fabs(b));
}

struct Row {
  const char* name;
  Complex (*ours)(const sn::ComplexArg&);
  Number (*of_c)(const Number&);
};
const Row rows[] = {
    {"exp", sn::exp, std::exp},       {"log", sn::log, std::log},       {"sqrt", sn::sqrt, std::sqrt},    {"sin", sn::sin, std::sin},
    {"cos", sn::cos, std::cos},       {"tan", sn::tan, std::tan},       {"sinh", sn::sinh, std::sinh},    {"cosh", sn::cosh, std::cosh},
    {"tanh", sn::tanh, std::tanh},    {"asin", sn::asin, std::asin},    {"acos", sn::acos, std::acos},    {"atan", sn::atan, std::atan},
    {"asinh", sn::asinh, std::asinh}, {"acosh", sn::acosh, std::acosh}, {"atanh", sn::atanh, std::atanh},
};

Complex random_matrices(const sn::Shape& shape) {
  std::normal_distribution<double> normal;
  const auto part = [&] {
    std::vector<double> values(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]));
    for (double& value : values) value = normal(rng);
    return sn::adopt(std::move(values), shape);
  };
  const Tensor re = part();
  return {re, part()};
}
double distance(const Complex& a, const Complex& b) { return sn::max(abs(a - b)).to_vector<double>()[0]; }
Complex adjoint(const Complex& x) { return {sn::matrix_transpose(x.re), -sn::matrix_transpose(x.im)}; }
Complex identity(const Complex& like) { return {sn::eye(like.re.shape().back(), {}, 0, sn::DType::float64), sn::zeros({1}, sn::DType::float64)}; }

}  // namespace

TEST_CASE("elementary functions at random values") {
  std::uniform_real_distribution<double> exponent(-6, 2), sign(-1, 1);
  Numbers z;
  const auto number = [&] { return std::copysign(std::pow(10, exponent(rng)), sign(rng)); };
  for (int k = 0; k < 2000; ++k) {
    const double re = number();
    z.emplace_back(re, number());
  }
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const Numbers found = numbers(row.ours(pair(z)));
    for (std::size_t k = 0; k < z.size(); ++k) {
      CAPTURE(z[k]);
      CHECK(std::abs(found[k] - row.of_c(z[k])) <= 2e-15 * std::abs(row.of_c(z[k])));
    }
  }
}

TEST_CASE("inverse functions at zeros, infinities, NaN and on their branch cuts") {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const double parts[] = {0.0, -0.0, 0.5, -0.5, 1, -1, 2, -2, infinity, -infinity, nan};
  Numbers z;
  for (const double re : parts)
    for (const double im : parts) z.emplace_back(re, im);
  for (const Row& row : rows) {
    const std::string name = row.name;
    if (name != "log" && name != "sqrt" && name[0] != 'a') continue;
    CAPTURE(name);
    const Numbers found = numbers(row.ours(pair(z)));
    for (std::size_t k = 0; k < z.size(); ++k) {
      CAPTURE(z[k]);
      const Number wanted = row.of_c(z[k]);
      const bool no_sign = std::isnan(z[k].real()) || std::isnan(z[k].imag());  // the sign of a zero or an infinity is not specified
      const auto as = [&](double part) { return no_sign ? std::fabs(part) : part; };
      CHECK(same(as(found[k].real()), as(wanted.real())));
      CHECK(same(as(found[k].imag()), as(wanted.imag())));
    }
  }
}

TEST_CASE("decompositions of complex matrices multiply to the matrix") {
  const Complex a = random_matrices({3, 5, 4}), square = random_matrices({2, 4, 4});
  const auto [q, r] = sn::qr(a);
  CHECK(distance(matmul(q, r), a) < 1e-12);
  CHECK(distance(matmul(adjoint(q), q), identity(r)) < 1e-12);
  const auto [u, s, vh] = sn::svd(a, false);
  const Tensor row = sn::expand_dims(s, -2);
  CHECK(distance(matmul(Complex{u.re * row, u.im * row}, vh), a) < 1e-12);
  CHECK(sn::max(abs(s - sn::svdvals(a))).to_vector<double>()[0] < 1e-12);
  CHECK(distance(matmul(matmul(a, sn::pinv(a)), a), a) < 1e-12);
  CHECK(distance(matmul(square, sn::inv(square)), identity(square)) < 1e-10);

  const Complex hermitian = matmul(square, adjoint(square));
  const auto [values, vectors] = sn::eigh(hermitian);
  const Tensor scale = sn::expand_dims(values, -2);
  CHECK(distance(matmul(hermitian, vectors), Complex{vectors.re * scale, vectors.im * scale}) < 1e-11);
  CHECK(sn::max(abs(values - sn::eigvalsh(hermitian))).to_vector<double>()[0] < 1e-11);
  const Complex lower = sn::cholesky(hermitian);
  CHECK(distance(matmul(lower, adjoint(lower)), hermitian) < 1e-11);
  const Tensor product = sn::prod(values, -1);
  CHECK(sn::max(abs(sn::det(hermitian).re / product - 1)).to_vector<double>()[0] < 1e-9);
  CHECK(sn::max(abs(sn::slogdet(hermitian).logabsdet - log(product))).to_vector<double>()[0] < 1e-9);
  const auto [roots, columns] = sn::eig(square);
  const Complex each{sn::expand_dims(roots.re, -2), sn::expand_dims(roots.im, -2)};
  CHECK(distance(matmul(square, columns), columns * each) < 1e-11);
}

int main(int argc, char** argv) {
  std::printf("SINTER_TEST_SEED=%u\n", seed);
  return sinter::testing::run_tests(argc, argv);
}
