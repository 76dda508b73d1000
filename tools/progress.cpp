#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "sinter/counted.hpp"
#include "sinter/sinter.hpp"

namespace sinter::tools {

Progress::Progress() : terminal_(isatty(2)) {}

void Progress::show(double done, std::string_view doing) {
  if (!terminal_) return;
  constexpr int kWidth = 30;
  const int filled = std::clamp(static_cast<int>(done * kWidth), 0, kWidth);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start_;
  std::string left;
  if (!drawn_ && first_ < 0) first_ = done;
  if (took.count() > 1 && done > first_ + 0.01 && done < 1) left = fmt::format("{:.0f} s left, ", took.count() * (1 - done) / (done - first_));
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

CompilingShown::CompilingShown() {
  if (!isatty(2)) return;
  drawing_ = std::thread([this, before = counters()] {
    Progress bar;
    double largest = 0;
    std::unique_lock lock(mutex_);
    do {
      const Counters now = counters();
      const auto steps = static_cast<double>(now.steps_planned - at_.steps_planned), ready = static_cast<double>(now.steps_made - at_.steps_made);
      const double within = steps > 0 ? std::min(ready / steps, 0.99) : 0;  // steps of the present part, whose plan may be followed by others
      largest = std::max(largest, (static_cast<double>(part_) + within) / static_cast<double>(parts_));
      bar.show(largest, fmt::format("compiling: {}, {} from disk{}", counted(now.kernels_compiled - before.kernels_compiled, "kernel"),
                                    now.kernels_from_disk - before.kernels_from_disk, doing_));
    } while (!stopped_.wait_for(lock, std::chrono::milliseconds(100), [this] { return stop_; }));
  });
}

void CompilingShown::part(std::size_t part, std::size_t parts, std::string_view doing) {
  const std::lock_guard lock(mutex_);
  part_ = part, parts_ = std::max<std::size_t>(parts, 1);
  doing_ = doing.empty() ? "" : fmt::format(", {}", doing);
  at_ = counters();
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
