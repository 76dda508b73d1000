// The bound on the memory of all tensors, on the host and on devices together: Options::memory.
#pragma once
#include <cstddef>

namespace sinter {

/// From now on; 0 is no bound. Memory that is held already stays.
void set_memory_limit(std::size_t bytes);

/// Counts memory that is about to be allocated on `device` ("cpu"). Throws MemoryError where the bound would be exceeded.
void claim_memory(std::size_t bytes, const char* device);
/// Counts memory that was freed, or that was claimed and could not be had.
void release_memory(std::size_t bytes) noexcept;

}  // namespace sinter
