// safetensors: eight bytes with the length of the JSON header, the header, the elements. https://github.com/huggingface/safetensors
#include "sinter/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "io/file.hpp"
#include "trace/build.hpp"
#include "trace/host_access.hpp"

namespace sinter {
namespace {

using namespace io;
using nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

std::optional<DType> dtype_of_code(const std::string& text) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (kDTypes[i].safetensors == text && !text.empty()) return static_cast<DType>(i);
  return std::nullopt;
}

struct Entry {
  std::string name;
  DType dtype{};
  Shape shape;
  std::uint64_t begin = 0, end = 0;
};

/// Parses the header's entry of one tensor; the file has `bytes` of elements.
Entry entry_of(const Reader& reader, const std::string& name, const ordered_json& value, std::uint64_t bytes) {
  const auto refuse = [&](const std::string& why) { reader.refuse(fmt::format("tensor '{}': {}", printable(name), why)); };
  if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") || !value.contains("data_offsets"))
    refuse("dtype, shape or data_offsets is missing");
  const ordered_json &dtype = value["dtype"], &shape = value["shape"], &offsets = value["data_offsets"];
  const auto natural = [](const ordered_json& number) { return number.is_number_unsigned() && number.get<std::uint64_t>() < std::uint64_t{1} << 62; };
  if (!dtype.is_string() || !shape.is_array() || !offsets.is_array() || offsets.size() != 2 || !std::all_of(shape.begin(), shape.end(), natural) ||
      !std::all_of(offsets.begin(), offsets.end(), natural))
    refuse("dtype, shape or data_offsets is malformed");
  Entry entry{name, {}, {}, offsets[0].get<std::uint64_t>(), offsets[1].get<std::uint64_t>()};
  const auto known = dtype_of_code(dtype.get<std::string>());
  if (!known) refuse(fmt::format("elements of type '{}' are not supported", printable(dtype.get<std::string>())));
  entry.dtype = *known;
  std::uint64_t count = 1;
  for (const ordered_json& size : shape) entry.shape.push_back(static_cast<std::int64_t>(size.get<std::uint64_t>()));
  const bool empty = std::find(entry.shape.begin(), entry.shape.end(), 0) != entry.shape.end();
  for (const std::int64_t size : entry.shape) {
    if (!empty && count > (std::uint64_t{1} << 60) / static_cast<std::uint64_t>(size)) refuse(fmt::format("shape {} is too large", to_string(entry.shape)));
    count = empty ? 0 : count * static_cast<std::uint64_t>(size);
  }
  if (entry.begin > entry.end || entry.end > bytes) refuse(fmt::format("its elements are at {} to {} of {} bytes", entry.begin, entry.end, bytes));
  if (entry.end - entry.begin != count * itemsize(entry.dtype))
    refuse(fmt::format("shape {} of {} takes {} bytes, not {}", to_string(entry.shape), sinter::name(entry.dtype), count * itemsize(entry.dtype),
                       entry.end - entry.begin));
  return entry;
}

}  // namespace

NamedTensors load_safetensors(const std::string& path, Location where) {
  const Site site = site_of("load_safetensors", where);
  Reader reader(site, path);
  std::uint64_t length = 0;
  reader.read(&length, sizeof length, "the header's length");
  constexpr std::uint64_t kMaxHeader = 100 << 20;
  if (length > kMaxHeader) reader.refuse(fmt::format("not a safetensors file: a header of {} bytes is not believable", length));
  std::string text(std::min(length, reader.left()), '\0');
  if (length > reader.left()) reader.refuse(fmt::format("truncated: the header takes {} bytes, {} are left", length, reader.left()));
  reader.read(text.data(), length, "the header");
  const ordered_json header = ordered_json::parse(text, nullptr, false);
  if (!header.is_object()) reader.refuse("malformed header: not a JSON object");
  const std::uint64_t bytes = reader.left();
  std::vector<Entry> entries;
  for (const auto& [name, value] : header.items())
    if (name != "__metadata__") entries.push_back(entry_of(reader, name, value, bytes));
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.begin < b.begin; });
  NamedTensors tensors;
  std::uint64_t at = 0;
  for (const Entry& entry : entries) {
    if (entry.begin < at) reader.refuse(fmt::format("tensor '{}' overlaps the one before", printable(entry.name)));
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
  ordered_json header = ordered_json::object();
  std::uint64_t at = 0;
  // The widest elements come first, so that all are aligned.
  std::vector<const std::pair<std::string, Tensor>*> order;
  std::set<std::string> names;
  for (const auto& named : tensors) {
    const DType dtype = node_of(site, named.second)->dtype;
    if (traits(dtype).safetensors.empty())
      fail<DTypeError>(site, fmt::format("the safetensors format has no {}; convert '{}' with astype first", name(dtype), printable(named.first)));
    if (named.first == "__metadata__" || !names.insert(named.first).second)
      fail<ValueError>(site, fmt::format("the name '{}' is {}", printable(named.first), named.first == "__metadata__" ? "reserved" : "given twice"));
    order.push_back(&named);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return itemsize(a->second.dtype()) > itemsize(b->second.dtype()); });
  const auto bytes_of = [](const Tensor& tensor) { return static_cast<std::uint64_t>(tensor.size()) * itemsize(tensor.dtype()); };
  for (const auto* named : order) {
    const Tensor& tensor = named->second;
    header[named->first] = {{"dtype", traits(tensor.dtype()).safetensors}, {"shape", tensor.shape()}, {"data_offsets", {at, at + bytes_of(tensor)}}};
    at += bytes_of(tensor);
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const ordered_json::exception& error) {
    fail<ValueError>(site, fmt::format("a name is not UTF-8: {}", error.what()));
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  std::vector<const void*> elements;  // all tensors are evaluated before the file is touched
  for (const auto* named : order) elements.push_back(bytes_of(named->second) != 0 ? host_data(named->second.node(), site) : nullptr);
  Writer writer(site, path);
  const std::uint64_t length = text.size();
  writer.write(&length, sizeof length);
  writer.write(text.data(), text.size());
  for (std::size_t k = 0; k < order.size(); ++k) writer.write(elements[k], bytes_of(order[k]->second));
  writer.finish();
}

}  // namespace sinter
