// interrupt() (sinter/engine.hpp): the running evaluations stop at their next step; if none is running, the next one stops.
#pragma once
#include <cstdint>

namespace sinter {

/// Requests an interrupt; safe in a signal handler.
void request_interrupt() noexcept;
/// Evaluations that begin from now on are not stopped by the requests that were made until now.
void withdraw_interrupts() noexcept;

/// Begins an evaluation on the calling thread: a request that an earlier evaluation has answered does not count.
void begin_interruptible() noexcept;
/// Returns the number of requests that the calling thread's evaluation has seen.
std::uint64_t interrupts_seen() noexcept;
/// Makes the calling thread work for an evaluation of another thread while it lives.
class WorksFor {
 public:
  explicit WorksFor(std::uint64_t seen) noexcept;
  ~WorksFor();
  WorksFor(const WorksFor&) = delete;
  WorksFor& operator=(const WorksFor&) = delete;

 private:
  std::uint64_t before_;
};
/// Throws Interrupted if there was a request since the calling thread's evaluation began.
void stop_if_interrupted();

}  // namespace sinter
