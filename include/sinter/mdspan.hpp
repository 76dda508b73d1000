// Conversions from and to std::mdspan, where the standard library has it (C++23); otherwise this header is empty. Opt-in: sinter.hpp does not include it.
#pragma once
#include <version>
#ifdef __cpp_lib_mdspan
#include <array>
#include <mdspan>

#include "sinter/ops.hpp"

namespace sinter {

/// Returns a row-major view of an evaluated tensor's elements. It is valid while the handle lives.
template <Element E, std::size_t Rank>
std::mdspan<const E, std::dextents<std::int64_t, Rank>> to_mdspan(const Tensor& tensor, Location where = Location::current()) {
  if (tensor.shape().size() != Rank) detail::refuse_shape(tensor.shape(), "has another number of axes than the mdspan", "to_mdspan", where);
  std::array<std::int64_t, Rank> sizes;
  for (std::size_t k = 0; k < Rank; ++k) sizes[k] = tensor.shape()[k];
  return {static_cast<const E*>(detail::host_address(tensor, dtype_of<E>, "to_mdspan", where)), sizes};
}
template <Element E, std::size_t Rank> void to_mdspan(const Tensor&&, Location = Location::current()) = delete;

/// Copies a view of any strided layout.
template <class E, class Extents, class Layout> Tensor from_mdspan(const std::mdspan<E, Extents, Layout>& view, Location where = Location::current()) {
  Shape shape;
  std::vector<std::int64_t> strides;
  for (std::size_t k = 0; k < Extents::rank(); ++k) {
    shape.push_back(static_cast<std::int64_t>(view.extent(k)));
    strides.push_back(static_cast<std::int64_t>(view.stride(k)));
  }
  return from_pointer(static_cast<const void*>(view.data_handle()), dtype_of<E>, shape, strides, where);
}

}  // namespace sinter
#endif
