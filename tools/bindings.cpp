#include "bindings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>

#include "functions.hpp"
#include "sinter/npy.hpp"
#include "sinter/ops.hpp"

namespace sinter::tools {
namespace {

bool is_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

std::optional<Value> number_of(std::string_view text) {
  if (text == "True" || text == "true") return Value{true};
  if (text == "False" || text == "false") return Value{false};
  std::string_view digits = text;
  if (digits.starts_with('+') && digits.size() > 1 && digits[1] != '-') digits.remove_prefix(1);
  const char* end = digits.data() + digits.size();
  std::int64_t integer = 0;
  if (const auto [rest, error] = std::from_chars(digits.data(), end, integer); error == std::errc() && rest == end)
    return Value{integer};
  double floating = 0;  // takes inf and nan too
  const auto [rest, error] = std::from_chars(digits.data(), end, floating);
  if (rest != end || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) floating = std::strtod(std::string(digits).c_str(), nullptr);  // infinity or about 0, as in an expression
  return Value{floating};
}

Value file_or_number(const std::string& name, const std::string& text) {
  if (auto number = number_of(text)) return *number;
  if (text.empty()) throw ValueError(fmt::format("'{}=' has no value; give {}=FILE.npy or {}=NUMBER", name, name, name));
  if (!text.ends_with(".npy") && !std::filesystem::exists(text))
    throw ValueError(fmt::format("{}={}: neither a number nor a file that exists", name, text));
  return {load_npy(text, Location{})};
}

/// f32[4096,1024]; f32[] is 0-d.
Value type_or_number(const std::string& name, const std::string& text) {
  if (auto number = number_of(text)) return *number;
  const auto malformed = [&](const std::string& why) {
    return ValueError(fmt::format("{}={}: {}; a type is written f32[4096,1024], f64[3], i32[], bool[8,8]", name, text, why));
  };
  const std::size_t open = text.find('[');
  const auto dtype = find_dtype(std::string_view(text).substr(0, open));
  if (!dtype) throw malformed(fmt::format("'{}' is not an element type", text.substr(0, open)));
  if (open == std::string::npos || !text.ends_with(']')) throw malformed("the shape in brackets is missing");

  std::string sizes = text.substr(open + 1, text.size() - open - 2);
  std::erase(sizes, ' ');
  Shape shape;
  std::int64_t elements = 1;
  for (std::size_t at = 0; at < sizes.size();) {
    const char* end = sizes.data() + sizes.size();
    std::int64_t size = 0;
    const auto [rest, error] = std::from_chars(sizes.data() + at, end, size);
    if (error != std::errc() || size < 0 || (rest != end && *rest != ',')) throw malformed("a size is not a count");
    if (__builtin_mul_overflow(elements, std::max<std::int64_t>(size, 1), &elements) ||
        elements > std::numeric_limits<std::int64_t>::max() / 8)
      throw malformed("too many elements");
    shape.push_back(size);
    at = static_cast<std::size_t>(rest - sizes.data()) + 1;
  }
  return {placeholder(shape, *dtype, Location{})};
}

template <class Read> Bindings read_bindings(const std::vector<std::string>& arguments, std::string_view form, Read read) {
  Bindings bindings;
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    if (equals == std::string::npos || !is_name(name))
      throw ValueError(fmt::format("'{}' is not of the form {}", argument, form));
    if (bindings.contains(name)) throw ValueError(fmt::format("'{}' is given twice", name));
    bindings.emplace(name, read(name, argument.substr(equals + 1)));
  }
  return bindings;
}

}  // namespace

Bindings bind_values(const std::vector<std::string>& arguments) {
  return read_bindings(arguments, "NAME=FILE.npy or NAME=NUMBER", file_or_number);
}

Bindings bind_types(const std::vector<std::string>& arguments) {
  return read_bindings(arguments, "NAME=f32[4096,1024]", type_or_number);
}

}  // namespace sinter::tools
