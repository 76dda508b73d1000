// .npy files, NumPy's format: magic, version, the header (a Python dict literal), the elements.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include "sinter/npy.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <unistd.h>

#include <fmt/format.h>

#include "sinter/ops.hpp"
#include "trace/build.hpp"
#include "trace/host_access.hpp"
#include "trace/npy_header.hpp"

namespace sinter {
namespace {

using namespace trace;
namespace fs = std::filesystem;

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

std::string system_message(int code) { return std::generic_category().message(code); }

class Reader {
 public:
  Reader(const Site& site, const std::string& path) : site_(site), path_(path), file_(std::fopen(path.c_str(), "rb")) {
    if (file_ == nullptr) refuse(system_message(errno));
    std::error_code error;
    if (!fs::is_regular_file(path, error)) refuse("not a regular file");
    left_ = fs::file_size(path, error);
    if (error) refuse(error.message());
  }

  [[noreturn]] void refuse(const std::string& why) const { fail<IoError>(site_, fmt::format("{}: {}", path_, why)); }

  void read(void* to, std::uint64_t bytes, const char* what) {
    if (bytes > left_) refuse(fmt::format("truncated: {} takes {} bytes, {} are left", what, bytes, left_));
    if (std::fread(to, 1, bytes, file_.get()) != bytes) refuse(fmt::format("reading {} failed", what));
    left_ -= bytes;
  }
  std::uint64_t left() const { return left_; }

 private:
  const Site& site_;
  const std::string& path_;
  File file_;
  std::uint64_t left_ = 0;
};

NpyHeader read_header(Reader& reader) {
  unsigned char start[8];
  if (reader.left() < sizeof start) reader.refuse("not an .npy file: shorter than its magic");
  reader.read(start, sizeof start, "the magic");
  if (std::memcmp(start, "PK\3\4", 4) == 0) reader.refuse("an archive (.npz), not an .npy file: unzip it and give one of the files inside");
  if (std::memcmp(start, "\x93NUMPY", 6) != 0) reader.refuse("not an .npy file: the magic is missing");
  const int version = start[6];
  if (version < 1 || version > 3 || start[7] != 0) {
    reader.refuse(fmt::format("format version {}.{} is unknown (1.0, 2.0 and 3.0 are read)", version, start[7]));
  }
  unsigned char length[4] = {0, 0, 0, 0};
  reader.read(length, version == 1 ? 2 : 4, "the header's length");
  const std::uint64_t bytes = length[0] | length[1] << 8 | length[2] << 16 | static_cast<std::uint64_t>(length[3]) << 24;
  constexpr std::uint64_t kMaxHeader = 1 << 20;
  if (bytes > kMaxHeader) reader.refuse(fmt::format("a header of {} bytes is not believable", bytes));
  std::string text(bytes, '\0');
  reader.read(text.data(), bytes, "the header");
  try {
    return parse_npy_header(text);
  } catch (const IoError& e) {
    reader.refuse(e.what());
  }
}

void swap_bytes(unsigned char* data, std::uint64_t count, std::size_t item) {
  for (std::uint64_t i = 0; i < count; ++i, data += item) std::reverse(data, data + item);
}

/// A file that appears under its name when it is complete.
class Writer {
 public:
  Writer(const Site& site, const std::string& path) : site_(site), path_(path) {
    static std::atomic<unsigned> counter{0};
    std::error_code error;
    const fs::path target = fs::weakly_canonical(path, error);  // a link is written through
    target_ = error ? path : target.string();
    // A device or a pipe is written to, never replaced.
    direct_ = fs::exists(target_, error) && !fs::is_regular_file(target_, error);
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

}  // namespace

Tensor load_npy(const std::string& path, Location where) {
  const Site site = site_of("load_npy", where);
  Reader reader(site, path);
  const NpyHeader header = read_header(reader);
  const std::size_t item = itemsize(header.dtype);
  std::uint64_t count = 1;
  for (const std::int64_t size : header.shape) {
    if (size != 0 && count > (std::uint64_t{1} << 60) / static_cast<std::uint64_t>(size)) {
      reader.refuse(fmt::format("shape {} is too large", to_string(header.shape)));
    }
    count *= static_cast<std::uint64_t>(size);
  }
  if (count * item > reader.left()) {
    reader.refuse(fmt::format("truncated: shape {} of {} takes {} bytes, {} are left", to_string(header.shape),
                              name(header.dtype), count * item, reader.left()));
  }
  auto storage = std::make_shared<Storage>();
  storage->bytes = count * item;
  storage->host = allocate_host(storage->bytes);
  auto* elements = static_cast<unsigned char*>(storage->host.get());
  reader.read(elements, storage->bytes, "the elements");
  if (header.swap) swap_bytes(elements, count, item);
  if (is_bool(header.dtype)) {
    for (std::uint64_t i = 0; i < count; ++i) elements[i] = elements[i] != 0;
  }
  if (!header.fortran_order || header.shape.size() < 2) {
    return Tensor(make_data(site, header.dtype, header.shape, std::move(storage)));
  }
  std::vector<std::int64_t> strides(header.shape.size(), 1);
  for (std::size_t k = 1; k < strides.size(); ++k) strides[k] = strides[k - 1] * header.shape[k - 1];
  return from_pointer(elements, header.dtype, header.shape, strides, where);
}

void save_npy(const std::string& path, const Tensor& tensor, Location where) {
  const Site site{"save_npy", where};
  const RecordedPtr& node = node_of(site, tensor);
  if (traits(node->dtype).npy.empty()) {
    fail<DTypeError>(site, fmt::format("the .npy format has no {}; convert with astype(DType::float32) first", name(node->dtype)));
  }
  const auto count = static_cast<std::size_t>(element_count(node->shape));
  const void* elements = count != 0 ? host_data(node, site) : nullptr;
  const std::string header = npy_header_bytes({node->dtype, node->shape});
  Writer writer(site, path);
  writer.write(header.data(), header.size());
  writer.write(elements, count * itemsize(node->dtype));
  writer.finish();
}

}  // namespace sinter
