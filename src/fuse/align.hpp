// Whether two groups run over the same points.
#pragma once
#include <optional>
#include <vector>

#include "fuse/group.hpp"

namespace sinter::fuse {

/// Two groups over one set of axes.
struct Aligned {
  Sizes sizes;
  int parallel = 0;
  std::optional<std::vector<Request>> host;  // its requests, where its axes had to be split
  std::vector<Request> guest;
  std::vector<IndexExpr> axes;  // the guest's over these
  Chunks chunks{};
};
/// Finds the guest's points among the host's by something that both read or write: where they touch the same element of it, they are
/// at the same point. The guest's points must be all of the host's, rows and all, or all its parallel ones, each once.
std::optional<Aligned> align(const Graph& graph, const Group& host, const Group& guest);

/// The same for groups over equal axes that touch nothing alike: axis for axis.
std::optional<Aligned> align_beside(const Graph& graph, const Group& host, const Group& guest);

}  // namespace sinter::fuse
