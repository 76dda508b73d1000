// A recurrent layer, expressed by a library call.
#include <fmt/format.h>

#include <vector>

#include "ops/recording.hpp"
#include "sinter/recurrent.hpp"
#include "trace/library.hpp"

namespace sinter {

using namespace ops;

Tensor recurrence(Cell cell, const Arg& x, const Tensor& weights, const Tensor& start, bool backwards, const Tensor& lengths) {
  const Scope scope("recurrence", x.where());
  const Site& site = scope.site();
  const RecordedPtr sums = as_node(site, x), by = node_of(site, weights), from = node_of(site, start);
  for (const RecordedPtr& node : {sums, by, from})
    if (node->dtype != DType::float32) fail<DTypeError>(site, fmt::format("{} where it takes float32", name(node->dtype)));
  const RecordedPtr ends = lengths.empty_handle() ? nullptr : node_of(site, lengths);
  if (ends && ends->dtype != DType::int64) fail<DTypeError>(site, fmt::format("lengths of {} where it takes int64", name(ends->dtype)));
  std::vector<Shape> shapes{sums->shape, by->shape, from->shape};
  if (ends) shapes.push_back(ends->shape);
  if (ends && shapes[0].size() == 3 && ends->shape != Shape{shapes[0][1]})
    fail<ShapeError>(site, fmt::format("lengths of shape {} for a batch of {}", to_string(ends->shape), shapes[0][1]));
  const Recurrence how{cell, backwards};
  if (!how.takes(shapes))
    fail<ShapeError>(site, fmt::format("x {}, weights {} and start {} where it takes (steps, batch, {} * size), (size + 1, {} * size) and ({}, batch, size){}",
                                       to_string(shapes[0]), to_string(shapes[1]), to_string(shapes[2]), how.gates(), how.gates(), how.states(),
                                       ends ? fmt::format(", or x (steps, batch, inputs) and weights (inputs + size + 2, {} * size)", how.gates()) : ""));
  if (shapes[0][0] == 0) return start;
  if (ends) return Tensor(make_library(site, Op::ragged_recurrence, {sums, by, from, ends}, how.ints()));
  return Tensor(make_library(site, Op::recurrence, {sums, by, from}, how.ints()));
}

}  // namespace sinter
