// A fork copies one thread and every lock as it is. So it waits until nobody evaluates: what the child finds is in order.
#pragma once
#include <atomic>

namespace sinter::engine {

class ForkGate {
 public:
  /// Held by whoever evaluates or compiles; waits while somebody forks. May be held several times by one thread.
  class Inside {
   public:
    explicit Inside(ForkGate& gate) : gate_(gate) { gate_.enter(); }
    ~Inside() { gate_.leave(); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    ForkGate& gate_;
  };

  /// Waits until no other thread is inside, and keeps them out.
  void close();
  void open();
  /// Instead of open(), in a child: nobody but this thread is there.
  void open_in_child();

 private:
  void enter();
  void leave();

  std::atomic<bool> closed_{false};
  std::atomic<int> inside_{0};
};

}  // namespace sinter::engine
