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

/// The result of trying some sizes. same: the recording is the one that the rules predict. other: it is another, or the formula refuses the sizes. refused: the
/// rules allow no such sizes.
enum class Look : std::uint8_t { same, other, refused };

/// Narrows the ranges that free names serve, until the formula is the same at all tried sizes within them. Tried are
/// - each name alone, with the others as planned: each size near the plan's own and to 64, beyond in steps of a sixteenth and at round numbers;
/// - all names together: all corners, then along the edges, all small sizes of each two names and of all, sizes that are equal, neighbours or double, and
/// others at
///   random. `effort` is about the number of sizes of each of these kinds. If there are few sizes, all are tried.
/// A branch on a number that only grows, or only falls, with each name (a sum, a product, a difference, a quotient, the smaller of two) has its extremes at
/// the corners, so its threshold is always found, and the plan ends there. A difference that appears and vanishes between the tried sizes is not found. Two
/// numbers that differ where the plan was made may meet: the rules then allow those pairs that were seen to meet without another change.
void narrow(SizeRules& rules, const std::vector<std::int64_t>& sizes, const std::vector<std::string>& axes, std::size_t effort,
            const std::function<Look(const std::vector<std::int64_t>& sizes)>& look);

}  // namespace sinter::freezing
