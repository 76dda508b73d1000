// The operands of decompositions: checked matrices, and views of a packed result.
#pragma once
#include <algorithm>
#include <initializer_list>
#include <optional>

#include <fmt/format.h>

#include "ops/composed.hpp"
#include "sinter/creation.hpp"
#include "sinter/decompositions.hpp"
#include "sinter/types.hpp"

namespace sinter::ops {

/// Matrices in the type of the decomposition.
struct Matrices {
  Composed as;
  Shape batch;
  std::int64_t rows, columns;

  Tensor operator()(const Tensor& result) const { return as(result); }
  /// Returns the batch's shape followed by these axes.
  Shape with(std::initializer_list<std::int64_t> axes) const {
    Shape shape = batch;
    shape.insert(shape.end(), axes);
    return shape;
  }
  std::int64_t shorter() const { return std::min(rows, columns); }
  bool empty() const { return rows == 0 || columns == 0; }
  /// Returns `asked`, or else the share of the largest singular value below which a singular value counts as 0.
  double tolerance(std::optional<double> asked) const { return asked.value_or(finfo(as.type).eps * static_cast<double>(std::max(rows, columns))); }
};

inline Matrices matrices(const Site& site, const Arg& x) {
  Composed as = floating(site, x);
  const Shape& shape = as.values.shape();
  if (shape.size() < 2) fail<MatrixShapeError>(site, fmt::format("shape {} is not that of a matrix", to_string(shape)));
  Shape batch(shape.begin(), shape.end() - 2);
  return {as, std::move(batch), shape[shape.size() - 2], shape.back()};
}
inline Matrices square_matrices(const Site& site, const Arg& x) {
  Matrices m = matrices(site, x);
  if (m.rows != m.columns) fail<MatrixShapeError>(site, fmt::format("shape {} is not that of a square matrix", to_string(m.as.values.shape())));
  return m;
}

inline Tensor decomposed(const Site& site, Op op, const Tensor& x) { return Tensor(make_library(site, op, {x.node()})); }

/// Returns rows [0, rows) and columns [begin, begin + columns) of a call's result.
inline Tensor part(const Tensor& packed, std::int64_t rows, std::int64_t begin, std::int64_t columns) {
  return packed.at({ellipsis, Slice{0, rows}, Slice{begin, begin + columns}});
}
inline Tensor column(const Tensor& packed, std::int64_t rows, std::int64_t at) { return packed.at({ellipsis, Slice{0, rows}, at}); }

inline Tensor identities(const Matrices& m, std::int64_t n) { return broadcast_to(eye(n, {}, 0, m.as.type), m.with({n, n})); }
inline Tensor nothing(const Matrices& m, std::initializer_list<std::int64_t> axes) { return zeros(m.with(axes), m.as.type); }

}  // namespace sinter::ops
