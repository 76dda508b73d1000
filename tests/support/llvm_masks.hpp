// Checks a rule for every masked access of generated LLVM IR: its mask comes from comparisons that fill 16 bytes. LLVM 19 widens a narrower comparison. For
// AVX-512, if the comparison is in another basic block, it does not clear the added lanes, and a masked store then writes them. The text is checked, so no
// processor with AVX-512 is needed.
#pragma once
#include <doctest/doctest.h>

#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>

#include "jit/compiler.hpp"

namespace sinter::testing {

/// Describes a processor with AVX-512, for which text can be generated anywhere.
inline jit::CpuTarget avx512_level() {
  return {"x86-64", "+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+avx,+fma,+avx2,+bmi,+bmi2,+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd", 64};
}

/// Returns the bits of an element, by LLVM's name of its type.
inline int element_bits(const std::string& type) {
  if (type == "double" || type == "ptr") return 64;
  if (type == "float") return 32;
  if (type == "half" || type == "bfloat") return 16;
  return std::stoi(type.substr(1));
}

/// Returns the comparisons of vectors below 16 bytes on which a masked load or store of the text depends; empty if there are none.
inline std::set<std::string> narrow_masks(const std::string& text) {
  static const std::regex masked(R"(@llvm\.masked\.(?:store|load)\.\S+\(.*<\d+ x i1> (%[\w.]+))"), defined(R"(^\s*(%[\w.]+) = (.*)$)"),
      compared(R"([if]cmp \w+ <(\d+) x (\w+)>)"), used(R"(%[\w.]+)"), of_masks(R"(<\d+ x i1>)");
  std::unordered_map<std::string, std::string> definitions;
  std::vector<std::string> pending;
  std::set<std::string> seen, narrow;
  std::smatch found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("define")) definitions.clear();
    if (std::regex_match(line, found, defined)) definitions[found[1]] = found[2];
    if (std::regex_search(line, found, masked)) pending.push_back(found[1]);
    while (!pending.empty()) {
      const auto definition = definitions.find(pending.back());
      pending.pop_back();
      if (definition == definitions.end() || !seen.insert(definition->second).second) continue;
      const std::string& what = definition->second;
      if (std::regex_search(what, found, compared)) {
        if (std::stoi(found[1]) * element_bits(found[2]) < 128) narrow.insert(what);
      } else if (std::regex_search(what, of_masks)) {
        for (auto at = std::sregex_iterator(what.begin(), what.end(), used); at != std::sregex_iterator(); ++at) pending.push_back(at->str());
      }
    }
  }
  return narrow;
}

inline void check_masks(const std::string& text) {
  const auto narrow = narrow_masks(text);
  INFO(text);
  for (const std::string& comparison : narrow) FAIL_CHECK("a masked access depends on a comparison below 16 bytes: ", comparison);
}

}  // namespace sinter::testing
