// Reads the cache's directory and size limit from the environment.
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <vector>

#include "cache/disk_cache.hpp"
#include "sinter/errors.hpp"

namespace sinter::cache {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// Returns the user's home directory; empty if there is none.
fs::path home() {
  if (const std::string home = environment("HOME"); !home.empty()) return home;
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(4096);
  while (getpwuid_r(getuid(), &entry, buffer.data(), buffer.size(), &found) == ERANGE && buffer.size() < (1 << 20)) buffer.resize(buffer.size() * 2);
  return found && found->pw_dir ? fs::path(found->pw_dir) : fs::path();
}

}  // namespace

std::uint64_t parse_size(std::string_view text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (unit.ends_with('B') || unit.ends_with('b')) unit.remove_suffix(1);
  if (unit.ends_with('i')) unit.remove_suffix(1);
  constexpr std::string_view units = "KMGT";
  int shift = 0;
  bool good = error == std::errc() && unit.size() <= 1;
  if (good && unit.size() == 1) {
    const std::size_t which = units.find(static_cast<char>(unit[0] & ~0x20));
    good = which != std::string_view::npos;
    shift = static_cast<int>(which + 1) * 10;
  }
  if (!good || (number << shift) >> shift != number)
    throw ValueError(fmt::format("'{}' is not a size: give a number of bytes, or one with K, M, G or T such as 512M", text));
  return number << shift;
}

Settings default_settings() {
  Settings settings;
  try {
    if (const std::string size = environment("SINTER_CACHE_SIZE"); !size.empty()) settings.max_bytes = parse_size(size);
  } catch (const ValueError&) {
  }
  if (const std::string own = environment("SINTER_CACHE_DIR"); !own.empty()) {
    std::error_code ignored;
    settings.directory = fs::absolute(own, ignored);
    return settings;
  }
  // The XDG specification requires that relative paths are ignored.
  if (const fs::path xdg = environment("XDG_CACHE_HOME"); xdg.is_absolute()) settings.directory = xdg / "sinter";
  else if (const fs::path user = home(); user.is_absolute()) settings.directory = user / ".cache" / "sinter";
  return settings;
}

}  // namespace sinter::cache
