#include "base/own_fault.hpp"

#include <cstdlib>
#include <string_view>

#include "base/log.hpp"

namespace sinter {

void own_fault(const std::string& what) {
  const char* const faults = std::getenv("SINTER_FAULTS");
  if (!faults || std::string_view(faults) != "fatal") return log().warn("{}", what);
  log().at(spdlog::level::critical, "{}", what);
  std::abort();
}

}  // namespace sinter
