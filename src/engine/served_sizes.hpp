// The sizes that a plan serves. Its rules say what numbers it has at each size; the formula may decide by a size, a sum or a product of sizes, and then records
// something else. So each free name serves a range, and where the formula was recorded at sizes within all ranges, it recorded what the rules predict.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/size_rules.hpp"

namespace sinter::engine {

/// What the formula is at some sizes: what the rules predict, something else (or refused by the formula), or nothing that the rules allow.
enum class Look : std::uint8_t { same, other, refused };

/// Narrows what free names serve, until the formula is the same at all sizes within that are looked at:
/// - of each name alone, with the others as planned: each size near the plan's own and to 64, beyond in steps of a sixteenth and at round numbers;
/// - of all names together: all corners, then along the edges, all small sizes of each two names, sizes that are equal, neighbours or double, and others at
///   random. `effort` is about how many sizes each of these takes. Of few sizes all are looked at.
/// A decision by a number that only grows, or only falls, with each name (a sum, a product, a difference, a quotient, the smaller of two) is at its extremes at
/// the corners: a threshold of one is always found, and the plan ends there. What comes and goes between the sizes that are looked at is not found.
/// Two numbers that are apart where the plan was made may meet: the rules then allow those pairs that were seen to meet with nothing else changed.
void narrow(SizeRules& rules, const std::vector<std::int64_t>& sizes, const std::vector<std::string>& axes, std::size_t effort,
            const std::function<Look(const std::vector<std::int64_t>& sizes)>& look);

}  // namespace sinter::engine
