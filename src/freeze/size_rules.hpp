// How the numbers of a recording follow from the sizes of its named axes, where the recording itself cannot be asked again. The rules are found by
// recording at several sizes: they are sums of products of the sizes (3 * batch * seq, seq - 1), which every further recording has to agree
// with. Where they are no such sums (a half, rounded), they may be for every second size, or every 32nd: an axis has a step, and its size counts in steps. An
// axis whose size gives another structure, or no such numbers, is held at the size that it has. A free one serves a range (served_sizes.hpp).
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

namespace sinter::freezing {

/// The sum over all sets of free axes of a coefficient times the product of their sizes, counted in whole steps; sets are numbered by bits.
template <class Number> using Multilinear = std::vector<Number>;

inline constexpr std::size_t kMaxFreeAxes = 6;
inline constexpr std::int64_t kMaxStep = 64;

struct SizeRules {
  std::vector<std::int64_t> held;   // by named axis: the only size it may have; -1: it is free, and at least 2
  std::vector<std::int64_t> steps;  // by named axis: a free one has the plan's own size or is whole steps from it; 32, say, where halves are rounded five times
  std::vector<std::int64_t> rests;  // by named axis: what whole steps leave of its size
  std::vector<std::string> why;     // by named axis: why it is held, or serves no more sizes
  std::vector<std::int64_t> first, last;  // by named axis: what a free one serves
  std::vector<std::int64_t> lows;         // of the symbols: sizes are at least 2, starts of slices 1
  std::vector<Multilinear<std::int64_t>> symbols, gathered;
  struct Literal {
    DType dtype{};
    std::uint64_t bits = 0;     // where it is the same for all sizes
    Multilinear<double> value;  // else
  };
  std::vector<Literal> literals;
  std::vector<std::vector<Multilinear<std::int64_t>>> shapes;
  struct Room {
    Multilinear<std::int64_t> left;  // elements that a view leaves unread: a slice of a table by the sequence's length, say
    std::string of;
  };
  std::vector<Room> room;

  /// Symbols that are apart where the plan was made, by number, the lower one first.
  using Pair = std::pair<int, int>;
  std::vector<Pair> alike;  // sizes that may be equal: nothing else changes then

  /// The values at these sizes; nothing where an axis is held at another, or where a number is out of the range that the structure stands for: then
  /// the reason, if it is asked for.
  std::optional<Values> predict(const std::vector<std::int64_t>& sizes, std::string* reason = nullptr) const;
  /// The same, of sizes that are served.
  std::optional<Values> at(const std::vector<std::int64_t>& sizes, std::string* reason = nullptr) const;
  /// The symbols at sizes that the axes may have.
  std::vector<std::int64_t> symbols_at(const std::vector<std::int64_t>& sizes) const;
  /// The sizes among the symbols that are equal.
  std::vector<Pair> meeting(const std::vector<std::int64_t>& symbols) const;
  bool are_sizes(const Pair& pair) const { return lows[static_cast<std::size_t>(pair.first)] == 2 && lows[static_cast<std::size_t>(pair.second)] == 2; }
  bool may_meet(const Pair& pair) const { return std::find(alike.begin(), alike.end(), pair) != alike.end(); }
  /// Each symbol in terms of the axes: "3*batch*seq + 1".
  std::vector<std::string> symbol_texts(const std::vector<std::string>& axes) const;
};

/// What a recording at some sizes says.
struct Sample {
  Values values;
  std::vector<trace::Scalar> literals;
  struct Room {
    std::int64_t left;
    trace::Site of;
  };
  std::vector<Room> room;
};
/// What each view and each part that is chosen leaves of its operand: a plan must not be run where that is less than nothing.
std::vector<Sample::Room> room_of(const trace::Graph& graph);

/// The rules of a plan that was made at `sizes` of these axes. `record` gives nothing for sizes that the formula does not take (then `taken` is false), or
/// that give another structure or other contents of its leaves.
SizeRules find_rules(const std::vector<std::int64_t>& sizes, const std::vector<std::string>& axes, std::vector<std::int64_t> lows,
                     const std::function<std::optional<Sample>(const std::vector<std::int64_t>& sizes, bool& taken)>& record);

}  // namespace sinter::freezing
