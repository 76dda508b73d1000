#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "sinter/sinter.hpp"

namespace sinter::tools {

Progress::Progress() : terminal_(isatty(2)) {}

void Progress::show(double done, std::string_view doing) {
  if (!terminal_) return;
  constexpr int kWidth = 30;
  const int filled = std::clamp(static_cast<int>(done * kWidth), 0, kWidth);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start_;
  std::string left;
  if (took.count() > 1 && done > 0.01 && done < 1) left = fmt::format("{:.0f} s left, ", took.count() * (1 - done) / done);
  fmt::print(stderr, "\r[{:#<{}}{:.<{}}] {:3.0f} %  {}{:.60}\033[K", "", filled, "", kWidth - filled, done * 100, left, doing);
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::clear() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  drawn_ = false;
}

CompilingShown::CompilingShown(std::string of) {
  if (!isatty(2)) return;
  drawing_ = std::thread([this, of = std::move(of), before = counters()] {
    const auto start = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    do {
      const Counters now = counters();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      fmt::print(stderr, "\r{}compiling: {} kernels, {} from disk, {:.1f} s\033[K", of, now.kernels_compiled - before.kernels_compiled,
                 now.kernels_from_disk - before.kernels_from_disk, took.count());
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
