#include "cache/directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "cache/entry.hpp"
#include "cache/temporary.hpp"

namespace sinter::cache {
namespace {

namespace fs = std::filesystem;
constexpr time_t kTouchSeconds = 3600;
constexpr char kUses[] = "user.sinter.uses";  // an attribute and not a part of the contents, which a checksum covers
constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;

std::error_code last_error() { return {errno, std::generic_category()}; }

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() { close(); }
  File(const File&) = delete;
  int fd() const { return fd_; }
  /// Closes the file; returns false if the file system only now reports an earlier failed write.
  bool close() {
    const int fd = fd_;
    fd_ = -1;
    return fd < 0 || ::close(fd) == 0;
  }

 private:
  int fd_;
};

FileInfo info_of(const std::string& name, const struct stat& status) {
  return {name, static_cast<std::uint64_t>(status.st_size), status.st_dev, status.st_ino, status.st_mtim, -1};
}

/// Returns the reason why other users could have written the content; empty if they could not.
std::string distrust(const struct stat& status) {
  if (status.st_uid != geteuid()) return fmt::format("is owned by another user (uid {}; this process has uid {})", status.st_uid, geteuid());
  if (status.st_mode & kOthersMayWrite) return fmt::format("is writable by others (mode {:04o}); chmod go-w makes it usable", status.st_mode & 07777);
  return {};
}

/// A file that was never used has no count; a file system without attributes has none for any file.
std::int64_t uses_of(int fd) {
  std::int64_t uses = 0;
  if (fgetxattr(fd, kUses, &uses, sizeof uses) == sizeof uses) return uses;
  return errno == ENODATA ? 0 : -1;
}

std::error_code make_directories(const fs::path& path) {
  fs::path made;
  for (const fs::path& part : path) {
    made /= part;
    if (mkdir(made.c_str(), 0700) == 0 || errno == EEXIST) continue;
    // A parent folder that exists is accepted even if mkdir would fail, for example on a read-only file system.
    const std::error_code error = last_error();
    struct stat status;
    if (stat(made.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return error;
  }
  return {};
}

bool write_all(int fd, std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

Directory::Opened Directory::open(const fs::path& path, bool create) {
  // A link in a place where others may write could lead anywhere; links of this user and of root are trusted.
  struct stat link;
  if (lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode) && link.st_uid != geteuid() && link.st_uid != 0)
    return {nullptr, fmt::format("{} is a symbolic link that another user made", path.string())};

  int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) {
    if (!create) return {};
    if (const std::error_code error = make_directories(path)) return {nullptr, fmt::format("{} cannot be created: {}", path.string(), error.message())};
    fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }
  if (fd < 0) return {nullptr, fmt::format("{} cannot be opened: {}", path.string(), last_error().message())};

  std::shared_ptr<Directory> directory(new Directory(fd));
  struct stat status;
  if (fstat(fd, &status) != 0) return {nullptr, fmt::format("{}: {}", path.string(), last_error().message())};
  if (const std::string why = distrust(status); !why.empty()) return {nullptr, fmt::format("{} {}", path.string(), why)};
  return {std::move(directory), {}};
}

Directory::~Directory() { ::close(fd_); }

FileRead Directory::read(const std::string& name, bool touch) const {
  using Status = FileRead::Status;
  FileRead result;
  const auto give_up = [&](Status status, std::string why) {
    result.status = status;
    result.why = std::move(why);
    result.bytes.clear();
    return std::move(result);
  };
  // O_NONBLOCK: opening a pipe must not wait for its writer.
  File file(openat(fd_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.fd() < 0) {
    if (errno == ENOENT) return result;
    return give_up(errno == ELOOP ? Status::refused : Status::failed, errno == ELOOP ? "is a symbolic link" : last_error().message());
  }
  struct stat status;
  if (fstat(file.fd(), &status) != 0) return give_up(Status::failed, last_error().message());
  result.info = info_of(name, status);
  if (!S_ISREG(status.st_mode)) return give_up(Status::refused, "is not a plain file");
  if (std::string why = distrust(status); !why.empty()) return give_up(Status::refused, std::move(why));
  if (result.info.bytes > kMaxEntryBytes) return give_up(Status::oversized, "larger than any entry");

  result.bytes.resize(result.info.bytes);
  std::size_t have = 0;
  while (have < result.bytes.size()) {
    const ssize_t n = ::read(file.fd(), result.bytes.data() + have, result.bytes.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return give_up(Status::failed, last_error().message());
    if (n == 0) break;  // truncated since fstat: decoding detects it
    have += static_cast<std::size_t>(n);
  }
  result.bytes.resize(have);
  result.info.uses = uses_of(file.fd());
  if (touch) {
    if (time(nullptr) - status.st_mtim.tv_sec > kTouchSeconds) futimens(file.fd(), nullptr);
    if (const std::int64_t uses = result.info.uses + 1; uses > 0) fsetxattr(file.fd(), kUses, &uses, sizeof uses, 0);
  }
  result.status = Status::good;
  return result;
}

std::error_code Directory::publish(const std::string& name, std::span<const std::uint8_t> bytes) const {
  const std::string temporary = temporary_name();
  File file(openat(fd_, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.fd() < 0) return last_error();
  // fsync precedes the rename: after a crash the name must not refer to a file without its contents.
  if (!write_all(file.fd(), bytes) || fsync(file.fd()) != 0 || !file.close() || renameat(fd_, temporary.c_str(), fd_, name.c_str()) != 0) {
    const std::error_code error = last_error();
    unlinkat(fd_, temporary.c_str(), 0);
    return error;
  }
  fsync(fd_);  // stores the name itself; some file systems cannot, and losing it costs a compile
  return {};
}

bool Directory::remove(const FileInfo& seen) const {
  struct stat status;
  if (fstatat(fd_, seen.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT;
  if (status.st_dev != seen.device || status.st_ino != seen.inode) return false;
  return unlinkat(fd_, seen.name.c_str(), 0) == 0 || errno == ENOENT;
}

std::vector<FileInfo> Directory::list(std::error_code& error) const {
  error.clear();
  std::vector<FileInfo> files;
  // This needs a separate descriptor: fdopendir takes ownership of it, and readdir moves its position.
  const int fd = openat(fd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* stream = fd < 0 ? nullptr : fdopendir(fd);
  if (stream == nullptr) {
    error = last_error();
    if (fd >= 0) ::close(fd);
    return files;
  }
  while (const dirent* item = readdir(stream)) {
    const std::string name = item->d_name;
    struct stat status;
    if (name == "." || name == ".." || fstatat(fd_, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    files.push_back(info_of(name, status));
  }
  closedir(stream);
  return files;
}

}  // namespace sinter::cache
