// NumPy's methods of arrays: each calls the free function and records the line of the call.
#include "sinter/elementary.hpp"
#include "sinter/indexing.hpp"
#include "sinter/linalg.hpp"
#include "sinter/ops.hpp"
#include "sinter/sorting.hpp"
#include "sinter/types.hpp"

namespace sinter {

Tensor Tensor::zeros(const Shape& shape, DType dtype, Location where) { return sinter::zeros(shape, dtype, where); }
Tensor Tensor::ones(const Shape& shape, DType dtype, Location where) { return sinter::ones(shape, dtype, where); }
Tensor Tensor::full(const Shape& shape, const Arg& value, std::optional<DType> dtype) { return sinter::full(shape, value, dtype); }

Tensor Tensor::T(Location where) const { return sinter::transpose(Arg(*this, where)); }
Tensor Tensor::reshape(const Shape& shape, Location where) const { return sinter::reshape(Arg(*this, where), shape); }
Tensor Tensor::ravel(Location where) const { return sinter::reshape(Arg(*this, where), {-1}); }
Tensor Tensor::flatten(Location where) const { return sinter::reshape(Arg(*this, where), {-1}); }
Tensor Tensor::squeeze(const Axes& axes, Location where) const { return sinter::squeeze(Arg(*this, where), axes); }
Tensor Tensor::transpose(Location where) const { return sinter::transpose(Arg(*this, where)); }
Tensor Tensor::transpose(const std::vector<std::int64_t>& axes, Location where) const { return sinter::transpose(Arg(*this, where), axes); }
Tensor Tensor::swapaxes(std::int64_t axis1, std::int64_t axis2, Location where) const { return sinter::swapaxes(Arg(*this, where), axis1, axis2); }
Tensor Tensor::diagonal(std::int64_t offset, std::int64_t axis1, std::int64_t axis2, Location where) const {
  return sinter::diagonal(Arg(*this, where), offset, axis1, axis2);
}
Tensor Tensor::repeat(std::int64_t count, std::optional<std::int64_t> axis, Location where) const { return sinter::repeat(Arg(*this, where), count, axis); }
Tensor Tensor::take(const Arg& indices, std::optional<std::int64_t> axis, Location where) const { return sinter::take(Arg(*this, where), indices, axis); }
Tensor Tensor::astype(DType dtype, Location where) const { return sinter::astype(Arg(*this, where), dtype); }
Tensor Tensor::copy(Location where) const { return sinter::contiguous(Arg(*this, where)); }
Tensor Tensor::clip(const Arg& low, const Arg& high, Location where) const { return sinter::clip(Arg(*this, where), low, high); }
Tensor Tensor::round(Location where) const { return sinter::round(Arg(*this, where)); }
Tensor Tensor::dot(const Arg& other, Location where) const { return sinter::dot(Arg(*this, where), other); }

Tensor Tensor::sum(const Axes& axes, bool keepdims, std::optional<DType> dtype, Location where) const {
  return sinter::sum(Arg(*this, where), axes, keepdims, dtype);
}
Tensor Tensor::prod(const Axes& axes, bool keepdims, std::optional<DType> dtype, Location where) const {
  return sinter::prod(Arg(*this, where), axes, keepdims, dtype);
}
Tensor Tensor::min(const Axes& axes, bool keepdims, Location where) const { return sinter::min(Arg(*this, where), axes, keepdims); }
Tensor Tensor::max(const Axes& axes, bool keepdims, Location where) const { return sinter::max(Arg(*this, where), axes, keepdims); }
Tensor Tensor::mean(const Axes& axes, bool keepdims, std::optional<DType> dtype, Location where) const {
  return sinter::mean(Arg(*this, where), axes, keepdims, dtype);
}
Tensor Tensor::var(const Axes& axes, bool keepdims, int ddof, Location where) const { return sinter::var(Arg(*this, where), axes, keepdims, ddof); }
Tensor Tensor::stddev(const Axes& axes, bool keepdims, int ddof, Location where) const { return sinter::stddev(Arg(*this, where), axes, keepdims, ddof); }
Tensor Tensor::any(const Axes& axes, bool keepdims, Location where) const { return sinter::any(Arg(*this, where), axes, keepdims); }
Tensor Tensor::all(const Axes& axes, bool keepdims, Location where) const { return sinter::all(Arg(*this, where), axes, keepdims); }
Tensor Tensor::argmax(std::optional<std::int64_t> axis, bool keepdims, Location where) const { return sinter::argmax(Arg(*this, where), axis, keepdims); }
Tensor Tensor::argmin(std::optional<std::int64_t> axis, bool keepdims, Location where) const { return sinter::argmin(Arg(*this, where), axis, keepdims); }
Tensor Tensor::cumsum(std::optional<std::int64_t> axis, std::optional<DType> dtype, Location where) const {
  return sinter::cumsum(Arg(*this, where), axis, dtype);
}
Tensor Tensor::cumprod(std::optional<std::int64_t> axis, std::optional<DType> dtype, Location where) const {
  return sinter::cumprod(Arg(*this, where), axis, dtype);
}

Tensor Tensor::mT(Location where) const { return sinter::matrix_transpose(Arg(*this, where)); }
Tensor Tensor::compress(const Arg& condition, std::optional<std::int64_t> axis, Location where) const {
  return sinter::compress(condition, Arg(*this, where), axis);
}
std::vector<Tensor> Tensor::nonzero(Location where) const { return sinter::nonzero(Arg(*this, where)); }
Tensor Tensor::view(DType dtype, Location where) const { return sinter::view(Arg(*this, where), dtype); }
Tensor Tensor::round(int decimals, Location where) const { return sinter::round(Arg(*this, where), decimals); }
Tensor Tensor::trace(std::int64_t offset, std::int64_t axis1, std::int64_t axis2, Location where) const {
  return sinter::matrix_trace(Arg(*this, where), offset, axis1, axis2);
}
Tensor Tensor::argsort(std::optional<std::int64_t> axis, bool descending, Location where) const { return sinter::argsort(Arg(*this, where), axis, descending); }
Tensor Tensor::argpartition(std::int64_t kth, std::optional<std::int64_t> axis, Location where) const {
  return sinter::argpartition(Arg(*this, where), kth, axis);
}
Tensor Tensor::searchsorted(const Arg& values, Location where) const { return sinter::searchsorted(Arg(*this, where), values); }

void Tensor::sort(std::int64_t axis, Location where) & { *this = sinter::sort(Arg(*this, where), axis); }
void Tensor::partition(std::int64_t kth, std::int64_t axis, Location where) & { *this = sinter::partition(Arg(*this, where), kth, axis); }
void Tensor::fill(const Arg& value) & { at({ellipsis}, value.where()) = value; }
void Tensor::put(const Arg& indices, const Arg& values, Location where) & { *this = sinter::put(Arg(*this, where), indices, values); }

}  // namespace sinter
