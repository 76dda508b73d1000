#include "jit/schedule.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <optional>
#include <type_traits>

#include "sinter/errors.hpp"

namespace sinter::jit {
namespace {
namespace table {

using On = Field::On;
using enum Field::Trait;
constexpr int kAny = std::numeric_limits<int>::max();

template <class Part, class T> void append(std::vector<int>& values, const Schedule& s, T Part::*member) {
  const auto take = [&](const Part& part) {
    if constexpr (std::is_same_v<T, std::vector<int>>) values.insert(values.end(), (part.*member).begin(), (part.*member).end());
    else values.push_back(part.*member);
  };
  if constexpr (std::is_same_v<Part, Schedule>) take(s);
  else if constexpr (std::is_same_v<Part, Steps>) take(s.steps());
  else if (s.is<Part>()) take(s.as<Part>());
}
/// Returns the values of those members that the schedule has.
template <auto... members> std::vector<int> of(const Schedule& s) {
  std::vector<int> values;
  (append(values, s, members), ...);
  return values;
}

constexpr Field kFields[] = {
    // name, devices, traits, limits, values; values that alternatives() tries
    {"axes", On::both, asked | quiet | list, 0, kAny, of<&Schedule::axes>},
    {"keep", On::both, asked | quiet, 0, 1, of<&Schedule::keep>},
    {"unroll", On::cpu, asked | powers, 1, 8, of<&PointwiseForm::unroll, &ColumnsForm::unroll>, {1, 2, 4, 8}},
    {"tile", On::cpu, asked, 1, 1 << 16, of<&TilesForm::tile>, {8, 16, 32, 128}},
    {"thin", On::cpu, asked | quiet, 0, kMaxThin, of<&TilesForm::thin, &ColumnsForm::thin>, {0}},
    {"short_rows", On::cpu, asked | quiet, 0, 64, of<&RowsForm::short_rows>, {0}},
    {"panel", On::cpu, asked, 1, 512, of<&PanelsForm::panel>, {16, 32, 128}},
    {"panel_rows", On::cpu, asked | powers, 1, 16, of<&PanelsForm::panel_rows>, {1, 2, 8}},  // a part of a block of steps
    {"stream", On::cpu, asked, 0, 1 << 20, of<&Schedule::stream>, {0, 1 << 20}},
    {"workspace", On::cpu, asked, 1, 1024, of<&Schedule::workspace>, {8, 16, 64}},
    {"grain", On::cpu, asked, 1, 1 << 20, of<&Schedule::grain>, {4, 256}},
    {"pieces", On::cpu, asked, 1, 1024, of<&Schedule::pieces>, {1, 16}},
    {"vector", On::gpu, asked | powers, 1, 16, of<&Schedule::vector>, {1, 2, 4, 8, 16}},
    {"singles", On::gpu, list, 0, kAny, of<&Schedule::singles>},
    {"tail", On::gpu, quiet, 0, 1, of<&PointwiseForm::tail>},
    {"threads", On::gpu, asked | warps, 32, 1024, of<&Schedule::threads>, {64, 128, 256, 512, 1024}},
    {"row_threads", On::gpu, asked, 8, 1024, of<&RowsForm::row_threads>, {8, 16, 32}},
    {"cluster", On::gpu, asked | quiet | powers, 1, 8, of<&RowsForm::cluster>, {1, 2, 4, 8}},
    {"row_steps", On::gpu, asked | quiet, 0, 32, of<&Steps::count>},
    {"whole", On::gpu, quiet, 0, 1, of<&Steps::whole>},
    {"residents", On::gpu, quiet, 0, 32, of<&ColumnsForm::residents>},
    {"side", On::gpu, asked | powers, 32, 128, of<&ContractionForm::side>, {32, 64, 128}},
    {"pairs", On::gpu, list, 0, kAny, of<&ContractionForm::left, &ContractionForm::right>},
    {"blocks", On::gpu, asked, 1, 1024, of<&Schedule::blocks>, {8, 128}},
    {"index", On::gpu, powers, 32, 64, [](const Schedule& s) { return std::vector{s.wide_index ? 64 : 32}; }}};

}  // namespace table

template <class... F> bool is_form(std::string_view text, const std::variant<F...>&) { return ((text == F::kName) || ...); }

std::optional<int> number_in(std::string_view text, int min = 0, int max = table::kAny) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < min || value > max) return std::nullopt;
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

std::span<const Field> fields() { return table::kFields; }

std::string to_string(const Schedule& s, fuse::Backend backend) {
  std::string text(name(s.form));
  for (const Field& field : table::kFields) {
    const std::vector<int> values = field.values(s);
    if (values.empty() || field.on == (backend == fuse::Backend::cpu ? Field::On::gpu : Field::On::cpu)) continue;
    const bool usual = field.is(Field::list) ? std::is_sorted(values.begin(), values.end()) : values[0] == field.min;
    if (!usual || !field.is(Field::quiet)) text += fmt::format(", {}={}", field.name, fmt::join(values, "."));
  }
  return text;
}

std::string impossible_field(const Schedule& s) {
  for (const Field& field : table::kFields)
    for (const int value : field.values(s))
      if (value < field.min || value > field.max || (field.is(Field::powers) && !std::has_single_bit(static_cast<unsigned>(value))) ||
          (field.is(Field::warps) && value % 32 != 0))
        return fmt::format("{}={}", field.name, value);
  return {};
}

ScheduleOverride ScheduleOverride::parse(std::string_view text) {
  ScheduleOverride overrides;
  if (trimmed(text).empty()) return overrides;
  for (std::string_view part : split(text, ',')) {
    part = trimmed(part);
    const std::size_t equals = part.find('=');
    const std::string_view field = part.substr(0, equals), value = equals == std::string_view::npos ? "" : part.substr(equals + 1);
    const auto* known =
        std::find_if(std::begin(table::kFields), std::end(table::kFields), [&](const Field& f) { return f.is(Field::asked) && f.name == field; });
    const bool is_known = known != std::end(table::kFields);
    if (!is_known && field != "form") {
      std::string names = "form";
      for (const Field& f : table::kFields) names += f.is(Field::asked) ? fmt::format(", {}", f.name) : "";
      throw ValueError(fmt::format("schedule '{}': there is no field '{}'; the fields are {}", text, field, names));
    }
    const auto numbers = split(value, is_known && known->is(Field::list) ? '.' : ',');
    const bool good =
        is_known ? std::all_of(numbers.begin(), numbers.end(), [&](auto number) { return number_in(number, known->min, known->max); }) : is_form(value, Form());
    const std::string range = is_known && !known->is(Field::list) ? fmt::format(", which is {} to {}", known->min, known->max) : "";
    if (!good) throw ValueError(fmt::format("schedule '{}': '{}' is not a value of {}{}", text, value, field, range));
    overrides.fields_.emplace_back(field, value);
  }
  return overrides;
}

std::string ScheduleOverride::text() const {
  std::string text;
  for (const auto& [field, value] : fields_) text += fmt::format("{}{}={}", text.empty() ? "" : ",", field, value);
  return text;
}

const std::string* ScheduleOverride::value(std::string_view field) const {
  const auto found = std::find_if(fields_.begin(), fields_.end(), [&](const auto& f) { return f.first == field; });
  return found == fields_.end() ? nullptr : &found->second;
}

std::vector<int> ScheduleOverride::numbers(std::string_view field) const {
  std::vector<int> numbers;
  if (const std::string* text = value(field))
    for (std::string_view number : split(*text, '.')) numbers.push_back(number_in(number).value());
  return numbers;
}

ScheduleOverride ScheduleOverride::with(const ScheduleOverride& other) const {
  ScheduleOverride both = *this;
  std::erase_if(both.fields_, [&](const auto& field) { return other.has(field.first); });
  both.fields_.insert(both.fields_.end(), other.fields_.begin(), other.fields_.end());
  return both;
}

}  // namespace sinter::jit
