#include "jit/schedule.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "sinter/errors.hpp"

namespace sinter::jit {
namespace {

constexpr std::array kForms = {std::pair{Form::pointwise, "pointwise"}, std::pair{Form::tiles, "tiles"},   std::pair{Form::rows, "rows"},
                               std::pair{Form::columns, "columns"},     std::pair{Form::panels, "panels"}, std::pair{Form::contraction, "contraction"}};
/// The values that a schedule override may give to a number.
struct Range {
  std::string_view field;
  int min, max;
};
constexpr std::array kNumbers = {Range{"keep", 0, 1},         Range{"unroll", 1, 8},       Range{"tile", 1, 1 << 16},     Range{"panel", 1, 512},
                                 Range{"panel_rows", 1, 16},  // a part of a block of steps
                                 Range{"stream", 0, 1 << 20}, Range{"workspace", 1, 1024}, Range{"grain", 1, 1 << 20},    Range{"pieces", 1, 1024},
                                 Range{"vector", 1, 16},      Range{"threads", 32, 1024},  Range{"row_threads", 8, 1024}, Range{"cluster", 1, 8},
                                 Range{"row_steps", 0, 32},   Range{"side", 32, 128},      Range{"blocks", 1, 1024}};

std::optional<Form> form_named(std::string_view text) {
  for (const auto& [form, known] : kForms)
    if (known == text) return form;
  return std::nullopt;
}

std::optional<int> number_in(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(by);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

std::string_view name(Form form) {
  for (const auto& [known, text] : kForms)
    if (known == form) return text;
  throw InternalError("a form has no name");
}

std::string to_string(const Schedule& s, fuse::Backend backend) {
  std::string text(name(s.form));
  const auto add = [&](std::string_view field, int value) { text += fmt::format(", {}={}", field, value); };
  if (!std::is_sorted(s.axes.begin(), s.axes.end())) text += fmt::format(", axes={}", fmt::join(s.axes, "."));
  if (s.keep) add("keep", 1);
  if (backend != fuse::Backend::cpu) {
    add("vector", s.vector);
    if (!s.singles.empty()) text += fmt::format(", singles={}", fmt::join(s.singles, "."));
    if (s.tail) add("tail", 1);
    add("threads", s.threads);
    if (s.form == Form::rows) add("row_threads", s.row_threads);
    if (s.cluster > 1) add("cluster", s.cluster);
    if (s.row_steps > 0) add("row_steps", s.row_steps);
    if (s.whole) add("whole", 1);
    if (s.residents > 0) add("residents", s.residents);
    if (s.form == Form::contraction) {
      add("side", s.side);
      text += fmt::format(", pairs={}.{}", s.left, s.right);
    }
    add("blocks", s.blocks);
    add("index", s.wide_index ? 64 : 32);
    return text;
  }
  if (s.form == Form::pointwise || s.form == Form::columns) add("unroll", s.unroll);
  if (s.form == Form::tiles) add("tile", s.tile);
  if (s.form == Form::panels) {
    add("panel", s.panel);
    add("panel_rows", s.panel_rows);
  }
  add("stream", s.stream);
  add("workspace", s.workspace);
  add("grain", s.grain);
  add("pieces", s.pieces);
  return text;
}

ScheduleOverride ScheduleOverride::parse(std::string_view text) {
  ScheduleOverride overrides;
  if (trimmed(text).empty()) return overrides;
  for (std::string_view part : split(text, ',')) {
    part = trimmed(part);
    const std::size_t equals = part.find('=');
    const std::string_view field = part.substr(0, equals), value = equals == std::string_view::npos ? "" : part.substr(equals + 1);
    bool good = false;
    std::string known;
    if (field == "form") {
      good = form_named(value).has_value();
    } else if (field == "axes") {
      const auto numbers = split(value, '.');
      good = std::all_of(numbers.begin(), numbers.end(), [](std::string_view n) { return number_in(n).has_value(); });
    } else {
      const auto range = std::find_if(kNumbers.begin(), kNumbers.end(), [&](const Range& r) { return r.field == field; });
      if (range == kNumbers.end()) {
        std::string fields = "form, axes";
        for (const Range& r : kNumbers) fields += fmt::format(", {}", r.field);
        throw ValueError(fmt::format("schedule '{}': there is no '{}'; known are {}", text, field, fields));
      }
      const auto number = number_in(value);
      good = number && *number >= range->min && *number <= range->max;
      known = fmt::format(", which is {} to {}", range->min, range->max);
    }
    if (!good) throw ValueError(fmt::format("schedule '{}': '{}' is not a value of {}{}", text, value, field, known));
    overrides.fields_.emplace_back(field, value);
  }
  return overrides;
}

std::string ScheduleOverride::text() const {
  std::string text;
  for (const auto& [field, value] : fields_) text += fmt::format("{}{}={}", text.empty() ? "" : ",", field, value);
  return text;
}

bool ScheduleOverride::has(std::string_view field) const {
  return std::any_of(fields_.begin(), fields_.end(), [&](const auto& f) { return f.first == field; });
}

int ScheduleOverride::number(std::string_view field, int otherwise) const {
  for (const auto& [known, value] : fields_)
    if (known == field) return number_in(value).value_or(otherwise);
  return otherwise;
}

bool ScheduleOverride::form(Form& form) const {
  for (const auto& [field, value] : fields_)
    if (field == "form") {
      form = form_named(value).value_or(form);
      return true;
    }
  return false;
}

std::vector<int> ScheduleOverride::axes() const {
  std::vector<int> axes;
  for (const auto& [field, value] : fields_)
    if (field == "axes")
      for (std::string_view number : split(value, '.')) axes.push_back(number_in(number).value_or(-1));
  return axes;
}

ScheduleOverride ScheduleOverride::with(const ScheduleOverride& other) const {
  ScheduleOverride both;
  for (const auto& field : fields_)
    if (!other.has(field.first)) both.fields_.push_back(field);
  both.fields_.insert(both.fields_.end(), other.fields_.begin(), other.fields_.end());
  return both;
}

}  // namespace sinter::jit
