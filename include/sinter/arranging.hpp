// Further functions of NumPy that join, split and build tensors. Each is a composition of primitives, which fuses.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "sinter/shapes.hpp"

namespace sinter {

Tensor fliplr(const Arg& x);  ///< along axis 1
Tensor flipud(const Arg& x);  ///< along axis 0
/// Joins vectors as the columns of a matrix; joins matrices side by side.
Tensor column_stack(const std::vector<Tensor>& parts, Location where = Location::current());
/// hsplit splits along axis 1 (a vector along axis 0), vsplit along axis 0, and dsplit along axis 2.
std::vector<Tensor> hsplit(const Arg& x, std::int64_t sections);
std::vector<Tensor> vsplit(const Arg& x, std::int64_t sections);
std::vector<Tensor> dsplit(const Arg& x, std::int64_t sections);
/// Appends values to x along an axis; without an axis both are flattened.
Tensor append(const Arg& x, const Arg& values, std::optional<std::int64_t> axis = {});
/// Inserts values into x before the place `at` along an axis. The values are one slice, several slices, or a number that fills one slice. Without an axis x is
/// flattened.
Tensor insert(const Arg& x, std::int64_t at, const Arg& values, std::optional<std::int64_t> axis = {});
/// Returns x without the slice `at` along an axis: NumPy's delete. Without an axis x is flattened.
Tensor erase(const Arg& x, std::int64_t at, std::optional<std::int64_t> axis = {});
/// Repeats x's elements to fill this shape; if x has no elements, fills it with zeros. It is NumPy's resize; sinter/nn.hpp has resize for images.
Tensor cycle_to(const Arg& x, const Shape& shape);
/// Returns a tensor whose element (i, j, ...) is number i * strides[0] + j * strides[1] + ... of the flat x, from `offset` on: NumPy's as_strided with strides
/// in elements of row-major x. The kernel that uses the result reads the elements from x; no memory is shared. Throws ShapeError if an element would lie
/// outside x.
Tensor as_strided(const Arg& x, const Shape& shape, const std::vector<std::int64_t>& strides, std::int64_t offset = 0);
/// Returns a matrix with the flat x on its k-th diagonal.
Tensor diagflat(const Arg& x, std::int64_t k = 0);
Tensor identity(std::int64_t n, DType dtype = DType::float64, Location where = Location::current());
/// Returns ones on the k-th diagonal and below it, and zeros elsewhere; without `columns` the matrix is square.
Tensor tri(std::int64_t rows, std::optional<std::int64_t> columns = {}, std::int64_t k = 0, DType dtype = DType::float64, Location where = Location::current());
/// Returns powers of the vector x as columns, the highest first unless `increasing`; without `count` the matrix is square. The result's type is x's type
/// promoted with int64.
Tensor vander(const Arg& x, std::optional<std::int64_t> count = {}, bool increasing = false);
/// Returns an int64 tensor of shape (ndim, *shape) that holds, for each axis, the index of every place along it.
Tensor indices(const Shape& shape, Location where = Location::current());
/// Return `count` float64 numbers, evenly spaced in their logarithm: logspace from base^start to base^stop, geomspace from start to stop.
Tensor logspace(const Arg& start, const Arg& stop, std::int64_t count = 50, bool endpoint = true, double base = 10);
Tensor geomspace(double start, double stop, std::int64_t count = 50, bool endpoint = true, Location where = Location::current());
/// Does the same for tensors, which broadcast; the points lie along a new first axis. The result is NaN where start or stop is 0, or their signs differ.
Tensor geomspace(const Arg& start, const Arg& stop, std::int64_t count = 50, bool endpoint = true);

}  // namespace sinter
