#include "jit/library.hpp"

#include <dirent.h>
#include <elf.h>
#include <fmt/format.h>
#include <fnmatch.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "base/log.hpp"

extern "C" __attribute__((visibility("hidden"))) const Elf64_Ehdr __ehdr_start;  // the ELF header of this library, defined by the linker

namespace sinter::jit {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> expand(const std::string& pattern) {
  std::vector<std::string> found;
  glob_t result{};
  if (glob(pattern.c_str(), 0, nullptr, &result) == 0)
    for (std::size_t i = 0; i < result.gl_pathc; ++i) found.emplace_back(result.gl_pathv[i]);
  globfree(&result);
  std::reverse(found.begin(), found.end());  // puts cuda-13.0 before cuda-12.4
  return found;
}

/// Returns the directories in the dynamic linker's configuration, in its order.
std::vector<std::string> linker_directories() {
  std::vector<std::string> dirs;
  for (const std::string& file : expand("/etc/ld.so.conf.d/*.conf")) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
      line.erase(0, line.find_first_not_of(" \t"));
      line.erase(line.find_last_not_of(" \t\r") + 1);
      if (!line.empty() && line[0] == '/') dirs.push_back(line);
    }
  }
  return dirs;
}

std::vector<std::string> search_path(const std::vector<std::string>& extra_dirs) {
  std::vector<std::string> dirs;
  if (const char* path = std::getenv("LD_LIBRARY_PATH")) {
    std::stringstream parts(path);
    for (std::string dir; std::getline(parts, dir, ':');)
      if (!dir.empty()) dirs.push_back(dir);
  }
  for (const std::string& dir : extra_dirs)
    for (std::string& match : expand(dir)) dirs.push_back(std::move(match));
  for (std::string& dir : linker_directories()) dirs.push_back(std::move(dir));
  for (const char* dir : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/lib/llvm-*/lib"})
    for (std::string& match : expand(dir)) dirs.push_back(std::move(match));
  return dirs;
}

/// Returns every number in a file name, in order. Compared as lists, they order "libX.so.9" before "libX.so.12".
std::vector<int> version_of(const std::string& file) {
  std::vector<int> numbers;
  for (std::size_t i = 0; i < file.size();) {
    if (!std::isdigit(static_cast<unsigned char>(file[i]))) {
      ++i;
      continue;
    }
    int number = 0;
    for (; i < file.size() && std::isdigit(static_cast<unsigned char>(file[i])); ++i) number = std::min(number, 100000000) * 10 + (file[i] - '0');
    numbers.push_back(number);
  }
  return numbers;
}

bool read_header(std::istream& in, Elf64_Ehdr& header) {
  in.read(reinterpret_cast<char*>(&header), sizeof header);
  return in && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64;
}

/// Returns whether a file is 64-bit ELF for this process's architecture. Linker scripts and libraries of another ABI are no such files.
bool is_library(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  Elf64_Ehdr header{};
  return read_header(in, header) && header.e_machine == __ehdr_start.e_machine;
}

/// Returns the GNU build id in a block of ELF notes as hex, or "" when there is none.
std::string build_id_in(const std::string& notes) {
  for (std::size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data() + at, sizeof note);
    at += sizeof note;
    const std::size_t name_bytes = (std::size_t{note.n_namesz} + 3) & ~std::size_t{3};
    const std::size_t data_bytes = (std::size_t{note.n_descsz} + 3) & ~std::size_t{3};
    if (name_bytes > notes.size() - at || data_bytes > notes.size() - at - name_bytes) return {};
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(notes.data() + at, "GNU", 4) == 0) {
      std::string hex;
      for (std::size_t i = 0; i < note.n_descsz; ++i) hex += fmt::format("{:02x}", static_cast<unsigned char>(notes[at + name_bytes + i]));
      return hex;
    }
    at += name_bytes + data_bytes;
  }
  return {};
}

std::string build_id(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  Elf64_Ehdr header;
  if (!read_header(in, header) || header.e_phentsize != sizeof(Elf64_Phdr)) return {};
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    in.seekg(static_cast<std::streamoff>(header.e_phoff + sizeof segment * i));
    if (!in.read(reinterpret_cast<char*>(&segment), sizeof segment)) return {};
    constexpr std::uint64_t kSaneNotes = 1 << 20;
    if (segment.p_type != PT_NOTE || segment.p_filesz > kSaneNotes) continue;
    std::string notes(segment.p_filesz, '\0');
    in.seekg(static_cast<std::streamoff>(segment.p_offset));
    if (!in.read(notes.data(), static_cast<std::streamsize>(notes.size()))) return {};
    if (std::string id = build_id_in(notes); !id.empty()) return id;
  }
  return {};
}

/// Returns the files of a directory that match one of the patterns. A warm start reads directories of thousands of files here. The letters before a pattern's
/// first wildcard therefore reject most files, and nothing is allocated for these.
std::vector<std::string> matches_in(const std::string& dir, const std::vector<std::string>& patterns) {
  std::vector<std::string> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(dir.c_str()), &::closedir);
  if (!stream) return found;
  while (const dirent* entry = ::readdir(stream.get())) {
    const bool named = std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
      return std::strncmp(pattern.c_str(), entry->d_name, std::strcspn(pattern.c_str(), "*?[")) == 0 && fnmatch(pattern.c_str(), entry->d_name, 0) == 0;
    });
    if (named) found.emplace_back(entry->d_name);
  }
  return found;
}

}  // namespace

std::string find_library(const char* env_var, const std::vector<std::string>& patterns, const std::vector<std::string>& extra_dirs, int minimum, int maximum) {
  if (const char* file = env_var ? std::getenv(env_var) : nullptr; file && *file) {
    if (std::strcmp(file, "off") == 0) return {};
    if (is_library(file)) return file;
    log().warn("{}={} is not a shared library that can be read; going on without it", env_var, file);
    return {};
  }
  for (const std::string& dir : search_path(extra_dirs)) {
    std::string best;
    for (const std::string& file : matches_in(dir, patterns)) {
      const std::vector<int> version = version_of(file);
      const int major = version.empty() ? 0 : version[0];
      if (major < minimum || (maximum > 0 && major > maximum)) continue;
      const std::vector<int> best_version = version_of(best);
      const bool better = best.empty() || best_version < version || (best_version == version && file < best);
      if (better && is_library((fs::path(dir) / file).string())) best = file;
    }
    if (!best.empty()) return (fs::path(dir) / best).string();
  }
  return {};
}

std::string library_identity(const std::string& path) {
  std::error_code failed;
  fs::path real = fs::canonical(path, failed);
  if (failed) real = path;
  const std::string file = real.filename().string();
  if (const std::string id = build_id(real.string()); !id.empty()) return fmt::format("{} build {}", file, id);
  struct stat info {};
  if (::stat(real.c_str(), &info) != 0) return file;
  return fmt::format("{} size {} mtime {}.{:09}", file, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

}  // namespace sinter::jit
