#include "printing.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <vector>

#include "sinter/ops.hpp"

namespace sinter::tools {
namespace {

/// Each element as NumPy writes it among the others, without the spaces before it.
std::vector<std::string> elements(const Tensor& x, PrintOptions options) {
  options.threshold = std::numeric_limits<std::int64_t>::max();
  options.linewidth = std::numeric_limits<int>::max();
  const std::string text = to_string(reshape(x, Shape{-1}), options);
  std::vector<std::string> words;
  for (std::size_t begin = text.find_first_not_of("[] "); begin != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_of("[] ", begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of("[] ", end);
  }
  return words;
}

void pad_left(std::vector<std::string>& words) {
  std::size_t width = 0;
  for (const std::string& word : words) width = std::max(width, word.size());
  for (std::string& word : words) word.insert(0, width - word.size(), ' ');
}

/// Of an axis of more than two times `edge` elements those at its ends, and dots; 0: all.
void write(const std::vector<std::string>& words, const Shape& shape, std::size_t axis, std::size_t& next, std::int64_t edge, int width, std::string& text) {
  const std::int64_t size = shape[axis];
  std::int64_t inside = 1;
  for (std::size_t k = axis + 1; k < shape.size(); ++k) inside *= shape[k];
  text += '[';
  const std::string indent(axis + 1, ' ');
  std::size_t column = indent.size();
  const auto put = [&](const std::string& word, bool first) {
    if (!first && column + word.size() + 1 + (shape.size() - axis) > static_cast<std::size_t>(width)) {
      text += "\n" + indent;
      column = indent.size();
    } else if (!first) {
      text += ' ';
      ++column;
    }
    text += word;
    column += word.size();
  };
  for (std::int64_t k = 0; k < size; ++k) {
    if (edge > 0 && size > 2 * edge && k == edge) {
      if (axis + 1 == shape.size()) put("...", false);
      else text += std::string(shape.size() - axis - 1, '\n') + indent + "...";
      next += static_cast<std::size_t>((size - 2 * edge) * inside);
      k = size - edge;
    }
    if (axis + 1 == shape.size()) {
      put(words[next++], k == 0);
    } else {
      if (k > 0) text += std::string(shape.size() - axis - 1, '\n') + indent;
      write(words, shape, axis + 1, next, edge, width, text);
    }
  }
  text += ']';
}

}  // namespace

std::string complex_text(const Complex& numbers, const PrintOptions& options) {
  const Tensor &re = numbers.re, &im = numbers.im;
  std::vector<std::string> real = elements(re, options), imaginary = elements(abs(im), options);
  const std::vector<bool> minus = signbit(im).to_vector<bool>(Location{});
  for (std::size_t k = 0; k < imaginary.size(); ++k) imaginary[k].insert(0, minus[k] ? "-" : "+");
  if (re.ndim() == 0) return "(" + real[0].substr(0, real[0].ends_with('.') ? real[0].size() - 1 : real[0].size()) + (imaginary[0].ends_with('.') ? imaginary[0].substr(0, imaginary[0].size() - 1) : imaginary[0]) + "j)";
  pad_left(real);
  pad_left(imaginary);
  for (std::size_t k = 0; k < real.size(); ++k) real[k] += imaginary[k] + "j";
  if (re.size() == 0) return to_string(re, options);
  std::string text;
  std::size_t next = 0;
  write(real, re.shape(), 0, next, re.size() > options.threshold ? options.edgeitems : 0, options.linewidth, text);
  return text;
}

}  // namespace sinter::tools
