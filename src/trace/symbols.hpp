// Which numbers of a graph are symbols: told apart here, so that whatever walks the same nodes in the same order finds the same ones.
#pragma once
#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sinter/shape.hpp"
#include "trace/primitives.hpp"

namespace sinter::trace {

/// Equal sizes are one symbol, because sizes that are equal once mostly are always; 0 and 1 are no symbols, because they mean something
/// else. A start of a slice that is not 0 and not the last place is a symbol of its own; starts of one node that are near each other are
/// one, and their distances are structure: a node read at starts so near each other is read by a stencil, or by neighbouring steps of a
/// loop, and what is read twice at the same place is seen to be. Starts are numbered when all sizes are. A visitor is told of each number:
///   constant(value)            a number that is part of the structure
///   symbol(number, value, of)  a symbol, numbered in order of first appearance
///   last_of(axis)              the last place of an axis of the operand: its size less 1
///   more(distance)             to be added to the start before
class SymbolNumbers {
 public:
  enum class Of : std::uint8_t { size, start };

  void clear() {
    few_.clear();
    if (!many_.empty()) many_.clear();
    next_ = 0;
  }
  template <class Visitor> void sizes(const Shape& shape, Visitor&& visitor) {
    for (const std::int64_t value : shape) size(value, visitor);
  }
  /// A node's `ints` (graph.hpp) but those of a slice.
  template <class Visitor> void ints(Op op, const std::vector<std::int64_t>& ints, Visitor&& visitor) {
    if (op == Op::slice) return;
    for (const std::int64_t value : ints) {
      if (op == Op::pad) size(value, visitor);
      else visitor.constant(value);
    }
  }

  struct Slice {
    std::uint64_t operand;  // number of the node
    const Shape* shape;     // of the operand
    const std::vector<std::int64_t>* ints;
  };
  /// Those of all slices, in order of node number, after everything else; begin(k) comes before those of slices[k].
  template <class Begin, class Visitor> void starts(const std::vector<Slice>& slices, Begin begin, Visitor&& visitor) {
    starts_.clear();
    for (const Slice& slice : slices)
      for (std::size_t k = 0; k < slice.ints->size(); k += 2) {
        const auto [start, fresh] = starts_.try_emplace(slice.operand << 8 | k, Start{(*slice.ints)[k], -1});
        if (!fresh) start->second.least = std::min(start->second.least, (*slice.ints)[k]);
      }
    for (std::size_t at = 0; at < slices.size(); ++at) {
      const Slice& slice = slices[at];
      begin(at);
      for (std::size_t k = 0; k < slice.ints->size(); ++k) {
        const std::int64_t value = (*slice.ints)[k];
        if (k % 2 != 0) {
          visitor.constant(value);
          continue;
        }
        Start& start = starts_.find(slice.operand << 8 | k)->second;
        const std::int64_t distance = value - start.least;
        if (value == 0) visitor.constant(0);
        else if (value == (*slice.shape)[k / 2] - 1) visitor.last_of(k / 2);
        else if (start.least == 0 && distance < kNear) visitor.constant(value);
        else if (distance >= kNear) {
          visitor.symbol(next_++, value, Of::start);
          visitor.more(0);
        } else {
          if (start.symbol < 0) start.symbol = next_++;
          visitor.symbol(start.symbol, start.least, Of::start);
          visitor.more(distance);
        }
      }
    }
  }

 private:
  template <class Visitor> void size(std::int64_t value, Visitor& visitor) {
    if (value == 0 || value == 1) return visitor.constant(value);
    if (many_.empty()) {
      for (const auto& [known, number] : few_)
        if (known == value) return visitor.symbol(number, value, Of::size);
      if (few_.size() < kFew) {
        few_.emplace_back(value, next_);
        return visitor.symbol(next_++, value, Of::size);
      }
      many_.insert(few_.begin(), few_.end());
    }
    const auto [found, fresh] = many_.try_emplace(value, next_);
    if (fresh) ++next_;
    visitor.symbol(found->second, value, Of::size);
  }

  struct Start {  // the least start of a node's slices along an axis, and its symbol
    std::int64_t least;
    int symbol;
  };
  static constexpr std::int64_t kNear = 8;
  static constexpr std::size_t kFew = 16;
  std::vector<std::pair<std::int64_t, int>> few_;  // searched one by one
  std::unordered_map<std::int64_t, int> many_;     // all of them, once they are more
  std::unordered_map<std::uint64_t, Start> starts_;
  int next_ = 0;
};

}  // namespace sinter::trace
