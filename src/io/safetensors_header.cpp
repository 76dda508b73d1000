#include "io/safetensors_header.hpp"
#include "sinter/counted.hpp"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

namespace sinter::io {

using nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

namespace {

std::optional<DType> dtype_of_code(const std::string& text) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (kDTypes[i].safetensors == text && !text.empty()) return static_cast<DType>(i);
  return std::nullopt;
}

/// Parses the header's entry of one tensor; the file has `bytes` of elements.
SafetensorsEntry entry_of(const Reader& reader, const std::string& name, const ordered_json& value, std::uint64_t bytes) {
  const auto refuse = [&](const std::string& why) { reader.refuse(fmt::format("tensor '{}': {}", printable(name), why)); };
  if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") || !value.contains("data_offsets"))
    refuse("dtype, shape or data_offsets is missing");
  const ordered_json &dtype = value["dtype"], &shape = value["shape"], &offsets = value["data_offsets"];
  const auto natural = [](const ordered_json& number) { return number.is_number_unsigned() && number.get<std::uint64_t>() < std::uint64_t{1} << 62; };
  if (!dtype.is_string() || !shape.is_array() || !offsets.is_array() || offsets.size() != 2 || !std::all_of(shape.begin(), shape.end(), natural) ||
      !std::all_of(offsets.begin(), offsets.end(), natural))
    refuse("dtype, shape or data_offsets is malformed");
  SafetensorsEntry entry{name, {}, {}, offsets[0].get<std::uint64_t>(), offsets[1].get<std::uint64_t>()};
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
  if (entry.begin > entry.end || entry.end > bytes) refuse(fmt::format("its elements would be bytes {} to {} of {}", entry.begin, entry.end, bytes));
  if (entry.end - entry.begin != count * itemsize(entry.dtype))
    refuse(fmt::format("shape {} of {} takes {}, not {}", to_string(entry.shape), sinter::name(entry.dtype), counted(count * itemsize(entry.dtype), "byte"),
                       entry.end - entry.begin));
  return entry;
}

}  // namespace

std::vector<SafetensorsEntry> read_safetensors_header(Reader& reader) {
  std::uint64_t length = 0;
  reader.read(&length, sizeof length, "the header's length");
  constexpr std::uint64_t kMaxHeader = 100 << 20;
  if (length > kMaxHeader) reader.refuse(fmt::format("not a safetensors file: its header would have {}, which is too many", counted(length, "byte")));
  std::string text(std::min(length, reader.left()), '\0');
  if (length > reader.left())
    reader.refuse(fmt::format("truncated: the header takes {}, but the file has only {} left", counted(length, "byte"), counted(reader.left(), "byte")));
  reader.read(text.data(), length, "the header");
  const ordered_json header = ordered_json::parse(text, nullptr, false);
  if (!header.is_object()) reader.refuse("malformed header: not a JSON object");
  const std::uint64_t bytes = reader.left();
  std::vector<SafetensorsEntry> entries;
  for (const auto& [name, value] : header.items())
    if (name != "__metadata__") entries.push_back(entry_of(reader, name, value, bytes));
  std::stable_sort(entries.begin(), entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) { return a.begin < b.begin; });
  std::uint64_t at = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin < at) reader.refuse(fmt::format("tensor '{}' overlaps the one before", printable(entry.name)));
    at = entry.end;
  }
  return entries;
}

SafetensorsHeader safetensors_header(const Site& site, std::vector<SafetensorsEntry> tensors) {
  std::set<std::string> names;
  for (const SafetensorsEntry& entry : tensors) {
    if (traits(entry.dtype).safetensors.empty())
      fail<DTypeError>(site, fmt::format("the safetensors format has no {}; convert '{}' with astype first", name(entry.dtype), printable(entry.name)));
    if (entry.name == "__metadata__" || !names.insert(entry.name).second)
      fail<ValueError>(site, fmt::format("the name '{}' is {}", printable(entry.name), entry.name == "__metadata__" ? "reserved" : "given twice"));
  }
  std::stable_sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return itemsize(a.dtype) > itemsize(b.dtype); });
  ordered_json header = ordered_json::object();
  std::uint64_t at = 0;
  for (SafetensorsEntry& entry : tensors) {
    entry.begin = at;
    entry.end = at += static_cast<std::uint64_t>(element_count(entry.shape)) * itemsize(entry.dtype);
    header[entry.name] = {{"dtype", traits(entry.dtype).safetensors}, {"shape", entry.shape}, {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const ordered_json::exception& error) {
    fail<ValueError>(site, fmt::format("a name is not UTF-8: {}", error.what()));
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  const std::uint64_t length = text.size();
  return {std::string(reinterpret_cast<const char*>(&length), sizeof length) + text, std::move(tensors)};
}

}  // namespace sinter::io
