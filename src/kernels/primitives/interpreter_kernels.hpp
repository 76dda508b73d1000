// The interpreter's inner loops: one elementwise op, or one step of a reduction, over a tile of neighbouring elements.
#pragma once
#include <cstdint>

#include "sinter/dtype.hpp"
#include "trace/primitives.hpp"

namespace sinter::kernels {

using trace::Op;

/// The maximum number of elements of a tile. With tiles of this many float32 values, several operands stay in L1.
inline constexpr std::int64_t kTile = 1024;

/// Computes out[i] = op(args[0][i], args[1][i], args[2][i]) for i < n.
using TileFn = void (*)(std::int64_t n, const void* const* args, void* out);

/// Returns the loop for an op over operands of type `operand` (for where: the type of args[1] and args[2]), or null when the op does not take that type.
TileFn elementwise_kernel(Op op, DType operand, DType result);

/// The functions of a reduction over tiles of elements of one type. The caller decides the order (jit/reduction_order.hpp).
struct ReductionKernels {
  void (*start)(std::int64_t n, void* parts);  // fills with the neutral element
  /// parts[i % lanes] = parts[i % lanes] combined with values[i], for i < n in order.
  void (*combine)(std::int64_t n, std::int64_t lanes, const void* values, void* parts);
};
ReductionKernels reduction_kernels(Op reduction, DType dtype);

/// The functions of a scan (running reduction), in the order of jit/reduction_order.hpp. Sums and products of float32 are accumulated in float64.
struct ScanKernels {
  void (*start)(std::int64_t n, void* so_far);                                                       // fills with the neutral element
  void (*row)(std::int64_t n, std::int64_t lanes, const void* values, void* so_far, void* results);  // scans one row, in steps of this many lanes
  void (*lanes)(std::int64_t n, const void* values, void* so_far, void* results);                    // scans several rows, one in each lane
};
ScanKernels scan_kernels(Op reduction, DType dtype);

// Moves elements of itemsize `bytes` between a tile and memory. Indices count elements.
void fill(int bytes, std::int64_t n, const void* value, void* out);
void gather(int bytes, std::int64_t n, const void* from, std::int64_t start, std::int64_t stride, void* out);
void gather(int bytes, std::int64_t n, const void* from, const std::int64_t* indices, void* out);
void scatter(int bytes, std::int64_t n, const void* values, void* to, std::int64_t start, std::int64_t stride);
void scatter(int bytes, std::int64_t n, const void* values, void* to, const std::int64_t* indices);
// Moves only elements where the mask is true.
void gather(int bytes, std::int64_t n, const void* from, const std::int64_t* indices, const std::uint8_t* mask, void* out);
void scatter(int bytes, std::int64_t n, const void* values, void* to, const std::int64_t* indices, const std::uint8_t* mask);

}  // namespace sinter::kernels
