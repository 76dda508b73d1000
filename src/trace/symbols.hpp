// Which numbers of a graph are symbols: told apart here, so that whatever walks the same nodes in the same order finds the same ones.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sinter/shape.hpp"
#include "trace/primitives.hpp"

namespace sinter::trace {

/// Equal sizes are one symbol, because sizes that are equal once mostly are always; 0 and 1 are no symbols, because they mean something
/// else. Every start of a slice that is not 0 and not the last place is a symbol of its own. A visitor is told of each number:
///   constant(value)            a number that is part of the structure
///   symbol(number, value, of)  a symbol, numbered in order of first appearance
///   last_of(axis)              the last place of an axis of the operand: its size less 1
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
  /// A node's `ints` (graph.hpp); `input`: the shape of its first operand.
  template <class Visitor> void ints(Op op, const std::vector<std::int64_t>& ints, const Shape* input, Visitor&& visitor) {
    for (std::size_t k = 0; k < ints.size(); ++k) {
      const std::int64_t value = ints[k];
      if (op == Op::pad) size(value, visitor);
      else if (op != Op::slice || k % 2 != 0 || value == 0) visitor.constant(value);
      else if (value == (*input)[k / 2] - 1) visitor.last_of(k / 2);
      else visitor.symbol(next_++, value, Of::start);
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

  static constexpr std::size_t kFew = 16;
  std::vector<std::pair<std::int64_t, int>> few_;  // searched one by one
  std::unordered_map<std::int64_t, int> many_;     // all of them, once they are more
  int next_ = 0;
};

}  // namespace sinter::trace
