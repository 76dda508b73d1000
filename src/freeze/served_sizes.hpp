// The sizes that a plan serves. The rules give its numbers at each size, but a formula may branch on a size, a sum or a product of sizes, and then records
// something else. So each free name serves a range, and wherever the formula was recorded within all ranges, the recording was the one that the rules predict.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "freeze/size_rules.hpp"

namespace sinter::freezing {

/// The result of trying some sizes.
enum class Look : std::uint8_t {
  same,     ///< the recording is the one that the rules predict
  other,    ///< the recording is another one, or the formula throws
  refused,  ///< the rules allow no such sizes
};

/// Narrows the ranges that free names serve, until the formula is the same at all tried sizes within them.
///
/// Each name is tried alone, with the others as planned: at each size near the planned one, at each size up to 64, and from there at sizes in steps of a
/// sixteenth and at round numbers. All names are tried together: at all corners of the ranges, along the edges, at all small sizes of each pair of names and of
/// all names, at sizes that are equal, neighbours or double, and at random sizes. `effort` is about the number of sizes of each of these kinds. If there are
/// few sizes, all are tried.
///
/// A branch may compare a number that only grows, or only falls, with each name (a sum, a product, a difference, a quotient, the smaller of two). Such a number
/// has its extremes at the corners, so the threshold is always found, and the plan ends there. A difference that appears and vanishes between the tried sizes
/// is not found. Two numbers that differ where the plan was made may be equal at other sizes: the rules then allow those pairs that were seen to be equal
/// without another change.
void narrow(SizeRules& rules, const std::vector<std::int64_t>& sizes, const std::vector<std::string>& axes, std::size_t effort,
            const std::function<Look(const std::vector<std::int64_t>& sizes)>& look);

}  // namespace sinter::freezing
