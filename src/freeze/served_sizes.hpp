// The sizes that a plan serves. Its rules say what numbers it has at each size; the formula may decide by a size, a sum or a product of sizes, and then records
// something else. So each free name serves a range, and where the formula was recorded at sizes within all ranges, it recorded what the rules predict.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "freeze/size_rules.hpp"

namespace sinter::freezing {

/// The result of a look at some sizes: the recording is the one that the rules predict, it is another (or the formula refuses the sizes), or the rules allow
/// none.
enum class Look : std::uint8_t { same, other, refused };

/// Narrows the ranges that free names serve, until the formula is the same at all sizes within that are looked at:
/// - each name alone, with the others as planned: each size near the plan's own and to 64, beyond in steps of a sixteenth and at round numbers;
/// - all names together: all corners, then along the edges, all small sizes of each two names, sizes that are equal, neighbours or double, and others at
///   random. `effort` is about the number of sizes of each of these kinds. Where there are few sizes, all are looked at.
/// A decision by a number that only grows, or only falls, with each name (a sum, a product, a difference, a quotient, the smaller of two) is at its extremes at
/// the corners: a threshold of one is always found, and the plan ends there. A difference that comes and goes between the sizes that are looked at is not
/// found. Two numbers that are apart where the plan was made may meet: the rules then allow those pairs that were seen to meet with nothing else changed.
void narrow(SizeRules& rules, const std::vector<std::int64_t>& sizes, const std::vector<std::string>& axes, std::size_t effort,
            const std::function<Look(const std::vector<std::int64_t>& sizes)>& look);

}  // namespace sinter::freezing
