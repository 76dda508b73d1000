// SINTER_POISON=on fills every new buffer with bytes 0xff (a NaN as a float, -1 as an integer). Tests use it: an element that no kernel writes, or that a
// kernel reads before it is written, then shows in the result.
#pragma once
#include <cstddef>

namespace sinter::runtime {

inline constexpr int kPoison = 0xff;
/// Returns whether SINTER_POISON is on. The variable is read once.
bool poisoning();
/// Fills the memory if poisoning() is true.
void poison(void* memory, std::size_t bytes);

}  // namespace sinter::runtime
