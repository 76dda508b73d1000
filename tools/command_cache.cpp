// sinter cache stats|clear|verify
#include <fmt/format.h>

#include <array>

#include "commands.hpp"
#include "sinter/engine.hpp"
#include "sinter/errors.hpp"

namespace sinter::tools {
namespace {

/// To change a cache that is off is an error; to look at it is not.
void require_on(const cache::DiskCache& cache) {
  if (const std::string reason = cache.disabled_reason(); !reason.empty()) throw ValueError(fmt::format("the disk cache is off: {}", reason));
}

}  // namespace

cache::Settings cache_settings() {
  cache::Settings settings = cache::default_settings();
  const Options options = sinter::options();
  if (!options.cache_dir.empty()) settings.directory = options.cache_dir;
  if (!options.cache_size.empty()) settings.max_bytes = cache::parse_size(options.cache_size);
  return settings;
}

std::string readable_bytes(std::uint64_t bytes) {
  constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

int run_cache_stats() {
  cache::DiskCache cache(cache_settings());
  const cache::Stats stats = cache.stats();
  fmt::print("place    {}\n", cache.settings().directory.string());
  if (const std::string reason = cache.disabled_reason(); !reason.empty()) fmt::print("off      {}\n", reason);
  fmt::print("entries  {}\n", stats.entries);
  fmt::print("plans    {}\n", cache.find_all(cache::kPlanTarget).size());
  fmt::print("tuned    {}\n", cache.find_all(cache::kTunedTarget).size());
  fmt::print("bytes    {} ({} of {})\n", stats.bytes, readable_bytes(stats.bytes), readable_bytes(cache.settings().max_bytes));
  return 0;
}

int run_cache_tuned() {
  cache::DiskCache cache(cache_settings());
  require_on(cache);
  const auto entries = cache.find_all(cache::kTunedTarget);
  for (const auto& [target, note] : entries) fmt::print("{}\non {}\n", note, target.substr(cache::kTunedTarget.size()));
  if (entries.empty()) fmt::print("no schedule is tuned; see `sinter tune`\n");
  return 0;
}

int run_cache_clear() {
  cache::DiskCache cache(cache_settings());
  require_on(cache);
  fmt::print("deleted {} entries\n", cache.clear());
  return 0;
}

int run_cache_verify() {
  cache::DiskCache cache(cache_settings());
  require_on(cache);
  const cache::VerifyResult result = cache.verify();
  fmt::print("{}good {}, bad {}, of another version {}\n", result.report, result.good, result.bad, result.foreign_schema);
  return result.bad == 0 ? 0 : 1;
}

}  // namespace sinter::tools
