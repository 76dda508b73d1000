#include "table/functions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <type_traits>
#include <utility>

#include "sinter/adopt.hpp"
#include "sinter/arranging.hpp"
#include "sinter/complex.hpp"
#include "sinter/control.hpp"
#include "sinter/counted.hpp"
#include "sinter/creation.hpp"
#include "sinter/decompositions.hpp"
#include "sinter/elementary.hpp"
#include "sinter/fft.hpp"
#include "sinter/indexing.hpp"
#include "sinter/linalg.hpp"
#include "sinter/nn.hpp"
#include "sinter/ops.hpp"
#include "sinter/random.hpp"
#include "sinter/sets.hpp"
#include "sinter/shapes.hpp"
#include "sinter/signal.hpp"
#include "sinter/sorting.hpp"
#include "sinter/statistics.hpp"
#include "sinter/types.hpp"
#include "table/arguments.hpp"
#include "table/complex_numbers.hpp"
#include "table/fault.hpp"
#include "table/functions_nn.hpp"
#include "table/functions_numpy.hpp"

namespace sinter::table {
namespace {

template <Tensor (*F)(const Arg&)> Value unary(const Arguments& a) { return {F(a.operand(0))}; }
template <Tensor (*F)(const Arg&, const Arg&)> Value binary(const Arguments& a) { return {F(a.operand(0), a.operand(1))}; }
template <Tensor (*F)(const Arg&, const Axes&, bool)> Value reduce(const Arguments& a) { return {F(a.operand(0), a.axes(1), a.flag(2))}; }
enum class NaN : std::uint8_t { taken, left_out };
/// Returns `initial` in the type of the reduction, as NumPy does.
Tensor initial_of(const Arguments& a, int parameter, DType type) {
  const Value& given = *a.given(parameter);
  const double* number = given.as<double>();
  if (number && !is_floating(type) && !std::isfinite(*number))
    a.fail(parameter, fmt::format("initial of {}() is {}, which {} cannot hold", a.function(), *number, name(type)));
  if (given.as<std::int64_t>() && !is_bool(type)) return zeros({}, type, Location{}) + a.operand(parameter);  // checks that the type holds the integer
  return astype(a.operand(parameter), type);
}
/// Sums and products with an initial value, optionally of selected elements. The other elements become the neutral element.
template <Tensor (*F)(const Arg&, const Axes&, bool, std::optional<DType>), Tensor (*Combine)(const Arg&, const Arg&), int neutral, NaN nan = NaN::taken>
Value reduce_from(const Arguments& a) {
  Tensor x = a.tensor(0);
  if (nan == NaN::left_out && is_floating(x.dtype())) x = where(isnan(x), neutral, x);
  if (a.given(5)) x = where(a.operand(5), x, neutral);
  const Tensor result = F(Arg(x, Location{}), a.axes(1), a.flag(3), a.dtype(2));  // the command has no source line of its own to report
  return {a.given(4) ? Combine(result, initial_of(a, 4, result.dtype())) : result};
}
/// Minima and maxima, likewise. Without selected elements they return the initial value.
template <Tensor (*F)(const Arg&, const Axes&, bool), Tensor (*Combine)(const Arg&, const Arg&), NaN nan = NaN::taken> Value extreme_from(const Arguments& a) {
  if (!a.given(3) && a.given(4)) a.fail(4, fmt::format("{}() with where needs initial, the result where no element is chosen", a.function()));
  Tensor x = a.tensor(0);
  if (!a.given(3)) return {F(Arg(x, Location{}), a.axes(1), a.flag(2))};
  const Tensor initial = initial_of(a, 3, x.dtype());
  if (a.given(4)) x = where(a.operand(4), x, initial);
  if (nan == NaN::left_out && is_floating(x.dtype())) x = where(isnan(x), initial, x);
  if (x.size() == 0) return {full(sum(x, a.axes(1), a.flag(2)).shape(), initial, x.dtype())};
  return {Combine(F(Arg(x, Location{}), a.axes(1), a.flag(2)), initial)};
}
/// Returns which elements count: those that are not NaN and that `where` selects.
Tensor counted(const Arguments& a, int where) {
  const Tensor x = a.tensor(0), numbers = logical_not(isnan(x));
  return a.given(where) ? logical_and(numbers, a.tensor(where)) : numbers;
}
Value nanmean_(const Arguments& a) {
  if (!a.given(2) && !a.given(4)) return {nanmean(a.operand(0), a.axes(1), a.flag(3))};
  return mean_where(a, counted(a, 4), a.axes(1), a.flag(3));
}
Value mean_(const Arguments& a) {
  if (a.given(4)) return mean_where(a, a.tensor(4), a.axes(1), a.flag(3));
  return {mean(a.operand(0), a.axes(1), a.flag(3), a.dtype(2))};
}
/// Computes any and all, optionally of selected elements.
template <Tensor (*F)(const Arg&, const Axes&, bool), bool neutral> Value truth(const Arguments& a) {
  if (!a.given(3)) return {F(a.operand(0), a.axes(1), a.flag(2))};
  return {F(where(a.operand(3), astype(a.operand(0), DType::bool_), Arg(neutral, Location{})), a.axes(1), a.flag(2))};
}
template <Tensor (*F)(const Arg&, const Axes&, bool, int)> Value spread(const Arguments& a) {
  const bool nan =
      F == static_cast<Tensor (*)(const Arg&, const Axes&, bool, int)>(nanvar) || F == static_cast<Tensor (*)(const Arg&, const Axes&, bool, int)>(nanstd);
  const bool root =
      F == static_cast<Tensor (*)(const Arg&, const Axes&, bool, int)>(stddev) || F == static_cast<Tensor (*)(const Arg&, const Axes&, bool, int)>(nanstd);
  if (a.given(3) && a.given(5)) a.fail(5, "ddof and correction are the same; give one of them");
  const int correction = a.given(5) ? 5 : 3;
  if (const double wanted = a.number(correction, 0); wanted != std::floor(wanted)) {  // the mean square, times n / (n - correction)
    const Arg x = a.operand(0);
    const Tensor square = nan ? nanvar(x, a.axes(1), a.flag(4), 0) : var(x, a.axes(1), a.flag(4), 0);
    const Tensor count =
        nan ? sum(logical_not(isnan(x)), a.axes(1), a.flag(4)) : full({}, Arg(x.tensor().size() / std::max<std::int64_t>(1, square.size()), Location{}));
    const Tensor scaled = square * astype(count / maximum(count - wanted, 0), square.dtype());
    return {root ? sqrt(scaled) : scaled};
  }
  const int ddof = static_cast<int>(a.number(correction, 0));
  const std::optional<DType> dtype = a.dtype(2);
  if (dtype && !is_floating(*dtype)) return whole_spread(a, *dtype, ddof, root);
  if (a.given(6) || a.given(7)) {
    const Tensor all = ones(a.tensor(0).shape(), DType::bool_, Location{});
    return var_where(a, nan ? counted(a, 6) : a.given(6) ? a.tensor(6) : all, a.axes(1), a.flag(4), ddof, root, a.tensor(7));
  }
  const Arg x = a.operand(0);
  const Tensor cast = dtype ? astype(x, *dtype) : Tensor();
  return {F(dtype ? Arg(cast) : x, a.axes(1), a.flag(4), ddof)};
}
template <Tensor (*F)(const Arg&, const Axes&)> Value over_axes(const Arguments& a) { return {F(a.operand(0), a.axes(1))}; }
template <Tensor (*F)(const Arg&, const Axes&)> Value over_last_axis(const Arguments& a) { return {F(a.operand(0), a.axes(1, -1))}; }
/// Checks NumPy's order of elements in memory, on which no value depends. Throws Fault for an unknown one.
void check_order(const Arguments& a, int parameter) {
  const std::string order = a.text(parameter, "C");
  if (order != "C" && order != "F" && order != "A" && order != "K") a.fail(parameter, "order must be 'C', 'F', 'A' or 'K'");
}
template <Tensor (*F)(const Shape&, DType, Location)> Value filled(const Arguments& a) {
  check_order(a, 2);
  return {F(a.shape(0), a.dtype(1).value_or(DType::float64), Location{})};
}
template <Tensor (*F)(const Shape&, DType, Location)> Value filled_like(const Arguments& a) {
  check_order(a, 2);
  const Tensor like = a.tensor(0);
  return {F(a.given(4) ? a.shape(4) : like.shape(), a.dtype(1).value_or(like.dtype()), Location{})};
}

Value round_(const Arguments& a) { return {round(a.operand(0), static_cast<int>(std::clamp<std::int64_t>(a.integer(1, 0), -400, 400)))}; }
Value fabs_(const Arguments& a) {  // as in NumPy, integers become floating
  const Arg operand = a.operand(0);
  const Tensor x = operand.is_tensor() ? operand.tensor() : full({}, operand);
  return {abs(astype(x, traits(x.dtype()).real))};
}
Value clip_(const Arguments& a) {
  const Value *low = a.given(1), *high = a.given(2);
  if (const Tensor* x = a.given(0)->as<Tensor>(); x && is_integer(x->dtype())) {  // a limit beyond the type is none
    const auto beyond = [&](const Value* limit, bool below) {
      const std::int64_t* number = limit ? limit->as<std::int64_t>() : nullptr;
      return number && (*number < 0) == below && !visit_storage(x->dtype(), [&]<class T>() {
               if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) return std::in_range<T>(*number);
               else return true;
             });
    };
    if (beyond(low, true)) low = nullptr;
    if (beyond(high, false)) high = nullptr;
  }
  if (low && high) return {clip(a.operand(0), a.operand(1), a.operand(2))};
  if (low) return {maximum(a.operand(0), a.operand(1))};
  if (high) return {minimum(a.operand(0), a.operand(2))};
  return {a.tensor(0)};
}
Value nonzero_(const Arguments& a);
Value where_(const Arguments& a) {
  if (!a.given(1) && !a.given(2)) return nonzero_(a);
  if (!a.given(1) || !a.given(2)) a.fail(1, "where() takes x and y, or neither of them");
  return {where(a.operand(0), a.operand(1), a.operand(2))};
}
Casting casting_of(const Arguments& a, int parameter) {
  constexpr std::pair<std::string_view, Casting> words[] = {
      {"no", Casting::no}, {"equiv", Casting::no}, {"safe", Casting::safe}, {"same_kind", Casting::same_kind}, {"unsafe", Casting::unsafe}};
  const std::string wanted = a.text(parameter, "safe");
  for (const auto& [name, casting] : words)
    if (name == wanted) return casting;
  a.fail(parameter, "casting must be 'no', 'equiv', 'safe', 'same_kind' or 'unsafe'");
}
Value astype_(const Arguments& a) {
  check_order(a, 2);
  const DType dtype = a.dtype(1).value_or(DType::float64);
  if (a.given(3) && !can_cast(a.tensor(0).dtype(), dtype, casting_of(a, 3)))
    a.fail(3, fmt::format("casting='{}' does not allow {} to become {}", a.text(3, ""), name(a.tensor(0).dtype()), name(dtype)));
  return {astype(a.operand(0), dtype)};
}
/// Reshapes; order='F' counts the first axis fastest, in x and in the result.
Value reshaped(const Arguments& a, Shape shape, int order) {
  check_order(a, order);
  if (a.text(order, "C") != "F") return {reshape(a.operand(0), shape)};
  std::reverse(shape.begin(), shape.end());
  return {transpose(reshape(transpose(a.operand(0)), shape))};
}
Value reshape_(const Arguments& a) { return reshaped(a, a.shape(1), 2); }
Value ravel_(const Arguments& a) { return reshaped(a, Shape{-1}, 1); }
Value copy_(const Arguments& a) {
  check_order(a, 1);
  return {contiguous(a.operand(0))};
}
Value contiguous_(const Arguments& a) { return {contiguous(a.given(1) ? astype(a.operand(0), *a.dtype(1)) : a.tensor(0))}; }
Value broadcast_to_(const Arguments& a) { return {broadcast_to(a.operand(0), a.shape(1))}; }
Value transpose_(const Arguments& a) { return {a.given(1) ? transpose(a.operand(0), a.shape(1)) : transpose(a.operand(0))}; }
Value swapaxes_(const Arguments& a) { return {swapaxes(a.operand(0), a.integer(1, 0), a.integer(2, 0))}; }
Value gelu_(const Arguments& a) {
  const std::string how = a.text(1, "none");
  if (how != "none" && how != "tanh") a.fail(1, "approximate must be 'none' or 'tanh'");
  return {gelu(a.operand(0), how == "tanh" ? Approximate::tanh : Approximate::exact)};
}
/// Returns the axes of PyTorch's normalized_shape if the second argument is such a tuple: the last axes, which must have these sizes.
std::optional<Axes> normalized_axes(const Arguments& a) {
  const Value* second = a.given(1);
  if (!second || !second->as<Tuple>()) return {};
  const Shape sizes = a.shape(1), of = a.tensor(0).shape();
  if (sizes.empty() || sizes.size() > of.size() || !std::equal(sizes.rbegin(), sizes.rend(), of.rbegin()))
    a.fail(1, fmt::format("the normalised shape {} is not the end of {}", to_string(sizes), to_string(of)));
  std::vector<std::int64_t> axes;
  for (std::size_t k = 0; k < sizes.size(); ++k) axes.push_back(static_cast<std::int64_t>(k) - static_cast<std::int64_t>(sizes.size()));
  return Axes(axes);
}

/// Returns the weight; a number takes the type of the normalised tensor, as in an operation with it.
Tensor weight_of(const Arguments& a, int parameter) {
  if (!a.given(parameter) || !a.given(parameter)->is_number()) return a.tensor(parameter);
  const DType type = a.tensor(0).dtype();
  return full({}, a.operand(parameter), is_floating(type) ? type : DType::float64);
}
Value layer_norm_(const Arguments& a) {
  if (const auto axes = normalized_axes(a)) return {layer_norm(a.operand(0), weight_of(a, 2), weight_of(a, 3), a.number(4, 1e-5), *axes)};
  return {layer_norm(a.operand(0), weight_of(a, 1), weight_of(a, 2), a.number(3, 1e-5), a.axes(4, -1))};
}
Value rms_norm_(const Arguments& a) { return {rms_norm(a.operand(0), weight_of(a, 1), a.number(2, 1e-6), a.axes(3, -1))}; }
Value full_(const Arguments& a) {
  check_order(a, 3);
  return {full(a.shape(0), a.operand(1), a.dtype(2))};
}
Value full_like_(const Arguments& a) {
  check_order(a, 3);
  const Tensor like = a.tensor(0);
  return {full(a.given(5) ? a.shape(5) : like.shape(), a.operand(1), a.dtype(2).value_or(like.dtype()))};
}
/// Returns a bound of the range. A tensor without axes counts as a number; it is evaluated, because the length of the result must be known.
Arg end_of_range(const Arguments& a, int parameter) {
  const Value* value = a.given(parameter);
  if (!value || !value->as<Tensor>() || value->as<Tensor>()->ndim() > 0) return a.operand(parameter);
  if (is_whole_number(*value)) return {whole_number(*value), Location{}};
  return is_floating(value->as<Tensor>()->dtype()) ? Arg(a.number(parameter, 0), Location{}) : a.operand(parameter);
}
Value arange_(const Arguments& a) {
  std::optional<DType> dtype = a.dtype(3);
  const auto typed = [&](int parameter) { return a.given(parameter) ? a.given(parameter)->as<Tensor>() : nullptr; };
  if (!dtype && typed(0) && typed(1) && typed(2))
    dtype = promote_types(promote_types(typed(0)->dtype(), typed(1)->dtype(), Location{}), typed(2)->dtype(), Location{});  // numbers do not affect the type
  if (a.given(2) && !a.given(1)) return {arange(Arg(0, Location{}), end_of_range(a, 0), end_of_range(a, 2), dtype)};
  if (a.given(2)) return {arange(end_of_range(a, 0), end_of_range(a, 1), end_of_range(a, 2), dtype)};
  if (a.given(1)) return {arange(end_of_range(a, 0), end_of_range(a, 1), dtype)};
  return {arange(end_of_range(a, 0), dtype)};
}

template <Tensor (*F)(const Arg&, std::optional<std::int64_t>, std::optional<DType>)> Value scan_as(const Arguments& a) {
  return {F(a.operand(0), a.axis(1), a.dtype(2))};
}
template <Tensor (*F)(const Arg&, std::optional<std::int64_t>)> Value scan(const Arguments& a) { return {F(a.operand(0), a.axis(1))}; }
template <Tensor (*F)(const Arg&, std::optional<std::int64_t>, bool)> Value extreme_place(const Arguments& a) {
  return {F(a.operand(0), a.axis(1), a.flag(2))};
}
/// Returns the parts in the type of `dtype`, if it is given and `casting` (same_kind) allows it.
std::vector<Tensor> parts_in(const Arguments& a, int dtype) {
  std::vector<Tensor> parts = a.tensors(0);
  if (!a.given(dtype)) return parts;
  const DType type = *a.dtype(dtype);
  const Casting casting = a.given(dtype + 1) ? casting_of(a, dtype + 1) : Casting::same_kind;
  for (Tensor& part : parts) {
    if (!can_cast(part.dtype(), type, casting))
      a.fail(dtype, fmt::format("casting {} to {} is not allowed by casting='{}'", name(part.dtype()), name(type), a.text(dtype + 1, "same_kind")));
    part = astype(part, type);
  }
  return parts;
}
template <Tensor (*F)(const std::vector<Tensor>&, std::int64_t, Location)> Value join(const Arguments& a) {
  return {F(parts_in(a, 2), a.integer(1, 0), Location{})};
}
Value concatenate_(const Arguments& a) {
  if (!a.none(1)) return join<concatenate>(a);
  std::vector<Tensor> flat;
  for (const Tensor& part : parts_in(a, 2)) flat.push_back(reshape(part, Shape{-1}));
  return {concatenate(flat, 0, Location{})};
}
template <Tensor (*F)(const Arg&, std::int64_t)> Value by_diagonal(const Arguments& a) { return {F(a.operand(0), a.integer(1, 0))}; }

/// Pads with constants before and after along each axis. In the corners the later axis decides, as in NumPy.
Tensor pad_with(const Arguments& a, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths, const Tuple& values) {
  constexpr const char* kForms = "constant_values must be a number, a pair, or a pair for each axis";
  Tensor x = a.tensor(0);
  const auto rank = static_cast<std::size_t>(x.ndim());
  const bool nested = !values.empty() && values[0].as<Tuple>();
  if (values.empty() || (nested && values.size() != 1 && values.size() != rank)) a.fail(3, kForms);
  if (widths.size() != 1 && widths.size() != rank) return pad(x, widths);  // throws
  for (std::size_t k = 0; k < rank; ++k) {
    const Tuple* ends = nested ? values[values.size() == 1 ? 0 : k].as<Tuple>() : &values;
    if (!ends || ends->empty() || ends->size() > 2) a.fail(3, kForms);
    for (const Value& end : *ends)
      if (!end.is_operand()) a.fail(3, kForms);
    const auto [before, after] = widths[widths.size() == 1 ? 0 : k];
    std::vector<std::pair<std::int64_t, std::int64_t>> only(rank);
    only[k] = {before, 0};
    x = pad(x, only, PadMode::constant, operand(ends->front(), a.function()));
    only[k] = {0, after};
    x = pad(x, only, PadMode::constant, operand(ends->back(), a.function()));
  }
  return x;
}
/// Computes the elements beyond an edge from those near the edge, one axis at a time: means or extrema of the nearest elements, or a ramp to a number.
Tensor pad_from_edge(const Arguments& a, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths, const std::string& mode) {
  Tensor x = a.tensor(0);
  const auto rank = static_cast<std::size_t>(x.ndim());
  if (widths.size() != 1 && widths.size() != rank) return pad(x, widths);  // throws
  for (std::size_t k = 0; k < rank; ++k) {
    const auto axis = static_cast<std::int64_t>(k), size = x.shape()[k];
    if (size == 0) a.fail(0, fmt::format("mode '{}' needs elements along each axis", mode));
    const auto part = [&](std::int64_t begin, std::int64_t end) {
      std::vector<Index> index(k, Slice{});
      index.push_back(Slice{begin, end});
      return std::as_const(x).at(index, Location{});
    };
    const auto beyond = [&](bool before, std::int64_t width) {
      Shape shape = x.shape();
      shape[k] = width;
      if (mode == "linear_ramp") {
        const Tensor end = broadcast_to(a.given(5) ? a.tensor(5) : Tensor(0.0), part(0, 1).shape()), edge = before ? part(0, 1) : part(size - 1, size);
        const Tensor ramp = moveaxis(squeeze(linspace(end, edge, width, false, x.dtype()), axis + 1), 0, axis);
        return before ? ramp : flip(ramp, axis);
      }
      const std::int64_t length = std::clamp<std::int64_t>(a.integer(4, size), 1, size);
      const Tensor near = before ? part(0, length) : part(size - length, size);
      Tensor value = mode == "maximum"   ? max(near, axis, true)
                     : mode == "minimum" ? min(near, axis, true)
                     : mode == "mean"    ? mean(near, axis, true)
                                         : median(near, axis, true);
      if (!is_floating(x.dtype())) value = rint(value);
      return broadcast_to(astype(value, x.dtype()), shape);
    };
    const auto [before, after] = widths[widths.size() == 1 ? 0 : k];
    if (before < 0 || after < 0) return pad(x, widths);  // throws
    x = concatenate({beyond(true, before), x, beyond(false, after)}, axis, Location{});
  }
  return x;
}
Value pad_(const Arguments& a) {
  // The widths are 2, (before, after), or a pair for each axis.
  std::vector<std::pair<std::int64_t, std::int64_t>> widths;
  const Tuple* tuple = a.given(1) ? a.given(1)->as<Tuple>() : nullptr;
  const bool nested = tuple && !tuple->empty() && (*tuple)[0].as<Tuple>();
  if (!nested) {
    const std::vector<std::int64_t> one = a.list(1);
    if (one.empty() || one.size() > 2) a.fail(1, "pad_width must be a number, a pair, or a pair for each axis");
    widths = {{one.front(), one.back()}};
  } else {
    for (const Value& pair : *tuple) {
      const auto both = whole_pair(pair);
      if (!both) a.fail(1, "pad_width must be a number, a pair, or a pair for each axis");
      widths.push_back(*both);
    }
  }
  constexpr std::pair<std::string_view, PadMode> modes[] = {
      {"constant", PadMode::constant}, {"edge", PadMode::edge}, {"reflect", PadMode::reflect}, {"symmetric", PadMode::symmetric}, {"wrap", PadMode::wrap}};
  const std::string mode = a.text(2, "constant");
  if (mode == "linear_ramp" || mode == "maximum" || mode == "mean" || mode == "median" || mode == "minimum") return {pad_from_edge(a, widths, mode)};
  if (mode == "empty") return {pad(a.operand(0), widths)};
  for (const auto& [name, value] : modes)
    if (mode == name && value == PadMode::constant && a.given(3) && a.given(3)->as<Tuple>()) return {pad_with(a, widths, *a.given(3)->as<Tuple>())};
    else if (mode == name) return {a.given(3) ? pad(a.operand(0), widths, value, a.operand(3)) : pad(a.operand(0), widths, value)};
  a.fail(2, "mode must be 'constant', 'edge', 'reflect', 'symmetric', 'wrap', 'linear_ramp', 'maximum', 'mean', 'median', 'minimum' or 'empty'");
}
Value take_(const Arguments& a) {
  const std::string mode = a.text(3, "raise");
  if (mode != "raise" && mode != "wrap" && mode != "clip") a.fail(3, "mode must be 'raise', 'wrap' or 'clip'");
  return {take(a.operand(0), a.operand(1), a.axis(2), mode == "wrap" ? IndexMode::wrap : mode == "clip" ? IndexMode::clip : IndexMode::raise)};
}
Value take_along_axis_(const Arguments& a) { return {take_along_axis(a.operand(0), a.operand(1), a.integer(2, -1))}; }
/// Returns the axis: by default the last one, as in NumPy; None means the flat tensor.
std::optional<std::int64_t> axis_or_flat(const Arguments& a, int parameter) {
  return a.none(parameter) ? std::nullopt : std::optional(a.integer(parameter, -1));
}
template <Tensor (*F)(const Arg&, std::optional<std::int64_t>, bool)> Value sorted(const Arguments& a) {
  constexpr std::string_view kinds[] = {"quicksort", "mergesort", "heapsort", "stable"};
  if (std::find(std::begin(kinds), std::end(kinds), a.text(2, "stable")) == std::end(kinds))
    a.fail(2, fmt::format("kind must be one of {}", fmt::join(kinds, ", ")));
  if (a.given(3)) a.fail(3, "order= names fields of a record, which tensors do not have");
  return {F(a.operand(0), axis_or_flat(a, 1), a.flag(5))};
}
template <Tensor (*F)(const Arg&, std::int64_t, std::optional<std::int64_t>)> Value parted(const Arguments& a) {
  if (a.given(4)) a.fail(4, "order= names fields of a record, which tensors do not have");
  const std::vector<std::int64_t> places = a.list(1);  // the whole axis is sorted, so any position is right
  if (places.empty()) return {a.tensor(0)};
  for (const std::int64_t place : places) (void)F(a.operand(0), place, axis_or_flat(a, 2));  // throws for a position out of range
  return {F(a.operand(0), places[0], axis_or_flat(a, 2))};
}
Value lexsort_(const Arguments& a) {
  if (a.given(0) && !a.given(0)->as<Tuple>()) return {lexsort(unstack(a.tensor(0)), a.integer(1, -1), Location{})};
  return {lexsort(a.tensors(0), a.integer(1, -1), Location{})};
}
Value searchsorted_(const Arguments& a) {
  const std::string side = a.text(2, "left");
  if (side != "left" && side != "right") a.fail(2, "side must be 'left' or 'right'");
  return {searchsorted(a.operand(0), a.operand(1), side == "left" ? Side::left : Side::right, a.tensor(3))};
}
Value digitize_(const Arguments& a) { return {digitize(a.operand(0), a.operand(1), a.flag(2))}; }
Value compress_(const Arguments& a) { return {compress(a.operand(0), a.operand(1), a.axis(2))}; }
Value put_(const Arguments& a) {
  const std::string mode = a.text(3, "raise");
  if (mode != "raise" && mode != "wrap" && mode != "clip") a.fail(3, "mode must be 'raise', 'wrap' or 'clip'");
  if (mode == "raise") return {put(a.operand(0), a.operand(1), a.operand(2))};
  const std::int64_t size = a.tensor(0).size();
  const Tensor places = mode == "wrap" ? remainder(a.operand(1), size) : clip(a.operand(1), 0, size - 1);
  return {put(a.operand(0), Arg(places, Location{}), a.operand(2))};
}
/// Accepts values of any kind, like NumPy.
Value put_along_axis_(const Arguments& a) {
  const Tensor values = a.tensor(2);
  const DType dtype = a.tensor(0).dtype();
  const bool same = can_cast(values.dtype(), dtype, Casting::same_kind);
  return {put_along_axis(a.operand(0), a.operand(1), same ? a.operand(2) : Arg(astype(values, dtype)), axis_or_flat(a, 3))};
}
Value add_at_(const Arguments& a) { return {add_at(a.operand(0), indices_of(*a.given(1)), a.operand(2))}; }
Value add_along_axis_(const Arguments& a) { return {add_along_axis(a.operand(0), a.operand(1), a.operand(2), axis_or_flat(a, 3))}; }
Value setdiff1d_(const Arguments& a) {
  if (!a.flag(2)) return {setdiff1d(a.operand(0), a.operand(1))};
  const Tensor x = reshape(a.operand(0), Shape{-1});  // NumPy retains the order of unique elements
  return {compress(in1d(x, a.operand(1), true), x)};
}
Value intersect1d_(const Arguments& a) {
  const Tensor both = intersect1d(a.operand(0), a.operand(1));
  if (!a.flag(3)) return {both};
  Tuple results{{both}};
  for (const int side : {0, 1}) {  // where each element first appears
    const Unique known = unique_with(a.operand(side));
    results.push_back({take(known.indices, searchsorted(known.values, both), 0)});
  }
  return {std::move(results)};
}
template <Tensor (*F)(const Arg&, const Arg&, const Arg&)> Value ternary(const Arguments& a) { return {F(a.operand(0), a.operand(1), a.operand(2))}; }
template <Tensor (*F)(const Arg&, const Arg&, bool)> Value membership(const Arguments& a) { return {F(a.operand(0), a.operand(1), a.flag(3))}; }
Value roll_(const Arguments& a) { return {roll(a.operand(0), a.list(1), a.axes(2))}; }
Value tile_(const Arguments& a) { return {tile(a.operand(0), a.list(1))}; }
Value repeat_(const Arguments& a) {
  if (const Value* counts = a.given(1); counts && (counts->as<Tuple>() || counts->as<Tensor>())) {
    // The indices of the elements, each repeated by its count, are computed from the running sum of the counts.
    const Tensor times = a.tensor(1), x = a.axis(2) ? a.tensor(0) : reshape(a.operand(0), Shape{-1});
    if (times.ndim() > 1 || !is_integer(times.dtype())) a.fail(1, "repeats must be an integer, or one for each element along the axis");
    const int axis = a.small_integer(2, 0);
    const std::int64_t size = x.size(axis, Location{});
    if (times.size() != 1 && times.size() != size)
      a.fail(1, fmt::format("{} for {} along the axis", sinter::counted(times.size(), "repeat"), sinter::counted(size, "element")));
    const std::vector<std::int64_t> each = broadcast_to(reshape(astype(times, DType::int64), Shape{-1}), Shape{size}).to_vector<std::int64_t>();
    constexpr std::int64_t kMaxElements = std::int64_t{1} << 26, kFew = 4;
    std::int64_t total = 0;
    for (const std::int64_t count : each) {
      if (count < 0) a.fail(1, "a count of repeats is negative");
      if (count > kMaxElements - total) a.fail(1, fmt::format("counts of repeats make more than {} elements", kMaxElements));
      total += count;
    }
    // A place with few repeats is written kFew times, because a processor could not predict the number of times; the next place overwrites the rest.
    std::vector<std::int64_t> places(static_cast<std::size_t>(total + kFew));
    std::int64_t at = 0;
    for (std::size_t k = 0; k < each.size(); ++k) {
      std::fill_n(places.begin() + at, std::max(each[k], kFew), static_cast<std::int64_t>(k));
      at += each[k];
    }
    places.resize(static_cast<std::size_t>(total));
    return {take(x, adopt(std::move(places), Shape{total}, Location{}), axis)};
  }
  return {repeat(a.operand(0), a.integer(1, 1), a.axis(2))};
}
Value eye_(const Arguments& a) { return {eye(a.integer(0, 0), a.axis(1), a.integer(2, 0), a.dtype(3).value_or(DType::float64), Location{})}; }
Value diagonal_(const Arguments& a) { return {diagonal(a.operand(0), a.integer(1, 0), a.integer(2, 0), a.integer(3, 1))}; }

Value matrix_cross_(const Arguments& a) { return {cross(a.operand(0), a.operand(1), a.integer(2, -1))}; }
Value matrix_diagonal_(const Arguments& a) { return {diagonal(a.operand(0), a.integer(1, 0), -2, -1)}; }
Value matrix_trace_(const Arguments& a) {
  if (!a.given(2)) return {matrix_trace(a.operand(0), a.integer(1, 0), -2, -1)};
  return {sum(diagonal(a.operand(0), a.integer(1, 0), -2, -1), -1, false, a.dtype(2))};
}

random::Key key_of(const Arguments& a, int parameter) { return random::Key(static_cast<std::uint64_t>(a.integer(parameter, 0))); }
template <Tensor (*F)(random::Key, const Shape&, const Arg&, const Arg&, DType)> Value random_between(const Arguments& a) {
  const auto or_else = [&](int parameter, int otherwise) { return a.given(parameter) ? a.operand(parameter) : Arg(otherwise, Location{}); };
  if (const Tuple* last = a.given(2) ? a.given(2)->as<Tuple>() : nullptr; last && !last->is_list && a.given(0)->as<std::int64_t>())
    a.fail(2, fmt::format("the size comes first here: {0}((3,), 0, 1, key=7); np.random.{0} takes it last", a.function()));
  return {F(key_of(a, 3), a.shape(0), or_else(1, 0), or_else(2, 1), a.dtype(4).value_or(DType::float64))};
}
Value integers_(const Arguments& a) {
  return {random::integers(key_of(a, 3), a.shape(0), a.integer(1, 0), a.integer(2, 0), a.dtype(4).value_or(DType::int64), Location{})};
}
Value bernoulli_(const Arguments& a) { return {random::bernoulli(key_of(a, 2), a.shape(0), a.given(1) ? a.operand(1) : Arg(0.5, Location{}))}; }
Value exponential_(const Arguments& a) {
  return {random::exponential(key_of(a, 2), a.shape(0), a.given(1) ? a.operand(1) : Arg(1, Location{}), a.dtype(3).value_or(DType::float64))};
}
template <Tensor (*F)(random::Key, const Shape&, const Arg&, DType)> Value random_of(const Arguments& a) {
  return {F(key_of(a, 2), a.shape(0), a.given(1) ? a.operand(1) : Arg(1, Location{}), a.dtype(3).value_or(DType::float64))};
}
DType integer_type(const Arguments& a, int parameter) { return a.dtype(parameter).value_or(DType::int64); }
Value rademacher_(const Arguments& a) { return {random::rademacher(key_of(a, 1), a.shape(0), integer_type(a, 2), Location{})}; }
Value poisson_(const Arguments& a) { return {random::poisson(key_of(a, 2), a.shape(0), a.number(1, 1), integer_type(a, 3), Location{})}; }
Value binomial_(const Arguments& a) { return {random::binomial(key_of(a, 3), a.shape(0), a.integer(1, 1), a.number(2, 0.5), integer_type(a, 4), Location{})}; }
Value geometric_(const Arguments& a) { return {random::geometric(key_of(a, 2), a.shape(0), a.number(1, 0.5), integer_type(a, 3), Location{})}; }
Value dirichlet_(const Arguments& a) {
  return {random::dirichlet(key_of(a, 2), a.tensor(0), a.given(1) ? a.shape(1) : Shape{}, a.dtype(3).value_or(DType::float64), Location{})};
}
Value categorical_(const Arguments& a) {
  return {random::categorical(key_of(a, 3), a.operand(0), a.integer(1, -1), a.given(2) ? std::optional(a.shape(2)) : std::nullopt)};
}
Value permutation_(const Arguments& a) {
  if (a.given(0) && is_whole_number(*a.given(0))) return {random::permutation(key_of(a, 2), a.integer(0, 0), Location{})};
  return {random::permutation(key_of(a, 2), a.tensor(0), a.integer(1, 0), Location{})};
}
Value choice_(const Arguments& a) { return {random::choice(key_of(a, 5), a.operand(0), a.integer(1, 1), a.integer(2, 0), a.flag(3, true), a.tensor(4))}; }

// The parameters are in the order of np.random.normal and others: the size comes last, and by default it is the parameters' shape.
Shape size_last(const Arguments& a, int parameters) {
  if (a.given(parameters)) return a.shape(parameters);
  Tensor both = zeros({}, DType::float64, Location{});
  for (int k = 0; k < parameters; ++k)
    if (a.given(k)) both = both + a.tensor(k);
  return both.shape();
}
template <Tensor (*F)(random::Key, const Shape&, const Arg&, const Arg&, DType)> Value numpy_between(const Arguments& a) {
  const auto or_else = [&](int parameter, int otherwise) { return a.given(parameter) ? a.operand(parameter) : Arg(otherwise, Location{}); };
  return {F(key_of(a, 3), size_last(a, 2), or_else(0, 0), or_else(1, 1), a.dtype(4).value_or(DType::float64))};
}
template <Tensor (*F)(random::Key, const Shape&, const Arg&, const Arg&, DType)> Value numpy_standard(const Arguments& a) {
  return {F(key_of(a, 1), a.given(0) ? a.shape(0) : Shape{}, Arg(0, Location{}), Arg(1, Location{}), a.dtype(2).value_or(DType::float64))};
}
template <Tensor (*F)(random::Key, const Shape&, const Arg&, DType)> Value numpy_of(const Arguments& a) {
  return {F(key_of(a, 2), size_last(a, 1), a.given(0) ? a.operand(0) : Arg(1, Location{}), a.dtype(3).value_or(DType::float64))};
}
Tensor exponential_of(random::Key key, const Shape& shape, const Arg& scale, DType dtype) { return random::exponential(key, shape, scale, dtype); }
Value numpy_integers_(const Arguments& a) {
  const std::int64_t low = a.given(1) ? a.integer(0, 0) : 0, high = a.integer(a.given(1) ? 1 : 0, 0);
  const Shape size = a.given(2) ? a.shape(2) : Shape{};
  if (a.flag(5) && high == std::numeric_limits<std::int64_t>::max()) a.fail(1, "the end is 2**63 - 1, which no draw of 64 bits includes");
  return {random::integers(key_of(a, 3), size, low, a.flag(5) ? high + 1 : high, integer_type(a, 4), Location{})};
}
Value numpy_poisson_(const Arguments& a) { return {random::poisson(key_of(a, 2), size_last(a, 1), a.number(0, 1), integer_type(a, 3), Location{})}; }
Value numpy_binomial_(const Arguments& a) {
  return {random::binomial(key_of(a, 3), size_last(a, 2), a.integer(0, 1), a.number(1, 0.5), integer_type(a, 4), Location{})};
}
Value numpy_geometric_(const Arguments& a) { return {random::geometric(key_of(a, 2), size_last(a, 1), a.number(0, 0.5), integer_type(a, 3), Location{})}; }
Value numpy_choice_(const Arguments& a) {
  const Shape size = a.given(1) ? a.shape(1) : Shape{};
  const Tensor from = is_whole_number(*a.given(0)) ? arange(a.integer(0, 0)) : a.tensor(0);
  const Tensor chosen = random::choice(key_of(a, 4), from, element_count(size), a.integer(5, 0), a.flag(2, true), a.tensor(3));
  if (size.size() == 1) return {chosen};
  if (from.ndim() != 1) a.fail(1, "choice() from a tensor of several axes takes one size");
  return {reshape(chosen, size)};
}

Tuple pair(const std::pair<Tensor, Tensor>& results) { return {Value{results.first}, Value{results.second}}; }
template <std::pair<Tensor, Tensor> (*F)(const Arg&)> Value unary_pair(const Arguments& a) { return {pair(F(a.operand(0)))}; }
template <std::pair<Tensor, Tensor> (*F)(const Arg&, const Arg&)> Value binary_pair(const Arguments& a) { return {pair(F(a.operand(0), a.operand(1)))}; }
template <Tensor (*F)(const Arg&, double), int otherwise> Value with_number(const Arguments& a) { return {F(a.operand(0), a.number(1, otherwise))}; }
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
  if (!values) a.fail(2, "funclist must be a tuple of tensors and numbers");
  std::vector<Tensor> list;
  for (const Value& value : *values) list.push_back(array_of(value, a.function()));
  const Tensor* one = a.given(1)->as<Tensor>();  // NumPy accepts one condition without a list
  return {piecewise(a.operand(0), one && one->ndim() == a.tensor(0).ndim() ? std::vector{*one} : a.tensors(1), list)};
}
Value select_(const Arguments& a) { return {select(a.tensors(0), a.tensors(1), a.given(2) ? a.operand(2) : Arg(0, Location{}))}; }
Value list(const std::vector<Tensor>& tensors) {
  Tuple items;
  for (const Tensor& tensor : tensors) items.push_back({tensor});
  return {items};
}
Value nonzero_(const Arguments& a) { return list(nonzero(a.operand(0))); }
bool first_axis_fastest(const Arguments& a, int parameter) {
  const std::string order = a.text(parameter, "C");
  if (order != "C" && order != "F") a.fail(parameter, "order must be 'C' or 'F'");
  return order == "F";
}
Value unravel_index_(const Arguments& a) {
  Shape shape = a.shape(1);
  const bool turned = first_axis_fastest(a, 2);
  if (turned) std::reverse(shape.begin(), shape.end());
  std::vector<Tensor> places = unravel_index(a.operand(0), shape);
  if (turned) std::reverse(places.begin(), places.end());
  return list(places);
}
Value ravel_multi_index_(const Arguments& a) {
  std::vector<Tensor> places = a.tensors(0);
  Shape shape = a.shape(1);
  const std::string mode = a.text(2, "raise");
  if (mode != "raise" && mode != "wrap" && mode != "clip") a.fail(2, "mode must be 'raise', 'wrap' or 'clip'");
  for (std::size_t k = 0; mode != "raise" && k < std::min(places.size(), shape.size()); ++k)
    places[k] = mode == "wrap" ? remainder(places[k], shape[k]) : clip(places[k], 0, shape[k] - 1);
  if (first_axis_fastest(a, 3)) {
    std::reverse(places.begin(), places.end());
    std::reverse(shape.begin(), shape.end());
  }
  return {ravel_multi_index(places, shape, Location{})};
}
Value topk_(const Arguments& a) { return {pair(topk(a.operand(0), a.integer(1, 1), a.integer(2, -1), a.flag(3, true)))}; }
Value unique_(const Arguments& a) {
  const bool wanted[] = {a.flag(1), a.flag(2), a.flag(3)}, equal_nan = a.flag(5, true);
  if (!wanted[0] && !wanted[1] && !wanted[2]) return {unique(a.operand(0), a.axis(4), equal_nan)};
  if (!wanted[0] && !wanted[1] && !a.axis(4)) return {pair(unique_counts(a.operand(0), equal_nan))};
  const Unique all = unique_with(a.operand(0), a.axis(4), equal_nan);
  std::vector<Tensor> results{all.values};
  for (int k = 0; k < 3; ++k)
    if (wanted[k]) results.push_back(k == 0 ? all.indices : k == 1 ? all.inverse : all.counts);
  return list(results);
}
Value unique_counts_(const Arguments& a) { return {pair(unique_counts(a.operand(0)))}; }
Value unique_all_(const Arguments& a) {
  const Unique all = unique_all(a.operand(0));
  return list({all.values, all.indices, all.inverse, all.counts});
}
template <Tensor (*F)(const std::vector<Tensor>&, Location)> Value stacked(const Arguments& a) { return {F(parts_in(a, 1), Location{})}; }
/// Applies F to one array, or to several separate arguments.
template <Tensor (*F)(const Arg&)> Value each(const Arguments& a) {
  std::vector<Tensor> results;
  for (const Tensor& tensor : a.tensors(0)) results.push_back(F(tensor));
  return results.size() == 1 ? Value{results[0]} : list(results);
}
Value split_(const Arguments& a) {
  const bool sections = a.given(1) && is_whole_number(*a.given(1));
  return list(sections ? split(a.operand(0), a.integer(1, 1), a.integer(2, 0)) : split(a.operand(0), a.list(1), a.integer(2, 0)));
}
Value array_split_(const Arguments& a) {
  const bool sections = a.given(1) && is_whole_number(*a.given(1));
  return list(sections ? array_split(a.operand(0), a.integer(1, 1), a.integer(2, 0)) : split(a.operand(0), a.list(1), a.integer(2, 0)));
}
Value unstack_(const Arguments& a) { return list(unstack(a.operand(0), a.integer(1, 0), Location{})); }
Value moveaxis_(const Arguments& a) { return {moveaxis(a.operand(0), a.list(1), a.list(2))}; }
Value rot90_(const Arguments& a) {
  const std::vector<std::int64_t> axes = a.given(2) ? a.list(2) : std::vector<std::int64_t>{0, 1};
  if (axes.size() != 2) a.fail(2, "axes must be two");
  return {rot90(a.operand(0), a.integer(1, 1), {axes[0], axes[1]})};
}
Value broadcast_arrays_(const Arguments& a) { return list(broadcast_arrays(a.tensors(0), Location{})); }
Value meshgrid_(const Arguments& a) {
  if (a.flag(2)) {  // each along its own axis
    std::vector<Tensor> vectors = a.tensors(0);
    const std::size_t rank = vectors.size();
    for (std::size_t k = 0; k < rank; ++k) {
      Shape shape(rank, 1);
      shape[rank > 1 && k < 2 && a.text(1, "xy") == "xy" ? 1 - k : k] = -1;
      vectors[k] = reshape(vectors[k], shape);
    }
    return list(vectors);
  }
  const std::string indexing = a.text(1, "xy");
  if (indexing != "xy" && indexing != "ij") a.fail(1, "indexing must be 'xy' or 'ij'");
  std::vector<Tensor> vectors = a.tensors(0);
  for (Tensor& vector : vectors) vector = reshape(vector, Shape{-1});
  return list(meshgrid(vectors, indexing == "xy" ? Indexing::xy : Indexing::ij, Location{}));
}
Value sliding_window_view_(const Arguments& a) { return {sliding_window_view(a.operand(0), a.shape(1), a.axes(2))}; }
Value diff_(const Arguments& a) {
  if (!a.given(3) && !a.given(4)) return {diff(a.operand(0), a.integer(1, 1), a.integer(2, -1))};
  const Tensor x = a.tensor(0);
  const std::int64_t axis = a.integer(2, -1);
  if (x.ndim() == 0 || axis >= x.ndim() || axis < -x.ndim()) return {diff(x, a.integer(1, 1), axis)};  // throws
  const auto end = [&](int parameter) {                                                                // a number is one element along the axis
    const Tensor part = a.tensor(parameter);
    Shape shape = x.shape();
    shape[static_cast<std::size_t>(axis < 0 ? axis + x.ndim() : axis)] = 1;
    return part.ndim() == 0 ? broadcast_to(part, shape) : part;
  };
  std::vector<Tensor> parts{x};
  if (a.given(3)) parts.insert(parts.begin(), end(3));
  if (a.given(4)) parts.push_back(end(4));
  return {diff(concatenate(parts, axis, Location{}), a.integer(1, 1), axis)};
}
template <Tensor (*F)(const Arg&, std::optional<std::int64_t>, std::optional<DType>, bool)> Value cumulative(const Arguments& a) {
  return {F(a.operand(0), a.axis(1), a.dtype(2), a.flag(3))};
}
template <Tensor (*F)(const Arg&, const Arg&, const Axes&, QuantileMethod, bool)> Value quantile_(const Arguments& a) {
  constexpr std::pair<std::string_view, QuantileMethod> methods[] = {
#define METHOD(name) {#name, QuantileMethod::name}
      METHOD(linear),
      METHOD(lower),
      METHOD(higher),
      METHOD(midpoint),
      METHOD(nearest),
      METHOD(inverted_cdf),
      METHOD(averaged_inverted_cdf),
      METHOD(closest_observation),
      METHOD(interpolated_inverted_cdf),
      METHOD(hazen),
      METHOD(weibull),
      METHOD(median_unbiased),
      METHOD(normal_unbiased)};
#undef METHOD
  const std::string wanted = a.text(3, "linear");
  for (const auto& [name, method] : methods) {
    if (wanted != name) continue;
    if (a.given(5)) {
      if (method != QuantileMethod::inverted_cdf) a.fail(5, "weights need method='inverted_cdf', as in NumPy");
      const bool hundred = F == static_cast<Tensor (*)(const Arg&, const Arg&, const Axes&, QuantileMethod, bool)>(percentile) ||
                           F == static_cast<Tensor (*)(const Arg&, const Arg&, const Axes&, QuantileMethod, bool)>(nanpercentile);
      const bool nan = F == static_cast<Tensor (*)(const Arg&, const Arg&, const Axes&, QuantileMethod, bool)>(nanquantile) ||
                       F == static_cast<Tensor (*)(const Arg&, const Arg&, const Axes&, QuantileMethod, bool)>(nanpercentile);
      return weighted_quantile(a, hundred, nan);
    }
    return {F(a.operand(0), a.operand(1), a.axes(2), method, a.flag(4))};
  }
  a.fail(3, fmt::format("there is no method '{}'; the methods have NumPy's names: linear, lower, higher, midpoint, nearest, ...", wanted));
}
Value cov_(const Arguments& a) {
  const std::optional<int> ddof = a.given(4) ? std::optional(a.small_integer(4, 0)) : std::nullopt;
  const Tensor result = cov(a.operand(0), a.tensor(1), a.flag(2, true), a.flag(3), ddof, a.tensor(5), a.tensor(6));
  return {a.given(7) ? astype(result, *a.dtype(7)) : result};
}
Value corrcoef_(const Arguments& a) {
  const Tensor result = corrcoef(a.operand(0), a.tensor(1), a.flag(2, true));
  return {a.given(3) ? astype(result, *a.dtype(3)) : result};
}
Value gradient_(const Arguments& a) {
  const Tensor f = a.tensor(0);
  const int order = a.small_integer(3, 1);
  std::vector<std::int64_t> axes;
  if (a.given(2)) axes = a.list(2);
  else
    for (int axis = 0; axis < f.ndim(); ++axis) axes.push_back(axis);
  // Spacings are omitted, one for all axes, or one for each axis.
  const Value* given = a.given(1);
  const Tuple one{given ? *given : Value{std::int64_t{1}}};
  const Tuple& spacings = given && given->as<Tuple>() && !given->as<Tuple>()->is_list ? *given->as<Tuple>() : one;
  if (spacings.size() != 1 && spacings.size() != axes.size())
    a.fail(1, fmt::format("{} for {}", sinter::counted(spacings.size(), "spacing"), sinter::counted(axes.size(), "axis", "axes")));
  std::vector<Tensor> slopes;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const Value& spacing = spacings[spacings.size() == 1 ? 0 : k];
    const Tensor places = spacing.as<Tuple>() ? array_of(spacing, a.function()) : Tensor();
    slopes.push_back(gradient(Arg(f, Location{}), axes[k], places.empty_handle() ? operand(spacing, a.function()) : Arg(places, Location{}), order));
  }
  return slopes.size() == 1 ? Value{slopes[0]} : list(slopes);
}
Value interp_(const Arguments& a) {
  const auto number = [&](int parameter) { return a.given(parameter) ? std::optional(a.number(parameter, 0)) : std::nullopt; };
  return {interp(a.operand(0), a.operand(1), a.operand(2), number(3), number(4), number(5))};
}
/// Counts like NumPy: without elements the counts are int64, for any type of the weights.
Value bincount_(const Arguments& a) {
  const Tensor counts = bincount(a.operand(0), a.tensor(1), a.integer(2, 0));
  return {a.tensor(0).size() == 0 ? astype(counts, DType::int64) : counts};
}
std::optional<std::pair<double, double>> range_of(const Arguments& a, int parameter, const Value* value) {
  const Tuple* ends = value ? value->as<Tuple>() : nullptr;
  if (!ends) return std::nullopt;
  if (ends->size() != 2) a.fail(parameter, "a range must have two ends");
  const auto end = [&](std::size_t k) {
    const Value& one = (*ends)[k];
    if (const Tensor* tensor = one.as<Tensor>(); tensor && tensor->ndim() == 0) return astype(*tensor, DType::float64).item<double>(Location{});
    if (!one.is_number()) a.fail(parameter, "a range must be two numbers");
    return operand(one, a.function()).as_double();
  };
  return std::pair(end(0), end(1));
}
std::int64_t bin_count(const Arguments& a) {
  return a.given(1) && a.given(1)->as<std::string>() ? bins_by_rule(a, 1, a.tensor(0), range_of(a, 2, a.given(2))) : a.integer(1, 10);
}
Value histogram_(const Arguments& a) {
  const bool edges = a.given(1) && (a.given(1)->as<Tuple>() || a.given(1)->as<Tensor>()) && !is_whole_number(*a.given(1));
  const Histogram found = edges ? histogram(a.operand(0), a.tensor(1), a.tensor(4), a.flag(3))
                                : histogram(a.operand(0), bin_count(a), range_of(a, 2, a.given(2)), a.tensor(4), a.flag(3));
  return list({found.counts, found.edges});
}
Value histogram_bin_edges_(const Arguments& a) { return {histogram_bin_edges(a.operand(0), bin_count(a), range_of(a, 2, a.given(2)))}; }
/// Reads a number of bins, or edges, for one axis.
Bins bins_of(const Arguments& a, int parameter, const Value& bins, const Value* range) {
  if (is_whole_number(bins)) return {whole_number(bins), range_of(a, parameter + 1, range)};
  return Bins(array_of(bins, a.function()));
}
/// Reads the bins of `axes` axes: one for all, or a list. With `edges_for_all`, a list of another length is edges for all axes, as in NumPy.
std::vector<Bins> bins_of(const Arguments& a, int parameter, std::size_t axes, bool edges_for_all) {
  const Value ten{std::int64_t{10}};
  const Value& bins = a.given(parameter) ? *a.given(parameter) : ten;
  const Tuple* each = bins.as<Tuple>();
  const Tensor* edges = bins.as<Tensor>();
  if (edges_for_all && ((each && each->size() != axes) || (edges && edges->ndim() == 1))) each = nullptr;
  if (each && each->size() != axes) a.fail(parameter, fmt::format("bins must be one for all, or one for each of {}", sinter::counted(axes, "axis", "axes")));
  const Tuple* ranges = a.given(parameter + 1) ? a.given(parameter + 1)->as<Tuple>() : nullptr;
  if (a.given(parameter + 1) && (!ranges || ranges->size() != axes)) a.fail(parameter + 1, "range must be a pair for each axis");
  std::vector<Bins> all;
  for (std::size_t k = 0; k < axes; ++k) all.push_back(bins_of(a, parameter, each ? (*each)[k] : bins, ranges ? &(*ranges)[k] : nullptr));
  return all;
}
Value histogram2d_(const Arguments& a) {
  const std::vector<Bins> bins = bins_of(a, 2, 2, true);
  const Histogram2d found = histogram2d(a.operand(0), a.operand(1), bins[0], bins[1], a.tensor(5), a.flag(4));
  return list({found.counts, found.x_edges, found.y_edges});
}
Value histogramdd_(const Arguments& a) {
  Tensor points = a.tensor(0);
  if (a.given(0)->as<Tuple>() && points.ndim() == 2) points = transpose(points);  // a list has one vector for each axis
  if (points.ndim() == 1) points = reshape(points, {-1, 1});
  if (points.ndim() != 2) a.fail(0, "sample must be a matrix, a point in each row");
  const HistogramDd found = histogramdd(points, bins_of(a, 1, static_cast<std::size_t>(points.shape()[1]), false), a.tensor(4), a.flag(3));
  Tuple edges;
  for (const Tensor& each : found.edges) edges.push_back({each});
  return {Tuple{{found.counts}, {std::move(edges)}}};
}
Value average_(const Arguments& a) {
  const Tensor result = average(a.operand(0), a.axes(1), a.tensor(2), a.flag(3));
  if (!a.flag(4)) return {result};
  Tensor weights = a.tensor(2);
  const Tensor x = a.tensor(0);
  if (weights.empty_handle()) weights = ones_like(x, result.dtype());
  if (weights.ndim() == 1 && x.ndim() > 1 && a.axis(1)) weights = moveaxis(broadcast_to(weights, moveaxis(x, *a.axis(1), -1).shape()), -1, *a.axis(1));
  return {Tuple{{result}, {broadcast_to(astype(sum(weights, a.axes(1), a.flag(3)), result.dtype()), result.shape())}}};
}
Value trapezoid_(const Arguments& a) {
  if (a.given(1)) return {trapezoid(a.operand(0), a.tensor(1), a.integer(3, -1))};
  return {trapezoid(a.operand(0), a.number(2, 1), a.integer(3, -1))};
}
Value vecdot_(const Arguments& a) { return {vecdot(a.operand(0), a.operand(1), a.integer(2, -1))}; }
Value tensordot_(const Arguments& a) {
  const Tuple* both = a.given(2) ? a.given(2)->as<Tuple>() : nullptr;
  if (!both) return {tensordot(a.operand(0), a.operand(1), a.integer(2, 2))};
  std::vector<std::int64_t> axes[2];
  if (both->size() != 2) a.fail(2, "axes must be a number, or the axes of a and those of b");
  for (std::size_t side = 0; side < 2; ++side) {
    if (is_whole_number((*both)[side])) axes[side] = {whole_number((*both)[side])};
    else if (const Tuple* several = (*both)[side].as<Tuple>())
      for (const Value& axis : *several) {
        if (!is_whole_number(axis)) a.fail(2, "axes must be a number, or the axes of a and those of b");
        axes[side].push_back(whole_number(axis));
      }
  }
  return {tensordot(a.operand(0), a.operand(1), axes[0], axes[1])};
}
Value einsum_(const Arguments& a) { return {einsum(a.text(0, ""), a.tensors(1), Location{})}; }
Value trace_(const Arguments& a) {
  if (a.given(4)) return {sum(diagonal(a.operand(0), a.integer(1, 0), a.integer(2, 0), a.integer(3, 1)), -1, false, a.dtype(4))};
  return {matrix_trace(a.operand(0), a.integer(1, 0), a.integer(2, 0), a.integer(3, 1))};
}
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
Value cross_(const Arguments& a) {
  if (a.given(5) || !(a.given(2) || a.given(3) || a.given(4))) return {cross(a.operand(0), a.operand(1), a.integer(5, -1))};
  return {moveaxis(cross(moveaxis(a.operand(0), a.integer(2, -1), -1), moveaxis(a.operand(1), a.integer(3, -1), -1)), -1, a.integer(4, -1))};
}
std::optional<double> number_or_none(const Arguments& a, int parameter) { return a.given(parameter) ? std::optional(a.number(parameter, 0)) : std::nullopt; }
Value solve_triangular_(const Arguments& a) { return {solve_triangular(a.operand(0), a.operand(1), a.flag(2) ? Triangle::lower : Triangle::upper, a.flag(3))}; }
Value cho_solve_(const Arguments& a) { return {cho_solve(a.operand(0), a.operand(1), a.flag(2, true) ? Triangle::lower : Triangle::upper)}; }
Value cholesky_(const Arguments& a) { return {cholesky(a.operand(0), a.flag(1))}; }
Value qr_(const Arguments& a) {
  const std::string mode = a.text(1, "reduced");
  if (mode != "reduced" && mode != "complete" && mode != "r") a.fail(1, "mode must be 'reduced', 'complete' or 'r'");
  const auto [q, r] = qr(a.operand(0), mode == "complete" ? QRMode::complete : QRMode::reduced);
  if (mode == "r") return {r};
  return {Tuple{{q}, {r}}};
}
/// Reads a flag that may be a number, as in older code: np.linalg.svd(a, 0).
bool number_or_flag(const Arguments& a, int parameter, bool otherwise) {
  const auto* integer = a.given(parameter) ? a.given(parameter)->as<std::int64_t>() : nullptr;
  return integer && (*integer == 0 || *integer == 1) ? *integer == 1 : a.flag(parameter, otherwise);
}
Value svd_(const Arguments& a) {
  if (!number_or_flag(a, 2, true)) return {svdvals(a.operand(0))};
  const auto [u, s, vh] = svd(a.operand(0), number_or_flag(a, 1, true));
  return {Tuple{{u}, {s}, {vh}}};
}
Triangle triangle(const Arguments& a) {
  const std::string uplo = a.text(1, "L");
  if (uplo != "L" && uplo != "U" && uplo != "l" && uplo != "u") a.fail(1, "UPLO must be 'L' or 'U'");
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
/// Returns whether the argument is complex: a pair (re, im) in parentheses; anything else is real.
bool is_pair(const Arguments& a) {
  const Tuple* both = a.given(0) ? a.given(0)->as<Tuple>() : nullptr;
  return both && !both->is_list && both->size() == 2;
}
Complex complex_numbers(const Arguments& a) {
  if (holds_complex(*a.given(0))) return complex_of(*a.given(0), a.function());
  if (is_pair(a)) return {array_of(a.given(0)->as<Tuple>()->front(), a.function()), array_of(a.given(0)->as<Tuple>()->back(), a.function())};
  const Tensor re = a.tensor(0);
  return {re, zeros_like(re)};
}
Value complex_numbers(const Complex& x) {
  Tuple pair{{x.re}, {x.im}};
  pair.is_complex = true;
  return {std::move(pair)};
}
Value abs_(const Arguments& a) {
  if (a.given(0) && holds_complex(*a.given(0))) return {abs(complex_numbers(a))};
  return {abs(a.operand(0))};
}
fft::Norm norm_of(const Arguments& a, int parameter) {
  const std::string norm = a.text(parameter, "backward");
  if (norm != "backward" && norm != "ortho" && norm != "forward") a.fail(parameter, "norm must be 'backward', 'ortho' or 'forward'");
  return norm == "ortho" ? fft::Norm::ortho : norm == "forward" ? fft::Norm::forward : fft::Norm::backward;
}
Value real_(const Arguments& a) { return {complex_numbers(a).re}; }
Value imag_(const Arguments& a) { return {complex_numbers(a).im}; }
Value conj_(const Arguments& a) {
  const Complex x = complex_numbers(a);
  return is_pair(a) || holds_complex(*a.given(0)) ? complex_numbers(conj(x)) : Value{x.re};
}
Value angle_(const Arguments& a) {
  const Tensor radians = angle(complex_numbers(a));
  return {a.flag(1) ? rad2deg(radians) : radians};
}
Value fft_(const Arguments& a) { return complex_numbers(fft::fft(complex_numbers(a), a.axis(1), a.integer(2, -1), norm_of(a, 3), Location{})); }
Value ifft_(const Arguments& a) { return complex_numbers(fft::ifft(complex_numbers(a), a.axis(1), a.integer(2, -1), norm_of(a, 3), Location{})); }
Value rfft_(const Arguments& a) { return complex_numbers(fft::rfft(a.operand(0), a.axis(1), a.integer(2, -1), norm_of(a, 3))); }
Value irfft_(const Arguments& a) { return {fft::irfft(complex_numbers(a), a.axis(1), a.integer(2, -1), norm_of(a, 3), Location{})}; }
Value hfft_(const Arguments& a) { return {fft::hfft(complex_numbers(a), a.axis(1), a.integer(2, -1), norm_of(a, 3), Location{})}; }
Value ihfft_(const Arguments& a) { return complex_numbers(fft::ihfft(a.operand(0), a.axis(1), a.integer(2, -1), norm_of(a, 3))); }
Shape sizes_of(const Arguments& a) { return a.given(1) ? a.shape(1) : Shape{}; }
/// Returns the axes: by default the last two, or all.
template <int last> Axes axes_of(const Arguments& a) { return a.axes(2, last == 2 ? Axes{-2, -1} : Axes{}); }
template <int last> Value fftn_(const Arguments& a) {
  return complex_numbers(fft::fftn(complex_numbers(a), sizes_of(a), axes_of<last>(a), norm_of(a, 3), Location{}));
}
template <int last> Value ifftn_(const Arguments& a) {
  return complex_numbers(fft::ifftn(complex_numbers(a), sizes_of(a), axes_of<last>(a), norm_of(a, 3), Location{}));
}
template <int last> Value rfftn_(const Arguments& a) { return complex_numbers(fft::rfftn(a.operand(0), sizes_of(a), axes_of<last>(a), norm_of(a, 3))); }
template <int last> Value irfftn_(const Arguments& a) { return {fft::irfftn(complex_numbers(a), sizes_of(a), axes_of<last>(a), norm_of(a, 3), Location{})}; }
Value fftfreq_(const Arguments& a) {
  const Tensor made = fft::fftfreq(a.integer(0, 1), a.number(1, 1), Location{});
  return {a.given(2) ? astype(made, *a.dtype(2)) : made};
}
Value rfftfreq_(const Arguments& a) {
  const Tensor made = fft::rfftfreq(a.integer(0, 1), a.number(1, 1), Location{});
  return {a.given(2) ? astype(made, *a.dtype(2)) : made};
}
Value pinv_(const Arguments& a) {
  if (const Tensor* each = a.given(3) ? a.given(3)->as<Tensor>() : nullptr; each && each->ndim() > 0) {  // a threshold for each matrix
    const auto [u, s, vh] = svd(a.operand(0), false);
    const Tensor cutoff = expand_dims(*each, -1) * max(s, -1, true), inverse = where(s > cutoff, 1.0 / where(s > cutoff, s, 1.0), 0.0);
    return {matmul(matrix_transpose(vh), expand_dims(astype(inverse, s.dtype()), -1) * matrix_transpose(u))};
  }
  return {pinv(a.operand(0), number_or_none(a, a.given(3) ? 3 : 1))};
}
Value matrix_rank_(const Arguments& a) { return {matrix_rank(a.operand(0), number_or_none(a, 3), number_or_none(a, 1))}; }
Value vector_norm_(const Arguments& a) { return {vector_norm(a.operand(0), a.axes(1), a.flag(2), a.number(3, 2))}; }

template <std::vector<Tensor> (*F)(const Arg&, std::int64_t), std::int64_t axis> Value split_along(const Arguments& a) {
  if (is_whole_number(*a.given(1))) return list(F(a.operand(0), a.integer(1, 1)));
  const Tensor x = a.tensor(0);
  return list(split(x, a.list(1), axis == 1 && x.ndim() == 1 ? 0 : axis));
}
Value append_(const Arguments& a) { return {append(a.operand(0), a.operand(1), a.axis(2))}; }
Value insert_(const Arguments& a) { return {insert(a.operand(0), a.integer(1, 0), a.operand(2), a.axis(3))}; }
Value resize_(const Arguments& a) { return {cycle_to(a.operand(0), a.shape(1))}; }
Value identity_(const Arguments& a) { return {identity(a.integer(0, 1), a.dtype(1).value_or(DType::float64), Location{})}; }
Value tri_(const Arguments& a) { return {tri(a.integer(0, 1), a.axis(1), a.integer(2, 0), a.dtype(3).value_or(DType::float64), Location{})}; }
template <std::vector<Tensor> (*F)(std::int64_t, std::int64_t, std::optional<std::int64_t>, Location)> Value triangle_places(const Arguments& a) {
  return list(F(a.integer(0, 1), a.integer(1, 0), a.axis(2), Location{}));
}
Value vander_(const Arguments& a) { return {vander(a.operand(0), a.axis(1), a.flag(2))}; }
Value indices_(const Arguments& a) {
  const DType dtype = a.dtype(1).value_or(DType::int64);
  if (!a.flag(2)) return {astype(indices(a.shape(0), Location{}), dtype)};
  const Shape shape = a.shape(0);
  std::vector<Tensor> along;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    Shape one(shape.size(), 1);
    one[k] = shape[k];
    along.push_back(reshape(arange(shape[k], dtype), one));
  }
  return list(along);
}
/// Moves the points to `axis` and rounds them to `dtype`.
Value laid_along(const Arguments& a, const Tensor& points, int dtype, int axis) {
  const Tensor moved = moveaxis(points, 0, a.integer(axis, 0));
  return {a.given(dtype) ? astype(moved, *a.dtype(dtype)) : moved};
}
Value logspace_(const Arguments& a) { return laid_along(a, logspace(a.operand(0), a.operand(1), a.integer(2, 50), a.flag(3, true), a.number(4, 10)), 5, 6); }
Value geomspace_(const Arguments& a) {
  if (!a.given(0)->is_number() || !a.given(1)->is_number())
    return laid_along(a, geomspace(a.operand(0), a.operand(1), a.integer(2, 50), a.flag(3, true)), 4, 5);
  return laid_along(a, geomspace(a.number(0, 1), a.number(1, 1), a.integer(2, 50), a.flag(3, true), Location{}), 4, 5);
}
template <Tensor (*F)(const Arg&, const Arg&, ConvolveMode)> Value convolved(const Arguments& a) {
  const std::string mode = a.text(2, F == static_cast<decltype(F)>(convolve) ? "full" : "valid");
  if (mode != "full" && mode != "same" && mode != "valid") a.fail(2, "mode must be 'full', 'same' or 'valid'");
  return {F(a.operand(0), a.operand(1), mode == "full" ? ConvolveMode::full : mode == "same" ? ConvolveMode::same : ConvolveMode::valid)};
}
template <Tensor (*F)(std::int64_t, Location)> Value window(const Arguments& a) { return {F(a.integer(0, 1), Location{})}; }
Value kaiser_(const Arguments& a) { return {kaiser(a.integer(0, 1), a.number(1, 0), Location{})}; }
Value unwrap_(const Arguments& a) {
  const double period = a.number(3, 2 * std::numbers::pi);
  if (a.number(1, 0) > period / 2) a.fail(1, "discont beyond half a period leaves jumps that are larger than that; unwrap() takes all of them out");
  return {unwrap(a.operand(0), a.integer(2, -1), period)};
}
Value array_equal_(const Arguments& a) { return {array_equal(a.operand(0), a.operand(1), a.flag(2))}; }
Value multi_dot_(const Arguments& a) { return {multi_dot(a.tensors(0), Location{})}; }
Value shape_(const Arguments& a) {
  const Tensor x = a.tensor(0);  // keeps the shape alive
  Tuple sizes;
  for (const std::int64_t size : x.shape()) sizes.push_back({size, a.given(0)->offset});
  return {std::move(sizes)};
}
Value size_(const Arguments& a) {
  const Tensor x = a.tensor(0);
  return {a.axis(1) ? x.size(a.small_integer(1, 0), Location{}) : x.size()};
}
Value ndim_(const Arguments& a) { return {std::int64_t{a.tensor(0).ndim()}}; }
TypeOperand type_operand(const Arguments& a, const Value& value) {
  if (value.as<DType>() || value.as<std::string>()) return dtype_of(value, "arrays_and_dtypes", a.function());
  if (const auto* b = value.as<bool>()) return *b;
  if (const auto* i = value.as<std::int64_t>()) return *i;
  if (const auto* f = value.as<double>()) return *f;
  return array_of(value, a.function());
}
Value result_type_(const Arguments& a) {
  const Tuple* several = a.given(0) ? a.given(0)->as<Tuple>() : nullptr;
  std::vector<TypeOperand> operands;
  if (!several) operands.push_back(type_operand(a, *a.given(0)));
  else
    for (const Value& value : *several) operands.push_back(type_operand(a, value));
  return {result_type(operands.data(), operands.size(), Location{})};
}
Value promote_types_(const Arguments& a) { return {promote_types(a.dtype(0).value(), a.dtype(1).value(), Location{})}; }
Value can_cast_(const Arguments& a) {
  const Value& from = *a.given(0);
  const DType type = from.as<Tensor>() ? from.as<Tensor>()->dtype() : a.dtype(0).value();
  return {can_cast(type, a.dtype(1).value(), casting_of(a, 2))};
}
Value isdtype_(const Arguments& a) {
  const DType type = a.dtype(0).value();
  const Value& kind = *a.given(1);
  if (const auto* dtype = kind.as<DType>()) return {type == *dtype};
  const Tuple one{kind};
  for (const Value& word : kind.as<Tuple>() ? *kind.as<Tuple>() : one) {
    if (word.as<DType>() ? *word.as<DType>() == type : word.as<std::string>() && isdtype(type, *word.as<std::string>(), Location{})) return {true};
    if (!word.as<DType>() && !word.as<std::string>()) a.fail(1, "kind must be a dtype, a word such as 'integral', or a tuple of them");
  }
  return {false};
}
/// Returns the limits of a type as attributes, as in finfo(float32).eps.
Value limits_of(const Arguments& a) {
  const Value& given = *a.given(0);
  const DType type = given.as<Tensor>() ? given.as<Tensor>()->dtype() : a.dtype(0).value();
  if (a.function() == "finfo") (void)finfo(type, Location{});
  else (void)iinfo(type, Location{});
  return {Limits{type}};
}
/// Checks that Python's integers fit a narrower type of an array, because they do not wrap. Throws Fault at the first that does not fit.
void check_fit(const Value& value, DType dtype) {
  if (const Tuple* items = value.as<Tuple>())
    for (const Value& item : *items) check_fit(item, dtype);
  const auto* integer = value.as<std::int64_t>();
  const IntegerInfo limits = iinfo(dtype, Location{});
  if (const auto* large = value.as<std::uint64_t>(); large && *large > limits.max)
    throw Fault{value.offset, fmt::format("{} is out of bounds for {}; array(…).astype({}) lets it wrap", *large, sinter::name(dtype), sinter::name(dtype))};
  if (!integer) return;
  if (*integer < limits.min || (*integer > 0 && static_cast<std::uint64_t>(*integer) > limits.max))
    throw Fault{value.offset, fmt::format("{} is out of bounds for {}; array(…).astype({}) lets it wrap", *integer, sinter::name(dtype), sinter::name(dtype))};
}
void check_fit(const Arguments& a) {
  if (const auto dtype = a.dtype(1); dtype && is_integer(*dtype) && a.given(0)) check_fit(*a.given(0), *dtype);
}
Value array_(const Arguments& a) {
  check_fit(a);
  check_order(a, 3);
  Tensor tensor = a.tensor(0);
  if (const std::int64_t missing = a.integer(4, 0) - tensor.ndim(); missing > 0) {
    if (missing > 32) a.fail(4, "ndmin must be at most 32");
    Shape shape(static_cast<std::size_t>(missing), 1);
    shape.insert(shape.end(), tensor.shape().begin(), tensor.shape().end());
    tensor = reshape(tensor, shape);
  }
  return {a.given(1) ? astype(tensor, *a.dtype(1)) : tensor};
}
Value as_array_(const Arguments& a) {
  check_fit(a);
  check_order(a, 2);
  return {a.given(1) ? astype(a.tensor(0), *a.dtype(1)) : a.tensor(0)};
}
Value finite_array_(const Arguments& a) {
  const Value array = as_array_(a);
  if (!all(isfinite(*array.as<Tensor>())).item<bool>(Location{})) a.fail(0, "array must not contain infs or NaNs");
  return array;
}

constexpr std::string_view kArray = "object|obj dtype? * copy? order? ndmin?";
constexpr std::string_view kReduceFrom = "a axis? dtype? * keepdims? initial? where?", kExtreme = "a axis? * keepdims? initial? where?";
constexpr std::string_view kReduce = "a axis? * keepdims?", kSpread = "a axis? dtype? * ddof? keepdims? correction? where? mean?",
                           kTruth = "a axis? * keepdims? where?";

constexpr Function kFunctions[] = {
    {"abs", "x", abs_},
    {"absolute", "x", abs_},
    {"acos", "x", unary<acos>},
    {"acosh", "x", unary<acosh>},
    {"adaptive_avg_pool1d", "input output_size", adaptive_avg_pool1d_},
    {"adaptive_avg_pool2d", "input output_size", adaptive_avg_pool2d_},
    {"adaptive_max_pool2d", "input output_size", adaptive_max_pool2d_},
    {"add", "x1 x2", binary<add>},
    {"add_along_axis", "arr indices values axis?", add_along_axis_},
    {"add_at", "a indices b", add_at_},
    {"all", kTruth, truth<all, true>},
    {"allclose", "a b rtol? atol? equal_nan?", close<allclose>},
    {"amax", kExtreme, extreme_from<max, maximum>},
    {"amin", kExtreme, extreme_from<min, minimum>},
    {"angle", "z deg?", angle_},
    {"any", kTruth, truth<any, false>},
    {"append", "arr values axis?", append_, 3},
    {"arange", "start stop? step? dtype?", arange_},
    {"arccos", "x", unary<acos>},
    {"arccosh", "x", unary<acosh>},
    {"arcsin", "x", unary<asin>},
    {"arcsinh", "x", unary<asinh>},
    {"arctan", "x", unary<atan>},
    {"arctan2", "x1 x2", binary<atan2>},
    {"arctanh", "x", unary<atanh>},
    {"argmax", "a axis? * keepdims?", extreme_place<argmax>},
    {"argmin", "a axis? * keepdims?", extreme_place<argmin>},
    {"argpartition", "a kth axis? kind? order?", parted<argpartition>},
    {"argsort", "a axis? kind? order? * stable? descending?", sorted<argsort>},
    {"argwhere", "a", unary<argwhere>},
    {"around", "a decimals?", round_, 1},
    {"array", kArray, array_},
    {"array_equal", "a1 a2 equal_nan?", array_equal_},
    {"array_equiv", "a1 a2", array_equiv_},
    {"array_split", "ary indices_or_sections axis?", array_split_, 1},
    {"as_strided", "x shape strides subok? writeable?", as_strided_},
    {"asanyarray", "a dtype? order?", as_array_},
    {"asarray", "a|object dtype? * copy? order? ndmin?", array_},
    {"asarray_chkfinite", "a dtype? order?", finite_array_},
    {"ascontiguousarray", "a dtype?", contiguous_, 1},
    {"asfortranarray", "a dtype?", contiguous_},
    {"asin", "x", unary<asin>},
    {"asinh", "x", unary<asinh>},
    {"astype", "x dtype order? casting? subok? copy?", astype_},
    {"atan", "x", unary<atan>},
    {"atan2", "x1 x2", binary<atan2>},
    {"atanh", "x", unary<atanh>},
    {"atleast_1d", "arys+", each<atleast_1d>, 1},
    {"atleast_2d", "arys+", each<atleast_2d>, 1},
    {"atleast_3d", "arys+", each<atleast_3d>, 1},
    {"average", "a axis? weights? * keepdims? returned?", average_, 1},
    {"avg_pool1d", kAvgPool, avg_pool1d_},
    {"avg_pool2d", kAvgPool, avg_pool2d_},
    {"avg_pool3d", kAvgPool, avg_pool3d_},
    {"bartlett", "M", window<bartlett>},
    {"batch_norm", "input running_mean running_var weight? bias? * eps?", batch_norm_},
    {"bernoulli", "size p? * key", bernoulli_},
    {"beta", "size a b * key dtype?", random_between<random::beta>},
    {"bincount", "x weights? minlength?", bincount_},
    {"binomial", "size n p * key dtype?", binomial_},
    {"bitwise_and", "x1 x2", binary<bitwise_and>},
    {"bitwise_count", "x", unary<bitwise_count>},
    {"bitwise_invert", "x", unary<bitwise_not>},
    {"bitwise_left_shift", "x1 x2", binary<left_shift>},
    {"bitwise_not", "x", unary<bitwise_not>},
    {"bitwise_or", "x1 x2", binary<bitwise_or>},
    {"bitwise_right_shift", "x1 x2", binary<right_shift>},
    {"bitwise_xor", "x1 x2", binary<bitwise_xor>},
    {"blackman", "M", window<blackman>},
    {"block", "arrays", block_, 1},
    {"broadcast_arrays", "args+", broadcast_arrays_, 1},
    {"broadcast_shapes", "args+", broadcast_shapes_},
    {"broadcast_to", "array shape", broadcast_to_, 1},
    {"can_cast", "from_|from to casting?", can_cast_},
    {"categorical", "logits axis? size? * key", categorical_},
    {"cauchy", "size loc? scale? * key dtype?", random_between<random::cauchy>},
    {"cbrt", "x", unary<cbrt>},
    {"cdist", "a b ord?", [](const Arguments& a) -> Value { return {cdist(a.operand(0), a.operand(1), a.number(2, 2))}; }},
    {"ceil", "x", unary<ceil>},
    {"celu", "x alpha?", with_number<celu, 1>},
    {"chisquare", "size df * key dtype?", random_of<random::chisquare>},
    {"cho_solve", "c b lower?", cho_solve_},
    {"choice", "a size axis? replace? p? * key", choice_},
    {"cholesky", "a * upper?", cholesky_},
    {"choose", "a choices mode?", choose_},
    {"clamp", "input min? max?", clip_},
    {"clip", "a min|a_min? max|a_max?", clip_},
    {"column_stack", "tup * dtype? casting?", stacked<column_stack>, 1},
    {"common_type", "arrays+", common_type_},
    {"compress", "condition a axis?", compress_, 2},
    {"concat", "arrays axis? * dtype? casting?", concatenate_, 1},
    {"concatenate", "arrays axis? * dtype? casting?", concatenate_, 1},
    {"cond", "x p?", cond_},
    {"conj", "x", conj_},
    {"conjugate", "x", conj_},
    {"contiguous", "a", unary<contiguous>, 1},
    {"conv", kConv, conv_},
    {"conv1d", kConv, conv1d_},
    {"conv2d", kConv, conv2d_},
    {"conv3d", kConv, conv3d_},
    {"conv_transpose", kConvTranspose, conv_transpose_},
    {"conv_transpose1d", kConvTranspose, conv_transpose1d_},
    {"conv_transpose2d", kConvTranspose, conv_transpose2d_},
    {"conv_transpose3d", kConvTranspose, conv_transpose3d_},
    {"convolve", "a v mode?", convolved<convolve>},
    {"copy", "a order?", copy_, 1},
    {"copysign", "x1 x2", binary<copysign>},
    {"copyto", "dst src casting? * where?", copyto_},
    {"corrcoef", "x y? rowvar? * dtype?", corrcoef_},
    {"correlate", "a v mode?", convolved<correlate>},
    {"cos", "x", unary<cos>},
    {"cosh", "x", unary<cosh>},
    {"count_nonzero", kReduce, reduce<count_nonzero>},
    {"cov", "m y? rowvar? bias? ddof? fweights? aweights? * dtype?", cov_},
    {"cross", "a b axisa? axisb? axisc? axis?", cross_},
    {"cummax", "a axis?", scan<cummax>},
    {"cummin", "a axis?", scan<cummin>},
    {"cumprod", "a axis? dtype?", scan_as<cumprod>},
    {"cumsum", "a axis? dtype?", scan_as<cumsum>, 1},
    {"cumulative_prod", "x * axis? dtype? include_initial?", cumulative<cumulative_prod>},
    {"cumulative_sum", "x * axis? dtype? include_initial?", cumulative<cumulative_sum>, 1},
    {"deg2rad", "x", unary<deg2rad>},
    {"degrees", "x", unary<rad2deg>},
    {"delete", "arr obj axis?", delete_, 1},
    {"det", "a", unary<det>},
    {"diag", "v k?", by_diagonal<diag>, 1},
    {"diag_indices", "n ndim?", diag_indices_},
    {"diag_indices_from", "arr", diag_indices_from_},
    {"diagflat", "v k?", by_diagonal<diagflat>, 1},
    {"diagonal", "a offset? axis1? axis2?", diagonal_, 1},
    {"diff", "a n? axis? prepend? append?", diff_, 25},
    {"digamma", "x", unary<digamma>},
    {"digitize", "x bins right?", digitize_},
    {"dirichlet", "alpha size? * key dtype?", dirichlet_},
    {"divide", "x1 x2", binary<divide>},
    {"divmod", "x1 x2", binary_pair<divmod>},
    {"dot", "a b", binary<dot>},
    {"dsplit", "ary indices_or_sections", split_along<dsplit, 2>},
    {"dstack", "tup * dtype? casting?", stacked<dstack>, 1},
    {"ediff1d", "ary to_end? to_begin?", ediff1d_, 7},
    {"eig", "a", eig_},
    {"eigh", "a UPLO?", eigh_},
    {"eigvals", "a", eigvals_},
    {"eigvalsh", "a UPLO?", eigvalsh_},
    {"einsum", "subscripts operands+ * optimize?", einsum_},
    {"elu", "x alpha?", with_number<elu, 1>},
    {"embedding", "input weight", embedding_},
    {"empty", "shape dtype? order?", filled<empty>},
    {"empty_like", "a|prototype dtype? order? subok? shape?", filled_like<empty>},
    {"equal", "x1 x2", binary<equal>},
    {"erf", "x", unary<erf>},
    {"erfc", "x", unary<erfc>},
    {"erfinv", "x", unary<erfinv>},
    {"exp", "x", unary<exp>},
    {"exp2", "x", unary<exp2>},
    {"expand_dims", "a axis", over_axes<expand_dims>, 1},
    {"expit", "x", unary<sigmoid>},
    {"expm1", "x", unary<expm1>},
    {"exponential", "size scale? * key dtype?", exponential_},
    {"extract", "condition arr", binary<extract>, 2},
    {"eye", "N M? k? dtype? order?", eye_},
    {"fabs", "x", fabs_},
    {"fft", "a n? axis? norm?", fft_},
    {"fft2", "a s? axes? norm?", fftn_<2>},
    {"fftfreq", "n d? * dtype?", fftfreq_},
    {"fftn", "a s? axes? norm?", fftn_<0>},
    {"fftshift", "x axes?", over_axes<fft::fftshift>, 1},
    {"fill_diagonal", "a val wrap?", fill_diagonal_},
    {"finfo", "type|dtype", limits_of},
    {"fix", "x", unary<fix>},
    {"flatnonzero", "a", unary<flatnonzero>},
    {"flatten", "a order?", ravel_, 1},
    {"flip", "m axis?", over_axes<flip>, 1},
    {"fliplr", "m", unary<fliplr>, 1},
    {"flipud", "m", unary<flipud>, 1},
    {"float_power", "x1 x2", binary<float_power>},
    {"floor", "x", unary<floor>},
    {"floor_divide", "x1 x2", binary<floor_divide>},
    {"fmax", "x1 x2", binary<fmax>},
    {"fmin", "x1 x2", binary<fmin>},
    {"fmod", "x1 x2", binary<fmod>},
    {"frexp", "x", unary_pair<frexp>},
    {"fromiter", "iter dtype? count?", fromiter_},
    {"full", "shape fill_value dtype? order?", full_, 2},
    {"full_like", "a fill_value dtype? order? subok? shape?", full_like_, 3},
    {"gamma", "size shape scale? * key dtype?", random_between<random::gamma>},
    {"gammaln", "x", unary<lgamma>},
    {"gcd", "x1 x2", binary<gcd>},
    {"gelu", "x approximate?", gelu_},
    {"geometric", "size p * key dtype?", geometric_},
    {"geomspace", "start stop num? endpoint? dtype? axis?", geomspace_},
    {"global_avg_pool", "input", unary<global_avg_pool>},
    {"global_max_pool", "input", unary<global_max_pool>},
    {"glu", "x axis?", halves<glu>},
    {"gradient", "f varargs+? * axis? edge_order?", gradient_, 1},
    {"greater", "x1 x2", binary<greater>},
    {"greater_equal", "x1 x2", binary<greater_equal>},
    {"group_norm", "input num_groups weight? bias? eps?", group_norm_},
    {"gumbel", "size loc? scale? * key dtype?", random_between<random::gumbel>},
    {"hamming", "M", window<hamming>},
    {"hanning", "M", window<hanning>},
    {"hard_sigmoid", "x", unary<hard_sigmoid>},
    {"hard_swish", "x", unary<hard_swish>},
    {"hardshrink", "input lambd?", hardshrink_},
    {"hardsigmoid", "input", unary<hard_sigmoid>},
    {"hardswish", "input", unary<hard_swish>},
    {"hardtanh", "input min_val? max_val?", hardtanh_},
    {"heaviside", "x1 x2", binary<heaviside>},
    {"hfft", "a n? axis? norm?", hfft_},
    {"histogram", "a bins? range? density? weights?", histogram_},
    {"histogram2d", "x y bins? range? density? weights?", histogram2d_},
    {"histogram_bin_edges", "a bins? range? weights?", histogram_bin_edges_},
    {"histogramdd", "sample bins? range? density? weights?", histogramdd_},
    {"hsplit", "ary indices_or_sections", split_along<hsplit, 1>, 1},
    {"hstack", "tup * dtype? casting?", stacked<hstack>, 1},
    {"hypot", "x1 x2", binary<hypot>},
    {"i0", "x", unary<i0>},
    {"identity", "n dtype?", identity_},
    {"ifft", "a n? axis? norm?", ifft_},
    {"ifft2", "a s? axes? norm?", ifftn_<2>},
    {"ifftn", "a s? axes? norm?", ifftn_<0>},
    {"ifftshift", "x axes?", over_axes<fft::ifftshift>, 1},
    {"ihfft", "a n? axis? norm?", ihfft_},
    {"iinfo", "type|dtype", limits_of},
    {"imag", "val", imag_},
    {"in1d", "ar1 ar2 assume_unique? invert?", membership<in1d>},
    {"indices", "dimensions dtype? sparse?", indices_},
    {"inner", "a b", binary<inner>},
    {"insert", "arr obj values axis?", insert_, 5},
    {"instance_norm", "input weight? bias? * eps?", instance_norm_},
    {"integers", "size low high * key dtype?", integers_},
    {"interp", "x xp fp left? right? period?", interp_, 28},
    {"interpolate", "input size? scale_factor? mode? align_corners? antialias?", interpolate_},
    {"intersect1d", "ar1 ar2 assume_unique? return_indices?", intersect1d_},
    {"inv", "a", unary<inv>},
    {"invert", "x", unary<bitwise_not>},
    {"irfft", "a n? axis? norm?", irfft_},
    {"irfft2", "a s? axes? norm?", irfftn_<2>},
    {"irfftn", "a s? axes? norm?", irfftn_<0>},
    {"isclose", "a b rtol? atol? equal_nan?", close<isclose>},
    {"iscomplex", "x", iscomplex_},
    {"iscomplexobj", "x", iscomplexobj_},
    {"isdtype", "dtype kind", isdtype_},
    {"isfinite", "x", unary<isfinite>},
    {"isin", "element test_elements assume_unique? invert? * kind?", membership<isin>},
    {"isinf", "x", unary<isinf>},
    {"isnan", "x", unary<isnan>},
    {"isneginf", "x", unary<isneginf>},
    {"isposinf", "x", unary<isposinf>},
    {"isreal", "x", isreal_},
    {"isrealobj", "x", isrealobj_},
    {"isscalar", "element", isscalar_},
    {"issubdtype", "arg1 arg2", issubdtype_},
    {"ix_", "args+", ix_},
    {"kaiser", "M beta", kaiser_},
    {"kron", "a b", binary<kron>},
    {"laplace", "size loc? scale? * key dtype?", random_between<random::laplace>},
    {"layer_norm", "x weight? bias? eps? axis?", layer_norm_},
    {"lcm", "x1 x2", binary<lcm>},
    {"ldexp", "x1 x2", binary<ldexp>},
    {"leaky_relu", "x negative_slope?", leaky_relu_},
    {"left_shift", "x1 x2", binary<left_shift>},
    {"lerp", "input end weight", lerp_},
    {"less", "x1 x2", binary<less>},
    {"less_equal", "x1 x2", binary<less_equal>},
    {"lexsort", "keys axis?", lexsort_},
    {"lgamma", "x", unary<lgamma>},
    {"linear", "input weight bias?", linear_},
    {"linspace", "start stop num? endpoint? dtype? * retstep? axis?", linspace_, 3},
    {"local_response_norm", "input size alpha? beta? k?", local_response_norm_},
    {"log", "x", unary<log>},
    {"log10", "x", unary<log10>},
    {"log1p", "x", unary<log1p>},
    {"log2", "x", unary<log2>},
    {"log_softmax", "x axis?", over_last_axis<log_softmax>},
    {"logaddexp", "x1 x2", binary<logaddexp>},
    {"logaddexp2", "x1 x2", binary<logaddexp2>},
    {"logcumsumexp", "x axis?", scan<logcumsumexp>},
    {"logical_and", "x1 x2", binary<logical_and>},
    {"logical_not", "x", unary<logical_not>},
    {"logical_or", "x1 x2", binary<logical_or>},
    {"logical_xor", "x1 x2", binary<logical_xor>},
    {"logistic", "size loc? scale? * key dtype?", random_between<random::logistic>},
    {"lognormal", "size mean? sigma? * key dtype?", random_between<random::lognormal>},
    {"logsigmoid", "input", unary<logsigmoid>},
    {"logspace", "start stop num? endpoint? base? dtype? * axis?", logspace_},
    {"logsumexp", kReduce, reduce<logsumexp>},
    {"lp_pool1d", kLpPool, lp_pool1d_},
    {"lp_pool2d", kLpPool, lp_pool2d_},
    {"lstsq", "a b rcond?", lstsq_},
    {"materialize", "x", unary<materialize>, 1},
    {"matmul", "x1 x2", binary<matmul>},
    {"matrix_norm", "x * keepdims? ord?", matrix_norm_},
    {"matrix_power", "a n", matrix_power_},
    {"matrix_rank", "A tol? hermitian? * rtol?", matrix_rank_},
    {"matrix_transpose", "x", unary<matrix_transpose>, 1},
    {"matvec", "x1 x2", binary<matvec>},
    {"max", kExtreme, extreme_from<max, maximum>},
    {"max_pool1d", kMaxPool, max_pool1d_},
    {"max_pool2d", kMaxPool, max_pool2d_},
    {"max_pool3d", kMaxPool, max_pool3d_},
    {"maximum", "x1 x2", binary<maximum>},
    {"mean", "a axis? dtype? * keepdims? where?", mean_, 1},
    {"median", "a axis? * keepdims?", reduce<median>},
    {"meshgrid", "xi+ * indexing? sparse? copy?", meshgrid_, 1},
    {"min", kExtreme, extreme_from<min, minimum>},
    {"min_scalar_type", "a", min_scalar_type_},
    {"minimum", "x1 x2", binary<minimum>},
    {"mish", "x", unary<mish>},
    {"mod", "x1 x2", binary<remainder>},
    {"modf", "x", unary_pair<modf>},
    {"moveaxis", "a source destination", moveaxis_, 1},
    {"multi_dot", "arrays", multi_dot_},
    {"multiply", "x1 x2", binary<multiply>},
    {"nan_to_num", "x copy? nan? posinf? neginf?", nan_to_num_, 1},
    {"nanargmax", "a axis? * keepdims?", extreme_place<nanargmax>},
    {"nanargmin", "a axis? * keepdims?", extreme_place<nanargmin>},
    {"nancumprod", "a axis? dtype?", scan_as<nancumprod>},
    {"nancumsum", "a axis? dtype?", scan_as<nancumsum>},
    {"nanmax", kExtreme, extreme_from<nanmax, maximum, NaN::left_out>},
    {"nanmean", "a axis? dtype? * keepdims? where?", nanmean_},
    {"nanmedian", "a axis? * keepdims?", reduce<nanmedian>},
    {"nanmin", kExtreme, extreme_from<nanmin, minimum, NaN::left_out>},
    {"nanpercentile", "a q axis? * method? keepdims? weights?", quantile_<nanpercentile>},
    {"nanprod", kReduceFrom, reduce_from<prod, multiply, 1, NaN::left_out>},
    {"nanquantile", "a q axis? * method? keepdims? weights?", quantile_<nanquantile>},
    {"nanstd", kSpread, spread<nanstd>},
    {"nansum", kReduceFrom, reduce_from<sum, add, 0, NaN::left_out>},
    {"nanvar", kSpread, spread<nanvar>},
    {"ndim", "a", ndim_},
    {"ndtr", "x", unary<ndtr>},
    {"negative", "x", unary<negative>, 1},
    {"nextafter", "x1 x2", binary<nextafter>},
    {"nonzero", "a", nonzero_},
    {"norm", "x ord? axis? keepdims?", norm_},
    {"normal", "size loc|mean? scale|std? * key dtype?", random_between<random::normal>},
    {"not_equal", "x1 x2", binary<not_equal>},
    {"one_hot", "input num_classes", one_hot_},
    {"ones", "shape dtype? order?", filled<ones>},
    {"ones_like", "a|prototype dtype? order? subok? shape?", filled_like<ones>},
    {"outer", "a b", binary<outer>},
    {"packbits", "a axis? bitorder?", packbits_},
    {"pad", "array pad_width mode? * constant_values? stat_length? end_values?", pad_, 1},
    {"pareto", "size a * key dtype?", random_of<random::pareto>},
    {"partition", "a kth axis? kind? order?", parted<partition>},
    {"percentile", "a q axis? * method? keepdims? weights?", quantile_<percentile>},
    {"permutation", "x axis? * key", permutation_},
    {"permute_dims", "a axes+", transpose_, 1},
    {"piecewise", "x condlist funclist", piecewise_},
    {"pinv", "a rcond? hermitian? * rtol?", pinv_},
    {"pixel_shuffle", "input upscale_factor", pixel_shuffle_},
    {"pixel_unshuffle", "input downscale_factor", pixel_unshuffle_},
    {"place", "arr mask vals", ternary<place>},
    {"poisson", "size lam? * key dtype?", poisson_},
    {"poly", "seq_of_zeros", poly_},
    {"polyadd", "a1 a2", binary<polyadd>},
    {"polyder", "p m?", polyder_},
    {"polydiv", "u v", polydiv_},
    {"polyfit", "x y deg rcond? full? w? cov?", polyfit_},
    {"polyint", "p m? k?", polyint_},
    {"polymul", "a1 a2", binary<polymul>},
    {"polysub", "a1 a2", binary<polysub>},
    {"polyval", "p x", binary<polyval>},
    {"popcount", "x", unary<popcount>},
    {"positive", "x", unary<positive>, 1},
    {"pow", "x1 x2", binary<power>},
    {"power", "x1 x2", binary<power>},
    {"prelu", "input weight", prelu_},
    {"prod", kReduceFrom, reduce_from<prod, multiply, 1>},
    {"promote_types", "type1 type2", promote_types_},
    {"psi", "x", unary<digamma>},
    {"ptp", kReduce, reduce<ptp>},
    {"put", "a ind v mode?", put_},
    {"put_along_axis", "arr indices values axis?", put_along_axis_},
    {"putmask", "a mask values", putmask_},
    {"qr", "a mode?", qr_},
    {"quantile", "a q axis? * method? keepdims? weights?", quantile_<quantile>},
    {"rad2deg", "x", unary<rad2deg>},
    {"rademacher", "size * key dtype?", rademacher_},
    {"radians", "x", unary<deg2rad>},
    {"ravel", "a order?", ravel_, 1},
    {"ravel_multi_index", "multi_index dims mode? order?", ravel_multi_index_},
    {"rayleigh", "size scale? * key dtype?", random_of<random::rayleigh>},
    {"real", "val", real_},
    {"real_if_close", "a tol?", real_if_close_},
    {"reciprocal", "x", unary<reciprocal>},
    {"relu", "x", unary<relu>},
    {"relu6", "input", unary<relu6>},
    {"remainder", "x1 x2", binary<remainder>},
    {"repeat", "a repeats axis?", repeat_, 1},
    {"reshape", "a shape+ order? * copy?", reshape_, 1},
    {"resize", "a new_shape+", resize_},
    {"result_type", "arrays_and_dtypes+", result_type_},
    {"rfft", "a n? axis? norm?", rfft_},
    {"rfft2", "a s? axes? norm?", rfftn_<2>},
    {"rfftfreq", "n d? * dtype?", rfftfreq_},
    {"rfftn", "a s? axes? norm?", rfftn_<0>},
    {"right_shift", "x1 x2", binary<right_shift>},
    {"rint", "x", unary<rint>, 1},
    {"rms_norm", "x weight? eps? axis?", rms_norm_},
    {"roll", "a shift axis?", roll_, 1},
    {"rollaxis", "a axis start?", rollaxis_, 1},
    {"roots", "p", roots_},
    {"rot90", "m k? axes?", rot90_, 1},
    {"round", "a decimals?", round_, 1},
    {"row_stack", "tup * dtype? casting?", stacked<vstack>},
    {"rsqrt", "x", unary<rsqrt>},
    {"scaled_dot_product_attention", "query key value attn_mask? dropout_p? is_causal? scale? enable_gqa?", attention_},
    {"searchsorted", "a v side? sorter?", searchsorted_},
    {"select", "condlist choicelist default?", select_, 6},
    {"selu", "x", unary<selu>},
    {"setdiff1d", "ar1 ar2 assume_unique?", setdiff1d_},
    {"setxor1d", "ar1 ar2 assume_unique?", binary<setxor1d>},
    {"shape", "a", shape_},
    {"shuffle", "x axis? * key", permutation_},
    {"sigmoid", "x", unary<sigmoid>},
    {"sign", "x", unary<sign>},
    {"signbit", "x", unary<signbit>},
    {"silu", "x", unary<silu>},
    {"sin", "x", unary<sin>},
    {"sinc", "x", unary<sinc>},
    {"sinh", "x", unary<sinh>},
    {"size", "a axis?", size_},
    {"sliding_window_view", "x window_shape axis? * subok? writeable?", sliding_window_view_},
    {"slogdet", "a", slogdet_},
    {"softmax", "x axis?", over_last_axis<softmax>},
    {"softplus", "x", unary<softplus>},
    {"softshrink", "input lambd?", softshrink_},
    {"softsign", "input", unary<softsign>},
    {"solve", "a b", binary<solve>},
    {"solve_triangular", "a b lower? unit_diagonal?", solve_triangular_},
    {"sort", "a axis? kind? order? * stable? descending?", sorted<sort>},
    {"sort_complex", "a", sort_complex_},
    {"spacing", "x", unary<spacing>},
    {"split", "ary indices_or_sections axis?", split_, 1},
    {"sqrt", "x", unary<sqrt>},
    {"square", "x", unary<square>},
    {"squeeze", "a axis?", over_axes<squeeze>, 1},
    {"stack", "arrays axis? * dtype? casting?", join<stack>, 1},
    {"standard_t", "size df * key dtype?", random_of<random::standard_t>},
    {"std", kSpread, spread<stddev>},
    {"stft", "x length step window?", [](const Arguments& a) { return complex_numbers(stft(a.operand(0), a.integer(1, 1), a.integer(2, 1), a.tensor(3))); }},
    {"subtract", "x1 x2", binary<subtract>},
    {"sum", kReduceFrom, reduce_from<sum, add, 0>, 1},
    {"svd", "a full_matrices? compute_uv? hermitian?", svd_},
    {"svdvals", "x", unary<svdvals>},
    {"swapaxes", "a axis1 axis2", swapaxes_, 1},
    {"swiglu", "x axis?", halves<swiglu>},
    {"take", "a indices axis? mode?", take_, 1},
    {"take_along_axis", "arr indices axis?", take_along_axis_, 1},
    {"tan", "x", unary<tan>},
    {"tanh", "x", unary<tanh>},
    {"tanhshrink", "input", unary<tanhshrink>},
    {"tensordot", "a b axes?", tensordot_},
    {"tensorinv", "a ind?", tensorinv_},
    {"tensorsolve", "a b axes?", tensorsolve_},
    {"threshold", "input threshold value", threshold_},
    {"tile", "A reps", tile_, 1},
    {"topk", "a k axis? largest?", topk_},
    {"trace", "a offset? axis1? axis2? dtype?", trace_, 1},
    {"transpose", "a axes+?", transpose_, 1},
    {"trapezoid", "y x? dx? axis?", trapezoid_, 1},
    {"tri", "N M? k? dtype?", tri_},
    {"tril", "m k?", by_diagonal<tril>, 1},
    {"tril_indices", "n k? m?", triangle_places<tril_indices>},
    {"tril_indices_from", "arr k?", tril_indices_from_},
    {"trim_zeros", "filt trim?", trim_zeros_},
    {"triu", "m k?", by_diagonal<triu>, 1},
    {"triu_indices", "n k? m?", triangle_places<triu_indices>},
    {"triu_indices_from", "arr k?", triu_indices_from_},
    {"true_divide", "x1 x2", binary<divide>},
    {"trunc", "x", unary<trunc>},
    {"truncated_normal", "size lower upper * key dtype?", random_between<random::truncated_normal>},
    {"unfold", "input kernel_size dilation? padding? stride?", unfold_},
    {"uniform", "size low? high? * key dtype?", random_between<random::uniform>},
    {"union1d", "ar1 ar2", binary<union1d>},
    {"unique", "ar return_index? return_inverse? return_counts? axis? * equal_nan? sorted?", unique_},
    {"unique_all", "x", unique_all_},
    {"unique_counts", "x", unique_counts_},
    {"unique_inverse", "x", unary_pair<unique_inverse>},
    {"unique_values", "x", unary<unique_values>},
    {"unpackbits", "a axis? count? bitorder?", unpackbits_},
    {"unravel_index", "indices shape order?", unravel_index_},
    {"unstack", "x * axis?", unstack_, 1},
    {"unwrap", "p discont? axis? * period?", unwrap_},
    {"vander", "x N? increasing?", vander_},
    {"var", kSpread, spread<var>},
    {"vdot", "a b", binary<vdot>},
    {"vecdot", "x1 x2 * axis?", vecdot_},
    {"vecmat", "x1 x2", binary<vecmat>},
    {"vector_norm", "x * axis? keepdims? ord?", vector_norm_},
    {"view", "a dtype?", view_},
    {"vsplit", "ary indices_or_sections", split_along<vsplit, 0>, 1},
    {"vstack", "tup * dtype? casting?", stacked<vstack>, 1},
    {"weibull", "size a * key dtype?", random_of<random::weibull>},
    {"where", "condition x? y?", where_, 6},
    {"zeros", "shape dtype? order?", filled<zeros>},
    {"zeros_like", "a|prototype dtype? order? subok? shape?", filled_like<zeros>},
};
static_assert(std::is_sorted(std::begin(kFunctions), std::end(kFunctions), [](const Function& a, const Function& b) { return a.name < b.name; }),
              "find_function searches by halves");

/// The functions of NumPy's modules whose names have another meaning without the module.
constexpr Function kMembers[] = {
    {"linalg.cross", "x1 x2 * axis?", matrix_cross_},
    {"linalg.diagonal", "x * offset?", matrix_diagonal_, 1},
    {"linalg.trace", "x * offset? dtype?", matrix_trace_, 1},
    {"random.beta", "a b size? * key dtype?", numpy_between<random::beta>},
    {"random.binomial", "n p size? * key dtype?", numpy_binomial_},
    {"random.chisquare", "df size? * key dtype?", numpy_of<random::chisquare>},
    {"random.choice", "a size? replace? p? * key axis?", numpy_choice_},
    {"random.exponential", "scale? size? * key dtype?", numpy_of<exponential_of>},
    {"random.gamma", "shape scale? size? * key dtype?", numpy_between<random::gamma>},
    {"random.geometric", "p size? * key dtype?", numpy_geometric_},
    {"random.gumbel", "loc? scale? size? * key dtype?", numpy_between<random::gumbel>},
    {"random.integers", "low high? size? * key dtype? endpoint?", numpy_integers_},
    {"random.laplace", "loc? scale? size? * key dtype?", numpy_between<random::laplace>},
    {"random.logistic", "loc? scale? size? * key dtype?", numpy_between<random::logistic>},
    {"random.lognormal", "mean? sigma? size? * key dtype?", numpy_between<random::lognormal>},
    {"random.normal", "loc? scale? size? * key dtype?", numpy_between<random::normal>},
    {"random.pareto", "a size? * key dtype?", numpy_of<random::pareto>},
    {"random.poisson", "lam? size? * key dtype?", numpy_poisson_},
    {"random.rand", "size+? * key dtype?", numpy_standard<random::uniform>},
    {"random.randint", "low high? size? * key dtype? endpoint?", numpy_integers_},
    {"random.randn", "size+? * key dtype?", numpy_standard<random::normal>},
    {"random.random", "size? * key dtype?", numpy_standard<random::uniform>},
    {"random.rayleigh", "scale? size? * key dtype?", numpy_of<random::rayleigh>},
    {"random.standard_normal", "size? * key dtype?", numpy_standard<random::normal>},
    {"random.standard_t", "df size? * key dtype?", numpy_of<random::standard_t>},
    {"random.uniform", "low? high? size? * key dtype?", numpy_between<random::uniform>},
    {"random.weibull", "a size? * key dtype?", numpy_of<random::weibull>},
};

/// Returns the number of insertions, deletions, replacements and swaps of neighbours that lead from one word to the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::span<const Function> functions() { return kFunctions; }
std::span<const Function> members() { return kMembers; }

const Function* find_function(std::string_view name) {
  const Function* end = std::end(kFunctions);
  const Function* found = std::lower_bound(std::begin(kFunctions), end, name, [](const Function& row, std::string_view key) { return row.name < key; });
  return found != end && found->name == name ? found : nullptr;
}

const Function* find_member(std::string_view module, std::string_view name) {
  const std::string full = fmt::format("{}.{}", module, name);
  const Function* found = std::find_if(std::begin(kMembers), std::end(kMembers), [&](const Function& row) { return row.name == full; });
  return found != std::end(kMembers) ? found : find_function(name);
}

namespace {

/// NumPy's letters for types, and its names in addition to those of sinter/dtypes.def: C's on 64-bit systems.
struct TypeName {
  std::string_view letter, name;
  DType dtype;
};
using enum DType;
constexpr TypeName kTypeNames[] = {
    {"?", "bool_", bool_},      {"b", "byte", int8},    {"B", "ubyte", uint8},    {"h", "short", int16},    {"H", "ushort", uint16},
    {"i", "intc", int32},       {"I", "uintc", uint32}, {"l", "long", int64},     {"L", "ulong", uint64},   {"q", "longlong", int64},
    {"Q", "ulonglong", uint64}, {"p", "intp", int64},   {"P", "uintp", uint64},   {"", "int", int64},       {"", "int_", int64},
    {"", "uint", uint64},       {"e", "half", float16}, {"f", "single", float32}, {"d", "double", float64}, {"", "float", float64},
};

}  // namespace

std::optional<DType> find_dtype(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (kDTypes[i].name == name || kDTypes[i].alias == name) return static_cast<DType>(i);
  for (const TypeName& row : kTypeNames)
    if (row.name == name) return row.dtype;
  return std::nullopt;
}

std::optional<DType> find_type_string(std::string_view text) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const std::string_view written = kDTypes[i].npy;  // "f4"
    const bool ordered = text.size() == 3 && (text[0] == '<' || text[0] == '=' || text[0] == '|');
    if (!written.empty() && (ordered ? text.substr(1) : text) == written) return static_cast<DType>(i);
  }
  for (const TypeName& row : kTypeNames)
    if (!text.empty() && text == row.letter) return row.dtype;
  return find_dtype(text);
}

std::string nearest(std::string_view name, const std::vector<std::string_view>& known) {
  constexpr std::size_t kLongest = 64;  // no real name is longer; the distance takes time in proportion to the length
  if (name.size() > kLongest) return {};
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

}  // namespace sinter::table
