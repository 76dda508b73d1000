// The two kinds of bytes.
#pragma once
#include "sinter/tensor.hpp"

namespace sinter::fuse {

/// The same bytes as uint8 or int8: of the other kind the highest bit is turned, which makes them 128 more or less.
Tensor as_unsigned(const Tensor& bytes);
Tensor as_signed(const Tensor& bytes);

}  // namespace sinter::fuse
