// interrupt() (sinter/engine.hpp): the running evaluations stop at their next step; if none is running, the next one stops.
#pragma once
#include <cstdint>

namespace sinter {

/// Requests an interrupt; safe in a signal handler.
void request_interrupt() noexcept;
/// Discards the present requests: they do not stop evaluations that begin later.
void withdraw_interrupts() noexcept;

/// Begins an evaluation on the calling thread. Requests that already stopped an earlier evaluation do not count.
void begin_interruptible() noexcept;
/// Returns the number of requests that the calling thread's evaluation has seen.
std::uint64_t interrupts_seen() noexcept;
/// While this object exists, the calling thread works for an evaluation of another thread.
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
