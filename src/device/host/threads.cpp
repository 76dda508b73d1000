#include "device/host/threads.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "trace/log.hpp"

namespace sinter::device {
namespace {

/// More than this is taken for a mistake: each thread costs address space and a place in the system's tables.
constexpr int kMostThreads = 1024;
/// How often an idle worker looks for work before it sleeps: waking it costs as much as a small launch.
constexpr int kLooks = 4000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// One call of run_tasks.
struct Job {
  const std::function<void(std::int64_t)>& task;
  std::int64_t count;
  int seats;  // workers that may still join; guarded by the pool's mutex
  std::atomic<std::int64_t> next{0};
  std::atomic<int> helpers{0};  // workers that have joined and not left
  std::mutex mutex;
  std::exception_ptr failure{};  // guarded by mutex

  void work() {
    for (std::int64_t k; (k = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
      try {
        task(k);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next.store(count, std::memory_order_relaxed);
      }
    }
  }
};

/// Workers that are started when they are first wanted and never end. What the system does not let us start is done by those
/// there are, at worst by the caller alone.
class Pool {
 public:
  void run(Job& job) {
    {
      const std::lock_guard lock(mutex_);
      start(job.seats);
      jobs_.push_back(&job);
      open_.fetch_add(1, std::memory_order_relaxed);
    }
    if (job.seats == 1) wake_.notify_one();
    else wake_.notify_all();
    job.work();
    {
      const std::lock_guard lock(mutex_);  // from here on nobody joins
      jobs_.erase(std::find(jobs_.begin(), jobs_.end(), &job));
      open_.fetch_sub(1, std::memory_order_relaxed);
    }
    for (int looks = 0; looks < kLooks; ++looks) {
      if (job.helpers.load(std::memory_order_acquire) == 0) return;
      relax();
    }
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return job.helpers.load(std::memory_order_acquire) == 0; });
  }

 private:
  void start(int wanted) {
    while (workers_ < wanted && !refused_) {
      try {
        std::thread([this] { serve(); }).detach();
        ++workers_;
      } catch (const std::system_error& error) {
        refused_ = true;  // asking again at every launch would only be slow
        log().warn("only {} of {} threads could be started ({}); going on with them", workers_ + 1, wanted + 1, error.what());
      }
    }
  }

  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      const auto found = std::find_if(jobs_.begin(), jobs_.end(), [](const Job* job) {
        return job->seats > 0 && job->next.load(std::memory_order_relaxed) < job->count;
      });
      if (found != jobs_.end()) {
        Job& job = **found;
        --job.seats;
        job.helpers.fetch_add(1, std::memory_order_relaxed);
        lock.unlock();
        job.work();
        lock.lock();
        if (job.helpers.fetch_sub(1, std::memory_order_release) == 1) done_.notify_all();
        continue;
      }
      if (open_.load(std::memory_order_relaxed) == 0) {
        lock.unlock();
        for (int looks = 0; looks < kLooks && open_.load(std::memory_order_relaxed) == 0; ++looks) relax();
        lock.lock();
        if (open_.load(std::memory_order_relaxed) > 0) continue;
      }
      wake_.wait(lock);
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::vector<Job*> jobs_;
  std::atomic<int> open_{0};  // jobs_.size(), for those who look without the lock
  int workers_ = 0;
  bool refused_ = false;
};

/// Never destroyed, because its workers never end. A child of fork has none of them, and begins with a pool of its own.
std::atomic<Pool*>& pool() {
  static std::atomic<Pool*>& current = *[] {
    pthread_atfork(nullptr, nullptr, [] { pool().store(new Pool, std::memory_order_relaxed); });
    return new std::atomic<Pool*>(new Pool);
  }();
  return current;
}

int cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

int thread_count(int asked) {
  static const int every = cores();
  return asked > 0 ? std::min(asked, kMostThreads) : every;
}

void run_tasks(int threads, std::int64_t count, const std::function<void(std::int64_t)>& task) {
  if (threads <= 1 || count <= 1) {
    for (std::int64_t k = 0; k < count; ++k) task(k);
    return;
  }
  Job job{.task = task, .count = count, .seats = static_cast<int>(std::min<std::int64_t>(std::min(threads, kMostThreads), count)) - 1};
  pool().load(std::memory_order_relaxed)->run(job);
  if (job.failure) std::rethrow_exception(job.failure);
}

}  // namespace sinter::device
