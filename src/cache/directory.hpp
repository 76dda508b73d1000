// A trusted cache directory: owned by this user, writable by nobody else, and held open, so that the checked directory is the one used. Failures are returned
// as values.
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

/// A file's identity and age when it was read.
struct FileInfo {
  std::string name;
  std::uint64_t bytes = 0;
  dev_t device = 0;
  ino_t inode = 0;
  timespec modified{};
  std::int64_t uses = -1;  // counted reads; -1 if the file system has no extended attributes
};

struct FileRead {
  enum class Status : std::uint8_t {
    good,
    missing,
    refused,    // a symbolic link, not a plain file, or one that others may have written
    failed,     // a fault of the file system: permission, input/output, no memory
    oversized,  // larger than any entry
  } status = Status::missing;
  std::string why;
  std::vector<std::uint8_t> bytes;
  FileInfo info;
};

class Directory {
 public:
  struct Opened {
    std::shared_ptr<Directory> directory;  // null: the directory is missing, or `reason` says why it is refused
    std::string reason;
  };
  /// Opens the directory; with `create` makes it and its missing parents with mode 0700.
  static Opened open(const std::filesystem::path& path, bool create);
  ~Directory();
  Directory(const Directory&) = delete;

  /// Opens and reads the file once. With `touch` this counts as a use: the file's time is set (at most once an hour), and the count in an extended attribute
  /// grows.
  FileRead read(const std::string& name, bool touch = true) const;
  /// Writes under a temporary name, then renames: readers see the complete file or none.
  std::error_code publish(const std::string& name, std::span<const std::uint8_t> bytes) const;
  /// Removes exactly the given file. A file that was published under the same name since then stays. Returns true if the given file is gone.
  bool remove(const FileInfo& seen) const;
  /// Lists every name in the directory except "." and ".."; files that vanish while listing are skipped.
  std::vector<FileInfo> list(std::error_code& error) const;

 private:
  explicit Directory(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace sinter::cache
