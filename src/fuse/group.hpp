// Builds one group: from its roots down through all nodes that can be computed at the same points. group.cpp has the decisions, kernel.hpp the result.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fuse/kernel.hpp"

namespace sinter::fuse {

/// The limits of what a group may compute.
struct BuildContext {
  const Graph* graph;
  const Limits* limits;
  const std::vector<char>* in_memory;  // node -> whether a kernel writes it, so that it is read from memory
  const std::vector<char>* reduces;    // node -> whether it depends on a reduction
  int max_ops;                         // maximum number of ops of one kernel
  bool merged = false;                 // the group is merged from existing groups
};

/// The points of a kernel, and the positions of a root's dimensions among its axes. Axes of size 1 are omitted.
struct Domain {
  Sizes sizes;  // sizes of the axes: parallel first, then row
  int parallel = 0;
  Map dims;
  Chunks chunks{};
};
/// Returns the best axes for computing a root. For a reduction they are its own axes. For another node they are axes over which the reductions that it uses can
/// be computed with it, each result once; if there are none, the node's own shape without rows.
Domain choose_domain(const BuildContext& context, int root);

/// A node to write, and its dimensions as expressions over the kernel's axes. It is stored where the dimensions of `part`, one bit each, lie inside of it.
struct Request {
  int node = -1;
  Map dims;
  std::uint64_t part = 0;
};
/// The elements of a node that a group accesses: a coordinate for each dimension, over the kernel's axes. The node is in memory, or is a gather.
struct Touch {
  int node = -1;
  Map at;
};
struct Group {
  std::vector<Request> requests;
  Kernel kernel;
  std::vector<Touch> touches;  // gathers, reads and writes, in this order
  bool settled = false;        // the group was merged with its siblings, and its values were examined
};
/// A node that must be in memory before the kernel can run.
struct Materialize {
  int node = -1;
  Boundary boundary;
};
struct Built {
  Group group;
  std::vector<Materialize> needed;
};
/// Builds groups one after the other, reusing its tables.
class GroupBuilder {
 public:
  explicit GroupBuilder(const BuildContext& context);
  ~GroupBuilder();
  const BuildContext& context() const { return context_; }
  /// Builds the kernel that computes the requests over the given axes.
  Built build(std::vector<Request> requests, Sizes sizes, int parallel, const Chunks& chunks);

 private:
  struct Tables;
  BuildContext context_;
  std::unique_ptr<Tables> tables_;
};

/// Returns whether an op below a gather is computed at the gathered positions: there must be few enough positions for the op's elements, or the op only
/// converts a value in memory. Otherwise the op is computed whole, and gathered from memory.
bool worth_gathering(const Graph& graph, int op, const Size& places);

/// Returns the axes on which the coordinates depend, as bits, if distinct points of these axes have distinct coordinates; otherwise nothing. This is decided by
/// the form: every axis must occur once, and the terms must be digits of a mixed radix.
/// `axes_of_value` returns the axes along which a computed position changes: its places count as one to one, because a gather has no more of them than its
/// source has elements. Without it there are no computed positions.
std::optional<std::uint64_t> one_to_one(const Map& map, const Sizes& sizes, const std::function<std::uint64_t(int value)>& axes_of_value = {});
/// Returns a bit for each axis in [first, last) whose size is not 1.
std::uint64_t axes_between(const Sizes& sizes, int first, int last);
/// Splits axis `split.axis` of the sizes in two. Returns each old axis as an expression over the new ones.
std::vector<IndexExpr> split_axis(Sizes& sizes, int& parallel, const SplitAxis& split);

std::string two_stage_detail(const Graph& graph, const Node& node);

}  // namespace sinter::fuse
