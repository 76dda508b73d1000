// The body of byte_block_{baseline,avx2}, in the files of that name, which define SINTER_BYTE_BLOCK. The compiler vectorises it.
#include "kernels/products/byte_product.hpp"

namespace sinter::kernels {
namespace {

template <class Left, class Right> void byte_block(const ByteBlock& p) {
  for (std::int64_t i = 0; i < p.rows; ++i) {
    const Left* const left = static_cast<const Left*>(p.left) + i * p.left_step;
    for (std::int64_t j = 0; j < p.columns; ++j) {
      const Right* const right = static_cast<const Right*>(p.right) + j * p.right_step;
      std::uint32_t sum = 0;  // wraps around
      for (std::int64_t k = 0; k < p.depth; ++k) sum += static_cast<std::uint32_t>(static_cast<std::int32_t>(left[k]) * static_cast<std::int32_t>(right[k]));
      p.c[i * p.c_step + j] = static_cast<std::int32_t>(sum);
    }
  }
}

}  // namespace

void SINTER_BYTE_BLOCK(const ByteBlock& p) {
  using Signed = std::int8_t;
  using Unsigned = std::uint8_t;
  if (p.left_signed) p.right_signed ? byte_block<Signed, Signed>(p) : byte_block<Signed, Unsigned>(p);
  else p.right_signed ? byte_block<Unsigned, Signed>(p) : byte_block<Unsigned, Unsigned>(p);
}

}  // namespace sinter::kernels
