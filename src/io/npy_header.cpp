#include "io/npy_header.hpp"

#include <bit>
#include <charconv>

#include <fmt/format.h>

#include "io/file.hpp"

namespace sinter::io {
namespace {

constexpr bool kLittle = std::endian::native == std::endian::little;

[[noreturn]] void malformed(const std::string& why) { throw IoError("malformed header: " + why); }

void read_descr(std::string_view descr, NpyHeader& header) {
  if (descr.find('O') != std::string_view::npos) {
    throw IoError("it holds pickled Python objects, which are never loaded: unpickling can run code");
  }
  if (descr.size() >= 3 && std::string_view("<>|=").find(descr[0]) != std::string_view::npos) {
    for (int i = 0; i < kDTypeCount; ++i) {
      if (descr.substr(1) != npy_code(static_cast<DType>(i))) continue;
      header.dtype = static_cast<DType>(i);
      header.swap = kDTypes[i].size > 1 && (descr[0] == '>' ? kLittle : descr[0] == '<' ? !kLittle : false);
      return;
    }
  }
  throw IoError(fmt::format("elements of type '{}' are not supported (bool, integers and floats to 64 bits are)", printable(descr)));
}

/// Parses the literals that NumPy writes: a dict of a string, a bool and a tuple of integers.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  NpyHeader parse() {
    NpyHeader header;
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !descr) {
        descr = true;
        skip_space();
        if (at_ < text_.size() && text_[at_] == '[') throw IoError("structured elements are not supported");
        read_descr(quoted(), header);
      } else if (key == "fortran_order" && !order) {
        order = true;
        header.fortran_order = boolean();
      } else if (key == "shape" && !shape) {
        shape = true;
        header.shape = tuple();
      } else {
        malformed(fmt::format("unexpected or repeated key '{}'", printable(key)));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) malformed("text after the dict");
    if (!descr || !order || !shape) malformed("'descr', 'fortran_order' or 'shape' is missing");
    return header;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) malformed(fmt::format("'{}' is missing at byte {}", c, at_));
  }
  std::string_view quoted() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    const auto end = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos) malformed(fmt::format("a string is missing at byte {}", at_));
    const std::string_view word = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return word;
  }
  bool boolean() {
    skip_space();
    for (const std::string_view word : {"True", "False"}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return word == "True";
    }
    malformed("'fortran_order' is neither True nor False");
  }
  Shape tuple() {
    constexpr std::size_t kMaxAxes = 64;
    Shape shape;
    expect('(');
    while (!accept(')')) {
      skip_space();
      std::int64_t size = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (error == std::errc::result_out_of_range) malformed("a size in 'shape' is too large");
      if (error != std::errc{}) malformed("'shape' is not a tuple of integers");
      if (size < 0) malformed("a size in 'shape' is negative");
      at_ = static_cast<std::size_t>(end - text_.data());
      accept('L');  // Python 2 wrote long integers with an L
      shape.push_back(size);
      if (shape.size() > kMaxAxes) malformed("'shape' has more than 64 axes");
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string_view npy_code(DType dtype) { return dtype == DType::bfloat16 ? "V2" : traits(dtype).npy; }

NpyHeader parse_npy_header(std::string_view text) { return Parser(text).parse(); }

std::string npy_header_bytes(const NpyHeader& header) {
  const char order = itemsize(header.dtype) == 1 ? '|' : kLittle ? '<' : '>';
  std::string dict = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': {}, }}", order, npy_code(header.dtype), to_string(header.shape));
  const bool long_header = dict.size() > 60000;
  const std::size_t prefix = long_header ? 12 : 10;
  dict.append(63 - (prefix + dict.size()) % 64, ' ');  // the elements start on a multiple of 64 bytes
  dict += '\n';
  std::string bytes = long_header ? std::string("\x93NUMPY\x02\x00", 8) : std::string("\x93NUMPY\x01\x00", 8);
  for (std::size_t k = 0; k < prefix - 8; ++k) bytes += static_cast<char>(dict.size() >> (8 * k) & 255);
  return bytes + dict;
}

}  // namespace sinter::io
