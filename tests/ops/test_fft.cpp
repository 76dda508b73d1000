// Fourier transforms, compared with the sums that define them, for lengths of every kind, types, axes, views and norms.
#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <sinter/fft.hpp>

#include "program.hpp"
#include "reference.hpp"
#include "says.hpp"
#include "seed.hpp"

namespace fft = sinter::fft;
using namespace sinter::testing;

namespace {

std::mt19937 rng{test_seed()};

using Wide = std::complex<long double>;
std::vector<Wide> complex(const std::vector<double>& re, const std::vector<double>& im) {
  std::vector<Wide> x;
  for (std::size_t k = 0; k < re.size(); ++k) x.emplace_back(re[k], im.empty() ? 0 : im[k]);
  return x;
}
/// Computes the definition, with phases modulo n.
std::vector<Wide> transformed(const std::vector<Wide>& x, int sign = -1) {
  const std::size_t n = x.size();
  std::vector<Wide> turn, out(n);
  for (std::size_t k = 0; k < n; ++k)
    turn.push_back(std::polar(1.0L, sign * 2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / static_cast<long double>(n)));
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t j = 0; j < n; ++j) out[k] += x[j] * turn[j * k % n];
  return out;
}

void near(const sn::Complex& got, const std::vector<Wide>& want, double within) {
  const auto re = values(got.re), im = values(got.im);
  REQUIRE(re.size() == want.size());
  long double size = 1;
  for (const Wide& w : want) size = std::max(size, std::abs(w));
  for (std::size_t k = 0; k < want.size(); ++k) {
    CAPTURE(k);
    REQUIRE(std::abs(Wide(re[k], im[k]) - want[k]) <= within * size);
  }
}
void near(const Tensor& got, const Tensor& want, double within) {
  REQUIRE(got.shape() == want.shape());
  const auto a = values(got), b = values(want);
  for (std::size_t k = 0; k < a.size(); ++k) REQUIRE(std::fabs(a[k] - b[k]) <= within * std::max(1., std::fabs(b[k])));
}
double within(DType type) { return type == DType::float64 ? 2e-14 : type == DType::float32 ? 3e-7 : 1e-2; }

}  // namespace

TEST_CASE("transforms of every kind of length") {
  for (const std::int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 49, 53, 60, 97, 128, 211, 360, 509, 1024}) {
    if (on_gpu() && n != 6 && n != 53) continue;
    for (const DType type : {DType::float64, DType::float32}) {
      CAPTURE(n);
      const auto [re, rre] = random(rng, {n}, type, -1, 1);
      const auto [im, rim] = random(rng, {n}, type, -1, 1);
      const auto want = transformed(complex(rre.v, rim.v));
      const sn::Complex got = fft::fft({re, im});
      near(got, want, within(type));
      CHECK(got.re.dtype() == type);
      near(fft::ifft({re, im}, {}, -1, fft::Norm::forward), transformed(complex(rre.v, rim.v), 1), within(type));
      auto half = transformed(complex(rre.v, {}));
      near(fft::fft(re), half, within(type));
      half.resize(static_cast<std::size_t>(n / 2 + 1));
      near(fft::rfft(re), half, within(type));
      near(fft::irfft(fft::rfft(re), n), re, 4 * within(type));
      near(fft::ifft(got).re, re, 4 * within(type));
    }
  }
}

TEST_CASE("batches of rows, side by side and one by one") {
  for (const std::int64_t n : {7, 96, 97, 150, 270, 509}) {
    if (on_gpu() && n != 97) continue;
    for (const std::int64_t rows : {2, 8, 19}) {
      CAPTURE(n);
      CAPTURE(rows);
      const auto [re, rre] = random(rng, {rows, n}, DType::float64, -1, 1);
      const auto [im, rim] = random(rng, {rows, n}, DType::float64, -1, 1);
      const sn::Complex got = fft::fft({re, im});
      const sn::Complex half = fft::rfft(re);
      const Tensor back = fft::irfft(half, n), other = fft::ifft(got).im;
      sn::eval({got.re, got.im, half.re, half.im, back, other});
      near(back, re, 1e-13);
      near(other, im, 1e-13);
      for (const std::int64_t row : {rows / 2, rows - 1}) {
        const auto cut = [&](const Tensor& x) { return values(sn::astype(x(row), DType::float64)); };
        const auto want = transformed(complex(cut(re), cut(im)));
        near({got.re(row), got.im(row)}, want, 2e-14);
        auto real = transformed(complex(cut(re), {}));
        real.resize(static_cast<std::size_t>(n / 2 + 1));
        near({half.re(row), half.im(row)}, real, 2e-14);
      }
    }
  }
}

TEST_CASE("long transforms have the frequencies of the definition") {
  for (const std::int64_t n : {3000, 4099, 8192, 30030}) {
    if (on_gpu()) continue;
    CAPTURE(n);
    const auto [re, rre] = random(rng, {n}, DType::float64, -1, 1);
    const auto [im, rim] = random(rng, {n}, DType::float64, -1, 1);
    const sn::Complex got = fft::fft({re, im}), half = fft::rfft(re);
    const auto a = values(got.re), b = values(got.im), c = values(half.re), d = values(half.im);
    for (int tries = 0; tries < 4; ++tries) {
      const std::int64_t k = std::uniform_int_distribution<std::int64_t>(0, n / 2)(rng);
      CAPTURE(k);
      Wide want, real;
      for (std::int64_t j = 0; j < n; ++j) {
        const Wide turn = std::polar(1.0L, -2 * std::numbers::pi_v<long double> * static_cast<long double>(j * k % n) / static_cast<long double>(n));
        want += turn * Wide(rre.v[static_cast<std::size_t>(j)], rim.v[static_cast<std::size_t>(j)]);
        real += turn * Wide(rre.v[static_cast<std::size_t>(j)]);
      }
      const auto at = static_cast<std::size_t>(k);
      const long double size = std::sqrt(static_cast<long double>(n));
      REQUIRE(std::abs(Wide(a[at], b[at]) - want) <= 4e-15L * size);
      REQUIRE(std::abs(Wide(c[at], d[at]) - real) <= 4e-15L * size);
    }
    near(fft::irfft(half, n), re, 1e-13);
    near(fft::ifft(got).im, im, 1e-13);
  }
}

TEST_CASE("transforms along any axis, of views, batches and every type") {
  for (const DType type : {DType::float64, DType::float32, DType::float16, DType::int32, DType::bool_}) {
    if (on_gpu() && type != DType::float32) continue;
    const auto [x, rx] = random(rng, {3, 10, 4}, type, 0, 3);
    for (const std::int64_t axis : {0, 1, -1}) {
      if (on_gpu() && axis == 0) continue;
      const sn::Complex got = fft::rfft(x, {}, axis);
      CHECK(got.re.dtype() == (type == DType::float64 || !is_floating(type) ? DType::float64 : DType::float32));
      const std::size_t k = axis < 0 ? 2 : static_cast<std::size_t>(axis);
      Shape lines = x.shape();
      const std::int64_t n = lines[k];
      CHECK(got.im.shape()[k] == n / 2 + 1);
      lines[k] = 1;
      const auto re = values(sn::moveaxis(got.re, axis, -1)), im = values(sn::moveaxis(got.im, axis, -1)),
                 from = values(sn::moveaxis(sn::astype(x, DType::float64), axis, -1));
      for (std::size_t row = 0; row < from.size() / static_cast<std::size_t>(n); ++row) {
        const auto begin = from.begin() + static_cast<std::ptrdiff_t>(row * static_cast<std::size_t>(n));
        const auto want = transformed(complex({begin, begin + n}, {}));
        for (std::size_t f = 0; f < static_cast<std::size_t>(n / 2 + 1); ++f) {
          const std::size_t at = row * static_cast<std::size_t>(n / 2 + 1) + f;
          REQUIRE(std::abs(Wide(re[at], im[at]) - want[f]) <= 1e-5);
        }
      }
    }
    near(fft::irfft(fft::rfft(x.T() * 1., {}, 1), 10, 1), sn::astype(x.T(), DType::float64), 1e-2);
  }
}

TEST_CASE("transforms along several axes, with given lengths and norms") {
  const Tensor x = random(rng, {6, 9}, DType::float64, -1, 1).first, y = random(rng, {6, 9}, DType::float64, -1, 1).first;
  const sn::Complex all = fft::fftn({x, y});
  const sn::Complex once = fft::fft(fft::fft({x, y}, {}, 0), {}, 1);
  near(all.re, once.re, 1e-12);
  near(fft::ifftn(all).re, x, 1e-13);
  near(fft::ifftn(all).im, y, 1e-13);
  near(fft::irfftn(fft::rfftn(x), {6, 9}), x, 1e-13);
  near(fft::fftn(x, {4, 12}).im, fft::fftn(sn::pad(x(sn::Slice{0, 4}), {{0, 0}, {0, 3}})).im, 1e-12);
  near(fft::fftn({x, y}, {3}).re, fft::fft({x, y}, 3).re, 1e-13);
  near(fft::fftn({x, y}, {5}, 0).re, fft::fft({x, y}, 5, 0).re, 1e-13);
  near(fft::rfftn(x).re, fft::fftn({x, sn::zeros({6, 9})}).re(sn::Slice{}, sn::Slice{0, 5}), 1e-12);
  near(fft::rfft(x, 12).re, fft::rfft(sn::pad(x, {{0, 0}, {0, 3}})).re, 1e-13);
  near(fft::rfft(x, 5).im, fft::rfft(x(sn::Slice{}, sn::Slice{0, 5})).im, 1e-13);
  near(fft::rfft(x, {}, -1, fft::Norm::ortho).re * 3., fft::rfft(x).re, 1e-12);
  near(fft::irfft(fft::rfft(x, {}, -1, fft::Norm::ortho), 9, -1, fft::Norm::ortho), x, 1e-13);
  near(fft::irfft(fft::rfft(x, {}, -1, fft::Norm::forward), 9, -1, fft::Norm::forward), x, 1e-13);
  near(fft::fftfreq(5, 0.5), Tensor{0., 0.4, 0.8, -0.8, -0.4}, 1e-15);
  near(fft::fftfreq(4), Tensor{0., 0.25, -0.5, -0.25}, 1e-15);
  near(fft::rfftfreq(5), Tensor{0., 0.2, 0.4}, 1e-15);
  near(fft::ifftshift(fft::fftshift(x)), x, 0);
  near(fft::fftshift(fft::fftfreq(5)), sn::sort(fft::fftfreq(5)), 0);
}

TEST_CASE("the convolution theorem and Parseval's theorem hold") {
  const Tensor x = random(rng, {2, 30}, DType::float64, -1, 1).first, w = random(rng, {7}, DType::float64, -1, 1).first;
  const Tensor product = fft::irfft(fft::rfft(x, 36) * fft::rfft(w, 36), 36);
  Tensor direct = sn::zeros({2, 36});
  for (std::int64_t k = 0; k < 7; ++k) direct = direct + sn::pad(x, {{0, 0}, {k, 6 - k}}) * w(k);
  near(product, direct, 1e-12);
  const sn::Complex f = fft::fft(x);
  near(sn::sum(sn::square(sn::abs(f)), -1) / 30., sn::sum(sn::square(x), -1), 1e-12);
  const auto before = sn::counters().host_calls;
  sn::eval(fft::rfft(x + 1.).re);
  CHECK(sn::counters().host_calls - before == (on_gpu() ? 1 : 0));
}

TEST_CASE("a size of -1 is that of the axis, and bool is transformed as numbers") {
  const Tensor x = random(rng, {4, 6}, DType::float64, -1, 1).first;
  near(fft::fftn(x, {2, -1}).re, fft::fftn(x, {2, 6}).re, 0);
  CHECK_THROWS_AS(fft::fftn(x, {2, -2}), sn::ValueError);
  const Tensor flags = x > 0.;
  near(fft::hfft({flags, flags}, 10), fft::hfft({sn::astype(flags, DType::float64), sn::astype(flags, DType::float64)}, 10), 0);
}

TEST_CASE("frequencies, real and complex transforms") {
  const Tensor x = random(rng, {4, 9}, DType::float64, -1, 1).first, y = random(rng, {4, 9}, DType::float64, 0.5, 1).first;
  const sn::Complex half = fft::ihfft(x);
  near(half.re, fft::rfft(x).re / 9., 1e-14);
  near(half.im, -fft::rfft(x).im / 9., 1e-14);
  near(fft::hfft(half, 9), x, 1e-13);
  near(fft::hfft(fft::ihfft(x, {}, 0, fft::Norm::ortho), 4, 0, fft::Norm::ortho), x, 1e-13);
  const sn::Complex a{x, y}, b{y, x * 3.};
  const auto check = [&](const sn::Complex& got, auto op) {
    const auto ar = values(a.re), ai = values(a.im), br = values(b.re), bi = values(b.im), re = values(got.re), im = values(got.im);
    for (std::size_t k = 0; k < ar.size(); ++k) {
      const Wide want = op(Wide(ar[k], ai[k]), Wide(br[k], bi[k]));
      REQUIRE(std::abs(Wide(re[k], im[k]) - want) <= 1e-14L * (1 + std::abs(want)));
    }
  };
  check(a + b, [](Wide u, Wide v) { return u + v; });
  check(a - b, [](Wide u, Wide v) { return u - v; });
  check(a * b, [](Wide u, Wide v) { return u * v; });
  check(a / b, [](Wide u, Wide v) { return u / v; });
  check(sn::conj(a) * b, [](Wide u, Wide v) { return std::conj(u) * v; });
  check(sn::polar(sn::abs(a), sn::angle(a)), [](Wide u, Wide) { return u; });
  near((a * sn::Complex{sn::ones({}) * 1e300, sn::ones({}) * 1e300} / sn::Complex{sn::ones({}) * 1e300, sn::ones({}) * 1e300}).re, x, 1e-13);
  near(sn::angle(Tensor{-2., 3., 0.}), Tensor{std::numbers::pi, 0., 0.}, 1e-15);
  near(sn::imag(x), sn::zeros({4, 9}), 0);
  CHECK(sn::imag(sn::arange(3)).dtype() == DType::int64);
  near(sn::real(sn::conj(x)), x, 0);
  says<sn::ShapeError>([&] { (void)(a + sn::Complex{sn::ones({5}), sn::ones({5})}); }, "add: shapes (4, 9) and (5,) do not broadcast (axis -1: 9 against 5)");
}

TEST_CASE("functions of complex numbers") {
  struct Row {
    sn::Complex (*function)(const sn::ComplexArg&);
    Wide (*want)(const Wide&);
  };
  const Row rows[] = {
      {sn::exp, std::exp}, {sn::log, std::log},   {sn::sqrt, std::sqrt}, {sn::sin, std::sin},   {sn::cos, std::cos},
      {sn::tan, std::tan}, {sn::sinh, std::sinh}, {sn::cosh, std::cosh}, {sn::tanh, std::tanh},
  };
  // Points everywhere in the plane, near the unit circle (where a logarithm loses digits), with large real parts, and on both axes.
  std::vector<double> re, im;
  const auto point = [&](double a, double b) { re.push_back(a), im.push_back(b); };
  std::uniform_real_distribution<double> wide(-6, 6), close(-1e-9, 1e-9), turn(-3, 3);
  for (int k = 0; k < 60; ++k) point(wide(rng), wide(rng));
  for (int k = 0; k < 20; ++k) {
    const double angle = turn(rng);
    point(std::cos(angle) * (1 + close(rng)), std::sin(angle) * (1 + close(rng)));
    point(k < 10 ? 30 + wide(rng) : -30 + wide(rng), wide(rng));
    point(wide(rng), 0.0), point(0.0, wide(rng));
  }
  const sn::Complex z{sn::from_span(re), sn::from_span(im)};
  for (const Row& row : rows) {
    CAPTURE(&row - rows);
    const sn::Complex got = row.function(z);
    const auto a = values(got.re), b = values(got.im);
    for (std::size_t k = 0; k < re.size(); ++k) {
      CAPTURE(re[k]);
      CAPTURE(im[k]);
      const Wide want = row.want(Wide(re[k], im[k]));
      REQUIRE(std::abs(Wide(a[k], b[k]) - want) <= 4e-15L * std::abs(want));
    }
  }
  const sn::Complex half = sn::sqrt(sn::Complex{sn::astype(z.re, DType::float32), sn::astype(z.im, DType::float32)});
  CHECK(half.re.dtype() == DType::float32);
  for (const std::int64_t n : {0, 1, 2, 5, -1, -3, 600}) {
    CAPTURE(n);
    const sn::Complex base{z.re / 6., z.im / 6.}, got = sn::power(base, n);
    const auto a = values(got.re), b = values(got.im), x = values(base.re), y = values(base.im);
    for (std::size_t k = 0; k < a.size(); ++k) {
      const Wide want = std::pow(Wide(x[k], y[k]), static_cast<long double>(n));
      if (!std::isfinite(std::abs(want)) || std::abs(want) > 1e300L || (n == 600 && std::abs(want) < 1e-280L)) continue;
      REQUIRE(std::abs(Wide(a[k], b[k]) - want) <= (n == 600 ? 2e-12L : 1e-14L) * std::abs(want));
    }
  }
  const sn::Complex some = sn::power(z, sn::Complex{Tensor{0.5}, Tensor{-0.25}});
  const auto a = values(some.re), b = values(some.im);
  for (std::size_t k = 0; k < re.size(); ++k) {
    const Wide want = std::pow(Wide(re[k], im[k]), Wide(0.5L, -0.25L));
    REQUIRE(std::abs(Wide(a[k], b[k]) - want) <= 1e-14L * std::abs(want));
  }
  const double inf = INFINITY;
  CHECK(values(sn::sqrt(sn::Complex{Tensor{1.0, -inf, inf, 0.0, -4.0}, Tensor{inf, 3.0, 3.0, -0.0, -0.0}}).re) == std::vector<double>{inf, 0, inf, 0, 0});
  CHECK(values(sn::sqrt(sn::Complex{Tensor{1.0, -inf, inf, -4.0}, Tensor{inf, 3.0, 3.0, -0.0}}).im) == std::vector<double>{inf, inf, 0, -2});
  CHECK(values(sn::power(sn::Complex{Tensor{0.0}, Tensor{0.0}}, sn::Complex{Tensor{0.0, 2.0}, Tensor{0.0, 1.0}}).re) == std::vector<double>{1, 0});
  const Tensor m = random(rng, {3, 4}, DType::float64, -1, 1).first, n = random(rng, {4, 2}, DType::float64, -1, 1).first;
  const sn::Complex product = sn::matmul(sn::Complex{m, m * 2.}, sn::Complex{n, n * -1.});  // (1 + 2i)(1 - i) = 3 + i
  near(product.re, sn::matmul(m, n) * 3., 1e-14);
  near(product.im, sn::matmul(m, n), 1e-14);
}

TEST_CASE("wrong shapes and types are errors") {
  const Tensor x = sn::ones({3, 4});
  says<sn::ValueError>([&] { fft::rfft(x, 0); }, "rfft: a transform of 0 numbers");
  says<sn::ShapeError>([&] { fft::fft({x, sn::ones({3})}); }, "fft: a real part of shape (3, 4) and an imaginary one of shape (3,)");
  CHECK_THROWS_AS(fft::rfft(x, {}, 2), sn::AxisError);
  CHECK_THROWS_AS(fft::rfft(sn::ones({2, 0})), sn::ValueError);
  CHECK(fft::rfft(sn::ones({0, 4})).re.shape() == Shape{0, 3});
}
