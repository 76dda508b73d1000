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

/// Every number of the call, and the call with these numbers in the same order.
Sizes numbers_of(const PlannedCall& call);
LibraryCall bound(const PlannedCall& call, const std::int64_t* numbers);
/// The same with constants for numbers.
PlannedCall planned(const LibraryCall& call);
/// True if the op's library takes an operand of this shape that lies in memory with these strides, in elements.
bool library_takes(trace::Op op, const Sizes& shape, const Sizes& strides);

/// True if the device computes the op, of this dtype, by a library of its own.
bool has_library(const Limits& limits, trace::Op op, DType dtype);
/// True if a GPU's library multiplies matrices stored in the one type into the other as it is: a 16-bit float into the type it computes in.
bool multiplies_into(DType stored, DType result);
/// The same of a CPU: bytes, of either kind, into int32.
bool multiplies_bytes_into(DType stored, DType result);

/// True if the op's library gives its result piece by piece, so that what follows can be computed from each while it is in a cache.
bool comes_in_pieces(trace::Op op);

/// "matmul (64, 32) (32, 16) + (16,), as bfloat16", with today's sizes.
std::string to_string(const PlannedCall& call);
std::string to_string(const LibraryCall& call);

}  // namespace sinter::fuse
