// Loops that record without end: found by the lines that come round again, and evaluated piece by piece.
#pragma once
#include <vector>

#include "trace/record.hpp"

namespace sinter::trace {

/// As many ops as one kernel holds: a loop is evaluated every so many of them, always after the same whole number of rounds and at the
/// same place of a round, so that every piece is the same graph, is planned once and compiles once.
inline constexpr int kLoopOps = 128;

/// Recording tells of each new node that is not symbolic. Returns what is to be evaluated now, mostly nothing: what the user holds of
/// this thread's unevaluated nodes, or the node itself.
std::vector<RecordedPtr> recorded(const RecordedPtr& node);
/// An evaluation on this thread that the user asked for: the loop evaluates itself.
void evaluation_asked();

/// What somebody holds besides the graph, of the nodes given: more references than `counted` and the operands of these nodes.
std::vector<RecordedPtr> held_by_user(const std::vector<RecordedPtr>& nodes, long counted);

/// Of a node that is computed now for the sake of another and that somebody still holds: whether it should be stored on the way. It
/// should if it was computed before, or if that happened to a result of the same line.
bool worth_storing(const Recorded& node);

}  // namespace sinter::trace
