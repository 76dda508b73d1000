#include "engine/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

bool parse_switch(const std::string& text) {
  if (text == "on" || text == "1" || text == "true") return true;
  if (text == "off" || text == "0" || text == "false") return false;
  throw ValueError(fmt::format("'{}' is neither on nor off", text));
}

int parse_count(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) throw ValueError(fmt::format("'{}' is not a number of threads", text));
  return value;
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
  throw ValueError(fmt::format("unknown device '{}'; known are {}", device, fmt::join(known, ", ")));
}

std::uint64_t memory_limit_of(const Options& options) { return options.memory.empty() ? 0 : std::max<std::uint64_t>(cache::parse_size(options.memory), 1); }

void check(const Options& options) {
  place_of(options);
  if (options.backend != "llvm" && options.backend != "interpreter")
    throw ValueError(fmt::format("unknown backend '{}'; known are llvm and interpreter", options.backend));
  if (options.threads < 0) throw ValueError(fmt::format("threads is {}; 0 means every core", options.threads));
  cache::parse_size(options.cache_size);
  memory_limit_of(options);
  jit::Wish::parse(options.schedule);
  fuse::without_passes({}, options.without);
  if (spdlog::level::from_str(options.log) == spdlog::level::off && options.log != "off")
    throw ValueError(fmt::format("unknown log level '{}'; known are trace, debug, info, warn, error, critical and off", options.log));
}

Options options_from_environment() {
  Options options;
  // Each variable is tried alone, so that one mistake does not disable the others.
  const auto read = [&](const char* name, auto set) {
    const char* text = std::getenv(name);
    if (!text || !*text) return;
    Options changed = options;
    try {
      set(changed, std::string(text));
      check(changed);
      options = changed;
    } catch (const ValueError& error) {
      log().warn("{}={} is ignored: {}", name, text, error.what());
    }
  };
  read("SINTER_DEVICE", [](Options& o, const std::string& text) { o.device = text; });
  read("SINTER_BACKEND", [](Options& o, const std::string& text) { o.backend = text; });
  read("SINTER_FUSE", [](Options& o, const std::string& text) { o.fuse = parse_switch(text); });
  read("SINTER_FAST_MATH", [](Options& o, const std::string& text) { o.fast_math = parse_switch(text); });
  read("SINTER_THREADS", [](Options& o, const std::string& text) { o.threads = parse_count(text); });
  read("SINTER_WAIT", [](Options& o, const std::string& text) { o.wait = parse_switch(text); });
  read("SINTER_SCHEDULE", [](Options& o, const std::string& text) { o.schedule = text; });
  read("SINTER_TUNED", [](Options& o, const std::string& text) { o.tuned = parse_switch(text); });
  read("SINTER_WITHOUT", [](Options& o, const std::string& text) { o.without = text; });
  read("SINTER_KEEP_PLANS", [](Options& o, const std::string& text) { o.keep_plans = parse_switch(text); });
  read("SINTER_MEMORY", [](Options& o, const std::string& text) { o.memory = text; });
  read("SINTER_LOG", [](Options& o, const std::string& text) { o.log = text; });
  read("SINTER_DUMP", [](Options& o, const std::string& text) { o.dump = text; });
  read("SINTER_CACHE_DIR", [](Options& o, const std::string& text) { o.cache_dir = text; });
  read("SINTER_CACHE_SIZE", [](Options& o, const std::string& text) { o.cache_size = text; });
  return options;
}

std::vector<std::string> changes(const Options& before, const Options& after) {
  constexpr std::string_view kNames[] = {"device",  "backend",    "fuse",   "fast_math", "threads", "wait",      "schedule",  "tuned",
                                         "without", "keep_plans", "memory", "log",       "dump",    "cache_dir", "cache_size"};
  static_assert(std::size(kNames) == boost::pfr::tuple_size_v<Options>);
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

void apply_log_level(const std::string& level) { log().set_level(spdlog::level::from_str(level)); }

}  // namespace sinter::engine
