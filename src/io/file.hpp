// Reading files with checks, and writing them as a whole.
#pragma once
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/storage.hpp"
#include "sinter/adopt.hpp"
#include "sinter/counted.hpp"
#include "sinter/errors.hpp"
#include "trace/site.hpp"

namespace sinter::io {

using namespace trace;

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

inline std::string system_message(int code) { return std::generic_category().message(code); }

/// Makes a file's text safe for messages: returns its first bytes, with control bytes as escapes such as \x1b. A terminal would obey raw control bytes.
inline std::string printable(std::string_view text) {
  constexpr std::size_t kMaxShown = 40;
  std::string out;
  for (const char c : text.substr(0, kMaxShown)) {
    const bool plain = c >= ' ' && c <= '~' && c != '\\';
    out += plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return text.size() > kMaxShown ? out + "..." : out;
}

/// The bytes of a file, or of a file inside an archive. Their number is known, and they are read in order.
class Input {
 public:
  Input(const Site& site, std::string name) : site_(site), name_(std::move(name)) {}
  virtual ~Input() = default;
  Input(const Input&) = delete;

  [[noreturn]] void refuse(const std::string& why) const { fail<IoError>(site_, fmt::format("{}: {}", name_, why)); }

  void read(void* to, std::uint64_t bytes, const char* what) {
    if (bytes > left_) refuse(fmt::format("truncated: {} takes {}, but the file has only {} left", what, counted(bytes, "byte"), counted(left_, "byte")));
    if (!fetch(to, bytes)) refuse(fmt::format("reading {} failed", what));
    left_ -= bytes;
  }
  std::uint64_t left() const { return left_; }
  /// Allocates host memory for the bytes.
  std::shared_ptr<void> allocate(std::size_t bytes) const {
    try {
      return allocate_host(bytes);
    } catch (const DeviceError& error) {
      fail_on_device(site_, error, fmt::format("{}: {}", name_, error.what()));
    }
  }

 protected:
  /// Reads exactly this number of bytes, or returns false.
  virtual bool fetch(void* to, std::uint64_t bytes) = 0;

  const Site& site_;
  const std::string name_;
  std::uint64_t left_ = 0;
};

class Reader final : public Input {
 public:
  Reader(const Site& site, const std::string& path) : Input(site, path), file_(std::fopen(path.c_str(), "rb")) {
    if (file_ == nullptr) refuse(system_message(errno));
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) refuse("not a regular file");
    left_ = std::filesystem::file_size(path, error);
    if (error) refuse(error.message());
  }

  void skip(std::uint64_t bytes) {
    if (bytes > left_ || fseeko(file_.get(), static_cast<off_t>(bytes), SEEK_CUR) != 0) refuse(fmt::format("{} cannot be skipped", counted(bytes, "byte")));
    left_ -= bytes;
  }
  /// Reads all bytes that are left.
  std::string rest() {
    std::string bytes;
    try {
      bytes.resize(left_);
    } catch (const std::exception&) {
      refuse(fmt::format("no memory for its {}", counted(left_, "byte")));
    }
    read(bytes.data(), bytes.size(), "the file");
    return bytes;
  }
  /// Maps the next bytes as memory that the system reads on access. Returns null if they are not aligned.
  std::shared_ptr<void> map(std::uint64_t bytes) const {
    const auto at = static_cast<std::uint64_t>(ftello(file_.get()));
    if (bytes > left_ || at % 64 != 0) return nullptr;
    const std::size_t all = at + bytes;
    void* start = ::mmap(nullptr, all, PROT_READ, MAP_PRIVATE, ::fileno(file_.get()), 0);
    if (start == MAP_FAILED) refuse(system_message(errno));
    return {static_cast<unsigned char*>(start) + at, [start, all](void*) { ::munmap(start, all); }};
  }

 private:
  bool fetch(void* to, std::uint64_t bytes) override { return std::fread(to, 1, bytes, file_.get()) == bytes; }

  File file_;
};

/// Writes a file that appears under its name when it is complete.
class Writer {
 public:
  Writer(const Site& site, const std::string& path) : site_(site), path_(path) {
    static std::atomic<unsigned> counter{0};
    std::error_code error;
    const std::filesystem::path target = std::filesystem::weakly_canonical(path, error);  // the target of a link is written
    target_ = error ? path : target.string();
    // A device or a pipe is written directly, never replaced.
    direct_ = std::filesystem::exists(target_, error) && !std::filesystem::is_regular_file(target_, error);
    temporary_ = direct_ ? target_ : fmt::format("{}.{}.{}.tmp", target_, ::getpid(), counter++);
    file_.reset(std::fopen(temporary_.c_str(), "wb"));
    if (file_ == nullptr) refuse(system_message(errno));
  }
  ~Writer() {
    if (!done_ && !direct_) std::remove(temporary_.c_str());
  }
  Writer(const Writer&) = delete;

  void write(const void* from, std::size_t bytes) {
    if (bytes != 0 && std::fwrite(from, 1, bytes, file_.get()) != bytes) refuse(system_message(errno));
  }
  /// Returns the name of the temporary file, for a library that writes a file by name.
  const std::string& path() const { return temporary_; }
  void finish() {
    if (std::fclose(file_.release()) != 0) refuse(system_message(errno));
    if (!direct_ && std::rename(temporary_.c_str(), target_.c_str()) != 0) refuse(system_message(errno));
    done_ = true;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) {
    const std::string text = message(site_, fmt::format("{}: {}", path_, why));
    if (!direct_) std::remove(temporary_.c_str());
    throw IoError(text);
  }

  const Site& site_;
  const std::string& path_;
  std::string target_, temporary_;
  bool direct_ = false, done_ = false;
  File file_;
};

}  // namespace sinter::io
