// Operators that read and write at computed positions, and operators that select.
#include <fmt/format.h>

#include <algorithm>

#include "onnx/call.hpp"
#include "sinter/counted.hpp"
#include "sinter/sinter.hpp"

namespace sinter::onnx {
namespace {

Results gather(const Call& c) { return {take(c[0], c[1], c.axis(c.integer("axis", 0), c.tensor(0).ndim()))}; }

Results gather_elements(const Call& c) {
  const Tensor &x = c.tensor(0), &indices = c.tensor(1);
  const std::int64_t axis = c.axis(c.integer("axis", 0), x.ndim());
  if (indices.ndim() != x.ndim()) c.refuse(fmt::format("indices of {} into a tensor of {}", sinter::counted(indices.ndim(), "dimension"), x.ndim()));
  std::vector<Index> covered(static_cast<std::size_t>(x.ndim()), Index(Slice{}));
  for (int i = 0; i < x.ndim(); ++i)  // the indices may cover only a part of the other axes
    if (i != axis) covered[static_cast<std::size_t>(i)] = Slice{0, indices.size(i)};
  return {take_along_axis(c.at_node(x.at(covered, c.where())), c[1], axis)};
}

Results gather_nd(const Call& c) {
  const Tensor &x = c.tensor(0), &indices = c.tensor(1);
  const std::int64_t batch = c.integer("batch_dims", 0);
  if (indices.ndim() == 0 || batch < 0 || batch >= std::min(x.ndim(), indices.ndim()))
    c.refuse(fmt::format("batch_dims {} does not fit a tensor of {} and indices of {}", batch, sinter::counted(x.ndim(), "dimension"), indices.ndim()));
  const std::int64_t depth = indices.size(indices.ndim() - 1);
  if (depth < 1 || batch + depth > x.ndim())
    c.refuse(fmt::format("indices of {} into a tensor of {}", sinter::counted(depth, "number"), sinter::counted(x.ndim(), "dimension")));
  std::vector<Index> places;
  for (std::int64_t k = 0; k < batch; ++k) {  // an element of a batch is read from the same batch
    Shape along(static_cast<std::size_t>(indices.ndim() - 1), 1);
    along[static_cast<std::size_t>(k)] = indices.size(static_cast<int>(k));
    places.emplace_back(reshape(arange(Arg(indices.size(static_cast<int>(k)), c.where())), along), c.where());
  }
  for (std::int64_t k = 0; k < depth; ++k) places.emplace_back(indices.at({Index(ellipsis), Index(k)}, c.where()), c.where());
  return {x.at(places, c.where())};
}

Results one_hot(const Call& c) {
  const Tensor &indices = c.tensor(0), &values = c.tensor(2);
  const std::int64_t depth = is_integer(c.tensor(1).dtype()) ? c.within({c.value(1)}, "the depth", 0)[0] : c.whole(c.real(1), "the depth");
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
  if (x.ndim() < 2 || batch < 0 || time < 0 || std::max(batch, time) != 1 || batch == time) c.refuse("batch_axis and time_axis have to be 0 and 1");
  Shape along_time(static_cast<std::size_t>(x.ndim()), 1), along_batch = along_time;
  along_time[static_cast<std::size_t>(time)] = x.size(static_cast<int>(time));
  along_batch[static_cast<std::size_t>(batch)] = x.size(static_cast<int>(batch));
  const Tensor step = reshape(arange(Arg(x.size(static_cast<int>(time)), c.where())), along_time);
  const Tensor lengths = reshape(c.at_node(astype(c[1], DType::int64)), along_batch);
  const Tensor place = where(c.at_node(less(step, lengths)), subtract(c.at_node(subtract(lengths, 1)), step), step);
  return {take_along_axis(c[0], c.at_node(place), time)};
}

Results top_k(const Call& c) {
  const std::vector<std::int64_t> count = c.given("k") ? std::vector<std::int64_t>{c.integer("k")} : c.values(1);
  if (count.size() != 1) c.refuse("k has to be one number");
  auto [values, places] = topk(c[0], count[0], c.axis(c.integer("axis", -1), c.tensor(0).ndim()), c.integer("largest", 1) != 0);
  return {values, astype(c.at_node(places), DType::int64)};
}

Results compress_of(const Call& c) {
  return c.by_elements("the selection depends", [&]() -> Results {
    if (!c.given("axis")) return {compress(c[1], c[0])};
    return {compress(c[1], c[0], c.axis(c.integer("axis"), c.tensor(0).ndim()))};
  });
}

/// ONNX's indices give the first occurrence of each value. If unsorted, values come in the order of these occurrences.
Results unique_of(const Call& c) {
  const Tensor& x = c.tensor(0);
  std::optional<std::int64_t> axis;
  if (c.given("axis")) axis = c.axis(c.integer("axis"), x.ndim());
  Unique all = c.by_elements("the number of distinct values depends", [&] { return unique_with(c[0], axis); });
  all.inverse = reshape(c.at_node(all.inverse), {-1});
  if (c.integer("sorted", 1) == 0) {
    const Tensor order = argsort(c.at_node(all.indices));
    all.values = take(c.at_node(all.values), order, axis.value_or(0));
    all.inverse = take(c.at_node(argsort(c.at_node(order))), all.inverse, 0);
    all.indices = take(c.at_node(all.indices), order, 0);
    all.counts = take(c.at_node(all.counts), order, 0);
  }
  return {all.values, all.indices, all.inverse, all.counts};
}

/// Returns x with the values written at these indices, or combined with x's elements there.
Results scattered(const Call& c, const std::vector<Index>& places, const Tensor& values) {
  const std::string reduction = c.text("reduction", "none");
  if (reduction == "add") return {add_at(c[0], places, c.at_node(values))};
  if (reduction == "mul") return {multiply_at(c[0], places, c.at_node(values))};
  if (reduction == "max") return {maximum_at(c[0], places, c.at_node(values))};
  if (reduction == "min") return {minimum_at(c[0], places, c.at_node(values))};
  if (reduction != "none") c.refuse(fmt::format("reduction '{}'", reduction));
  Tensor x = c.tensor(0);
  x.at(places, c.where()) = c.at_node(values);
  return {x};
}

/// Returns 0, 1, 2, ... along one of `rank` axes.
Tensor counted(const Call& c, std::int64_t size, std::size_t axis, std::size_t rank) {
  Shape along(rank, 1);
  along[axis] = size;
  return reshape(arange(Arg(size, c.where())), along);
}

Results scatter_elements(const Call& c) {
  const Tensor &x = c.tensor(0), &indices = c.tensor(1);
  const auto axis = static_cast<std::size_t>(c.axis(c.integer("axis", 0), x.ndim()));
  if (indices.ndim() != x.ndim()) c.refuse(fmt::format("indices of {} into a tensor of {}", sinter::counted(indices.ndim(), "dimension"), x.ndim()));
  std::vector<Index> places;
  for (std::size_t i = 0; i < indices.shape().size(); ++i)
    places.emplace_back(i == axis ? indices : counted(c, indices.shape()[i], i, indices.shape().size()), c.where());
  return scattered(c, places, c.tensor(2));
}

Results scatter_nd(const Call& c) {
  const Tensor &x = c.tensor(0), &indices = c.tensor(1);
  const std::int64_t depth = indices.ndim() > 0 ? indices.size(indices.ndim() - 1) : 0;
  if (depth < 1 || depth > x.ndim())
    c.refuse(fmt::format("indices of {} into a tensor of {}", sinter::counted(depth, "number"), sinter::counted(x.ndim(), "dimension")));
  std::vector<Index> places;
  for (std::int64_t k = 0; k < depth; ++k) places.emplace_back(indices.at({Index(ellipsis), Index(k)}, c.where()), c.where());
  return scattered(c, places, c.tensor(2));
}

const Operator kIndexingRows[] = {
    {"Compress", {2, 2}, compress_of},
    {"Det", {1, 1}, [](const Call& c) -> Results { return {det(c[0])}; }},
    {"Gather", {2, 2}, gather},
    {"GatherElements", {2, 2}, gather_elements},
    {"GatherND", {2, 2}, gather_nd},
    {"NonZero",
     {1, 1},
     [](const Call& c) -> Results {
       const Tensor places = c.by_elements("the number of nonzero elements depends", [&] { return argwhere(c[0]); });
       return {transpose(c.at_node(astype(c.at_node(places), DType::int64)))};
     }},
    {"OneHot", {3, 3}, one_hot},
    {"ReverseSequence", {2, 2}, reverse_sequence},
    {"Scatter", {3, 3}, scatter_elements},
    {"ScatterElements", {3, 3}, scatter_elements},
    {"ScatterND", {3, 3}, scatter_nd},
    {"TopK", {1, 2}, top_k},
    {"Unique", {1, 1}, unique_of},
};

}  // namespace

std::span<const Operator> indexing_operators() { return kIndexingRows; }

}  // namespace sinter::onnx
