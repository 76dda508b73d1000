#include "base/guarded_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace sinter {
namespace {

constexpr std::size_t kAlign = 64;
constexpr unsigned char kPattern = 0xc5;
/// From this size on, memory should consist of huge pages: otherwise a kernel that reads it waits for addresses as long as for the data.
constexpr std::size_t kLarge = std::size_t{4} << 20;

std::size_t rounded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

/// The placement of a buffer: an unmapped page, `pages` that contain the buffer, and another unmapped page.
struct Placement {
  std::size_t pages;   // bytes
  std::size_t before;  // bytes of the pattern before the buffer
  std::size_t after;   // bytes of the pattern after it
};
Placement placement(std::size_t bytes, Guard guard) {
  const std::size_t pages = rounded(bytes + (bytes == 0), page_bytes());
  const std::size_t before = guard == Guard::end ? pages - rounded(bytes, kAlign) : 0;
  return {pages, before, pages - before - bytes};
}

/// Returns the position of the first byte that differs from the pattern, or `count`.
std::size_t first_changed(const unsigned char* bytes, std::size_t count) {
  std::size_t at = 0;
  while (at < count && bytes[at] == kPattern) ++at;
  return at;
}

[[noreturn]] void report(std::size_t bytes, const char* where, std::size_t distance) {
  std::fprintf(stderr, "sinter: memory guard: a buffer of %zu byte%s was written %zu byte%s %s\n", bytes, bytes == 1 ? "" : "s", distance,
               distance == 1 ? "" : "s", where);
  std::abort();
}

}  // namespace

// This object is not static within the function. Otherwise a child of fork could wait forever for a thread of its parent that was constructing it.
Guard guarding() {
  static constinit std::atomic<int> known{-1};
  if (const int guard = known.load(std::memory_order_relaxed); guard >= 0) return static_cast<Guard>(guard);
  const char* text = std::getenv("SINTER_GUARD");
  const std::string_view asked = text ? text : "";
  const Guard guard = asked == "end" ? Guard::end : asked == "start" ? Guard::start : Guard::none;
  known.store(static_cast<int>(guard), std::memory_order_relaxed);
  return guard;
}

void* allocate_guarded(std::size_t bytes, Guard guard) {
  if (bytes > SIZE_MAX / 2) return nullptr;
  const Placement at = placement(bytes, guard);
  void* const raw = mmap(nullptr, at.pages + 2 * page_bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  auto* const first = static_cast<unsigned char*>(raw) + page_bytes();
  if (mprotect(first, at.pages, PROT_READ | PROT_WRITE) != 0) {
    munmap(raw, at.pages + 2 * page_bytes());
    return nullptr;
  }
  std::memset(first, kPattern, at.before);
  std::memset(first + at.before + bytes, kPattern, at.after);
  return first + at.before;
}

void free_guarded(void* memory, std::size_t bytes, Guard guard) noexcept {
  const Placement at = placement(bytes, guard);
  auto* const buffer = static_cast<unsigned char*>(memory);
  unsigned char* const first = buffer - at.before;
  if (const std::size_t k = first_changed(first, at.before); k < at.before) report(bytes, "before its start", at.before - k);
  if (const std::size_t k = first_changed(buffer + bytes, at.after); k < at.after) report(bytes, "behind its end", k + 1);
  munmap(first - page_bytes(), at.pages + 2 * page_bytes());
}

void FreeAligned::operator()(void* memory) const noexcept {
  if (guarding() == Guard::none) std::free(memory);
  else free_guarded(memory, bytes, guarding());
}

AlignedMemory aligned_memory(std::size_t bytes) {
  if (bytes > SIZE_MAX / 2) return {};
  const Guard guard = guarding();
  if (guard != Guard::none) return {allocate_guarded(bytes, guard), FreeAligned{bytes}};
  void* const memory = std::aligned_alloc(kAlign, rounded(bytes + (bytes == 0), kAlign));
  if (memory && bytes >= kLarge) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory), page = rounded(address, page_bytes());
    madvise(reinterpret_cast<void*>(page), address + bytes - page, MADV_HUGEPAGE);  // only a hint
  }
  return {memory, FreeAligned{bytes}};
}

}  // namespace sinter
