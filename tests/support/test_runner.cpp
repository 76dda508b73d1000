// doctest's runner, which takes two seconds to compile: once, for all test programs.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
