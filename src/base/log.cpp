#include "base/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_color_sinks.h>

namespace sinter {

spdlog::logger& logger() {
  // The logger is never destroyed, because destructors of static objects may still evaluate.
  static spdlog::logger* const logger = [] {
    auto* made = new spdlog::logger("sinter", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("%n: %^%l%$: %v");
    made->set_level(spdlog::level::warn);
    return made;
  }();
  return *logger;
}

bool Log::writes(Level level) { return logger().should_log(level); }
void Log::write(Level level, const std::string& message) { logger().log(level, message); }

}  // namespace sinter
