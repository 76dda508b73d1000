// Progress of a command on a terminal; a log gets nothing.
#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "sinter/engine.hpp"

namespace sinter::tools {

/// While this object exists, a terminal shows a bar with the remaining time. A log shows nothing.
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
  double first_ = -1;  // the time when it began
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// While this object exists and plans are made, a terminal shows a bar with the number of compiled kernels and the remaining time.
class CompilingShown {
 public:
  CompilingShown();
  ~CompilingShown();
  /// Begins part `part` (from 0) of `parts`. The steps of its plan move the bar to the next part.
  void part(std::size_t part, std::size_t parts, std::string_view doing = {});

 private:
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::size_t part_ = 0, parts_ = 1;
  std::string doing_;
  Counters at_ = counters();  // the position of the bar when the part began
  std::thread drawing_;       // not started if there is no terminal
};

}  // namespace sinter::tools
