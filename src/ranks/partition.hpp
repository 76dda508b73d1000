// The partition pass turns recorded operations over global shapes into the operations of one place over its parts, with exchanges as library calls between
// them. Operations before an exchange fuse into the kernel that writes the send buffer, and operations after it read the receive buffer. The result is an
// ordinary recording, so plans, caches and executors do not depend on ranks.
//
// An exchange is two calls: its start and its finish. Every place runs the starts in the order of the global graph, and likewise the finishes, because each
// call has the previous one as an operand, its link. A finish also comes after its own start, and so after all earlier starts. Therefore no two places wait for
// each other: take the earliest exchange in whose finish a place waits; no other place can be in a later finish without having started this exchange.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ranks/exchange.hpp"
#include "ranks/sharding.hpp"

namespace sinter::ranks {

/// The graph over global shapes below some roots. Each root has a spread, and all spreads are on one mesh.
class Recording {
 public:
  /// With `keep`, intermediate values that the user holds and that were computed before become roots, too.
  explicit Recording(std::vector<trace::RecordedPtr> roots, bool keep = false);

  const MeshPtr& mesh() const { return mesh_; }
  const std::vector<trace::RecordedPtr>& roots() const { return roots_; }
  /// Compares the recordings of all ranks. If they differ, it throws RankError on every rank. Only values with a spread are compared. Unsharded values may be
  /// evaluated on some ranks only, for example because one rank printed them. If ranks hold different intermediate values, these are removed from the roots on
  /// all ranks, and the result is true.
  bool compare();
  /// Returns a text such as "sum (train.cpp:12)", from the first root.
  std::string description() const;

  /// Returns the words that determine a partition: the structure with its literals and source lines, and which of its leaves are the same.
  std::vector<std::uint64_t> key() const;
  /// Returns the values that the place of this number on the rank reads: whole leaves, then its parts of evaluated values.
  std::vector<trace::RecordedPtr> leaves(std::size_t number) const;

 private:
  friend class Partition;
  bool is_kept(std::size_t k) const;
  void add(const trace::RecordedPtr& node, trace::Operands inputs);
  std::size_t operations() const { return hashes_.size() - 1; }
  std::string described(std::size_t operation) const;
  int number_of(const trace::RecordedPtr& node) const { return numbers_.at(node.get()); }  // -1 - k for leaf k

  std::vector<trace::RecordedPtr> roots_;
  MeshPtr mesh_;
  std::unordered_map<const trace::Recorded*, int> numbers_;
  std::vector<trace::RecordedPtr> nodes_;  // operands before users, in an order that is the same on all ranks
  std::vector<trace::Operands> inputs_;
  std::vector<trace::RecordedPtr> leaves_;  // whole values that are evaluated or have no operands
  std::vector<int> uses_;
  std::size_t asked_;                        // the roots that were not added
  std::vector<std::uint64_t> hashes_;        // the mesh's hash, then a running hash for each operation that has a spread
  std::vector<std::size_t> spread_numbers_;  // for each node: the operations up to it, itself included
};

class Partition {
 public:
  /// A frozen partition is evaluated many times: no exchange runs in advance, and sums of whole values are part of it.
  Partition(const Recording& recording, const Place& place, bool frozen = false);

  /// The values that the place evaluates: its part of each root, then the last links.
  const std::vector<trace::RecordedPtr>& roots() const { return local_; }
  Exchanges& exchanges() { return exchanges_; }

 private:
  class Pass;
  friend class KnownPartitions;
  Partition(std::vector<trace::RecordedPtr> roots, Exchanges exchanges) : local_(std::move(roots)), exchanges_(std::move(exchanges)) {}
  std::vector<trace::RecordedPtr> local_;
  Exchanges exchanges_;
};

/// The partitions of earlier evaluations, without the elements that they read: a loop partitions its formula once.
std::shared_ptr<KnownPartitions> no_partitions();
/// Returns how many recordings were partitioned on the mesh.
std::size_t partitions_made(const MeshState& mesh);

/// Evaluates the parts of this rank: one evaluation for each place, at the same time.
using Evaluate = std::function<void(const std::vector<trace::RecordedPtr>&)>;
void evaluate_parts(const std::vector<trace::RecordedPtr>& roots, const Evaluate& evaluate);

/// Calls `work` for each of `count` places at the same time. The first exception ends the places that wait for the failed one, and is thrown again.
void on_each_place(std::size_t count, const std::function<void(std::size_t, const std::shared_ptr<Handover>&)>& work);
/// Sets the node's parts, whose elements are in memory. The argument of `part` is the number of the place.
void set_parts(trace::Recorded& node, const std::function<trace::RecordedPtr(std::size_t)>& part);

/// Evaluates a value that has a spread. Returns this rank's parts of the value, each once, with their blocks.
std::vector<std::pair<Block, trace::RecordedPtr>> own_parts(const trace::RecordedPtr& node);
/// Returns the sharding of a tensor of this type and shape along the named axes of a mesh. Throws ShardingError if the names do not fit.
Sharding sharding_of(const trace::Site& site, DType dtype, const Shape& shape, const Mesh& mesh, const std::vector<std::string>& axes);

/// Returns the nodes that have a spread, grouped by mesh.
std::vector<std::vector<trace::RecordedPtr>> by_mesh(std::span<const trace::RecordedPtr> nodes);
/// Returns the first place of this rank: explain describes its plan.
Place own_place(const trace::RecordedPtr& node);
/// Returns the same value with all its elements on every rank; this is the node itself if every rank has them already.
const trace::RecordedPtr& whole_of(const trace::RecordedPtr& node);
/// Returns the tensor's value in another sharding; this is the node itself if it has that sharding already.
trace::RecordedPtr resharded(const trace::Site& site, const trace::RecordedPtr& node, Sharding to);

}  // namespace sinter::ranks
