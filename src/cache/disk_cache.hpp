// The second level of the cache: one file per binary, found by a hash of its content. The first level (structure ->
// plan, and loaded kernels) lives in the engine.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/source.hpp"

namespace sinter::cache {

/// Where a cache is and how large it may grow.
struct Settings {
  std::filesystem::path directory;  // empty: disabled
  std::uint64_t max_bytes = std::uint64_t{1} << 30;
};
/// $SINTER_CACHE_DIR, else $XDG_CACHE_HOME/sinter, else ~/.cache/sinter; size from $SINTER_CACHE_SIZE
/// ("512M", "2G", a number of bytes; 0 disables). Never a shared temporary directory unless set explicitly.
/// A malformed size counts as not set: whoever reads the settings has warned of it.
Settings default_settings();
/// "512M", "2G", "4096": a number of bytes. Throws ValueError.
std::uint64_t parse_size(std::string_view text);

struct Stats {
  std::uint64_t entries = 0, bytes = 0;
  std::uint64_t hits = 0, misses = 0, stores = 0, evicted = 0, corrupt = 0;  // of this process
};
struct VerifyResult {
  std::uint64_t good = 0, bad = 0, foreign_schema = 0;
  std::string report;  // one line per bad entry; those that could not be read count as bad, and stay
};

/// How the target of an entry begins that holds a plan.
inline constexpr std::string_view kPlanTarget = "plan for ";
/// How the target of an entry begins that holds no code but a schedule, found by measuring on what the rest of it names.
inline constexpr std::string_view kTunedTarget = "schedule measured on ";

/// Thread-safe; safe against other processes on the same directory. No member throws for anything a file system or a
/// hostile file can do: it warns once (log) and goes on without the entry.
class DiskCache {
 public:
  explicit DiskCache(Settings settings);
  ~DiskCache();
  DiskCache(const DiskCache&) = delete;

  /// The binary of exactly this source (the whole key is compared, a hash collision is a miss), origin = disk.
  std::optional<jit::Binary> load(const jit::Source& source);
  /// Publishes atomically: private temporary name, write, fsync, rename; then evicts what exceeds the size.
  void store(const jit::Source& source, const jit::Binary& binary);

  /// Deletes the entry of a source: its content is whole, and yet it is of no use.
  void discard(const jit::Source& source);

  /// A word about the cache itself, kept beside its entries and checked as they are: "compiler-cpu" -> the compiler's identity.
  void remember(const std::string& name, const std::string& value);
  std::optional<std::string> recall(const std::string& name);

  /// Entries whose target begins so, as their target and their note.
  std::vector<std::pair<std::string, std::string>> find_all(std::string_view target);

  Stats stats() const;
  /// Reads every entry and checks it; deletes those whose content is wrong, never those that could not be read.
  VerifyResult verify();
  /// Deletes every entry; returns their number.
  std::uint64_t clear();
  const Settings& settings() const;
  /// Why the cache is off ("directory is owned by another user"), empty when it is on.
  std::string disabled_reason() const;

 private:
  struct State;
  State* state_;
};

/// The full text that is hashed and compared: schema, target, compiler, generator, options, entry, source.
std::string key_text(const jit::Source& source);

}  // namespace sinter::cache
