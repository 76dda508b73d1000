// Numbers with their nouns, for messages: "1 kernel", "3 kernels".
#pragma once
#include <string>
#include <string_view>

namespace sinter {

/// Returns the count with its noun. `one` is the singular, `several` the plural; if that is empty, the plural is `one` with an s.
template <class Count> std::string counted(Count count, std::string_view one, std::string_view several = {}) {
  std::string text = std::to_string(count) + " ";
  if (count == 1 || several.empty()) text += one;
  else text += several;
  if (count != 1 && several.empty()) text += "s";
  return text;
}

}  // namespace sinter
