#include "runtime/poison.hpp"

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace sinter::runtime {

bool poisoning() {
  static const bool on = [] {
    const char* text = std::getenv("SINTER_POISON");
    return text && std::string_view(text) == "on";
  }();
  return on;
}

void poison(void* memory, std::size_t bytes) {
  if (poisoning() && bytes > 0) std::memset(memory, kPoison, bytes);
}

}  // namespace sinter::runtime
