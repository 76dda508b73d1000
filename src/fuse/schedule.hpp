// The fusion scheduler: a recorded graph becomes a plan of as few kernels as limits and cost allow.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "fuse/kernel.hpp"
#include "fuse/limits.hpp"

namespace sinter::fuse {

/// A matrix operand in memory: element (batch, row, column) of the node's buffer is at offset + batch strides + row * row_stride +
/// column * column_stride; one of the two strides is 1.
struct MatrixOperand {
  int node = -1;
  Size offset = 0, row_stride = 0, column_stride = 0;
  Sizes batch_strides;  // one per batch axis of the result; 0 where broadcast
};
struct MatmulCall {
  int node = -1;
  DType dtype{};
  Sizes batch;
  Size m = 0, n = 0, k = 0;
  MatrixOperand a, b;
  /// Everything that depends on sizes, and the call with other numbers in the same order.
  Sizes numbers() const;
  MatmulCall with(const std::int64_t* numbers) const;
};

struct Step {
  enum class Kind : std::uint8_t { kernel, matmul };
  Kind kind = Kind::kernel;
  Kernel kernel;
  MatmulCall matmul;
  double bytes_moved = 0;
  double bytes_unfused = 0;  // of the same nodes, one kernel per op
  std::vector<int> writes() const;
  std::vector<int> reads() const;
  const Cut& cut() const { return kernel.cut; }
};

struct Plan {
  Graph graph;                   // as scheduled: two-stage reductions are two nodes
  std::vector<Step> steps;              // in an order that may be run
  std::map<int, int> aliases;           // an output that is another node's buffer under another shape
  std::vector<int> last_use;            // node -> the last step that reads it; -1 never, or wanted as output
  double bytes_moved = 0, bytes_unfused = 0;
};

/// Nodes that have to be in memory, decided outside (a compiler's verdict).
using Forced = std::map<int, Cut>;

/// The graph that schedule() takes: over symbols; two-stage reductions are two nodes; on CUDA matmul is multiply and sum.
Graph prepare(const trace::Graph& graph, const Limits& limits);

/// Deterministic: depends on its arguments alone. `forced` holds nodes of this graph.
Plan schedule(const Graph& prepared, const Limits& limits, const Forced& forced = {});

}  // namespace sinter::fuse
