// Sizes: their arithmetic agrees with that of numbers, and their guards are complete and few. Complete means: if the guards of a program hold, the program
// computes the same as planning again.
#include <doctest/doctest.h>

#include <random>

#include "host_data_stub.hpp"
#include "seed.hpp"
#include "trace/size.hpp"

using namespace sinter;
using trace::Size;
using trace::SizeProgram;
using trace::SizeSpace;

TEST_CASE("a comparison that is true for all sizes leaves no guard") {
  SizeSpace space;
  const Size n = space.symbol("n", 100, 2), m = space.symbol("m", 7, 2);
  CHECK(n * m == m * n);
  CHECK((n * m) / m == n);
  CHECK((n * m) % n == 0);
  CHECK(n - 1 < n);
  CHECK(n > 1);
  CHECK(n * m + 3 > 0);
  CHECK((n + m) * (n - m) == n * n - m * m);
  CHECK(Size(7) / Size(2) == Size(3));
  CHECK(space.guards().empty());
}

TEST_CASE("a comparison that is true for some sizes leaves a guard") {
  SizeSpace space;
  const Size n = space.symbol("n", 100, 2);
  CHECK(n % 4 == 0);
  CHECK(n < 131072);
  CHECK(n != 64);
  CHECK(n % 4 == 0);  // known already
  REQUIRE(space.guards().size() == 3);
  const SizeProgram program(space, {n * n, n / 8 + 1});
  CHECK(program.guards({"n"}) == std::vector<std::string>{"(n % 4) == 0", "n < 131072", "n != 64"});
  CHECK(program.holds({100}));
  CHECK_FALSE(program.holds({101}));
  CHECK_FALSE(program.holds({64}));
  CHECK_FALSE(program.holds({131072}));
  std::vector<std::int64_t> values;
  program.evaluate({2048}, values);
  CHECK(values == std::vector<std::int64_t>{2048 * 2048, 257});
}

TEST_CASE("an estimate holds for its order of magnitude") {
  SizeSpace space;
  const Size n = space.symbol("n", 1000, 2);
  CHECK(trace::as_double(n * 4) == 4000);
  const SizeProgram program(space, {});
  CHECK(program.holds({1000}));
  CHECK(program.holds({70}));
  CHECK(program.holds({1024}));
  CHECK_FALSE(program.holds({1025}));
  CHECK_FALSE(program.holds({60}));
}

TEST_CASE("estimates may be false at other sizes, guards may not") {
  SizeSpace space;
  const Size n = space.symbol("n", 1000, 2), m = space.symbol("m", 30, 2);
  {
    const trace::Estimating estimate;
    CHECK(n > 100);
    CHECK(m < 64);
    CHECK(n % 8 == 0);
    CHECK((n - 7) / 3 == 331);  // n >= 7 is a guard and not an estimate, because bounds of the quotient rely on it
  }
  CHECK(trace::as_double(n * m) == 30000);
  CHECK(m < 64);  // this comparison is a guard, and no estimate as before
  CHECK(n != 64);
  const SizeProgram program(space, {});
  CHECK(program.holds({1000, 30}));
  CHECK_FALSE(program.holds({50, 30}));
  CHECK(program.holds({50, 30}, false));
  CHECK(program.holds({1000001, 2}, false));
  CHECK_FALSE(program.holds({1000, 64}, false));
  CHECK_FALSE(program.holds({64, 30}, false));
  CHECK_FALSE(program.holds({6, 30}, false));
  CHECK(program.unmet({1000, 30}, {"rows", "batch"}).empty());
  CHECK(program.unmet({90, 30}, {"rows", "batch"}) == "rows > 100");
  CHECK(program.unmet({90, 30}, {"rows", "batch"}, false).empty());
  CHECK(program.unmet({1000, 70}, {"rows", "2*batch + 1"}, false) == "(2*batch + 1) < 64");
}

TEST_CASE("a simplification that relies on divisibility leaves a guard, even if an estimate asked for it first") {
  SizeSpace space;
  const Size n = space.symbol("n", 24, 2);
  {
    const trace::Estimating estimate;
    CHECK(n % 4 == 0);
  }
  CHECK((n / 4) * 4 == n);  // this is true only if 4 divides n
  const SizeProgram program(space, {n / 4 * 4});
  CHECK(program.holds({28}, false));
  CHECK_FALSE(program.holds({27}, false));
}

TEST_CASE("an exact quotient times its divisor is the dividend") {
  SizeSpace space;
  const Size n = space.symbol("n", 64, 2), m = space.symbol("m", 1000, 2);
  const Size unknown = m / 8 * 8;
  CHECK_FALSE(unknown.same(m));
  REQUIRE(n % 16 == 0);
  CHECK((n / 16 * 16).same(n));
  CHECK((n / 16 * m * 32).same(n * m * 2));
  CHECK_FALSE((n / 16 * 8).same(n));
  REQUIRE(Size(16384) % n == 0);
  CHECK((Size(16384) / n * n).same(16384));
  CHECK((Size(16384) / n * (n * m) + 1).same(m * 16384 + 1));
}

// A small deterministic computation with decisions, over any number type.
template <class N> std::vector<N> decide(std::vector<N> values, unsigned seed) {
  std::mt19937 rng(seed);
  for (int step = 0; step < 20; ++step) {
    const N a = values[rng() % values.size()], b = values[rng() % values.size()];
    const N literal(static_cast<std::int64_t>(rng() % 9 + 1));
    switch (rng() % 8) {
      case 0: values.push_back(a + b); break;
      case 1: values.push_back(a < b ? b - a : a - b); break;
      case 2: values.push_back(a < N(100000) && b < N(100000) ? a * b : a); break;
      case 3: values.push_back(b > N(0) ? a / b : a); break;
      case 4: values.push_back(b > N(0) ? a % b : b); break;  // a may be negative
      case 5: values.push_back(a % literal == N(0) ? a / literal : a); break;
      case 6: values.push_back(a % literal < N(0) ? a + literal : a); break;
      default: values.push_back(a == b ? literal : a); break;
    }
  }
  return values;
}

TEST_CASE("a program whose guards hold computes the same as the decisions with numbers") {
  const unsigned first = sinter::testing::fresh_seed();
  int held = 0;
  for (unsigned round = 0; round < 2000; ++round) {
    const unsigned seed = first + round;
    INFO("seed " << seed);
    std::mt19937 rng(seed);
    const auto draw = [&] { return static_cast<std::int64_t>(2 + rng() % 60); };
    const std::vector<std::int64_t> known{draw(), draw(), draw()};
    SizeSpace space;
    trace::Sizes symbols;
    for (std::size_t k = 0; k < known.size(); ++k) symbols.push_back(space.symbol("n" + std::to_string(k), known[k], 2));
    const trace::Sizes made = decide(symbols, seed);
    const auto want_known = decide(known, seed);
    REQUIRE(trace::hints(made) == want_known);
    const SizeProgram program(space, made);
    REQUIRE(program.holds(known));
    for (int other = 0; other < 20; ++other) {
      const std::vector<std::int64_t> values{draw(), draw(), draw()};
      if (!program.holds(values)) continue;
      ++held;
      std::vector<std::int64_t> got;
      program.evaluate(values, got);
      REQUIRE(got == decide(values, seed));
    }
  }
  CHECK(held > 200);
}
