// Recorded nodes: what a Tensor points to. Everything but `pending` and `result` is immutable; those two change once, when the
// node is evaluated, under the node's own lock, so that threads may record and evaluate over shared nodes freely.
#pragma once
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "trace/graph.hpp"
#include "trace/storage.hpp"

namespace sinter::trace {

class SpinLock {
 public:
  void lock() {
    while (flag_.test_and_set(std::memory_order_acquire))
      while (flag_.test(std::memory_order_relaxed)) std::this_thread::yield();  // held for a few copies: nobody sleeps for it
  }
  void unlock() { flag_.clear(std::memory_order_release); }
 private:
  std::atomic_flag flag_;
};

struct Recorded;
using RecordedPtr = std::shared_ptr<Recorded>;

struct Recorded {
  Recorded() = default;
  Recorded(const Recorded&) = delete;
  ~Recorded();

  Op op{};
  DType dtype{};
  Shape shape;
  std::vector<std::int64_t> ints;  // as in Node
  Scalar scalar;
  Location where;
  const char* called = "";         // the function that recorded it
  std::uint32_t depth = 0;         // longest chain of unevaluated nodes below, when recorded
  mutable std::atomic<bool> computed{false};  // by a kernel that did not store it
  bool symbolic = false;           // depends on a placeholder: never evaluated, however long the chain
  std::size_t held = 0;            // at most this many bytes of contents below that nothing else holds, when recorded

  /// The operands, while not evaluated; copies, under the lock.
  std::vector<RecordedPtr> inputs() const;
  /// The contents: of a data leaf from the start, of another node once evaluated; null before.
  StoragePtr result() const;
  /// Sets the contents and forgets the operands, unless the contents are known: they never change again. `history` is what
  /// explain() tells later.
  void materialize(StoragePtr storage, std::shared_ptr<void> history);
  std::shared_ptr<void> history() const;
  /// What a node recorded over this one holds through it: its contents once it is evaluated, else what it holds itself.
  struct Holding { bool evaluated; std::size_t bytes; };
  Holding holding() const;

  mutable SpinLock lock;
  std::vector<RecordedPtr> pending;        // guarded by lock
  StoragePtr storage;                      // guarded by lock
  std::shared_ptr<void> made_by;           // guarded by lock
};

/// The graph of everything the roots need: evaluated nodes become data leaves, equal nodes are merged (value numbering),
/// nodes nobody needs are not there. leaves[i] is the contents of leaf i (null for a placeholder).
struct Linear {
  Graph graph;
  std::vector<StoragePtr> leaves;
};
Linear linearize(const std::vector<RecordedPtr>& roots);
/// The same for an evaluation: what is computed on the way, held by the user and likely to be computed again (loops.hpp) is appended to
/// the roots and to the graph's outputs.
Linear linearize_and_keep(std::vector<RecordedPtr>& roots);

/// Recording asks for an evaluation of what the user holds when a loop goes round without one (loops.hpp), and of any chain of
/// unevaluated nodes that reaches this depth: memory stays bounded, and the pieces repeat, so they compile once.
inline constexpr std::uint32_t kMaxPendingDepth = 1024;
/// It asks too when the contents that only a recording holds pass this many bytes: `s += sum(from_span(batch))` that nobody reads
/// must not keep every batch.
inline constexpr std::size_t kMaxHeldBytes = std::size_t{256} << 20;
/// Set once by the engine; called by recording with what is to be evaluated together.
using EvaluateHook = void (*)(const std::vector<RecordedPtr>&);
void set_evaluate_hook(EvaluateHook hook);

}  // namespace sinter::trace
