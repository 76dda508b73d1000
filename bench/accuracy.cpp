// Measures the errors of the elementwise functions in units of the last place, for docs/accuracy.md: every float32 and every 16-bit input of functions of one
// argument, samples for float64 and for functions of two arguments, on the executor that the environment chooses.
//
//     bench_accuracy                        all float32 inputs
//     bench_accuracy --stride 97            every 97th
//     bench_accuracy --stride 8 --first 3   those from the 3rd on: with 0 to 7 all of them, a part at a time
//     bench_accuracy --only exp,log         functions of these names
//     bench_accuracy --float32              float32 alone, with how many inputs were tried
//
// The reference is the C function of the next wider type: double for float32, long double for float64. If the C library has vector functions and the
// processor AVX-512, all float32 inputs of a function are first compared with those, and only the few that come near the largest error with the reference.
// This takes seconds a function rather than minutes.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "sinter/sinter.hpp"
#include "vector_reference.hpp"

namespace sn = sinter;
using sn::DType;
using sn::Tensor;

namespace {

// ---- references

template <class W> W ndtr(W x) {  // corrects the rounding of the argument of erfc
  constexpr W kRoot = static_cast<W>(0x1.6a09e667f3bcdp-1), kRest = static_cast<W>(-0x1.bdd3413b26456p-55);
  const W z = -x * kRoot, rest = std::fma(-x, kRoot, -z) - x * kRest;
  return (std::erfc(z) - (std::isfinite(z) ? W(1.12837916709551257L) * std::exp(-z * z) * rest : 0)) / 2;
}
template <class W> W erfinv(W x) {  // Halley's steps
  const W a = std::fabs(x), factor = W(0.886226925452758013649083741670572591L);
  if (!(a < 1)) return a == 1 ? std::copysign(W(INFINITY), x) : W(NAN);
  if (a < W(1e-12)) return x * factor;
  const W w = -std::log((1 - a) * (1 + a));
  W y = w < 5 ? a * W(0.886L) : std::sqrt(w) * W(0.9L);
  for (int k = 0; k < 40; ++k) {
    const W step = std::clamp((a < W(0.5L) ? a - std::erf(y) : std::erfc(y) - (1 - a)) * factor * std::exp(y * y), W(-0.5L), W(0.5L));
    y += step / (1 - y * step);
    if (std::fabs(step) < 4 * std::numeric_limits<W>::epsilon() * y) break;
  }
  return std::copysign(y, x);
}
template <class W> W digamma(W x) {  // recurrence to 40 and beyond, where the asymptotic series has all digits
  const W pi = W(3.14159265358979323846264338327950288L);
  if (std::isnan(x) || x == INFINITY) return x;
  if (x == 0) return std::copysign(W(INFINITY), -x);
  if (x < 0 && x == std::floor(x)) return W(NAN);
  W rest = 0;
  if (x < W(0.5L)) {
    rest = -pi / std::tan(pi * (x - std::rint(x)));
    x = 1 - x;
  }
  for (; x < 40; x += 1) rest -= 1 / x;
  const W z = 1 / (x * x);
  return rest + (std::log(x) - 1 / (2 * x) - z * (W(1) / 12 - z * (W(1) / 120 - z * (W(1) / 252 - z * (W(1) / 240 - z / 132)))));
}
template <class W> W sigmoid(W x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
template <class W> W softplus(W x) { return std::fmax(x, W(0)) + std::log1p(std::exp(-std::fabs(x))); }

struct Unary {
  const char* name;
  Tensor (*ours)(const sn::Arg&);
  double (*narrow)(double);
  long double (*wide)(long double);
};
struct Binary {
  const char* name;
  Tensor (*ours)(const sn::Arg&, const sn::Arg&);
  double (*narrow)(double, double);
  long double (*wide)(long double, long double);
};

#define STD(name) {#name, sn::name, std::name, std::name}
#define OURS(name, formula) \
  {#name, +[](const sn::Arg& x) { return sn::name(x); }, +[](double x) -> double { return formula; }, +[](long double x) -> long double { return formula; }}
const Unary kUnary[] = {
    STD(sqrt),
    OURS(rsqrt, 1 / std::sqrt(x)),
    STD(cbrt),
    STD(exp),
    STD(exp2),
    STD(expm1),
    STD(log),
    STD(log2),
    STD(log10),
    STD(log1p),
    STD(sin),
    STD(cos),
    STD(tan),
    STD(asin),
    STD(acos),
    STD(atan),
    STD(sinh),
    STD(cosh),
    STD(tanh),
    STD(asinh),
    STD(acosh),
    STD(atanh),
    STD(erf),
    STD(erfc),
    OURS(erfinv, erfinv(x)),
    OURS(ndtr, ndtr(x)),
    OURS(lgamma, std::lgamma(x)),
    OURS(digamma, digamma(x)),
    // compositions
    OURS(sigmoid, sigmoid(x)),
    OURS(silu, x* sigmoid(x)),
    OURS(gelu, x* ndtr(x)),
    OURS(softplus, softplus(x)),
    OURS(mish, x* std::tanh(softplus(x))),
    OURS(elu, x > 0 ? x : std::expm1(x)),
};
const Binary kBinary[] = {
    {"power", sn::power, std::pow, std::pow},
    {"atan2", sn::atan2, std::atan2, std::atan2},
    {"fmod", sn::fmod, std::fmod, std::fmod},
    {"ldexp", +[](const sn::Arg& x, const sn::Arg& n) { return sn::ldexp(x, sn::astype(n, DType::int32)); },
     +[](double x, double n) { return std::ldexp(x, static_cast<int>(n)); }, +[](long double x, long double n) { return std::ldexp(x, static_cast<int>(n)); }},
};
#undef STD
#undef OURS

// ---- errors

struct Worst {
  double ulps = 0;
  std::string at;
  std::int64_t inputs = 0;
};

/// Returns |got - expected| in units of the last place of `expected`, in a type of these digits and this least exponent.
template <class T, class W> double error_of(T got, W expected) {
  using limits = std::numeric_limits<T>;
  const auto value = static_cast<W>(static_cast<double>(got));
  if (std::isnan(expected)) return std::isnan(value) ? 0 : 1e9;
  if (std::isnan(value)) return 1e9;
  const W largest = std::ldexp(W(1), limits::max_exponent);
  const W beyond = largest - std::ldexp(W(1), limits::max_exponent - limits::digits - 1);  // rounds to infinity from here on
  if (std::isinf(value) && std::fabs(expected) >= beyond && std::signbit(value) == std::signbit(expected)) return 0;
  if (std::isinf(expected)) return 1e9;
  int exponent = 0;
  std::frexp(expected, &exponent);
  const W unit = std::ldexp(W(1), std::clamp(exponent, limits::min_exponent, limits::max_exponent) - limits::digits);
  const W finite = std::isinf(value) ? std::copysign(largest, value) : value;
  return static_cast<double>(std::fabs(finite - expected) / unit);
}

template <class T> std::string text(T x) { return fmt::format("{:.9g}", static_cast<double>(x)); }

template <class T, class W> void compare(const std::vector<T>& x, const Tensor& y, W (*reference)(W), Worst& worst) {
  const auto got = y.data<T>();
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double error = error_of(got[k], reference(static_cast<W>(static_cast<double>(x[k]))));
    if (error > worst.ulps) worst.ulps = error, worst.at = text(x[k]);
  }
  worst.inputs += static_cast<std::int64_t>(x.size());
}

/// Compares as `compare` does, but with the vector reference first. The error of that reference is less than the distance that it keeps from the largest
/// error so far.
void compare_all(const Unary& f, const std::vector<float>& x, const Tensor& y, Worst& worst) {
  const auto got = y.data<float>();
  thread_local std::vector<std::uint32_t> places;
  bench::suspects(f.name, x.data(), got.data(), x.size(), std::max(0.0, worst.ulps - 1e-5), places);
  for (const std::uint32_t k : places) {
    const double error = error_of(got[k], f.wide(static_cast<long double>(x[k])));
    if (error > worst.ulps) worst.ulps = error, worst.at = text(x[k]);
  }
  worst.inputs += static_cast<std::int64_t>(x.size());
}

template <class T> Worst all_bits(const Unary& f, std::uint64_t stride, std::uint64_t first = 0) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>;
  const std::uint64_t end = std::uint64_t{1} << (8 * sizeof(T));
  const auto try_every = [&](std::uint64_t step, bool vectors, Worst worst) {
    constexpr std::uint64_t kChunk = 1 << 17;
    std::atomic<std::uint64_t> next = first;
    std::vector<Worst> found(std::max(1u, std::thread::hardware_concurrency()), Worst{worst.ulps, worst.at, 0});
    std::vector<std::thread> threads;
    for (Worst& mine : found)
      threads.emplace_back([&] {
        std::vector<T> x;
        for (std::uint64_t bits; (bits = next.fetch_add(kChunk * step)) < end;) {
          x.resize(std::min(kChunk, (end - bits + step - 1) / step));
          for (T& v : x) v = std::bit_cast<T>(static_cast<Bits>(bits)), bits += step;
          const Tensor y = f.ours(sn::from_span(x));
          if constexpr (std::is_same_v<T, float>) {
            if (vectors) {
              compare_all(f, x, y, mine);
              continue;
            }
          }
          compare<T, double>(x, y, f.narrow, mine);
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (const Worst& other : found) {
      worst.inputs += other.inputs;
      if (other.ulps > worst.ulps) worst.ulps = other.ulps, worst.at = other.at;
    }
    return worst;
  };
  const bool vectors = sizeof(T) == 4 && bench::has_vector_reference(f.name);
  Worst worst;
  if (vectors) worst = try_every(stride * 4099, true, worst), worst.inputs = 0;  // so that few inputs need the slow reference
  return try_every(stride, vectors, worst);
}

/// Returns all exponents, moderate numbers, and the points where functions begin to overflow, underflow or cancel.
std::vector<double> samples(std::mt19937_64& random) {
  const auto uniform = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
  std::vector<double> x;
  for (int k = 0; k < 40000; ++k) {
    x.push_back(std::bit_cast<double>(random()));
    for (const double width : {0.1, 0.36, 1.0, 3.0, 10.0, 40.0, 750.0, 1100.0, 1.6e6}) x.push_back(uniform(-width, width));
    x.push_back(std::ldexp(uniform(-2, 2), -static_cast<int>(random() % 70)));
    x.push_back(1 + uniform(-1, 1) * std::ldexp(1.0, -static_cast<int>(random() % 52)));
    x.push_back(std::floor(uniform(0, 1e6)) * 1.5707963267948966);
    for (const double edge : {709.7827, -708.396, -745.13, 1024.0, -1074.0, 710.4758, 26.54, 27.22, -38.4, 0.75})
      x.push_back(edge * uniform(1 - 1e-4, 1 + 1e-4));
  }
  for (const double v : {0.0, 1.0, 0.5, double(INFINITY), 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 8.0, 27.0, 1000.0})
    x.insert(x.end(), {v, -v});
  x.push_back(NAN);
  return x;
}

template <class T, class W> Worst of_two(const Binary& f, W (*reference)(W, W), std::mt19937_64& random) {
  const auto uniform = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
  using limits = std::numeric_limits<T>;
  const double top = std::log(static_cast<double>(limits::max())), bottom = std::log(static_cast<double>(limits::denorm_min())) - 1;
  std::vector<T> x, y;
  const auto add = [&](double a, double b) { x.push_back(static_cast<T>(a)), y.push_back(static_cast<T>(b)); };
  for (int k = 0; k < 200000; ++k) {
    add(uniform(0, 20), uniform(-40, 40));
    add(-uniform(0, 20), std::round(uniform(-40, 40)));
    const double near = 1 + uniform(-1, 1) * std::ldexp(1.0, -static_cast<int>(random() % 20) - 1);
    add(near, uniform(bottom, top) / std::log(near));
    const double any = std::exp(uniform(bottom, top));
    add(any, uniform(bottom, top) / std::log(any));
    add(any, any * uniform(-4, 4));
    add(any, uniform(2 * bottom, 2 * top));
  }
  Worst worst;
  const Tensor z = f.ours(sn::from_span(x), sn::from_span(y));
  const auto got = z.data<T>();
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double error = error_of(got[k], reference(static_cast<W>(x[k]), static_cast<W>(y[k])));
    if (error > worst.ulps) worst.ulps = error, worst.at = text(x[k]) + ", " + text(y[k]);
  }
  worst.inputs = static_cast<std::int64_t>(x.size());
  return worst;
}

std::string cell(const Worst& w) { return fmt::format("{:.2f} at {}", w.ulps, w.at); }

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t stride = 1, first = 0;
  std::string only;
  bool narrow_alone = false;
  for (int k = 1; k < argc; ++k) {
    const std::string_view option = argv[k];
    if (option == "--float32") narrow_alone = true;
    else if (k + 1 == argc) return fmt::print("unknown option {}, or its value is missing\n", option), 2;
    else if (option == "--stride") stride = std::strtoull(argv[++k], nullptr, 10);
    else if (option == "--first") first = std::strtoull(argv[++k], nullptr, 10);
    else if (option == "--only") only = fmt::format(",{},", argv[++k]);
    else return fmt::print("unknown option {}\n", option), 2;
  }
  sn::Options options = sn::options();
  options.threads = 1;  // each thread of this program tries its own inputs
  sn::configure(options);
  if (stride == 0) return fmt::print("a stride of 0 never ends\n"), 2;
  const auto asked = [&](const char* name) { return only.empty() || only.find(fmt::format(",{},", name)) != std::string::npos; };
  if (narrow_alone) {
    fmt::print("| function | float32 | inputs |\n|---|---|---|\n");
    for (const Unary& f : kUnary) {
      if (!asked(f.name)) continue;
      const Worst worst = all_bits<float>(f, stride, first);
      fmt::print("| {} | {} | {} |\n", f.name, cell(worst), worst.inputs);
      std::fflush(stdout);
    }
    return 0;
  }
  std::mt19937_64 random(1);
  const std::vector<double> x = samples(random);
  struct Row {
    std::string name;
    Worst narrow, wide;
  };
  std::vector<Row> rows;
  fmt::print("| function | float32 | float64 | float16 | bfloat16 |\n|---|---|---|---|---|\n");
  for (const Unary& f : kUnary) {
    if (!asked(f.name)) continue;
    Row row{f.name, all_bits<float>(f, stride, first), {}};
    compare<double, long double>(x, f.ours(sn::from_span(x)), f.wide, row.wide);
    fmt::print("| {} | {} | {} | {} | {} |\n", f.name, cell(row.narrow), cell(row.wide), cell(all_bits<sn::half>(f, 1)), cell(all_bits<sn::bfloat16>(f, 1)));
    std::fflush(stdout);
    rows.push_back(row);
  }
  for (const Binary& f : kBinary) {
    if (!asked(f.name)) continue;
    const Row row{f.name, of_two<float, double>(f, f.narrow, random), of_two<double, long double>(f, f.wide, random)};
    fmt::print("| {} | {} | {} | | |\n", f.name, cell(row.narrow), cell(row.wide));
    rows.push_back(row);
  }
  struct Named {
    double ulps;
    std::string text;
  };
  std::vector<Named> worst;
  for (const Row& row : rows) {
    worst.push_back({row.narrow.ulps, fmt::format("{} of float32: {}", row.name, cell(row.narrow))});
    worst.push_back({row.wide.ulps, fmt::format("{} of float64: {}", row.name, cell(row.wide))});
  }
  std::sort(worst.begin(), worst.end(), [](const Named& a, const Named& b) { return a.ulps > b.ulps; });
  fmt::print("\nThe five worst:\n");
  for (std::size_t k = 0; k < worst.size() && k < 5; ++k) fmt::print("{}. {}\n", k + 1, worst[k].text);
}
