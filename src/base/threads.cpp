#include "base/threads.hpp"

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

#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "base/spin_lock.hpp"

namespace sinter {
namespace {

/// The maximum number of threads. A larger request is treated as a mistake, because each thread costs address space and an entry in the system's tables.
constexpr int kMaxThreads = 1024;
/// The number of times that an idle worker looks for work before it sleeps, because waking it costs as much as a small launch.
constexpr int kLooks = 4000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// One call of run_tasks. Each thread has a share of neighbouring tasks, which is the same in every job, and afterwards helps with the other shares. So if one
/// step reads the results of the step before, a thread mostly finds its own results in its caches.
class Job {
 public:
  Job(const std::function<void(std::int64_t)>& of, std::int64_t count, int threads)
      : seats(threads - 1), task_(of), shares_(static_cast<std::size_t>(threads)) {
    for (std::int64_t k = 0; k < threads; ++k) {
      shares_[static_cast<std::size_t>(k)].next.store(count * k / threads, std::memory_order_relaxed);
      shares_[static_cast<std::size_t>(k)].end = count * (k + 1) / threads;
    }
  }

  int seats;                    // workers that may still join; guarded by the pool's lock
  std::atomic<int> helpers{0};  // workers that have joined and not yet left
  std::exception_ptr failure{};

  bool has_tasks() const {
    return std::any_of(shares_.begin(), shares_.end(), [](const Share& share) { return share.next.load(std::memory_order_relaxed) < share.end; });
  }
  /// Runs tasks on the thread with this number.
  void work(int thread) {
    const WorksFor evaluation(interrupts_seen_);  // a task may start tasks of its own
    for (std::size_t k = 0; k < shares_.size(); ++k) {
      Share& share = shares_[(static_cast<std::size_t>(thread) + k) % shares_.size()];
      for (std::int64_t next; (next = share.next.fetch_add(1, std::memory_order_relaxed)) < share.end;) run(next);
    }
  }

 private:
  struct alignas(64) Share {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };

  void run(std::int64_t number) {
    try {
      stop_if_interrupted();
      task_(number);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure) failure = std::current_exception();
      for (Share& share : shares_) share.next.store(share.end, std::memory_order_relaxed);
    }
  }

  const std::function<void(std::int64_t)>& task_;
  const std::uint64_t interrupts_seen_ = interrupts_seen();
  std::vector<Share> shares_;
  std::mutex mutex_;  // guards `failure` until all workers have left
};

/// Workers that are started on demand and never end. If the system refuses to start some of them, the others do their work, or the caller alone. Between two
/// launches a worker looks for work before it sleeps. The mutex is only for sleeping workers.
class Pool {
 public:
  void run(Job& job) {
    const int seats = job.seats;  // read here, because workers change it once the job is posted
    if (workers_.load(std::memory_order_relaxed) < seats) start(seats);
    {
      const std::lock_guard lock(lock_);
      jobs_.push_back(&job);
    }
    posted_.fetch_add(1);
    if (sleeping_.load() > 0) {
      {
        const std::lock_guard lock(mutex_);
      }  // a worker about to sleep now either sleeps or has seen the job
      if (seats == 1) wake_.notify_one();
      else wake_.notify_all();
    }
    job.work(0);
    {
      const std::lock_guard lock(lock_);  // from here on no worker joins
      jobs_.erase(std::find(jobs_.begin(), jobs_.end(), &job));
    }
    for (int looks = 0; looks < kLooks; ++looks) {
      if (job.helpers.load(std::memory_order_acquire) == 0) return;
      relax();
    }
    std::unique_lock lock(mutex_);
    ++waiting_;
    done_.wait(lock, [&] { return job.helpers.load() == 0; });
    --waiting_;
  }

 private:
  void start(int wanted) {
    const std::lock_guard lock(mutex_);
    while (workers_ < wanted && !refused_) {
      try {
        std::thread([this, number = workers_ + 1] { serve(number); }).detach();
        ++workers_;
      } catch (const std::system_error& error) {
        refused_ = true;  // a new attempt at every launch would only be slow
        log().warn("only {} of {} threads could be started ({}); going on with them", workers_.load() + 1, wanted + 1, error.what());
      }
    }
  }

  void serve(int number) {
    for (;;) {
      const std::uint64_t seen = posted_.load();  // read before the jobs: a job posted later changes it
      Job* const job = join();
      if (!job) {
        await_more_than(seen);
        continue;
      }
      job->work(number);
      if (job->helpers.fetch_sub(1) == 1 && waiting_.load() > 0) {  // the job may be destroyed already
        {
          const std::lock_guard lock(mutex_);
        }
        done_.notify_all();
      }
    }
  }

  Job* join() {
    const std::lock_guard lock(lock_);
    const auto found = std::find_if(jobs_.begin(), jobs_.end(), [](const Job* job) { return job->seats > 0 && job->has_tasks(); });
    if (found == jobs_.end()) return nullptr;
    --(*found)->seats;
    (*found)->helpers.fetch_add(1, std::memory_order_relaxed);
    return *found;
  }

  void await_more_than(std::uint64_t seen) {
    for (int looks = 0; looks < kLooks; ++looks) {
      if (posted_.load(std::memory_order_relaxed) != seen) return;
      relax();
    }
    std::unique_lock lock(mutex_);
    ++sleeping_;
    wake_.wait(lock, [&] { return posted_.load() != seen; });
    --sleeping_;
  }

  SpinLock lock_;
  std::vector<Job*> jobs_;  // guarded by lock_
  std::atomic<std::uint64_t> posted_{0};
  // A worker that is about to sleep counts itself and then looks for work once more. A thread with new work looks for sleeping workers after posting it. So one
  // of the two sees the other.
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::atomic<int> sleeping_{0}, waiting_{0};
  std::atomic<int> workers_{0};  // changed under mutex_
  bool refused_ = false;         // guarded by mutex_
};

/// The pool is never destroyed, because its workers never end. A child of fork has none of them, and starts with a new pool.
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
  return asked > 0 ? std::min(asked, kMaxThreads) : every;
}

void run_tasks(int threads, std::int64_t count, const std::function<void(std::int64_t)>& task) {
  if (threads <= 1 || count <= 1) {
    for (std::int64_t k = 0; k < count; ++k) {
      stop_if_interrupted();
      task(k);
    }
    return;
  }
  Job job(task, count, static_cast<int>(std::min<std::int64_t>(std::min(threads, kMaxThreads), count)));
  pool().load(std::memory_order_relaxed)->run(job);
  if (job.failure) std::rethrow_exception(job.failure);
}

}  // namespace sinter
