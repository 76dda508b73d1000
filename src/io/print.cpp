// Prints like NumPy 2.4. The layout rules are those of NumPy's module arrayprint. Numbers have the fewest digits that are read back as the same number, at most
// 8 after the point.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <ostream>

#include "sinter/print_elements.hpp"
#include "trace/build.hpp"
#include "trace/host_access.hpp"

namespace sinter {
namespace {

std::mutex options_mutex;
constinit PrintOptions current_options;  // guarded by the mutex

void check(const trace::Site& site, const PrintOptions& options) {
  if (options.precision < 0 || options.threshold < 0 || options.edgeitems < 1 || options.linewidth < 1 || options.indent < 0)
    trace::fail<ValueError>(site, "precision, threshold and indent must not be negative; edgeitems and linewidth must be at least 1");
  if (options.sign != '-' && options.sign != '+' && options.sign != ' ') trace::fail<ValueError>(site, "the sign option is '-', '+' or ' '");
}

/// The printed elements, addressed by their row-major position.
struct Contents {
  const unsigned char* first;
  DType dtype;
  Shape shape;

  double floating(std::int64_t i) const {
    return visit_storage(dtype, [&]<class T>() { return static_cast<double>(get<T>(i)); });
  }
  std::string integer(std::int64_t i) const {
    return visit_storage(dtype, [&]<class T>() -> std::string {
      if constexpr (std::is_same_v<T, bool>) return get<T>(i) ? "True" : "False";
      else if constexpr (std::is_integral_v<T>) return std::to_string(get<T>(i));
      else return {};
    });
  }

 private:
  template <class T> T get(std::int64_t i) const {
    T value;
    std::memcpy(&value, first + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
    return value;
  }
};

/// A number split at its point: "-1" and "25"; the exponent is separate ("+03"), or empty.
struct Digits {
  std::string whole, fraction, exponent;
};

Digits split(const char* first, const char* last) {
  std::string text(first, last);
  Digits d;
  if (const auto e = text.find('e'); e != std::string::npos) {
    d.exponent = text.substr(e + 1);
    text.resize(e);
  }
  const auto point = text.find('.');
  d.whole = text.substr(0, point);
  if (point != std::string::npos) d.fraction = text.substr(point + 1);
  return d;
}

class Number {
 public:
  explicit Number(DType dtype) : dtype_(dtype) {}

  /// Returns the fewest digits that are read back as the same number, at most `precision` after the point.
  Digits shortest(double x, std::chars_format format, int precision) const {
    char text[400];
    char* const end = text + sizeof text;
    const auto done = visit_storage(dtype_, [&]<class T>() {
      if constexpr (std::is_same_v<T, float>) return std::to_chars(text, end, static_cast<float>(x), format);
      else if constexpr (!std::is_arithmetic_v<T>) return std::to_chars(text, end, shortest_decimal<T>(x), format);
      else return std::to_chars(text, end, x, format);
    });
    Digits d = split(text, done.ptr);
    if (d.fraction.size() > static_cast<std::size_t>(precision)) {
      d = exact(x, format, precision);
      d.fraction.resize(d.fraction.find_last_not_of('0') + 1);
    }
    return d;
  }
  /// Returns exactly `precision` digits after the point, rounded from the exact value.
  Digits exact(double x, std::chars_format format, int precision) const {
    std::string text(static_cast<std::size_t>(precision) + 400, '\0');
    return split(text.data(), std::to_chars(text.data(), text.data() + text.size(), x, format, precision).ptr);
  }

 private:
  /// Returns the shortest decimal number that rounds to x in a narrow type.
  template <class T> static double shortest_decimal(double x) {
    for (int precision = 0; precision < std::numeric_limits<T>::max_digits10; ++precision) {
      char text[40];
      const char* const end = std::to_chars(text, text + sizeof text, x, std::chars_format::scientific, precision).ptr;
      double decimal = 0;
      std::from_chars(text, end, decimal);
      if (static_cast<T>(decimal).bits == static_cast<T>(x).bits) return decimal;
    }
    return x;
  }

  DType dtype_;
};

/// These return the power of 10 from which numbers are written with an exponent, for a scalar and in an array.
int scalar_digits(DType dtype) {
  return visit_storage(dtype, []<class T>() { return sizeof(T) == 8 ? 16 : std::max(2, std::numeric_limits<T>::digits10); });
}
int array_digits(DType dtype) { return std::min(8, scalar_digits(dtype)); }

std::string nonfinite(double x, const PrintOptions& options) {
  if (std::isnan(x)) return (options.sign == '+' ? "+" : "") + options.nan;
  return (x < 0 ? "-" : options.sign == '+' ? "+" : "") + options.infinity;
}

/// The format of one array's elements, chosen from all shown elements, so that columns align.
class Format {
 public:
  Format(const Contents& contents, const std::vector<std::int64_t>& shown, const PrintOptions& options)
      : contents_(contents),
        number_(contents.dtype),
        options_(options),
        precision_(options.floatmode == FloatMode::unique ? kAll : std::min(options.precision, kAll)) {
    if (is_floating(contents.dtype)) {
      fit_floats(shown);
    } else if (is_bool(contents.dtype)) {
      width_ = 5;
    } else {
      const auto is_negative = [&](std::int64_t i) { return contents.integer(i)[0] == '-'; };
      sign_ = options.sign == ' ' && std::any_of(shown.begin(), shown.end(), is_negative) ? '-' : options.sign;
      for (const std::int64_t i : shown) width_ = std::max(width_, integer(i).size());
    }
  }

  std::string operator()(std::int64_t i) const {
    if (!is_floating(contents_.dtype)) return right(integer(i), width_);
    const double x = contents_.floating(i);
    if (!std::isfinite(x)) return right(nonfinite(x, options_), left_ + right_ + 1);
    Digits d = digits(x, scientific_ || equal_length());
    if (scientific_) {
      d.exponent.insert(1, exponent_ - (d.exponent.size() - 1), '0');
      return right(d.whole, left_) + '.' + d.fraction + 'e' + d.exponent;
    }
    d.fraction.resize(right_, ' ');
    return right(d.whole, left_) + '.' + d.fraction;
  }

 private:
  std::string integer(std::int64_t i) const {
    const std::string text = contents_.integer(i);
    return sign_ == '-' || text[0] == '-' ? text : sign_ + text;
  }
  static std::string right(const std::string& text, std::size_t width) { return text.size() < width ? std::string(width - text.size(), ' ') + text : text; }
  bool equal_length() const { return options_.floatmode == FloatMode::fixed || options_.floatmode == FloatMode::maxprec_equal; }

  /// Returns precision_ digits, or fewer if these identify the number.
  Digits digits(double x, bool all) const {
    const auto format = scientific_ ? std::chars_format::scientific : std::chars_format::fixed;
    Digits d = all ? number_.exact(x, format, precision_) : number_.shortest(x, format, precision_);
    if (options_.sign == '+' && !std::signbit(x)) d.whole.insert(0, 1, '+');
    return d;
  }

  void fit_floats(const std::vector<std::int64_t>& shown) {
    double low = std::numeric_limits<double>::infinity(), high = 0;
    for (const std::int64_t i : shown) {
      const double x = std::fabs(contents_.floating(i));
      if (!std::isfinite(x) || x == 0) continue;
      low = std::min(low, x);
      high = std::max(high, x);
    }
    // This computes in the array's type, like NumPy, so a ratio may overflow to infinity or NaN.
    const double ratio = visit_storage(contents_.dtype, [&]<class T>() { return static_cast<double>(static_cast<T>(high / low)); });
    const bool small = !options_.suppress && (low < 0.0001 || !(ratio <= 1000));
    scientific_ = high > 0 && (high >= std::pow(10, array_digits(contents_.dtype)) || small);
    bool negative_infinity = options_.sign != '-', nan = false, infinity = false, all_positive = true, any_finite = false;
    for (const std::int64_t i : shown) {
      const double x = contents_.floating(i);
      if (!std::isfinite(x)) {
        nan |= std::isnan(x), infinity |= std::isinf(x);
        negative_infinity |= x < 0;
        continue;
      }
      any_finite = true;
      all_positive &= !std::signbit(x);
      const Digits d = digits(x, options_.floatmode == FloatMode::fixed);
      left_ = std::max(left_, d.whole.size());
      right_ = std::max(right_, d.fraction.size());
      if (scientific_) exponent_ = std::max(exponent_, d.exponent.size() - 1);
    }
    if (scientific_) {
      precision_ = static_cast<int>(right_);
      right_ += exponent_ + 2;
    } else if (any_finite && equal_length()) {
      precision_ = static_cast<int>(right_);
    }
    if (options_.sign == ' ' && all_positive) ++left_;
    if (!nan && !infinity) return;
    const std::size_t word = std::max(options_.nan.size(), options_.infinity.size() + (negative_infinity ? 1 : 0));
    if (word > right_ + 1) left_ = std::max(left_, word - (right_ + 1));
  }

  static constexpr int kAll = 1100;  // more digits than any number has

  const Contents& contents_;
  Number number_;
  const PrintOptions& options_;
  std::size_t width_ = 0;  // integers and bool
  char sign_ = '-';
  std::size_t left_ = 0, right_ = 0, exponent_ = 0;  // floats: characters before and after the point, and of the exponent
  int precision_;
  bool scientific_ = false;
};

/// Collects the positions that are printed: all, or only the corners.
void collect(const Shape& shape, std::size_t axis, std::int64_t base, std::optional<std::int64_t> edge, std::vector<std::int64_t>& shown) {
  if (axis == shape.size()) {
    shown.push_back(base);
    return;
  }
  const std::int64_t size = shape[axis];
  for (std::int64_t i = 0; i < size; ++i) {
    if (edge && size > 2 * *edge && i == *edge) i = size - *edge;
    collect(shape, axis + 1, base * size + i, edge, shown);
  }
}

class Layout {
 public:
  /// `edge` is the number of elements shown at each end of an axis; nullopt shows all.
  Layout(const Shape& shape, const std::function<std::string(std::int64_t)>& format, std::optional<std::int64_t> edge, const std::string& separator)
      : shape_(shape), format_(format), edge_(edge), separator_(separator), at_end_(separator, 0, separator.find_last_not_of(' ') + 1) {}

  std::string nested(std::size_t axis, std::int64_t base, const std::string& indent, std::size_t width) const {
    if (axis == shape_.size()) return format_(base);
    const std::string text = axis + 1 == shape_.size() ? row(axis, base, indent, width) : rows(axis, base, indent, width);
    return '[' + text.substr(indent.size()) + ']';
  }

 private:
  bool summarised(std::size_t axis) const { return edge_ && shape_[axis] > 2 * *edge_; }

  std::string row(std::size_t axis, std::int64_t base, const std::string& indent, std::size_t width) const {
    std::string text, line = indent;
    const std::size_t max_width = width - std::min(width, std::max<std::size_t>(at_end_.size(), 1));
    const auto extend = [&](const std::string& word) {
      if (line.size() + word.size() > max_width && line.size() > indent.size()) {
        line.resize(line.find_last_not_of(' ') + 1);
        text += line + '\n';
        line = indent;
      }
      line += word;
    };
    const std::int64_t size = shape_[axis];
    for (std::int64_t i = 0; i < size; ++i) {
      if (summarised(axis) && i == *edge_) {
        extend("...");
        line += separator_;
        i = size - *edge_;
      }
      extend(format_(base * size + i));
      if (i + 1 < size) line += separator_;
    }
    return text + line;
  }

  std::string rows(std::size_t axis, std::int64_t base, const std::string& indent, std::size_t width) const {
    const std::string separator = at_end_ + std::string(shape_.size() - axis - 1, '\n');
    const std::int64_t size = shape_[axis];
    std::string text;
    for (std::int64_t i = 0; i < size; ++i) {
      if (summarised(axis) && i == *edge_) {
        text += indent + "..." + separator;
        i = size - *edge_;
      }
      text += indent + nested(axis + 1, base * size + i, indent + ' ', width - std::min<std::size_t>(width, 1));
      if (i + 1 < size) text += separator;
    }
    return text;
  }

  const Shape& shape_;
  const std::function<std::string(std::int64_t)>& format_;
  std::optional<std::int64_t> edge_;
  const std::string separator_, at_end_;  // separators between the elements of a line, and at the line's end
};

/// Prints a 0-d tensor as a scalar, with all its digits.
std::string scalar(const Contents& contents) {
  if (!is_floating(contents.dtype)) return contents.integer(0);
  const double x = contents.floating(0), size = std::fabs(x);
  if (!std::isfinite(x)) return nonfinite(x, {});
  const Number number(contents.dtype);
  constexpr int kAll = 400;
  if (size != 0 && (size < 1e-4 || size >= std::pow(10, scalar_digits(contents.dtype)))) {
    const Digits d = number.shortest(x, std::chars_format::scientific, kAll);
    return d.whole + (d.fraction.empty() ? "" : "." + d.fraction) + 'e' + d.exponent;
  }
  const Digits d = number.shortest(x, std::chars_format::fixed, kAll);
  return d.whole + '.' + (d.fraction.empty() ? "0" : d.fraction);
}

std::optional<std::int64_t> edge_of(std::int64_t count, const PrintOptions& options) {
  return count > options.threshold ? std::optional(options.edgeitems) : std::nullopt;
}
std::vector<std::int64_t> shown_of(const Shape& shape, const PrintOptions& options) {
  std::vector<std::int64_t> shown;
  collect(shape, 0, 0, edge_of(element_count(shape), options), shown);
  return shown;
}
Contents contents_of(const Tensor& tensor, const trace::Site& site) {
  const trace::RecordedPtr& node = trace::node_of(site, tensor);
  const bool empty = element_count(node->shape) == 0;
  return {empty ? nullptr : static_cast<const unsigned char*>(trace::host_data(node, site)), node->dtype, node->shape};
}

}  // namespace

PrintOptions printoptions() {
  const std::lock_guard lock(options_mutex);
  return current_options;
}
void set_printoptions(const PrintOptions& options, Location where) {
  check({"set_printoptions", where}, options);
  const std::lock_guard lock(options_mutex);
  current_options = options;
}

std::string to_string(const Tensor& tensor, Location where) { return to_string(tensor, printoptions(), where); }
std::string to_string(const Shape& shape, const std::function<std::string(std::int64_t)>& element, const PrintOptions& options, Location where) {
  check({"to_string", where}, options);
  const std::int64_t count = element_count(shape);
  if (count == 0) return "[]";
  return Layout(shape, element, edge_of(count, options), options.separator)
      .nested(0, 0, std::string(static_cast<std::size_t>(options.indent) + 1, ' '), static_cast<std::size_t>(options.linewidth));
}
std::string to_string(const Tensor& tensor, const PrintOptions& options, Location where) {
  const trace::Site site{"to_string", where};
  const Contents contents = contents_of(tensor, site);
  const Shape& shape = contents.shape;
  if (shape.empty()) return scalar(contents);
  return to_string(shape, Format(contents, shown_of(shape, options), options), options, where);
}
std::string to_string(const Complex& numbers, const PrintOptions& options, Location where) {
  const trace::Site site{"to_string", where};
  const Contents re = contents_of(numbers.re, site), im = contents_of(numbers.im, site);
  if (re.shape.empty()) {  // written like a number in Python
    const double x = re.floating(0);
    const auto plain = [](const std::string& text) { return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text; };
    const std::string imaginary = plain(scalar(im)) + "j";
    if (x == 0 && !std::signbit(x)) return imaginary;
    return "(" + plain(scalar(re)) + (imaginary[0] == '-' ? "" : "+") + imaginary + ")";
  }
  const std::vector<std::int64_t> shown = shown_of(re.shape, options);
  PrintOptions with_sign = options;
  with_sign.sign = '+';
  const Format real(re, shown, options), imaginary(im, shown, with_sign);
  const auto both = [&](std::int64_t i) {
    std::string text = imaginary(i);
    text.insert(text.find_last_not_of(' ') + 1, 1, 'j');
    return real(i) + text;
  };
  return to_string(re.shape, both, options, where);
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name(dtype); }
std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << to_string(shape); }
std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << to_string(tensor, Location{}); }

}  // namespace sinter
