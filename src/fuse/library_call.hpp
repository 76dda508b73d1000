// LibraryCall: a step that a device's library computes, as a plain value. The device runs it; the engine only orders it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "fuse/graph.hpp"
#include "fuse/limits.hpp"
#include "trace/graph.hpp"

namespace sinter::fuse {

/// An operand in memory, in a layout that the op's record accepts: element (i, j, ...) of `shape` is at offset + i * strides[0] +
/// j * strides[1] + ... of the node's buffer. A stride of 0 repeats a broadcast element.
template <class Number> struct LibraryOperandOf {
  int node = -1;
  DType dtype{};
  Number offset = 0;
  std::vector<Number> shape, strides;
};

template <class Number> struct LibraryCallOf {
  trace::Op op{};
  DType dtype{};     // the type in which it computes
  DType stored{};    // type of the result: the same, or a shorter float to which the library rounds
  bool row = false;  // matmul: the last operand is a row that is added to each row of the product
  int node = -1;     // the result: a contiguous node of this shape
  int call = -1;     // number among the recorded graph's calls
  std::vector<Number> shape;
  std::vector<LibraryOperandOf<Number>> operands;
  std::vector<std::int64_t> ints;  // attributes of the op
  bool fast_math = false;          // float32 may be multiplied in a shorter type
};

using LibraryOperand = LibraryOperandOf<std::int64_t>;
using LibraryCall = LibraryCallOf<std::int64_t>;  // in the form that a device runs
using PlannedOperand = LibraryOperandOf<Size>;
using PlannedCall = LibraryCallOf<Size>;  // in the form of a plan, also for other sizes

/// Returns all numbers of the call; the call with the present numbers; and the call with other numbers in the same order.
Sizes numbers_of(const PlannedCall& call);
LibraryCall todays(const PlannedCall& call);
LibraryCall bound(const LibraryCall& call, const std::int64_t* numbers);
/// Calls visit(operand, k) for each operand of a bound call; its offset is number k of the call's numbers.
template <class Call, class Visit> void each_offset(Call& call, Visit visit) {
  std::size_t at = call.shape.size();
  for (auto& operand : call.operands) {
    visit(operand, at);
    at += 1 + 2 * operand.shape.size();
  }
}
/// Returns whether the op's library reads an operand of this shape with these strides, in elements.
bool reads_layout(trace::Op op, const Sizes& shape, const Sizes& strides);
/// Returns whether the op's record allows the call. Then it reads only its operands' elements and writes only its result's. This is always true for a plan that
/// this process made.
bool is_sound(const LibraryCall& call);

/// Returns whether the device has a library for the op with this dtype.
bool has_library(const Limits& limits, trace::Op op, DType dtype);
/// Returns whether the op can be computed by kernels that sort by digits, on a GPU whose limits allow it.
bool by_digits(trace::Op op);
/// Returns the number of passes of such a call over its items; the number of passes that sort by an item's row; and the bytes that the call moves in addition
/// to its operands and its result.
int passes_by_digits(const LibraryCall& call);
int passes_over_rows(const LibraryCall& call);
double bytes_by_digits(const LibraryCall& call);
/// Returns whether the host computes the op for a device without a library for it. Otherwise other primitives replace the call.
bool stays_on_host(trace::Op op);
/// Returns whether a GPU's library multiplies matrices of the first type into the second without a conversion: a 16-bit float into the type in which it
/// computes.
bool multiplies_into(DType stored, DType result);
/// Returns the same for a CPU: bytes of either signedness into int32.
bool multiplies_bytes_into(DType stored, DType result);

/// The form in which the op's library gives its result. pieces: a kernel can read each piece while it is in a cache. loose: each piece is in memory of the
/// thread, if only the epilogue reads the result.
enum class Pieces : std::uint8_t { whole, pieces, loose };
Pieces pieces_of(trace::Op op);

/// The calls that start and finish an exchange between ranks. Their operands after the part that is sent are links: they order the calls, and are not read.
inline bool starts_exchange(trace::Op op) { return op == trace::Op::send_part; }
inline bool finishes_exchange(trace::Op op) { return op == trace::Op::receive_part; }
inline std::size_t operands_read(const LibraryCall& call) { return starts_exchange(call.op) ? 1 : finishes_exchange(call.op) ? 0 : call.operands.size(); }

/// Returns "matmul (64, 32) (32, 16) + (16,), as bfloat16", with the present sizes.
std::string to_string(const PlannedCall& call);
std::string to_string(const LibraryCall& call);

}  // namespace sinter::fuse
