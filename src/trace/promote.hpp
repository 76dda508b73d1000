// NumPy 2's type promotion, and what each primitive makes of its operands' types.
#pragma once
#include <optional>
#include <span>

#include "sinter/tensor.hpp"
#include "trace/primitives.hpp"
#include "trace/site.hpp"

namespace sinter::trace {

/// The common type of two tensors. A floating type that NumPy has not stays itself beside bool and integers, as in JAX; beside a wider floating type it
/// becomes that one, float16 and bfloat16 become float32. Two types of 8 bits have no common type: DTypeError.
DType promote(const Site& site, DType a, DType b);
/// The same, and nothing where there is none.
std::optional<DType> promotion(DType a, DType b);

/// NumPy's same_kind: whether a value of the one type may be stored as the other, of its kind or a higher one, though not exactly.
bool same_kind(DType from, DType to);

/// The common type of operands of which some may be weak scalars: a scalar alone is bool, int64 (uint64 where
/// only that holds it) or its own floating type, beside a tensor it takes the tensor's type unless its kind is higher.
DType common_type(const Site& site, std::span<const Arg* const> operands);

/// The type an op computes its operands in (they are cast to it). Throws DTypeError for types the op does not take.
DType operand_type(Op op, const Site& site, std::span<const Arg* const> operands);
/// The same from the common type alone.
DType operand_type(Op op, const Site& site, DType common);

}  // namespace sinter::trace
