// Tensors of another's shape and type, and those whose values do not matter.
#pragma once
#include <optional>

#include "sinter/tensor.hpp"

namespace sinter {

/// Zeros: a tensor has a value, and these cost a kernel nothing.
Tensor empty(const Shape& shape, DType dtype = DType::float64, Location where = Location::current());
/// Of x's shape, and of its type unless told otherwise.
Tensor empty_like(const Arg& x, std::optional<DType> dtype = {});
Tensor zeros_like(const Arg& x, std::optional<DType> dtype = {});
Tensor ones_like(const Arg& x, std::optional<DType> dtype = {});
Tensor full_like(const Arg& x, const Arg& value, std::optional<DType> dtype = {});

}  // namespace sinter
