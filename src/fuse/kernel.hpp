// Kernel: a group of nodes that becomes one kernel, as values over the kernel's axes. Its numbers are of type Size, which has symbols and present values;
// jit/lower.hpp turns them into parameters.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fuse/boundary.hpp"
#include "fuse/graph.hpp"
#include "fuse/index.hpp"
#include "fuse/limits.hpp"

namespace sinter::fuse {

/// The operands of a value; -1 for none.
struct ValueArgs : std::array<int, 6> {
  ValueArgs() { fill(-1); }
  ValueArgs(std::initializer_list<int> list) : ValueArgs() { std::copy(list.begin(), list.end(), begin()); }
};

struct Value {
  enum class Kind : std::uint8_t { load, scalar, index, op, reduced, scan };
  // Positions of a load's operands in `args`; from kIndexed on they are also an index' operands.
  static constexpr int kGuard = 0, kFill = 1, kIndexed = 2, kMaxIndexed = 4;
  Kind kind{};
  trace::Op op{};   // op; reduced, scan: the reduction
  DType dtype{};    // type of the value
  DType operand{};  // op: type of the operands
  // op: the operands. reduced, scan: args[0] is the combined value; scan: args[1] is the initial value; reduced: args[1] and args[2] are -1, or bound the
  // positions that are not neutral (Node::taken). load: the guard of the read, and the value where the guard is false (-1: always read; zero). load and index:
  // from kIndexed on the computed values among the index' terms.
  ValueArgs args;
  int node = -1;     // the graph node (load: the node whose buffer is read); -1: the value only computes positions of others
  IndexExpr index;   // load: element of the buffer; index: the expression
  bool row = false;  // it has a value at every row point
  int ready = 0;     // number of row passes that must end before it can be computed
  double cost = 0;   // cost of computing it from its operands
  double share = 1;  // share of the points at which it is needed, because the parts of a concatenation exclude each other
};

/// A node that this kernel writes.
struct Root {
  int node = -1;
  int value = -1;
  IndexExpr index;  // element of the node's buffer, row-major
  int guard = -1;   // a bool value; where it is false, nothing is stored. -1: every point stores
};

/// A check: the gather `node` takes an element at position `value`, which is in range if the condition holds.
struct Check {
  int condition = -1, value = -1, node = -1;
};

/// A value in a persistent buffer. Values with disjoint live ranges share one: a pass reads a row point's persistent buffer before it writes it.
struct Staged {
  int value = -1, buffer = -1;
};

/// The on-chip memory in which persistent buffers are staged. It is decided when the kernel is built, and the schedule obeys it.
struct Staging {
  int blocks = 0;        // lanes along rows: number of blocks whose shared memory together holds a row's buffers (CPU: one, in L2); 0: there are no buffers
  bool columns = false;  // there is room for them even with lanes along columns (GPU: in the registers of a block)
  friend bool operator==(const Staging&, const Staging&) = default;
};

/// Axis 0 counts chunks of `length` of an axis of `total`; the only row axis is one chunk. The last chunk may be shorter. Length 0: no chunks.
struct Chunks {
  Size length = 0, total = 0;
  bool same(const Chunks& other) const { return length == other.length && total == other.total; }
};

struct Kernel {
  std::shared_ptr<IndexSpace> space = IndexSpace::current();  // owns the expressions below
  Sizes sizes;                                                // sizes of the axes: parallel first, then row
  int parallel = 0;
  std::vector<Value> values;  // operands before users
  std::vector<Root> roots;
  std::vector<Staged> staged;     // values that a later pass reads from a persistent buffer instead of computing them again
  std::vector<DType> persistent;  // type of each persistent buffer, which has one element for each row point
  Staging staging;                // the memory of these buffers
  std::vector<Check> checks;
  Chunks chunks;
  Boundary boundary;               // split reason
  std::vector<std::string> notes;  // decisions inside the kernel: which values are staged, which are read again
  int row_axes() const { return static_cast<int>(sizes.size()) - parallel; }
  Size parallel_points() const;
  Size row_points() const;
  int passes() const;  // number of row passes: 1 + the largest `ready` of any value that is reduced or stored at each row point
  int ops() const;     // number of elementwise ops and reductions
};

/// Return whether an op, a reduction or a scan computes the value, and whether such a value is also a node of the graph.
bool is_computed(const Value& value);
inline bool computes_node(const Value& value) { return value.node >= 0 && is_computed(value); }
bool is_root(const Kernel& kernel, int value);
bool has_scan(const Kernel& kernel);
bool has_ranges(const Kernel& kernel);
/// Returns the bytes of a row's persistent buffers.
Size persistent_bytes(const Kernel& kernel);
/// Returns the row pass that stores a root; -1 for a root that is stored once for each parallel point.
int root_pass(const Kernel& kernel, const Root& root);
/// The row values that each pass computes or takes from a persistent buffer, in the order of their numbers. `taken`: the values from a persistent buffer.
struct RowPass {
  std::vector<int> computed, taken;
};
std::vector<RowPass> row_passes(const Kernel& kernel);
/// Estimate of the bytes of kernel parameters.
int parameter_bytes(const Kernel& kernel);
/// Returns the 32-bit registers of a value.
inline int registers_of(DType dtype) { return itemsize(dtype) == 8 ? 2 : 1; }
/// Returns the registers that the values of the kernel's persistent buffers take at one point.
int staged_registers(const Kernel& kernel);
/// Returns an upper estimate of the 32-bit registers that a thread uses at once, with vectors of `vector` elements and with values staged for `steps` steps
/// over its row or column.
int estimated_registers(const Kernel& kernel, int vector, int staged_steps = 0);
/// Returns a node of the kernel that about halves it if it is materialised; -1 if the kernel cannot be split.
int halving_node(const Kernel& kernel);
/// Returns the bytes that reading this number of elements of a node moves, at most all of the node's bytes; and the bytes of reading all of it.
double bytes_read(const Graph& graph, int node, double elements);
double bytes_of(const Graph& graph, int node);
/// Bytes that move between memory and the processor (or cheap operations), for any sizes: the sum of the terms and of the readings.
struct Traffic {
  struct Term {
    double bytes;  // for each element
    Size elements;
  };
  /// A read of a node, either completely or at some points; the one with fewer bytes counts.
  struct Reading {
    Term whole;
    std::vector<Term> some;
  };
  std::vector<Term> terms;
  std::vector<Reading> readings;
  void add(double bytes, const Size& elements);
  void add(const Traffic& other);
  /// Adds a reading of the node: of all of it, or of these parts.
  void add_reading(const Graph& graph, int node, Traffic parts);
  /// Returns the bytes for the present sizes; leaves no guard.
  double now() const;
};
/// Returns the traffic of all of a node, once.
Traffic traffic_of(const Graph& graph, int node);
/// Returns the memory that a kernel reads and writes. A pass that reads a row again counts again, unless a cache still has the row.
Traffic traffic(const Graph& graph, const Kernel& kernel, const Limits& limits);
/// Returns the cost of a kernel's arithmetic, in cheap operations: each value at all points that compute it.
Traffic arithmetic(const Kernel& kernel, const Limits& limits);

/// The cost of a kernel: its traffic, and its arithmetic, which overlap in time.
struct Work {
  double bytes = 0, ops = 0;
  double seconds(const Limits& limits) const;
};
/// Returns the cost of the kernel as it runs: the traffic of its passes, its arithmetic, and the time of both with the launch.
Work launched_work(const Graph& graph, const Kernel& kernel, const Limits& limits);
double launched_seconds(const Graph& graph, const Kernel& kernel, const Limits& limits);
/// Counts points of a kernel's axes, for estimates. The size of an axis is used, and guarded, only if the axis counts.
class Points {
 public:
  explicit Points(const Kernel& kernel) : kernel_(&kernel), sizes_(kernel.sizes.size(), -1) {}
  double of(std::uint64_t axes);

 private:
  const Kernel* kernel_;
  std::vector<double> sizes_;
};
/// Compares the cost of a kernel with the cost that it would have after a change. The kernel itself must not change meanwhile.
class KernelWork {
 public:
  struct Reads {
    int node;
    double elements;
  };
  KernelWork(const Graph& graph, const Kernel& kernel, const Limits& limits);
  const Work& all() const { return all_; }
  /// Returns the cost if the node were read from memory: values that only this node needs would not be computed.
  Work reading(int node);

 private:
  const Graph& graph_;
  const Kernel& kernel_;
  Points points_;
  std::vector<int> uses_;            // number of uses of each value
  std::vector<std::uint64_t> axes_;  // axes along which each value changes
  std::vector<double> share_;        // for each value: elements read, or operations
  std::vector<Reads> reads_;         // sorted by node, each node once
  Work all_;
};

}  // namespace sinter::fuse
