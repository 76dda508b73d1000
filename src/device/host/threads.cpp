#include "device/host/threads.hpp"

#include <algorithm>

// ThreadSanitizer does not see how TBB, which is not built with it, hands work from thread to thread: every task would be
// reported. Its builds share the tasks out to plain threads, so that what the tasks do is what is checked.
#if defined(__SANITIZE_THREAD__)
#define SINTER_PLAIN_THREADS
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SINTER_PLAIN_THREADS
#endif
#endif

#ifdef SINTER_PLAIN_THREADS
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>
#else
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <map>
#include <memory>
#include <mutex>
#endif

namespace sinter::device {

#ifdef SINTER_PLAIN_THREADS

int thread_count(int asked) { return asked > 0 ? asked : std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

void run_tasks(int threads, std::int64_t count, const std::function<void(std::int64_t)>& task) {
  std::atomic<std::int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;  // guarded by mutex
  const auto work = [&] {
    for (std::int64_t k; (k = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
      try {
        task(k);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
      }
    }
  };
  std::vector<std::thread> others;
  for (std::int64_t t = 1; t < std::min<std::int64_t>(threads, count); ++t) others.emplace_back(work);
  work();
  for (auto& thread : others) thread.join();
  if (failure) std::rethrow_exception(failure);
}

#else

namespace {

struct Arenas {
  std::mutex mutex;
  std::map<int, std::unique_ptr<tbb::task_arena>> by_threads;
  std::unique_ptr<tbb::global_control> more_workers;  // when more threads are asked for than there are cores
  int workers = tbb::info::default_concurrency();

  tbb::task_arena& get(int threads) {
    const std::lock_guard lock(mutex);
    if (threads > workers) {
      more_workers.reset();  // of several controls the least would hold
      more_workers = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism, threads);
      workers = threads;
    }
    auto& arena = by_threads[threads];
    if (!arena) arena = std::make_unique<tbb::task_arena>(threads);
    return *arena;
  }
};

/// One arena per thread count, made once: making one costs more than a small launch. Never destroyed, because workers may still
/// be leaving it when the process ends.
tbb::task_arena& arena(int threads) {
  static auto& arenas = *new Arenas;
  thread_local std::pair<int, tbb::task_arena*> last{0, nullptr};
  if (last.first != threads) last = {threads, &arenas.get(threads)};
  return *last.second;
}

}  // namespace

int thread_count(int asked) { return asked > 0 ? asked : std::max(1, tbb::info::default_concurrency()); }

void run_tasks(int threads, std::int64_t count, const std::function<void(std::int64_t)>& task) {
  if (threads <= 1 || count <= 1) {
    for (std::int64_t k = 0; k < count; ++k) task(k);
    return;
  }
  arena(threads).execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<std::int64_t>(0, count, 1),
        [&](const tbb::blocked_range<std::int64_t>& range) {
          for (std::int64_t k = range.begin(); k < range.end(); ++k) task(k);
        },
        tbb::simple_partitioner{});
  });
}

#endif

}  // namespace sinter::device
