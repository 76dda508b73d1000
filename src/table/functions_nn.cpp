#include "table/functions_nn.hpp"

#include "sinter/nn.hpp"
#include "table/arguments.hpp"

namespace sinter::table {
namespace {

/// Reads a number, or a tuple of them.
PerAxis numbers(const Arguments& a, int parameter, std::int64_t otherwise) { return a.given(parameter) ? PerAxis(a.list(parameter)) : PerAxis(otherwise); }
/// Reads a padding: 1, (1, 2), ((0, 1), (2, 3)), 'same' or 'valid'.
Padding padding(const Arguments& a, int parameter) {
  const Value* given = a.given(parameter);
  if (!given) return 0;
  if (given->as<std::string>()) {
    const std::string text = a.text(parameter, "");
    if (text != "same" && text != "valid") a.fail(parameter, "padding must be a number, a tuple of them or of pairs, 'same' or 'valid'");
    return text == "same" ? Padding::same() : Padding(0);
  }
  const Tuple* tuple = given->as<Tuple>();
  std::vector<std::pair<std::int64_t, std::int64_t>> widths;
  if (!tuple || tuple->empty() || !(*tuple)[0].as<Tuple>()) {
    for (const std::int64_t width : a.list(parameter)) widths.emplace_back(width, width);
    return widths;
  }
  for (const Value& pair : *tuple) {
    const auto both = whole_pair(pair);
    if (!both) a.fail(parameter, "padding must be a number, a tuple of them or of pairs, 'same' or 'valid'");
    widths.push_back(*both);
  }
  return widths;
}

template <class Function> Value convolved(const Arguments& a, Function conv) {
  return {conv(a.operand(0), a.tensor(1), a.tensor(2), ConvOptions{numbers(a, 3, 1), padding(a, 4), numbers(a, 5, 1), a.integer(6, 1)})};
}
template <class Function> Value transposed(const Arguments& a, Function conv) {
  return {
      conv(a.operand(0), a.tensor(1), a.tensor(2), ConvTransposeOptions{numbers(a, 3, 1), padding(a, 4), numbers(a, 5, 0), a.integer(6, 1), numbers(a, 7, 1)})};
}
template <class Function> Value max_pooled(const Arguments& a, Function pool) {
  PoolOptions how;
  if (a.given(2)) how.stride = numbers(a, 2, 1);
  how.padding = padding(a, 3);
  how.dilation = numbers(a, 4, 1);
  how.ceil_mode = a.flag(5);
  return {pool(a.operand(0), numbers(a, 1, 1), how)};
}
template <class Function> Value avg_pooled(const Arguments& a, Function pool) {
  PoolOptions how;
  if (a.given(2)) how.stride = numbers(a, 2, 1);
  how.padding = padding(a, 3);
  how.ceil_mode = a.flag(4);
  how.count_include_pad = a.flag(5, true);
  if (a.given(6)) how.divisor_override = a.integer(6, 1);
  return {pool(a.operand(0), numbers(a, 1, 1), how)};
}
PerAxis of_axes(const PerAxis& given, std::size_t axes) {
  return given.list().size() == 1 ? PerAxis(std::vector<std::int64_t>(axes, given.list().front())) : given;
}
Value lp_pooled(const Arguments& a, std::size_t axes) {
  PoolOptions how;
  if (a.given(3)) how.stride = numbers(a, 3, 1);
  how.ceil_mode = a.flag(4);
  return {lp_pool(a.operand(0), a.number(1, 2), of_axes(numbers(a, 2, 1), axes), how)};
}

}  // namespace

Value conv_(const Arguments& a) { return convolved(a, conv); }
Value conv1d_(const Arguments& a) { return convolved(a, conv1d); }
Value conv2d_(const Arguments& a) { return convolved(a, conv2d); }
Value conv3d_(const Arguments& a) { return convolved(a, conv3d); }
Value conv_transpose_(const Arguments& a) { return transposed(a, conv_transpose); }
Value conv_transpose1d_(const Arguments& a) { return transposed(a, conv_transpose1d); }
Value conv_transpose2d_(const Arguments& a) { return transposed(a, conv_transpose2d); }
Value conv_transpose3d_(const Arguments& a) { return transposed(a, conv_transpose3d); }
Value unfold_(const Arguments& a) { return {unfold(a.operand(0), numbers(a, 1, 1), numbers(a, 2, 1), padding(a, 3), numbers(a, 4, 1))}; }
Value linear_(const Arguments& a) { return {linear(a.operand(0), a.tensor(1), a.tensor(2))}; }
Value max_pool1d_(const Arguments& a) { return max_pooled(a, max_pool1d); }
Value max_pool2d_(const Arguments& a) { return max_pooled(a, max_pool2d); }
Value max_pool3d_(const Arguments& a) { return max_pooled(a, max_pool3d); }
Value avg_pool1d_(const Arguments& a) { return avg_pooled(a, avg_pool1d); }
Value avg_pool2d_(const Arguments& a) { return avg_pooled(a, avg_pool2d); }
Value avg_pool3d_(const Arguments& a) { return avg_pooled(a, avg_pool3d); }
Value lp_pool1d_(const Arguments& a) { return lp_pooled(a, 1); }
Value lp_pool2d_(const Arguments& a) { return lp_pooled(a, 2); }
Value adaptive_avg_pool1d_(const Arguments& a) { return {adaptive_avg_pool(a.operand(0), numbers(a, 1, 1))}; }
Value adaptive_avg_pool2d_(const Arguments& a) { return {adaptive_avg_pool(a.operand(0), of_axes(numbers(a, 1, 1), 2))}; }
Value adaptive_max_pool2d_(const Arguments& a) { return {adaptive_max_pool(a.operand(0), of_axes(numbers(a, 1, 1), 2))}; }

Value batch_norm_(const Arguments& a) { return {batch_norm(a.operand(0), a.tensor(1), a.tensor(2), a.tensor(3), a.tensor(4), a.number(5, 1e-5))}; }
Value group_norm_(const Arguments& a) { return {group_norm(a.operand(0), a.integer(1, 1), a.tensor(2), a.tensor(3), a.number(4, 1e-5))}; }
Value instance_norm_(const Arguments& a) { return {instance_norm(a.operand(0), a.tensor(1), a.tensor(2), a.number(3, 1e-5))}; }
Value local_response_norm_(const Arguments& a) {
  return {local_response_norm(a.operand(0), a.integer(1, 1), a.number(2, 1e-4), a.number(3, 0.75), a.number(4, 1))};
}
Value attention_(const Arguments& a) {
  AttentionOptions how;
  how.mask = a.tensor(3);
  if (a.number(4, 0) != 0) a.fail(4, "dropout is for training; dropout_p must be 0");
  how.is_causal = a.flag(5);
  if (a.given(6)) how.scale = a.number(6, 1);
  how.enable_gqa = a.flag(7);
  return {scaled_dot_product_attention(a.operand(0), a.tensor(1), a.tensor(2), how)};
}
Value embedding_(const Arguments& a) { return {embedding(a.operand(0), a.tensor(1))}; }
Value one_hot_(const Arguments& a) { return {one_hot(a.operand(0), a.integer(1, 1))}; }
Value interpolate_(const Arguments& a) {
  InterpolateOptions how;
  if (a.given(1)) how.size = a.list(1);
  if (const Value* factors = a.given(2)) {
    const auto number = [&](const Value& value) {
      if (const auto* whole = value.as<std::int64_t>()) return static_cast<double>(*whole);
      if (const auto* real = value.as<double>()) return *real;
      a.fail(2, "scale_factor must be a number or a tuple of them");
    };
    if (const Tuple* several = factors->as<Tuple>())
      for (const Value& value : *several) how.scale_factor.push_back(number(value));
    else how.scale_factor = {number(*factors)};
  }
  const std::string mode = a.text(3, "nearest");
  how.mode = mode;
  how.align_corners = a.flag(4);
  how.antialias = a.flag(5);
  return {interpolate(a.operand(0), how)};
}
Value pixel_shuffle_(const Arguments& a) { return {pixel_shuffle(a.operand(0), a.integer(1, 1))}; }
Value pixel_unshuffle_(const Arguments& a) { return {pixel_unshuffle(a.operand(0), a.integer(1, 1))}; }
Value prelu_(const Arguments& a) { return {prelu(a.operand(0), a.tensor(1))}; }
Value hardtanh_(const Arguments& a) { return {hardtanh(a.operand(0), a.number(1, -1), a.number(2, 1))}; }
Value threshold_(const Arguments& a) { return {threshold(a.operand(0), a.number(1, 0), a.number(2, 0))}; }
Value hardshrink_(const Arguments& a) { return {hardshrink(a.operand(0), a.number(1, 0.5))}; }
Value softshrink_(const Arguments& a) { return {softshrink(a.operand(0), a.number(1, 0.5))}; }

}  // namespace sinter::table
