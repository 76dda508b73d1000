// The partition pass: from the recorded operations over global shapes to those of one place over its parts, with exchanges as library calls between them. What
// precedes an exchange fuses into the kernel that writes what is sent, and what follows reads what was received. The result is an ordinary recording, so all
// that comes later (plans, caches, executors) knows nothing of ranks.
//
// Every place runs the exchanges in the order of the global graph: each call has the call before it as an operand, its link, whatever else the plans do.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "ranks/exchange.hpp"
#include "ranks/sharding.hpp"

namespace sinter::ranks {

class Partition {
 public:
  struct How {
    bool keep = false;    // values on the way that the user holds, and that were computed before, join the roots
    bool frozen = false;  // it is evaluated many times: no exchange is computed in advance, and sums of whole values are part of it
  };
  /// Partitions what the nodes need; each has a spread, and all spreads are on one mesh.
  Partition(const std::vector<trace::RecordedPtr>& roots, const Place& place, How how);

  /// The roots over global shapes, and what the place evaluates: its part of each, then the last link.
  const std::vector<trace::RecordedPtr>& global_roots() const { return global_; }
  const std::vector<trace::RecordedPtr>& roots() const { return local_; }
  Exchanges& exchanges() { return exchanges_; }
  /// Throws RankError on all ranks where they have not recorded the same.
  void compare() const;

 private:
  class Pass;
  MeshPtr mesh_;
  std::vector<trace::RecordedPtr> global_, local_;
  Exchanges exchanges_;
  std::uint64_t hash_ = 0;
  std::size_t operations_ = 0;
};

/// Evaluates the parts of this rank: one evaluation for each place, at the same time.
using Evaluate = std::function<void(const std::vector<trace::RecordedPtr>&)>;
void evaluate_parts(const std::vector<trace::RecordedPtr>& roots, const Evaluate& evaluate);

/// Works for each of this many places at the same time. The first exception ends the others where they wait for the place, and is thrown again.
void on_each_place(std::size_t count, const std::function<void(std::size_t, const std::shared_ptr<Handover>&)>& work);
/// Gives a node its parts, by the number of the place, whose elements are in memory.
void set_parts(trace::Recorded& node, const std::function<trace::RecordedPtr(std::size_t)>& part);

/// Returns the nodes that have a spread in groups that can be partitioned, those of one mesh together.
std::vector<std::vector<trace::RecordedPtr>> by_mesh(std::span<const trace::RecordedPtr> nodes);
/// Returns the first place of this rank, of which explain tells.
Place own_place(const trace::RecordedPtr& node);
/// Returns the same value with all its elements on every rank; the node itself where that is so.
const trace::RecordedPtr& whole_of(const trace::RecordedPtr& node);
/// Returns the tensor's value in another sharding; the node itself where it has this one.
trace::RecordedPtr resharded(const trace::Site& site, const trace::RecordedPtr& node, Sharding to);

}  // namespace sinter::ranks
