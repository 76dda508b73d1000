#include "table/ufuncs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>

#include "sinter/adopt.hpp"
#include "sinter/indexing.hpp"
#include "sinter/ops.hpp"
#include "sinter/shapes.hpp"
#include "sinter/types.hpp"
#include "table/arguments.hpp"
#include "table/complex_numbers.hpp"
#include "table/fault.hpp"

namespace sinter::table {
namespace {

/// Removes the argument of this keyword and returns it, or nullopt if there is none or it is None.
std::optional<Value> taken(std::vector<Argument>& arguments, std::string_view keyword) {
  const auto found = std::find_if(arguments.begin(), arguments.end(), [&](const Argument& argument) { return argument.keyword == keyword; });
  if (found == arguments.end()) return std::nullopt;
  Value value = std::move(found->value);
  arguments.erase(found);
  return value.as<None>() ? std::nullopt : std::optional(std::move(value));
}

/// Casts to a type of x's kind or a higher one, which is NumPy's default.
Tensor cast(const Tensor& x, DType dtype, std::string_view function, std::size_t offset, bool unsafe = false) {
  if (!unsafe && !can_cast(x.dtype(), dtype, Casting::same_kind))
    throw Fault{offset, fmt::format("{}() would cast {} to {}, a lower kind; astype does so", function, name(x.dtype()), name(dtype)), true};
  return astype(x, dtype);
}

/// Returns the result in the type and the shape of `out` where the condition is true; elsewhere the elements of `out`.
Value put_into(const Value& out, const Value& result, const std::optional<Value>& where, std::string_view function, std::size_t offset) {
  const auto put = [&](const Tensor& target, const Tensor& computed) {
    const Tensor whole = broadcast_to(cast(computed, target.dtype(), function, out.offset), target.shape());
    if (!where) return whole;
    const Tensor mixed = sinter::where(array_of(*where, function), whole, target);
    if (mixed.shape() != target.shape()) throw Fault{where->offset, fmt::format("where of {}() does not broadcast to the shape of out", function)};
    return mixed;
  };
  const Tuple* tuple = out.as<Tuple>();
  const Value& only = tuple && !tuple->is_complex && tuple->size() == 1 ? tuple->front() : out;
  if (only.is_complex() && (result.is_complex() || result.as<Tensor>())) {
    const Complex target = complex_of(only, function), computed = complex_of(result, function);
    return complex_value({put(target.re, computed.re), put(target.im, computed.im)}, offset);
  }
  const Tensor *target = only.as<Tensor>(), *computed = result.as<Tensor>();
  if (!target || !computed) throw Fault{out.offset, fmt::format("out of {}() must be one tensor, for one result of its kind", function)};
  return {put(*target, *computed), offset};
}

/// The functions of the table that compute a binary function's reductions.
struct Combination {
  std::string_view name, reduction, scan;
  std::optional<int> of_nothing = {};  // the neutral element, for functions without a reduction
};
constexpr Combination kCombinations[] = {
    {"add", "sum", "cumsum"},
    {"multiply", "prod", "cumprod"},
    {"maximum", "max", "cummax"},
    {"minimum", "min", "cummin"},
    {"logical_and", "all", "cummin"},
    {"logical_or", "any", "cummax"},
    {"logaddexp", "logsumexp", "logcumsumexp"},
    {"fmax", "nanmax", ""},
    {"fmin", "nanmin", ""},
    // associative functions without a reduction: elements are combined in pairs
    {"bitwise_and", "", "", -1},
    {"bitwise_or", "", "", 0},
    {"bitwise_xor", "", "", 0},
    {"gcd", "", "", 0},
    {"hypot", "", "", 0},
    {"lcm", "", ""},
    {"logical_xor", "", "", 0},
};
const Combination* combination_of(std::string_view name) {
  const auto found = std::find_if(std::begin(kCombinations), std::end(kCombinations), [&](const Combination& row) { return row.name == name; });
  return found == std::end(kCombinations) ? nullptr : found;
}

/// Returns the result if it is one tensor of real numbers.
Tensor real_result(const Value& made, const Function& function, std::size_t offset) {
  if (const Tensor* tensor = made.as<Tensor>()) return *tensor;
  throw Fault{offset,
              fmt::format("{}() gives several results or complex numbers here; methods such as reduce and at need one result of real numbers", function.name),
              true};
}

Tensor of_two(const Function& function, const Tensor& a, const Tensor& b, std::size_t offset) {
  return real_result(call(function, {{{}, {a, offset}}, {{}, {b, offset}}}, offset), function, offset);
}

/// Combines both halves until one slice is left.
Tensor folded(const Function& function, std::optional<int> of_nothing, Tensor x, std::size_t offset) {
  if (x.shape()[0] == 0) {
    if (!of_nothing) throw Fault{offset, fmt::format("{}.reduce() of nothing has no value", function.name)};
    return broadcast_to(astype(Tensor(*of_nothing), x.dtype()), Shape(x.shape().begin() + 1, x.shape().end()));
  }
  for (std::int64_t size = x.shape()[0]; size > 1; size = x.shape()[0]) {
    const auto part = [&](std::int64_t begin, std::int64_t end) { return std::as_const(x).at({Slice{begin, end}}, Location{}); };
    const Tensor both = of_two(function, part(0, size / 2), part(size / 2, size / 2 * 2), offset);
    x = size % 2 == 0 ? both : concatenate({both, astype(part(size - 1, size), both.dtype())}, 0, Location{});
  }
  return std::as_const(x).at({0}, Location{});
}

/// Applies a function that is not associative, such as subtract, slice by slice. With `all`, returns each intermediate result.
Tensor in_order(const Function& function, const Tensor& x, bool all, std::size_t offset) {
  constexpr std::int64_t kMaxSlices = 4096;
  const std::int64_t size = x.shape()[0];
  if (size == 0 && all) return x;
  if (size == 0) throw Fault{offset, fmt::format("{} of nothing has no value", function.name)};
  if (size > kMaxSlices) throw Fault{offset, fmt::format("{} would combine {} slices one after the other; the limit is {}", function.name, size, kMaxSlices)};
  const auto slice = [&](std::int64_t k) { return std::as_const(x).at({k}, Location{}); };
  Tensor so_far = slice(0);
  std::vector<Tensor> results{so_far};
  for (std::int64_t k = 1; k < size; ++k) {
    so_far = of_two(function, so_far, slice(k), offset);
    if (is_bool(so_far.dtype()) && !is_bool(x.dtype()))
      throw Fault{offset, fmt::format("{} of bool and {} differs from {} of the whole array", function.name, name(x.dtype()), function.name)};
    if (all) results.push_back(so_far);
  }
  if (!all) return so_far;
  for (Tensor& result : results) result = astype(result, so_far.dtype());
  return stack(results, 0, Location{});
}

/// By default the axis is the first, as in NumPy; None means the flat tensor.
constexpr Function kReduce{"reduce", "array axis? dtype? keepdims? initial? where?", nullptr};
constexpr Function kAccumulate{"accumulate", "array axis? dtype?", nullptr};
constexpr Function kReduceAt{"reduceat", "array indices axis? dtype?", nullptr};
constexpr Function kOuter{"outer", "A B", nullptr};
constexpr Function kAt{"at", "a indices b?", nullptr};

/// Calls the function with the given arguments and these keywords.
Value pass_on(std::string_view function, const Arguments& a, std::vector<Argument> arguments, const std::vector<std::pair<int, std::string_view>>& keywords,
              std::size_t offset) {
  for (const auto& [parameter, keyword] : keywords)
    if (const Value* value = a.given(parameter)) arguments.push_back({keyword, *value});
  return call(*find_function(function), std::move(arguments), offset);
}

/// The type in which the function computes with elements of x; x's own if the result is a truth.
DType type_of_two(const Function& function, const Tensor& x, std::size_t offset) {
  const Tensor one = zeros({}, x.dtype(), Location{});
  const DType type = of_two(function, one, one, offset).dtype();
  return is_bool(type) ? x.dtype() : type;
}

bool is_logical(const Function& function) { return function.name.starts_with("logical_"); }

/// Returns whether the table's reduction and scan take `dtype` themselves, or refuse it as NumPy does.
bool takes_dtype(const Function& function) { return function.name == "add" || function.name == "multiply" || is_logical(function); }

/// Returns the operand of the table's reduction or scan: in the type in which the ufunc computes, and in `dtype` if they do not take it.
Value operand_of(const Function& function, const Arguments& a, Value x, std::size_t offset) {
  if (function.name == "logaddexp") x = {astype(a.tensor(0), type_of_two(function, a.tensor(0), offset)), offset};
  if (a.given(2) && !takes_dtype(function)) x = {cast(array_of(x, function.name), *a.dtype(2), function.name, offset), offset};
  return x;
}

/// Reduces by the table's function for it, which may have no `initial`.
Value by_reduction(const Function& function, const Combination& row, const Arguments& a, Value axis, std::size_t offset) {
  std::vector<std::pair<int, std::string_view>> keywords{{3, "keepdims"}, {5, "where"}};
  if (takes_dtype(function)) keywords.emplace_back(2, "dtype");
  const bool combines = is_logical(function) || row.name == "logaddexp";
  if (!combines) keywords.emplace_back(4, "initial");
  Value result = pass_on(row.reduction, a, {{{}, operand_of(function, a, *a.given(0), offset)}, {"axis", std::move(axis)}}, keywords, offset);
  if (!combines || !a.given(4)) return result;
  const Tensor reduced = real_result(result, function, offset);
  return {of_two(function, reduced, astype(a.tensor(4), reduced.dtype()), offset), offset};
}

/// Reduces; `row` is null for a function that depends on the order.
Value reduce(const Function& function, const Combination* row, const Arguments& a, std::size_t offset) {
  Value axis = a.given(1) ? *a.given(1) : a.none(1) ? Value{} : Value{std::int64_t{0}, offset};
  if (row && !row->reduction.empty()) return by_reduction(function, *row, a, std::move(axis), offset);
  const Tensor x = a.tensor(0);
  if (a.given(5)) a.fail(5, fmt::format("{}.reduce() takes no where", function.name));
  if (!is_whole_number(axis) && !(a.none(1) && (row || x.ndim() <= 1)))
    a.fail(1, fmt::format("{}.reduce() goes along one axis{}", function.name, row ? ", or None for all" : ""));
  const bool along = !a.none(1) && x.ndim() > 0;
  const std::int64_t number = along ? whole_number(axis) : 0;
  Tensor first = along ? moveaxis(x, number, 0) : reshape(x, Shape{-1});
  if (a.given(2)) first = cast(first, *a.dtype(2), function.name, offset);
  if (a.given(4)) {
    if (first.shape()[0] > 0) first = astype(first, type_of_two(function, first, offset));
    Shape one = first.shape();
    one[0] = 1;
    first = concatenate({broadcast_to(astype(a.tensor(4), first.dtype()), one), first}, 0, Location{});
  }
  const Tensor result = row ? folded(function, row->of_nothing, row->name == "logical_xor" ? astype(first, DType::bool_) : first, offset)
                            : in_order(function, first, false, offset);
  if (!a.flag(3)) return {result, offset};
  return {along ? expand_dims(result, number) : reshape(result, Shape(static_cast<std::size_t>(x.ndim()), 1)), offset};
}

Value accumulate(const Function& function, const Combination* row, const Arguments& a, std::size_t offset) {
  const std::int64_t axis = a.integer(1, 0);
  Value x = is_logical(function) ? Value{astype(a.tensor(0), DType::bool_), offset} : *a.given(0);
  if (!row || row->scan.empty()) {
    const Tensor first = moveaxis(array_of(x, function.name), axis, 0);
    return {moveaxis(in_order(function, a.given(2) ? cast(first, *a.dtype(2), function.name, offset) : first, true, offset), 0, axis), offset};
  }
  std::vector<std::pair<int, std::string_view>> keywords;
  if (takes_dtype(function)) keywords.emplace_back(2, "dtype");
  return pass_on(row->scan, a, {{{}, operand_of(function, a, std::move(x), offset)}, {"axis", {axis, offset}}}, keywords, offset);
}

constexpr std::size_t kFewSegments = 16;  // more are reduced by one scatter instead of a kernel each

/// A function whose reductions of many slices are one scatter into rows of `neutral`, or into the first row of each slice.
struct Scattered {
  std::string_view name;
  Tensor (*combine)(const Arg& x, const std::vector<Index>& index, const Arg& values);
  std::optional<int> neutral;
};
constexpr Scattered kScattered[] = {{"add", add_at, 0}, {"multiply", multiply_at, 1}, {"minimum", minimum_at, {}}, {"maximum", maximum_at, {}}};
const Scattered* scattered_by(std::string_view name) {
  const auto found = std::find_if(std::begin(kScattered), std::end(kScattered), [&](const Scattered& row) { return row.name == name; });
  return found == std::end(kScattered) ? nullptr : found;
}

/// Reduces the slices from each index up to the next one, or a single slice if the next index is not larger.
Value reduce_at(const Function& function, const Combination* row, const Arguments& a, std::size_t offset) {
  const std::int64_t axis = a.integer(2, 0);
  const Tensor x = moveaxis(a.tensor(0), axis, 0);
  const std::vector<std::int64_t> places = a.list(1);
  const auto reduced = [&](const Tensor& rows) {
    std::vector<Argument> arguments{{{}, {rows, offset}}};
    if (a.given(3)) arguments.push_back({"dtype", *a.given(3)});
    return real_result(reduce(function, row, Arguments(kReduce, std::move(arguments), offset), offset), function, offset);
  };
  std::vector<Tensor> results;
  const Scattered* const scattered = scattered_by(function.name);
  if (scattered && places.size() > kFewSegments && std::adjacent_find(places.begin(), places.end(), std::greater_equal<>()) == places.end() && places[0] >= 0 &&
      places.back() < x.shape()[0]) {
    std::vector<std::int64_t> segments(static_cast<std::size_t>(x.shape()[0] - places[0]));
    for (std::size_t k = 0; k < places.size(); ++k) {
      const std::int64_t end = k + 1 < places.size() ? places[k + 1] : x.shape()[0];
      std::fill_n(segments.begin() + (places[k] - places[0]), end - places[k], static_cast<std::int64_t>(k));
    }
    const Tensor rows = x.at({Slice{places[0], std::nullopt}}, Location{});
    const DType type = reduced(rows).dtype();
    Shape shape = x.shape();
    shape[0] = std::ssize(places);
    const Tensor start = scattered->neutral ? full(shape, *scattered->neutral, type) : astype(take(x, Arg(places, Location{}), 0), type);
    return {moveaxis(scattered->combine(start, {Index(adopt(std::move(segments), {-1}, Location{}), Location{})}, astype(rows, type)), 0, axis), offset};
  }
  if (places.empty()) return {moveaxis(astype(x.at({Slice{0, 0}}, Location{}), reduced(x).dtype()), 0, axis), offset};
  if (places.size() > 1000)
    a.fail(
        1,
        "indices must be integers; other functions than add, multiply, minimum and maximum take at most a thousand of them, as do indices that do not ascend");
  for (std::size_t k = 0; k < places.size(); ++k) {
    const std::int64_t begin = places[k], end = k + 1 < places.size() ? places[k + 1] : x.shape()[0];
    if (begin < 0 || begin >= x.shape()[0]) a.fail(1, fmt::format("index {} is out of range for an axis of {}", begin, x.shape()[0]));
    results.push_back(reduced(x.at({Slice{begin, std::max(end, begin + 1)}}, Location{})));
  }
  return {moveaxis(stack(results, 0, Location{}), 0, axis), offset};
}

Value outer(const Function& function, const Arguments& a, std::size_t offset) {
  const Tensor left = a.tensor(0), right = a.tensor(1);
  Shape shape = left.shape();
  shape.insert(shape.end(), static_cast<std::size_t>(right.ndim()), 1);
  return {of_two(function, reshape(left, shape), right, offset), offset};
}

/// Applies the function at indices. With one operand, the function is applied once for each occurrence of an index.
Value at(const Function& function, const Arguments& a, std::size_t offset) {
  const bool one = function.parameters == "x";
  if (!one && !a.given(2)) a.fail(2, fmt::format("{}.at() needs the values", function.name));
  Tensor values = one ? Tensor(false) : a.tensor(2);
  if (!one && a.given(2)->is_number() && !is_floating(values.dtype())) values = astype(values, a.tensor(0).dtype());  // Python's integers are weak
  if (function.name == "add" || function.name == "subtract") {
    return call(*find_function("add_at"), {{{}, *a.given(0)}, {{}, *a.given(1)}, {{}, {function.name == "add" ? values : negative(values), offset}}}, offset);
  }
  const std::vector<Index> places = indices_of(*a.given(1));
  if (const Scattered* const row = scattered_by(function.name)) return {row->combine(a.tensor(0), places, values), offset};
  const auto combined = [&](const Tensor& x, const Tensor& y) {
    return one ? real_result(call(function, {{{}, {x, offset}}}, offset), function, offset) : of_two(function, x, y, offset);
  };
  const Tensor x = a.tensor(0);
  return {combine_at(x, places, values, combined, combination_of(function.name) && !one ? Combining::in_pairs : Combining::one_by_one), offset};
}

}  // namespace

bool is_elementwise(const Function& function) {
  constexpr std::string_view others[] = {"matmul",        "matrix_transpose", "matvec",        "svdvals", "unique_all",
                                         "unique_counts", "unique_inverse",   "unique_values", "vecmat"};
  return (function.parameters == "x" || function.parameters == "x1 x2") && std::find(std::begin(others), std::end(others), function.name) == std::end(others);
}

bool is_ufunc_method(std::string_view name) { return name == "reduce" || name == "accumulate" || name == "outer" || name == "reduceat" || name == "at"; }

Value call_with_keywords(const Function& function, std::vector<Argument> arguments, std::size_t offset) {
  if (std::all_of(arguments.begin(), arguments.end(), [](const Argument& argument) { return argument.keyword.empty(); }))
    return call(function, std::move(arguments), offset);
  const std::optional<Value> out = taken(arguments, "out");
  std::optional<Value> where, dtype, casting;
  if (is_elementwise(function)) {
    where = taken(arguments, "where");
    dtype = taken(arguments, "dtype");
    casting = taken(arguments, "casting");
    for (const char* unused : {"order", "subok"}) (void)taken(arguments, unused);  // options about NumPy's memory and subclasses
    if (where && where->as<bool>() && *where->as<bool>()) where.reset();
  }
  if (where && !out)
    throw Fault{where->offset, fmt::format("where= leaves the other elements of {}() without a value; out= says what they are", function.name)};
  constexpr std::string_view truths[] = {"equal", "greater", "greater_equal", "isfinite", "isinf", "isnan", "less", "less_equal", "not_equal", "signbit"};
  const bool of_truths = is_logical(function) || std::find(std::begin(truths), std::end(truths), function.name) != std::end(truths);
  if (dtype && of_truths && is_bool(dtype_of(*dtype, "dtype", function.name))) dtype.reset();  // the result is bool, whatever the operands are
  if (dtype) {
    const DType type = dtype_of(*dtype, "dtype", function.name);
    const bool unsafe = casting && casting->as<std::string>() && *casting->as<std::string>() == "unsafe";
    for (Argument& argument : arguments)
      argument.value = {cast(array_of(argument.value, function.name), type, function.name, argument.value.offset, unsafe), argument.value.offset};
  }
  Value result = call(function, std::move(arguments), offset);
  return out ? put_into(*out, result, where, function.name, offset) : result;
}

Value call_ufunc_method(const Function& function, std::string_view method, std::vector<Argument> arguments, std::size_t offset) {
  if (method == "outer") return outer(function, Arguments(kOuter, std::move(arguments), offset), offset);
  if (method == "at" && is_elementwise(function)) return at(function, Arguments(kAt, std::move(arguments), offset), offset);
  if (!is_elementwise(function) || function.parameters != "x1 x2")
    throw Fault{offset, fmt::format("{} needs a function of two operands, and {}() is not one", method, function.name)};
  const Combination* row = combination_of(function.name);
  const std::optional<Value> out = taken(arguments, "out");
  const Value result = method == "reduce"       ? reduce(function, row, Arguments(kReduce, std::move(arguments), offset), offset)
                       : method == "accumulate" ? accumulate(function, row, Arguments(kAccumulate, std::move(arguments), offset), offset)
                                                : reduce_at(function, row, Arguments(kReduceAt, std::move(arguments), offset), offset);
  return out ? put_into(*out, result, std::nullopt, function.name, offset) : result;
}

}  // namespace sinter::table
