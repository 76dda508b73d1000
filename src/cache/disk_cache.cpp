#include "cache/disk_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "base/log.hpp"
#include "cache/directory.hpp"
#include "cache/entry.hpp"
#include "cache/temporary.hpp"

namespace sinter::cache {
namespace {

using Status = FileRead::Status;

// Other processes fill the directory, too, so its size is counted again after this many stores.
constexpr int kStoresBetweenScans = 64;

// A note is an entry whose name is not a hash. It is neither counted nor evicted.
constexpr std::string_view kNote = "sinter note ";
bool is_note_name(std::string_view name) { return !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string_view::npos; }

/// Warns once per process for each directory and kind of trouble: a broken cache must not flood the log.
void warn_once(const Settings& settings, std::string_view kind, const std::string& message) {
  static std::mutex& mutex = *new std::mutex;  // never destroyed, because static tensors may still be alive when the process ends
  static auto& said = *new std::set<std::string>;
  {
    const std::lock_guard lock(mutex);
    if (!said.insert(fmt::format("{}\n{}", kind, settings.directory.string())).second) return;
  }
  log().warn("disk cache: {}", message);
}

double age_seconds(const FileInfo& file) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec - file.modified.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec - file.modified.tv_nsec);
}

bool older(const FileInfo& a, const FileInfo& b) {
  if (a.modified.tv_sec != b.modified.tv_sec) return a.modified.tv_sec < b.modified.tv_sec;
  return a.modified.tv_nsec < b.modified.tv_nsec;
}

}  // namespace

struct DiskCache::State {
  Settings settings;
  std::atomic<std::uint64_t> hits{0}, misses{0}, stores{0}, evicted{0}, corrupt{0};

  mutable std::mutex mutex;  // guards the members below; never held while an entry is read or written
  std::string disabled;
  std::shared_ptr<Directory> directory;
  std::uint64_t known_bytes = 0;
  int stores_until_scan = 0;
  std::map<std::string, std::string> remembered;  // notes that this process wrote, so that each is written once

  /// Returns the directory, or null when it is missing (and not to be created) or the cache is off.
  std::shared_ptr<Directory> open(bool create) {
    const std::lock_guard lock(mutex);
    if (directory || !disabled.empty()) return directory;
    Directory::Opened opened = Directory::open(settings.directory, create);
    directory = std::move(opened.directory);
    if (!opened.reason.empty()) {
      disabled = opened.reason;
      warn_once(settings, "disabled", fmt::format("{}; kernels are not cached on disk", disabled));
    }
    return directory;
  }

  /// Forgets the directory after another process removed it, so that the next open() makes a new one.
  void reopen(const std::shared_ptr<Directory>& stale) {
    const std::lock_guard lock(mutex);
    if (directory == stale) directory.reset();
  }

  std::vector<FileInfo> entries(const Directory& from) const {
    std::error_code error;
    std::vector<FileInfo> files = from.list(error);
    if (error) warn_once(settings, "list", fmt::format("{} cannot be listed: {}", settings.directory.string(), error.message()));
    std::erase_if(files, [](const FileInfo& file) { return !is_entry_name(file.name); });
    return files;
  }

  void sweep(const Directory& from) const {
    std::error_code error;
    for (const FileInfo& file : from.list(error))
      if (is_temporary_name(file.name) && is_abandoned(file.name, age_seconds(file))) from.remove(file);
  }

  /// Counts the bytes in the directory after every kStoresBetweenScans stores, or when the known bytes exceed the limit. If the directory is too large, deletes
  /// the least recently used entries until it is one tenth below the limit, so that a full cache is not listed at every store.
  void keep_size(const Directory& from, const std::string& newest, std::uint64_t added) {
    {
      const std::lock_guard lock(mutex);
      known_bytes += added;
      if (--stores_until_scan > 0 && known_bytes <= settings.max_bytes) return;
      stores_until_scan = kStoresBetweenScans;
    }
    sweep(from);
    std::vector<FileInfo> files = entries(from);
    std::uint64_t total = 0;
    for (const FileInfo& file : files) total += file.bytes;
    if (total > settings.max_bytes) {
      std::sort(files.begin(), files.end(), older);
      for (const FileInfo& file : files) {
        if (total <= settings.max_bytes - settings.max_bytes / 10) break;
        if (file.name == newest || !from.remove(file)) continue;
        total -= file.bytes;
        ++evicted;
      }
    }
    const std::lock_guard lock(mutex);
    known_bytes = total;
  }

  std::optional<jit::Binary> load(const jit::Source& source) {
    const std::shared_ptr<Directory> from = open(/*create=*/false);
    if (!from) return std::nullopt;
    const std::string key = key_text(source);
    const FileRead file = from->read(entry_name(key));
    switch (file.status) {
      case Status::missing: return std::nullopt;
      case Status::refused:
      case Status::failed:
        warn_once(settings, "read",
                  fmt::format("{} in {}: {}", file.info.name.empty() ? entry_name(key) : file.info.name, settings.directory.string(), file.why));
        return std::nullopt;
      case Status::oversized: discard(*from, file.info); return std::nullopt;
      case Status::good: break;
    }
    const EntryView entry = decode(file.bytes);
    if (entry.status == EntryView::Status::foreign_schema) return std::nullopt;
    if (entry.status == EntryView::Status::good && entry.key != key) return std::nullopt;
    std::optional<jit::Binary> binary;
    if (entry.status == EntryView::Status::good) binary = binary_of(entry);
    if (!binary) discard(*from, file.info);
    return binary;
  }

  void discard(const Directory& from, const FileInfo& file) {
    ++corrupt;
    from.remove(file);
  }

  void store(const jit::Source& source, const jit::Binary& binary) {
    const std::string key = key_text(source);
    const std::string name = entry_name(key);
    const std::vector<std::uint8_t> bytes = encode(key, binary);
    if (bytes.size() > std::min(settings.max_bytes, kMaxEntryBytes)) return;
    for (int attempt = 0; attempt < 2; ++attempt) {
      const std::shared_ptr<Directory> to = open(/*create=*/true);
      if (!to) return;
      const std::error_code error = to->publish(name, bytes);
      if (!error) {
        ++stores;
        keep_size(*to, name, bytes.size());
        return;
      }
      if (error == std::errc::no_such_file_or_directory && attempt == 0) {
        reopen(to);
        continue;
      }
      warn_once(settings, "write", fmt::format("{} cannot be written: {}; going on without", settings.directory.string(), error.message()));
      return;
    }
  }

  void discard(const jit::Source& source) {
    const std::shared_ptr<Directory> from = open(/*create=*/false);
    if (!from) return;
    const FileRead file = from->read(entry_name(key_text(source)), /*touch=*/false);
    if (file.status == Status::good) discard(*from, file.info);
  }

  static std::string note_key(const std::string& name) { return fmt::format("{}{}", kNote, name); }

  void remember(const std::string& name, const std::string& value) {
    {
      const std::lock_guard lock(mutex);
      std::string& known = remembered[name];
      if (known == value) return;
      known = value;
    }
    if (recall(name) == value) return;
    const std::shared_ptr<Directory> to = open(/*create=*/true);
    if (!to) return;
    jit::Binary note;
    note.image.assign(value.begin(), value.end());
    if (const std::error_code error = to->publish(name, encode(note_key(name), note)))
      warn_once(settings, "write", fmt::format("{} cannot be written: {}; going on without", settings.directory.string(), error.message()));
  }

  std::optional<std::string> recall(const std::string& name) {
    const std::shared_ptr<Directory> from = open(/*create=*/false);
    if (!from) return std::nullopt;
    const FileRead file = from->read(name);
    if (file.status != Status::good) return std::nullopt;
    const EntryView entry = decode(file.bytes);
    if (entry.status == EntryView::Status::foreign_schema) return std::nullopt;
    if (entry.status != EntryView::Status::good || entry.key != note_key(name)) {
      discard(*from, file.info);
      return std::nullopt;
    }
    return std::string(entry.payload.begin(), entry.payload.end());
  }

  /// Runs `body`; any exception (no memory, a broken locale) becomes a warning and `otherwise`.
  template <class Result, class Body> Result guarded(Result otherwise, Body body) noexcept {
    try {
      return body();
    } catch (const std::exception& error) {
      try {
        warn_once(settings, "internal", error.what());
      } catch (...) {
      }
      return otherwise;
    }
  }
};

DiskCache::DiskCache(Settings settings) : state_(new State{.settings = std::move(settings)}) {
  if (state_->settings.directory.empty()) state_->disabled = "there is no cache directory: neither SINTER_CACHE_DIR nor a home directory is set";
  else if (state_->settings.max_bytes == 0) state_->disabled = "turned off by a cache size of 0";
  else
    state_->guarded(0, [&] {
      state_->open(/*create=*/false);
      return 0;
    });
}

DiskCache::~DiskCache() { delete state_; }

std::optional<jit::Binary> DiskCache::load(const jit::Source& source) {
  auto binary = state_->guarded(std::optional<jit::Binary>(), [&] { return state_->load(source); });
  ++(binary ? state_->hits : state_->misses);
  return binary;
}

void DiskCache::store(const jit::Source& source, const jit::Binary& binary) {
  state_->guarded(0, [&] {
    state_->store(source, binary);
    return 0;
  });
}

void DiskCache::discard(const jit::Source& source) {
  state_->guarded(0, [&] {
    state_->discard(source);
    return 0;
  });
}

void DiskCache::remember(const std::string& name, const std::string& value) {
  state_->guarded(0, [&] {
    state_->remember(name, value);
    return 0;
  });
}

std::optional<std::string> DiskCache::recall(const std::string& name) {
  return state_->guarded(std::optional<std::string>(), [&] { return state_->recall(name); });
}

std::vector<Listed> DiskCache::list(std::string_view key) {
  return state_->guarded(std::vector<Listed>(), [&] {
    std::vector<Listed> found;
    const auto from = state_->open(/*create=*/false);
    if (!from) return found;
    std::vector<FileInfo> files = state_->entries(*from);
    std::sort(files.begin(), files.end(), [](const FileInfo& a, const FileInfo& b) { return older(b, a); });
    for (const FileInfo& listed : files) {
      if (!listed.name.starts_with(key)) continue;
      const FileRead file = from->read(listed.name, /*touch=*/false);
      const EntryView entry = decode(file.bytes);
      if (entry.status != EntryView::Status::good) continue;
      auto source = source_in(entry.key);
      auto binary = binary_of(entry);
      if (!source || !binary) continue;
      if (key.empty()) source->text = {}, binary->image = {};  // texts and images of all entries would take as much memory as the disk cache
      found.push_back(
          {listed.name.substr(0, listed.name.find('.')), std::move(*source), std::move(*binary), listed.bytes, age_seconds(listed), file.info.uses});
    }
    return found;
  });
}

void DiskCache::each(const std::function<void(std::span<const std::uint8_t>)>& take) {
  const auto from = state_->open(/*create=*/false);
  if (!from) return;
  std::error_code error;
  for (const FileInfo& listed : from->list(error)) {
    if (!is_entry_name(listed.name) && !is_note_name(listed.name)) continue;
    const FileRead file = from->read(listed.name, /*touch=*/false);
    if (decode(file.bytes).status == EntryView::Status::good) take(file.bytes);
  }
}

DiskCache::Import DiskCache::import(std::span<const std::uint8_t> bytes) {
  return state_->guarded(Import::refused, [&] {
    const EntryView entry = decode(bytes);
    if (entry.status != EntryView::Status::good || !binary_of(entry)) return Import::refused;
    const bool note = entry.key.starts_with(kNote);
    const std::string name(note ? entry.key.substr(kNote.size()) : entry_name(entry.key));
    if (note ? !is_note_name(name) : !source_in(entry.key)) return Import::refused;
    const auto to = state_->open(/*create=*/true);
    if (!to) return Import::refused;
    if (decode(to->read(name, /*touch=*/false).bytes).status == EntryView::Status::good) return Import::known;
    if (to->publish(name, bytes)) return Import::refused;
    if (!note) state_->keep_size(*to, name, bytes.size());
    return Import::stored;
  });
}

Stats DiskCache::stats() const {
  Stats stats{.hits = state_->hits, .misses = state_->misses, .stores = state_->stores, .evicted = state_->evicted, .corrupt = state_->corrupt};
  return state_->guarded(stats, [&] {
    if (const auto from = state_->open(/*create=*/false))
      for (const FileInfo& file : state_->entries(*from)) {
        ++stats.entries;
        stats.bytes += file.bytes;
      }
    return stats;
  });
}

VerifyResult DiskCache::verify() {
  return state_->guarded(VerifyResult(), [&] {
    VerifyResult result;
    const auto from = state_->open(/*create=*/false);
    if (!from) return result;
    state_->sweep(*from);
    const auto bad = [&](const std::string& name, std::string_view why, bool deleted) {
      ++result.bad;
      result.report += fmt::format("{}: {}, {}\n", name, why, deleted ? "deleted" : "left there");
    };
    for (const FileInfo& listed : state_->entries(*from)) {
      const FileRead file = from->read(listed.name, /*touch=*/false);
      if (file.status == Status::missing) continue;
      if (file.status == Status::refused || file.status == Status::failed) {
        bad(listed.name, file.why, false);
        continue;
      }
      std::string_view why = file.why;
      if (file.status == Status::good) {
        const EntryView entry = decode(file.bytes);
        if (entry.status == EntryView::Status::foreign_schema) {
          ++result.foreign_schema;
          continue;
        }
        why = entry.why;
        if (entry.status == EntryView::Status::good) {
          if (entry_name(entry.key) != listed.name) why = "stored under another key's name";
          else if (!binary_of(entry)) why = "malformed metadata";
          else {
            ++result.good;
            continue;
          }
        }
      }
      ++state_->corrupt;
      bad(listed.name, why, from->remove(file.info));
    }
    return result;
  });
}

std::uint64_t DiskCache::clear() {
  return state_->guarded(std::uint64_t{0}, [&] {
    std::uint64_t removed = 0;
    const auto from = state_->open(/*create=*/false);
    if (!from) return removed;
    state_->sweep(*from);
    for (const FileInfo& file : state_->entries(*from)) removed += from->remove(file);
    const std::lock_guard lock(state_->mutex);
    state_->known_bytes = 0;
    return removed;
  });
}

const Settings& DiskCache::settings() const { return state_->settings; }

std::string DiskCache::disabled_reason() const {
  const std::lock_guard lock(state_->mutex);
  return state_->disabled;
}

}  // namespace sinter::cache
