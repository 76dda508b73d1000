// What a terminal shows while a command is at work; a log gets nothing.
#pragma once
#include <condition_variable>
#include <mutex>
#include <thread>

namespace sinter::tools {

/// A line that counts what is compiled and the time that it takes, for as long as it lives.
class CompilingShown {
 public:
  CompilingShown();
  ~CompilingShown();

 private:
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::thread drawing_;  // none where there is no terminal
};

}  // namespace sinter::tools
