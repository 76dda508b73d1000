// A test case that fails, and one that passes: a sample of both must fail.
#include <doctest/doctest.h>

TEST_CASE("fails") { CHECK(1 == 2); }
TEST_CASE("passes") { CHECK(1 == 1); }
