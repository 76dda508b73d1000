// Accuracy of the functions that are generated as IR, compared with the C library's functions of the next wider type: bit patterns over the whole range, every
// exponent, and the difficult arguments of each function, on every instruction set of this processor.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "llvm_runner.hpp"
#include "nest_builder.hpp"
#include "seed.hpp"
#include "special_functions.hpp"

using namespace sinter;
using namespace sinter::testing;

namespace {

template <class T> struct Type;
template <> struct Type<float> {
  using Wide = double;
  using Bits = std::uint32_t;
  static constexpr double max_ulp = 2;
  static constexpr int digits = 24, min_exponent = -125;
};
template <> struct Type<double> {
  using Wide = long double;
  using Bits = std::uint64_t;
  static constexpr double max_ulp = 1;
  static constexpr int digits = 53, min_exponent = -1021;
};
template <class T> using Wide = typename Type<T>::Wide;

/// Returns |got - expected| in units of T's last place at `expected`. Infinity counts as the number after the largest one.
template <class T> double ulp_error(T got, Wide<T> expected) {
  if (std::isnan(expected)) return std::isnan(got) ? 0 : 1e9;
  if (std::isnan(got)) return 1e9;
  if (std::isinf(expected) || std::isinf(got))
    if (got == static_cast<T>(expected)) return 0;
  if (std::isinf(expected)) return 1e9;
  if (got == 0 && expected == 0) return std::signbit(got) == std::signbit(expected) ? 0 : 1e9;
  int exponent = 0;
  std::frexp(expected, &exponent);
  const int last = std::min(std::max(exponent, Type<T>::min_exponent), std::numeric_limits<T>::max_exponent) - Type<T>::digits;
  const Wide<T> value = std::isinf(got) ? std::copysign(std::ldexp(Wide<T>(1), std::numeric_limits<T>::max_exponent), Wide<T>(got)) : Wide<T>(got);
  return static_cast<double>(std::fabs(value - expected) / std::ldexp(Wide<T>(1), last));
}

jit::LoopNest function_nest(Op op, DType dtype, int arity, std::int64_t n) {
  NestBuilder b({n});
  b.stage(false);
  const int index = b.affine({1});
  const int x = b.load(dtype, index);
  const int y = arity == 2 ? b.load(dtype, index) : -1;
  b.store(arity == 2 ? b.op(op, {x, y}) : b.op(op, {x}), index);
  return b.nest;
}

template <class T> struct Function {
  Op op;
  Wide<T> (*reference)(Wide<T>);
};
template <class T> constexpr Function<T> kFunctions[] = {{Op::exp, std::exp},
                                                         {Op::exp2, std::exp2},
                                                         {Op::expm1, std::expm1},
                                                         {Op::log, std::log},
                                                         {Op::log2, std::log2},
                                                         {Op::log10, std::log10},
                                                         {Op::log1p, std::log1p},
                                                         {Op::sin, std::sin},
                                                         {Op::cos, std::cos},
                                                         {Op::tan, std::tan},
                                                         {Op::asin, std::asin},
                                                         {Op::acos, std::acos},
                                                         {Op::atan, std::atan},
                                                         {Op::sinh, std::sinh},
                                                         {Op::cosh, std::cosh},
                                                         {Op::tanh, std::tanh},
                                                         {Op::asinh, std::asinh},
                                                         {Op::acosh, std::acosh},
                                                         {Op::atanh, std::atanh},
                                                         {Op::cbrt, std::cbrt},
                                                         {Op::erf, std::erf},
                                                         {Op::erfc, std::erfc},
                                                         {Op::ndtr, normal_distribution},
                                                         {Op::sigmoid, sigmoid},
                                                         {Op::erfinv, inverse_error_function}};

/// Arguments: random bit patterns, moderate numbers, and neighbours of 1, of multiples of pi/2 and of the arguments at which results begin to overflow or
/// underflow.
template <class T> std::vector<T> arguments(std::mt19937_64& random) {
  using Bits = typename Type<T>::Bits;
  const auto uniform = [&](double low, double high) { return static_cast<T>(std::uniform_real_distribution<double>(low, high)(random)); };
  std::vector<T> x;
  for (int k = 0; k < 1'000'000; ++k) x.push_back(std::bit_cast<T>(static_cast<Bits>(random())));
  for (const double width : {0.01, 0.36, 0.9, 1.1, 3.0, 10.0, 30.0, 90.0, 104.5, 750.0, 1100.0, 1e6, 5e6})
    for (int k = 0; k < 20000; ++k) x.push_back(uniform(-width, width));
  for (int k = 0; k < 50000; ++k) {
    x.push_back(T(1) + static_cast<T>(k - 25000) * std::numeric_limits<T>::epsilon());
    x.push_back(std::ldexp(uniform(-2, 2), static_cast<int>(random() % 80) - 60));
    const T turn = static_cast<T>(static_cast<double>(random() % 900000) * 1.5707963267948966);
    x.push_back(k % 2 ? turn : std::nextafter(turn, T(0)));
  }
  for (const double edge :
       {88.7228, -87.3365, -103.97, 128.0, -149.0, 709.7827, -708.396, -745.13, 1024.0, -1074.0, 710.4758, 26.54, 10.05, 27.22, -14.1, -38.4, 0.75})
    for (int k = 0; k < 4000; ++k) x.push_back(static_cast<T>(edge) * uniform(1 - 1e-4, 1 + 1e-4));
  for (const double special : {0.0, -0.0, 1.0, -1.0, 0.5, 0.625, 0.75, 0.925, 8.0, 27.0, 1000.0, double(INFINITY), -double(INFINITY), double(NAN)})
    x.push_back(static_cast<T>(special));
  for (const T special : {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), std::numeric_limits<T>::denorm_min()})
    x.insert(x.end(), {special, -special});
  return x;
}

}  // namespace

TEST_CASE_TEMPLATE("functions are within their bound over the whole range: 2 ULP for float32, 1 for float64", T, float, double) {
  NEEDS_LLVM
  std::mt19937_64 random(fresh_seed());
  std::vector<T> x = arguments<T>(random);
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<T> out(x.size());
  std::vector<Wide<T>> expected(x.size());
  for (const Function<T>& f : sampled(kFunctions<T>)) {
    for (std::size_t k = 0; k < x.size(); ++k) expected[k] = f.reference(x[k]);
    const jit::LoopNest nest = function_nest(f.op, dtype_of<T>, 1, n);
    for (const jit::CpuTarget& cpu : cpu_levels()) {
      std::fill(out.begin(), out.end(), T(12345));
      run(nest, compile(nest, cpu)->entry(), {x.data(), out.data()}, {}, 3);
      double worst = 0;
      std::size_t where = 0;
      for (std::size_t k = 0; k < x.size(); ++k)
        if (const double error = ulp_error<T>(out[k], expected[k]); error > worst) {
          worst = error;
          where = k;
        }
      INFO(trace::name(f.op), " on ", cpu.vector_bytes, "-byte vectors: ", worst, " ulp at ", x[where], ": ", out[where], " for ",
           static_cast<double>(expected[where]));
      CHECK(worst <= Type<T>::max_ulp);
      if (std::getenv("SINTER_TEST_VERBOSE")) MESSAGE(trace::name(f.op), " ", cpu.vector_bytes, ": ", worst, " ulp at ", x[where]);
    }
  }
}

TEST_CASE_TEMPLATE("lgamma and digamma are within their bound, and near their zeros within an absolute bound", T, float, double) {
  NEEDS_LLVM
  std::mt19937_64 random(17);
  const auto uniform = [&](double low, double high) { return static_cast<T>(std::uniform_real_distribution<double>(low, high)(random)); };
  std::vector<T> x;
  for (int k = 0; k < 5000; ++k) {
    x.insert(x.end(), {uniform(0, 0.5), uniform(0.5, 3), uniform(0.9, 1.1), uniform(1.9, 2.1), uniform(3, 8.5), uniform(8, 500), uniform(-3, 0),
                       uniform(-40, -3), uniform(-1e5, -40)});
    x.push_back(std::ldexp(uniform(1, 2), static_cast<int>(random() % 240) - 120));
  }
  for (const double special : {1.0, 2.0, 0.0, -0.0, -1.0, -2.0, -3.5, 1e30, double(INFINITY), double(NAN)}) x.push_back(static_cast<T>(special));
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<T> out(x.size());
  for (const Op op : sampled(std::array{Op::lgamma, Op::digamma})) {
    const jit::LoopNest nest = function_nest(op, dtype_of<T>, 1, n);
    for (const jit::CpuTarget& cpu : cpu_levels()) {
      run(nest, compile(nest, cpu)->entry(), {x.data(), out.data()}, {});
      int wrong = 0;
      for (std::size_t k = 0; k < x.size() && wrong < 3; ++k) {
        const Wide<T> v = x[k];
        const Wide<T> expected = op == Op::digamma ? digamma(v) : v <= 0 && std::trunc(v) == v ? std::numeric_limits<Wide<T>>::infinity() : std::lgamma(v);
        const double error = ulp_error<T>(out[k], expected);
        // Below 1.47 the functions have zeros and poles. Near these the reference is only as accurate as the argument.
        const bool beside = v < Wide<T>(1.47L) && std::fabs(out[k] - expected) <= 2 * std::numeric_limits<T>::epsilon() * size_of_terms(op, v, expected);
        if (error <= Type<T>::max_ulp || beside) continue;
        ++wrong;
        FAIL_CHECK(trace::name(op), " of ", x[k], " gives ", out[k], " for ", static_cast<double>(expected), ": ", error, " ulp");
      }
    }
  }
}

TEST_CASE_TEMPLATE("pow, atan2 and hypot are within their bound over the whole range", T, float, double) {
  NEEDS_LLVM
  std::mt19937_64 random(fresh_seed());
  std::vector<T> x, y;
  using limits = std::numeric_limits<T>;
  const T whole = std::ldexp(T(1), limits::digits);  // from here on all numbers are even
  const std::vector<T> specials = {0.0,
                                   -0.0,
                                   1.0,
                                   -1.0,
                                   2.0,
                                   -2.0,
                                   3.0,
                                   -3.0,
                                   0.5,
                                   -0.5,
                                   T(0.3),
                                   limits::infinity(),
                                   -limits::infinity(),
                                   limits::quiet_NaN(),
                                   limits::denorm_min(),
                                   -limits::denorm_min(),
                                   limits::max(),
                                   limits::lowest(),
                                   whole - 1,
                                   whole,
                                   -whole - 2,
                                   limits::min()};
  for (const T a : specials)
    for (const T b : specials) x.push_back(a), y.push_back(b);
  const auto uniform = [&](double low, double high) { return static_cast<T>(std::uniform_real_distribution<double>(low, high)(random)); };
  const double top = std::log(static_cast<double>(limits::max())), bottom = std::log(static_cast<double>(limits::denorm_min())) - 1;
  const auto add = [&](T a, T b) { x.push_back(a), y.push_back(b); };
  for (int k = 0; k < 200000; ++k) {
    add(std::bit_cast<T>(static_cast<typename Type<T>::Bits>(random())), std::bit_cast<T>(static_cast<typename Type<T>::Bits>(random())));
    add(uniform(0, 20), uniform(-40, 40));
    add(-uniform(0, 20), std::round(uniform(-40, 40)));
    const T near = 1 + uniform(-1, 1) * std::ldexp(T(1), -static_cast<int>(random() % 20) - 1);
    add(near, uniform(bottom, top) / std::log(near));  // results of any magnitude
    const T any = std::ldexp(uniform(1, 2), static_cast<int>(random() % 2000) % (limits::max_exponent - limits::min_exponent) + limits::min_exponent);
    add(any, uniform(bottom, top) / std::log(any));
    add(any, any * uniform(-4, 4));
    add(limits::denorm_min() * std::round(uniform(0, 1e5)), k % 2 ? limits::denorm_min() * std::round(uniform(0, 1e5)) : uniform(-8, 8));
  }
  std::vector<T> out(x.size());
  for (const Op op : sampled(std::array{Op::power, Op::atan2, Op::hypot})) {
    const jit::LoopNest nest = function_nest(op, dtype_of<T>, 2, static_cast<std::int64_t>(x.size()));
    for (const jit::CpuTarget& cpu : cpu_levels()) {
      std::fill(out.begin(), out.end(), T(12345));
      run(nest, compile(nest, cpu)->entry(), {x.data(), y.data(), out.data()}, {});
      double worst = 0;
      std::size_t where = 0;
      for (std::size_t k = 0; k < x.size(); ++k) {
        const Wide<T> a = x[k], b = y[k];
        const Wide<T> expected = op == Op::power ? std::pow(a, b) : op == Op::atan2 ? std::atan2(a, b) : std::hypot(a, b);
        if (const double error = ulp_error<T>(out[k], expected); error > worst) worst = error, where = k;
      }
      INFO(trace::name(op), " on ", cpu.vector_bytes, "-byte vectors: ", worst, " ulp at ", x[where], ", ", y[where], ": ", out[where]);
      CHECK(worst <= Type<T>::max_ulp);
      if (std::getenv("SINTER_TEST_VERBOSE")) MESSAGE(trace::name(op), " ", cpu.vector_bytes, ": ", worst, " ulp at ", x[where], ", ", y[where]);
    }
  }
}
