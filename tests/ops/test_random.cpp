// Random numbers: the published test vectors, the same bits on every executor, the distributions, and fusion.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <sinter/sinter.hpp>
#include <vector>

#include "philox_reference.hpp"
#include "program.hpp"

using namespace sinter::random;
using sinter::DType;
using sinter::Slice;
using sinter::Tensor;
using sinter::testing::philox_reference;

namespace {

struct Moments {
  double mean = 0, variance = 0, skewness = 0, kurtosis = 0;
};
template <class T> Moments moments(const std::vector<T>& x) {
  Moments m;
  for (const T v : x) m.mean += v;
  m.mean /= static_cast<double>(x.size());
  double second = 0, third = 0, fourth = 0;
  for (const T v : x) {
    const double d = v - m.mean;
    second += d * d, third += d * d * d, fourth += d * d * d * d;
  }
  const auto n = static_cast<double>(x.size());
  m.variance = second / n;
  m.skewness = third / n / std::pow(m.variance, 1.5);
  m.kurtosis = fourth / n / (m.variance * m.variance);
  return m;
}

/// Returns Pearson's statistic over `bins` equal parts of [0, 1), as deviations from its mean.
template <class T> double chi_square(const std::vector<T>& x, int bins) {
  std::vector<double> counts(static_cast<std::size_t>(bins));
  for (const T v : x) ++counts.at(static_cast<std::size_t>(static_cast<double>(v) * bins));
  const double expected = static_cast<double>(x.size()) / bins;
  double sum = 0;
  for (const double c : counts) sum += (c - expected) * (c - expected) / expected;
  return (sum - (bins - 1)) / std::sqrt(2.0 * (bins - 1));
}

constexpr std::uint64_t kSeeds[] = {0, 1, 7, 0xffffffffffffffff, 0x8000000000000000, 0x123456789abcdef0};

}  // namespace

TEST_CASE("a seed is a key") {
  CHECK(normal(7, {4}).to_vector<double>() == normal(Key(7), {4}).to_vector<double>());
  CHECK(uniform(7, {4}, DType::float32).to_vector<float>() == uniform(Key(7), {4}, DType::float32).to_vector<float>());
  CHECK(permutation(7, sn::arange(9)).to_vector<std::int64_t>() == permutation(Key(7), sn::arange(9)).to_vector<std::int64_t>());
}

TEST_CASE("the reference gives the vectors published with Random123") {
  using Block = std::array<std::uint32_t, 4>;
  CHECK(philox_reference({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox_reference({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}) == Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox_reference({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) == Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("every element's bits are Philox's") {
  for (const std::uint64_t seed : kSeeds)
    for (const std::int64_t n : {0, 1, 5, 63, 1000}) {
      const auto got = bits(Key(seed), {n}, DType::uint64).to_vector<std::uint64_t>();
      REQUIRE(got.size() == static_cast<std::size_t>(n));
      for (std::size_t k = 0; k < got.size(); ++k) REQUIRE(got[k] == philox_reference(k, seed));
    }
  const auto words = bits(Key(7), {3, 5}).to_vector<std::uint32_t>();  // row-major order for any shape
  for (std::size_t k = 0; k < words.size(); ++k) CHECK(words[k] == static_cast<std::uint32_t>(philox_reference(k, 7)));
  CHECK(bits(Key(1), {}, DType::int8).item<std::int8_t>() == static_cast<std::int8_t>(philox_reference(0, 1)));
  CHECK_THROWS_AS(bits(Key(1), {2}, DType::float32), sn::DTypeError);
}

TEST_CASE("equal keys repeat, split and folded keys differ") {
  const Key key(42);
  std::set<std::uint64_t> seen{key.bits()};
  for (const Key& k : key.split(1000)) seen.insert(k.bits());
  for (std::uint64_t k = 0; k < 1000; ++k) seen.insert(key.fold_in(k).bits());
  CHECK(seen.size() == 2001);
  CHECK(key.split(3)[1] == key.split(5)[1]);
  const auto [first, second] = key.split();
  CHECK(first == key.split(5)[0]);
  CHECK(second == key.split(5)[1]);
  CHECK(normal(key, {5}, DType::float32).to_vector<float>() == normal(key, {5}, 0, 1, DType::float32).to_vector<float>());
  CHECK(uniform(key, {5}, DType::float32).dtype() == DType::float32);
  const auto block = philox_reference({3, 0, 1, 0}, {42, 0});
  CHECK(key.split(4)[3].bits() == (std::uint64_t{block[1]} << 32 | block[0]));
  CHECK(uniform(key, {9}).to_vector<double>() == uniform(key, {9}).to_vector<double>());
  // Neighbouring keys have no correlation.
  const auto a = uniform(Key(1), {20000}).to_vector<double>(), b = uniform(Key(2), {20000}).to_vector<double>();
  double both = 0;
  for (std::size_t k = 0; k < a.size(); ++k) both += (a[k] - 0.5) * (b[k] - 0.5);
  CHECK(std::abs(both / 20000 * 12) < 5 / std::sqrt(20000.0));
}

TEST_CASE("uniform numbers are the fractions that their bits encode, and evenly distributed") {
  for (const std::uint64_t seed : kSeeds) {
    const auto f = uniform(Key(seed), {1001}, 0, 1, DType::float32).to_vector<float>();
    const auto d = uniform(Key(seed), {1001}).to_vector<double>();
    for (std::size_t k = 0; k < f.size(); ++k) {
      REQUIRE(f[k] == static_cast<float>(static_cast<std::uint32_t>(philox_reference(k, seed)) >> 8) * 0x1p-24f);
      REQUIRE(d[k] == static_cast<double>(philox_reference(k, seed) >> 11) * 0x1p-53);
    }
  }
  CHECK(std::abs(chi_square(uniform(Key(3), {200000}, 0, 1, DType::float32).to_vector<float>(), 256)) < 5);
  CHECK(std::abs(chi_square(uniform(Key(3), {200000}).to_vector<double>(), 1000)) < 5);
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    const auto half = sn::astype(uniform(Key(5), {50000}, 0, 1, dtype), DType::float32).to_vector<float>();
    CHECK(*std::max_element(half.begin(), half.end()) < 1);
    CHECK(std::abs(chi_square(half, 64)) < 5);
  }
  // Bounds are numbers or tensors.
  const Tensor low = sn::arange(4.0), shifted = uniform(Key(6), {500, 4}, low, low + 2.0);
  for (int column = 0; column < 4; ++column) {
    const auto values = shifted(Slice{}, column).to_vector<double>();
    CHECK(*std::min_element(values.begin(), values.end()) >= column);
    CHECK(*std::max_element(values.begin(), values.end()) < column + 2);
  }
  CHECK(uniform(Key(1), {0, 3}).shape() == sn::Shape{0, 3});
  CHECK_THROWS_AS(uniform(Key(1), {3}, 0, 1, DType::int32), sn::DTypeError);
  CHECK_THROWS_AS(uniform(Key(1), {3}, sn::zeros({4})), sn::ShapeError);
}

TEST_CASE("normal numbers are the Box-Muller transform of their bits, and have the moments of a normal distribution") {
  const auto d = normal(Key(11), {5000}).to_vector<double>();
  const auto f = normal(Key(11), {5000}, 0, 1, DType::float32).to_vector<float>();
  for (std::size_t k = 0; k < d.size(); ++k) {
    const std::uint64_t first = philox_reference(k, 11), second = philox_reference(k | std::uint64_t{1} << 63, 11);
    const double exact = std::sqrt(-2 * std::log((static_cast<double>(first >> 11) + 1) * 0x1p-53)) *
                         std::cos(static_cast<double>(static_cast<std::int64_t>(second)) * std::numbers::pi * 0x1p-63);
    REQUIRE(d[k] == doctest::Approx(exact).epsilon(1e-9));
    const double narrow = std::sqrt(-2 * std::log((static_cast<double>(static_cast<std::uint32_t>(first)) + 1) * 0x1p-32)) *
                          std::cos(static_cast<double>(static_cast<std::int32_t>(first >> 32)) * std::numbers::pi * 0x1p-31);
    REQUIRE(std::abs(f[k] - narrow) < 2e-4);
  }
  constexpr int n = 400000;
  for (const auto& m : {moments(normal(Key(12), {n}).to_vector<double>()), moments(normal(Key(13), {n}, 0, 1, DType::float32).to_vector<float>())}) {
    CHECK(std::abs(m.mean) < 5 / std::sqrt(n));
    CHECK(std::abs(m.variance - 1) < 5 * std::sqrt(2.0 / n));
    CHECK(std::abs(m.skewness) < 5 * std::sqrt(6.0 / n));
    CHECK(std::abs(m.kurtosis - 3) < 5 * std::sqrt(24.0 / n));
  }
  const auto scaled = moments(normal(Key(14), {n}, 10, 0.5f, DType::float32).to_vector<float>());
  CHECK(scaled.mean == doctest::Approx(10).epsilon(1e-3));
  CHECK(scaled.variance == doctest::Approx(0.25).epsilon(1e-2));
}

TEST_CASE("integers have every value of the range and no other, even if the range exceeds 32 bits") {
  const auto dice = integers(Key(21), {60000}, 1, 7).to_vector<std::int64_t>();
  std::vector<double> counts(7);
  for (const auto v : dice) ++counts.at(static_cast<std::size_t>(v));
  CHECK(counts[0] == 0);
  for (int face = 1; face < 7; ++face) CHECK(std::abs(counts[static_cast<std::size_t>(face)] - 10000) < 5 * std::sqrt(10000.0 * 5 / 6));
  __extension__ using Wide = unsigned __int128;
  const std::pair<std::int64_t, std::int64_t> ranges[] = {{0, 1},
                                                          {-5, 5},
                                                          {0, std::int64_t{1} << 32},
                                                          {-3, (std::int64_t{1} << 33) + 12345},
                                                          {INT64_MIN, INT64_MAX},
                                                          {0, INT64_MAX},
                                                          {-1'000'000'007, 998'244'353}};
  for (const auto& [low, high] : ranges) {
    const auto got = integers(Key(22), {2000}, low, high).to_vector<std::int64_t>();
    const auto range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    for (std::size_t k = 0; k < got.size(); ++k)
      REQUIRE(got[k] == static_cast<std::int64_t>(static_cast<std::uint64_t>(Wide{philox_reference(k, 22)} * range >> 64) + static_cast<std::uint64_t>(low)));
  }
  const auto bytes = integers(Key(23), {5000}, -128, 128, DType::int8).to_vector<std::int8_t>();
  CHECK(*std::min_element(bytes.begin(), bytes.end()) == -128);
  CHECK(*std::max_element(bytes.begin(), bytes.end()) == 127);
  CHECK_THROWS_WITH_AS(integers(Key(1), {2}, 3, 3), doctest::Contains("no integer from 3 to below 3"), sn::ValueError);
  CHECK_THROWS_AS(integers(Key(1), {2}, 0, 300, DType::uint8), sn::ValueError);
  CHECK_THROWS_AS(integers(Key(1), {2}, 0, 3, DType::float32), sn::DTypeError);
}

TEST_CASE("bernoulli, exponential, choice") {
  CHECK(sn::sum(bernoulli(Key(31), {100000}, 0.3)).item<std::int64_t>() == doctest::Approx(30000).epsilon(5 * std::sqrt(0.7 / 0.3 / 100000)));
  CHECK(sn::sum(bernoulli(Key(31), {1000}, 0)).item<std::int64_t>() == 0);
  CHECK(sn::sum(bernoulli(Key(31), {1000}, 1)).item<std::int64_t>() == 1000);
  const auto rows =
      sn::mean(sn::astype(bernoulli(Key(32), {3, 40000}, sn::reshape(sn::from_span(std::vector<float>{0.1f, 0.5f, 0.9f}), {3, 1})), DType::float64), 1)
          .to_vector<double>();
  for (int k = 0; k < 3; ++k) CHECK(std::abs(rows[static_cast<std::size_t>(k)] - (0.1 + 0.4 * k)) < 0.013);
  const auto waits = exponential(Key(33), {200000}, 2.0).to_vector<double>();
  const Moments m = moments(waits);
  CHECK(m.mean == doctest::Approx(2).epsilon(0.012));
  CHECK(m.variance == doctest::Approx(4).epsilon(0.04));
  CHECK(*std::min_element(waits.begin(), waits.end()) >= 0);
  const Tensor table = sn::reshape(sn::arange(20), {5, 4});
  const auto drawn = choice(Key(34), table, 1000).to_vector<std::int64_t>();
  std::set<std::int64_t> first;
  for (std::size_t row = 0; row < 1000; ++row) {
    first.insert(drawn[4 * row]);
    for (std::size_t k = 1; k < 4; ++k) REQUIRE(drawn[4 * row + k] == drawn[4 * row] + static_cast<std::int64_t>(k));
  }
  CHECK(first == std::set<std::int64_t>{0, 4, 8, 12, 16});
  CHECK(choice(Key(34), table, 3, 1).shape() == sn::Shape{5, 3});
  CHECK(choice(Key(34), table, 0).shape() == sn::Shape{0, 4});
  CHECK_THROWS_AS(choice(Key(34), sn::zeros({0, 4}), 2), sn::ValueError);
}

namespace {

/// Returns the Kolmogorov-Smirnov statistic times sqrt(n). It exceeds 2.2 in one of 10^4 fair samples.
template <class Cdf> double kolmogorov(const Tensor& numbers, Cdf cdf) {
  auto x = sn::astype(numbers, DType::float64).to_vector<double>();
  std::sort(x.begin(), x.end());
  const auto n = static_cast<double>(x.size());
  double largest = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double p = cdf(x[k]), i = static_cast<double>(k);
    largest = std::max({largest, p - i / n, (i + 1) / n - p});
  }
  return largest * std::sqrt(n);
}

}  // namespace

TEST_CASE("continuous distributions in float32 and float64") {
  const sn::Shape shape{sinter::testing::on_gpu() ? 3000 : 60000};
  const double root = std::numbers::sqrt2;
  for (const DType type : {DType::float64, DType::float32}) {
    CAPTURE(sn::name(type));
    CHECK(kolmogorov(laplace(Key(1), shape, 2, 3, type), [](double x) { return x < 2 ? std::exp((x - 2) / 3) / 2 : 1 - std::exp((2 - x) / 3) / 2; }) < 2.2);
    CHECK(kolmogorov(logistic(Key(2), shape, 1, 2, type), [](double x) { return 1 / (1 + std::exp((1 - x) / 2)); }) < 2.2);
    CHECK(kolmogorov(gumbel(Key(3), shape, -1, 0.5, type), [](double x) { return std::exp(-std::exp(-(x + 1) / 0.5)); }) < 2.2);
    CHECK(kolmogorov(cauchy(Key(4), shape, 0, 1, type), [](double x) { return 0.5 + std::atan(x) / std::numbers::pi; }) < 2.2);
    CHECK(kolmogorov(rayleigh(Key(5), shape, 2, type), [](double x) { return -std::expm1(-x * x / 8); }) < 2.2);
    CHECK(kolmogorov(weibull(Key(6), shape, 1.5, type), [](double x) { return -std::expm1(-std::pow(x, 1.5)); }) < 2.2);
    CHECK(kolmogorov(pareto(Key(7), shape, 3, type), [](double x) { return 1 - std::pow(1 + x, -3); }) < 2.2);
    CHECK(kolmogorov(lognormal(Key(8), shape, 0.5, 0.25, type), [&](double x) { return std::erfc((0.5 - std::log(x)) / 0.25 / root) / 2; }) < 2.2);
    const auto normal_below = [&](double x) { return std::erfc(-x / root) / 2; };
    CHECK(kolmogorov(truncated_normal(Key(9), shape, -1, 2.5, type),
                     [&](double x) { return (normal_below(x) - normal_below(-1)) / (normal_below(2.5) - normal_below(-1)); }) < 2.2);
    if (sinter::testing::on_gpu() && type == DType::float64) continue;
    CHECK(kolmogorov(gamma(Key(10), shape, 1, 2, type), [](double x) { return -std::expm1(-x / 2); }) < 2.2);
    if (sinter::testing::on_gpu()) continue;
    CHECK(kolmogorov(gamma(Key(11), shape, 3, 1, type), [](double x) { return 1 - std::exp(-x) * (1 + x + x * x / 2); }) < 2.2);
    CHECK(kolmogorov(gamma(Key(12), shape, 0.5, 1, type), [](double x) { return std::erf(std::sqrt(x)); }) < 2.2);
    CHECK(kolmogorov(loggamma(Key(13), shape, 0.01, type), [](double y) {  // exp(y) may be 0, so the function's series near 0 is used
            const double x = std::exp(y);
            double sum = 0, term = 1;
            for (int k = 0; k < 60; ++k) sum += term / (0.01 + k), term *= -x / (k + 1);
            return std::exp(y * 0.01 - std::lgamma(0.01)) * sum;
          }) < 2.2);
    CHECK(kolmogorov(beta(Key(14), shape, 2, 3, type), [](double x) { return x * x * (6 - 8 * x + 3 * x * x); }) < 2.2);
    CHECK(kolmogorov(beta(Key(15), shape, 0.5, 0.5, type), [](double x) { return 2 / std::numbers::pi * std::asin(std::sqrt(x)); }) < 2.2);
    CHECK(kolmogorov(chisquare(Key(16), shape, 4, type), [](double x) { return 1 - std::exp(-x / 2) * (1 + x / 2); }) < 2.2);
    CHECK(kolmogorov(standard_t(Key(17), shape, 2, type), [](double x) { return 0.5 + x / (2 * std::sqrt(2 + x * x)); }) < 2.2);
  }
  // Parameters are numbers or tensors, and invalid ones are refused.
  const Tensor mixed = gamma(Key(18), {50000, 2}, Tensor{1.0, 5.0}, Tensor{1.0, 0.5});
  if (!sinter::testing::on_gpu()) {
    CHECK(kolmogorov(mixed(Slice{}, 0), [](double x) { return -std::expm1(-x); }) < 2.2);
    CHECK(sn::mean(mixed(Slice{}, 1)).item<double>() == doctest::Approx(2.5).epsilon(0.02));
    const Tensor parts = dirichlet(Key(19), Tensor{1.0, 2.0, 3.0}, {40000, 3});
    CHECK(sn::max(sn::abs(sn::sum(parts, 1) - 1)).item<double>() < 1e-12);
    CHECK(kolmogorov(parts(Slice{}, 1), [](double x) { return x * x * (10 - 20 * x + 15 * x * x - 4 * x * x * x); }) < 2.2);  // beta(2, 4)
  }
  CHECK_THROWS_AS(gamma(Key(1), {3}, 0), sn::ValueError);
  CHECK_THROWS_AS(laplace(Key(1), {3}, 0, 1, DType::int32), sn::DTypeError);
}

TEST_CASE("discrete distributions have the expected frequencies") {
  const int n = sinter::testing::on_gpu() ? 4000 : 200000;
  const auto matches = [&](const Tensor& numbers, std::int64_t first, const std::vector<double>& probabilities) {
    std::vector<double> counts(probabilities.size() + 1);
    for (const std::int64_t v : numbers.to_vector<std::int64_t>())
      ++counts[static_cast<std::size_t>(std::clamp<std::int64_t>(v - first, 0, static_cast<std::int64_t>(probabilities.size())))];
    double rest = 1;
    for (std::size_t k = 0; k < probabilities.size(); ++k) {
      const double p = probabilities[k];
      CAPTURE(k);
      CHECK(std::abs(counts[k] - n * p) < 5 * std::sqrt(n * p * (1 - p)) + 1);
      rest -= p;
    }
    CHECK(std::abs(counts.back() - n * rest) < 5 * std::sqrt(n * std::abs(rest)) + 1);
  };
  const auto list = [](int first, int count, auto weight) {
    std::vector<double> p;
    for (int k = first; k < first + count; ++k) p.push_back(weight(k));
    return p;
  };
  for (const double rate : {0.1, 3.0, 40.0})
    matches(poisson(Key(1), {n}, rate), std::max(0, static_cast<int>(rate - 5)), list(std::max(0, static_cast<int>(rate - 5)), 9, [&](int k) {
              if (k == std::max(0, static_cast<int>(rate - 5)) && k > 0) {  // smaller values count as the first
                double sum = 0;
                for (int j = 0; j <= k; ++j) sum += std::exp(j * std::log(rate) - rate - std::lgamma(j + 1));
                return sum;
              }
              return std::exp(k * std::log(rate) - rate - std::lgamma(k + 1));
            }));
  const Moments many = moments(poisson(Key(2), {n}, 1e6).to_vector<std::int64_t>());
  CHECK(std::abs(many.mean - 1e6) < 5 * 1e3 / std::sqrt(n));
  CHECK(many.variance == doctest::Approx(1e6).epsilon(5 * std::sqrt(2.0 / n)));
  matches(binomial(Key(3), {n}, 10, 0.3), 0,
          list(0, 11, [](int k) { return std::exp(std::lgamma(11) - std::lgamma(k + 1) - std::lgamma(11 - k)) * std::pow(0.3, k) * std::pow(0.7, 10 - k); }));
  matches(geometric(Key(4), {n}, 0.4), 1, list(1, 8, [](int k) { return 0.4 * std::pow(0.6, k - 1); }));
  matches(categorical(Key(5), sn::log(Tensor{0.5, 0.25, 0.0, 0.25}), -1, sn::Shape{n}), 0, {0.5, 0.25, 0.0, 0.25});
  matches(choice(Key(6), sn::arange(4), n, 0, true, Tensor{2.0, 1.0, 0.0, 1.0}), 0, {0.5, 0.25, 0.0, 0.25});
  CHECK(std::abs(sn::mean(rademacher(Key(7), {n})).item<double>()) < 5 / std::sqrt(n));
  CHECK(sn::all(binomial(Key(8), {50}, 7, 1.0) == 7).item<bool>());
  CHECK(sn::sum(poisson(Key(8), {50}, 0)).item<std::int64_t>() == 0);
  CHECK_THROWS_AS(poisson(Key(1), {3}, -1), sn::ValueError);
  CHECK_THROWS_AS(binomial(Key(1), {3}, 3, 1.5), sn::ValueError);
  CHECK(categorical(Key(9), sn::zeros({3, 5, 2}), 1).shape() == sn::Shape{3, 2});
  CHECK_THROWS_AS(categorical(Key(9), sn::zeros({3, 5}), 1, sn::Shape{4}), sn::ShapeError);
}

TEST_CASE("permutations, and choice without replacement") {
  const auto order = permutation(Key(5), 40).to_vector<std::int64_t>();
  std::vector<std::int64_t> want(40);
  for (std::size_t k = 0; k < 40; ++k) want[k] = static_cast<std::int64_t>(k);
  std::sort(want.begin(), want.end(),
            [](auto a, auto b) { return philox_reference(static_cast<std::uint64_t>(a), 5) < philox_reference(static_cast<std::uint64_t>(b), 5); });
  CHECK(order == want);
  const Tensor table = sn::arange(12).reshape({3, 4});
  const auto turned = permutation(Key(6), table, 1).to_vector<std::int64_t>();
  for (std::size_t k = 0; k < 4; ++k) CHECK((turned[k + 4] == turned[k] + 4 && turned[k + 8] == turned[k] + 8));
  const auto some = choice(Key(7), sn::arange(30), 12, 0, false).to_vector<std::int64_t>();
  CHECK(std::set<std::int64_t>(some.begin(), some.end()).size() == 12);
  // The first element of a choice without replacement has the probabilities p.
  double firsts = 0;
  const int tries = sinter::testing::on_gpu() ? 0 : 2000;
  for (int k = 0; k < tries; ++k)
    firsts += choice(Key(8).fold_in(static_cast<std::uint64_t>(k)), sn::arange(3), 2, 0, false, Tensor{0.6, 0.3, 0.1})(0).item<std::int64_t>() == 0;
  CHECK(std::abs(firsts - 0.6 * tries) <= 5 * std::sqrt(tries * 0.24));
  CHECK_THROWS_AS(choice(Key(1), sn::arange(3), 4, 0, false), sn::ValueError);
  CHECK_THROWS_AS(choice(Key(1), sn::arange(3), 2, 0, true, Tensor{1.0}), sn::ShapeError);
}

TEST_CASE("random numbers are generated in the kernel that uses them, and a new key needs no new kernel") {
  if (sn::options().fuse) {
    const Tensor x = sn::from_span(std::vector<float>(10000, 1.0f));
    const Tensor dropped = sn::where(bernoulli(Key(41), {10000}, 0.9), x / 0.9f, 0.0f);
    sn::eval(dropped);
    const auto before = sn::counters();
    const Tensor again = sn::where(bernoulli(Key(99), {10000}, 0.9), x / 0.9f, 0.0f);
    sn::eval(again);
    const auto after = sn::counters();
    CHECK(after.kernels_launched - before.kernels_launched == 1);
    CHECK(after.kernels_compiled == before.kernels_compiled);
    CHECK(dropped.to_vector<float>() != again.to_vector<float>());
  }
  // A slice has the same numbers as the whole.
  const auto whole = normal(Key(5), {40, 30}).to_vector<double>();
  const auto part = normal(Key(5), {40, 30})(Slice{10, 20}, Slice{{}, {}, 3}).to_vector<double>();
  for (std::size_t row = 0; row < 10; ++row)
    for (std::size_t k = 0; k < 10; ++k) CHECK(part[10 * row + k] == whole[30 * (row + 10) + 3 * k]);
  // A loop that draws numbers at each step.
  double inside = 0;
  for (std::uint64_t step = 0; step < 20; ++step) {
    const Tensor points = uniform(Key(8).fold_in(step), {2, 10000});
    inside += sn::sum(sn::astype(points(0) * points(0) + points(1) * points(1) < 1.0, DType::float64)).item<double>();
  }
  CHECK(4 * inside / 200000 == doctest::Approx(std::numbers::pi).epsilon(0.006));
}
