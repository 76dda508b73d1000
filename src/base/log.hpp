// The logger named "sinter". It writes to stderr, so that stdout belongs to the program.
#pragma once
#include <fmt/format.h>
#include <spdlog/common.h>

#include <string>

namespace spdlog {
class logger;
}

namespace sinter {

spdlog::logger& logger();

/// Formats messages before the logger sees them: spdlog's own templates cost each file that logs two seconds of compiling.
class Log {
 public:
  using Level = spdlog::level::level_enum;

  static bool writes(Level level);
  static void write(Level level, const std::string& message);
  template <class... Args> void at(Level level, fmt::format_string<Args...> format, Args&&... args) const {
    if (writes(level)) write(level, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args> void debug(fmt::format_string<Args...> format, Args&&... args) const {
    at(spdlog::level::debug, format, std::forward<Args>(args)...);
  }
  template <class... Args> void info(fmt::format_string<Args...> format, Args&&... args) const { at(spdlog::level::info, format, std::forward<Args>(args)...); }
  template <class... Args> void warn(fmt::format_string<Args...> format, Args&&... args) const { at(spdlog::level::warn, format, std::forward<Args>(args)...); }
};
inline Log log() { return {}; }

}  // namespace sinter
