// How the numbers of a recording follow from the sizes of its named axes, where the recording itself cannot be asked again. The rules are found by
// recording at several sizes: they are sums of products of the sizes (3 * batch * seq, seq - 1), which every further recording has to agree
// with; an axis whose size gives another structure, or numbers that are no such sums (a half, rounded), is held at the size that it has.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/frozen.hpp"
#include "trace/graph.hpp"

namespace sinter::engine {

/// The sum over all sets of free axes of a coefficient times the product of their sizes; sets are numbered by bits.
template <class Number> using Multilinear = std::vector<Number>;

inline constexpr std::size_t kMaxFreeAxes = 6;

struct SizeRules {
  std::vector<std::int64_t> held;  // by named axis: the only size it may have; -1: it is free, and at least 2
  std::vector<std::int64_t> lows;  // of the symbols: sizes are at least 2, starts of slices 1
  std::vector<Multilinear<std::int64_t>> symbols, gathered;
  struct Literal {
    DType dtype{};
    std::uint64_t bits = 0;        // where it is the same for all sizes
    Multilinear<double> value;     // else
  };
  std::vector<Literal> literals;
  std::vector<std::vector<Multilinear<std::int64_t>>> shapes;

  /// The values at these sizes; nothing where an axis is held at another, or where a number is out of the range that the structure stands for.
  std::optional<Values> at(const std::vector<std::int64_t>& sizes) const;
};

/// What a recording at some sizes says.
struct Sample {
  Values values;
  std::vector<trace::Scalar> literals;
};
/// The rules of a plan that was made at `sizes`. `record` gives nothing for sizes that the formula does not take (then `taken` is false), or that give
/// another structure or other contents of its leaves.
SizeRules find_rules(const std::vector<std::int64_t>& sizes, std::vector<std::int64_t> lows,
                     const std::function<std::optional<Sample>(const std::vector<std::int64_t>& sizes, bool& taken)>& record);

}  // namespace sinter::engine
