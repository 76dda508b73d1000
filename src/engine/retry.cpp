#include "engine/retry.hpp"

#include <mutex>
#include <set>
#include <string>

#include "trace/log.hpp"

namespace sinter::engine {

void warn_of_failed_plan(const InternalError& error) {
  static auto& mutex = *new std::mutex;
  static auto& said = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  if (said.insert(error.what()).second)
    log().warn("a plan failed inside ({}) and is tried again with one kernel for each operation, which is slow. Please report this, with "
               "the formula",
               error.what());
}

}  // namespace sinter::engine
