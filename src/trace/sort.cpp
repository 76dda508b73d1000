// Sorting, down to a library call along the last axis.
#include <numeric>

#include "sinter/ops.hpp"
#include "trace/build.hpp"

namespace sinter {

using namespace trace;

Tensor sort(const Arg& x, std::optional<std::int64_t> axis) {
  const Site site = site_of("sort", x.where());
  RecordedPtr node = as_node(site, x);
  if (!axis) node = make_reshape(site, node, {element_count(node->shape)});
  const std::size_t rank = node->shape.size();
  const std::int64_t along = checked_axis(site, axis.value_or(0), static_cast<std::int64_t>(rank));
  // The axis goes last, and back: a swap of two.
  std::vector<std::int64_t> swapped(rank);
  std::iota(swapped.begin(), swapped.end(), 0);
  std::swap(swapped[static_cast<std::size_t>(along)], swapped[rank - 1]);
  return Tensor(make_permute(site, make_library(site, Op::sort, {make_permute(site, node, swapped)}), swapped));
}

}  // namespace sinter
