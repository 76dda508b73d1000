// .npz files: zip archives of .npy files, by minizip. https://numpy.org/doc/stable/reference/generated/numpy.savez.html
#include "sinter/npz.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#ifdef SINTER_NPZ
#include <unzip.h>
#include <zip.h>
#endif

#include "io/npy_stream.hpp"
#include "trace/build.hpp"

namespace sinter {
namespace {

using namespace io;

#ifdef SINTER_NPZ

std::string without_ending(std::string name) { return name.ends_with(".npy") ? name.substr(0, name.size() - 4) : name; }

/// The maximum number of bytes of one call: minizip counts them in 32 bits.
constexpr std::uint64_t kPiece = std::uint64_t{1} << 30;

class Archive {
 public:
  Archive(const Site& site, const std::string& path) : site_(site), path_(path) {
    const Reader whole(site, path);  // throws with the reason if the file cannot be read
    zip_ = unzOpen64(path.c_str());
    if (zip_ == nullptr) whole.refuse("not a zip archive, or a damaged one");
    int found = unzGoToFirstFile(zip_);
    for (; found == UNZ_OK; found = unzGoToNextFile(zip_)) names_.push_back(name());
    if (found != UNZ_END_OF_LIST_OF_FILE) whole.refuse("a damaged archive: its list of files is cut off");
  }
  ~Archive() {
    if (zip_ != nullptr) unzClose(zip_);
  }
  Archive(const Archive&) = delete;

  const std::vector<std::string>& names() const { return names_; }
  unzFile zip() const { return zip_; }
  Tensor read(const std::string& name) const;

 private:
  std::string name() const {
    unz_file_info64 info{};
    std::string text(1 << 16, '\0');
    if (unzGetCurrentFileInfo64(zip_, &info, text.data(), text.size(), nullptr, 0, nullptr, 0) != UNZ_OK)
      fail<IoError>(site_, fmt::format("{}: a damaged archive", path_));
    text.resize(std::min<std::size_t>(info.size_filename, text.size()));
    return text;
  }

  const Site& site_;
  const std::string& path_;
  unzFile zip_ = nullptr;
  std::vector<std::string> names_;
};

/// One file of an archive.
class Member final : public Input {
 public:
  Member(const Site& site, const std::string& path, const std::string& name, unzFile zip)
      : Input(site, fmt::format("{}:{}", path, printable(without_ending(name)))), zip_(zip) {
    unz_file_info64 info{};
    if (unzLocateFile(zip, name.c_str(), 1) != UNZ_OK || unzGetCurrentFileInfo64(zip, &info, nullptr, 0, nullptr, 0, nullptr, 0) != UNZ_OK)
      refuse("a damaged archive");
    if ((info.flag & 1) != 0) refuse("it is encrypted");
    if (unzOpenCurrentFile(zip) != UNZ_OK) refuse("a damaged archive, or a compression other than deflate");
    left_ = info.uncompressed_size;
  }
  ~Member() override { unzCloseCurrentFile(zip_); }
  /// Checks that the bytes read are those written.
  void verify() {
    std::vector<char> rest(1 << 16);
    while (left_ > 0) read(rest.data(), std::min<std::uint64_t>(left_, rest.size()), "the bytes after the elements");
    if (unzCloseCurrentFile(zip_) == UNZ_CRCERROR) refuse("damaged: its checksum is wrong");
  }

 private:
  bool fetch(void* to, std::uint64_t bytes) override {
    for (auto* at = static_cast<unsigned char*>(to); bytes > 0;) {
      const int got = unzReadCurrentFile(zip_, at, static_cast<unsigned>(std::min(bytes, kPiece)));
      if (got <= 0) return false;
      at += got;
      bytes -= static_cast<std::uint64_t>(got);
    }
    return true;
  }

  unzFile zip_;
};

Tensor Archive::read(const std::string& name) const {
  Member member(site_, path_, name, zip_);
  const Tensor tensor = read_npy(site_, member);
  member.verify();
  return tensor;
}

#else

[[noreturn]] void no_archives(const Site& site) {
  fail<ValueError>(site,
                   "sinter was built without minizip (Debian's libminizip-dev), which reads and writes .npz archives; .npy files and "
                   "safetensors work without it");
}

#endif

}  // namespace

#ifdef SINTER_NPZ

NamedTensors load_npz(const std::string& path, Location where) {
  const Site site = site_of("load_npz", where);
  const Archive archive(site, path);
  NamedTensors tensors;
  for (const std::string& name : archive.names()) tensors.emplace_back(without_ending(name), archive.read(name));
  return tensors;
}

Tensor load_npz(const std::string& path, const std::string& name, Location where) {
  const Site site = site_of("load_npz", where);
  const Archive archive(site, path);
  std::vector<std::string> known;
  for (const std::string& file : archive.names()) {
    if (file == name || without_ending(file) == name) return archive.read(file);
    known.push_back(printable(without_ending(file)));
  }
  fail<IoError>(site, fmt::format("{}: the archive has no '{}'{}", path, printable(name),
                                  known.empty() ? ", it is empty" : fmt::format("; it has {}", fmt::join(known, ", "))));
}

void save_npz(const std::string& path, const NamedTensors& tensors, bool compressed, Location where) {
  const Site site{"save_npz", where};
  std::set<std::string> names;
  std::vector<NpyBytes> bytes;  // all tensors are evaluated before the file is opened
  for (const auto& [name, tensor] : tensors) {
    if (name.empty() || name.size() > 60000 || !names.insert(name).second)
      fail<ValueError>(
          site, name.empty() ? "a name is empty" : fmt::format("the name '{}' is {}", printable(name), name.size() > 60000 ? "too long" : "given twice"));
    bytes.push_back(npy_bytes(site, node_of(site, tensor)));
  }
  Writer writer(site, path);
  // minizip writes a file by name, so it gets the name of the temporary file.
  zipFile zip = zipOpen64(writer.path().c_str(), APPEND_STATUS_CREATE);
  bool good = zip != nullptr;
  const auto put = [&](const void* from, std::size_t size) {
    for (auto* at = static_cast<const unsigned char*>(from); good && size > 0;) {
      const auto piece = static_cast<unsigned>(std::min<std::uint64_t>(size, kPiece));
      good = zipWriteInFileInZip(zip, at, piece) == ZIP_OK;
      at += piece;
      size -= piece;
    }
  };
  for (std::size_t k = 0; good && k < tensors.size(); ++k) {
    zip_fileinfo info{};
    info.tmz_date = {0, 0, 0, 1, 0, 1980};  // a fixed date gives the same bytes from run to run
    good = zipOpenNewFileInZip64(zip, (tensors[k].first + ".npy").c_str(), &info, nullptr, 0, nullptr, 0, nullptr, compressed ? Z_DEFLATED : 0,
                                 Z_DEFAULT_COMPRESSION, 1) == ZIP_OK;
    put(bytes[k].header.data(), bytes[k].header.size());
    put(bytes[k].elements, bytes[k].size);
    good = good && zipCloseFileInZip(zip) == ZIP_OK;
  }
  if (zip != nullptr) good = (zipClose(zip, nullptr) == ZIP_OK) && good;
  if (!good) fail<IoError>(site, fmt::format("{}: writing the archive failed", path));
  writer.finish();
}

#else

NamedTensors load_npz(const std::string&, Location where) { no_archives(site_of("load_npz", where)); }
Tensor load_npz(const std::string&, const std::string&, Location where) { no_archives(site_of("load_npz", where)); }
void save_npz(const std::string&, const NamedTensors&, bool, Location where) { no_archives(site_of("save_npz", where)); }

#endif

}  // namespace sinter
