// doctest's runner takes two seconds to compile, so it is compiled once for all test programs.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "cases.hpp"
#include "seed.hpp"

namespace sinter::testing {
namespace {

/// Returns a number of seconds from the environment; without one, infinity.
double seconds(const char* variable) {
  const char* const text = std::getenv(variable);
  return text ? std::atof(text) : std::numeric_limits<double>::infinity();
}

/// Returns the number of test cases that the arguments choose.
int count_cases(int argc, char** argv) {
  std::ostringstream listing;
  std::vector<const char*> arguments(argv, argv + argc);
  arguments.push_back("--count");  // doctest reads it as an argument alone: setOption() would run all cases
  doctest::Context context(static_cast<int>(arguments.size()), arguments.data());
  context.setCout(&listing);
  context.run();
  const std::string text = listing.str();
  const std::size_t colon = text.rfind("filters:");
  if (colon == std::string::npos) throw std::runtime_error("doctest does not count its test cases: " + text);
  return std::atoi(text.c_str() + colon + 8);
}

const double limit = std::min(seconds("SINTER_TEST_SECONDS"), seconds("SINTER_TEST_LIMIT"));
const auto begin = std::chrono::steady_clock::now();
double passed() { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); }

}  // namespace

bool is_sample() { return limit < std::numeric_limits<double>::infinity(); }
bool time_is_over() { return passed() >= limit; }

int run_cases(int argc, char** argv) {
  if (limit == std::numeric_limits<double>::infinity()) return doctest::Context(argc, argv).run();
  const int cases = count_cases(argc, argv);
  if (cases == 0) std::printf("no test case is chosen\n");
  int ran = 0, failed = cases == 0;
  while (ran < cases && failed == 0 && (ran == 0 || !time_is_over())) {
    doctest::Context context(argc, argv);
    context.setOption("order-by", "rand");
    context.setOption("rand-seed", static_cast<int>(test_seed() >> 1));
    context.setOption("first", ++ran);
    context.setOption("last", ran);
    context.setOption("minimal", true);  // a case that passes prints nothing
    failed = context.run();
  }
  std::printf("%d of %d test cases in %.1f s, in a random order\n", ran, cases, passed());
  if (failed) std::printf("SINTER_TEST_SEED=%u SINTER_TEST_SECONDS=inf repeats them\n", test_seed());
  return failed;
}

}  // namespace sinter::testing
