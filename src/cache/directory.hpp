// A cache directory that can be trusted: owned by this user, writable by nobody else, and held open, so that what was
// checked is what is used. Every failure is a value.
#pragma once
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace sinter::cache {

/// A file's identity and age, as the file system had it when it was read.
struct FileInfo {
  std::string name;
  std::uint64_t bytes = 0;
  dev_t device = 0;
  ino_t inode = 0;
  timespec modified{};
};

struct FileRead {
  enum class Status : std::uint8_t {
    good,
    missing,
    refused,    // a symbolic link, not a plain file, or one that others may have written
    failed,     // the file system's fault: permission, input/output, no memory
    oversized,  // larger than any entry
  } status = Status::missing;
  std::string why;
  std::vector<std::uint8_t> bytes;
  FileInfo info;
};

class Directory {
 public:
  struct Opened {
    std::shared_ptr<Directory> directory;  // null: missing, or the reason says why not
    std::string reason;
  };
  /// Opens the directory; with `create` makes it, and its missing parents, with mode 0700.
  static Opened open(const std::filesystem::path& path, bool create);
  ~Directory();
  Directory(const Directory&) = delete;

  /// One open, one read. Marks the file as used (its modification time), at most once an hour.
  FileRead read(const std::string& name, bool touch = true) const;
  /// Writes under a temporary name, then renames: readers see all of it or nothing.
  std::error_code publish(const std::string& name, std::span<const std::uint8_t> bytes) const;
  /// Removes the very file that was seen: one published under the same name meanwhile stays. True if it is gone.
  bool remove(const FileInfo& seen) const;
  /// Every name in the directory but "." and ".."; what vanishes while listing is left out.
  std::vector<FileInfo> list(std::error_code& error) const;

 private:
  explicit Directory(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace sinter::cache
