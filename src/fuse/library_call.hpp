// LibraryCall: a step that a device's library computes, as a plain value. The device runs it; the engine only orders it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "fuse/limits.hpp"
#include "fuse/size.hpp"
#include "trace/graph.hpp"

namespace sinter::fuse {

/// An operand in memory, in a layout that the op's row takes: element (i, j, ...) of `shape` is at offset + i * strides[0] +
/// j * strides[1] + ... of the node's buffer. A stride of 0 repeats what is broadcast.
template <class Number> struct LibraryOperandOf {
  int node = -1;
  DType dtype{};
  Number offset = 0;
  std::vector<Number> shape, strides;
};

template <class Number> struct LibraryCallOf {
  trace::Op op{};
  DType dtype{};     // that it computes in
  DType stored{};    // of the result: the same, or a shorter float that the library rounds to
  bool row = false;  // matmul: the last operand is a row that is added to each of the product's
  int node = -1;     // the result: contiguous, of this shape
  int call = -1;     // number among the recorded graph's calls
  std::vector<Number> shape;
  std::vector<LibraryOperandOf<Number>> operands;
  std::vector<std::int64_t> ints;  // the op's attributes
  bool fast_math = false;          // float32 may be multiplied in a shorter type
};

using LibraryOperand = LibraryOperandOf<std::int64_t>;
using LibraryCall = LibraryCallOf<std::int64_t>;  // as a device runs it
using PlannedOperand = LibraryOperandOf<Size>;
using PlannedCall = LibraryCallOf<Size>;  // as a plan holds it, for other sizes too

/// Every number of the call; the call with today's numbers; and with others, in the same order.
Sizes numbers_of(const PlannedCall& call);
LibraryCall todays(const PlannedCall& call);
LibraryCall bound(const LibraryCall& call, const std::int64_t* numbers);
/// Whether the op's library reads an operand of this shape that lies in memory with these strides, in elements.
bool reads_layout(trace::Op op, const Sizes& shape, const Sizes& strides);
/// Whether the call is one that its op's record allows: then it reads its operands' elements and writes its result's, and nothing else. A call of a plan that
/// was made here always is.
bool is_sound(const LibraryCall& call);

/// Whether the device computes the op, of this dtype, by a library of its own.
bool has_library(const Limits& limits, trace::Op op, DType dtype);
/// Whether the host computes the op for a device that has no library for it; else other primitives stand for it.
bool stays_on_host(trace::Op op);
/// True if a GPU's library multiplies matrices stored in the one type into the other as it is: a 16-bit float into the type it computes in.
bool multiplies_into(DType stored, DType result);
/// The same of a CPU: bytes, of either kind, into int32.
bool multiplies_bytes_into(DType stored, DType result);

/// How the op's library gives its result. As pieces: a kernel can compute from each while it is in a cache. As loose ones: each lies in the thread's own memory
/// where nobody else reads the result.
enum class Pieces : std::uint8_t { whole, pieces, loose };
Pieces pieces_of(trace::Op op);

/// "matmul (64, 32) (32, 16) + (16,), as bfloat16", with today's sizes.
std::string to_string(const PlannedCall& call);
std::string to_string(const LibraryCall& call);

}  // namespace sinter::fuse
