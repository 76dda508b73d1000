#include "engine/origins.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "sinter/counted.hpp"
#include "trace/site.hpp"

namespace sinter::engine {
namespace {

/// Returns the file's name without folders. A name such as "resnet.onnx, Conv 'c1'" is a node of a model, and is shown without a line.
std::string short_name(const std::string& file) {
  if (const std::size_t node = file.find(".onnx, "); node != std::string::npos) return file.substr(node + 7);
  return file.substr(file.rfind('/') + 1);
}

/// 1,048,576
std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string range_text(const SizeRange& range, std::int64_t planned) {
  if (range.low == planned && range.high == planned) return "exactly " + grouped(planned);
  const std::string steps = range.step > 1 ? fmt::format(" in steps of {}", range.step) : "";
  return range.high == 0 ? fmt::format("{} or more{}", grouped(range.low), steps) : fmt::format("{} to {}{}", grouped(range.low), grouped(range.high), steps);
}

bool is_start(const std::string& symbol) { return symbol.starts_with('o'); }

}  // namespace

Origins::Origins(const Planned& plan, const std::vector<trace::NodeSite>& sites, const std::vector<std::int64_t>* shown,
                 const std::vector<std::pair<std::string, std::int64_t>>& names)
    : plan_(plan), sites_(sites), shown_(shown ? *shown : plan.sizes) {
  for (const auto& [name, size] : names) names_.emplace(size, name);
}

std::vector<Lines> Origins::lines(std::span<const int> nodes) const {
  std::vector<Lines> found;
  if (!known()) return found;
  std::vector<std::string> files;
  std::map<std::string, std::set<std::uint32_t>> by_file;
  for (const int node : nodes) {
    const Location& where = sites_[static_cast<std::size_t>(node)].where;
    if (!*where.file) continue;
    // The line of a model's node is the node's number.
    const bool no_lines = where.line == 0 || std::string_view(where.file).find(".onnx, ") != std::string_view::npos;
    const auto [file, fresh] = by_file.try_emplace(where.file);
    if (fresh) files.push_back(where.file);
    file->second.insert(no_lines ? 0 : where.line);
  }
  // Some file names are parts of an expression. Removes each part that is within another part, such as x + 1 if softmax(x + 1) is in the list.
  std::erase_if(files, [&](const std::string& file) {
    return by_file[file].contains(0) && std::any_of(files.begin(), files.end(), [&](const std::string& other) {
             return &other != &file && other.size() > file.size() && by_file.contains(other) && by_file[other].contains(0) &&
                    other.find(file) != std::string::npos;
           });
  });
  for (const std::string& file : files)
    for (const std::uint32_t line : by_file[file]) {
      if (!found.empty() && line > 0 && found.back().file == file && found.back().last + 1 == line) found.back().last = line;
      else found.push_back({file, line, line});
    }
  return found;
}

std::string Origins::lines_text(std::span<const int> nodes) const {
  constexpr std::size_t kMaxShown = 4;
  const std::vector<Lines> all = lines(nodes);
  std::string text;
  for (std::size_t k = 0; k < all.size() && k < kMaxShown; ++k) {
    const Lines& one = all[k];
    const bool same = k > 0 && all[k - 1].file == one.file;
    text += (k > 0 ? ", " : "") + (same ? "" : one.first == 0 && one.file.find(".onnx, ") == std::string::npos ? one.file : short_name(one.file));
    if (one.first == 0) continue;
    text += fmt::format("{}{}{}", same ? "" : ":", one.first, one.last > one.first ? fmt::format("-{}", one.last) : "");
  }
  return all.size() > kMaxShown ? fmt::format("{} and {} more", text, all.size() - kMaxShown) : text;
}

std::string Origins::label(int node) const { return known() && node >= 0 ? sites_[static_cast<std::size_t>(node)].label : ""; }

std::string Origins::value(int number) const {
  const PlannedValue& value = plan_.value(number);
  if (!known() || value.node < 0) return "";
  const trace::NodeSite& site = sites_[static_cast<std::size_t>(value.node)];
  if (*site.label || !value.is_leaf() || !*site.where.file) return site.label;
  return fmt::format("{} at {}", site.called, short_name(trace::to_string(site.where)));
}

std::string Origins::type(DType dtype, const Shape& shape) const {
  if (names_.empty()) return fmt::format("{} {}", name(dtype), to_string(shape));
  std::vector<std::string> sizes;
  for (const std::int64_t size : shape) {
    const auto named = names_.find(size);
    sizes.push_back(named == names_.end() ? std::to_string(size) : named->second);
  }
  return fmt::format("{} ({}{})", name(dtype), fmt::join(sizes, ", "), sizes.size() == 1 ? "," : "");
}

std::vector<std::string> Origins::symbols() const {
  std::vector<std::string> all = plan_.symbols;
  for (std::size_t k = 0; k < all.size(); ++k)
    if (const auto named = names_.find(shown_[k]); named != names_.end() && !is_start(all[k])) all[k] = named->second;
  return all;
}

SizeRange Origins::range(std::size_t symbol) const {
  constexpr std::int64_t kFar = std::int64_t{1} << 32, kMaxStep = 1024;
  const std::int64_t planned = plan_.sizes[symbol], min_size = is_start(plan_.symbols[symbol]) ? 1 : 2;
  std::vector<std::int64_t> sizes = plan_.sizes;
  const auto serves = [&](std::int64_t size) {
    sizes[symbol] = size;
    return size >= min_size && plan_.holds(sizes);
  };
  SizeRange range{planned, planned, 1};
  while (range.step < kMaxStep && !serves(planned + range.step) && !serves(planned - range.step)) ++range.step;
  if (range.step == kMaxStep) return {planned, planned, 1};
  // Finds the last multiple of the step, upwards or downwards, for which the plan is valid: doubles the distance, then bisects.
  const auto last = [&](std::int64_t by) {
    std::int64_t good = 0, bad = 1;
    while (serves(planned + by * bad)) {
      good = bad;
      bad *= 2;
      if (bad * range.step > kFar) return good;
    }
    while (bad - good > 1) (serves(planned + by * ((good + bad) / 2)) ? good : bad) = (good + bad) / 2;
    return good;
  };
  range.low = planned - range.step * last(-range.step);
  const std::int64_t up = range.step * last(range.step);
  range.high = up >= kFar / 2 ? 0 : planned + up;
  return range;
}

/// Returns the axis of an input that has this size: "x axis 0".
std::string Origins::where(std::size_t symbol) const {
  for (std::size_t v = 0; v < plan_.recorded.size(); ++v) {
    const PlannedNode& node = plan_.recorded[v];
    if (node.leaf < 0) continue;
    const auto axis = std::find(node.shape.begin(), node.shape.end(), shown_[symbol]);
    if (axis == node.shape.end()) continue;
    const std::string name = label(static_cast<int>(v));
    return fmt::format(" ({} axis {})", name.empty() ? fmt::format("input {}", node.leaf + 1) : name, axis - node.shape.begin());
  }
  return "";
}

std::string Origins::sizes_text() const {
  std::vector<std::size_t> free;
  for (std::size_t k = 0; k < plan_.symbols.size(); ++k)
    if (!is_start(plan_.symbols[k])) free.push_back(k);
  if (free.empty()) return "";
  const auto first = std::find_if(plan_.recorded.begin(), plan_.recorded.end(), [](const PlannedNode& node) { return node.leaf >= 0; });
  if (names_.empty() && free.size() == 2 && first != plan_.recorded.end() && first->shape == Shape{shown_[free[0]], shown_[free[1]]})
    return fmt::format("planned for {} rows of {}; valid for {} rows of {}\n{}", grouped(plan_.sizes[free[0]]), grouped(plan_.sizes[free[1]]),
                       range_text(range(free[0]), plan_.sizes[free[0]]), range_text(range(free[1]), plan_.sizes[free[1]]), shown_text());
  constexpr std::size_t kMaxShown = 4;
  std::vector<std::string> parts;
  for (std::size_t k = 0; k < free.size() && k < kMaxShown; ++k) {
    const std::int64_t size = plan_.sizes[free[k]];
    const auto named = names_.find(shown_[free[k]]);
    parts.push_back(fmt::format("{}{}, valid for {}", named == names_.end() ? "" : named->second + " = ",
                                grouped(size) + (named == names_.end() ? where(free[k]) : ""), range_text(range(free[k]), size)));
  }
  return fmt::format("planned for {}{}\n{}", fmt::join(parts, "; "), free.size() > kMaxShown ? "; and " + counted(free.size() - kMaxShown, "more size") : "",
                     shown_text());
}

/// Returns "shown for 4,000 instead of 8,192", or an empty text.
std::string Origins::shown_text() const {
  std::vector<std::string> changes;
  for (std::size_t k = 0; k < shown_.size(); ++k)
    if (shown_[k] != plan_.sizes[k]) changes.push_back(fmt::format("{} instead of {}", grouped(shown_[k]), grouped(plan_.sizes[k])));
  return changes.empty() ? "" : fmt::format("shown for {}\n", fmt::join(changes, ", "));
}

}  // namespace sinter::engine
