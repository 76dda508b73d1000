// sinter cache: lists the entries, shows one, exports and imports them, checks and deletes them. `warm` is in command_model.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cache/entry.hpp"
#include "commands.hpp"
#include "sinter/counted.hpp"
#include "sinter/engine.hpp"
#include "sinter/errors.hpp"

namespace sinter::tools {
namespace {

/// Throws if the cache is off. `stats` does not call this, because it prints why the cache is off.
void require_on(const cache::DiskCache& cache) {
  if (const std::string reason = cache.disabled_reason(); !reason.empty()) throw ValueError(fmt::format("the disk cache is off: {}", reason));
}

std::string_view kind_of(const cache::Listed& entry) {
  return entry.source.target.starts_with(cache::kPlanTarget) ? "plan" : entry.source.target.starts_with(cache::kTunedTarget) ? "tuned" : "kernel";
}

std::ptrdiff_t count(cache::DiskCache& cache, std::string_view kind) {
  const auto entries = cache.list();
  return std::count_if(entries.begin(), entries.end(), [&](const cache::Listed& entry) { return kind_of(entry) == kind; });
}

/// Returns "cpu" or "sm_90", for example: the target without the processor's features.
std::string device_of(const cache::Listed& entry) {
  std::string_view target = entry.source.target;
  for (const std::string_view prefix : {cache::kPlanTarget, cache::kTunedTarget})
    if (target.starts_with(prefix)) target.remove_prefix(prefix.size());
  return std::string(target.substr(0, target.find_first_of(": ,")));
}

std::string age_text(double seconds) {
  if (seconds < 60) return "now";
  if (seconds < 3600) return fmt::format("{:.0f} min", seconds / 60);
  return seconds < 48 * 3600 ? fmt::format("{:.0f} h", seconds / 3600) : fmt::format("{:.0f} days", seconds / 86400);
}

std::string uses_text(const cache::Listed& entry) { return entry.uses < 0 ? "-" : std::to_string(entry.uses); }

std::string one_line(const std::string& note, std::size_t max_length) {
  std::string line = note.substr(0, note.find('\n'));
  if (line.size() > max_length) line = line.substr(0, line.rfind(' ', max_length)) + " ...";
  return line;
}

std::string entries_text(std::size_t count) { return counted(count, "entry", "entries"); }

constexpr std::array<char, 8> kExportMark = {'s', 'n', 'c', 'a', 'c', 'h', 'e', '\n'};

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
  fmt::print("folder   {}\n", cache.settings().directory.string());
  if (const std::string reason = cache.disabled_reason(); !reason.empty()) fmt::print("off      {}\n", reason);
  fmt::print("entries  {}\n", stats.entries);
  fmt::print("plans    {}\ntuned    {}\n", count(cache, "plan"), count(cache, "tuned"));
  fmt::print("bytes    {} ({} of {})\n", stats.bytes, readable_bytes(stats.bytes), readable_bytes(cache.settings().max_bytes));
  return 0;
}

int run_cache_list() {
  cache::DiskCache cache(cache_settings());
  require_on(cache);
  const auto entries = cache.list();
  if (!entries.empty())
    fmt::print("{:<12}  {:<6}  {:<6} {:>9} {:>8} {:>5}  name: split reason, or the plan's steps\n", "key", "what", "device", "bytes", "used", "hits");
  for (const cache::Listed& entry : entries)
    fmt::print("{:<12}  {:<6}  {:<6} {:>9} {:>8} {:>5}  {}: {}\n", entry.key.substr(0, 12), kind_of(entry), device_of(entry), readable_bytes(entry.bytes),
               age_text(entry.unused_seconds), uses_text(entry), entry.source.entry, one_line(entry.binary.note, 100));
  std::uint64_t bytes = 0;
  for (const cache::Listed& entry : entries) bytes += entry.bytes;
  fmt::print("{}, {} in {}\n", entries_text(entries.size()), readable_bytes(bytes), cache.settings().directory.string());
  return 0;
}

int run_cache_show(const std::string& key) {
  cache::DiskCache cache(cache_settings());
  require_on(cache);
  const auto entries = key.empty() ? std::vector<cache::Listed>() : cache.list(key);
  if (entries.empty()) throw ValueError(fmt::format("no entry has a key that begins with '{}'; `sinter cache list` shows the keys", key));
  if (entries.size() > 1) throw ValueError(fmt::format("the keys of {} begin with '{}'; give more digits", entries_text(entries.size()), key));
  const cache::Listed& entry = entries.front();
  const auto& [source, binary] = std::tie(entry.source, entry.binary);
  const auto line = [](std::string_view title, const std::string& text) {
    if (!text.empty()) fmt::print("{:<10} {}\n", title, text);
  };
  line("key", entry.key);
  line("what", kind_of(entry) == source.entry ? source.entry : fmt::format("{} {}", kind_of(entry), source.entry));
  line("why", binary.note);
  line("bytes", fmt::format("{}, {} of them the {}", entry.bytes, binary.image.size(), kind_of(entry) == "kernel" ? "binary" : kind_of(entry)));
  line("used", fmt::format("{}{}, {}", age_text(entry.unused_seconds), entry.unused_seconds < 60 ? "" : " ago",
                           entry.uses < 0 ? "- hits" : counted(entry.uses, "hit")));
  line("target", source.target);
  line("compiler", source.compiler);
  line("generator", source.generator);
  line("options", source.options);
  const jit::ResourceReport& report = binary.report;
  if (report.compile_ms > 0) line("compiled", fmt::format("in {:.1f} ms", report.compile_ms));
  if (report.registers >= 0)
    line("resources", fmt::format("{}, {} of shared memory, {} spilled", counted(report.registers, "register"),
                                  counted(std::max(report.shared_bytes, 0), "byte"), counted(std::max(report.spill_bytes, 0), "byte")));
  if (kind_of(entry) == "plan") return 0;  // the text of its key is numbers
  if (kind_of(entry) == "tuned") line("schedules", std::string(binary.image.begin(), binary.image.end()));
  fmt::print("\n{}\n", source.text);
  return 0;
}

// A file of entries: the mark, the number of entries, then the length and the bytes of each entry, as in the cache. Each entry has its own checksum.
int run_cache_export(const std::string& path) {
  cache::DiskCache cache(cache_settings());
  require_on(cache);
  std::vector<std::vector<std::uint8_t>> entries;
  cache.each([&](std::span<const std::uint8_t> bytes) { entries.emplace_back(bytes.begin(), bytes.end()); });
  std::ofstream file(path, std::ios::binary);
  const auto number = [&](std::uint64_t value) { file.write(reinterpret_cast<const char*>(&value), sizeof value); };
  file.write(kExportMark.data(), kExportMark.size());
  number(entries.size());
  for (const auto& entry : entries) {
    number(entry.size());
    file.write(reinterpret_cast<const char*>(entry.data()), static_cast<std::streamsize>(entry.size()));
  }
  if (!file.flush()) throw IoError(fmt::format("{}: cannot be written", path));
  fmt::print("wrote {}: {}, {}\n", path, entries_text(cache.list().size()), readable_bytes(static_cast<std::uint64_t>(file.tellp())));
  return 0;
}

int run_cache_import(const std::string& path) {
  cache::DiskCache cache(cache_settings());
  require_on(cache);
  std::ifstream file(path, std::ios::binary);
  std::array<char, 8> mark{};
  std::uint64_t entries = 0, stored = 0, known = 0, refused = 0;
  if (!file || std::filesystem::is_directory(path)) throw IoError(fmt::format("{}: cannot be read", path));
  file.read(mark.data(), mark.size());
  const auto number = [&](std::uint64_t& value) { file.read(reinterpret_cast<char*>(&value), sizeof value); };
  number(entries);
  if (!file || mark != kExportMark) throw IoError(fmt::format("{}: this file was not written by `sinter cache export`", path));
  const std::ptrdiff_t tuned = count(cache, "tuned");
  for (std::uint64_t k = 0; k < entries; ++k) {
    std::uint64_t length = 0;
    number(length);
    std::vector<std::uint8_t> bytes;
    if (file && length <= cache::kMaxEntryBytes) {
      bytes.resize(length);
      file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(length));
    }
    if (!file || bytes.empty())
      throw IoError(fmt::format("{}: the file ends within entry {} of {}; the entries before it were imported", path, k + 1, entries));
    const auto taken = cache.import(bytes);
    ++(taken == cache::DiskCache::Import::stored ? stored : taken == cache::DiskCache::Import::known ? known : refused);
  }
  if (const std::string reason = cache.disabled_reason(); !reason.empty()) throw IoError(fmt::format("the disk cache is off: {}", reason));
  if (count(cache, "tuned") > tuned)  // plans that were made here did not use those schedules
    cache.remember(cache::kTuningMark, std::to_string(1 + std::strtoull(cache.recall(cache::kTuningMark).value_or("").c_str(), nullptr, 10)));
  fmt::print("stored {}, already there {}, refused {}\n", stored, known, refused);
  if (refused > 0) fmt::print("refused entries are damaged, of another version of sinter, or could not be written\n");
  return refused == 0 ? 0 : 1;
}

int run_cache_tuned() {
  cache::DiskCache cache(cache_settings());
  require_on(cache);
  bool any = false;
  for (const cache::Listed& entry : cache.list())
    if (kind_of(entry) == "tuned") {
      fmt::print("{}\non {}\n", entry.binary.note, entry.source.target.substr(cache::kTunedTarget.size()));
      any = true;
    }
  if (!any) fmt::print("no schedule is tuned; see `sinter tune`\n");
  return 0;
}

int run_cache_clear() {
  cache::DiskCache cache(cache_settings());
  require_on(cache);
  fmt::print("deleted {}\n", entries_text(cache.clear()));
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
