// Running independent tasks on a bounded number of threads.
#pragma once
#include <cstdint>
#include <functional>

namespace sinter {

/// The number of threads that `asked` stands for: itself, or for 0 every core this process may use.
int thread_count(int asked);

/// Calls task(0) ... task(count - 1), each once, on at most `threads` threads; returns when all are done. The first exception
/// of a task reaches the caller, after which tasks that have not begun may be left out.
void run_tasks(int threads, std::int64_t count, const std::function<void(std::int64_t)>& task);

}  // namespace sinter
