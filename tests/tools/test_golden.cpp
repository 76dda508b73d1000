// Fourteen thousand expressions against NumPy's results (tests/golden/cases.txt and cases.npy, written by cases.py beside them): every function
// that both have, by NumPy's names and keywords, every element type, views, edge values and empty shapes, and NumPy's refusals. Prints a summary by function.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "golden.hpp"
#include "program.hpp"
#include "seed.hpp"

using namespace sinter::testing;

namespace {

template <class T> T element(const std::uint8_t* bytes, std::size_t k) {
  T value;
  std::memcpy(&value, bytes + k * sizeof(T), sizeof(T));
  return value;
}

/// Returns an integer for a float, such that the order is the same, neighbouring floats differ by one, and both zeros are 0.
template <class T> std::int64_t rank(T value) {
  using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t,
                                  std::conditional_t<sizeof(T) == 2, std::uint16_t, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
  const auto bits = std::bit_cast<Bits>(value);
  constexpr Bits sign = Bits{1} << (8 * sizeof(T) - 1);
  return bits & sign ? -static_cast<std::int64_t>(bits & ~sign) : static_cast<std::int64_t>(bits);
}

constexpr double kFar = std::numeric_limits<double>::infinity();

/// Returns the error of a result in units of the last place; for integers and truth values 0 or a large number.
template <class T> double distance(T got, T want, bool sign_of_zero) {
  if constexpr (std::is_integral_v<T>) {
    return got == want ? 0 : kFar;
  } else {
    const auto g = static_cast<double>(got), w = static_cast<double>(want);
    if (std::isnan(g) || std::isnan(w)) return std::isnan(g) && std::isnan(w) ? 0 : kFar;
    if (g == w) return sign_of_zero && std::signbit(g) != std::signbit(w) ? kFar : 0;
    const std::int64_t high = std::max(rank(got), rank(want)), low = std::min(rank(got), rank(want));
    return static_cast<double>(static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low));  // a double would not hold the ranks themselves
  }
}

struct Difference {
  double largest = 0;
  std::string text;  // of the element with the largest error
};
Difference difference(const Tensor& got, const Expected& want, bool sign_of_zero) {
  Difference worst;
  sn::visit_storage(want.dtype, [&]<class T>() {
    const std::vector<T> values = got.to_vector<T>();
    for (std::size_t k = 0; k < values.size(); ++k) {
      const T value = values[k], wanted = element<T>(want.bytes, k);
      const double off = distance(value, wanted, sign_of_zero);
      if (off <= worst.largest) continue;
      worst.largest = off;
      if constexpr (std::is_integral_v<T>) worst.text = fmt::format("element {} is {} and not {}", k, value, wanted);
      else worst.text = fmt::format("element {} is {} and not {}, {} ULP off", k, static_cast<double>(value), static_cast<double>(wanted), off);
    }
  });
  return worst;
}

/// Returns the bits of the values, with the same bits for every NaN, because the sign and the payload of a new NaN depend on the processor.
std::uint64_t hash_of(const Tensor& tensor) {
  std::uint64_t hash = 0xcbf29ce484222325;
  sn::visit_storage(tensor.dtype(), [&]<class T>() {
    for (T value : tensor.to_vector<T>()) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &value, sizeof(T));
      if constexpr (!std::is_integral_v<T>)
        if (std::isnan(static_cast<double>(value))) bits = 0x7ff8;
      hash = (hash ^ bits) * 0x100000001b3;
    }
  });
  return hash;
}

/// The largest error of a result that is compared to some digits, over the allowed one: a part of the largest finite number.
Difference closeness(const Tensor& got, const Expected& want) {
  Difference worst;
  sn::visit_storage(want.dtype, [&]<class T>() {
    const std::vector<T> values = got.to_vector<T>();
    double size = 1;
    for (std::size_t k = 0; k < values.size(); ++k)
      if (const double w = std::abs(static_cast<double>(element<T>(want.bytes, k))); std::isfinite(w)) size = std::max(size, w);
    const double allowed = size * (want.dtype == DType::float32 ? 2e-6 : 1e-13);
    for (std::size_t k = 0; k < values.size(); ++k) {
      const auto g = static_cast<double>(static_cast<T>(values[k])), w = static_cast<double>(element<T>(want.bytes, k));
      const double off = g == w || (std::isnan(g) && std::isnan(w)) ? 0 : std::isfinite(g - w) ? std::abs(g - w) / allowed : kFar;
      if (off > worst.largest) worst = {off, fmt::format("element {} is {} and not {}", k, g, w)};
    }
  });
  return worst;
}

struct Summary {
  int cases = 0, same_bits = 0, refused = 0;
  double largest = 0;
};

}  // namespace

TEST_CASE("as NumPy, over functions, types, layouts and edge values") {
  GoldenCases cases(SINTER_GOLDEN);
  // Kernels take a compiler each: one in so many cases there, another beginning each time. SINTER_GOLDEN_STRIDE=1 runs all.
  const char* asked = std::getenv("SINTER_GOLDEN_STRIDE");
  const auto stride = asked                             ? static_cast<std::uint32_t>(std::strtoul(asked, nullptr, 10))
                      : on_gpu()                        ? 150u
                      : sn::options().backend != "llvm" ? 1u
                      : is_sample()                     ? 60u
                                                        : 9u;
  const std::uint32_t seed = test_seed();
  const std::uint32_t first = seed % stride;
  std::map<std::string, Summary> functions;
  std::uint32_t number = 0;
  int wrong = 0;
  // Another processor's results are compared with these (scripts/aarch64.sh).
  const char* const bits_file = std::getenv("SINTER_GOLDEN_BITS");
  std::ofstream bits(bits_file ? bits_file : "/dev/null");
  const auto fails = [&](const std::string& expression, const std::string& why) {
    if (++wrong <= 200) FAIL_CHECK(expression << ": " << why << (stride > 1 ? fmt::format(" (SINTER_TEST_SEED={})", seed) : ""));
  };
  for (GoldenCase next; cases.next(next);) {
    if (number++ % stride != first) continue;
    const auto& [function, expression, tolerance, expected] = next;
    Summary& summary = functions[function];
    ++summary.cases;
    std::vector<Tensor> results;
    try {
      results = sn::tools::evaluate(expression, cases.inputs()).results;
      sn::eval(results);
    } catch (const sn::Error& error) {
      if (expected.empty()) ++summary.refused;
      else fails(expression, error.what());
      continue;
    }
    if (expected.empty()) {
      fails(expression, fmt::format("NumPy refuses it, and here it is {} {}", sn::name(results[0].dtype()), sn::to_string(results[0].shape())));
      continue;
    }
    if (results.size() != expected.size()) {
      fails(expression, fmt::format("{} results and not {}", results.size(), expected.size()));
      continue;
    }
    for (const Tensor& result : results) bits << fmt::format("{}\t{}\t{:016x}\n", function, expression, hash_of(result));
    bool same = true;
    const bool close = tolerance == "close";
    const double allowed = close ? 1 : tolerance == "bits" || tolerance == "value" ? 0 : std::stod(tolerance);
    for (std::size_t r = 0; r < results.size(); ++r) {
      const Expected& want = expected[r];
      if (results[r].dtype() != want.dtype || results[r].shape() != want.shape) {
        fails(expression, fmt::format("result {} is {} {} and not {} {}", r + 1, sn::name(results[r].dtype()), sn::to_string(results[r].shape()),
                                      sn::name(want.dtype), sn::to_string(want.shape)));
        same = false;
        continue;
      }
      const Difference off = close ? closeness(results[r], want) : difference(results[r], want, tolerance == "bits");
      same &= off.largest == 0;
      if (!close) summary.largest = std::max(summary.largest, off.largest);
      if (off.largest > allowed) fails(expression, off.text);
    }
    summary.same_bits += same;
  }
  CHECK(wrong == 0);
  Summary all;
  fmt::print("{:<22} cases  equal  refused  most ULP\n", "function");
  for (const auto& [name, summary] : functions) {
    fmt::print("{:<22} {:5}  {:5}  {:7}  {:8}\n", name, summary.cases, summary.same_bits, summary.refused, summary.largest);
    all.cases += summary.cases;
    all.same_bits += summary.same_bits;
    all.refused += summary.refused;
  }
  fmt::print("{:<22} {:5}  {:5}  {:7}\n", "all", all.cases, all.same_bits, all.refused);
  CHECK(all.cases >= 14000 / static_cast<int>(stride));
}
