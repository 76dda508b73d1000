// Tables of numbers as text: RFC 4180, and extensions of NumPy's loadtxt and genfromtxt. https://www.rfc-editor.org/rfc/rfc4180
#include "sinter/csv.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/file.hpp"
#include "sinter/ops.hpp"
#include "trace/build.hpp"
#include "trace/host_access.hpp"

namespace sinter {
namespace {

using namespace io;

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// Splits a line into fields; `quoted` fields lose their quotes.
void split(std::string_view line, char delimiter, std::vector<std::string_view>& fields) {
  fields.clear();
  if (delimiter == ' ') {
    for (std::size_t at = line.find_first_not_of(" \t"); at != std::string_view::npos;) {
      const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
      fields.push_back(trimmed(line.substr(at, end - at)));
      at = line.find_first_not_of(" \t", end);
    }
    return;
  }
  for (std::size_t at = 0;; ++at) {
    std::size_t begin = line.find_first_not_of(' ', at), end;
    if (begin != std::string_view::npos && line[begin] == '"') {
      end = begin + 1;
      while (end < line.size() && (line[end] != '"' || (end + 1 < line.size() && line[end + 1] == '"'))) end += line[end] == '"' ? 2 : 1;
      fields.push_back(line.substr(begin + 1, std::min(end, line.size()) - begin - 1));
      end = std::min(line.find(delimiter, end), line.size());
    } else {
      end = std::min(line.find(delimiter, at), line.size());
      fields.push_back(trimmed(line.substr(at, end - at)));
    }
    if (end == line.size()) return;
    at = end;
  }
}

template <class T> std::optional<T> number(std::string_view field) {
  if (field.size() > 1 && field[0] == '+' && field[1] != '-') field.remove_prefix(1);
  T value{};
  const auto [rest, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (rest != field.data() + field.size()) return std::nullopt;
  if (error == std::errc{}) return value;
  if constexpr (std::is_floating_point_v<T>) {
    // A number out of range is 0 if too small, infinity if too large, as in strtod.
    if (error == std::errc::result_out_of_range) return static_cast<T>(std::strtod(std::string(field).c_str(), nullptr));
  }
  return std::nullopt;
}

/// Iterates over the lines that are not blank. Line numbers begin at 1, as in an editor.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);  // the byte order mark of UTF-8
  }
  bool next() {
    while (!text_.empty()) {
      const std::size_t end = std::min(text_.find('\n'), text_.size());
      line_ = trimmed_end(text_.substr(0, end));
      text_.remove_prefix(std::min(end + 1, text_.size()));
      ++number_;
      if (!trimmed(line_).empty()) return true;
    }
    return false;
  }
  std::string_view line() const { return line_; }
  std::size_t number() const { return number_; }

 private:
  static std::string_view trimmed_end(std::string_view line) {
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return line;
  }
  std::string_view text_, line_;
  std::size_t number_ = 0;
};

char delimiter_of(std::string_view line) {
  const std::size_t at = line.find_first_of(",;\t");
  return at == std::string_view::npos ? ' ' : line[at];
}

std::string unquoted(std::string_view field) {
  std::string text(field);
  for (std::size_t at = 0; (at = text.find("\"\"", at)) != std::string::npos; ++at) text.erase(at, 1);
  return text;
}

template <class T> Csv parsed(const Site& site, const Reader& reader, std::string_view text, const CsvOptions& options) {
  using Header = CsvOptions::Header;
  Lines lines(text);
  std::vector<std::string_view> fields;
  std::vector<T> values;
  std::size_t width = 0, rows = 0;
  char delimiter = options.delimiter;
  Csv csv;
  std::string_view remark;  // the last comment before the first line of fields
  for (bool first = true; lines.next();) {
    const std::string_view line = lines.line();
    if (trimmed(line).starts_with('#')) {
      if (first) remark = line.substr(line.find('#') + 1);
      continue;
    }
    if (first && delimiter == 0) delimiter = delimiter_of(line);
    if (first && options.header == Header::find && !remark.empty()) {  // names, if there is one for each field
      split(line, delimiter, fields);
      const std::size_t count = fields.size();
      split(remark, delimiter, fields);
      if (fields.size() == count)
        for (const std::string_view field : fields) csv.names.push_back(unquoted(field));
    }
    split(line, delimiter, fields);
    if (std::exchange(first, false)) {
      const bool words = std::none_of(fields.begin(), fields.end(), [](std::string_view field) { return number<double>(field).has_value(); });
      const bool some = std::any_of(fields.begin(), fields.end(), [](std::string_view field) { return !field.empty(); });
      if (options.header == Header::yes || (options.header == Header::find && words && some)) {
        csv.names.clear();
        for (const std::string_view field : fields) csv.names.push_back(unquoted(field));
        width = fields.size();
        continue;
      }
    }
    if (width == 0) width = fields.size();
    if (fields.size() != width) reader.refuse(fmt::format("line {} has {} fields; the lines before it have {}", lines.number(), fields.size(), width));
    for (const std::string_view field : fields) {
      if (field.empty() && std::is_floating_point_v<T> && is_floating(options.dtype)) {
        values.push_back(std::numeric_limits<T>::quiet_NaN());
        continue;
      }
      const std::optional<T> value = number<T>(field);
      if (!value)
        reader.refuse(fmt::format("line {}: '{}' is not {}", lines.number(), printable(field), std::is_integral_v<T> ? "a 64-bit integer" : "a number"));
      values.push_back(*value);
    }
    ++rows;
  }
  csv.values = astype(from_span(std::span<const T>(values), {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(width)}, site.where), options.dtype);
  return csv;
}

}  // namespace

Tensor Csv::column(const std::string& name, Location where) const {
  const Site site = site_of("column", where);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    fail<ValueError>(site, fmt::format("there is no column '{}'{}", printable(name),
                                       names.empty() ? ": the file has no header line" : fmt::format("; the columns are {}", fmt::join(names, ", "))));
  return values.at({Index(Slice{}, where), Index(found - names.begin(), where)}, where);
}

Csv load_csv(const std::string& path, const CsvOptions& options, Location where) {
  const Scope scope("load_csv", where);
  Reader reader(scope.site(), path);
  const std::string text = reader.rest();
  if (text.find('\0') != std::string::npos) reader.refuse("it is not a text: it contains bytes that are 0");
  if (options.dtype == DType::uint64) return parsed<std::uint64_t>(scope.site(), reader, text, options);
  return is_integer(options.dtype) ? parsed<std::int64_t>(scope.site(), reader, text, options) : parsed<double>(scope.site(), reader, text, options);
}

void save_csv(const std::string& path, const Tensor& tensor, const std::vector<std::string>& names, char delimiter, Location where) {
  const Site site{"save_csv", where};
  const RecordedPtr& node = node_of(site, tensor);
  const Shape& shape = node->shape;
  if (shape.empty() || shape.size() > 2) fail<ShapeError>(site, fmt::format("shape {} is not (lines,) or (lines, fields)", to_string(shape)));
  const auto rows = static_cast<std::size_t>(shape[0]), columns = shape.size() == 2 ? static_cast<std::size_t>(shape[1]) : 1;
  if (!names.empty() && names.size() != columns) fail<ValueError>(site, fmt::format("{} names for {} fields", names.size(), columns));
  fmt::memory_buffer text;
  const auto quoted = [&](const std::string& name) {
    if (name.find_first_of(std::string("\"\r\n") + delimiter) == std::string::npos) return name;
    std::string out = "\"";
    for (const char c : name) out += c == '"' ? "\"\"" : std::string(1, c);
    return out + '"';
  };
  for (std::size_t k = 0; k < names.size(); ++k) fmt::format_to(std::back_inserter(text), "{}{}", quoted(names[k]), k + 1 < columns ? delimiter : '\n');
  Writer writer(site, path);
  visit_storage(node->dtype, [&]<class T>() {
    const T* element = rows * columns == 0 ? nullptr : static_cast<const T*>(host_data(node, site));
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        const char after = j + 1 < columns ? delimiter : '\n';
        if constexpr (std::is_integral_v<T>)
          fmt::format_to(std::back_inserter(text), "{}{}", static_cast<std::conditional_t<std::is_unsigned_v<T>, std::uint64_t, std::int64_t>>(*element++),
                         after);
        else fmt::format_to(std::back_inserter(text), "{}{}", static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(*element++), after);
      }
      if (text.size() < 1 << 20) continue;
      writer.write(text.data(), text.size());
      text.clear();
    }
  });
  writer.write(text.data(), text.size());
  writer.finish();
}

}  // namespace sinter
