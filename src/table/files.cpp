#include "table/files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>

#include "sinter/csv.hpp"
#include "sinter/errors.hpp"
#include "sinter/image.hpp"
#include "sinter/npy.hpp"
#include "sinter/npz.hpp"
#include "sinter/safetensors.hpp"

namespace sinter::table {
namespace {

constexpr std::string_view kArchives[] = {".npz", ".safetensors"}, kTables[] = {".csv", ".tsv"}, kImages[] = {".png", ".ppm", ".pgm"};

bool ends_with_one_of(const std::string& text, std::span<const std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return text.ends_with(ending); });
}

/// An archive, and the name of a tensor in it, which may be empty.
struct Member {
  std::string path, name;
};
std::optional<Member> member_of(const std::string& text) {
  if (ends_with_one_of(text, kArchives)) return Member{text, ""};
  for (const std::string_view ending : kArchives)
    if (const auto at = text.find(std::string(ending) + ':'); at != std::string::npos)
      return Member{text.substr(0, at + ending.size()), text.substr(at + ending.size() + 1)};
  return std::nullopt;
}

Tensor load_member(const Member& member) {
  const bool npz = member.path.ends_with(".npz");
  if (npz && !member.name.empty()) return load_npz(member.path, member.name, Location{});
  const NamedTensors all = npz ? load_npz(member.path, Location{}) : load_safetensors(member.path, Location{});
  std::string known;
  for (const auto& [name, tensor] : all) {
    if (name == member.name || (member.name.empty() && all.size() == 1)) return tensor;
    known += (known.empty() ? "" : ", ") + name;
  }
  if (member.name.empty())
    throw IoError(fmt::format("{} has {} tensors: give {}:NAME with one of {}", member.path, all.size(), member.path, known.empty() ? "none" : known));
  throw IoError(fmt::format("{}: there is no '{}' in it; it has {}", member.path, member.name, known.empty() ? "none" : known));
}

/// Parses a file of a table and a column, which is given by its name in the header or by its number from 0.
std::optional<Member> column_of(const std::string& text) {
  for (const std::string_view ending : kTables)
    if (const auto at = text.find(std::string(ending) + ':'); at != std::string::npos)
      return Member{text.substr(0, at + ending.size()), text.substr(at + ending.size() + 1)};
  return std::nullopt;
}
Tensor load_table(const std::string& path, const std::string& column) {
  const Csv table = load_csv(path, {.delimiter = path.ends_with(".tsv") ? '\t' : '\0'}, Location{});
  if (column.empty()) return table.values;
  const auto found = std::find(table.names.begin(), table.names.end(), column);
  std::size_t number = static_cast<std::size_t>(found - table.names.begin());
  if (found == table.names.end()) {
    const auto [end, error] = std::from_chars(column.data(), column.data() + column.size(), number);
    if (error != std::errc() || end != column.data() + column.size() || static_cast<std::int64_t>(number) >= table.values.shape().back())
      throw IoError(fmt::format("{}: there is no column '{}' in it; it has {}", path, column,
                                table.names.empty() ? fmt::format("no header, and columns 0 to {}", table.values.shape().back() - 1)
                                                    : fmt::format("{}", fmt::join(table.names, ", "))));
  }
  return table.values(ellipsis, static_cast<std::int64_t>(number));
}

}  // namespace

Tensor load_file(const std::string& text) {
  std::error_code too_long;  // an overlong name is not a file
  const bool exists = std::filesystem::exists(text, too_long);
  if (!exists || ends_with_one_of(text, kArchives))
    if (const auto member = member_of(text)) return load_member(*member);
  if (const auto column = exists ? std::nullopt : column_of(text)) return load_table(column->path, column->name);
  if (ends_with_one_of(text, kTables)) return load_table(text, "");
  if (ends_with_one_of(text, kImages)) return load_image(text, Location{});
  return load_npy(text, Location{});
}

bool is_file_name(const std::string& text) {
  return text.ends_with(".npy") || member_of(text) || column_of(text) || ends_with_one_of(text, kTables) || ends_with_one_of(text, kImages);
}

bool is_archive(const std::string& path) { return ends_with_one_of(path, kArchives); }

void save_file(const std::string& path, const Tensor& tensor) {
  if (ends_with_one_of(path, kTables)) return save_csv(path, tensor, {}, path.ends_with(".tsv") ? '\t' : ',', Location{});
  if (ends_with_one_of(path, kImages)) return save_image(path, tensor, Location{});
  save_npy(path, tensor, Location{});
}

void save_archive(const std::string& path, std::span<const Tensor> tensors, const std::vector<std::string>& names) {
  NamedTensors named;
  for (std::size_t k = 0; k < tensors.size(); ++k) named.emplace_back(names[k], tensors[k]);
  if (path.ends_with(".npz")) save_npz(path, named, false, Location{});
  else save_safetensors(path, named, Location{});
}

}  // namespace sinter::table
