// Progress of a command on a terminal; a log gets nothing.
#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace sinter::tools {

/// While it lives, shows a bar with the remaining time on a terminal, and nothing in a log.
class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  /// `done` from 0 to 1.
  void show(double done, std::string_view doing);
  /// Removes the bar until the next show().
  void clear();

 private:
  bool terminal_, drawn_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// While it lives, shows a line with the number of compiled kernels and the time.
class CompilingShown {
 public:
  explicit CompilingShown(std::string of = {});
  ~CompilingShown();

 private:
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::thread drawing_;  // not started if there is no terminal
};

}  // namespace sinter::tools
