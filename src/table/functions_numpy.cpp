#include "table/functions_numpy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "sinter/adopt.hpp"
#include "sinter/arranging.hpp"
#include "sinter/complex.hpp"
#include "sinter/counted.hpp"
#include "sinter/creation.hpp"
#include "sinter/decompositions.hpp"
#include "sinter/elementary.hpp"
#include "sinter/errors.hpp"
#include "sinter/indexing.hpp"
#include "sinter/linalg.hpp"
#include "sinter/ops.hpp"
#include "sinter/shapes.hpp"
#include "sinter/signal.hpp"
#include "sinter/sorting.hpp"
#include "sinter/statistics.hpp"
#include "sinter/types.hpp"
#include "sinter/whole.hpp"
#include "table/arguments.hpp"
#include "table/complex_numbers.hpp"
#include "table/fault.hpp"

namespace sinter::table {
namespace {

constexpr Location kNowhere{};

Value several(const std::vector<Tensor>& tensors) {
  Tuple items;
  for (const Tensor& tensor : tensors) items.push_back({tensor});
  return {items};
}

Tensor joined(const std::vector<Tensor>& parts, std::int64_t axis = 0) { return concatenate(parts, axis, kNowhere); }
Tensor range(std::int64_t start, std::int64_t stop, std::int64_t step = 1) { return arange(Arg(start, kNowhere), Arg(stop, kNowhere), Arg(step, kNowhere)); }

/// Returns the shape to which both broadcast, or nullopt.
std::optional<Shape> broadcast_shape(const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()), 1);
  for (const Shape* one : {&a, &b}) {
    for (std::size_t k = 0; k < one->size(); ++k) {
      std::int64_t& size = shape[shape.size() - one->size() + k];
      if ((*one)[k] == 1) continue;
      if (size != 1 && size != (*one)[k]) return std::nullopt;
      size = (*one)[k];
    }
  }
  return shape;
}

// ---- concatenation

int levels_of(const Value& value) {
  const Tuple* items = value.as<Tuple>();
  return !items ? 0 : 1 + (items->empty() ? 0 : levels_of(items->front()));
}
/// Concatenates nested lists: the innermost along the last axis, the next along the axis before it, ...
Tensor block_of(const Arguments& a, const Value& value, int level, int levels) {
  if (level == levels) {
    const Tensor x = array_of(value, a.function());
    Shape shape(static_cast<std::size_t>(std::max(levels - x.ndim(), 0)), 1);
    shape.insert(shape.end(), x.shape().begin(), x.shape().end());
    return reshape(x, shape);
  }
  const Tuple* items = value.as<Tuple>();
  if (!items || items->empty()) a.fail(0, "block() takes lists within lists, all equally deep and none empty");
  std::vector<Tensor> parts;
  for (const Value& item : *items) parts.push_back(block_of(a, item, level + 1, levels));
  return joined(parts, level - levels);
}

}  // namespace

Value array_equiv_(const Arguments& a) {
  const Tensor x = a.tensor(0), y = a.tensor(1);
  if (!broadcast_shape(x.shape(), y.shape())) return {full({}, Arg(false, kNowhere))};
  return {all(x == y)};
}
Value as_strided_(const Arguments& a) {  // NumPy counts in bytes
  const Tensor x = a.tensor(0);
  std::vector<std::int64_t> strides = a.list(2);
  const auto item = static_cast<std::int64_t>(itemsize(x.dtype()));
  for (std::int64_t& stride : strides) {
    if (stride % item != 0) a.fail(2, fmt::format("a stride of {} is not one of whole elements, of {} each", counted(stride, "byte"), counted(item, "byte")));
    stride /= item;
  }
  return {as_strided(a.operand(0), a.shape(1), strides)};
}
Value block_(const Arguments& a) {
  const int levels = levels_of(*a.given(0));
  return {levels == 0 ? a.tensor(0) : block_of(a, *a.given(0), 0, levels)};
}
Value broadcast_shapes_(const Arguments& a) {
  const Tuple one{*a.given(0)};
  const Tuple& shapes =
      a.given(0)->as<Tuple>() && !a.given(0)->as<Tuple>()->empty() && a.given(0)->as<Tuple>()->front().as<Tuple>() ? *a.given(0)->as<Tuple>() : one;
  Shape all;
  for (const Value& value : shapes) {
    Shape shape;
    const Tuple single{value};
    for (const Value& size : value.as<Tuple>() ? *value.as<Tuple>() : single) {
      if (!is_whole_number(size)) a.fail(0, "a shape must consist of integers");
      shape.push_back(whole_number(size));
    }
    const std::optional<Shape> both = broadcast_shape(all, shape);
    if (!both) a.fail(0, fmt::format("shapes {} and {} do not broadcast", to_string(all), to_string(shape)));
    all = *both;
  }
  Tuple sizes;
  for (const std::int64_t size : all) sizes.push_back({size, a.given(0)->offset});
  return {std::move(sizes)};
}
Value choose_(const Arguments& a) {
  const std::string mode = a.text(2, "raise");
  if (mode != "raise" && mode != "wrap" && mode != "clip") a.fail(2, "mode must be 'raise', 'wrap' or 'clip'");
  return {choose(a.operand(0), a.tensors(1), mode == "wrap" ? IndexMode::wrap : mode == "clip" ? IndexMode::clip : IndexMode::raise)};
}
Value copyto_(const Arguments& a) {
  const Tensor target = a.tensor(0), source = a.tensor(1);
  if (a.text(2, "same_kind") != "unsafe" && !can_cast(source.dtype(), target.dtype(), Casting::same_kind) &&
      !(a.given(1)->is_number() && !a.given(1)->as<double>()))
    a.fail(1, fmt::format("copyto() would cast {} to {}, a lower kind; astype does so", name(source.dtype()), name(target.dtype())));
  const Tensor copied = broadcast_to(astype(source, target.dtype()), target.shape());
  return {a.given(3) ? broadcast_to(where(a.operand(3), copied, target), target.shape()) : copied};
}
Value delete_(const Arguments& a) {
  const Value& places = *a.given(1);
  if (is_whole_number(places)) return {erase(a.operand(0), a.integer(1, 0), a.axis(2))};
  const Tensor x = a.axis(2) ? a.tensor(0) : reshape(a.operand(0), Shape{-1});
  const int axis = a.small_integer(2, 0);
  const std::int64_t size = x.size(axis, kNowhere);
  const Tensor gone = a.tensor(1);
  std::vector<std::uint8_t> kept(static_cast<std::size_t>(size), 1);
  if (is_bool(gone.dtype())) {
    if (gone.ndim() != 1 || gone.size() != size)
      a.fail(1, fmt::format("a mask of {} for {} along the axis", to_string(gone.shape()), counted(size, "element")));
    kept = astype(logical_not(gone), DType::uint8).to_vector<std::uint8_t>(kNowhere);
  } else {
    if (!is_integer(gone.dtype()) && gone.size() != 0) a.fail(1, "obj of delete() must be an integer, a list of integers or a mask");
    for (const std::int64_t place : astype(gone, DType::int64).to_vector<std::int64_t>(kNowhere)) {
      if (place < -size || place >= size) throw IndexError(fmt::format("delete: index {} is out of bounds for axis {} with size {}", place, axis, size));
      kept[static_cast<std::size_t>(place < 0 ? place + size : place)] = 0;
    }
  }
  std::vector<std::int64_t> rest(kept.size());
  std::size_t count = 0;
  for (std::size_t k = 0; k < kept.size(); ++k) {  // without a branch, which a processor could not predict
    rest[count] = static_cast<std::int64_t>(k);
    count += kept[k];
  }
  rest.resize(count);
  return {take(x, adopt(std::move(rest), Shape{static_cast<std::int64_t>(count)}, kNowhere), axis)};
}
Value diag_indices_(const Arguments& a) {
  return several(diag_indices(a.integer(0, 0), static_cast<int>(std::clamp<std::int64_t>(a.integer(1, 2), -1, 65)), kNowhere));
}
Value diag_indices_from_(const Arguments& a) {
  const Tensor x = a.tensor(0);
  if (x.ndim() < 2 || std::any_of(x.shape().begin(), x.shape().end(), [&](std::int64_t size) { return size != x.shape()[0]; }))
    a.fail(0, "diag_indices_from() takes a square");
  return several(std::vector<Tensor>(static_cast<std::size_t>(x.ndim()), range(0, x.shape()[0])));
}
Value ediff1d_(const Arguments& a) {
  const Tensor steps = diff(reshape(a.operand(0), Shape{-1}));
  std::vector<Tensor> parts;
  if (a.given(2)) parts.push_back(astype(reshape(a.operand(2), Shape{-1}), steps.dtype()));
  parts.push_back(steps);
  if (a.given(1)) parts.push_back(astype(reshape(a.operand(1), Shape{-1}), steps.dtype()));
  return {joined(parts)};
}
Value fill_diagonal_(const Arguments& a) { return {fill_diagonal(a.operand(0), astype(a.tensor(1), a.tensor(0).dtype()), a.flag(2))}; }
Value iscomplexobj_(const Arguments& a) { return {holds_complex(*a.given(0))}; }
Value isrealobj_(const Arguments& a) { return {!holds_complex(*a.given(0))}; }
Value iscomplex_(const Arguments& a) {
  if (holds_complex(*a.given(0))) return {complex_of(*a.given(0), a.function()).im != 0};
  return {zeros(a.tensor(0).shape(), DType::bool_, kNowhere)};
}
Value isreal_(const Arguments& a) { return {logical_not(*iscomplex_(a).as<Tensor>())}; }
Value isscalar_(const Arguments& a) { return {a.given(0)->is_number() || a.given(0)->as<std::string>() != nullptr}; }
Value issubdtype_(const Arguments& a) {
  const DType type = a.dtype(0).value();
  if (const auto* kind = a.given(1)->as<std::string>(); kind && !find_type_string(*kind)) return {isdtype(type, *kind, kNowhere)};
  return {type == a.dtype(1).value()};
}
Value ix_(const Arguments& a) { return several(ix_(a.tensors(0), kNowhere)); }
Value linspace_(const Arguments& a) {
  const std::int64_t count = a.integer(2, 50);
  const bool endpoint = a.flag(3, true);
  const Tensor points = linspace(a.operand(0), a.operand(1), count, endpoint, a.dtype(4));
  const Value result{moveaxis(points, 0, a.integer(6, 0))};
  if (!a.flag(5)) return result;
  const double intervals = static_cast<double>(endpoint ? count - 1 : count);
  return {Tuple{result, {divide(subtract(a.tensor(1), a.tensor(0)), intervals)}}};
}

/// Returns the shift of each bit: bitorder 'big' has the highest first, or 'little'.
Tensor places_of_bits(const Arguments& a, int parameter) {
  const std::string order = a.text(parameter, "big");
  if (order != "big" && order != "little") a.fail(parameter, "bitorder must be 'big' or 'little'");
  return astype(order == "big" ? range(7, -1, -1) : range(0, 8), DType::uint8);
}
Value packbits_(const Arguments& a) {
  const std::optional<std::int64_t> axis = a.axis(1);
  Tensor bits = axis ? moveaxis(a.tensor(0), *axis, -1) : reshape(a.operand(0), Shape{-1});
  if (is_floating(bits.dtype())) a.fail(0, "packbits() takes integers or bool");
  bits = astype(bits != 0, DType::uint8);
  std::vector<std::pair<std::int64_t, std::int64_t>> widths(static_cast<std::size_t>(bits.ndim()));
  const std::int64_t last = bits.shape().back();
  widths.back().second = (8 - last % 8) % 8;
  Shape shape = bits.shape();
  shape.back() = (last + 7) / 8;
  shape.push_back(8);
  const Tensor weights = left_shift(full({}, Arg(std::uint8_t{1}, kNowhere)), places_of_bits(a, 2));
  const Tensor bytes = sum(reshape(pad(bits, widths), shape) * weights, -1, false, DType::uint8);
  return {axis ? moveaxis(bytes, -1, *axis) : bytes};
}
Value unpackbits_(const Arguments& a) {
  const std::optional<std::int64_t> axis = a.axis(1);
  const Tensor bytes = axis ? moveaxis(a.tensor(0), *axis, -1) : reshape(a.operand(0), Shape{-1});
  if (bytes.dtype() != DType::uint8) a.fail(0, "unpackbits() takes uint8");
  Shape shape = bytes.shape();
  shape.back() *= 8;
  const Tensor bits = reshape(bitwise_and(right_shift(expand_dims(bytes, -1), places_of_bits(a, 3)), Arg(std::uint8_t{1}, kNowhere)), shape);
  if (!a.given(2)) return {axis ? moveaxis(bits, -1, *axis) : bits};
  // This is the number of bits, padded with zeros where there are fewer; a negative number removes as many.
  const std::int64_t count = a.integer(2, 0) < 0 ? std::max<std::int64_t>(shape.back() + a.integer(2, 0), 0) : a.integer(2, 0);
  std::vector<std::pair<std::int64_t, std::int64_t>> widths(shape.size());
  widths.back().second = std::max<std::int64_t>(count - shape.back(), 0);
  const Tensor cropped = pad(bits, widths).at({ellipsis, Slice{0, count}}, kNowhere);
  return {axis ? moveaxis(cropped, -1, *axis) : cropped};
}

namespace {

/// Returns complex numbers, or real ones if no imaginary part differs from 0, as NumPy does. Evaluates.
Value complex_or_real(const Complex& z) {
  if (z.im.empty_handle() || !any(z.im != 0).item<bool>(kNowhere)) return {z.re};
  Tuple parts{{z.re}, {z.im}};
  parts.is_complex = true;
  return {std::move(parts)};
}
/// Tests several results together.
bool is_real(const std::vector<Complex>& all) {
  return std::none_of(all.begin(), all.end(), [](const Complex& z) { return any(z.im != 0).item<bool>(kNowhere); });
}

}  // namespace

Value eig_(const Arguments& a) {
  const EigResult found = eig(a.operand(0));
  if (is_real({found.eigenvalues, found.eigenvectors})) return {Tuple{{found.eigenvalues.re}, {found.eigenvectors.re}}};
  Tuple results;
  for (const Complex& z : {found.eigenvalues, found.eigenvectors}) {
    Tuple parts{{z.re}, {z.im}};
    parts.is_complex = true;
    results.push_back({std::move(parts)});
  }
  return {std::move(results)};
}
Value eigvals_(const Arguments& a) { return complex_or_real(eigvals(a.operand(0))); }
Value roots_(const Arguments& a) { return complex_or_real(roots(a.operand(0))); }
Value poly_(const Arguments& a) {
  if (holds_complex(*a.given(0))) return complex_or_real(poly(complex_of(*a.given(0), a.function())));
  return {poly(a.operand(0))};
}
Value real_if_close_(const Arguments& a) {
  if (!holds_complex(*a.given(0))) return {a.tensor(0)};
  const Complex z = complex_of(*a.given(0), a.function());
  const double tolerance = a.number(1, 100), within = tolerance > 1 ? tolerance * finfo(z.re.dtype(), kNowhere).eps : tolerance;
  if (all(abs(z.im) < within).item<bool>(kNowhere)) return {z.re};
  return complex_value(z, 0);
}
Value sort_complex_(const Arguments& a) {
  Complex z = complex_of(*a.given(0), a.function());
  if (!is_floating(z.re.dtype())) z = {astype(z.re, DType::float64), astype(z.im, DType::float64)};
  const Tensor order = lexsort({z.im, z.re}, -1, kNowhere);
  Tuple parts{{take_along_axis(z.re, order)}, {take_along_axis(z.im, order)}};
  parts.is_complex = true;
  return {std::move(parts)};
}
Value polydiv_(const Arguments& a) {
  const auto [quotient, rest] = polydiv(a.operand(0), a.operand(1));
  return {Tuple{{quotient}, {rest}}};
}
Value polyder_(const Arguments& a) { return {polyder(a.operand(0), a.integer(1, 1))}; }
Value polyint_(const Arguments& a) { return {polyint(a.operand(0), a.integer(1, 1), a.given(2) ? a.operand(2) : Arg(0, kNowhere))}; }
/// Fits with weights like NumPy: w scales the residuals. With `full` the result includes lstsq's results, with `cov` the covariance of the coefficients.
Value polyfit_(const Arguments& a) {
  const std::int64_t degree = a.integer(2, 1);
  if (!a.given(3) && !a.given(4) && !a.given(5) && !a.given(6)) return {polyfit(a.operand(0), a.operand(1), degree)};
  const Tensor x = astype(a.tensor(0), DType::float64), y = astype(a.tensor(1), DType::float64);
  if (x.ndim() != 1 || y.ndim() < 1 || y.ndim() > 2 || y.shape()[0] != x.size()) return {polyfit(x, y, degree)};  // throws
  Tensor left = vander(x, degree + 1), right = y;
  if (a.given(5)) {
    const Tensor w = a.tensor(5);
    if (w.shape() != x.shape()) a.fail(5, fmt::format("weights of shape {} for points of shape {}", to_string(w.shape()), to_string(x.shape())));
    left = left * expand_dims(w, 1);
    right = right * (y.ndim() == 1 ? w : expand_dims(w, 1));
  }
  const Tensor scale = sqrt(sum(square(left), 0));
  const double rcond = a.number(3, static_cast<double>(x.size()) * std::numeric_limits<double>::epsilon());
  const LstsqResult found = lstsq(left / scale, right, rcond);
  const Tensor coefficients = transpose(transpose(found.x) / scale);
  if (a.flag(4)) return {Tuple{{coefficients}, {found.residuals}, {found.rank}, {found.s}, {full({}, Arg(rcond, kNowhere))}}};
  const bool unscaled = a.given(6) && a.given(6)->as<std::string>() && *a.given(6)->as<std::string>() == "unscaled";
  if (!a.given(6) || (a.given(6)->as<bool>() && !*a.given(6)->as<bool>())) return {coefficients};
  const Tensor base = inv(matmul(transpose(left), left));
  if (unscaled) return {Tuple{{coefficients}, {base}}};
  if (x.size() <= degree + 1) a.fail(6, "the number of points must exceed the degree for the covariance to be scaled");
  const Tensor factor = found.residuals / static_cast<double>(x.size() - degree - 1);
  return {Tuple{{coefficients}, {y.ndim() == 1 ? base * factor : expand_dims(base, 2) * factor}}};
}

Value view_(const Arguments& a) { return {a.given(1) ? view(a.operand(0), *a.dtype(1)) : a.tensor(0)}; }
Value fromiter_(const Arguments& a) {
  const Tensor numbers = a.tensor(0);
  if (numbers.ndim() != 1) a.fail(0, "fromiter() takes numbers");
  const std::int64_t count = a.integer(2, -1);
  if (count > numbers.size()) a.fail(2, fmt::format("there are {}, not {}", counted(numbers.size(), "number"), count));
  const Tensor first = count < 0 ? numbers : numbers(Slice{0, count});
  return {a.given(1) ? astype(first, *a.dtype(1)) : first};
}
Value min_scalar_type_(const Arguments& a) {
  if (const Tensor* tensor = a.given(0)->as<Tensor>()) return {tensor->dtype()};
  if (a.given(0)->as<bool>()) return {DType::bool_};
  if (a.given(0)->as<double>()) {
    const double value = *a.given(0)->as<double>();
    return {!std::isfinite(value) || std::fabs(value) < 65000 ? DType::float16 : std::fabs(value) < 3.4e38 ? DType::float32 : DType::float64};
  }
  const auto* large = a.given(0)->as<std::uint64_t>();
  const std::int64_t value = large ? std::numeric_limits<std::int64_t>::max() : a.integer(0, 0);
  using enum DType;
  if (large) return {uint64};
  for (const DType type : value < 0 ? std::vector{int8, int16, int32} : std::vector{uint8, uint16, uint32})
    if (const IntegerInfo limits = iinfo(type, kNowhere); value >= limits.min && (value < 0 || static_cast<std::uint64_t>(value) <= limits.max)) return {type};
  return {value < 0 ? int64 : uint64};
}
Value common_type_(const Arguments& a) {
  DType type = DType::float16;
  bool integers = false;
  for (const Tensor& tensor : a.tensors(0)) {
    if (is_bool(tensor.dtype())) a.fail(0, "common_type() takes numbers");
    integers |= is_integer(tensor.dtype());
    if (is_floating(tensor.dtype())) type = promote_types(type, tensor.dtype(), Location{});
  }
  return {integers ? DType::float64 : type};
}

Value putmask_(const Arguments& a) {
  const Tensor x = a.tensor(0), values = astype(a.tensor(2), x.dtype());
  return {where(broadcast_to(a.operand(1), x.shape()), values.ndim() == 0 || values.shape() == x.shape() ? values : cycle_to(values, x.shape()), x)};
}
Value rollaxis_(const Arguments& a) {
  const Tensor x = a.tensor(0);
  const std::int64_t rank = x.ndim(), axis = a.integer(1, 0), from = axis < 0 ? axis + rank : axis;
  std::int64_t to = a.integer(2, 0);
  if (to < 0) to += rank;
  if (to < 0 || to > rank) a.fail(2, fmt::format("start {} is out of range for {}", a.integer(2, 0), counted(rank, "axis", "axes")));
  return {moveaxis(x, axis, from < to ? to - 1 : to)};
}
Value tensorinv_(const Arguments& a) {
  const Tensor x = a.tensor(0);
  const std::int64_t ind = a.integer(1, 2);
  if (ind <= 0 || ind > x.ndim()) a.fail(1, "ind counts axes of a, at least one");
  const auto middle = x.shape().begin() + ind;
  Shape shape(middle, x.shape().end());
  const std::int64_t columns = element_count(shape);
  shape.insert(shape.end(), x.shape().begin(), middle);
  const Tensor matrix = reshape(x, {-1, columns});
  return {reshape(inv(Arg(matrix, kNowhere)), shape)};
}
Value tensorsolve_(const Arguments& a) {
  Tensor x = a.tensor(0);
  const Tensor b = a.tensor(1);
  if (a.given(2))
    for (const std::int64_t axis : a.list(2)) x = moveaxis(x, axis, -1);
  if (b.ndim() > x.ndim()) a.fail(1, "b has more axes than a");
  const Shape shape(x.shape().begin() + b.ndim(), x.shape().end());
  const Tensor matrix = reshape(x, {b.size(), element_count(shape)}), right = reshape(b, Shape{-1});
  return {reshape(solve(Arg(matrix, kNowhere), Arg(right, kNowhere)), shape)};
}
Value trim_zeros_(const Arguments& a) {
  const Tensor x = a.tensor(0);
  const std::string ends = a.text(1, "fb");
  if (x.ndim() != 1) a.fail(0, "trim_zeros() takes a vector");
  const std::vector<std::int64_t> places = flatnonzero(x).to_vector<std::int64_t>(kNowhere);
  const std::int64_t first = places.empty() ? x.size() : places.front(), last = places.empty() ? -1 : places.back();
  const bool front = ends.find_first_of("fF") != std::string::npos, back = ends.find_first_of("bB") != std::string::npos;
  return {std::as_const(x)(Slice{front ? first : 0, back ? std::max(last + 1, std::int64_t{0}) : x.size()})};
}
std::vector<Tensor> triangle_from(const Arguments& a, std::vector<Tensor> (*places)(std::int64_t, std::int64_t, std::optional<std::int64_t>, Location)) {
  const Tensor x = a.tensor(0);
  if (x.ndim() != 2) a.fail(0, fmt::format("{}() takes a matrix", a.function()));
  return places(x.shape()[0], a.integer(1, 0), x.shape()[1], kNowhere);
}
Value tril_indices_from_(const Arguments& a) { return several(triangle_from(a, tril_indices)); }
Value triu_indices_from_(const Arguments& a) { return several(triangle_from(a, triu_indices)); }

std::int64_t bins_by_rule(const Arguments& a, int parameter, const Tensor& all, std::optional<std::pair<double, double>> range) {
  const std::string rule = a.text(parameter, "auto");
  Tensor x = astype(reshape(all, Shape{-1}), DType::float64);
  if (range) x = compress(logical_and(x >= range->first, x <= range->second), x);
  const auto number = [](const Tensor& value) { return value.item<double>(kNowhere); };
  const double n = static_cast<double>(x.size());
  if (n == 0) return 1;
  const double spread = range ? range->second - range->first : number(max(x) - min(x));
  const double own_spread = number(max(x) - min(x));
  if (spread == 0) return 1;
  const auto fd = [&] {
    const std::vector<double> quartiles = percentile(x, Tensor{75.0, 25.0}).to_vector<double>(kNowhere);
    return 2 * (quartiles[0] - quartiles[1]) / std::cbrt(n);
  };
  const double sturges = own_spread / (std::log2(n) + 1);
  double width = 0;
  if (rule == "sturges") width = sturges;
  else if (rule == "sqrt") width = own_spread / std::sqrt(n);
  else if (rule == "rice") width = own_spread / (2 * std::cbrt(n));
  else if (rule == "scott") width = std::cbrt(24 * std::sqrt(std::acos(-1.0)) / n) * number(stddev(x));
  else if (rule == "fd") width = fd();
  else if (rule == "auto") width = fd() > 0 ? std::min(std::max(fd(), own_spread / (2 * std::sqrt(n))), sturges) : sturges;
  else a.fail(parameter, "bins must be a number, edges, or 'auto', 'fd', 'rice', 'scott', 'sqrt', 'sturges'");
  if (is_integer(all.dtype()) && width < 1) width = 1;
  return width > 0 ? detail::whole(std::ceil(spread / width), "histogram: the number of bins by this rule") : 1;
}

Value mean_where(const Arguments& a, const Tensor& condition, const Axes& axes, bool keepdims) {
  Tensor x = a.tensor(0);
  if (a.given(2)) x = astype(x, *a.dtype(2));
  const DType dtype = is_floating(x.dtype()) ? x.dtype() : DType::float64;  // like mean
  x = astype(x, dtype);
  return {astype(sum(where(condition, x, 0), axes, keepdims) / sum(broadcast_to(condition, x.shape()), axes, keepdims), dtype)};
}
Value var_where(const Arguments& a, const Tensor& condition, const Axes& axes, bool keepdims, std::int64_t ddof, bool root, const Tensor& mean) {
  const Tensor middle = mean.empty_handle()         ? *mean_where(a, condition, axes, true).as<Tensor>()
                        : is_floating(mean.dtype()) ? mean
                                                    : astype(mean, DType::float64);
  const Tensor x = astype(a.tensor(0), middle.dtype());
  const Tensor chosen = broadcast_to(condition, x.shape());
  const Tensor var = astype(sum(where(chosen, square(x - middle), 0), axes, keepdims) / (sum(chosen, axes, keepdims) - ddof), middle.dtype());
  return {root ? sqrt(var) : var};
}

Value weighted_quantile(const Arguments& a, bool percent, bool leave_nan_out) {
  Tensor x = a.tensor(0), weights = a.tensor(5);
  const bool flat = !a.given(2);
  const std::int64_t axis = flat ? 0 : a.integer(2, 0);
  if (weights.ndim() == 1 && x.ndim() > 1 && !flat) weights = moveaxis(broadcast_to(weights, moveaxis(x, axis, -1).shape()), -1, axis);
  if (weights.shape() != x.shape()) a.fail(5, fmt::format("weights of shape {} for shape {}", to_string(weights.shape()), to_string(x.shape())));
  const int rank = x.ndim();
  if (flat) x = reshape(x, Shape{-1}), weights = reshape(weights, Shape{-1});
  x = moveaxis(x, flat ? 0 : axis, -1);
  weights = astype(moveaxis(weights, flat ? 0 : axis, -1), DType::float64);
  if (leave_nan_out) weights = where(isnan(x), 0, weights);
  const Tensor q = a.tensor(1) / (percent ? 100.0 : 1.0), order = argsort(x, -1);
  const Tensor sorted = take_along_axis(x, order, -1), sums = cumsum(take_along_axis(weights, order, -1), -1);
  Tensor share = sums / sums.at({ellipsis, Slice{-1, {}}}, kNowhere);
  share = where(share == 0, -1, share);  // leading elements of weight 0 are no quantile, not even the least
  std::vector<Tensor> found;
  for (const Tensor& one : q.ndim() == 0 ? std::vector{q} : unstack(reshape(q, Shape{-1}), 0, kNowhere)) {
    const Tensor place = expand_dims(argmax(share >= one, -1), -1);
    Tensor value = squeeze(take_along_axis(sorted, place, -1), -1);
    if (!leave_nan_out && is_floating(x.dtype())) value = where(any(isnan(x), -1), std::numeric_limits<double>::quiet_NaN(), value);
    if (a.flag(4)) value = flat ? reshape(value, Shape(static_cast<std::size_t>(rank), 1)) : expand_dims(value, axis);
    found.push_back(value);
  }
  if (q.ndim() == 0) return {found[0]};
  Shape shape = q.shape();
  shape.insert(shape.end(), found[0].shape().begin(), found[0].shape().end());
  return {reshape(stack(found, 0, kNowhere), shape)};
}
Value whole_spread(const Arguments& a, DType dtype, std::int64_t ddof, bool root) {
  const Tensor x = a.tensor(0);
  if (a.given(6) || a.given(7)) a.fail(2, fmt::format("{}() in integers takes no where and no mean", a.function()));
  if (is_bool(dtype)) a.fail(2, fmt::format("{}() is not computed in bool", a.function()));
  const std::int64_t n = x.size() / std::max<std::int64_t>(sum(x, a.axes(1)).size(), 1);
  const Tensor middle = astype(trunc(sum(x, a.axes(1), true, dtype) / n), dtype);
  const Tensor squares = sum(square(x - middle), a.axes(1), a.flag(4), dtype);
  const Tensor var = astype(trunc(squares / std::max<std::int64_t>(n - ddof, 0)), dtype);
  return {root ? astype(trunc(sqrt(var)), dtype) : var};
}

}  // namespace sinter::table
