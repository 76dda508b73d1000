#include "functions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "arguments.hpp"
#include "lexer.hpp"
#include "sinter/decompositions.hpp"
#include "sinter/fft.hpp"
#include "sinter/linalg.hpp"
#include "sinter/ops.hpp"
#include "sinter/random.hpp"
#include "sinter/shapes.hpp"
#include "sinter/statistics.hpp"

namespace sinter::tools {
namespace {

template <Tensor (*F)(const Arg&)> Value unary(const Arguments& a) { return {F(a.operand(0))}; }
template <Tensor (*F)(const Arg&, const Arg&)> Value binary(const Arguments& a) {
  return {F(a.operand(0), a.operand(1))};
}
template <Tensor (*F)(const Arg&, const Axes&, bool)> Value reduce(const Arguments& a) {
  return {F(a.operand(0), a.axes(1), a.flag(2))};
}
template <Tensor (*F)(const Arg&, const Axes&, bool, std::optional<DType>)> Value reduce_as(const Arguments& a) {
  return {F(a.operand(0), a.axes(1), a.flag(3), a.dtype(2))};
}
template <Tensor (*F)(const Arg&, const Axes&, bool, int)> Value spread(const Arguments& a) {
  const Arg x = a.operand(0);
  const Value* dtype = a.given(2);
  const Tensor cast = dtype ? astype(x, *a.dtype(2)) : Tensor();
  return {F(dtype ? Arg(cast) : x, a.axes(1), a.flag(4), static_cast<int>(a.integer(3, 0)))};
}
template <Tensor (*F)(const Arg&, const Axes&)> Value over_axes(const Arguments& a) {
  return {F(a.operand(0), a.axes(1))};
}
template <Tensor (*F)(const Arg&, const Axes&)> Value over_last_axis(const Arguments& a) {
  return {F(a.operand(0), a.axes(1, -1))};
}
template <Tensor (*F)(const Shape&, DType, Location)> Value filled(const Arguments& a) {
  return {F(a.shape(0), a.dtype(1).value_or(DType::float64), Location{})};
}
template <Tensor (*F)(const Shape&, DType, Location)> Value filled_like(const Arguments& a) {
  const Tensor like = a.tensor(0);
  return {F(like.shape(), a.dtype(1).value_or(like.dtype()), Location{})};
}

Value round_(const Arguments& a) {
  if (a.integer(1, 0) != 0) a.fail(1, "only decimals=0 is supported; scale, round and scale back");
  return {round(a.operand(0))};
}
Value clip_(const Arguments& a) {
  const Value *low = a.given(1), *high = a.given(2);
  if (low && high) return {clip(a.operand(0), a.operand(1), a.operand(2))};
  if (low) return {maximum(a.operand(0), a.operand(1))};
  if (high) return {minimum(a.operand(0), a.operand(2))};
  a.fail(0, "clip() needs a_min, a_max or both");
}
Value where_(const Arguments& a) { return {where(a.operand(0), a.operand(1), a.operand(2))}; }
Value astype_(const Arguments& a) { return {astype(a.operand(0), a.dtype(1).value_or(DType::float64))}; }
Value reshape_(const Arguments& a) { return {reshape(a.operand(0), a.shape(1))}; }
Value ravel_(const Arguments& a) { return {reshape(a.operand(0), Shape{-1})}; }
Value broadcast_to_(const Arguments& a) { return {broadcast_to(a.operand(0), a.shape(1))}; }
Value transpose_(const Arguments& a) {
  return {a.given(1) ? transpose(a.operand(0), a.shape(1)) : transpose(a.operand(0))};
}
Value swapaxes_(const Arguments& a) { return {swapaxes(a.operand(0), a.integer(1, 0), a.integer(2, 0))}; }
Value gelu_(const Arguments& a) {
  const std::string how = a.text(1, "none");
  if (how != "none" && how != "tanh") a.fail(1, "approximate is 'none' or 'tanh'");
  return {gelu(a.operand(0), how == "tanh" ? Approximate::tanh : Approximate::exact)};
}
Value layer_norm_(const Arguments& a) {
  return {layer_norm(a.operand(0), a.tensor(1), a.tensor(2), a.number(3, 1e-5), a.axes(4, -1))};
}
Value rms_norm_(const Arguments& a) {
  return {rms_norm(a.operand(0), a.tensor(1), a.number(2, 1e-6), a.axes(3, -1))};
}
Value full_(const Arguments& a) { return {full(a.shape(0), a.operand(1), a.dtype(2))}; }
Value full_like_(const Arguments& a) {
  const Tensor like = a.tensor(0);
  return {full(like.shape(), a.operand(1), a.dtype(2).value_or(like.dtype()))};
}
Value arange_(const Arguments& a) {
  const std::optional<DType> dtype = a.dtype(3);
  if (a.given(2)) return {arange(a.operand(0), a.operand(1), a.operand(2), dtype)};
  if (a.given(1)) return {arange(a.operand(0), a.operand(1), dtype)};
  return {arange(a.operand(0), dtype)};
}
Value linspace_(const Arguments& a) {
  return {linspace(a.operand(0), a.operand(1), a.integer(2, 50), a.flag(3, true), a.dtype(4))};
}

template <Tensor (*F)(const Arg&, std::optional<std::int64_t>, std::optional<DType>)> Value scan_as(const Arguments& a) {
  return {F(a.operand(0), a.axis(1), a.dtype(2))};
}
template <Tensor (*F)(const Arg&, std::optional<std::int64_t>)> Value scan(const Arguments& a) { return {F(a.operand(0), a.axis(1))}; }
template <Tensor (*F)(const Arg&, std::optional<std::int64_t>, bool)> Value place(const Arguments& a) {
  return {F(a.operand(0), a.axis(1), a.flag(2))};
}
template <Tensor (*F)(const std::vector<Tensor>&, std::int64_t, Location)> Value join(const Arguments& a) {
  return {F(a.tensors(0), a.integer(1, 0), Location{})};
}
Value concatenate_(const Arguments& a) {
  if (!a.none(1)) return join<concatenate>(a);
  std::vector<Tensor> flat;
  for (const Tensor& part : a.tensors(0)) flat.push_back(reshape(part, Shape{-1}));
  return {concatenate(flat, 0, Location{})};
}
template <Tensor (*F)(const Arg&, std::int64_t)> Value by_diagonal(const Arguments& a) { return {F(a.operand(0), a.integer(1, 0))}; }

Value pad_(const Arguments& a) {
  // 2, (before, after), or a pair for each axis.
  std::vector<std::pair<std::int64_t, std::int64_t>> widths;
  const Tuple* tuple = a.given(1) ? a.given(1)->as<Tuple>() : nullptr;
  const bool nested = tuple && !tuple->empty() && (*tuple)[0].as<Tuple>();
  if (!nested) {
    const std::vector<std::int64_t> one = a.list(1);
    if (one.empty() || one.size() > 2) a.fail(1, "pad_width is a number, a pair, or a pair for each axis");
    widths = {{one.front(), one.back()}};
  } else {
    for (const Value& pair : *tuple) {
      const Tuple* both = pair.as<Tuple>();
      if (!both || both->size() != 2 || !(*both)[0].as<std::int64_t>() || !(*both)[1].as<std::int64_t>())
        a.fail(1, "pad_width is a number, a pair, or a pair for each axis");
      widths.emplace_back(*(*both)[0].as<std::int64_t>(), *(*both)[1].as<std::int64_t>());
    }
  }
  constexpr std::pair<std::string_view, PadMode> modes[] = {{"constant", PadMode::constant}, {"edge", PadMode::edge}, {"reflect", PadMode::reflect},
                                                            {"symmetric", PadMode::symmetric}, {"wrap", PadMode::wrap}};
  const std::string mode = a.text(2, "constant");
  for (const auto& [name, value] : modes)
    if (mode == name) return {a.given(3) ? pad(a.operand(0), widths, value, a.operand(3)) : pad(a.operand(0), widths, value)};
  a.fail(2, "mode is 'constant', 'edge', 'reflect', 'symmetric' or 'wrap'");
}
Value take_(const Arguments& a) {
  const std::string mode = a.text(3, "raise");
  if (mode != "raise" && mode != "wrap" && mode != "clip") a.fail(3, "mode is 'raise', 'wrap' or 'clip'");
  return {take(a.operand(0), a.operand(1), a.axis(2), mode == "wrap" ? IndexMode::wrap : mode == "clip" ? IndexMode::clip : IndexMode::raise)};
}
Value take_along_axis_(const Arguments& a) { return {take_along_axis(a.operand(0), a.operand(1), a.integer(2, -1))}; }
Value sort_(const Arguments& a) { return {a.none(1) ? sort(a.operand(0), std::nullopt) : sort(a.operand(0), a.integer(1, -1))}; }
Value roll_(const Arguments& a) { return {roll(a.operand(0), a.list(1), a.axes(2))}; }
Value tile_(const Arguments& a) { return {tile(a.operand(0), a.list(1))}; }
Value repeat_(const Arguments& a) { return {repeat(a.operand(0), a.integer(1, 1), a.axis(2))}; }
Value eye_(const Arguments& a) {
  return {eye(a.integer(0, 0), a.axis(1), a.integer(2, 0), a.dtype(3).value_or(DType::float64), Location{})};
}
Value diagonal_(const Arguments& a) { return {diagonal(a.operand(0), a.integer(1, 0), a.integer(2, 0), a.integer(3, 1))}; }

random::Key key_of(const Arguments& a, int parameter) { return random::Key(static_cast<std::uint64_t>(a.integer(parameter, 0))); }
template <Tensor (*F)(random::Key, const Shape&, const Arg&, const Arg&, DType)> Value random_between(const Arguments& a) {
  const auto or_else = [&](int parameter, int otherwise) { return a.given(parameter) ? a.operand(parameter) : Arg(otherwise, Location{}); };
  return {F(key_of(a, 3), a.shape(0), or_else(1, 0), or_else(2, 1), a.dtype(4).value_or(DType::float64))};
}
Value integers_(const Arguments& a) {
  return {random::integers(key_of(a, 3), a.shape(0), a.integer(1, 0), a.integer(2, 0), a.dtype(4).value_or(DType::int64), Location{})};
}
Value bernoulli_(const Arguments& a) { return {random::bernoulli(key_of(a, 2), a.shape(0), a.given(1) ? a.operand(1) : Arg(0.5, Location{}))}; }
Value exponential_(const Arguments& a) {
  return {random::exponential(key_of(a, 2), a.shape(0), a.given(1) ? a.operand(1) : Arg(1, Location{}), a.dtype(3).value_or(DType::float64))};
}
Value choice_(const Arguments& a) { return {random::choice(key_of(a, 3), a.operand(0), a.integer(1, 1), a.integer(2, 0))}; }

Tuple pair(const std::pair<Tensor, Tensor>& results) { return {Value{results.first}, Value{results.second}}; }
template <std::pair<Tensor, Tensor> (*F)(const Arg&)> Value unary_pair(const Arguments& a) { return {pair(F(a.operand(0)))}; }
template <std::pair<Tensor, Tensor> (*F)(const Arg&, const Arg&)> Value binary_pair(const Arguments& a) {
  return {pair(F(a.operand(0), a.operand(1)))};
}
template <Tensor (*F)(const Arg&, double), int otherwise> Value with_number(const Arguments& a) {
  return {F(a.operand(0), a.number(1, otherwise))};
}
template <Tensor (*F)(const Arg&, std::int64_t)> Value halves(const Arguments& a) { return {F(a.operand(0), a.integer(1, -1))}; }
template <Tensor (*F)(const Arg&, const Arg&, double, double, bool)> Value close(const Arguments& a) {
  return {F(a.operand(0), a.operand(1), a.number(2, 1e-5), a.number(3, 1e-8), a.flag(4))};
}
Value leaky_relu_(const Arguments& a) { return {leaky_relu(a.operand(0), a.number(1, 0.01))}; }
Value lerp_(const Arguments& a) { return {lerp(a.operand(0), a.operand(1), a.operand(2))}; }
Value nan_to_num_(const Arguments& a) {
  const auto number = [&](int parameter) { return a.given(parameter) ? std::optional(a.number(parameter, 0)) : std::nullopt; };
  return {nan_to_num(a.operand(0), a.number(2, 0), number(3), number(4))};
}
Value piecewise_(const Arguments& a) {
  const Tuple* values = a.given(2) ? a.given(2)->as<Tuple>() : nullptr;
  if (!values) a.fail(2, "funclist is a tuple of tensors and numbers");
  std::vector<Tensor> list;
  for (const Value& value : *values) list.push_back(value.as<Tensor>() ? *value.as<Tensor>() : full({}, operand(value, "piecewise()")));
  return {piecewise(a.operand(0), a.tensors(1), list)};
}
Value select_(const Arguments& a) {
  return {a.given(2) ? select(a.tensors(0), a.tensors(1), a.operand(2)) : select(a.tensors(0), a.tensors(1))};
}
Value list(const std::vector<Tensor>& tensors) {
  Tuple items;
  for (const Tensor& tensor : tensors) items.push_back({tensor});
  return {items};
}
template <Tensor (*F)(const std::vector<Tensor>&, Location)> Value stacked(const Arguments& a) { return {F(a.tensors(0), Location{})}; }
Value split_(const Arguments& a) {
  const bool sections = a.given(1) && a.given(1)->as<std::int64_t>();
  return list(sections ? split(a.operand(0), a.integer(1, 1), a.integer(2, 0)) : split(a.operand(0), a.list(1), a.integer(2, 0)));
}
Value array_split_(const Arguments& a) {
  const bool sections = a.given(1) && a.given(1)->as<std::int64_t>();
  return list(sections ? array_split(a.operand(0), a.integer(1, 1), a.integer(2, 0)) : split(a.operand(0), a.list(1), a.integer(2, 0)));
}
Value unstack_(const Arguments& a) { return list(unstack(a.operand(0), a.integer(1, 0), Location{})); }
Value moveaxis_(const Arguments& a) { return {moveaxis(a.operand(0), a.list(1), a.list(2))}; }
Value rot90_(const Arguments& a) {
  const std::vector<std::int64_t> axes = a.given(2) ? a.list(2) : std::vector<std::int64_t>{0, 1};
  if (axes.size() != 2) a.fail(2, "axes are two");
  return {rot90(a.operand(0), a.integer(1, 1), {axes[0], axes[1]})};
}
Value broadcast_arrays_(const Arguments& a) { return list(broadcast_arrays(a.tensors(0), Location{})); }
Value meshgrid_(const Arguments& a) {
  const std::string indexing = a.text(1, "xy");
  if (indexing != "xy" && indexing != "ij") a.fail(1, "indexing is 'xy' or 'ij'");
  return list(meshgrid(a.tensors(0), indexing == "xy" ? Indexing::xy : Indexing::ij, Location{}));
}
Value sliding_window_view_(const Arguments& a) { return {sliding_window_view(a.operand(0), a.shape(1), a.axes(2))}; }
Value diff_(const Arguments& a) { return {diff(a.operand(0), a.integer(1, 1), a.integer(2, -1))}; }
Value average_(const Arguments& a) { return {average(a.operand(0), a.axes(1), a.tensor(2), a.flag(3))}; }
Value trapezoid_(const Arguments& a) {
  if (a.given(1)) return {trapezoid(a.operand(0), a.tensor(1), a.integer(3, -1))};
  return {trapezoid(a.operand(0), a.number(2, 1), a.integer(3, -1))};
}
Value vecdot_(const Arguments& a) { return {vecdot(a.operand(0), a.operand(1), a.integer(2, -1))}; }
Value tensordot_(const Arguments& a) {
  const Tuple* both = a.given(2) ? a.given(2)->as<Tuple>() : nullptr;
  if (!both) return {tensordot(a.operand(0), a.operand(1), a.integer(2, 2))};
  std::vector<std::int64_t> axes[2];
  if (both->size() != 2) a.fail(2, "axes is a number, or the axes of a and those of b");
  for (std::size_t side = 0; side < 2; ++side) {
    if (const auto* one = (*both)[side].as<std::int64_t>()) axes[side] = {*one};
    else if (const Tuple* several = (*both)[side].as<Tuple>())
      for (const Value& axis : *several) {
        if (!axis.as<std::int64_t>()) a.fail(2, "axes is a number, or the axes of a and those of b");
        axes[side].push_back(*axis.as<std::int64_t>());
      }
  }
  return {tensordot(a.operand(0), a.operand(1), axes[0], axes[1])};
}
Value einsum_(const Arguments& a) { return {einsum(a.text(0, ""), a.tensors(1), Location{})}; }
Value trace_(const Arguments& a) { return {matrix_trace(a.operand(0), a.integer(1, 0), a.integer(2, 0), a.integer(3, 1))}; }
Value matrix_power_(const Arguments& a) { return {matrix_power(a.operand(0), a.integer(1, 1))}; }
std::optional<NormOrder> order(const Arguments& a, int parameter) {
  const Value* given = a.given(parameter);
  if (!given) return std::nullopt;
  if (const auto* name = given->as<std::string>()) return NormOrder(name->c_str());  // the argument outlives the call
  return NormOrder(a.number(parameter, 2));
}
Value norm_(const Arguments& a) { return {norm(a.operand(0), order(a, 1), a.axes(2), a.flag(3))}; }
Value matrix_norm_(const Arguments& a) { return {matrix_norm(a.operand(0), a.flag(1), order(a, 2).value_or("fro"))}; }
Value cond_(const Arguments& a) { return {cond(a.operand(0), order(a, 1).value_or(2))}; }
Value cross_(const Arguments& a) { return {cross(a.operand(0), a.operand(1), a.integer(2, -1))}; }
std::optional<double> number_or_none(const Arguments& a, int parameter) {
  return a.given(parameter) ? std::optional(a.number(parameter, 0)) : std::nullopt;
}
Value cholesky_(const Arguments& a) { return {cholesky(a.operand(0), a.flag(1))}; }
Value qr_(const Arguments& a) {
  const std::string mode = a.text(1, "reduced");
  if (mode != "reduced" && mode != "complete" && mode != "r") a.fail(1, "mode is 'reduced', 'complete' or 'r'");
  const auto [q, r] = qr(a.operand(0), mode == "complete" ? QRMode::complete : QRMode::reduced);
  if (mode == "r") return {r};
  return {Tuple{{q}, {r}}};
}
Value svd_(const Arguments& a) {
  if (!a.flag(2, true)) return {svdvals(a.operand(0))};
  const auto [u, s, vh] = svd(a.operand(0), a.flag(1, true));
  return {Tuple{{u}, {s}, {vh}}};
}
Triangle triangle(const Arguments& a) {
  const std::string uplo = a.text(1, "L");
  if (uplo != "L" && uplo != "U" && uplo != "l" && uplo != "u") a.fail(1, "UPLO is 'L' or 'U'");
  return uplo == "L" || uplo == "l" ? Triangle::lower : Triangle::upper;
}
Value eigh_(const Arguments& a) {
  const auto [values, vectors] = eigh(a.operand(0), triangle(a));
  return {Tuple{{values}, {vectors}}};
}
Value eigvalsh_(const Arguments& a) { return {eigvalsh(a.operand(0), triangle(a))}; }
Value slogdet_(const Arguments& a) {
  const auto [sign, logarithm] = slogdet(a.operand(0));
  return {Tuple{{sign}, {logarithm}}};
}
Value lstsq_(const Arguments& a) {
  const auto [x, residuals, rank, s] = lstsq(a.operand(0), a.operand(1), number_or_none(a, 2));
  return {Tuple{{x}, {residuals}, {rank}, {s}}};
}
/// A pair (re, im), or a tensor of real numbers.
fft::Complex complex_numbers(const Arguments& a) {
  if (a.given(0) && a.given(0)->as<Tuple>()) {
    const std::vector<Tensor> both = a.tensors(0);
    if (both.size() != 2) a.fail(0, "a complex tensor is a pair of real ones: (re, im)");
    return {both[0], both[1]};
  }
  const Tensor re = a.tensor(0);
  return {re, zeros(re.shape(), re.dtype(), Location{})};
}
Value complex_numbers(const fft::Complex& x) { return {Tuple{{x.re}, {x.im}}}; }
fft::Norm norm_of(const Arguments& a, int parameter) {
  const std::string norm = a.text(parameter, "backward");
  if (norm != "backward" && norm != "ortho" && norm != "forward") a.fail(parameter, "norm is 'backward', 'ortho' or 'forward'");
  return norm == "ortho" ? fft::Norm::ortho : norm == "forward" ? fft::Norm::forward : fft::Norm::backward;
}
Value fft_(const Arguments& a) { return complex_numbers(fft::fft(complex_numbers(a), a.axis(1), a.integer(2, -1), norm_of(a, 3), Location{})); }
Value ifft_(const Arguments& a) { return complex_numbers(fft::ifft(complex_numbers(a), a.axis(1), a.integer(2, -1), norm_of(a, 3), Location{})); }
Value rfft_(const Arguments& a) { return complex_numbers(fft::rfft(a.operand(0), a.axis(1), a.integer(2, -1), norm_of(a, 3))); }
Value irfft_(const Arguments& a) { return {fft::irfft(complex_numbers(a), a.axis(1), a.integer(2, -1), norm_of(a, 3), Location{})}; }
Value fftn_(const Arguments& a) { return complex_numbers(fft::fftn(complex_numbers(a), a.axes(1), norm_of(a, 2), Location{})); }
Value ifftn_(const Arguments& a) { return complex_numbers(fft::ifftn(complex_numbers(a), a.axes(1), norm_of(a, 2), Location{})); }
Value rfftn_(const Arguments& a) { return complex_numbers(fft::rfftn(a.operand(0), a.axes(1), norm_of(a, 2))); }
Value fft2_(const Arguments& a) { return complex_numbers(fft::fftn(complex_numbers(a), a.axes(1, {-2, -1}), norm_of(a, 2), Location{})); }
Value ifft2_(const Arguments& a) { return complex_numbers(fft::ifftn(complex_numbers(a), a.axes(1, {-2, -1}), norm_of(a, 2), Location{})); }
Value rfft2_(const Arguments& a) { return complex_numbers(fft::rfftn(a.operand(0), a.axes(1, {-2, -1}), norm_of(a, 2))); }
Value fftfreq_(const Arguments& a) { return {fft::fftfreq(a.integer(0, 1), a.number(1, 1), Location{})}; }
Value rfftfreq_(const Arguments& a) { return {fft::rfftfreq(a.integer(0, 1), a.number(1, 1), Location{})}; }
Value pinv_(const Arguments& a) { return {pinv(a.operand(0), number_or_none(a, a.given(2) ? 2 : 1))}; }
Value matrix_rank_(const Arguments& a) { return {matrix_rank(a.operand(0), number_or_none(a, 2), number_or_none(a, 1))}; }
Value vector_norm_(const Arguments& a) { return {vector_norm(a.operand(0), a.axes(1), a.flag(2), a.number(3, 2))}; }

constexpr std::string_view kReduce = "a axis? * keepdims?", kReduceAs = "a axis? dtype? * keepdims?",
                           kSpread = "a axis? dtype? * ddof? keepdims?";

constexpr Function kFunctions[] = {
    {"abs", "x", unary<abs>},
    {"absolute", "x", unary<absolute>},
    {"acos", "x", unary<acos>},
    {"acosh", "x", unary<acosh>},
    {"add", "x1 x2", binary<add>},
    {"all", kReduce, reduce<all>},
    {"allclose", "a b rtol? atol? equal_nan?", close<allclose>},
    {"amax", kReduce, reduce<max>},
    {"amin", kReduce, reduce<min>},
    {"any", kReduce, reduce<any>},
    {"arange", "start stop? step? dtype?", arange_},
    {"arccos", "x", unary<acos>},
    {"arccosh", "x", unary<acosh>},
    {"arcsin", "x", unary<asin>},
    {"arcsinh", "x", unary<asinh>},
    {"arctan", "x", unary<atan>},
    {"arctan2", "x1 x2", binary<atan2>},
    {"arctanh", "x", unary<atanh>},
    {"argmax", "a axis? * keepdims?", place<argmax>},
    {"argmin", "a axis? * keepdims?", place<argmin>},
    {"array_split", "ary indices_or_sections axis?", array_split_},
    {"ascontiguousarray", "a", unary<contiguous>},
    {"asin", "x", unary<asin>},
    {"asinh", "x", unary<asinh>},
    {"astype", "x dtype", astype_},
    {"atan", "x", unary<atan>},
    {"atan2", "x1 x2", binary<atan2>},
    {"atanh", "x", unary<atanh>},
    {"atleast_1d", "a", unary<atleast_1d>},
    {"atleast_2d", "a", unary<atleast_2d>},
    {"atleast_3d", "a", unary<atleast_3d>},
    {"average", "a axis? weights? * keepdims?", average_},
    {"bernoulli", "size p? * key", bernoulli_},
    {"bitwise_and", "x1 x2", binary<bitwise_and>},
    {"bitwise_count", "x", unary<bitwise_count>},
    {"bitwise_invert", "x", unary<bitwise_not>},
    {"bitwise_left_shift", "x1 x2", binary<left_shift>},
    {"bitwise_not", "x", unary<bitwise_not>},
    {"bitwise_or", "x1 x2", binary<bitwise_or>},
    {"bitwise_right_shift", "x1 x2", binary<right_shift>},
    {"bitwise_xor", "x1 x2", binary<bitwise_xor>},
    {"broadcast_arrays", "args+", broadcast_arrays_},
    {"broadcast_to", "array shape", broadcast_to_},
    {"cbrt", "x", unary<cbrt>},
    {"ceil", "x", unary<ceil>},
    {"celu", "x alpha?", with_number<celu, 1>},
    {"choice", "a size axis? * key", choice_},
    {"cholesky", "a * upper?", cholesky_},
    {"clip", "a a_min|min? a_max|max?", clip_},
    {"concat", "arrays axis?", concatenate_},
    {"concatenate", "arrays axis?", concatenate_},
    {"cond", "x p?", cond_},
    {"contiguous", "a", unary<contiguous>},
    {"copy", "a", unary<contiguous>},
    {"copysign", "x1 x2", binary<copysign>},
    {"cos", "x", unary<cos>},
    {"cosh", "x", unary<cosh>},
    {"count_nonzero", kReduce, reduce<count_nonzero>},
    {"cross", "a b axis?", cross_},
    {"cummax", "a axis?", scan<cummax>},
    {"cummin", "a axis?", scan<cummin>},
    {"cumprod", "a axis? dtype?", scan_as<cumprod>},
    {"cumsum", "a axis? dtype?", scan_as<cumsum>},
    {"cumulative_prod", "x * axis? dtype?", scan_as<cumulative_prod>},
    {"cumulative_sum", "x * axis? dtype?", scan_as<cumulative_sum>},
    {"deg2rad", "x", unary<deg2rad>},
    {"degrees", "x", unary<rad2deg>},
    {"det", "a", unary<det>},
    {"diag", "v k?", by_diagonal<diag>},
    {"diagonal", "a offset? axis1? axis2?", diagonal_},
    {"diff", "a n? axis?", diff_},
    {"digamma", "x", unary<digamma>},
    {"divide", "x1 x2", binary<divide>},
    {"divmod", "x1 x2", binary_pair<divmod>},
    {"dot", "a b", binary<dot>},
    {"dstack", "tup", stacked<dstack>},
    {"eigh", "a UPLO?", eigh_},
    {"eigvalsh", "a UPLO?", eigvalsh_},
    {"einsum", "subscripts operands+", einsum_},
    {"elu", "x alpha?", with_number<elu, 1>},
    {"equal", "x1 x2", binary<equal>},
    {"erf", "x", unary<erf>},
    {"erfc", "x", unary<erfc>},
    {"erfinv", "x", unary<erfinv>},
    {"exp", "x", unary<exp>},
    {"exp2", "x", unary<exp2>},
    {"expand_dims", "a axis", over_axes<expand_dims>},
    {"expit", "x", unary<sigmoid>},
    {"expm1", "x", unary<expm1>},
    {"exponential", "size scale? * key dtype?", exponential_},
    {"eye", "N M? k? dtype?", eye_},
    {"fabs", "x", unary<abs>},
    {"fft", "a n? axis? norm?", fft_},
    {"fft2", "a axes? norm?", fft2_},
    {"fftfreq", "n d?", fftfreq_},
    {"fftn", "a axes? norm?", fftn_},
    {"fftshift", "x axes?", over_axes<fft::fftshift>},
    {"flatten", "a", ravel_},
    {"flip", "m axis?", over_axes<flip>},
    {"floor", "x", unary<floor>},
    {"floor_divide", "x1 x2", binary<floor_divide>},
    {"fmax", "x1 x2", binary<fmax>},
    {"fmin", "x1 x2", binary<fmin>},
    {"fmod", "x1 x2", binary<fmod>},
    {"frexp", "x", unary_pair<frexp>},
    {"full", "shape fill_value dtype?", full_},
    {"full_like", "a fill_value dtype?", full_like_},
    {"gammaln", "x", unary<lgamma>},
    {"gcd", "x1 x2", binary<gcd>},
    {"gelu", "x approximate?", gelu_},
    {"glu", "x axis?", halves<glu>},
    {"greater", "x1 x2", binary<greater>},
    {"greater_equal", "x1 x2", binary<greater_equal>},
    {"hard_sigmoid", "x", unary<hard_sigmoid>},
    {"hard_swish", "x", unary<hard_swish>},
    {"heaviside", "x1 x2", binary<heaviside>},
    {"hstack", "tup", stacked<hstack>},
    {"hypot", "x1 x2", binary<hypot>},
    {"ifft", "a n? axis? norm?", ifft_},
    {"ifft2", "a axes? norm?", ifft2_},
    {"ifftn", "a axes? norm?", ifftn_},
    {"ifftshift", "x axes?", over_axes<fft::ifftshift>},
    {"inner", "a b", binary<inner>},
    {"integers", "size low high * key dtype?", integers_},
    {"inv", "a", unary<inv>},
    {"invert", "x", unary<bitwise_not>},
    {"irfft", "a n? axis? norm?", irfft_},
    {"isclose", "a b rtol? atol? equal_nan?", close<isclose>},
    {"isfinite", "x", unary<isfinite>},
    {"isinf", "x", unary<isinf>},
    {"isnan", "x", unary<isnan>},
    {"kron", "a b", binary<kron>},
    {"layer_norm", "x weight? bias? eps? axis?", layer_norm_},
    {"lcm", "x1 x2", binary<lcm>},
    {"ldexp", "x1 x2", binary<ldexp>},
    {"leaky_relu", "x negative_slope?", leaky_relu_},
    {"left_shift", "x1 x2", binary<left_shift>},
    {"lerp", "input end weight", lerp_},
    {"less", "x1 x2", binary<less>},
    {"less_equal", "x1 x2", binary<less_equal>},
    {"lgamma", "x", unary<lgamma>},
    {"linspace", "start stop num? endpoint? dtype?", linspace_},
    {"log", "x", unary<log>},
    {"log10", "x", unary<log10>},
    {"log1p", "x", unary<log1p>},
    {"log2", "x", unary<log2>},
    {"log_softmax", "x axis?", over_last_axis<log_softmax>},
    {"logaddexp", "x1 x2", binary<logaddexp>},
    {"logaddexp2", "x1 x2", binary<logaddexp2>},
    {"logical_and", "x1 x2", binary<logical_and>},
    {"logical_not", "x", unary<logical_not>},
    {"logical_or", "x1 x2", binary<logical_or>},
    {"logical_xor", "x1 x2", binary<logical_xor>},
    {"logsumexp", kReduce, reduce<logsumexp>},
    {"lstsq", "a b rcond?", lstsq_},
    {"matmul", "x1 x2", binary<matmul>},
    {"matrix_norm", "x * keepdims? ord?", matrix_norm_},
    {"matrix_power", "a n", matrix_power_},
    {"matrix_rank", "A tol? * rtol?", matrix_rank_},
    {"matrix_transpose", "x", unary<matrix_transpose>},
    {"max", kReduce, reduce<max>},
    {"maximum", "x1 x2", binary<maximum>},
    {"mean", kReduceAs, reduce_as<mean>},
    {"meshgrid", "xi+ * indexing?", meshgrid_},
    {"min", kReduce, reduce<min>},
    {"minimum", "x1 x2", binary<minimum>},
    {"mish", "x", unary<mish>},
    {"mod", "x1 x2", binary<remainder>},
    {"modf", "x", unary_pair<modf>},
    {"moveaxis", "a source destination", moveaxis_},
    {"multiply", "x1 x2", binary<multiply>},
    {"nan_to_num", "x copy? nan? posinf? neginf?", nan_to_num_},
    {"nanmax", kReduce, reduce<nanmax>},
    {"nanmean", kReduce, reduce<nanmean>},
    {"nanmin", kReduce, reduce<nanmin>},
    {"nanprod", kReduce, reduce<nanprod>},
    {"nanstd", kSpread, spread<nanstd>},
    {"nansum", kReduce, reduce<nansum>},
    {"nanvar", kSpread, spread<nanvar>},
    {"ndtr", "x", unary<ndtr>},
    {"negative", "x", unary<negative>},
    {"nextafter", "x1 x2", binary<nextafter>},
    {"norm", "x ord? axis? keepdims?", norm_},
    {"normal", "size loc|mean? scale|std? * key dtype?", random_between<random::normal>},
    {"not_equal", "x1 x2", binary<not_equal>},
    {"ones", "shape dtype?", filled<ones>},
    {"ones_like", "a dtype?", filled_like<ones>},
    {"outer", "a b", binary<outer>},
    {"pad", "array pad_width mode? constant_values?", pad_},
    {"permute_dims", "a axes+", transpose_},
    {"piecewise", "x condlist funclist", piecewise_},
    {"pinv", "a rcond? * rtol?", pinv_},
    {"positive", "x", unary<positive>},
    {"pow", "x1 x2", binary<power>},
    {"power", "x1 x2", binary<power>},
    {"prod", kReduceAs, reduce_as<prod>},
    {"psi", "x", unary<digamma>},
    {"ptp", kReduce, reduce<ptp>},
    {"qr", "a mode?", qr_},
    {"rad2deg", "x", unary<rad2deg>},
    {"radians", "x", unary<deg2rad>},
    {"ravel", "a", ravel_},
    {"reciprocal", "x", unary<reciprocal>},
    {"relu", "x", unary<relu>},
    {"remainder", "x1 x2", binary<remainder>},
    {"repeat", "a repeats axis?", repeat_},
    {"reshape", "a shape+", reshape_},
    {"rfft", "a n? axis? norm?", rfft_},
    {"rfft2", "a axes? norm?", rfft2_},
    {"rfftfreq", "n d?", rfftfreq_},
    {"rfftn", "a axes? norm?", rfftn_},
    {"right_shift", "x1 x2", binary<right_shift>},
    {"rint", "x", unary<rint>},
    {"rms_norm", "x weight? eps? axis?", rms_norm_},
    {"roll", "a shift axis?", roll_},
    {"rot90", "m k? axes?", rot90_},
    {"round", "a decimals?", round_},
    {"rsqrt", "x", unary<rsqrt>},
    {"select", "condlist choicelist default?", select_},
    {"selu", "x", unary<selu>},
    {"sigmoid", "x", unary<sigmoid>},
    {"sign", "x", unary<sign>},
    {"signbit", "x", unary<signbit>},
    {"silu", "x", unary<silu>},
    {"sin", "x", unary<sin>},
    {"sinc", "x", unary<sinc>},
    {"sinh", "x", unary<sinh>},
    {"sliding_window_view", "x window_shape axis?", sliding_window_view_},
    {"slogdet", "a", slogdet_},
    {"softmax", "x axis?", over_last_axis<softmax>},
    {"softplus", "x", unary<softplus>},
    {"solve", "a b", binary<solve>},
    {"sort", "a axis?", sort_},
    {"split", "ary indices_or_sections axis?", split_},
    {"sqrt", "x", unary<sqrt>},
    {"square", "x", unary<square>},
    {"squeeze", "a axis?", over_axes<squeeze>},
    {"stack", "arrays axis?", join<stack>},
    {"std", kSpread, spread<stddev>},
    {"subtract", "x1 x2", binary<subtract>},
    {"sum", kReduceAs, reduce_as<sum>},
    {"svd", "a full_matrices? compute_uv?", svd_},
    {"svdvals", "x", unary<svdvals>},
    {"swapaxes", "a axis1 axis2", swapaxes_},
    {"swiglu", "x axis?", halves<swiglu>},
    {"take", "a indices axis? mode?", take_},
    {"take_along_axis", "arr indices axis?", take_along_axis_},
    {"tan", "x", unary<tan>},
    {"tanh", "x", unary<tanh>},
    {"tensordot", "a b axes?", tensordot_},
    {"tile", "A reps", tile_},
    {"trace", "a offset? axis1? axis2?", trace_},
    {"transpose", "a axes+?", transpose_},
    {"trapezoid", "y x? dx? axis?", trapezoid_},
    {"tril", "m k?", by_diagonal<tril>},
    {"triu", "m k?", by_diagonal<triu>},
    {"true_divide", "x1 x2", binary<divide>},
    {"trunc", "x", unary<trunc>},
    {"uniform", "size low? high? * key dtype?", random_between<random::uniform>},
    {"unstack", "x * axis?", unstack_},
    {"var", kSpread, spread<var>},
    {"vecdot", "x1 x2 * axis?", vecdot_},
    {"vector_norm", "x * axis? keepdims? ord?", vector_norm_},
    {"vstack", "tup", stacked<vstack>},
    {"where", "condition x y", where_},
    {"zeros", "shape dtype?", filled<zeros>},
    {"zeros_like", "a dtype?", filled_like<zeros>},
};
static_assert(std::is_sorted(std::begin(kFunctions), std::end(kFunctions),
                             [](const Function& a, const Function& b) { return a.name < b.name; }),
              "find_function searches by halves");

/// Insertions, deletions, replacements and swaps of neighbours that lead from one word to the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::span<const Function> functions() { return kFunctions; }

const Function* find_function(std::string_view name) {
  const Function* end = std::end(kFunctions);
  const Function* found = std::lower_bound(std::begin(kFunctions), end, name,
                                           [](const Function& row, std::string_view key) { return row.name < key; });
  return found != end && found->name == name ? found : nullptr;
}

std::optional<DType> find_dtype(std::string_view name) {
  struct Alias {
    std::string_view name;
    DType dtype;
  };
  constexpr Alias aliases[] = {{"int", DType::int64}, {"float", DType::float64}, {"double", DType::float64}, {"bool_", DType::bool_}};
  for (int i = 0; i < kDTypeCount; ++i)
    if (kDTypes[i].name == name || kDTypes[i].alias == name) return static_cast<DType>(i);
  for (const Alias& alias : aliases)
    if (alias.name == name) return alias.dtype;
  return std::nullopt;
}

std::string nearest(std::string_view name, const std::vector<std::string_view>& known) {
  const std::size_t reach = name.size() < 2 ? 0 : name.size() < 4 ? 1 : 2;
  std::size_t best = reach;
  std::vector<std::string> found;
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance > best) continue;
    if (distance < best) found.clear();
    best = distance;
    const std::string quoted = fmt::format("'{}'", candidate);
    if (found.size() < 3 && std::find(found.begin(), found.end(), quoted) == found.end()) found.push_back(quoted);
  }
  return fmt::format("{}", fmt::join(found, " or "));
}

}  // namespace sinter::tools
