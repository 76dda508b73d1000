// Collects the input of an evaluation from the recorded nodes, in one walk that builds no graph: the structural key of the graph below the roots, and the
// numbers, literals and contents that change between evaluations. Only a new structure needs a Graph.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "trace/loop_detection.hpp"
#include "trace/record.hpp"
#include "trace/symbols.hpp"

namespace sinter::trace {

/// The structural key: a graph without its literals, source lines and the values of its symbols, written as words. Graphs that differ only in these have equal
/// keys.
using StructuralKey = std::vector<std::uint64_t>;

/// Finds numbers by hash. Clearing takes constant time, so one index serves many walks.
class NumberIndex {
 public:
  void clear();
  /// Returns the number with this hash that is `equal`; if there is none, stores and returns `fresh`.
  template <class Equal> std::uint32_t find_or_add(std::uint64_t hash, std::uint32_t fresh, Equal equal) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      Slot& slot = slots_[at];
      if (slot.epoch != epoch_) {
        slot = {hash, epoch_, fresh};
        ++count_;
        return fresh;
      }
      if (slot.hash == hash && equal(slot.number)) return slot.number;
    }
  }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t epoch = 0, number = 0;
  };
  void grow();

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
  std::uint32_t epoch_ = 1;  // the number of the walk; a slot with another number is free
};

/// A recorded gather, for the message of a failed check of its indices.
struct GatherSite {
  const char* called;
  Location where;
  std::int64_t axis, size;  // size of the operand's axis
};

/// The name and line of a library call, for its error messages.
struct CallSite {
  const char* called;
  Location where;
};

/// The place where a node was recorded, and the user's name for it.
struct NodeSite {
  const char* called;
  Location where;
  const char* label;
};

class Traversal {
 public:
  Traversal() = default;
  Traversal(const Traversal&) = delete;
  Traversal& operator=(const Traversal&) = delete;
  ~Traversal() { clear(); }

  /// Walks the nodes that the roots need: operands before users, in an order that depends only on structure; evaluated nodes are data leaves, equal nodes
  /// become one (value numbering). Until release() no other thread evaluates or reads the operands of the walked nodes. The traversal refers to the roots.
  void walk(const std::vector<RecordedPtr>& roots);
  void walk(std::vector<RecordedPtr>&& roots) = delete;
  /// Returns the operations that were walked; valid before release().
  const std::vector<Pending>& pending() const { return pending_; }
  /// Ends the walk; call it before the functions below. With `keep`, intermediate values that the user holds and that are likely to be computed again
  /// (loops.hpp) are appended to the roots.
  void finish(std::vector<RecordedPtr>& roots, bool keep);
  /// Returns those of these values that an earlier evaluation computed and did not store, so that they are computed a second time.
  const std::vector<const Recorded*>& computed_again() const { return computed_again_; }

  const StructuralKey& key() const { return key_; }
  const std::vector<std::int64_t>& symbols() const { return symbols_; }
  /// Returns the contents of the data leaves; null for a placeholder.
  const std::vector<StoragePtr>& leaves() const { return leaves_; }
  /// Returns the identities of the leaves: the contents, or for a placeholder the node.
  const std::vector<const void*>& identities() const { return identities_; }
  /// These return the constants' bits, the gathers and the library calls, in order of node number.
  const std::vector<std::uint64_t>& literals() const { return literals_; }
  const std::vector<GatherSite>& gathers() const { return gathers_; }
  const std::vector<CallSite>& calls() const { return calls_; }
  /// Returns the graph as a plain value; call it before release().
  Graph graph() const;
  /// Returns the site of each node of graph(). Equal structures have equally many nodes in the same order. Call both before release().
  std::vector<NodeSite> sites() const;
  /// Returns whether sites() would return these sites.
  bool was_recorded_at(std::span<const NodeSite> sites) const;
  /// Returns the number of a walked node in graph(); -1 for others. Call it before release().
  int number_of(const Recorded& node) const;

  void release();
  /// Removes all contents, but keeps the allocated memory.
  void clear();
  /// Returns whether that memory is small.
  bool is_small() const { return visited_.capacity() <= (std::size_t{1} << 14); }

 private:
  struct Visited {
    const RecordedPtr* handle = nullptr;
    std::uint32_t id = 0;
    std::int32_t uses = 0;  // number of uses as an operand of walked nodes
    std::int32_t pending = Pending::kLeaf;
  };
  struct Frame {
    const Recorded* node = nullptr;
    std::uint32_t visited = 0, next = 0;
    std::uint32_t inputs[kMaxArity];  // numbers in visited_
  };
  struct Entry {  // a node of the graph
    const Recorded* node = nullptr;
    Op op{};
    int leaf = -1;
    std::uint64_t bits = 0;
    std::uint64_t inputs[kMaxArity / 2] = {};  // two node numbers, each plus 1, in a word
    std::uint32_t arity = 0;
    std::uint32_t input(std::size_t k) const { return static_cast<std::uint32_t>(inputs[k / 2] >> (32 * (k % 2))) - 1; }
  };
  struct Conflict {};

  void walk_once(const std::vector<RecordedPtr>& roots);
  std::uint32_t enter(const RecordedPtr& handle);
  std::uint32_t number_last();
  std::uint32_t leaf_of(const void* identity, const StoragePtr& storage);
  void add_shape(const ShapePtr& shape);
  void keep_more(std::vector<RecordedPtr>& roots);

  std::vector<Visited> visited_;
  std::vector<Frame> stack_;
  std::vector<Pending> pending_;
  std::vector<const Recorded*> locked_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> outputs_;
  std::vector<const void*> identities_;  // contents of the leaves
  NumberIndex seen_, values_, known_leaves_;
  SymbolNumbers numbers_;
  struct ShapeWords {  // the position of a shape in the key
    const Shape* shape = nullptr;
    std::size_t begin = 0, count = 0;
  };
  std::array<ShapeWords, 8> shapes_{};  // a ring of the latest shapes
  std::size_t next_shape_ = 0;
  StructuralKey key_;
  std::vector<std::int64_t> symbols_;
  std::vector<StoragePtr> leaves_;
  std::vector<std::uint64_t> literals_;
  std::vector<GatherSite> gathers_;
  std::vector<CallSite> calls_;
  std::vector<const Recorded*> computed_again_;
  std::vector<char> held_;  // for each operation of pending_: whether something outside of the graph holds its node
  std::vector<SymbolNumbers::Slice> slices_;
};

/// The graph that the roots need, and the contents of its leaves.
struct Linear {
  Graph graph;
  std::vector<StoragePtr> leaves;
};
Linear linearize(std::vector<RecordedPtr> roots);

}  // namespace sinter::trace
