// SINTER_POISON=on fills every new buffer with bytes 0xff (a NaN as a float, -1 as an integer), so that an element that no kernel
// writes, or that a kernel reads before it is written, shows in the result. For tests.
#pragma once
#include <cstddef>

namespace sinter::runtime {

inline constexpr int kPoison = 0xff;
/// Whether SINTER_POISON is on; read once.
bool poisoning();
/// Fills the memory if poisoning() says so.
void poison(void* memory, std::size_t bytes);

}  // namespace sinter::runtime
