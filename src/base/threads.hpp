// Runs independent tasks on a bounded number of threads.
#pragma once
#include <cstdint>
#include <functional>

namespace sinter {

/// Returns the number of threads for `asked`: itself, or for 0 every core that this process may use.
int thread_count(int asked);

/// Calls task(0) ... task(count - 1), each once, on at most `threads` threads; returns when all are done. It rethrows the first exception of a task; tasks that
/// have not begun by then may be skipped.
void run_tasks(int threads, std::int64_t count, const std::function<void(std::int64_t)>& task);

}  // namespace sinter
