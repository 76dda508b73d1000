// Operators that read at computed places.
#include <fmt/format.h>

#include "model/call.hpp"
#include "sinter/sinter.hpp"

namespace sinter::model {
namespace {

Results gather(const Call& c) {
  return {take(c[0], c[1], c.axis(c.integer("axis", 0), c.tensor(0).ndim()))};
}

Results gather_elements(const Call& c) {
  const Tensor &x = c.tensor(0), &indices = c.tensor(1);
  const std::int64_t axis = c.axis(c.integer("axis", 0), x.ndim());
  if (indices.ndim() != x.ndim()) c.refuse(fmt::format("indices of {} dimensions into a tensor of {}", indices.ndim(), x.ndim()));
  std::vector<Index> covered(static_cast<std::size_t>(x.ndim()), Index(Slice{}));
  for (int i = 0; i < x.ndim(); ++i)  // the indices may cover less of the other axes
    if (i != axis) covered[static_cast<std::size_t>(i)] = Slice{0, indices.size(i)};
  return {take_along_axis(c.at_node(x.at(covered, c.where())), c[1], axis)};
}

Results gather_nd(const Call& c) {
  const Tensor &x = c.tensor(0), &indices = c.tensor(1);
  const std::int64_t batch = c.integer("batch_dims", 0);
  if (indices.ndim() == 0 || batch < 0 || batch >= std::min(x.ndim(), indices.ndim()))
    c.refuse(fmt::format("batch_dims {} with a tensor of {} dimensions and indices of {}", batch, x.ndim(), indices.ndim()));
  const std::int64_t depth = indices.size(indices.ndim() - 1);
  if (depth < 1 || batch + depth > x.ndim()) c.refuse(fmt::format("indices of {} numbers into a tensor of {} dimensions", depth, x.ndim()));
  std::vector<Index> places;
  for (std::int64_t k = 0; k < batch; ++k) {  // a batch axis is read at its own place
    Shape along(static_cast<std::size_t>(indices.ndim() - 1), 1);
    along[static_cast<std::size_t>(k)] = indices.size(static_cast<int>(k));
    places.emplace_back(reshape(arange(Arg(indices.size(static_cast<int>(k)), c.where())), along), c.where());
  }
  for (std::int64_t k = 0; k < depth; ++k) places.emplace_back(indices.at({Index(ellipsis), Index(k)}, c.where()), c.where());
  return {x.at(places, c.where())};
}

Results one_hot(const Call& c) {
  const Tensor &indices = c.tensor(0), &values = c.tensor(2);
  const std::int64_t depth = c.tensor(1).astype(DType::int64).to_vector<std::int64_t>(c.where()).at(0);
  const int rank = indices.ndim() + 1;
  const std::int64_t axis = c.axis(c.integer("axis", -1), rank);
  Shape along(static_cast<std::size_t>(rank), 1);
  along[static_cast<std::size_t>(axis)] = depth;
  const Tensor whole = astype(c[0], DType::int64);
  const Tensor wrapped = where(c.at_node(less(c.at_node(whole), 0)), c.at_node(add(c.at_node(whole), depth)), whole);
  const Tensor hit = equal(c.at_node(expand_dims(c.at_node(wrapped), axis)), reshape(arange(Arg(depth, c.where())), along));
  return {where(c.at_node(hit), values.at({Index(1)}, c.where()), values.at({Index(0)}, c.where()))};
}

Results reverse_sequence(const Call& c) {
  const Tensor& x = c.tensor(0);
  const std::int64_t batch = c.integer("batch_axis", 1), time = c.integer("time_axis", 0);
  if (x.ndim() < 2 || batch + time != 1) c.refuse("batch_axis and time_axis have to be 0 and 1");
  Shape along_time(static_cast<std::size_t>(x.ndim()), 1), along_batch = along_time;
  along_time[static_cast<std::size_t>(time)] = x.size(static_cast<int>(time));
  along_batch[static_cast<std::size_t>(batch)] = x.size(static_cast<int>(batch));
  const Tensor step = reshape(arange(Arg(x.size(static_cast<int>(time)), c.where())), along_time);
  const Tensor lengths = reshape(c.at_node(astype(c[1], DType::int64)), along_batch);
  const Tensor place = where(c.at_node(less(step, lengths)), subtract(c.at_node(subtract(lengths, 1)), step), step);
  return {take_along_axis(c[0], c.at_node(place), time)};
}

const Operator kRows[] = {
    {"Gather", gather},
    {"GatherElements", gather_elements},
    {"GatherND", gather_nd},
    {"OneHot", one_hot},
    {"ReverseSequence", reverse_sequence},
};

}  // namespace

std::span<const Operator> indexing_operators() { return kRows; }

}  // namespace sinter::model
