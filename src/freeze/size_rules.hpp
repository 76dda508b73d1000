// The rules by which the numbers of a recording follow from the sizes of its named axes, for use without the formula. They are found by recording at several
// sizes. A rule is a sum of products of the sizes (3 * batch * seq, seq - 1), and every further recording has to agree with it. A number such as a rounded half
// has no such rule, but may have one for every second size, or for every 32nd. So an axis has a step, and its size counts in steps. If there is no rule, or if
// another size gives another structure, the plan is specialised to the axis's size: the axis is held. A free axis serves a range of sizes (served_sizes.hpp).
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "freeze/engine.hpp"
#include "trace/graph.hpp"
#include "trace/site.hpp"
#include "trace/structural_key.hpp"

namespace sinter::freezing {

/// The sum over all sets of free axes of a coefficient times the product of their sizes, counted in whole steps; sets are numbered by bits.
template <class Number> using Multilinear = std::vector<Number>;

inline constexpr std::size_t kMaxFreeAxes = 6;
inline constexpr std::int64_t kMaxStep = 64;

struct SizeRules {
  std::vector<std::int64_t> held;  // by named axis: the only size it may have; -1: it is free, and at least 2
  std::vector<std::int64_t>
      steps;  // by named axis: a free one has the plan's own size or is whole steps from it; 32, for example, if halves are rounded five times
  std::vector<std::int64_t> rests;        // by named axis: the remainder of its size after whole steps
  std::vector<std::string> why;           // by named axis: why it is held, or why its range ends
  std::vector<std::int64_t> first, last;  // by named axis: the range of a free one
  std::vector<std::int64_t> lows;         // lowest values of the symbols: 2 for sizes, 1 for starts of slices
  std::vector<Multilinear<std::int64_t>> symbols, gathered;
  struct Literal {
    DType dtype{};
    std::uint64_t bits = 0;     // if it is the same for all sizes
    Multilinear<double> value;  // else
  };
  std::vector<Literal> literals;
  std::vector<std::vector<Multilinear<std::int64_t>>> shapes;
  struct Unread {
    Multilinear<std::int64_t> left;  // elements that a view leaves unread, as in a slice of a table by the sequence's length
    std::string of;
  };
  std::vector<Unread> unread;

  /// Symbols that differ where the plan was made, by number, the lower one first.
  using Pair = std::pair<int, int>;
  std::vector<Pair> alike;  // sizes that may be equal without another change

  /// Returns the values at these sizes. Returns nothing, and the reason if requested, if an axis is held at another size, or if a number is out of the
  /// structure's range.
  std::optional<Values> predict(const std::vector<std::int64_t>& sizes, std::string* reason = nullptr) const;
  /// Returns the same for sizes that are served.
  std::optional<Values> at(const std::vector<std::int64_t>& sizes, std::string* reason = nullptr) const;
  /// Returns the symbols at sizes that the axes may have.
  std::vector<std::int64_t> symbols_at(const std::vector<std::int64_t>& sizes) const;
  /// Returns the sizes among the symbols that are equal.
  std::vector<Pair> meeting(const std::vector<std::int64_t>& symbols) const;
  bool are_sizes(const Pair& pair) const { return lows[static_cast<std::size_t>(pair.first)] == 2 && lows[static_cast<std::size_t>(pair.second)] == 2; }
  bool may_meet(const Pair& pair) const { return std::find(alike.begin(), alike.end(), pair) != alike.end(); }
  /// Returns each symbol in terms of the axes: "3*batch*seq + 1".
  std::vector<std::string> symbol_texts(const std::vector<std::string>& axes) const;
};

/// The facts of a recording at some sizes.
struct Sample {
  Values values;
  std::vector<trace::Scalar> literals;
  struct Unread {
    std::int64_t left;
    trace::Site of;
  };
  std::vector<Unread> unread;
};
/// Returns the number of elements of its operand that each view and each selection does not read. A plan must not run if such a number is negative. `sites` are
/// those of the nodes.
std::vector<Sample::Unread> unread_of(const trace::Graph& graph, const std::vector<trace::NodeSite>& sites);

/// Returns the rules of a plan that was made at `sizes` of these axes. `record` returns nothing for sizes that the formula does not take (then `taken` is
/// false), or that give another structure or other contents of its leaves.
SizeRules find_rules(const std::vector<std::int64_t>& sizes, const std::vector<std::string>& axes, std::vector<std::int64_t> lows,
                     const std::function<std::optional<Sample>(const std::vector<std::int64_t>& sizes, bool& taken)>& record);

}  // namespace sinter::freezing
