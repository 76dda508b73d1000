// Checks that an error has some text and ends with the line of the statement that recorded or evaluated.
#pragma once
#include <doctest/doctest.h>

#include <cstdlib>
#include <sinter/errors.hpp>
#include <string>

namespace sinter::testing {

/// Checks that the message is `what`, followed by a line of the caller's file, at most `within` lines from the call.
template <class E, class Call> void says(Call call, const std::string& what, int within = 2, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  std::string text = "nothing was thrown";
  try {
    call();
  } catch (const E& e) {
    text = e.what();
  }
  const std::string place = std::string(" at ") + file + ":";
  const auto end = text.rfind(place);
  CAPTURE(text);
  REQUIRE(end != std::string::npos);
  CHECK(text.substr(0, end) == what);
  CHECK(std::abs(std::stoi(text.substr(end + place.size())) - line) <= within);
}

}  // namespace sinter::testing
