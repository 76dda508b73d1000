// Splits a line of golden data into its fields.
#pragma once
#include <sstream>
#include <string>
#include <vector>

namespace sinter::testing {

inline std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

}  // namespace sinter::testing
