// interrupt() (sinter/engine.hpp): the evaluations that are running stop at their next step, and if none is running, the next one does.
#pragma once
#include <cstdint>

namespace sinter {

/// Safe in a signal handler.
void request_interrupt() noexcept;
/// Evaluations that begin from now on are not stopped by the requests that were made until now.
void withdraw_interrupts() noexcept;

/// The calling thread begins an evaluation: what was requested and already answered by an earlier one does not count.
void begin_interruptible() noexcept;
/// Which requests the calling thread's evaluation has seen.
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
