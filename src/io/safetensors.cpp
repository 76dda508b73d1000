#include "sinter/safetensors.hpp"

#include <map>

#include "io/safetensors_header.hpp"
#include "trace/build.hpp"
#include "trace/host_access.hpp"

namespace sinter {

using namespace io;

NamedTensors load_safetensors(const std::string& path, Location where) {
  const Site site = site_of("load_safetensors", where);
  Reader reader(site, path);
  NamedTensors tensors;
  std::uint64_t at = 0;
  for (const SafetensorsEntry& entry : read_safetensors_header(reader)) {
    reader.skip(entry.begin - at);
    auto storage = std::make_shared<Storage>();
    storage->bytes = entry.end - entry.begin;
    storage->host = reader.allocate(storage->bytes);
    auto* elements = static_cast<unsigned char*>(storage->host.get());
    reader.read(elements, storage->bytes, "the elements");
    if (is_bool(entry.dtype))
      for (std::size_t i = 0; i < storage->bytes; ++i) elements[i] = elements[i] != 0;
    at = entry.end;
    tensors.emplace_back(entry.name, Tensor(make_data(site, entry.dtype, entry.shape, std::move(storage))));
  }
  return tensors;
}

void save_safetensors(const std::string& path, const NamedTensors& tensors, Location where) {
  const Site site{"save_safetensors", where};
  std::vector<SafetensorsEntry> entries;
  std::map<std::string, RecordedPtr> nodes;
  for (const auto& [name, tensor] : tensors) {
    const RecordedPtr& node = nodes[name] = node_of(site, tensor);
    entries.push_back({name, node->dtype, node->shape});
  }
  const SafetensorsHeader header = safetensors_header(site, std::move(entries));
  std::vector<const void*> elements;  // all tensors are evaluated before the file is opened
  for (const SafetensorsEntry& entry : header.entries) elements.push_back(entry.end > entry.begin ? host_data(nodes[entry.name], site) : nullptr);
  Writer writer(site, path);
  writer.write(header.bytes.data(), header.bytes.size());
  for (std::size_t k = 0; k < elements.size(); ++k) writer.write(elements[k], header.entries[k].end - header.entries[k].begin);
  writer.finish();
}

}  // namespace sinter
