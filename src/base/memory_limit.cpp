#include "base/memory_limit.hpp"

#include <fmt/format.h>

#include <atomic>

#include "sinter/counted.hpp"
#include "sinter/errors.hpp"

namespace sinter {
namespace {

std::atomic<std::size_t> limit{0}, held{0};

}  // namespace

void set_memory_limit(std::size_t bytes) { limit = bytes; }

void claim_memory(std::size_t bytes, const char* device) {
  const std::size_t allowed = limit, before = held.fetch_add(bytes);
  if (allowed == 0 || (before <= allowed && bytes <= allowed - before)) return;
  held -= bytes;
  throw MemoryError(fmt::format("{}: no memory for {} (tensors hold {}, and SINTER_MEMORY allows {})", device, counted(bytes, "byte"), before, allowed));
}

void release_memory(std::size_t bytes) noexcept { held -= bytes; }

}  // namespace sinter
