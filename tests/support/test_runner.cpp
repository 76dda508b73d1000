// doctest's runner takes two seconds to compile, so it is compiled once for all test programs.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
