// interrupt() (sinter/engine.hpp): the evaluations that are running stop at their next step, and if none is running, the next one does.
#pragma once
#include <cstdint>

namespace sinter::trace {

/// Safe in a signal handler.
void request_interrupt() noexcept;

/// The calling thread begins an evaluation: what was requested and already answered by an earlier one does not count.
void begin_interruptible() noexcept;
/// Which requests the calling thread's evaluation has seen, for those who work for it on other threads.
std::uint64_t interrupts_seen() noexcept;
/// Throws Interrupted if there was a request since.
void stop_if_interrupted(std::uint64_t seen);
inline void stop_if_interrupted() { stop_if_interrupted(interrupts_seen()); }

}  // namespace sinter::trace
