// LibraryCall: a step that a device's library computes, as a plain value. The device runs it; the engine only orders it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "trace/graph.hpp"

namespace sinter::fuse {

/// An operand in memory, in a layout that the op's row takes: element (i, j, ...) of `shape` is at offset + i * strides[0] +
/// j * strides[1] + ... of the node's buffer. A stride of 0 repeats what is broadcast.
struct LibraryOperand {
  int node = -1;
  std::int64_t offset = 0;
  Shape shape;
  std::vector<std::int64_t> strides;
};

struct LibraryCall {
  trace::Op op{};
  DType dtype{};
  int node = -1;  // the result: contiguous, of this shape
  Shape shape;
  std::vector<LibraryOperand> operands;
};

/// "matmul (64, 32) (32, 16)".
std::string to_string(const LibraryCall& call);

}  // namespace sinter::fuse
