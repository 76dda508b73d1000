#include "table/printing.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <vector>

#include "sinter/ops.hpp"

namespace sinter::table {
namespace {

/// Writes each element as NumPy does in an array: all with one width, including the spaces around.
std::vector<std::string> elements(const Tensor& x, PrintOptions options) {
  options.threshold = std::numeric_limits<std::int64_t>::max();
  options.linewidth = std::numeric_limits<int>::max();
  options.separator = " ";
  options.indent = 0;
  const std::string text = to_string(reshape(x, Shape{-1}), options);  // [a b c]
  const auto count = static_cast<std::size_t>(x.size());
  std::vector<std::string> words;
  const std::size_t width = count == 0 ? 0 : (text.size() - 1) / count;  // an element and the character before it
  for (std::size_t k = 0; k < count; ++k) words.push_back(text.substr(1 + k * width, width - 1));
  return words;
}

/// Writes an imaginary part: the sign directly before the number, the j directly after it.
std::string imaginary_part(const std::string& word, bool minus) {
  const std::size_t begin = word.find_first_not_of(' '), end = word.find_last_not_of(' ') + 1;
  const bool nan = word.compare(begin, 3, "nan") == 0;
  return word.substr(0, begin) + (minus && !nan ? "-" : "+") + word.substr(begin, end - begin) + "j" + word.substr(end);
}

/// Writes the elements. If an axis is longer than two times `edge`, only those at its ends, and dots; an `edge` of 0 writes all.
void write(const std::vector<std::string>& words, const Shape& shape, std::size_t axis, std::size_t& next, std::int64_t edge, const PrintOptions& options,
           std::string& text) {
  const std::int64_t size = shape[axis];
  std::int64_t inside = 1;
  for (std::size_t k = axis + 1; k < shape.size(); ++k) inside *= shape[k];
  text += '[';
  const std::string indent(axis + 1 + static_cast<std::size_t>(options.indent), ' ');
  const std::string at_end(options.separator, 0, options.separator.find_last_not_of(' ') + 1);
  std::size_t column = indent.size();
  const auto put = [&](const std::string& word, bool first) {
    if (!first && column + word.size() + 1 + (shape.size() - axis) > static_cast<std::size_t>(options.linewidth)) {
      text += at_end + "\n" + indent;
      column = indent.size();
    } else if (!first) {
      text += options.separator;
      column += options.separator.size();
    }
    text += word;
    column += word.size();
  };
  for (std::int64_t k = 0; k < size; ++k) {
    if (edge > 0 && size > 2 * edge && k == edge) {
      if (axis + 1 == shape.size()) put("...", false);
      else text += at_end + std::string(shape.size() - axis - 1, '\n') + indent + "...";
      next += static_cast<std::size_t>((size - 2 * edge) * inside);
      k = size - edge;
    }
    if (axis + 1 == shape.size()) {
      put(words[next++], k == 0);
    } else {
      if (k > 0) text += at_end + std::string(shape.size() - axis - 1, '\n') + indent;
      write(words, shape, axis + 1, next, edge, options, text);
    }
  }
  text += ']';
}

}  // namespace

std::string complex_text(const Complex& numbers, const PrintOptions& options) {
  const Tensor &re = numbers.re, &im = numbers.im;
  std::vector<std::string> words = elements(re, options);
  const std::vector<std::string> imaginary = elements(abs(im), options);
  const std::vector<bool> minus = signbit(im).to_vector<bool>(Location{});
  if (re.ndim() == 0) {
    const auto without_point = [](std::string word) { return word.ends_with('.') ? word.substr(0, word.size() - 1) : word; };
    if (words[0] == "0." || words[0] == "0") return (minus[0] ? "-" : "") + without_point(imaginary[0]) + "j";
    return "(" + without_point(words[0]) + imaginary_part(without_point(imaginary[0]), minus[0]) + ")";
  }
  for (std::size_t k = 0; k < words.size(); ++k) words[k] += imaginary_part(imaginary[k], minus[k]);
  if (re.size() == 0) return to_string(re, options);
  std::string text;
  std::size_t next = 0;
  write(words, re.shape(), 0, next, re.size() > options.threshold ? options.edgeitems : 0, options, text);
  return text;
}

}  // namespace sinter::table
