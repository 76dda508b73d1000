#include "base/log.hpp"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace sinter {

spdlog::logger& log() {
  // The logger is never destroyed, because destructors of static objects may still evaluate.
  static spdlog::logger* const logger = [] {
    auto* made = new spdlog::logger("sinter", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("%n: %^%l%$: %v");
    made->set_level(spdlog::level::warn);
    return made;
  }();
  return *logger;
}

}  // namespace sinter
