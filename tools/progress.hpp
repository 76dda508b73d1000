// Progress of a command on a terminal; a log gets nothing.
#pragma once
#include <condition_variable>
#include <mutex>
#include <thread>

namespace sinter::tools {

/// While it lives, shows a line with the number of compiled kernels and the time.
class CompilingShown {
 public:
  CompilingShown();
  ~CompilingShown();

 private:
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::thread drawing_;  // not started if there is no terminal
};

}  // namespace sinter::tools
