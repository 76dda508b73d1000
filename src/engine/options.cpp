#include "engine/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/logger.h>

#include <boost/pfr.hpp>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <type_traits>

#include "base/log.hpp"
#include "cache/disk_cache.hpp"
#include "fuse/passes.hpp"
#include "jit/schedule.hpp"
#include "sinter/errors.hpp"

namespace sinter::engine {
namespace {

/// The fields of Options in their order. A field's environment variable is SINTER_ and its name in capital letters.
constexpr std::string_view kNames[] = {"device",  "backend",    "fuse",   "fast_math", "threads", "wait",      "schedule",  "tuned",
                                       "without", "keep_plans", "memory", "log",       "dump",    "cache_dir", "cache_size"};
static_assert(std::size(kNames) == boost::pfr::tuple_size_v<Options>);

std::string variable_of(std::string_view field) {
  std::string variable = "SINTER_";
  for (const char letter : field) variable += letter == '_' ? '_' : static_cast<char>(letter - 'a' + 'A');
  return variable;
}

void parse(const std::string& text, std::string& value) { value = text; }

void parse(const std::string& text, bool& value) {
  const bool on = text == "on" || text == "1" || text == "true";
  if (!on && text != "off" && text != "0" && text != "false") throw ValueError(fmt::format("'{}' is neither on nor off", text));
  value = on;
}

void parse(const std::string& text, int& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) throw ValueError(fmt::format("'{}' is not a number of threads", text));
}

}  // namespace

Place place_of(const Options& options) {
  const std::string_view device = options.device;
  const std::size_t colon = device.find(':');
  const runtime::Kind* kind = runtime::find_kind(device.substr(0, colon));
  if (kind && colon == std::string_view::npos) return {kind, 0};
  if (kind && kind->numbered) {
    int ordinal = -1;
    const char* end = device.data() + device.size();
    const auto [stop, error] = std::from_chars(device.data() + colon + 1, end, ordinal);
    if (error == std::errc() && stop == end && ordinal >= 0) return {kind, ordinal};
  }
  std::vector<std::string> known;
  for (const runtime::Kind* each : runtime::kinds()) {
    known.emplace_back(each->name);
    if (each->numbered) known.push_back(fmt::format("{}:N", each->name));
  }
  throw ValueError(fmt::format("unknown device '{}'; the devices are {}", device, fmt::join(known, ", ")));
}

std::uint64_t memory_limit_of(const Options& options) { return options.memory.empty() ? 0 : std::max<std::uint64_t>(cache::parse_size(options.memory), 1); }

void check(const Options& options) {
  place_of(options);
  if (options.backend != "llvm" && options.backend != "interpreter")
    throw ValueError(fmt::format("unknown backend '{}'; the backends are llvm and interpreter", options.backend));
  if (options.threads < 0) throw ValueError(fmt::format("threads is {}; 0 means every core", options.threads));
  cache::parse_size(options.cache_size);
  memory_limit_of(options);
  jit::ScheduleOverride::parse(options.schedule);
  fuse::without_passes({}, options.without);
  if (spdlog::level::from_str(options.log) == spdlog::level::off && options.log != "off")
    throw ValueError(fmt::format("unknown log level '{}'; the levels are trace, debug, info, warn, error, critical and off", options.log));
}

Options options_from_environment() {
  Options options;
  // Each variable is tried alone, so that one mistake does not disable the others.
  boost::pfr::for_each_field(Options(), [&](const auto&, auto field) {
    const std::string variable = variable_of(kNames[field]);
    const char* text = std::getenv(variable.c_str());
    if (!text || !*text) return;
    Options changed = options;
    try {
      parse(text, boost::pfr::get<field>(changed));
      check(changed);
      options = changed;
    } catch (const ValueError& error) {
      log().warn("{}={} is ignored: {}", variable, text, error.what());
    }
  });
  return options;
}

std::vector<std::string> changes(const Options& before, const Options& after) {
  const auto texts = [](const Options& options) {
    std::vector<std::string> list;
    boost::pfr::for_each_field(options, [&](const auto& value) {
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, bool>) list.emplace_back(value ? "on" : "off");
      else list.push_back(fmt::format("'{}'", value));
    });
    return list;
  };
  const auto old = texts(before), now = texts(after);
  std::vector<std::string> list;
  for (std::size_t k = 0; k < std::size(kNames); ++k)
    if (old[k] != now[k]) list.push_back(fmt::format("{} was {} and is {}", kNames[k], old[k], now[k]));
  return list;
}

void apply_log_level(const std::string& level) { logger().set_level(spdlog::level::from_str(level)); }

}  // namespace sinter::engine
