#include "device/host/threads.hpp"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

namespace sinter::device {
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

}  // namespace sinter::device
