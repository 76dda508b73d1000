// One thread runs jobs in order; no other thread waits for them. At its end the process waits for a limited time, so that kernels that were compiled during a
// short run are in the cache for the next one.
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

  /// Returns false if the job will not run: the process is ending, no thread can be started, or the process could not wait for the job at its end. A job must
  /// not throw.
  bool add(Job job);
  /// Waits until all jobs are done.
  void wait();

  /// Is called between the gate's close() and open().
  void before_fork() { state_->mutex.lock(); }
  void after_fork_in_parent() { state_->mutex.unlock(); }
  /// The child has no such thread. Its own thread does the remaining jobs after the next add().
  void after_fork_in_child();

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Job> jobs;
    bool working = false, started = false, ended = false;
    bool watched = false;  // the main thread waits for the jobs at its end
  };
  struct Watch;

  bool start();  // requires the mutex
  void serve();
  void finish();

  ForkGate& gate_;
  State* state_ = new State;  // a child of fork gets a new state, because a condition variable remembers the threads that wait for it
};

}  // namespace sinter::engine
