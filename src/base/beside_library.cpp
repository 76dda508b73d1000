#include "base/beside_library.hpp"

#include <dlfcn.h>

#include <filesystem>

namespace sinter {

std::string beside_library(const std::string& file) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&beside_library), &info) == 0 || info.dli_fname == nullptr) return file;
  const std::filesystem::path beside = std::filesystem::path(info.dli_fname).parent_path() / file;
  return std::filesystem::exists(beside) ? beside.string() : file;
}

}  // namespace sinter
