#include "format_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sinter::tools {
namespace {

constexpr int kMost = 10000;  // a width or a precision

struct Format {
  std::string fill = " ";
  char align = 0, sign = '-', grouping = 0, type = 0;
  bool alternate = false;
  int width = 0, precision = -1;
};

/// Nothing where what is written is no format.
std::optional<Format> read(std::string_view text) {
  Format format;
  const auto is_align = [&](std::size_t at) { return at < text.size() && std::string_view("<>=^").find(text[at]) != std::string_view::npos; };
  std::size_t at = 0, first = 1;  // the fill is one character of any number of bytes
  while (first < text.size() && (static_cast<unsigned char>(text[first]) & 0xc0) == 0x80) ++first;
  if (is_align(first)) {
    format.fill = text.substr(0, first);
    format.align = text[first];
    at = first + 1;
  } else if (is_align(0)) {
    format.align = text[0];
    at = 1;
  }
  const auto one_of = [&](std::string_view characters) { return at < text.size() && characters.find(text[at]) != std::string_view::npos ? text[at++] : '\0'; };
  const auto number = [&]() -> std::optional<int> {
    int value = 0;
    const std::size_t begin = at;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
      if ((value = 10 * value + (text[at] - '0')) > kMost) return std::nullopt;
    return at == begin ? std::nullopt : std::optional(value);
  };
  if (const char sign = one_of("+- ")) format.sign = sign;
  format.alternate = one_of("#");
  if (one_of("0")) {  // zeros behind the sign; a fill and an alignment that are written come first
    if (format.align == 0) format.align = '=';
    if (!is_align(first)) format.fill = "0";
  }
  const bool has_width = at < text.size() && text[at] >= '0' && text[at] <= '9';
  const std::optional<int> width = number();
  if (has_width && !width) return std::nullopt;
  format.width = width.value_or(0);
  format.grouping = one_of(",_");
  if (one_of(".")) {
    const std::optional<int> precision = number();
    if (!precision) return std::nullopt;
    format.precision = *precision;
  }
  format.type = one_of("bcdeEfFgGnosxX%");
  return at == text.size() ? std::optional(format) : std::nullopt;
}

/// A separator between each `size` digits before the point.
std::string grouped(const std::string& digits, char separator, std::size_t size) {
  std::string text;
  for (std::size_t k = 0; k < digits.size(); ++k) {
    if (k > 0 && (digits.size() - k) % size == 0) text += separator;
    text += digits[k];
  }
  return text;
}

std::string padded(const Format& format, char align, const std::string& sign, const std::string& body) {
  const auto characters = [](std::string_view text) {
    return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
  };
  const int missing = std::max(0, format.width - characters(sign) - characters(body)), before = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  const auto fill = [&](int count) {
    std::string text;
    for (int k = 0; k < count; ++k) text += format.fill;
    return text;
  };
  return (align == '=' ? sign + fill(before) : fill(before) + sign) + body + fill(missing - before);
}

/// `digits` and what follows them: 1234 and .5e+01.
std::string number(const Format& format, bool negative, const std::string& prefix, std::string digits, const std::string& rest) {
  const std::string sign = (negative ? "-" : format.sign == '-' ? "" : std::string(1, format.sign)) + prefix;
  const char align = format.align ? format.align : '>';
  if (format.grouping && !digits.empty()) {
    const std::size_t size = std::string_view("boxX").find(format.type) != std::string_view::npos ? 4 : 3;
    const auto length = [&] { return sign.size() + grouped(digits, format.grouping, size).size() + rest.size(); };
    if (format.fill == "0" && align == '=')
      while (length() < static_cast<std::size_t>(format.width)) digits.insert(0, "0");
    digits = grouped(digits, format.grouping, size);
  }
  return padded(format, align, sign, digits + rest);
}

/// By a precision alone: as 'g', but with a digit behind the point.
std::string plain(double x, int precision) {
  const int digits = std::max(precision, 1);
  const std::string scientific = fmt::format("{:.{}e}", x, digits - 1);
  const std::size_t e = scientific.find('e');
  const int exponent = std::stoi(scientific.substr(e + 1));
  const bool short_enough = exponent >= -4 && exponent < digits - 1;
  std::string mantissa = short_enough ? fmt::format("{:.{}f}", x, digits - 1 - exponent) : scientific.substr(0, e);
  if (mantissa.find('.') != std::string::npos) mantissa.erase(mantissa.find_last_not_of('0') + 1);
  if (short_enough) return mantissa.ends_with('.') ? mantissa + '0' : mantissa;
  if (mantissa.ends_with('.')) mantissa.pop_back();
  return mantissa + scientific.substr(e);
}

std::string floating(double x, const Format& format, const std::function<std::string()>& shown) {
  const bool negative = std::signbit(x) && !std::isnan(x);
  const double size = std::fabs(x);
  std::string text;
  if (!std::isfinite(x)) {
    text = std::isnan(x) ? "nan" : "inf";
    if (std::string_view("EFG").find(format.type) != std::string_view::npos)
      std::transform(text.begin(), text.end(), text.begin(), [](char c) { return static_cast<char>(c - 'a' + 'A'); });
    if (format.type == '%') text += '%';
    return number(format, negative, "", "", text);
  }
  if (format.type == 0) {
    text = format.precision < 0 ? shown() : plain(size, format.precision);
    if (text.starts_with('-')) text.erase(0, 1);
  } else {
    const char type = format.type == '%' ? 'f' : format.type == 'n' ? 'g' : format.type;
    const std::string pattern = fmt::format("{{:{}.{}{}}}", format.alternate ? "#" : "", format.precision < 0 ? 6 : format.precision, type);
    text = fmt::format(fmt::runtime(pattern), format.type == '%' ? 100 * size : size);
    if (format.type == '%') text += '%';
  }
  const std::size_t point = std::min(text.find_first_not_of("0123456789"), text.size());
  return number(format, negative, "", text.substr(0, point), text.substr(point));
}

}  // namespace

std::optional<std::string> by_format(const Value& value, std::string_view text, const std::function<std::string()>& shown) {
  const std::optional<Format> read_format = read(text);
  if (!read_format) return std::nullopt;
  Format format = *read_format;
  const auto is = [&](std::string_view types) { return format.type != 0 && types.find(format.type) != std::string_view::npos; };
  if (value.as<double>() || (value.is_number() && is("eEfFgG%"))) {
    if (is("bcdosxX") || (format.alternate && (format.type == 0 || is("gGn"))))
      return std::nullopt;  // '#' keeps zeros there, which fmt counts otherwise than Python
    return floating(operand(value, "format").as_double(), format, shown);
  }
  if (value.is_number()) {
    if (is("s") || format.precision >= 0) return std::nullopt;
    const auto* integer = value.as<std::int64_t>();
    const auto* large = value.as<std::uint64_t>();
    const bool negative = integer && *integer < 0;
    const std::uint64_t size = large     ? *large
                               : integer ? (negative ? 0 - static_cast<std::uint64_t>(*integer) : static_cast<std::uint64_t>(*integer))
                                         : std::uint64_t{*value.as<bool>()};
    if (format.type == 'c') {
      if (negative || size > 127) return std::nullopt;
      return padded(format, format.align ? format.align : '<', "", std::string(1, static_cast<char>(size)));
    }
    const char type = format.type == 0 || format.type == 'n' ? 'd' : format.type;
    return number(format, negative, format.alternate && type != 'd' ? std::string("0") + type : "",
                  fmt::format(fmt::runtime(std::string("{:") + type + "}"), size), "");
  }
  if ((format.type != 0 && format.type != 's') || format.sign != '-' || format.alternate || format.grouping || (format.align == '=' && format.fill != "0"))
    return std::nullopt;
  std::string part = shown();
  if (format.precision >= 0) {
    std::size_t end = 0;
    for (int count = 0; end < part.size(); ++end)
      if ((static_cast<unsigned char>(part[end]) & 0xc0) != 0x80 && count++ == format.precision) break;
    part.resize(end);
  }
  return padded(format, format.align && format.align != '=' ? format.align : '<', "", part);
}

}  // namespace sinter::tools
