// Loops that record without end: found by the lines that come round again (rounds.hpp), and evaluated whenever some rounds are whole.
#pragma once
#include <vector>

#include "trace/record.hpp"

namespace sinter::trace {

/// What is evaluated together, one piece after the other.
using Pieces = std::vector<std::vector<RecordedPtr>>;

/// Recording tells of each new node that is not symbolic. Returns what is to be evaluated now, mostly nothing: rounds of a loop, what the
/// user holds of this thread's unevaluated nodes, or the node itself.
Pieces recorded(const RecordedPtr& node);
/// The same, before somebody looks what an operand that is not evaluated was made of: a round that is over is evaluated first, and there is
/// nothing to be seen any more.
Pieces about_to_look();
/// Before looking through the operand: evaluates that.
void look_through(const Recorded& operand);
/// An evaluation on this thread that the user asked for: the loop evaluates itself.
void evaluation_asked();

/// Of a node that is computed now for the sake of another, and that somebody still holds or not: whether it should be stored on the way.
/// What is held should if it was computed before, or if that happened to a result of the same line that was held then.
bool worth_storing(const Recorded& node, bool held);

}  // namespace sinter::trace
