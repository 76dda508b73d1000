#include "base/interrupt.hpp"

#include <atomic>
#include <utility>

#include "sinter/errors.hpp"

namespace sinter {
namespace {

std::atomic<std::uint64_t> requested{0}, answered{0};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);  // a signal handler may interrupt a thread that holds a lock
thread_local std::uint64_t seen_here = 0;

}  // namespace

void request_interrupt() noexcept { requested.fetch_add(1); }
void withdraw_interrupts() noexcept { answered.store(requested.load()); }
void begin_interruptible() noexcept { seen_here = answered.load(std::memory_order_relaxed); }
std::uint64_t interrupts_seen() noexcept { return seen_here; }
WorksFor::WorksFor(std::uint64_t seen) noexcept : before_(std::exchange(seen_here, seen)) {}
WorksFor::~WorksFor() { seen_here = before_; }

void stop_if_interrupted() {
  const std::uint64_t now = requested.load(std::memory_order_relaxed);
  if (now == seen_here) return;
  answered.store(now);
  throw Interrupted("the evaluation was interrupted; its tensors are still recorded and can be evaluated again");
}

}  // namespace sinter
