#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "lexer.hpp"
#include "sinter/whole.hpp"

namespace sinter::tools {
namespace {

constexpr std::string_view kSpaces = " \t\n\r\f\v";

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
char upper(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }
char lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
std::string mapped(std::string text, char (*f)(char)) {
  std::transform(text.begin(), text.end(), text.begin(), f);
  return text;
}

void append_utf8(std::string& text, std::uint32_t code) {
  if (code < 0x80) text += static_cast<char>(code);
  else if (code < 0x800) text += static_cast<char>(0xC0 | code >> 6), text += static_cast<char>(0x80 | (code & 0x3F));
  else text += static_cast<char>(0xE0 | code >> 12), text += static_cast<char>(0x80 | (code >> 6 & 0x3F)), text += static_cast<char>(0x80 | (code & 0x3F));
}

std::string stripped(std::string_view text, std::string_view what, bool left, bool right) {
  const std::size_t begin = left ? std::min(text.find_first_not_of(what), text.size()) : 0;
  text.remove_prefix(begin);
  if (right) text = text.substr(0, text.find_last_not_of(what) + 1);
  return std::string(text);
}

Value as_list(std::vector<std::string> parts, std::size_t offset) {
  Tuple list;
  for (std::string& part : parts) list.push_back({std::move(part), offset});
  list.is_list = true;
  return {std::move(list), offset};
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> all;
  for (std::size_t at = text.find_first_not_of(kSpaces); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kSpaces, at), text.size());
    all.emplace_back(text.substr(at, end - at));
    at = text.find_first_not_of(kSpaces, end);
  }
  return all;
}
std::vector<std::string> parts(std::string_view text, std::string_view by, std::int64_t most) {
  std::vector<std::string> all;
  for (std::size_t at; most != 0 && (at = text.find(by)) != std::string_view::npos; --most) {
    all.emplace_back(text.substr(0, at));
    text.remove_prefix(at + by.size());
  }
  all.emplace_back(text);
  return all;
}

std::string padded(const std::string& text, std::int64_t width, char fill, int side) {
  const auto size = std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); });
  const std::int64_t missing = std::max<std::int64_t>(0, width - size);
  // In the middle Python puts the odd one by both widths.
  const std::int64_t left = side < 0 ? 0 : side > 0 ? missing : missing / 2 + (missing & width & 1);
  return std::string(static_cast<std::size_t>(left), fill) + text + std::string(static_cast<std::size_t>(missing - left), fill);
}

}  // namespace

std::string unescaped(std::string_view text) {
  std::string made;
  const auto number = [&](std::size_t at, std::size_t digits) -> std::optional<std::uint32_t> {
    std::uint32_t code = 0;
    const std::string_view part = text.substr(at, digits);
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), code, 16);
    return part.size() == digits && error == std::errc() && end == part.data() + digits ? std::optional(code) : std::nullopt;
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\' || at + 1 == text.size()) {
      made += text[at];
      continue;
    }
    const char c = text[++at];
    constexpr std::string_view letters = "ntr0\\'\"abfv", meant("\n\t\r\0\\'\"\a\b\f\v", 11);
    if (const std::size_t which = letters.find(c); which != std::string_view::npos) made += meant[which];
    else if (c == '\n') continue;
    else if (const auto code = c == 'x' ? number(at + 1, 2) : c == 'u' ? number(at + 1, 4) : std::nullopt) append_utf8(made, *code), at += c == 'x' ? 2 : 4;
    else made += '\\', made += c;
  }
  return made;
}

std::string percent_formatted(std::string_view text, const Value& values, const InFormat& in_format, const std::function<std::string(const Value&)>& repr,
                              std::size_t offset) {
  const Tuple one{values};
  const Tuple* several = values.as<Tuple>();
  const Tuple& given = several && !several->is_list && !several->is_complex ? *several : one;
  std::string made;
  std::size_t next = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      made += text[at];
      continue;
    }
    if (++at < text.size() && text[at] == '%') {
      made += '%';
      continue;
    }
    std::string flags, size;
    while (at < text.size() && std::string_view("-+ #0").find(text[at]) != std::string_view::npos) flags += text[at++];
    while (at < text.size() && (is_digit(text[at]) || text[at] == '.')) size += text[at++];
    while (at < text.size() && (text[at] == 'l' || text[at] == 'h')) ++at;
    if (at == text.size()) throw Fault{offset, "a '%' of this string has no letter behind it; %% is one"};
    if (next == given.size()) throw Fault{offset, fmt::format("this string takes more than the {} value{} given", given.size(), given.size() == 1 ? "" : "s")};
    const char type = text[at] == 'i' || text[at] == 'u' ? 'd' : text[at];
    if (std::string_view("dsrfFeEgGxXoc").find(type) == std::string_view::npos) throw Fault{offset, fmt::format("'%{}' is no format of values", text[at])};
    Value value = given[next++];
    if (type == 's' || type == 'r') value.is = type == 's' ? in_format(value, "") : repr(value);
    if (const auto* number = value.as<double>(); number && type == 'd') value.is = detail::whole(*number, "the value of %d");
    const auto flag = [&](char c) { return flags.find(c) != std::string::npos; };
    std::string format = flag('-') ? "<" : flag('0') && !value.as<std::string>() ? "" : ">";
    if (flag('+') || flag(' ')) format += flag('+') ? '+' : ' ';
    if (flag('#')) format += '#';
    if (flag('0') && !flag('-') && !value.as<std::string>()) format += '0';
    if (type == 'd' && size.find('.') != std::string::npos) size.resize(size.find('.'));
    made += in_format(value, format + size + (type == 'r' ? 's' : type));
  }
  if (next < given.size())
    throw Fault{offset, fmt::format("{} value{} given and {} taken by this string", given.size(), given.size() == 1 ? " is" : "s are", next)};
  return made;
}

std::string brace_formatted(std::string_view text, const std::vector<Argument>& arguments, const InFormat& in_format, std::size_t offset) {
  std::string made;
  std::size_t next = 0;
  const auto field = [&](std::string_view name) -> const Value& {
    std::size_t place = 0;
    if (name.empty()) {
      place = next++;
    } else if (is_digit(name[0])) {
      std::from_chars(name.data(), name.data() + name.size(), place);
    } else {
      for (const Argument& argument : arguments)
        if (argument.keyword == name) return argument.value;
      throw Fault{offset, fmt::format("'{{{}}}' of this string is not among the arguments of format()", name)};
    }
    if (place >= arguments.size() || !arguments[place].keyword.empty())
      throw Fault{offset, fmt::format("this string takes more than the arguments of format()")};
    return arguments[place].value;
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if ((c == '{' || c == '}') && at + 1 < text.size() && text[at + 1] == c) {
      made += text[++at];
      continue;
    }
    if (c != '{') {
      made += c;
      continue;
    }
    std::size_t close = at + 1;
    for (int open = 1; close < text.size(); ++close)
      if ((open += text[close] == '{' ? 1 : text[close] == '}' ? -1 : 0) == 0) break;
    if (close == text.size()) throw Fault{offset, "a '{' of this string has no end"};
    const std::string_view inside = text.substr(at + 1, close - at - 1), name = inside.substr(0, inside.find(':'));
    const Value& value = field(name);
    const std::string format = name.size() == inside.size() ? "" : brace_formatted(inside.substr(name.size() + 1), arguments, in_format, offset);
    made += in_format(value, format);
    at = close;
  }
  return made;
}

std::optional<Value> string_method(const std::string& text, std::string_view method, const std::vector<Value>& arguments, std::size_t offset) {
  const auto string = [&](std::size_t k) -> const std::string& {
    const auto* given = k < arguments.size() ? arguments[k].as<std::string>() : nullptr;
    if (!given) throw Fault{k < arguments.size() ? arguments[k].offset : offset, fmt::format("{}() takes a string", method)};
    return *given;
  };
  const auto integer = [&](std::size_t k, std::int64_t otherwise) {
    if (k >= arguments.size()) return otherwise;
    const auto* given = arguments[k].as<std::int64_t>();
    if (!given) throw Fault{arguments[k].offset, fmt::format("{}() takes an integer", method)};
    return *given;
  };
  const auto made = [&](auto value) { return Value{std::move(value), offset}; };
  const auto every = [&](auto is) { return made(!text.empty() && std::all_of(text.begin(), text.end(), is)); };
  if (method == "join") {
    const Tuple* items = arguments.size() == 1 ? arguments[0].as<Tuple>() : nullptr;
    if (!items) throw Fault{offset, "join() takes a list of strings"};
    std::string joined;
    for (std::size_t k = 0; k < items->size(); ++k) {
      const auto* item = (*items)[k].as<std::string>();
      if (!item) throw Fault{(*items)[k].offset, fmt::format("join() takes a list of strings, and this is {}; str(x) makes one", kind_name((*items)[k]))};
      joined += (k == 0 ? "" : text) + *item;
    }
    return made(std::move(joined));
  }
  if (method == "split") {
    if (arguments.empty() || arguments[0].as<None>()) return as_list(words(text), offset);
    if (string(0).empty()) throw Fault{offset, "split() takes a string that is not empty"};
    return as_list(parts(text, string(0), integer(1, -1)), offset);
  }
  if (method == "splitlines") {
    std::vector<std::string> lines = parts(text, "\n", -1);
    if (lines.back().empty()) lines.pop_back();
    return as_list(std::move(lines), offset);
  }
  if (method == "upper") return made(mapped(text, upper));
  if (method == "lower") return made(mapped(text, lower));
  if (method == "swapcase") return made(mapped(text, [](char c) { return is_upper(c) ? lower(c) : upper(c); }));
  if (method == "title" || method == "capitalize") {
    std::string titled = mapped(text, lower);
    for (std::size_t k = 0; k < titled.size(); ++k)
      if (k == 0 || (method == "title" && !is_lower(lower(titled[k - 1])))) titled[k] = upper(titled[k]);
    return made(std::move(titled));
  }
  if (method == "strip" || method == "lstrip" || method == "rstrip")
    return made(stripped(text, arguments.empty() ? kSpaces : string(0), method != "rstrip", method != "lstrip"));
  if (method == "replace") {
    if (string(0).empty()) throw Fault{offset, "replace() takes a string that is not empty"};
    std::string replaced;
    const std::vector<std::string> all = parts(text, string(0), integer(2, -1));
    for (std::size_t k = 0; k < all.size(); ++k) replaced += (k == 0 ? "" : string(1)) + all[k];
    return made(std::move(replaced));
  }
  if (method == "startswith") return made(text.starts_with(string(0)));
  if (method == "endswith") return made(text.ends_with(string(0)));
  if (method == "count") return made(static_cast<std::int64_t>(string(0).empty() ? characters(text, 0).size() + 1 : parts(text, string(0), -1).size() - 1));
  if (method == "find" || method == "index") {
    const std::size_t at = text.find(string(0));
    if (at == std::string::npos && method == "index") throw Fault{offset, "the string is not in this one"};
    return made(at == std::string::npos ? std::int64_t{-1} : static_cast<std::int64_t>(characters(text.substr(0, at), 0).size()));
  }
  if (method == "isdigit" || method == "isnumeric") return every(is_digit);
  if (method == "isalpha") return every([](char c) { return is_upper(c) || is_lower(c); });
  if (method == "isalnum") return every([](char c) { return is_upper(c) || is_lower(c) || is_digit(c); });
  if (method == "isspace") return every([](char c) { return kSpaces.find(c) != std::string_view::npos; });
  if (method == "isupper") return made(std::any_of(text.begin(), text.end(), is_upper) && std::none_of(text.begin(), text.end(), is_lower));
  if (method == "islower") return made(std::any_of(text.begin(), text.end(), is_lower) && std::none_of(text.begin(), text.end(), is_upper));
  if (method == "ljust" || method == "rjust" || method == "center") {
    const std::string fill = arguments.size() > 1 ? string(1) : " ";
    if (fill.size() != 1) throw Fault{offset, fmt::format("{}() fills with one character", method)};
    return made(padded(text, integer(0, 0), fill[0], method == "ljust" ? -1 : method == "rjust" ? 1 : 0));
  }
  if (method == "zfill") {
    const bool sign = text.starts_with('-') || text.starts_with('+');
    return made((sign ? text.substr(0, 1) : "") + padded(text.substr(sign), integer(0, 0) - sign, '0', 1));
  }
  return std::nullopt;
}

}  // namespace sinter::tools
