// Accuracy of the inlined float32 functions: bit patterns over the whole range, every exponent, against the C library's
// double functions, on every instruction level this processor can run.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "llvm_runner.hpp"
#include "nest_builder.hpp"

using namespace sinter;
using namespace sinter::testing;

namespace {

constexpr double kMaxUlp = 2.0;

/// |got - expected| in units of float32's last place at `expected`.
double ulp_error(float got, double expected) {
  const float rounded = static_cast<float>(expected);
  if (std::isnan(expected)) return std::isnan(got) ? 0 : 1e9;
  if (std::isnan(got)) return 1e9;
  if (std::isinf(rounded) || std::isinf(got)) {
    if (got == rounded) return 0;
    return std::fabs(got) >= std::numeric_limits<float>::max() && std::fabs(expected) > 3.4028233e38 &&
                   std::signbit(got) == std::signbit(expected)
               ? 1
               : 1e9;
  }
  if (got == 0 && expected == 0) return std::signbit(got) == std::signbit(expected) ? 0 : 1e9;
  int exponent = 0;
  std::frexp(expected, &exponent);
  const double ulp = std::ldexp(1.0, std::max(exponent, -125) - 24);
  return std::fabs(got - expected) / ulp;
}

jit::LoopNest function_nest(Op op, int arity, std::int64_t n) {
  NestBuilder b({n});
  b.stage(false);
  const int index = b.affine({1});
  const int x = b.load(DType::float32, index);
  const int y = arity == 2 ? b.load(DType::float32, index) : -1;
  b.store(arity == 2 ? b.op(op, {x, y}) : b.op(op, {x}), index);
  return b.nest;
}

struct Function {
  Op op;
  double (*reference)(double);
};

}  // namespace

TEST_CASE("float32 functions are within 2 ULP over the whole range") {
  if (!llvm_compiler()) {
    MESSAGE("skipped: no LLVM");
    return;
  }
  const Function functions[] = {{Op::exp, std::exp},   {Op::exp2, std::exp2},   {Op::expm1, std::expm1}, {Op::log, std::log},
                                {Op::log2, std::log2}, {Op::log10, std::log10}, {Op::log1p, std::log1p}, {Op::sin, std::sin},
                                {Op::cos, std::cos},   {Op::tan, std::tan},     {Op::asin, std::asin},   {Op::acos, std::acos},
                                {Op::atan, std::atan}, {Op::sinh, std::sinh},   {Op::cosh, std::cosh},   {Op::tanh, std::tanh},
                                {Op::erf, std::erf}};
  const std::uint32_t seed = std::random_device{}();
  CAPTURE(seed);
  // Every 1021st bit pattern from a random start: 4.2 million values of all exponents; then what matters most: [-1, 1] x few.
  std::vector<float> x;
  for (std::uint64_t bits = seed % 1021; bits < (std::uint64_t{1} << 32); bits += 1021)
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  std::mt19937 random(seed);
  for (double width : {0.9, 1.1, 10.0, 90.0, 104.5, 2e6, 5e6})
    for (int k = 0; k < 50000; ++k) x.push_back(static_cast<float>(std::uniform_real_distribution<double>(-width, width)(random)));
  for (int k = 0; k < 50000; ++k) x.push_back(std::bit_cast<float>(0x3f800000u - 25000u + static_cast<unsigned>(k)));
  for (float special : {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1.0f, -1.0f, 0.625f, 0.925f, 88.7228f, 88.7229f, -103.97f, 9.01f})
    x.push_back(special);
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<std::vector<float>> expected_high;
  std::vector<float> out(x.size());
  std::vector<double> expected(x.size());
  for (const Function& f : functions) {
    for (std::size_t k = 0; k < x.size(); ++k) expected[k] = f.reference(x[k]);
    const jit::LoopNest nest = function_nest(f.op, 1, n);
    for (const jit::CpuTarget& cpu : cpu_levels()) {
      std::fill(out.begin(), out.end(), 12345.0f);
      run(nest, compile(nest, cpu)->entry(), {x.data(), out.data()}, {}, 3);
      double worst = 0;
      std::size_t where = 0;
      for (std::size_t k = 0; k < x.size(); ++k)
        if (const double error = ulp_error(out[k], expected[k]); error > worst) {
          worst = error;
          where = k;
        }
      INFO(trace::name(f.op), " on ", cpu.vector_bytes, "-byte vectors: ", worst, " ulp at ", x[where], ": ", out[where], " for ",
           expected[where]);
      CHECK(worst <= kMaxUlp);
      if (std::getenv("SINTER_TEST_VERBOSE")) MESSAGE(trace::name(f.op), " ", cpu.vector_bytes, ": ", worst, " ulp at ", x[where]);
    }
  }
}

TEST_CASE("float32 pow and atan2 are within 2 ULP over the whole range") {
  if (!llvm_compiler()) {
    MESSAGE("skipped: no LLVM");
    return;
  }
  const std::uint32_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::vector<float> x, y;
  const std::vector<float> specials = {0.0f,   -0.0f,   1.0f,    -1.0f,    2.0f,        -2.0f,       3.0f,
                                       -3.0f,  0.5f,    -0.5f,   0.3f,     INFINITY,    -INFINITY,   NAN,
                                       1e-45f, -1e-45f, 3.4e38f, -3.4e38f, 16777215.0f, 16777216.0f, -33554433.0f};
  for (float a : specials)
    for (float b : specials) x.push_back(a), y.push_back(b);
  std::uniform_real_distribution<double> base(0, 20), exponent(-40, 40), near(0.9, 1.1);
  for (int k = 0; k < 500000; ++k)
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random()))),
        y.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  for (int k = 0; k < 500000; ++k) x.push_back(static_cast<float>(base(random))), y.push_back(static_cast<float>(exponent(random)));
  for (int k = 0; k < 500000; ++k) x.push_back(static_cast<float>(near(random))), y.push_back(static_cast<float>(20 * exponent(random)));
  for (int k = 0; k < 200000; ++k)
    x.push_back(-static_cast<float>(base(random))), y.push_back(static_cast<float>(std::lround(exponent(random))));
  std::vector<float> out(x.size());
  for (Op op : {Op::power, Op::atan2}) {
    const jit::LoopNest nest = function_nest(op, 2, static_cast<std::int64_t>(x.size()));
    for (const jit::CpuTarget& cpu : cpu_levels()) {
      std::fill(out.begin(), out.end(), 12345.0f);
      run(nest, compile(nest, cpu)->entry(), {x.data(), y.data(), out.data()}, {});
      double worst = 0;
      std::size_t where = 0;
      for (std::size_t k = 0; k < x.size(); ++k) {
        const double expected = op == Op::power ? std::pow(double{x[k]}, double{y[k]}) : std::atan2(double{x[k]}, double{y[k]});
        if (const double error = ulp_error(out[k], expected); error > worst) worst = error, where = k;
      }
      INFO(trace::name(op), " on ", cpu.vector_bytes, "-byte vectors: ", worst, " ulp at ", x[where], ", ", y[where], ": ", out[where]);
      CHECK(worst <= kMaxUlp);
      if (std::getenv("SINTER_TEST_VERBOSE"))
        MESSAGE(trace::name(op), " ", cpu.vector_bytes, ": ", worst, " ulp at ", x[where], ", ", y[where]);
    }
  }
}
