// Tensors with another tensor's shape and type, and tensors whose values do not matter.
#pragma once
#include <optional>

#include "sinter/tensor.hpp"

namespace sinter {

/// Returns zeros, because a tensor always has a value. A kernel reads no memory for them.
Tensor empty(const Shape& shape, DType dtype = DType::float64, Location where = Location::current());
/// These have x's shape, and by default x's type.
Tensor empty_like(const Arg& x, std::optional<DType> dtype = {});
Tensor zeros_like(const Arg& x, std::optional<DType> dtype = {});
Tensor ones_like(const Arg& x, std::optional<DType> dtype = {});
Tensor full_like(const Arg& x, const Arg& value, std::optional<DType> dtype = {});

}  // namespace sinter
