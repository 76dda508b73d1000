// sinter info: the devices, compilers and settings that are found. Reads the versions of compilers from their files and loads none.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "commands.hpp"
#include "runtime/kind.hpp"
#include "sinter/counted.hpp"
#include "sinter/sinter.hpp"

namespace sinter::tools {
namespace {

void print_compiler(const runtime::Kind& kind) {
  std::string name(kind.compiler_name);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (const jit::Compiler* compiler = kind.compiler()) fmt::print("  {:<7} {}\n          {}\n", name, compiler->path(), compiler->identity());
  else fmt::print("  {:<7} none found. {}\n", name, kind.compiler_advice);
}

}  // namespace

int run_info(const std::string& target) {
  if (!target.empty()) {
    fmt::print("{}", to_string(fuse::limits_of(target)));
    return 0;
  }
  const Options settings = options();
  fmt::print("sinter {}\n", version());
  fmt::print("devices\n");
  for (const runtime::Kind* kind : runtime::kinds())
    for (const std::string& line : kind->describe()) fmt::print("  {}\n", line);
  fmt::print("compilers (found, not loaded)\n");
  for (const runtime::Kind* kind : runtime::kinds()) print_compiler(*kind);

  const cache::DiskCache cache(cache_settings());
  fmt::print("cache\n  folder  {}\n", cache.settings().directory.string());
  if (const std::string reason = cache.disabled_reason(); !reason.empty()) {
    fmt::print("  off     {}\n", reason);
  } else {
    const cache::Stats stats = cache.stats();
    fmt::print("  holds   {}, {} of {}\n", counted(stats.entries, "entry", "entries"), readable_bytes(stats.bytes), readable_bytes(cache.settings().max_bytes));
  }
  fmt::print("settings\n  device {}, backend {}, fuse {}, fast math {}\n", settings.device, settings.backend, settings.fuse ? "on" : "off",
             settings.fast_math ? "on" : "off");
  return 0;
}

}  // namespace sinter::tools
