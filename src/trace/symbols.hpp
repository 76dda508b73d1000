// Decides which numbers of a graph are symbols. Every function that visits the same nodes in the same order then finds the same symbols.
#pragma once
#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sinter/shape.hpp"
#include "trace/primitives.hpp"

namespace sinter::trace {

/// Equal sizes are one symbol, because sizes that are equal once are usually always equal. 0 and 1 are not symbols, because they have a special meaning. A
/// start of a slice that is neither 0 nor the last position is a separate symbol. Starts of one node that are near each other share a symbol, and their
/// distances are part of the structure: a stencil, or neighbouring iterations of a loop, read a node in this way, and repeated reads of the same elements are
/// then recognised. Starts are numbered after all sizes. A visitor is called for each number:
///   constant(value)            a number that is part of the structure
///   symbol(number, value, of)  a symbol, numbered in order of first appearance
///   last_of(axis)              the last place of an axis of the operand: its size less 1
///   more(distance)             a distance to add to the start before
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
  /// Visits a node's `ints` (graph.hpp), except those of a slice.
  template <class Visitor> void ints(Op op, const std::vector<std::int64_t>& ints, Visitor&& visitor) {
    if (op == Op::slice) return;
    for (const std::int64_t value : ints) {
      if (op == Op::pad) size(value, visitor);
      else visitor.constant(value);
    }
  }

  struct Slice {
    std::uint64_t operand;  // number of the node
    const Shape* shape;     // shape of the operand
    const std::vector<std::int64_t>* ints;
  };
  /// Visits the starts of all slices, in order of node number, after everything else; begin(k) precedes those of slices[k].
  template <class Begin, class Visitor> void starts(const std::vector<Slice>& slices, Begin begin, Visitor&& visitor) {
    starts_.clear();
    for (const Slice& slice : slices)
      for (std::size_t k = 0; k < slice.ints->size(); k += 2) {
        const auto [start, fresh] = starts_.try_emplace(slice.operand << 8 | k, Start{(*slice.ints)[k], -1});
        if (!fresh) start->second.smallest = std::min(start->second.smallest, (*slice.ints)[k]);
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
        const std::int64_t distance = value - start.smallest;
        if (value == 0) visitor.constant(0);
        else if (value == (*slice.shape)[k / 2] - 1) visitor.last_of(k / 2);
        else if (start.smallest == 0 && distance < kNear) visitor.constant(value);
        else if (distance >= kNear) {
          visitor.symbol(next_++, value, Of::start);
          visitor.more(0);
        } else {
          if (start.symbol < 0) start.symbol = next_++;
          visitor.symbol(start.symbol, start.smallest, Of::start);
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
    std::int64_t smallest;
    int symbol;
  };
  static constexpr std::int64_t kNear = 8;
  static constexpr std::size_t kFew = 16;
  std::vector<std::pair<std::int64_t, int>> few_;  // searched linearly
  std::unordered_map<std::int64_t, int> many_;     // all starts, if there are more than kFew
  std::unordered_map<std::uint64_t, Start> starts_;
  int next_ = 0;
};

}  // namespace sinter::trace
