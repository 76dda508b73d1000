// The table of primitives as data: the columns that recording and scheduling read. The generators and the interpreter include primitives.def themselves and
// read their own columns.
#pragma once
#include <cstdint>
#include <string_view>

#include "sinter/dtype.hpp"

namespace sinter::trace {

enum class Op : std::uint8_t {
#define SINTER_ELEMENTWISE(id, ...) id,
#define SINTER_REDUCTION(id, ...) id,
#define SINTER_STRUCTURAL(id, ...) id,
#include "trace/primitives.def"
};

enum class OpKind : std::uint8_t { elementwise, reduction, structural, library };
enum class Result : std::uint8_t { same, boolean };
enum class TypeRule : std::uint8_t { arithmetic, floating, quotient, counting, comparison, bitwise, special };

/// The constant operand with which an op returns its other operand unchanged, bit for bit. x-0 is such a no-op; x+0 is not for floats (-0.0 + 0 is +0.0), hence
/// int_zero.
enum class Identity : std::uint8_t {
  none,
  int_zero,       ///< either operand 0, integers only (and bool false)
  right_zero,     ///< right operand +0
  right_one,      ///< right operand 1
  both_one,       ///< either operand 1
  right_one_int,  ///< right operand 1, integers only
};

namespace accepts {  // dtype classes, combined with |
inline constexpr int F = 1, I = 2, B = 4;
}
constexpr int dtype_class(DType t) { return is_floating(t) ? accepts::F : is_bool(t) ? accepts::B : accepts::I; }

struct Primitive {
  Op op;
  std::string_view name;
  OpKind kind;
  int arity;
  int accepts;  // elementwise: classes of operand dtypes
  Result result;
  TypeRule rule;
  int cost;  // cost in units of one addition
  Identity identity;
  std::string_view cuda_float, cuda_int;
  Op combine;     // reductions: the op that combines two partial results
  bool empty_ok;  // reductions: whether a reduction of no elements has a value
};

/// The maximum number of operands of an op.
inline constexpr int kMaxArity = 4;

[[gnu::visibility("hidden")]] extern const Primitive kPrimitives[];
/// Returns the row of an op.
inline const Primitive& primitive(Op op) { return kPrimitives[static_cast<int>(op)]; }
/// Returns the number of rows; rows are numbered 0..count-1 in the table's order.
int primitive_count();
inline std::string_view name(Op op) { return primitive(op).name; }
inline bool is_elementwise(Op op) { return primitive(op).kind == OpKind::elementwise; }
inline bool is_reduction(Op op) { return primitive(op).kind == OpKind::reduction; }
inline bool is_library(Op op) { return primitive(op).kind == OpKind::library; }
/// Returns the type in which a scan carries its value from element to element; a wider one preserves the digits of a long float32 sum.
constexpr DType scan_carry(Op reduction, DType dtype) {
  return (reduction == Op::reduce_sum || reduction == Op::reduce_prod) && dtype == DType::float32 ? DType::float64 : dtype;
}
/// Returns whether a separate step computes the op and stores the result in memory.
inline bool is_step(Op op) { return is_library(op) || op == Op::scan; }
inline bool is_view(Op op) { return op == Op::reshape || op == Op::permute || op == Op::slice || op == Op::broadcast || op == Op::windows; }

}  // namespace sinter::trace
