#include "parser.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "sinter/linalg.hpp"
#include "sinter/types.hpp"
#include "table/complex_numbers.hpp"

namespace sinter::tools {
namespace {

/// finfo(dtype).eps, iinfo(dtype).max
Value limit(DType dtype, const Token& name) {
  const std::string_view text = name.text;
  if (text == "bits") return {static_cast<std::int64_t>(8 * itemsize(dtype)), name.offset};
  if (text == "dtype") return {dtype, name.offset};
  if (is_floating(dtype)) {
    const FloatInfo info = finfo(dtype, Location{});
    const std::pair<std::string_view, double> numbers[] = {{"eps", info.eps},
                                                           {"min", info.min},
                                                           {"max", info.max},
                                                           {"smallest_normal", info.smallest_normal},
                                                           {"tiny", info.smallest_normal},
                                                           {"smallest_subnormal", info.smallest_subnormal}};
    for (const auto& [word, number] : numbers)
      if (word == text) return {number, name.offset};
  } else {
    const IntegerInfo info = iinfo(dtype, Location{});
    if (text == "min") return {info.min, name.offset};
    if (text == "max" && info.max > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return {info.max, name.offset};
    if (text == "max") return {static_cast<std::int64_t>(info.max), name.offset};
  }
  throw Fault{name.offset, fmt::format("the limits of {} have no '{}'; they have bits, dtype, min, max{}", sinter::name(dtype), text,
                                       is_floating(dtype) ? ", eps, smallest_normal, smallest_subnormal" : "")};
}

}  // namespace

Value Parser::attribute(Value value) {
  next();
  const Token name = next();
  if (name.kind != TokenKind::name) unexpected(name);
  if (const auto* limits = value.as<Limits>()) return limit(limits->dtype, name);
  if (const auto* callable = value.as<Callable>(); callable && callable->is_generator) return drawn(*callable, name);
  if (const auto* slice = value.as<Slice>(); slice && (name.text == "start" || name.text == "stop" || name.text == "step")) {
    const std::optional<std::int64_t>& end = name.text == "start" ? slice->start : name.text == "stop" ? slice->stop : slice->step;
    return end ? Value{*end, name.offset} : Value{None{}, name.offset};
  }
  if (value.is_complex()) return complex_attribute(std::move(value), name);
  if (const auto* text = value.as<std::string>()) return string_attribute(std::string(*text), name);
  if (const auto* dictionary = value.as<Dictionary>()) return dictionary_attribute(*dictionary, name);
  const auto* tensor = value.as<Tensor>();
  if (!tensor) throw Fault{name.offset, fmt::format("{} has no attribute '{}'", kind_name(value), name.text)};
  if (name.text == "T" || name.text == "mT")
    return {recorded(name.offset, [&] { return name.text == "T" ? transpose(*tensor) : matrix_transpose(*tensor); }), name.offset};
  if (name.text == "real" && !peek().is("(")) return {*tensor, name.offset};
  if (name.text == "imag" && !peek().is("(")) return {imag(*tensor), name.offset};
  if (name.text == "itemsize") return {static_cast<std::int64_t>(itemsize(tensor->dtype())), name.offset};
  if (name.text == "nbytes") return {tensor->size() * static_cast<std::int64_t>(itemsize(tensor->dtype())), name.offset};
  if (name.text == "ndim") return {std::int64_t{tensor->ndim()}, name.offset};
  if (name.text == "size") return {tensor->size(), name.offset};
  if (name.text == "dtype") return {tensor->dtype(), name.offset};
  if (name.text == "shape") {
    Tuple sizes;
    for (const std::int64_t size : tensor->shape()) sizes.push_back({size, name.offset});
    return {std::move(sizes), name.offset};
  }
  if (name.text == "flat") return {reshape(*tensor, Shape{-1}), name.offset};
  if (peek().is("(")) {
    if (name.text == "item") return item_of(*tensor, name);
    if (name.text == "tolist") {
      expect_no_arguments(name);
      return recorded(name.offset, [&] { return numbers_of(*tensor, name.offset); });
    }
    if (name.text == "fill") return call_of(*find_function("full_like"), name, {{{}, std::move(value)}});
  }
  const Function* function = find_function(name.text);
  if (!function) {
    std::vector<std::string_view> known{"T", "mT", "flat", "fill", "item", "tolist", "ndim", "size", "itemsize", "nbytes", "dtype", "shape", "real", "imag"};
    for (const Function& row : functions()) known.push_back(row.name);
    const std::string near = nearest(name.text, known);
    throw Fault{name.offset, fmt::format("a tensor has no attribute '{}'{}", name.text, near.empty() ? "" : fmt::format(": did you mean {}?", near))};
  }
  if (!peek().is("(")) throw Fault{name.offset, fmt::format("'{}' is a method; call it: .{}(…)", name.text, name.text)};
  std::vector<Argument> self;
  self.push_back({{}, std::move(value)});
  return call_of(*function, name, std::move(self));
}

void Parser::expect_no_arguments(const Token& name) {
  const Token opening = next();
  if (!peek().is(")")) throw Fault{peek().offset, fmt::format("{}() takes no arguments", name.text)};
  expect(")", opening);
}

Value Parser::item_of(const Tensor& tensor, const Token& name) {
  const std::vector<Argument> given = arguments({}).list;
  return recorded(name.offset, [&] {
    if (given.empty() && tensor.size() != 1) throw Fault{name.offset, fmt::format("item() of {} elements; item(k) is one of them", tensor.size())};
    if (given.empty()) return numbers_of(reshape(tensor, Shape{}), name.offset);
    std::vector<Index> index;
    for (const Argument& argument : given) index.push_back(index_of(argument.value));
    const Tensor element = (given.size() == 1 ? reshape(tensor, Shape{-1}) : tensor).at(index, Location{});
    if (element.ndim() != 0) throw Fault{name.offset, "item() takes an integer for each axis, or one into the flat tensor"};
    return numbers_of(element, name.offset);
  });
}

Value Parser::complex_attribute(Value value, const Token& name) {
  const Tuple& parts = *value.as<Tuple>();
  const Tensor& re = *parts[0].as<Tensor>();
  if (peek().is("(")) {
    if (name.text == "item") {  // the element as a number of Python's
      const std::vector<Argument> given = arguments({}).list;
      if (given.empty() && re.size() != 1) throw Fault{name.offset, fmt::format("item() of {} elements; item(k) is one of them", re.size())};
      std::vector<Index> index;
      for (const Argument& argument : given) index.push_back(index_of(argument.value));
      return recorded(name.offset, [&] {
        const auto element = [&](const Tensor& x) {
          return given.empty() ? reshape(x, Shape{}) : (given.size() == 1 ? reshape(x, Shape{-1}) : x).at(index, Location{});
        };
        return complex_value({element(re), element(*parts[1].as<Tensor>())}, name.offset, true);
      });
    }
    if (name.text == "tolist") {
      expect_no_arguments(name);
      return recorded(name.offset, [&] { return complex_list(value, name.offset); });
    }
    if (const Function* function = find_function(name.text)) return call_of(*function, name, {{{}, std::move(value)}});
  } else if (name.text == "real" || name.text == "imag") {
    return {parts[name.text == "real" ? 0 : 1].is, name.offset};
  } else if (name.text == "T" || name.text == "mT") {
    return recorded(name.offset, [&] { return call(*find_function(name.text == "T" ? "transpose" : "matrix_transpose"), {{{}, value}}, name.offset); });
  } else if (name.text == "shape") {
    return call(*find_function("shape"), {{{}, Value{re, value.offset}}}, name.offset);
  } else if (name.text == "ndim" || name.text == "size") {
    return {name.text == "size" ? re.size() : std::int64_t{re.ndim()}, name.offset};
  } else if (name.text == "dtype") {
    return {ComplexType{re.dtype()}, name.offset};
  } else if (name.text == "itemsize" || name.text == "nbytes") {
    return {(name.text == "nbytes" ? re.size() : 1) * 2 * static_cast<std::int64_t>(itemsize(re.dtype())), name.offset};
  } else if (name.text == "flat") {
    return call(*find_function("ravel"), {{{}, value}}, name.offset);
  }
  throw Fault{name.offset,
              fmt::format("complex numbers, a pair (re, im), have no attribute '{}'; they have real, imag, shape, ndim, size, T and methods such as conj()",
                          name.text)};
}

}  // namespace sinter::tools
