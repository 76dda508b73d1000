// NumPy's order of complex numbers: by the real part, then by the imaginary part; numbers with a NaN come last. Functions that order their elements use
// integers with the same order instead: the positions of the elements in a sorted list of all elements. The results are selected by these.
#include "table/complex_order.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <variant>

#include "sinter/creation.hpp"
#include "sinter/ops.hpp"
#include "sinter/shapes.hpp"
#include "sinter/sorting.hpp"
#include "table/arguments.hpp"
#include "table/complex_numbers.hpp"

namespace sinter::table {
namespace {

Tensor has_nan(const Complex& z) { return logical_or(isnan(z.re), isnan(z.im)); }
Complex chosen(const Tensor& first, const Complex& a, const Complex& b) { return {where(first, a.re, b.re), where(first, a.im, b.im)}; }
Complex taken(const Complex& z, const Tensor& places) { return {take(z.re, places, 0), take(z.im, places, 0)}; }

struct Ranked {
  std::vector<Tensor> places;  // positions of the elements of each array among all; equal elements have the same position
  Complex sorted;              // all elements
};
Ranked ranked(const std::vector<Complex>& arrays) {
  std::vector<Tensor> re, im;
  for (const Complex& z : arrays) re.push_back(reshape(z.re, Shape{-1})), im.push_back(reshape(z.im, Shape{-1}));
  const Complex all{concatenate(re, 0, Location{}), concatenate(im, 0, Location{})};
  const std::int64_t count = all.re.size();
  Ranked result{{}, all};
  Tensor places = zeros(Shape{0}, DType::int64);
  if (count > 0) {
    // A NaN counts as 0 here, because it equals nothing; the first key says which parts are NaN.
    const Tensor kind = astype(isnan(all.re), DType::int8) * 2 + astype(isnan(all.im), DType::int8);
    const std::vector<Tensor> keys{where(isnan(all.im), 0, all.im), where(isnan(all.re), 0, all.re), kind};
    const Tensor order = lexsort(keys, 0, Location{});
    result.sorted = taken(all, order);
    Tensor is_new = zeros(Shape{count - 1}, DType::bool_);
    for (const Tensor& key : keys) {
      const Tensor x = take(key, order, 0);
      is_new = logical_or(is_new, x.at({Slice{1, {}}}, Location{}) != x.at({Slice{0, -1}}, Location{}));
    }
    is_new = concatenate({ones(Shape{1}, DType::bool_), is_new}, 0, Location{});
    places = take(cummax(where(is_new, arange(count), 0), 0), argsort(order), 0);
  }
  std::int64_t begin = 0;
  for (const Complex& z : arrays) {
    result.places.push_back(reshape(places.at({Slice{begin, begin + z.re.size()}}, Location{}), z.re.shape()));
    begin += z.re.size();
  }
  return result;
}

/// A function that orders the arguments with a bit in `arrays`. Its result is positions of elements, or elements; of several results, the first one is
/// elements.
struct Row {
  std::string_view name;
  bool gives_elements = false;
  unsigned arrays = 1;
  bool is_least = false;  // a NaN is the least element, so that it is the result
};
constexpr Row kRows[] = {
    {"amax", true, 9},
    {"amin", true, 9, true},
    {"argmax"},
    {"argmin"},
    {"argpartition"},
    {"argsort"},
    {"in1d", false, 3},
    {"intersect1d", true, 3},
    {"isin", false, 3},
    {"lexsort"},
    {"max", true, 9},
    {"min", true, 9, true},
    {"searchsorted", false, 3},
    {"setdiff1d", true, 3},
    {"setxor1d", true, 3},
    {"union1d", true, 3},
    {"unique", true},
};

/// Returns nothing if an argument that is not ordered is complex, because the function refuses it.
std::optional<Value> by_places(const Function& function, const Row& row, std::vector<Argument> arguments, std::size_t offset) {
  const std::vector<Parameter>& parameters = parameters_of(function);
  std::vector<Complex> arrays;
  std::vector<Value*> replaced;
  const auto replace = [&](Value& value) {
    const bool is_initial = !arrays.empty() && row.arrays == 9;  // initial= takes the array's type
    arrays.push_back(is_initial ? complex_of_type(value, function.name, arrays[0].re.dtype()) : complex_of(value, function.name));
    replaced.push_back(&value);
  };
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    std::size_t place = k;
    for (std::size_t p = 0; p < parameters.size() && !arguments[k].keyword.empty(); ++p)
      if (parameters[p].name == arguments[k].keyword) place = p;
    if (arguments[k].value.as<None>()) continue;
    if (!(row.arrays >> place & 1u)) {
      if (holds_complex(arguments[k].value)) return std::nullopt;
      continue;
    }
    Tuple* keys = std::get_if<Tuple>(&arguments[k].value.is);
    if (function.name != "lexsort" || !keys || keys->is_complex) replace(arguments[k].value);
    else
      for (Value& key : *keys) replace(key);
  }
  const Ranked all = ranked(arrays);
  for (std::size_t k = 0; k < arrays.size(); ++k) {  // a negative position counts from the end, so it is a position of the same element
    const Tensor& places = all.places[k];
    const std::int64_t count = all.sorted.re.size();
    const Tensor in_order = function.name == "argmax"   ? where(has_nan(arrays[k]), count, places)  // the result is the first NaN
                            : function.name == "argmin" ? where(has_nan(arrays[k]), -1, places)
                            : row.is_least              ? where(has_nan(arrays[k]), places - count, places)
                                                        : places;
    *replaced[k] = {in_order, replaced[k]->offset};
  }
  Value result = call(function, std::move(arguments), offset);
  if (!row.gives_elements) return result;
  const auto elements = [&](const Value& places) { return complex_value(taken(all.sorted, array_of(places, function.name)), offset); };
  Tuple* several = std::get_if<Tuple>(&result.is);
  if (!several) return elements(result);
  several->front() = elements(several->front());
  return result;
}

/// Returns the elements along an axis at the positions that a function returned.
Value arranged(std::string_view places, const std::vector<Argument>& arguments, std::size_t offset) {
  Complex z = complex_of(arguments[0].value, places);
  const Tensor order = array_of(call(*find_function(places), arguments, offset), places);
  if (order.ndim() != z.re.ndim()) z = {reshape(z.re, Shape{-1}), reshape(z.im, Shape{-1})};
  std::int64_t axis = -1;
  for (std::size_t k = 1; k < arguments.size(); ++k)
    if ((arguments[k].keyword == "axis" || (arguments[k].keyword.empty() && k == (places == "argsort" ? 1 : 2))) && is_whole_number(arguments[k].value))
      axis = whole_number(arguments[k].value);
  return complex_value({take_along_axis(z.re, order, axis), take_along_axis(z.im, order, axis)}, offset);
}

}  // namespace

Tensor is_less(const Complex& a, const Complex& b) {
  const Tensor known = logical_not(logical_or(isnan(a.im), isnan(b.im)));
  return logical_or(logical_and(a.re < b.re, known), logical_and(a.re == b.re, a.im < b.im));
}
Tensor is_less_equal(const Complex& a, const Complex& b) { return logical_or(is_less(a, b), logical_and(a.re == b.re, a.im == b.im)); }

std::optional<Value> ordered_call(const Function& function, std::vector<Argument> arguments, std::size_t offset) {
  const std::string_view name = function.name;
  if (name == "sort") return arranged("argsort", arguments, offset);
  if (name == "partition") return arranged("argpartition", arguments, offset);
  if (name == "ptp") {
    const Value high = call(*find_function("max"), arguments, offset), low = call(*find_function("min"), std::move(arguments), offset);
    return complex_binary("-", high, low, offset);
  }
  if (name == "clip") {
    const Arguments a(function, std::move(arguments), offset);
    Value x = *a.given(0);
    for (int bound = 1; bound <= 2; ++bound)
      if (const Value* given = a.given(bound)) x = call(*find_function(bound == 1 ? "maximum" : "minimum"), {{{}, x}, {{}, *given}}, offset);
    return x;
  }
  const bool ignores_nan = name == "fmax" || name == "fmin";
  if (ignores_nan || name == "maximum" || name == "minimum") {
    const Arguments given(function, std::move(arguments), offset);
    const auto [a, b] = common_complex(*given.given(0), *given.given(1), name);
    const Tensor first = name == "maximum" || name == "fmax" ? is_less_equal(b, a) : is_less_equal(a, b);
    return complex_value(chosen(logical_or(has_nan(ignores_nan ? b : a), first), a, b), offset);
  }
  const Row* const row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.name == name; });
  if (row == std::end(kRows)) return std::nullopt;
  return by_places(function, *row, std::move(arguments), offset);
}

}  // namespace sinter::table
