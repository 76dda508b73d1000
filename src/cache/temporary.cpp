#include "cache/temporary.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>

namespace sinter::cache {
namespace {

constexpr std::string_view kPrefix = ".tmp-";
constexpr double kAbandonedSeconds = 600;

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns a hash of the machine, boot and process namespace: process numbers are meaningful only within these.
std::uint32_t machine() {
  static const std::uint32_t id = [] {
    std::string text = read_text("/proc/sys/kernel/random/boot_id");
    char link[64];
    const ssize_t n = readlink("/proc/self/ns/pid", link, sizeof link);
    if (n > 0) text.append(link, static_cast<std::size_t>(n));
    return static_cast<std::uint32_t>(XXH3_64bits(text.data(), text.size()));
  }();
  return id;
}

/// Returns the start of a process in clock ticks since boot (field 22 of /proc/PID/stat); 0 if it is not known.
std::uint64_t start_time(long pid) {
  const std::string stat = read_text(fmt::format("/proc/{}/stat", pid));
  std::size_t at = stat.rfind(')');  // the command name before it may contain any character
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = stat.find(' ', at + 1);
  unsigned long long ticks = 0;
  if (at != std::string::npos) std::sscanf(stat.c_str() + at, "%llu", &ticks);
  return ticks;
}

}  // namespace

std::string temporary_name() {
  static std::atomic<std::uint64_t> next{0};
  const long pid = getpid();
  return fmt::format("{}{:08x}-{}-{}-{}", kPrefix, machine(), pid, start_time(pid), next++);
}

bool is_temporary_name(std::string_view name) { return name.starts_with(kPrefix); }

bool is_abandoned(std::string_view name, double age_seconds) {
  if (age_seconds > kAbandonedSeconds) return true;
  unsigned writer_machine = 0;
  long pid = 0;
  unsigned long long start = 0;
  const std::string rest(name.substr(kPrefix.size()));
  if (std::sscanf(rest.c_str(), "%8x-%ld-%llu-", &writer_machine, &pid, &start) != 3) return false;
  if (writer_machine != machine() || pid <= 0) return false;
  if (kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) return true;
  const std::uint64_t now_running = start_time(pid);
  return start != 0 && now_running != 0 && now_running != start;
}

}  // namespace sinter::cache
