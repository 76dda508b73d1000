// Writes arrays as text.
#include "sinter/print_elements.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>

#include "core.hpp"
#include "sinter/errors.hpp"
#include "sinter/ops.hpp"
#include "sinter/shapes.hpp"

namespace sinter::python {
namespace {

constexpr std::array<std::string_view, 4> kFloatModes{"maxprec", "fixed", "unique", "maxprec_equal"};

/// The functions of set_printoptions(formatter=...), from an element to text, by the kind of type; null for none. They are read and written under the GIL.
nb::dict& formatters() {
  static nb::dict& all = *new nb::dict;
  return all;
}

template <class T> T option_of(std::string_view name, nb::handle value) {
  T read{};
  if (!nb::try_cast(value, read)) raise(PyExc_TypeError, fmt::format("the value of the print option {} has the wrong type", name).c_str());
  return read;
}
/// Reads a number of elements or characters; infinity is allowed.
std::int64_t count_of(std::string_view name, nb::handle value) {
  if (PyFloat_Check(value.ptr()) && PyFloat_AsDouble(value.ptr()) > 1e9) return std::numeric_limits<std::int32_t>::max();
  return std::min<std::int64_t>(option_of<std::int64_t>(name, value), std::numeric_limits<std::int32_t>::max());
}

/// Changes the options that a dictionary names. None leaves an option as it is; for `formatter` it removes the functions.
void apply(const nb::dict& given, PrintOptions& options, nb::dict& functions) {
  for (auto [key, value] : given) {
    const auto name = nb::cast<std::string_view>(key);
    if (name == "formatter") {
      functions = value.is_none() ? nb::dict() : option_of<nb::dict>(name, value);
      continue;
    }
    if (value.is_none()) continue;
    if (name == "precision") options.precision = static_cast<int>(count_of(name, value));
    else if (name == "threshold") options.threshold = count_of(name, value);
    else if (name == "edgeitems") options.edgeitems = count_of(name, value);
    else if (name == "linewidth") options.linewidth = static_cast<int>(count_of(name, value));
    else if (name == "indent") options.indent = static_cast<int>(count_of(name, value));
    else if (name == "suppress") options.suppress = PyObject_IsTrue(value.ptr()) == 1;
    else if (name == "separator") options.separator = option_of<std::string>(name, value);
    else if (name == "nanstr") options.nan = option_of<std::string>(name, value);
    else if (name == "infstr") options.infinity = option_of<std::string>(name, value);
    else if (name == "sign") {
      const auto sign = option_of<std::string>(name, value);
      if (sign.size() != 1) throw ValueError("the print option sign is '-', '+' or ' '");
      options.sign = sign[0];
    } else if (name == "floatmode") {
      const auto mode = std::find(kFloatModes.begin(), kFloatModes.end(), option_of<std::string>(name, value));
      if (mode == kFloatModes.end()) throw ValueError(fmt::format("the print option floatmode is one of {}", fmt::join(kFloatModes, ", ")));
      options.floatmode = static_cast<FloatMode>(mode - kFloatModes.begin());
    } else {
      raise(PyExc_TypeError, fmt::format("there is no print option '{}'", name).c_str());
    }
  }
}

/// Returns the user's function for elements of a type, by NumPy's kinds; the special kinds come first.
nb::object formatter_of(const nb::dict& functions, ElementType type) {
  const bool floating = type.is_complex || is_floating(type.parts);
  for (const char* kind : {type.is_complex       ? "complexfloat"
                           : floating            ? "float"
                           : is_bool(type.parts) ? "bool"
                                                 : "int",
                           type.is_complex       ? "complex_kind"
                           : floating            ? "float_kind"
                           : is_bool(type.parts) ? "all"
                                                 : "int_kind",
                           "all"})
    if (functions.contains(kind)) return functions[kind];
  return {};
}

std::string written(const Array& array, const PrintOptions& options, const nb::dict& functions) {
  if (const nb::object format = formatter_of(functions, type_of(array)); format.is_valid() && !format.is_none()) {
    const auto elements = elements_of(array);
    return to_string(array.re.shape(), [&](std::int64_t k) { return nb::cast<std::string>(nb::str(format(elements(k)))); }, options, location());
  }
  evaluate(array);
  return array.is_complex() ? to_string(array.pair(), options, location()) : to_string(array.re, options, location());
}

}  // namespace

nb::object text_of(const Array& array, bool represents, const nb::dict& given) {
  PrintOptions options = printoptions();
  nb::dict functions = formatters();
  apply(given, options, functions);
  const auto made = [](const std::string& text) { return nb::str(text.c_str(), text.size()); };
  if (!represents && (array.re.ndim() > 0 || given.size() == 0)) return made(written(array, options, functions));

  // A single number is written like an element of an array.
  const bool one = array.re.ndim() == 0;
  const Array elements = one ? Array{reshape(array.re, Shape{1}), array.is_complex() ? reshape(array.im, Shape{1}) : Tensor(), {}} : array;
  const int width = options.linewidth;
  if (represents) {
    options.separator = ", ";
    options.indent = 6;
    --options.linewidth;
  }
  std::string text = written(elements, options, functions);
  if (one) text = text.substr(is_bool(array.re.dtype()) && text[1] == ' ' ? 2 : 1), text.pop_back();
  if (!represents) return made(text);

  const ElementType type = type_of(array);
  const bool usual = type.is_complex ? type.parts == DType::float64 : type.parts == DType::float64 || type.parts == DType::int64 || is_bool(type.parts);
  const bool empty = array.re.size() == 0;
  std::string extra;
  if ((empty && array.re.shape() != Shape{0}) || array.re.size() > options.threshold) extra = "shape=" + to_string(array.re.shape());
  if (!usual || empty) extra += fmt::format("{}dtype={}", extra.empty() ? "" : ", ", type_name(type));
  text = "array(" + text;
  if (extra.empty()) return made(text + ")");
  const std::size_t last = text.size() + 1 - (text.rfind('\n') + 1);
  return made(text + (last + extra.size() + 2 > static_cast<std::size_t>(width) ? ",\n      " : ", ") + extra + ")");
}

void add_printing(nb::module_& module) {
  module.def("set_printoptions", [](nb::kwargs given) {
    PrintOptions options = printoptions();
    nb::dict functions = formatters();
    apply(given, options, functions);
    set_printoptions(options, location());
    formatters() = functions;
  });
  module.def("get_printoptions", [] {
    const PrintOptions o = printoptions();
    nb::dict made;
    made["precision"] = o.precision, made["threshold"] = o.threshold, made["edgeitems"] = o.edgeitems, made["linewidth"] = o.linewidth;
    made["suppress"] = o.suppress, made["nanstr"] = o.nan, made["infstr"] = o.infinity, made["sign"] = std::string(1, o.sign);
    made["floatmode"] = std::string(kFloatModes[static_cast<std::size_t>(o.floatmode)]);
    made["formatter"] = formatters().size() == 0 ? nb::object(nb::none()) : nb::object(formatters());
    return made;
  });
  module.def("array_text", [](const Array& array, bool represents, const nb::kwargs& options) { return text_of(array, represents, options); });
}

}  // namespace sinter::python
