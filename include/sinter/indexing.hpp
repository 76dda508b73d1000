// Selection by masks, and writing at computed places.
//
// The number of elements that a mask selects is known only when the mask is computed. Functions whose description says "Evaluates" compute the mask at once and
// return a tensor of the resulting shape. The kernel that uses the selected elements gathers them.
#pragma once
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "sinter/ops.hpp"
#include "sinter/tensor.hpp"

namespace sinter {

/// Returns the places where x is not zero: a vector of indices for each axis, in row-major order. Evaluates x. x(mask) selects such elements directly.
std::vector<Tensor> nonzero(const Arg& x);
/// Return the same places: flatnonzero as indices of the flat tensor, argwhere as rows of indices. Both evaluate x.
Tensor flatnonzero(const Arg& x);
Tensor argwhere(const Arg& x);
/// Selects the slices of x along an axis where the vector `condition` is not zero. The vector may be shorter than the axis. Without an axis it selects from the
/// flat tensor. Evaluates the condition.
Tensor compress(const Arg& condition, const Arg& x, std::optional<std::int64_t> axis = {});
/// Selects the elements of the flat x where the flat condition is not zero. Evaluates the condition.
Tensor extract(const Arg& condition, const Arg& x);

/// unravel_index converts indices of the flat tensor of this shape to an index for each axis, and ravel_multi_index converts back. The flat indices have to be
/// in range, which is not checked.
std::vector<Tensor> unravel_index(const Arg& indices, const Shape& shape);
Tensor ravel_multi_index(const std::vector<Tensor>& indices, const Shape& shape, Location where = Location::current());

/// Adds values to x at the places that an index selects, x(index), once for each time that the index names a place: NumPy's add.at. Additions to a place run in
/// a fixed order, so the bits are the same for any number of threads. Values broadcast to x(index), and their type must be one that `x += values` accepts.
/// 16-bit floats are added in float32.
Tensor add_at(const Arg& x, const Index& index, const Arg& values);
Tensor add_at(const Arg& x, const std::vector<Index>& index, const Arg& values);
template <std::integral I> Tensor add_at(const Arg& x, std::initializer_list<I> places, const Arg& values) {  // {0, 2} lists places, as in x({0, 2})
  return add_at(x, Index(places, x.where()), values);
}
/// Multiplies likewise: NumPy's multiply.at.
Tensor multiply_at(const Arg& x, const std::vector<Index>& index, const Arg& values);
/// Takes the smaller value likewise: NumPy's minimum.at. NaN stays NaN.
Tensor minimum_at(const Arg& x, const std::vector<Index>& index, const Arg& values);
/// Takes the larger value likewise: NumPy's maximum.at. NaN stays NaN.
Tensor maximum_at(const Arg& x, const std::vector<Index>& index, const Arg& values);
/// The order in which the values of one place are combined. in_pairs first combines the values with each other, in pairs, and then the result with x; the
/// function has to be associative. one_by_one combines each value in turn with x, at most a thousand values for a place.
enum class Combining : std::uint8_t { in_pairs, one_by_one };
namespace detail {
struct Combiner {
  const void* function;
  Tensor (*call)(const void* function, const Tensor& a, const Tensor& b);
  Tensor operator()(const Tensor& a, const Tensor& b) const { return call(function, a, b); }
};
Tensor combine_at(const Arg& x, const std::vector<Index>& index, const Arg& values, Combining how, const Combiner& f);
}  // namespace detail
/// Returns x with f(x, value) at the places that an index selects. f is applied once for each value, as by NumPy's ufunc.at: combine_at(x, i, v,
/// sn::bitwise_or). The order is fixed, so each run gives the same bits. Evaluates the places. The results of f must have a type that may be assigned to parts
/// of x.
template <class F> Tensor combine_at(const Arg& x, const std::vector<Index>& index, const Arg& values, F f, Combining how = Combining::in_pairs) {
  return detail::combine_at(x, index, values, how,
                            {&f, [](const void* function, const Tensor& a, const Tensor& b) -> Tensor { return (*static_cast<const F*>(function))(a, b); }});
}
template <class F> Tensor combine_at(const Arg& x, const Index& index, const Arg& values, F f, Combining how = Combining::in_pairs) {
  return combine_at(x, std::vector<Index>{index}, values, f, how);
}
template <std::integral I, class F>
Tensor combine_at(const Arg& x, std::initializer_list<I> places, const Arg& values, F f, Combining how = Combining::in_pairs) {
  return combine_at(x, std::vector<Index>{Index(places, x.where())}, values, f, how);
}
/// Returns x with result[.., indices[.., i, ..], ..] = values[.., i, ..] along the axis; the last value for a place counts. Values broadcast to the indices.
/// Without an axis it uses the flat tensor.
Tensor put_along_axis(const Arg& x, const Arg& indices, const Arg& values, std::optional<std::int64_t> axis = -1);
/// Returns x with values[.., i, ..] added to result[.., indices[.., i, ..], ..] along the axis, once for each index, as add_at does. Values broadcast to the
/// indices. Without an axis it uses the flat tensor.
Tensor add_along_axis(const Arg& x, const Arg& indices, const Arg& values, std::optional<std::int64_t> axis = -1);
/// Returns x with the flat places `indices` replaced by values, which are repeated as often as needed.
Tensor put(const Arg& x, const Arg& indices, const Arg& values);
/// Returns x with the elements where the mask is true replaced by the next of the values, which are repeated as often as needed.
Tensor place(const Arg& x, const Arg& mask, const Arg& values);
/// Returns x, a matrix or a hypercube, with a value, or with values in turn, on its diagonal. With `wrap`, a matrix of more rows than columns gets further
/// diagonals below the first one.
Tensor fill_diagonal(const Arg& x, const Arg& value, bool wrap = false);

// These return one vector of indices for each axis. diag_indices gives the diagonal of a square, tril_indices the k-th diagonal and the elements below it,
// triu_indices the k-th diagonal and the elements above it.
std::vector<Tensor> diag_indices(std::int64_t n, int ndim = 2, Location where = Location::current());
std::vector<Tensor> tril_indices(std::int64_t rows, std::int64_t k = 0, std::optional<std::int64_t> columns = {}, Location where = Location::current());
std::vector<Tensor> triu_indices(std::int64_t rows, std::int64_t k = 0, std::optional<std::int64_t> columns = {}, Location where = Location::current());
/// Returns the vectors, reshaped so that each lies along an axis of its own: x(ix[0], ix[1]) selects the grid of these rows and columns. Masks are evaluated
/// and become places.
std::vector<Tensor> ix_(const std::vector<Tensor>& vectors, Location where = Location::current());
/// Returns, for each element of `which`, that element of the choice with this number; `which` and the choices broadcast.
Tensor choose(const Arg& which, const std::vector<Tensor>& choices, IndexMode mode = IndexMode::raise);

}  // namespace sinter
