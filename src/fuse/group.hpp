// Building one group: from its roots down through everything that may be computed at the same points. See group.cpp for the decisions
// and kernel.hpp for what comes out.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fuse/kernel.hpp"

namespace sinter::fuse {

/// What a group may not look into.
struct BuildContext {
  const Graph* graph;
  const Limits* limits;
  const std::vector<char>* in_memory;  // node -> some kernel writes it: read it from there
  const std::vector<char>* reduces;    // node -> a reduction is among what it is computed from
  int max_ops;                         // of one kernel
  bool merged = false;                 // of groups that are there already
};

/// The points a kernel runs over, and where a root's dimensions lie among them. Axes of size 1 are left out.
struct Domain {
  Sizes sizes;  // of the axes: parallel first, then row
  int parallel = 0;
  Map dims;
  Chunks chunks{};
};
/// The axes in which a root is best computed: for a reduction its own; for another node those in which the reductions that it uses
/// can be computed with it, each result once; else its own shape and no rows.
Domain choose_domain(const BuildContext& context, int root);

/// A node to be written, and where its dimensions lie over the kernel's axes.
struct Request {
  int node = -1;
  Map dims;
};
/// Where a group touches a node: a coordinate for each dimension, over the kernel's axes. The node lies in memory, or is a gather.
struct Touch {
  int node = -1;
  Map at;
};
struct Group {
  std::vector<Request> requests;
  Kernel kernel;
  std::vector<Touch> touches;  // what it gathers, reads and writes, in this order
  bool settled = false;        // it was merged with its likes, and what it computes was weighed
};
/// A node that has to be in memory before the kernel can run.
struct Materialize {
  int node = -1;
  Cut cut;
};
struct Built {
  Group group;
  std::vector<Materialize> needed;
};
/// Builds groups, one after the other in the same tables.
class GroupBuilder {
 public:
  explicit GroupBuilder(const BuildContext& context);
  ~GroupBuilder();
  const BuildContext& context() const { return context_; }
  /// The kernel that computes the requests over the given axes.
  Built build(std::vector<Request> requests, Sizes sizes, int parallel, const Chunks& chunks);

 private:
  struct Tables;
  BuildContext context_;
  std::unique_ptr<Tables> tables_;
};

/// Whether an op below a gather is computed at the gathered places: there are no more of them than it has elements, or it only converts what is in
/// memory. Otherwise it is computed whole, and gathered from memory.
bool worth_gathering(const Graph& graph, int op, const Size& places);

/// The axes that the coordinates walk, as a bit each, if distinct points of these axes have distinct coordinates; none otherwise. Judged
/// by form: every axis in one place, digits of a mixed radix.
std::optional<std::uint64_t> one_to_one(const Map& map, const Sizes& sizes);
/// A bit for each axis in [first, last) of a size other than 1.
std::uint64_t axes_between(const Sizes& sizes, int first, int last);
/// Axis `split.axis` becomes two in the sizes; returns what each old axis is over the new ones.
std::vector<IndexExpr> split_axis(Sizes& sizes, int& parallel, const SplitAxis& split);

std::string two_stage_detail(const Graph& graph, const Node& node);

}  // namespace sinter::fuse
