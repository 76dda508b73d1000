// Conversions from and to Eigen's tensors (unsupported/Eigen/CXX11/Tensor). Opt-in: sinter.hpp does not include this header.
#pragma once
#include <unsupported/Eigen/CXX11/Tensor>

#include "sinter/adopt.hpp"

namespace sinter {

/// Returns a row-major view of an evaluated tensor's elements. It is valid while the handle lives.
template <Element Scalar, int Rank>
Eigen::TensorMap<const Eigen::Tensor<const Scalar, Rank, Eigen::RowMajor>> eigen_tensor_map(const Tensor& tensor, Location where = Location::current()) {
  const Shape& shape = tensor.shape();
  if (shape.size() != static_cast<std::size_t>(Rank))
    detail::refuse_shape(shape, "has another number of axes than the Eigen tensor", "eigen_tensor_map", where);
  Eigen::array<Eigen::Index, Rank> sizes;
  for (std::size_t k = 0; k < shape.size(); ++k) sizes[k] = shape[k];
  return {static_cast<const Scalar*>(detail::host_address(tensor, dtype_of<Scalar>, "eigen_tensor_map", where)), sizes};
}
template <Element Scalar, int Rank> void eigen_tensor_map(const Tensor&&, Location = Location::current()) = delete;

/// Moves the Eigen tensor's elements into a tensor without a copy. Eigen's default layout becomes a transposed view.
template <class Scalar, int Rank, int Options, class Index>
Tensor adopt_eigen(Eigen::Tensor<Scalar, Rank, Options, Index>&& value, Location where = Location::current()) {
  using Held = Eigen::Tensor<Scalar, Rank, Options, Index>;
  auto owner = std::make_shared<Held>(std::move(value));
  constexpr bool row_major = static_cast<int>(Held::Layout) == static_cast<int>(Eigen::RowMajor);
  Shape shape;
  for (int k = 0; k < Rank; ++k) shape.push_back(owner->dimension(row_major ? k : Rank - 1 - k));
  const Scalar* const data = owner->data();
  const Tensor held = adopt_memory(std::move(owner), data, dtype_of<Scalar>, shape, where);
  return row_major ? held : held.transpose(where);
}

}  // namespace sinter
