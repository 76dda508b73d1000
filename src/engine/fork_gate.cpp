#include "engine/fork_gate.hpp"

#include "base/interrupt.hpp"

namespace sinter::engine {
namespace {
thread_local int depth = 0;  // number of nested entries of this thread
}

void ForkGate::enter() {
  if (depth++ > 0) return;  // a thread that is already inside must not wait for a fork, because the fork waits for it
  begin_interruptible();
  for (;;) {
    closed_.wait(true);
    inside_.fetch_add(1);
    if (!closed_.load()) return;
    inside_.fetch_sub(1);
    inside_.notify_all();
  }
}

void ForkGate::leave() {
  if (--depth > 0) return;
  inside_.fetch_sub(1);
  if (closed_.load()) inside_.notify_all();
}

void ForkGate::close() {
  while (closed_.exchange(true)) closed_.wait(true);  // another thread is forking
  const int own = depth > 0 ? 1 : 0;
  for (int now; (now = inside_.load()) > own;) inside_.wait(now);
}

void ForkGate::open_in_child() {
  inside_.store(depth > 0 ? 1 : 0);  // another thread may have been counted while it tested whether the gate is open
  open();
}

void ForkGate::open() {
  closed_.store(false);
  closed_.notify_all();
}

}  // namespace sinter::engine
