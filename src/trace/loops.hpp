// Loop detection: finds a loop that never evaluates by the lines that repeat (loop_detection.hpp), and evaluates it whenever some iterations are complete.
#pragma once
#include <vector>

#include "trace/record.hpp"

namespace sinter::trace {

/// Lists of nodes. The nodes of a list are evaluated together, and the lists in order.
using Pieces = std::vector<std::vector<RecordedPtr>>;

/// Registers each new node that is not symbolic. Returns the nodes to evaluate now, usually none: iterations of a loop, the nodes of this thread that the user
/// holds and that are not evaluated, or the node itself.
Pieces recorded(const RecordedPtr& node);
/// Does the same before the caller inspects how an unevaluated operand was recorded. A complete iteration is evaluated first, and then there is no recording to
/// inspect.
Pieces about_to_look();
/// Evaluates the nodes that about_to_look() returns, before the caller looks through the operand.
void look_through(const Recorded& operand);
/// Registers an evaluation by the user on this thread, because then the loop evaluates by itself.
void evaluation_asked();

/// Returns whether a node that is computed now as an intermediate value should be stored, too; `held` says whether a handle holds it. A held node should be
/// stored if it was computed before, or if a held result of the same line was computed twice.
bool worth_storing(const Recorded& node, bool held);

}  // namespace sinter::trace
