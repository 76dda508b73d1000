// Functions that build matrices and grids of indices, and write values at them.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "ops/recording.hpp"
#include "sinter/arranging.hpp"
#include "sinter/counted.hpp"
#include "sinter/elementary.hpp"
#include "sinter/indexing.hpp"
#include "sinter/linalg.hpp"

namespace sinter {

using namespace ops;

Tensor fill_diagonal(const Arg& arg, const Arg& value, bool wrap) {
  const Scope scope("fill_diagonal", arg.where());
  const Site& site = scope.site();
  const Tensor x(as_node(site, arg));
  const Shape& shape = x.shape();
  if (shape.size() < 2) fail<ShapeError>(site, fmt::format("shape {} has no diagonal: it takes at least two axes", to_string(shape)));
  if (shape.size() > 2 && std::any_of(shape.begin(), shape.end(), [&](std::int64_t size) { return size != shape[0]; }))
    fail<ShapeError>(site, fmt::format("shape {}: if there are more than two axes, all must have one size", to_string(shape)));
  std::int64_t step = 0, along = 1;  // between positions in the flat tensor
  for (std::size_t k = shape.size(); k-- > 0; along *= shape[k]) step += along;
  const std::int64_t end = shape.size() == 2 && !wrap ? std::min(x.size(), shape[1] * shape[1]) : x.size();
  return put(x, arange(0, end, step), value);
}

std::vector<Tensor> diag_indices(std::int64_t n, int ndim, Location where) {
  const Scope scope("diag_indices", where);
  if (n < 0 || ndim < 0 || ndim > 64)
    fail<ValueError>(scope.site(), fmt::format("a diagonal of {} along {}", counted(n, "place"), counted(ndim, "axis", "axes")));
  return std::vector<Tensor>(static_cast<std::size_t>(ndim), arange(n));
}
namespace {
struct Sides {
  std::int64_t rows, columns, k;  // k is the number of a diagonal that crosses the matrix or touches a corner
};
Sides sides(const Site& site, std::int64_t rows, std::int64_t k, std::optional<std::int64_t> columns) {
  const std::int64_t width = columns.value_or(rows);
  check_shape(site, {rows, width}, DType::int64);
  return {rows, width, std::clamp(k, -rows, width)};
}
}  // namespace
// Columns to the right of the triangle and rows below it have no elements of it, so they are removed before the search.
std::vector<Tensor> tril_indices(std::int64_t rows, std::int64_t k, std::optional<std::int64_t> columns, Location where) {
  const Scope scope("tril_indices", where);
  const Sides s = sides(scope.site(), rows, k, columns);
  return nonzero(tril(ones({s.rows, std::min(s.columns, s.rows + s.k)}, DType::bool_), s.k));
}
std::vector<Tensor> triu_indices(std::int64_t rows, std::int64_t k, std::optional<std::int64_t> columns, Location where) {
  const Scope scope("triu_indices", where);
  const Sides s = sides(scope.site(), rows, k, columns);
  return nonzero(triu(ones({std::min(s.rows, s.columns - s.k), s.columns}, DType::bool_), s.k));
}

std::vector<Tensor> ix_(const std::vector<Tensor>& vectors, Location where) {
  const Scope scope("ix_", where);
  std::vector<Tensor> grid = vectors;
  for (std::size_t k = 0; k < grid.size(); ++k) {
    if (node_of(scope.site(), grid[k])->shape.size() != 1)
      fail<ShapeError>(scope.site(), fmt::format("shape {} is not that of a vector", to_string(grid[k].shape())));
    if (is_bool(grid[k].dtype())) grid[k] = nonzero(grid[k])[0];
    Shape shape(grid.size(), 1);
    shape[k] = grid[k].size();
    grid[k] = reshape(grid[k], shape);
  }
  return grid;
}

Tensor choose(const Arg& arg, const std::vector<Tensor>& choices, IndexMode mode) {
  const Scope scope("choose", arg.where());
  if (choices.empty()) fail<ValueError>(scope.site(), "there is nothing to choose from");
  Tensor which(as_node(scope.site(), arg));
  if (is_floating(which.dtype())) fail<DTypeError>(scope.site(), fmt::format("choices are numbered by integers, not {}", name(which.dtype())));
  const auto count = static_cast<std::int64_t>(choices.size());
  which = astype(which, DType::int64);
  if (mode == IndexMode::wrap) which = remainder(which, count);
  if (mode == IndexMode::clip) which = clip(which, 0, count - 1);
  std::vector<Tensor> all = choices;
  all.push_back(which);
  all = broadcast_arrays(all, scope.site().where);
  which = expand_dims(all.back(), 0);
  all.pop_back();
  return squeeze(take_along_axis(stack(all), which, 0), 0);
}

Tensor multi_dot(const std::vector<Tensor>& matrices, Location where) {
  const Scope scope("multi_dot", where);
  const Site& site = scope.site();
  if (matrices.size() < 2 || matrices.size() > 25)
    fail<ValueError>(site, fmt::format("{}; from 2 to 25 are multiplied", counted(matrices.size(), "matrix", "matrices")));
  std::string letters;  // einsum finds the order that costs least
  const auto letter = [](std::size_t k) { return std::string(1, static_cast<char>('a' + k)); };
  for (std::size_t k = 0; k < matrices.size(); ++k) {
    const std::size_t rank = node_of(site, matrices[k])->shape.size();
    const bool first = k == 0 && rank == 1, last = k + 1 == matrices.size() && rank == 1;
    if (!first && !last && rank != 2)
      fail<ShapeError>(site, fmt::format("shape {} is not that of a matrix; the first and the last may be vectors", to_string(matrices[k].shape())));
    letters += (k ? "," : "") + (first ? "" : letter(k)) + (last ? "" : letter(k + 1));
  }
  letters += "->" + (matrices.front().ndim() == 1 ? "" : letter(0)) + (matrices.back().ndim() == 1 ? "" : letter(matrices.size()));
  return einsum(letters, matrices, site.where);
}

Tensor spacing(const Arg& arg) {
  const Scope scope("spacing", arg.where());
  const RecordedPtr given = as_node(scope.site(), arg);
  const Tensor x = astype(Tensor(given), traits(given->dtype).real);
  const Tensor bound(make_constant(scope.site(), neutral(Op::reduce_min, x.dtype()), Shape{}));
  const Tensor largest = where(x < 0, -bound, bound);
  const Tensor beside = where(x == largest, x - nextafter(x, 0.0), nextafter(x, largest) - x);  // the largest number has only one neighbour
  return where(isfinite(x), beside, std::numeric_limits<double>::quiet_NaN());
}

}  // namespace sinter
