// Conversions between uint8 and int8.
#pragma once
#include "sinter/tensor.hpp"

namespace sinter::fuse {

/// Returns the same bytes as uint8 or int8. Flipping the highest bit changes the numbers by 128.
Tensor as_unsigned(const Tensor& bytes);
Tensor as_signed(const Tensor& bytes);

}  // namespace sinter::fuse
