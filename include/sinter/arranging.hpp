// What else NumPy's users join, cut and build by: each a composition that fuses.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "sinter/shapes.hpp"

namespace sinter {

Tensor fliplr(const Arg& x);  // along axis 1
Tensor flipud(const Arg& x);  // along axis 0
/// Vectors as the columns of a matrix; matrices one beside the other.
Tensor column_stack(const std::vector<Tensor>& parts, Location where = Location::current());
/// split along axis 1 (a vector's 0), 0 and 2.
std::vector<Tensor> hsplit(const Arg& x, std::int64_t sections);
std::vector<Tensor> vsplit(const Arg& x, std::int64_t sections);
std::vector<Tensor> dsplit(const Arg& x, std::int64_t sections);
/// values behind x along an axis; without an axis both are flat.
Tensor append(const Arg& x, const Arg& values, std::optional<std::int64_t> axis = {});
/// x with values before the place `at` along an axis (one slice or several; a number is one slice of it); without an axis x is flat.
Tensor insert(const Arg& x, std::int64_t at, const Arg& values, std::optional<std::int64_t> axis = {});
/// x without the slice `at` along an axis, NumPy's delete; without an axis x is flat.
Tensor erase(const Arg& x, std::int64_t at, std::optional<std::int64_t> axis = {});
/// NumPy's resize (which is images' in sinter/nn.hpp): of this shape, x's elements again and again; zeros where x has none.
Tensor cycle_to(const Arg& x, const Shape& shape);
/// Element (i, j, ...) is number i * strides[0] + j * strides[1] + ... of the flat x, from `offset` on: NumPy's as_strided, with strides counted in elements
/// of x row after row. Looked up in what reads it, never aliased. Throws ShapeError where that leads out of x.
Tensor as_strided(const Arg& x, const Shape& shape, const std::vector<std::int64_t>& strides, std::int64_t offset = 0);
/// A matrix with the flat x on its k-th diagonal.
Tensor diagflat(const Arg& x, std::int64_t k = 0);
Tensor identity(std::int64_t n, DType dtype = DType::float64, Location where = Location::current());
/// Ones on the k-th diagonal and below it; square without `columns`.
Tensor tri(std::int64_t rows, std::optional<std::int64_t> columns = {}, std::int64_t k = 0, DType dtype = DType::float64, Location where = Location::current());
/// Powers of the vector x as columns, the highest first unless `increasing`; square without `count`. In the type that x makes with int64.
Tensor vander(const Arg& x, std::optional<std::int64_t> count = {}, bool increasing = false);
/// For each axis of the shape the index along it, everywhere: (ndim, *shape), int64.
Tensor indices(const Shape& shape, Location where = Location::current());
/// `count` numbers, evenly apart in their logarithm: from base^start to base^stop, and from start to stop. float64.
Tensor logspace(const Arg& start, const Arg& stop, std::int64_t count = 50, bool endpoint = true, double base = 10);
Tensor geomspace(double start, double stop, std::int64_t count = 50, bool endpoint = true, Location where = Location::current());
/// Of tensors, which broadcast; the points lie along a new first axis. NaN where an end is 0 or the signs differ.
Tensor geomspace(const Arg& start, const Arg& stop, std::int64_t count = 50, bool endpoint = true);

}  // namespace sinter
