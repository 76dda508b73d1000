// Conversions from and to Eigen. Opt-in: sinter.hpp does not include this header.
#pragma once
#include <Eigen/Core>

#include "sinter/adopt.hpp"
#include "sinter/ops.hpp"

namespace sinter {

/// Returns a row-major view of an evaluated tensor's elements; a 0-d or 1-D tensor becomes one row. It is valid while the handle lives.
template <Element Scalar>
Eigen::Map<const Eigen::Array<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> eigen_map(const Tensor& tensor, Location where = Location::current(),
                                                                                                  const char* function = "eigen_map") {
  const Shape& shape = tensor.shape();
  if (shape.size() > 2) detail::refuse_shape(shape, "has more than 2 axes; reshape it first", function, where);
  const Eigen::Index rows = shape.size() == 2 ? shape[0] : 1;
  const Eigen::Index columns = shape.empty() ? 1 : shape.back();
  return {static_cast<const Scalar*>(detail::host_address(tensor, dtype_of<Scalar>, function, where)), rows, columns};
}
template <Element Scalar> void eigen_map(const Tensor&&, Location = Location::current(), const char* = "") = delete;

/// Copies the elements to an Eigen matrix, array or vector. A 1-D tensor becomes a column if the Eigen type is a column vector, and else a row.
template <class Matrix> Matrix to_eigen(const Tensor& tensor, Location where = Location::current()) {
  using Scalar = typename Matrix::Scalar;
  const auto view = eigen_map<Scalar>(tensor, where, "to_eigen");
  if constexpr (Matrix::ColsAtCompileTime == 1) {
    if (view.rows() == 1) return Matrix(view.transpose().matrix());
  }
  if ((Matrix::RowsAtCompileTime != Eigen::Dynamic && Matrix::RowsAtCompileTime != view.rows()) ||
      (Matrix::ColsAtCompileTime != Eigen::Dynamic && Matrix::ColsAtCompileTime != view.cols())) {
    detail::refuse_shape(tensor.shape(), "does not fit the fixed size of the Eigen type", "to_eigen", where);
  }
  return Matrix(view.matrix());
}

/// Copies an Eigen matrix, array or expression; a column or row vector type becomes 1-D.
template <class Derived> Tensor from_eigen(const Eigen::DenseBase<Derived>& value, Location where = Location::current()) {
  using Scalar = typename Derived::Scalar;
  const Eigen::Array<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows = value.derived();
  const Shape shape = Derived::IsVectorAtCompileTime ? Shape{value.size()} : Shape{rows.rows(), rows.cols()};
  return from_pointer(rows.data(), shape, {}, where);
}

/// Moves the elements of an Eigen matrix, array or vector into a tensor without a copy. Eigen's default layout becomes a transposed view.
template <class Held>
  requires(std::is_base_of_v<Eigen::PlainObjectBase<Held>, Held>)
Tensor adopt_eigen(Held&& value, Location where = Location::current()) {
  auto owner = std::make_shared<Held>(std::move(value));
  const Shape shape = Held::IsVectorAtCompileTime ? Shape{owner->size()}
                      : Held::IsRowMajor          ? Shape{owner->rows(), owner->cols()}
                                                  : Shape{owner->cols(), owner->rows()};
  const auto* const data = owner->data();
  const Tensor held = adopt_memory(std::move(owner), data, dtype_of<typename Held::Scalar>, shape, where);
  return Held::IsVectorAtCompileTime || Held::IsRowMajor ? held : held.transpose(where);
}

}  // namespace sinter
