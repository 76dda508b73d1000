// A place in the user's program.
#pragma once
#include <cstdint>

namespace sinter {

/// A place in the user's program. As a default argument, Location::current() gives the line of the caller.
struct Location {
  const char* file = "";
  std::uint32_t line = 0;
  static constexpr Location current(const char* file = __builtin_FILE(), std::uint32_t line = __builtin_LINE()) { return {file, line}; }  ///< the call
};

}  // namespace sinter
