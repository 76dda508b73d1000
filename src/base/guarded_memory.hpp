// Memory between unmapped pages, for tests. With SINTER_GUARD=end every buffer ends at an unmapped page, with SINTER_GUARD=start it begins after one. An access
// outside the buffer then ends the process. Alignment leaves a few bytes between a buffer and its page. These bytes have a known pattern, which is compared
// when the buffer is freed.
#pragma once
#include <cstddef>
#include <memory>

namespace sinter {

enum class Guard : unsigned char { none, start, end };
/// Returns SINTER_GUARD, which is read once.
Guard guarding();

/// Allocates `bytes` of memory, aligned to 64 bytes and guarded at that side. Returns null if the system has no more memory.
void* allocate_guarded(std::size_t bytes, Guard guard);
/// Returns the memory to the system. Aborts with a message on stderr if bytes around it have changed. `bytes` and `guard` are those of the allocation.
void free_guarded(void* memory, std::size_t bytes, Guard guard) noexcept;

struct FreeAligned {
  std::size_t bytes = 0;
  void operator()(void* memory) const noexcept;
};
using AlignedMemory = std::unique_ptr<void, FreeAligned>;
/// Allocates memory of the system, aligned to 64 bytes and guarded if SINTER_GUARD is set. Returns null if there is no more memory.
AlignedMemory aligned_memory(std::size_t bytes);

}  // namespace sinter
