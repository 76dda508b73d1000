#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "sinter/sinter.hpp"

namespace sinter::tools {

CompilingShown::CompilingShown() {
  if (!isatty(2)) return;
  drawing_ = std::thread([this] {
    const auto start = std::chrono::steady_clock::now();
    const Counters before = counters();
    std::unique_lock lock(mutex_);
    do {
      const Counters now = counters();
      const auto compiled = now.kernels_compiled - before.kernels_compiled, found = now.kernels_from_disk - before.kernels_from_disk;
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      fmt::print(stderr, "\rcompiling: {} kernels, {} from disk, {:.1f} s\033[K", compiled, found, took.count());
      std::fflush(stderr);
    } while (!stopped_.wait_for(lock, std::chrono::milliseconds(100), [this] { return stop_; }));
    fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
  });
}

CompilingShown::~CompilingShown() {
  if (!drawing_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_one();
  drawing_.join();
}

}  // namespace sinter::tools
