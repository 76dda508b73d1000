// The limit on the memory of all tensors, on the host and on devices together: Options::memory.
#pragma once
#include <cstddef>

namespace sinter {

/// Sets the limit from now on; 0 means no limit. Memory that is already allocated stays.
void set_memory_limit(std::size_t bytes);

/// Counts memory that is about to be allocated on `device` ("cpu"). Throws MemoryError if the limit would be exceeded.
void claim_memory(std::size_t bytes, const char* device);
/// Subtracts memory that was freed, or that was claimed but could not be allocated.
void release_memory(std::size_t bytes) noexcept;

}  // namespace sinter
