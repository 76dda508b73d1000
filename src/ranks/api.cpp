// The public functions of sinter/ranks.hpp over tensors.
#include <fmt/format.h>

#include <algorithm>

#include "ranks/partition.hpp"
#include "ranks/rules.hpp"
#include "trace/build.hpp"

namespace sinter::ranks {

using trace::RecordedPtr;
using trace::Site;

Mesh::Mesh(const World& world, std::vector<MeshAxis> axes, Location where) {
  const Site site{"Mesh", where};
  std::int64_t ranks = 1;
  for (MeshAxis& axis : axes) {
    if (axis.name.empty()) trace::fail<ValueError>(site, "an axis has no name");
    if (std::count_if(axes.begin(), axes.end(), [&](const MeshAxis& other) { return other.name == axis.name; }) > 1)
      trace::fail<ValueError>(site, fmt::format("two axes have the name {}", axis.name));
    if (axis.size < 1 || axis.size > (1 << 20)) trace::fail<ValueError>(site, fmt::format("axis {} has {} ranks", axis.name, axis.size));
    const int min_pieces = axes.size() == 1 ? 8 : 4;
    if (axis.pieces == 0) axis.pieces = (min_pieces + axis.size - 1) / axis.size * axis.size;
    if (axis.pieces > (1 << 20)) trace::fail<ValueError>(site, fmt::format("axis {} has {} pieces, more than {}", axis.name, axis.pieces, 1 << 20));
    if (axis.pieces < axis.size || axis.pieces % axis.size != 0)
      trace::fail<ValueError>(site, fmt::format("axis {} has {} pieces, which is not a multiple of its {} ranks", axis.name, axis.pieces, axis.size));
    ranks = std::min<std::int64_t>(ranks * axis.size, std::int64_t{1} << 40);
  }
  if (axes.empty() || ranks != world.size())
    trace::fail<ValueError>(site, fmt::format("the axes have {} ranks together, but the program runs on {}", axes.empty() ? 0 : ranks, world.size()));
  state_ = std::make_shared<MeshState>(MeshState{world.state(), std::move(axes), no_partitions()});
  watch_recording();
}

const std::vector<MeshAxis>& Mesh::axes() const { return state_->axes; }
World Mesh::world() const { return World(state_->world); }

Sharding sharding_of(const Site& site, DType dtype, const Shape& shape, const Mesh& mesh, const std::vector<std::string>& axes) {
  if (axes.size() != shape.size())
    trace::fail<ShardingError>(site, fmt::format("{} {} has {} axes, and {} names are given; an empty name leaves an axis whole", name(dtype),
                                                 sinter::to_string(shape), shape.size(), axes.size()));
  Sharding to{mesh.state(), {}};
  for (const std::string& wanted : axes) {
    int found = kWhole;
    for (std::size_t k = 0; k < mesh.axes().size(); ++k)
      if (mesh.axes()[k].name == wanted) found = static_cast<int>(k);
    if (found == kWhole && !wanted.empty()) trace::fail<ShardingError>(site, fmt::format("the mesh has no axis {}", wanted));
    if (found != kWhole && to.along(static_cast<std::size_t>(found)) >= 0)
      trace::fail<ShardingError>(site, fmt::format("two axes of the tensor cannot be sharded along {}", wanted));
    to.axes.push_back(found);
  }
  return to;
}

Tensor shard(const Arg& x, const Mesh& mesh, const std::vector<std::string>& axes) {
  const Site site = trace::site_of("shard", x.where());
  const RecordedPtr node = trace::as_node(site, x);
  if (node->spread && node->spread->sharding.mesh != mesh.state())
    trace::fail<ShardingError>(site, "the tensor lies on another mesh; call ranks::unshard on it first");
  Sharding to = sharding_of(site, node->dtype, node->shape, mesh, axes);
  if (!node->spread && to.is_whole()) return Tensor(node);
  return Tensor(resharded(site, node, std::move(to)));
}

Tensor unshard(const Arg& x) {
  const Site site = trace::site_of("unshard", x.where());
  const RecordedPtr node = trace::as_node(site, x);
  if (!node->spread) return Tensor(node);
  return Tensor(resharded(site, node, {node->spread->sharding.mesh, std::vector<int>(node->shape.size(), kWhole)}));
}

std::vector<std::string> sharding(const Tensor& x, Location where) {
  const RecordedPtr& node = trace::node_of({"sharding", where}, x);
  std::vector<std::string> names(node->shape.size());
  for (std::size_t k = 0; node->spread && k < names.size(); ++k)
    if (const int axis = node->spread->sharding.axes[k]; axis != kWhole) names[k] = node->spread->sharding.mesh->axes[static_cast<std::size_t>(axis)].name;
  return names;
}

std::string describe(const Tensor& x, Location where) {
  const RecordedPtr& node = trace::node_of({"describe", where}, x);
  if (!node->spread) return fmt::format("{} {}", name(node->dtype), sinter::to_string(node->shape));
  return to_string(node->dtype, node->shape, node->spread->sharding);
}

std::vector<std::pair<Block, RecordedPtr>> own_parts(const RecordedPtr& node) {
  if (!node->evaluated()) trace::evaluate({node});
  const Sharding& sharding = node->spread->sharding;
  const std::vector<Place> places = sharding.mesh->own_places();
  std::vector<std::pair<Block, RecordedPtr>> parts;
  for (std::size_t k = 0; k < places.size(); ++k) {
    const RecordedPtr& part = node->spread->parts[k];
    if (std::none_of(parts.begin(), parts.end(), [&](const auto& other) { return other.second == part; }))
      parts.emplace_back(block_of(node->shape, sharding, places[k]), part);
  }
  return parts;
}

Tensor local(const Tensor& x, Location where) {
  const Site site = trace::site_of("local", where);
  const RecordedPtr& node = trace::node_of(site, x);
  if (!node->spread) return x;
  const auto parts = own_parts(node);
  if (parts.size() == 1) return Tensor(parts[0].second);
  Block all = parts[0].first;
  for (const auto& [block, part] : parts)
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = {std::min(all[k].begin, block[k].begin), std::max(all[k].end, block[k].end)};
  RecordedPtr result = trace::make_constant(site, trace::make_scalar_int(node->dtype, 0), shape_of(all));
  for (const auto& [block, part] : parts) {
    std::vector<std::int64_t> around;
    for (std::size_t k = 0; k < all.size(); ++k) around.insert(around.end(), {block[k].begin - all[k].begin, all[k].end - block[k].end});
    if (!is_empty(block)) result = trace::make_pad(site, part, result, std::move(around));
  }
  return Tensor(result);
}

}  // namespace sinter::ranks
