// The public functions of sinter/ranks.hpp over tensors.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "io/npy_header.hpp"
#include "ranks/partition.hpp"
#include "ranks/rules.hpp"
#include "sinter/npy.hpp"
#include "trace/build.hpp"
#include "trace/host_access.hpp"

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
    const int least = axes.size() == 1 ? 8 : 4;
    if (axis.pieces == 0) axis.pieces = (least + axis.size - 1) / axis.size * axis.size;
    if (axis.pieces < axis.size || axis.pieces % axis.size != 0 || axis.pieces > (1 << 20))
      trace::fail<ValueError>(site, fmt::format("axis {} has {} pieces, which is no multiple of its {} ranks", axis.name, axis.pieces, axis.size));
    ranks = std::min<std::int64_t>(ranks * axis.size, std::int64_t{1} << 40);
  }
  if (axes.empty() || ranks != world.size())
    trace::fail<ValueError>(site, fmt::format("the axes have {} ranks together, and the program runs on {}", axes.empty() ? 0 : ranks, world.size()));
  state_ = std::make_shared<MeshState>(MeshState{world.state(), std::move(axes)});
  watch_recording();
}

const std::vector<MeshAxis>& Mesh::axes() const { return state_->axes; }
World Mesh::world() const { return World(state_->world); }

Tensor shard(const Arg& x, const Mesh& mesh, const std::vector<std::string>& axes) {
  const Site site = trace::site_of("shard", x.where());
  const RecordedPtr node = trace::as_node(site, x);
  if (axes.size() != node->shape.size())
    trace::fail<ShardingError>(site, fmt::format("{} {} has {} axes, and {} names are given; an empty name leaves an axis whole", name(node->dtype),
                                                 sinter::to_string(node->shape), node->shape.size(), axes.size()));
  if (node->spread && node->spread->sharding.mesh != mesh.state())
    trace::fail<ShardingError>(site, "the tensor lies on another mesh; call ranks::unshard on it first");
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

namespace {

/// Evaluates a value that has a spread. Returns this rank's parts of the value, each once, with their blocks.
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

}  // namespace

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

Tensor load_npy(const std::string& path, const Mesh& mesh, const std::vector<std::string>& axes, Location where) {
  Tensor all = [&] {
    try {
      return map_npy(path, where);
    } catch (const IoError&) {
      return sinter::load_npy(path, where);  // the elements cannot be mapped; any other fault of the file is reported here
    }
  }();
  return shard(Arg(all, where), mesh, axes);
}

namespace {

/// Runs `work` on one rank while the others wait. If it fails there, all ranks throw.
template <class Work> void together(const WorldState& world, const Site& site, const std::string& path, Work work) {
  std::string failed;
  try {
    work();
  } catch (const Error& error) {
    failed = error.what();
  }
  for (const std::string& text : world.gather(failed, fmt::format("save_npy of {}", path)))
    if (!text.empty()) trace::fail<IoError>(site, text);
}

void check(bool works, const std::string& path) {
  if (!works) throw IoError(fmt::format("{}: {}", path, std::generic_category().message(errno)));
}

}  // namespace

void save_npy(const std::string& path, const Tensor& x, Location where) {
  const Site site = trace::site_of("save_npy", where);
  const RecordedPtr& node = trace::node_of(site, x);
  if (!node->spread) return sinter::save_npy(path, x, where);
  if (traits(node->dtype).npy.empty())
    trace::fail<DTypeError>(site, fmt::format("the .npy format has no {}; convert with astype(DType::float32) first", name(node->dtype)));
  const auto parts = own_parts(node);
  const Sharding& sharding = node->spread->sharding;
  const WorldState& world = *sharding.mesh->world;
  const std::string header = io::npy_header_bytes({node->dtype, node->shape}), unfinished = path + ".part";
  const std::size_t item = itemsize(node->dtype);
  Block all;
  for (const std::int64_t size : node->shape) all.push_back({0, size});
  together(world, site, path, [&] {
    if (world.rank != 0) return;
    const int file = ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    check(file >= 0, unfinished);
    const bool written = ::write(file, header.data(), header.size()) == static_cast<ssize_t>(header.size()) &&
                         ::ftruncate(file, static_cast<off_t>(header.size() + trace::bytes_of(*node))) == 0;
    check(::close(file) == 0 && written, unfinished);
  });
  together(world, site, path, [&] {
    const int file = ::open(unfinished.c_str(), O_WRONLY | O_CLOEXEC);
    check(file >= 0, unfinished);
    bool written = true;
    for (const auto& [block, part] : parts) {
      if (is_empty(block)) continue;
      const auto* elements = static_cast<const char*>(trace::host_data(part, site));
      for_each_run(block, block, all, item, [&](std::size_t from, std::size_t to, std::size_t bytes) {
        while (written && bytes > 0) {
          const ssize_t now = ::pwrite(file, elements + from, bytes, static_cast<off_t>(header.size() + to));
          written = now > 0;
          if (written) from += static_cast<std::size_t>(now), to += static_cast<std::size_t>(now), bytes -= static_cast<std::size_t>(now);
        }
      });
    }
    check(::close(file) == 0 && written, unfinished);
  });
  together(world, site, path, [&] {
    if (world.rank == 0) check(::rename(unfinished.c_str(), path.c_str()) == 0, path);
  });
}

}  // namespace sinter::ranks
