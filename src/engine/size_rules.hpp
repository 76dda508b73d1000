// How the numbers of a recording follow from the sizes of its named axes, where the recording itself cannot be asked again. The rules are found by
// recording at several sizes: they are sums of products of the sizes (3 * batch * seq, seq - 1), which every further recording has to agree
// with. Where they are no such sums (a half, rounded), they may be for every second size, or every 32nd: an axis has a step, and its size counts in steps. An axis
// whose size gives another structure, or no such numbers, is held at the size that it has. A free one serves the sizes between which the formula was looked at and found to be the same: it may decide by a size (an If, the smaller of two), and a
// slice may end before it begins.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/frozen.hpp"
#include "trace/graph.hpp"
#include "trace/site.hpp"

namespace sinter::engine {

/// The sum over all sets of free axes of a coefficient times the product of their sizes, counted in whole steps; sets are numbered by bits.
template <class Number> using Multilinear = std::vector<Number>;

inline constexpr std::size_t kMaxFreeAxes = 6;
inline constexpr std::int64_t kMaxStep = 64;

struct SizeRules {
  std::vector<std::int64_t> held;  // by named axis: the only size it may have; -1: it is free, and at least 2
  std::vector<std::int64_t> steps;  // by named axis: a free one has the plan's own size or is whole steps from it; 32, say, where halves are rounded five times
  std::vector<std::int64_t> rests;  // by named axis: what whole steps leave of its size
  std::vector<std::string> why;    // by named axis: why it is held, or serves no more sizes
  std::vector<std::int64_t> first, last;  // by named axis: what a free one serves
  std::vector<std::int64_t> lows;  // of the symbols: sizes are at least 2, starts of slices 1
  std::vector<Multilinear<std::int64_t>> symbols, gathered;
  struct Literal {
    DType dtype{};
    std::uint64_t bits = 0;        // where it is the same for all sizes
    Multilinear<double> value;     // else
  };
  std::vector<Literal> literals;
  std::vector<std::vector<Multilinear<std::int64_t>>> shapes;
  struct Room {
    Multilinear<std::int64_t> left;  // elements that a view leaves unread: a slice of a table by the sequence's length, say
    std::string of;
  };
  std::vector<Room> room;

  /// The values at these sizes; nothing where an axis is held at another, or where a number is out of the range that the structure stands for: then
  /// the reason, if it is asked for.
  std::optional<Values> at(const std::vector<std::int64_t>& sizes, std::string* reason = nullptr) const;
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

/// What the formula is at other sizes than a plan's. `unclear`: two of its sizes are one number there, which makes another recording of it.
enum class Look : std::uint8_t { same, other, refused, unclear };
/// Narrows what free axes serve to the sizes at which the formula does what the rules say: one by one near the plan's own and to 64, then in steps of some
/// percent, and of several names together at corners and between. What decides by a threshold is found where it is; what comes and goes
/// between two steps is not.
void narrow(SizeRules& rules, const std::vector<std::int64_t>& sizes, const std::vector<std::string>& axes, const std::function<Look(const std::vector<std::int64_t>& sizes)>& look);

/// The rules of a plan that was made at `sizes` of these axes. `record` gives nothing for sizes that the formula does not take (then `taken` is false), or
/// that give another structure or other contents of its leaves.
SizeRules find_rules(const std::vector<std::int64_t>& sizes, const std::vector<std::string>& axes, std::vector<std::int64_t> lows,
                     const std::function<std::optional<Sample>(const std::vector<std::int64_t>& sizes, bool& taken)>& record);

}  // namespace sinter::engine
