// Work that nobody waits for: one thread, in order. The end of the process waits for it, within reason, so that what was compiled
// for a short run serves the next one.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

#include "engine/fork_gate.hpp"

namespace sinter::engine {

class Background {
 public:
  using Job = std::function<void()>;

  /// Jobs run inside the gate.
  explicit Background(ForkGate& gate) : gate_(gate) {}

  /// False when it will not be done: the process ends, no thread can be started, or nobody could wait for it at the end. A job
  /// must not throw.
  bool add(Job job);
  /// Waits until everything is done.
  void wait();

  /// Between the gate's close() and open().
  void before_fork() { state_->mutex.lock(); }
  void after_fork_in_parent() { state_->mutex.unlock(); }
  /// The child has no such thread: what is not done yet is taken up by one of its own at the next add().
  void after_fork_in_child();

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Job> jobs;
    bool working = false, started = false, ended = false;
    bool watched = false;  // the main thread waits for it when it leaves
  };
  struct Watch;

  bool start();  // the mutex is held
  void serve();
  void finish();

  ForkGate& gate_;
  State* state_ = new State;  // a child of fork takes a new one: a condition variable remembers the threads that wait for it
};

}  // namespace sinter::engine
