// NumPy 2's type promotion, and the types of each primitive's operands and result.
#pragma once
#include <optional>
#include <span>

#include "sinter/tensor.hpp"
#include "trace/primitives.hpp"
#include "trace/site.hpp"

namespace sinter::trace {

/// Returns the common type of two tensors. A floating type that NumPy lacks does not change with bool and integers, as in JAX. With a wider floating type it
/// becomes that type; float16 with bfloat16 becomes float32. Two types of 8 bits have no common type: DTypeError.
DType promote(const Site& site, DType a, DType b);
/// Does the same, and returns nullopt if there is no common type.
std::optional<DType> promotion(DType a, DType b);

/// Tests NumPy's same_kind: whether the one type may be stored as the other, of its kind or a higher one, even if not exactly.
bool same_kind(DType from, DType to);

/// Returns the common type of operands that may include weak scalars: a scalar alone is bool, int64 (uint64 where only that holds it) or its own floating type;
/// with a tensor it takes the tensor's type unless its kind is higher.
DType common_type(const Site& site, std::span<const Arg* const> operands);

/// Returns the type to which an op casts its operands. Throws DTypeError for types that the op does not accept.
DType operand_type(Op op, const Site& site, std::span<const Arg* const> operands);
/// Does the same from the common type only.
DType operand_type(Op op, const Site& site, DType common);

}  // namespace sinter::trace
