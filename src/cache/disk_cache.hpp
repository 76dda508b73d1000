// The second level of the cache: one file per binary, found by a hash of its content. The first level (structural key -> plan, and loaded kernels) is in the
// engine.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/source.hpp"

namespace sinter::cache {

/// The directory of a cache and its largest size.
struct Settings {
  std::filesystem::path directory;  // empty: disabled
  std::uint64_t max_bytes = std::uint64_t{1} << 30;
};
/// Returns $SINTER_CACHE_DIR, else $XDG_CACHE_HOME/sinter, else ~/.cache/sinter; the size from $SINTER_CACHE_SIZE ("512M", "2G", a number of bytes; 0
/// disables). It is never a shared temporary directory unless set explicitly. A malformed size is ignored, because the reader of the settings has already
/// warned.
Settings default_settings();
/// Parses "512M", "2G" or "4096" as a number of bytes. Throws ValueError.
std::uint64_t parse_size(std::string_view text);

struct Stats {
  std::uint64_t entries = 0, bytes = 0;
  std::uint64_t hits = 0, misses = 0, stores = 0, evicted = 0, corrupt = 0;  // counts of this process
};
struct VerifyResult {
  std::uint64_t good = 0, bad = 0, foreign_schema = 0;
  std::string report;  // one line per bad entry; unreadable entries count as bad, but stay
};

/// An entry, as a list shows it.
struct Listed {
  std::string key;  // 32 hex digits: the name of its file
  jit::Source source;
  jit::Binary binary;
  std::uint64_t bytes = 0;
  double unused_seconds = 0;  // since it was stored or last used, within an hour
  std::int64_t uses = -1;     // uses by processes; -1: the file system cannot count them
};

/// The prefix of the target of an entry that holds a plan.
inline constexpr std::string_view kPlanTarget = "plan for ";
/// The prefix of the target of an entry that holds a measured schedule and no code; the rest names the kernel and device.
inline constexpr std::string_view kTunedTarget = "schedule measured on ";
/// The note that counts changes of the measured schedules; the keys of plans made before and after a change differ by this number.
inline constexpr char kTuningMark[] = "tuned-schedules";

/// The disk cache. It is thread-safe, and safe against other processes on the same directory. Faults of the file system and hostile files cause no exception:
/// the cache logs one warning and continues without the entry.
class DiskCache {
 public:
  explicit DiskCache(Settings settings);
  ~DiskCache();
  DiskCache(const DiskCache&) = delete;

  /// Returns the binary of exactly this source (the whole key is compared, so a hash collision is a miss), with origin = disk.
  std::optional<jit::Binary> load(const jit::Source& source);
  /// Publishes atomically: private temporary name, write, fsync, rename; then evicts entries beyond the size limit.
  void store(const jit::Source& source, const jit::Binary& binary);

  /// Deletes the entry of a source: its content is intact but useless.
  void discard(const jit::Source& source);

  /// Stores a note about the cache itself, such as "compiler-cpu" -> the compiler's identity. Notes are checked like entries.
  void remember(const std::string& name, const std::string& value);
  std::optional<std::string> recall(const std::string& name);

  /// Returns every intact entry, the last used first, without texts and binaries. With `key`: complete entries whose keys begin with it.
  std::vector<Listed> list(std::string_view key = {});
  /// Calls `take` with the bytes of every intact entry and note; import() stores them on another machine.
  void each(const std::function<void(std::span<const std::uint8_t>)>& take);
  enum class Import : std::uint8_t { stored, known, refused };
  /// Stores one entry or note of each() unless it exists. Refuses damaged bytes, entries of another schema, and entries that cannot be written.
  Import import(std::span<const std::uint8_t> bytes);

  Stats stats() const;
  /// Reads and checks every entry; deletes those with wrong content, never those that could not be read.
  VerifyResult verify();
  /// Deletes every entry; returns their number.
  std::uint64_t clear();
  const Settings& settings() const;
  /// Returns the reason why the cache is off ("directory is owned by another user"), empty when it is on.
  std::string disabled_reason() const;

 private:
  struct State;
  State* state_;
};

/// Returns the full text that is hashed and compared: schema, target, compiler, generator, options, entry, source.
std::string key_text(const jit::Source& source);

}  // namespace sinter::cache
