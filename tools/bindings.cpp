#include "bindings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>

#include "sinter/engine.hpp"
#include "sinter/ops.hpp"
#include "table/files.hpp"
#include "table/functions.hpp"

namespace sinter::tools {
namespace {

bool is_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && letter(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

std::optional<Value> number_of(std::string_view text) {
  if (text == "True" || text == "true") return Value{true};
  if (text == "False" || text == "false") return Value{false};
  std::string_view digits = text;
  if (digits.starts_with('+') && digits.size() > 1 && digits[1] != '-') digits.remove_prefix(1);
  const char* end = digits.data() + digits.size();
  std::int64_t integer = 0;
  if (const auto [rest, error] = std::from_chars(digits.data(), end, integer); error == std::errc() && rest == end) return Value{integer};
  double floating = 0;  // accepts inf and nan, too
  const auto [rest, error] = std::from_chars(digits.data(), end, floating);
  if (rest != end || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range)
    floating = std::strtod(std::string(digits).c_str(), nullptr);  // becomes infinity or about 0, as in an expression
  return Value{floating};
}

Value file_or_number(const std::string& name, const std::string& text) {
  if (auto number = number_of(text)) return *number;
  if (text.empty()) throw ValueError(fmt::format("'{}=' has no value; give {}=FILE.npy or {}=NUMBER", name, name, name));
  std::error_code too_long;  // a name that is too long cannot be a file
  if (!is_file_name(text) && !std::filesystem::exists(text, too_long))
    throw ValueError(fmt::format("{}={}: neither a number nor a file that exists", name, text));
  Tensor tensor = load_file(text);
  set_name(tensor, name);
  return {std::move(tensor)};
}

/// Parses a type and a shape: f32[4096,1024], f32[B,1024], or f32[] for no axes.
struct Type {
  DType dtype;
  std::vector<std::string> sizes;  // numbers and names
};

ValueError malformed(const std::string& name, const std::string& text, const std::string& why) {
  return ValueError(fmt::format("{}={}: {}; a type is written f32[4096,1024], f64[3], i32[], bool[B,8]", name, text, why));
}

Type read_type(const std::string& name, const std::string& text) {
  const std::size_t open = text.find('[');
  const auto dtype = find_dtype(std::string_view(text).substr(0, open));
  if (!dtype) throw malformed(name, text, fmt::format("'{}' is not an element type", text.substr(0, open)));
  if (open == std::string::npos || !text.ends_with(']')) throw malformed(name, text, "the shape in brackets is missing");
  Type type{*dtype, {}};
  std::string sizes = text.substr(open + 1, text.size() - open - 2);
  std::erase(sizes, ' ');
  for (std::size_t at = 0; at < sizes.size();) {
    const std::size_t comma = std::min(sizes.find(',', at), sizes.size());
    type.sizes.push_back(sizes.substr(at, comma - at));
    at = comma + 1;
  }
  return type;
}

std::int64_t count_of(const std::string& name, const std::string& text, std::string_view digits) {
  std::int64_t size = 0;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
  if (error != std::errc() || size < 0 || rest != digits.data() + digits.size()) throw malformed(name, text, "a size is an integer or a name");
  return size;
}

/// Chooses a number for each named size: the given one, else a number that no other size has, so that planning does not treat the two as one size. With more
/// names the numbers are smaller, so that a tensor with all of these sizes is not too large.
std::map<std::string, std::int64_t, std::less<>> values_of(const std::set<std::string>& letters, const Bindings& numbers, std::set<std::int64_t> taken) {
  std::map<std::string, std::int64_t, std::less<>> values;
  for (const std::string& letter : letters) {
    const auto given = numbers.find(letter);
    if (given == numbers.end()) continue;
    const auto* size = given->second.as<std::int64_t>();
    if (!size || *size < 0) throw ValueError(fmt::format("{} is a size of a type; its value must be an integer of at least 0", letter));
    taken.insert(values[letter] = *size);
  }
  const std::int64_t step = letters.size() == 1 ? 1024 : letters.size() == 2 ? 256 : 32;
  for (const std::string& letter : letters) {
    if (values.contains(letter)) continue;
    std::int64_t size = step;
    while (!taken.insert(size).second) size += step;
    values[letter] = size;
  }
  return values;
}

Tensor placeholder_of(const std::string& name, const std::string& text, const Type& type, const std::map<std::string, std::int64_t, std::less<>>& letters) {
  Shape shape;
  std::int64_t elements = 1;
  for (const std::string& written : type.sizes) {
    const std::int64_t size = is_name(written) ? letters.find(written)->second : count_of(name, text, written);
    if (__builtin_mul_overflow(elements, std::max<std::int64_t>(size, 1), &elements) || elements > std::numeric_limits<std::int64_t>::max() / 8)
      throw malformed(name, text, "too many elements");
    shape.push_back(size);
  }
  Tensor tensor = placeholder(shape, type.dtype, Location{});
  set_name(tensor, name);
  return tensor;
}

template <class Read> Bindings read_bindings(const std::vector<std::string>& arguments, std::string_view form, Read read) {
  Bindings bindings;
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    if (equals == std::string::npos || !is_name(name)) throw ValueError(fmt::format("'{}' is not of the form {}", argument, form));
    if (bindings.contains(name)) throw ValueError(fmt::format("'{}' is given twice", name));
    bindings.emplace(name, read(name, argument.substr(equals + 1)));
  }
  return bindings;
}

}  // namespace

Bindings bind_values(const std::vector<std::string>& arguments) { return read_bindings(arguments, "NAME=FILE.npy or NAME=NUMBER", file_or_number); }

TypeBindings bind_types(const std::vector<std::string>& arguments) {
  std::map<std::string, std::pair<std::string, Type>> types;
  std::set<std::string> letters;
  std::set<std::int64_t> taken;
  // Numbers are bound immediately. Types are bound at the end, because the number of a size may follow later.
  Bindings names = read_bindings(arguments, "NAME=f32[4096,1024]", [&](const std::string& name, const std::string& text) {
    if (auto number = number_of(text)) return *number;
    Type type = read_type(name, text);
    for (const std::string& size : type.sizes) {
      if (is_name(size)) letters.insert(size);
      else taken.insert(count_of(name, text, size));
    }
    types.emplace(name, std::pair(text, std::move(type)));
    return Value{None{}};
  });
  TypeBindings bound{.names = {}, .letters = values_of(letters, names, taken)};
  for (auto& [name, written] : types) names.insert_or_assign(name, Value{placeholder_of(name, written.first, written.second, bound.letters)});
  for (const auto& [letter, size] : bound.letters) names.insert_or_assign(letter, Value{size});
  bound.names = std::move(names);
  return bound;
}

}  // namespace sinter::tools
