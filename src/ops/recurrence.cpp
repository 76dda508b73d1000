// A recurrent layer, expressed by a library call.
#include <fmt/format.h>

#include <vector>

#include "ops/recording.hpp"
#include "sinter/ops.hpp"
#include "sinter/recurrent.hpp"
#include "trace/library.hpp"

namespace sinter {

using namespace ops;

namespace {

void check_floats(const Site& site, std::initializer_list<RecordedPtr> nodes) {
  for (const RecordedPtr& node : nodes)
    if (node->dtype != DType::float32) fail<DTypeError>(site, fmt::format("{} where it takes float32", name(node->dtype)));
}

}  // namespace

Tensor recurrence(Cell cell, const Arg& x, const Tensor& weights, const Tensor& start, bool backwards, const Tensor& lengths) {
  const Scope scope("recurrence", x.where());
  const Site& site = scope.site();
  const RecordedPtr sums = as_node(site, x), by = node_of(site, weights), from = node_of(site, start);
  check_floats(site, {sums, by, from});
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

Tensor recurrence(Cell cell, const Arg& x, const ByteWeights& weights, const Tensor& start, bool backwards) {
  const Scope scope("recurrence", x.where());
  const Site& site = scope.site();
  const RecordedPtr sums = as_node(site, x), from = node_of(site, start), bytes = node_of(site, weights.numbers);
  check_floats(site, {sums, from, node_of(site, weights.factor), node_of(site, weights.zero), node_of(site, weights.bias)});
  if (bytes->dtype != DType::int8 && bytes->dtype != DType::uint8)
    fail<DTypeError>(site, fmt::format("weights of {} where it takes int8 or uint8", name(bytes->dtype)));
  const RecordedPtr by = stack({weights.factor, weights.zero, weights.bias}).node();
  const std::vector<Shape> shapes{sums->shape, by->shape, from->shape, bytes->shape};
  const Recurrence how{cell, backwards};
  if (!how.takes_bytes(shapes))
    fail<ShapeError>(site, fmt::format("x {}, weights {} and start {} where it takes (steps, batch, {} * size), (size, {} * size) and ({}, batch, size)",
                                       to_string(shapes[0]), to_string(shapes[3]), to_string(shapes[2]), how.gates(), how.gates(), how.states()));
  if (shapes[0][0] == 0) return start;
  return Tensor(make_library(site, Op::byte_recurrence, {sums, by, from, bytes}, how.ints()));
}

}  // namespace sinter
