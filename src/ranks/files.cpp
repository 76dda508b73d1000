// Files of sharded tensors: each rank reads and writes its own parts.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "io/npy_header.hpp"
#include "io/safetensors_header.hpp"
#include "ranks/partition.hpp"
#include "sinter/counted.hpp"
#include "sinter/npy.hpp"
#include "sinter/safetensors.hpp"
#include "trace/build.hpp"
#include "trace/host_access.hpp"

namespace sinter::ranks {

using trace::RecordedPtr;
using trace::Site;

namespace {

/// A file that is open for reading or writing at given positions.
class Places {
 public:
  Places(const std::string& path, int flags) : path_(path), file_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) { check(file_ >= 0); }
  ~Places() {
    if (file_ >= 0) ::close(file_);
  }
  Places(const Places&) = delete;

  void read(void* to, std::size_t bytes, std::size_t at) const { all(::pread, static_cast<char*>(to), bytes, at); }
  void write(const void* from, std::size_t bytes, std::size_t at) const { all(::pwrite, static_cast<const char*>(from), bytes, at); }
  void resize(std::size_t bytes) const { check(::ftruncate(file_, static_cast<off_t>(bytes)) == 0); }
  void close() { check(::close(std::exchange(file_, -1)) == 0); }

 private:
  template <class Move, class Byte> void all(Move move, Byte* memory, std::size_t bytes, std::size_t at) const {
    while (bytes > 0) {
      const ssize_t now = move(file_, memory, bytes, static_cast<off_t>(at));
      if (now < 0 && errno == EINTR) continue;
      if (now == 0) throw IoError(fmt::format("{}: truncated: {} missing", path_, counted(bytes, "byte")));
      check(now > 0);
      memory += now;
      at += static_cast<std::size_t>(now);
      bytes -= static_cast<std::size_t>(now);
    }
  }
  void check(bool works) const {
    if (!works) throw IoError(fmt::format("{}: {}", path_, std::generic_category().message(errno)));
  }

  const std::string path_;
  int file_;
};

Block all_of(const Shape& shape) {
  Block all;
  for (const std::int64_t size : shape) all.push_back({0, size});
  return all;
}

/// Runs one rank's share while the others wait. If it fails on one rank, it fails on all.
template <class Work> void together(const WorldState& world, const Site& site, const std::string& what, Work work) {
  std::string failed;
  try {
    work();
  } catch (const Error& error) {
    failed = error.what();
  }
  for (const std::string& text : world.gather(failed, what))
    if (!text.empty()) trace::fail<IoError>(site, text);
}

/// A tensor and the position of its elements in a file.
struct Saved {
  RecordedPtr node;
  std::size_t at;
};

/// Writes a file from all ranks: each writes its parts, and rank 0 writes the header and whole tensors. The file gets its name when it is complete.
void save(const Site& site, const std::string& path, const std::string& header, const std::vector<Saved>& tensors, const WorldState& world) {
  const std::string unfinished = path + ".part", what = fmt::format("{} of {}", site.op, path);
  const auto exchanging = world.exchanging(what);
  std::size_t end = header.size();
  for (const Saved& saved : tensors) end = std::max(end, saved.at + trace::bytes_of(*saved.node));
  together(world, site, what, [&] {
    if (world.rank != 0) return;
    Places file(unfinished, O_WRONLY | O_CREAT | O_TRUNC);
    file.write(header.data(), header.size(), 0);
    file.resize(end);
    file.close();
  });
  together(world, site, what, [&] {
    Places file(unfinished, O_WRONLY);
    for (const Saved& saved : tensors) {
      const Block all = all_of(saved.node->shape);
      std::vector<std::pair<Block, RecordedPtr>> parts;
      if (saved.node->spread) parts = own_parts(saved.node);
      else if (world.rank == 0) parts = {{all, saved.node}};
      for (const auto& [block, part] : parts) {
        if (is_empty(block)) continue;
        const auto* elements = static_cast<const char*>(trace::host_data(part, site));
        for_each_run(block, block, all, itemsize(saved.node->dtype),
                     [&](std::size_t from, std::size_t to, std::size_t bytes) { file.write(elements + from, bytes, saved.at + to); });
      }
    }
    file.close();
  });
  together(world, site, what, [&] {
    if (world.rank == 0 && ::rename(unfinished.c_str(), path.c_str()) != 0) throw IoError(fmt::format("{}: {}", path, io::system_message(errno)));
  });
}

}  // namespace

Tensor load_npy(const std::string& path, const Mesh& mesh, const std::vector<std::string>& axes, Location where) {
  Tensor all = [&] {
    try {
      return map_npy(path, where);
    } catch (const IoError&) {
      return sinter::load_npy(path, where);  // elements that cannot be used in place; the loader also reports other faults of the file
    }
  }();
  return shard(Arg(all, where), mesh, axes);
}

void save_npy(const std::string& path, const Tensor& x, Location where) {
  const Site site = trace::site_of("save_npy", where);
  const RecordedPtr& node = trace::node_of(site, x);
  if (!node->spread) return sinter::save_npy(path, x, where);
  if (traits(node->dtype).npy.empty())
    trace::fail<DTypeError>(site, fmt::format("the .npy format has no {}; convert with astype(DType::float32) first", name(node->dtype)));
  own_parts(node);  // computed before the file is opened
  const std::string header = io::npy_header_bytes({node->dtype, node->shape});
  save(site, path, header, {{node, header.size()}}, *node->spread->sharding.mesh->world);
}

NamedTensors load_safetensors(const std::string& path, const Mesh& mesh, const std::map<std::string, std::vector<std::string>>& axes, Location where) {
  const Site site = trace::site_of("load_safetensors", where);
  io::Reader reader(site, path);
  const std::uint64_t bytes = reader.left();
  const std::vector<io::SafetensorsEntry> entries = io::read_safetensors_header(reader);
  const std::uint64_t header = bytes - reader.left();
  for (const auto& [name, names] : axes)
    if (std::none_of(entries.begin(), entries.end(), [&](const auto& entry) { return entry.name == name; }))
      trace::fail<ValueError>(site, fmt::format("{} has no tensor '{}'", path, io::printable(name)));
  const Places file(path, O_RDONLY);
  NamedTensors tensors;
  for (const io::SafetensorsEntry& entry : entries) {
    const Block all = all_of(entry.shape);
    const auto part = [&](const Block& block) {
      auto storage = std::make_shared<Storage>();
      storage->bytes = static_cast<std::size_t>(element_count(shape_of(block))) * itemsize(entry.dtype);
      storage->host = reader.allocate(storage->bytes);
      auto* elements = static_cast<unsigned char*>(storage->host.get());
      if (!is_empty(block))
        for_each_run(block, block, all, itemsize(entry.dtype), [&](std::size_t to, std::size_t from, std::size_t count) {
          try {
            file.read(elements + to, count, header + entry.begin + from);
          } catch (const IoError& error) {
            trace::fail<IoError>(site, error.what());
          }
        });
      if (is_bool(entry.dtype))
        for (std::size_t k = 0; k < storage->bytes; ++k) elements[k] = elements[k] != 0;
      return trace::make_data(site, entry.dtype, shape_of(block), std::move(storage));
    };
    const auto found = axes.find(entry.name);
    const Sharding sharding = found == axes.end() ? Sharding{} : sharding_of(site, entry.dtype, entry.shape, mesh, found->second);
    if (sharding.is_whole()) {
      tensors.emplace_back(entry.name, Tensor(part(all)));
      continue;
    }
    const RecordedPtr node = trace::make_data(site, entry.dtype, entry.shape, nullptr);
    node->symbolic = false;
    node->spread = std::make_shared<Spread>(Spread{sharding, {}, nullptr});
    const std::vector<Place> places = mesh.state()->own_places();
    set_parts(*node, [&](std::size_t number) { return part(block_of(entry.shape, sharding, part_of(sharding, places[number]))); });
    tensors.emplace_back(entry.name, Tensor(node));
  }
  return tensors;
}

void save_safetensors(const std::string& path, const NamedTensors& tensors, Location where) {
  const Site site = trace::site_of("save_safetensors", where);
  std::vector<io::SafetensorsEntry> entries;
  std::map<std::string, RecordedPtr> nodes;
  std::vector<RecordedPtr> pending;
  MeshPtr mesh;
  for (const auto& [name, tensor] : tensors) {
    const RecordedPtr& node = nodes[name] = trace::node_of(site, tensor);
    entries.push_back({name, node->dtype, node->shape});
    if (node->spread) mesh = node->spread->sharding.mesh;
    if (!node->evaluated()) pending.push_back(node);
  }
  if (!mesh) return sinter::save_safetensors(path, tensors, where);
  const io::SafetensorsHeader header = io::safetensors_header(site, std::move(entries));
  if (!pending.empty()) trace::evaluate(pending);  // before the file is opened
  std::vector<Saved> saved;
  for (const io::SafetensorsEntry& entry : header.entries) saved.push_back({nodes[entry.name], header.bytes.size() + entry.begin});
  save(site, path, header.bytes, saved, *mesh->world);
}

}  // namespace sinter::ranks
