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
  double first_ = -1;  // where it began
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// While it lives, shows a bar with the number of compiled kernels and the remaining time, as plans are made.
class CompilingShown {
 public:
  CompilingShown();
  ~CompilingShown();
  /// Part `part` of `parts` begins, from 0: its plan's steps move the bar to the next one.
  void part(std::size_t part, std::size_t parts, std::string_view doing = {});

 private:
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::size_t part_ = 0, parts_ = 1;
  std::string doing_;
  Counters at_ = counters();  // where the part began
  std::thread drawing_;       // not started if there is no terminal
};

}  // namespace sinter::tools
