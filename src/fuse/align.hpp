// Decides whether two groups run over the same points.
#pragma once
#include <optional>
#include <vector>

#include "fuse/group.hpp"

namespace sinter::fuse {

/// Two groups over one set of axes.
struct Aligned {
  Sizes sizes;
  int parallel = 0;
  std::optional<std::vector<Request>> host;  // the host's requests, if its axes had to be split or became longer
  std::vector<Request> guest;
  std::vector<IndexExpr> axes;  // the guest's axes as expressions over the host's
  Chunks chunks{};
};
/// Maps the guest's axes to the host's with the help of a value that both groups read or write: a point of one group corresponds to the point of the other that
/// accesses the same element. The guest must have exactly one point for each point of the host (rows included), or exactly one for each parallel point of the
/// host.
std::optional<Aligned> align(const Graph& graph, const Group& host, const Group& guest);

/// Does the same where one of the groups touches a part of the elements of the other, from a distance on along some axes (a value and its slice, or a value and
/// what a pad makes of it): its requests are stored at a part of the points of the other.
std::optional<Aligned> align_within(const Graph& graph, const Group& host, const Group& guest);
/// Returns whether this is possible by the numbers of points.
bool may_lie_within(const Kernel& a, const Kernel& b);

/// Does the same for groups over equal axes that have no value in common: maps axis to axis.
std::optional<Aligned> align_beside(const Graph& graph, const Group& host, const Group& guest);

}  // namespace sinter::fuse
