// Kernel: a group of nodes that becomes one kernel, as values over the kernel's axes. Numbers are sizes: today's values with symbols
// behind them; jit/lower.hpp turns them into parameters.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fuse/cuts.hpp"
#include "fuse/graph.hpp"
#include "fuse/index.hpp"
#include "fuse/limits.hpp"

namespace sinter::fuse {

/// The values that one is computed from, -1 where there is none.
struct Operands : std::array<int, 6> {
  Operands() { fill(-1); }
  Operands(std::initializer_list<int> list) : Operands() { std::copy(list.begin(), list.end(), begin()); }
};

struct Value {
  enum class Kind : std::uint8_t { load, scalar, index, op, reduced, scan };
  // Places of a load's operands (see `args`); from kIndexed on also of an index'.
  static constexpr int kGuard = 0, kFill = 1, kIndexed = 2, kMaxIndexed = 4;
  Kind kind{};
  trace::Op op{};   // op; reduced, scan: the reduction
  DType dtype{};    // of the value
  DType operand{};  // op: of the operands
  // op: operands. reduced, scan: args[0] is what is combined; scan: args[1] what it starts from. load: the guard where it is read and what it is elsewhere (-1:
  // always read; zero); load and index: from kIndexed on the computed values among the index' terms.
  Operands args;
  int node = -1;     // the graph node it came from (load: the node whose buffer is read); -1: it serves to find others
  IndexExpr index;   // load: element of the buffer; index: the expression
  bool row = false;  // has a value at every row point
  int ready = 0;     // number of row passes that must be over before it can be computed
  double cost = 0;   // of computing it alone
  double share = 1;  // of the points, those where somebody wants it: pieces that are joined exclude each other
};

/// A node whose value this kernel writes.
struct Root {
  int node = -1;
  int value = -1;
  IndexExpr index;  // element of the node's buffer, row-major
};

/// The gather `node` takes an element at `value`, which is in range where the condition holds.
struct Check {
  int condition = -1, value = -1, node = -1;
};

/// A value in a persistent buffer. Values whose lives do not overlap share one: a pass reads a row point's persistent buffer before it writes it.
struct Kept {
  int value = -1, buffer = -1;
};

/// Where the persistent buffers are staged on chip. It is decided when the kernel is built; the schedule obeys it.
struct Staging {
  int blocks = 0;        // lanes along rows: blocks whose shared memory together holds a row's buffers (CPU: one, in L2); 0: there are no buffers
  bool columns = false;  // lanes along columns have room for them as well (GPU: in the registers of a block)
  friend bool operator==(const Staging&, const Staging&) = default;
};

/// Axis 0 counts chunks of `length` of an axis of `total`, the single row axis walks one of them; the last may be shorter. Length 0: no
/// chunks.
struct Chunks {
  Size length = 0, total = 0;
  bool same(const Chunks& other) const { return length == other.length && total == other.total; }
};

struct Kernel {
  std::shared_ptr<IndexSpace> space = IndexSpace::current();  // owns the expressions below
  Sizes sizes;                                                // of the axes: parallel first, then row
  int parallel = 0;
  std::vector<Value> values;  // operands before users
  std::vector<Root> roots;
  std::vector<Kept> kept;         // values that a later pass reads from a persistent buffer instead of computing them again
  std::vector<DType> persistent;  // what each persistent buffer holds, one element per row point
  Staging staging;                // where they lie
  std::vector<Check> checks;
  Chunks chunks;
  Cut cut;                         // why it ends where it does
  std::vector<std::string> notes;  // decisions inside: what is kept in persistent buffers, what is read again
  int row_axes() const { return static_cast<int>(sizes.size()) - parallel; }
  Size parallel_points() const;
  Size row_points() const;
  int passes() const;  // row passes: 1 + the largest `ready` of any value reduced or stored per row point
  int ops() const;     // elementwise ops and reductions
};

/// Whether an op, a reduction or a scan computes it; and whether its node is computed here, with everything that it needs to be found.
bool is_computed(const Value& value);
inline bool computes_node(const Value& value) { return value.node >= 0 && is_computed(value); }
bool is_root(const Kernel& kernel, int value);
bool has_scan(const Kernel& kernel);
/// Bytes of a row's persistent buffers.
Size persistent_bytes(const Kernel& kernel);
/// The row pass that stores a root: -1 for a root that is stored once per parallel point.
int root_pass(const Kernel& kernel, const Root& root);
/// The row values that each pass computes or takes from a persistent buffer, in the order of their numbers. `taken` are those from a persistent buffer.
struct RowPass {
  std::vector<int> computed, taken;
};
std::vector<RowPass> row_passes(const Kernel& kernel);
/// Estimate of the bytes of kernel parameters.
int parameter_bytes(const Kernel& kernel);
/// 32-bit registers of a value.
inline int registers_of(DType dtype) { return itemsize(dtype) == 8 ? 2 : 1; }
/// Registers that its values of the kernel's persistent buffers take at one point.
int kept_registers(const Kernel& kernel);
/// Upper estimate of 32-bit registers a thread holds at once, `vector` elements per thread, with what it stages at so many steps over its row or column.
int estimated_registers(const Kernel& kernel, int vector, int staged_steps = 0);
/// A node of the kernel whose value, put in memory, about halves it; -1 when nothing can be cut.
int halving_node(const Kernel& kernel);
/// Bytes that reading so many elements of a node moves: no more than the node has. And of all of it.
double bytes_read(const Graph& graph, int node, double elements);
double bytes_of(const Graph& graph, int node);
/// Bytes of memory read and written; a pass that reads a row again counts again.
double bytes_moved(const Graph& graph, const Kernel& kernel);

/// What a kernel costs: its traffic, and its arithmetic, which hides under the traffic.
struct Work {
  double bytes = 0, ops = 0;
  double seconds(const Limits& limits) const;
};
/// The cost of a kernel as it runs: the traffic of its passes, its arithmetic, and the time of both with its launch.
Work launched_work(const Graph& graph, const Kernel& kernel, const Limits& limits);
double launched_seconds(const Graph& graph, const Kernel& kernel, const Limits& limits);
/// Points of a kernel's axes, for estimates; an axis is asked for its size only where it is walked.
class Points {
 public:
  explicit Points(const Kernel& kernel) : kernel_(&kernel), sizes_(kernel.sizes.size(), -1) {}
  double of(std::uint64_t axes);

 private:
  const Kernel* kernel_;
  std::vector<double> sizes_;
};
/// What a kernel costs as it is, and as it would be. The kernel must not change meanwhile.
class KernelWork {
 public:
  struct Reads {
    int node;
    double elements;
  };
  KernelWork(const Graph& graph, const Kernel& kernel, const Limits& limits);
  const Work& all() const { return all_; }
  /// As if the node were read from memory: what nobody else needs is not computed.
  Work reading(int node);

 private:
  const Graph& graph_;
  const Kernel& kernel_;
  Points points_;
  std::vector<int> uses_;            // of a value
  std::vector<std::uint64_t> axes_;  // that a value changes along
  std::vector<double> share_;        // of a value: elements read, or operations
  std::vector<Reads> reads_;         // sorted by node, each once
  Work all_;
};

}  // namespace sinter::fuse
