#include "engine/background.hpp"

#include <unistd.h>

#include <chrono>
#include <system_error>
#include <thread>

#include "base/log.hpp"
#include "base/timeline.hpp"

namespace sinter::engine {
namespace {

/// The maximum time that the process waits at its end. A later process compiles the remaining kernels when it needs them.
constexpr std::chrono::seconds kPatience{3};

bool on_main_thread() { return gettid() == getpid(); }

}  // namespace

/// exit() destroys the calling thread's thread-local variables first. An atexit handler would run too late, because the handlers of libraries that a job has
/// opened since (LLVM) run before it.
struct Background::Watch {
  Background* watched = nullptr;
  ~Watch() {
    if (watched && on_main_thread()) watched->finish();
  }
};

bool Background::add(Job job) {
  const bool main = on_main_thread();
  if (main) {
    thread_local Watch watch;
    watch.watched = this;
  }
  const std::lock_guard lock(state_->mutex);
  state_->watched |= main;
  if (state_->ended || !state_->watched) return false;
  if (!start()) return false;
  state_->jobs.push_back(std::move(job));
  state_->changed.notify_all();
  return true;
}

bool Background::start() {
  if (state_->started) return true;
  try {
    std::thread([this] { serve(); }).detach();
    state_->started = true;
  } catch (const std::system_error& error) {
    log().debug("nothing is compiled in the background: {}", error.what());
  }
  return state_->started;
}

void Background::serve() {
  timeline::name_this_thread("compiler");
  for (;;) {
    Job job;
    {
      std::unique_lock lock(state_->mutex);
      state_->working = false;
      state_->changed.notify_all();
      state_->changed.wait(lock, [&] { return !state_->jobs.empty(); });
    }
    const ForkGate::Inside inside(gate_);  // entered before the job is taken, so that a fork in between leaves the job to the child
    {
      const std::lock_guard lock(state_->mutex);
      if (state_->jobs.empty()) continue;
      job = std::move(state_->jobs.front());
      state_->jobs.pop_front();
      state_->working = true;
    }
    job();
  }
}

void Background::wait() {
  std::unique_lock lock(state_->mutex);
  if (!state_->jobs.empty() && !start()) return;  // jobs from before a fork
  state_->changed.wait(lock, [&] { return state_->jobs.empty() && !state_->working; });
}

void Background::finish() {
  std::unique_lock lock(state_->mutex);
  state_->ended = true;
  if (!state_->started) return;
  state_->changed.wait_for(lock, kPatience, [&] { return state_->jobs.empty() && !state_->working; });
  state_->jobs.clear();
  // Waits for a running compile, however long it takes, because LLVM's own destructors run next.
  state_->changed.wait(lock, [&] { return !state_->working; });
}

void Background::after_fork_in_child() {
  State* const fresh = new State;
  fresh->jobs = std::move(state_->jobs);
  state_->mutex.unlock();
  state_ = fresh;
}

}  // namespace sinter::engine
