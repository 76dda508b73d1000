// Formatters of tensors and element types for fmt::format and fmt::print. Opt-in: sinter.hpp does not include this header. For shapes use fmt/ranges.h or
// to_string().
#pragma once
#include <fmt/format.h>

#include "sinter/print.hpp"

/// Formats "{}" as to_string(tensor) does, and "{:.3}" with three digits after the point.
template <> struct fmt::formatter<sinter::Tensor> {
  constexpr auto parse(format_parse_context& context) {
    auto at = context.begin();
    if (at == context.end() || *at == '}') return at;
    if (*at++ != '.' || at == context.end() || *at == '}') throw format_error("a tensor's format is {} or {:.DIGITS}");
    for (precision_ = 0; at != context.end() && *at != '}'; ++at) {
      if (*at < '0' || *at > '9' || precision_ > 99) throw format_error("a tensor's format is {} or {:.DIGITS}");
      precision_ = 10 * precision_ + (*at - '0');
    }
    return at;
  }
  template <class Context> auto format(const sinter::Tensor& tensor, Context& context) const {
    sinter::PrintOptions options = sinter::printoptions();
    if (precision_ >= 0) options.precision = precision_;
    return fmt::format_to(context.out(), "{}", sinter::to_string(tensor, options, sinter::Location{}));
  }

 private:
  int precision_ = -1;
};
template <> struct fmt::formatter<sinter::Part> : fmt::formatter<sinter::Tensor> {};

template <> struct fmt::formatter<sinter::DType> : fmt::formatter<std::string_view> {
  template <class Context> auto format(sinter::DType dtype, Context& context) const {
    return fmt::formatter<std::string_view>::format(sinter::name(dtype), context);
  }
};
