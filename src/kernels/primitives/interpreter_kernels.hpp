// The interpreter's inner loops: one elementwise op, or one step of a reduction, over a tile of neighbouring elements.
#pragma once
#include <cstdint>

#include "sinter/dtype.hpp"
#include "trace/primitives.hpp"

namespace sinter::kernels {

using trace::Op;

/// Elements of a tile at most; tiles of this many float32 values keep several operands in L1.
inline constexpr std::int64_t kTile = 1024;

/// out[i] = op(args[0][i], args[1][i], args[2][i]) for i < n.
using TileFn = void (*)(std::int64_t n, const void* const* args, void* out);

/// Of the operands of a binary op, the one that is a single value instead of a tile.
enum class Uniform : std::uint8_t { none, first, second };

/// The loop for an op over operands of type `operand` (for where: of args[1] and args[2]); null when the op does not take
/// that type. Only binary ops come with a uniform operand.
TileFn elementwise_kernel(Op op, DType operand, DType result, Uniform uniform = Uniform::none);

/// What a reduction does with tiles of elements of its own type. The order is the caller's: jit/reduction_order.hpp.
struct ReductionKernels {
  void (*start)(std::int64_t n, void* parts);  // the neutral element
  /// parts[i % lanes] = parts[i % lanes] combined with values[i], for i < n in order.
  void (*combine)(std::int64_t n, std::int64_t lanes, const void* values, void* parts);
};
ReductionKernels reduction_kernels(Op reduction, DType dtype);

/// What the values come to one after the other, in the order of jit/reduction_order.hpp. Sums and products of float32 are carried on in
/// float64.
struct ScanKernels {
  void (*start)(std::int64_t n, void* so_far);                                                       // the neutral element
  void (*row)(std::int64_t n, std::int64_t lanes, const void* values, void* so_far, void* results);  // of one row, by steps of so many lanes
  void (*lanes)(std::int64_t n, const void* values, void* so_far, void* results);                    // each a row of its own
};
ScanKernels scan_kernels(Op reduction, DType dtype);

// Moving elements of itemsize `bytes` between a tile and memory; indices count elements.
void fill(int bytes, std::int64_t n, const void* value, void* out);
void gather(int bytes, std::int64_t n, const void* from, std::int64_t start, std::int64_t stride, void* out);
void gather(int bytes, std::int64_t n, const void* from, const std::int64_t* indices, void* out);
void scatter(int bytes, std::int64_t n, const void* values, void* to, std::int64_t start, std::int64_t stride);
void scatter(int bytes, std::int64_t n, const void* values, void* to, const std::int64_t* indices);
// Where the mask is true only; the others are left as they are.
void gather(int bytes, std::int64_t n, const void* from, const std::int64_t* indices, const std::uint8_t* mask, void* out);
void scatter(int bytes, std::int64_t n, const void* values, void* to, const std::int64_t* indices, const std::uint8_t* mask);

}  // namespace sinter::kernels
