// Kernel: a group of nodes that becomes one kernel, as values over the kernel's axes. Numbers are still concrete here;
// jit/lower.hpp turns them into parameters.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "fuse/cuts.hpp"
#include "fuse/index.hpp"
#include "fuse/limits.hpp"
#include "trace/graph.hpp"

namespace sinter::fuse {

struct Value {
  enum class Kind : std::uint8_t { load, scalar, index, op, reduced };
  Kind kind{};
  trace::Op op{};       // op; reduced: the reduction
  DType dtype{};        // of the value
  DType operand{};      // op: of the operands
  int args[3] = {-1, -1, -1};  // op: operands; reduced: args[0] is the value it reduces
  int node = -1;        // the graph node it came from (load: the node whose buffer is read)
  IndexExpr index;      // load: element of the buffer; index: the expression
  bool row = false;     // has a value at every row point
  int ready = 0;        // number of row passes that must be over before it can be computed
  double cost = 0;      // of computing it and all it needs, slots aside
};

/// A node whose value this kernel writes.
struct Root {
  int node = -1;
  int value = -1;
  IndexExpr index;  // element of the node's buffer, row-major
};

/// A value in a slot. Values whose lives do not overlap share one: a pass reads a row point's slot before it writes it.
struct Kept {
  int value = -1, slot = -1;
};

struct Kernel {
  std::shared_ptr<IndexSpace> space = IndexSpace::current();  // owns the expressions below
  std::vector<std::int64_t> sizes;  // of the axes: parallel first, then row
  int parallel = 0;
  std::vector<Value> values;        // operands before users
  std::vector<Root> roots;
  std::vector<Kept> kept;           // values that a later pass reads from a slot instead of computing them again
  std::vector<DType> slots;         // what each slot holds, one element per row point
  // A two-stage reduction's first stage: axis 0 counts chunks, the single row axis walks one chunk.
  std::int64_t chunk = 0, chunk_total = 0;
  Cut cut;                          // why it ends where it does
  std::vector<std::string> notes;   // decisions inside: what is kept in slots, what is read again
  int row_axes() const { return static_cast<int>(sizes.size()) - parallel; }
  std::int64_t parallel_points() const;
  std::int64_t row_points() const;
  int passes() const;               // row passes: 1 + the largest `ready` of any value reduced or stored per row point
  int ops() const;                  // elementwise ops and reductions
};

/// The row pass that stores a root: -1 for a root that is stored once per parallel point.
int root_pass(const Kernel& kernel, const Root& root);
/// Estimate of the bytes of kernel parameters.
int parameter_bytes(const Kernel& kernel);
/// Upper estimate of 32-bit registers a thread holds at once, `vector` elements per thread.
int live_registers(const Kernel& kernel, int vector);
/// A node of the kernel whose value, put in memory, about halves it; -1 when nothing can be cut.
int halving_node(const Kernel& kernel);
/// Bytes of memory read and written.
double bytes_moved(const trace::Graph& graph, const Kernel& kernel);

}  // namespace sinter::fuse
