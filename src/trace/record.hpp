// Recorded nodes, to which Tensors point. Everything but `pending` and `result` is immutable. Those two change once, when the node is evaluated, under the
// node's own lock, so that threads may record and evaluate over shared nodes freely.
#pragma once
#include <array>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/spin_lock.hpp"
#include "base/storage.hpp"
#include "sinter/tensor.hpp"
#include "trace/graph.hpp"

namespace sinter::ranks {
struct Spread;
}

namespace sinter::trace {

struct Recorded;
using RecordedPtr = std::shared_ptr<Recorded>;

/// The node of a Tensor; tensor.hpp only declares its name.
struct Handle {
  Handle(RecordedPtr pointer) : node(std::move(pointer)) {}
  RecordedPtr node;
};

/// A node's operands: few, and stored in the node itself. Only the present ones are constructed, moved and destroyed, because recording moves such lists often.
class Operands {
 public:
  Operands() noexcept {}
  template <class... Nodes>
    requires(sizeof...(Nodes) > 0 && sizeof...(Nodes) <= kMaxArity && (std::same_as<std::remove_cvref_t<Nodes>, RecordedPtr> && ...))
  Operands(Nodes&&... nodes) noexcept {
    (std::construct_at(slots_ + size_++, std::forward<Nodes>(nodes)), ...);
  }
  Operands(const Operands& other) noexcept {
    for (; size_ < other.size_; ++size_) std::construct_at(slots_ + size_, other.slots_[size_]);
  }
  Operands(Operands&& other) noexcept { take(other); }
  Operands& operator=(Operands&& other) noexcept {
    if (this == &other) return *this;
    clear();
    take(other);
    return *this;
  }
  ~Operands() { clear(); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const RecordedPtr& operator[](std::size_t k) const { return slots_[k]; }
  const RecordedPtr& front() const { return slots_[0]; }
  const RecordedPtr* begin() const { return slots_; }
  const RecordedPtr* end() const { return slots_ + size_; }
  RecordedPtr* begin() { return slots_; }
  RecordedPtr* end() { return slots_ + size_; }

 private:
  void take(Operands& other) noexcept {     // requires an empty list
    size_ = std::exchange(other.size_, 0);  // a moved-from pointer is null and needs no destruction
    for (std::uint32_t k = 0; k < size_; ++k) std::construct_at(slots_ + k, std::move(other.slots_[k]));
  }
  void clear() noexcept {
    for (RecordedPtr& node : *this) std::destroy_at(&node);
    size_ = 0;
  }

  union {
    RecordedPtr slots_[kMaxArity];  // the first size_ are alive
  };
  std::uint32_t size_ = 0;
};

using ShapePtr = std::shared_ptr<const Shape>;

/// Returns the elements that a mask selects. Evaluates the mask, once.
const RecordedPtr& read(const RecordedPtr& unread);

struct Recorded {
  /// A node often has the shape of an operand, and shares it.
  explicit Recorded(ShapePtr sizes) : shape_owner(std::move(sizes)), shape(*shape_owner) {}
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
  ~Recorded();

  const ShapePtr shape_owner;
  const Shape& shape;
  Op op{};
  DType dtype{};
  std::vector<std::int64_t> ints;  // as in Node
  Scalar scalar;
  Location where;
  const char* called = "";                    // the function that recorded it
  std::atomic<const char*> label{""};         // the user's name for it, which is never freed
  std::uint64_t order = 0;                    // number in order of recording: greater than those of the operands and of all earlier nodes of the thread
  std::uint32_t depth = 0;                    // longest chain of unevaluated nodes below, when recorded
  mutable std::atomic<bool> computed{false};  // whether a kernel has computed it without storing it
  bool unread = false;                        // a selection by a mask that was not read yet (masks.cpp); it is never an operand
  bool symbolic = false;                      // depends on a placeholder, so it is never evaluated
  std::shared_ptr<ranks::Spread> spread;      // its layout on several ranks (ranks/sharding.hpp); null: it is unsharded and computed from unsharded values
  std::size_t held = 0;                       // bound of the bytes of contents below that nothing else holds, when recorded

  /// Returns copies of the operands, taken under the lock; none once evaluated.
  Operands inputs() const;
  /// Returns whether the contents are known: for a data leaf from the start, for another node once evaluated. The contents then never change.
  bool evaluated() const { return known.load(std::memory_order_acquire); }
  /// Returns the contents; null before they are known.
  StoragePtr result() const { return evaluated() ? storage : nullptr; }
  /// Sets the contents and drops the operands, unless the contents are already known, because known contents never change. explain() reads `history` later.
  void materialize(StoragePtr storage, std::shared_ptr<void> history);
  std::shared_ptr<void> history() const;

  mutable SpinLock lock;
  Operands pending;               // guarded by lock
  std::shared_ptr<void> made_by;  // guarded by lock
  StoragePtr storage;             // set under the lock, once, before `known`
  std::atomic<bool> known{false};
};

/// Returns the bytes of a node's elements, computed or not.
inline std::size_t bytes_of(const Recorded& node) { return static_cast<std::size_t>(element_count(node.shape)) * itemsize(node.dtype); }

/// Recording requests an evaluation of the nodes that the user holds when a loop runs without one (loops.hpp), and of any chain of unevaluated nodes that
/// reaches this depth. So memory stays bounded, and the parts of a long chain repeat and compile once.
inline constexpr std::uint32_t kMaxPendingDepth = 1024;
/// It also requests one when contents that only a recording holds exceed this many bytes: `s += sum(from_span(batch))` without a read of s must not keep every
/// batch in memory.
inline constexpr std::size_t kMaxHeldBytes = std::size_t{256} << 20;
/// Evaluates nodes together. The engine sets the hook once; recording calls it.
using EvaluateHook = void (*)(const std::vector<RecordedPtr>&);
void set_evaluate_hook(EvaluateHook hook);
void evaluate(const std::vector<RecordedPtr>& nodes);
/// Returns the spread of a result some of whose operands have one. The ranks set the hook once there is a mesh.
using SpreadHook = std::shared_ptr<ranks::Spread> (*)(const Recorded& node, const Operands& inputs);
void set_spread_hook(SpreadHook hook);

/// While an object of this class exists, this thread records within an evaluation, and recording requests no evaluation.
class WithinEvaluation {
 public:
  WithinEvaluation() : before_(std::exchange(now, true)) {}
  ~WithinEvaluation() { now = before_; }
  WithinEvaluation(const WithinEvaluation&) = delete;
  static thread_local constinit bool now;

 private:
  const bool before_;
};

}  // namespace sinter::trace

inline auto& sinter::Tensor::node() const {
  const auto& node = *std::launder(reinterpret_cast<const trace::RecordedPtr*>(held_));
  return node && node->unread ? trace::read(node) : node;
}
