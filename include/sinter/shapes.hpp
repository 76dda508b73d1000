// Joining, splitting and rotating: index algebra inside the kernel that uses the result.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "sinter/ops.hpp"

namespace sinter {

Tensor atleast_1d(const Arg& x);
Tensor atleast_2d(const Arg& x);  ///< a vector becomes a row
Tensor atleast_3d(const Arg& x);  ///< (n,) becomes (1, n, 1), (m, n) becomes (m, n, 1)

/// hstack joins along the second axis (vectors along the first), vstack along the first axis, dstack along the third. Missing axes are added as atleast_1d,
/// atleast_2d and atleast_3d do.
Tensor hstack(const std::vector<Tensor>& parts, Location where = Location::current());
Tensor vstack(const std::vector<Tensor>& parts, Location where = Location::current());
Tensor dstack(const std::vector<Tensor>& parts, Location where = Location::current());

/// Splits into `sections` equal parts along an axis. Throws ShapeError if `sections` does not divide the axis.
std::vector<Tensor> split(const Arg& x, std::int64_t sections, std::int64_t axis = 0);
/// Splits before each of the places: split(x, {2, 5}) gives x[:2], x[2:5] and x[5:].
std::vector<Tensor> split(const Arg& x, const std::vector<std::int64_t>& places, std::int64_t axis = 0);
/// Splits into `sections` parts; the first ones are longer by one where `sections` does not divide the axis. Throws ValueError for more than 2^20 parts.
std::vector<Tensor> array_split(const Arg& x, std::int64_t sections, std::int64_t axis = 0);
/// Returns the slices along an axis and removes the axis. Throws ValueError for more than 2^20 slices.
std::vector<Tensor> unstack(const Arg& x, std::int64_t axis = 0, Location where = Location::current());

/// Shifts by the same distance along each of the axes; without axes it shifts the flat tensor.
inline Tensor roll(const Arg& x, std::int64_t shift, const Axes& axes = {}) { return roll(x, std::vector<std::int64_t>{shift}, axes); }

Tensor moveaxis(const Arg& x, std::int64_t source, std::int64_t destination);
Tensor moveaxis(const Arg& x, const std::vector<std::int64_t>& source, const std::vector<std::int64_t>& destination);
/// Rotates by k quarter turns from the first of the axes towards the second.
Tensor rot90(const Arg& x, std::int64_t k = 1, std::pair<std::int64_t, std::int64_t> axes = {0, 1});

std::vector<Tensor> broadcast_arrays(const std::vector<Tensor>& tensors, Location where = Location::current());
enum class Indexing : std::uint8_t { xy, ij };
/// Returns the coordinates over the grid of these vectors; with xy the first vector runs along the second axis.
std::vector<Tensor> meshgrid(const std::vector<Tensor>& vectors, Indexing indexing = Indexing::xy, Location where = Location::current());
/// Returns all windows of this shape over the axes (all of them by default); the axes within a window come last.
Tensor sliding_window_view(const Arg& x, const Shape& window, const Axes& axes = {});

}  // namespace sinter
