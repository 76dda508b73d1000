// A fork copies one thread, and every lock in its present state. So a fork waits until no thread evaluates, and the child finds consistent data.
#pragma once
#include <atomic>

namespace sinter::engine {

class ForkGate {
 public:
  /// A thread that evaluates or compiles holds this object. Its constructor waits while another thread forks. A thread may hold several.
  class Inside {
   public:
    explicit Inside(ForkGate& gate) : gate_(gate) { gate_.enter(); }
    ~Inside() { gate_.leave(); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    ForkGate& gate_;
  };

  /// Waits until no other thread is inside, and keeps other threads out.
  void close();
  void open();
  /// Replaces open() in a child, which has only this thread.
  void open_in_child();

 private:
  void enter();
  void leave();

  std::atomic<bool> closed_{false};
  std::atomic<int> inside_{0};
};

}  // namespace sinter::engine
