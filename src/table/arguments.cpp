#include "table/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "sinter/ops.hpp"
#include "sinter/shapes.hpp"
#include "table/complex_numbers.hpp"
#include "table/fault.hpp"

namespace sinter::table {
std::string signature(const std::vector<Parameter>& parameters) {
  std::string text;
  bool keywords = false;
  for (const Parameter& parameter : parameters) {
    const bool first_keyword = parameter.keyword_only && !std::exchange(keywords, parameter.keyword_only);
    text += fmt::format("{}{}{}{}", text.empty() ? "" : ", ", first_keyword ? "*, " : "", parameter.name, parameter.optional ? "=…" : "");
  }
  return text;
}

std::string_view kind_name(const Value& value) {
  constexpr std::string_view names[] = {"None",
                                        "a truth value",
                                        "an integer",
                                        "a float",
                                        "a tensor",
                                        "a dtype",
                                        "a string",
                                        "...",
                                        "a tuple",
                                        "the limits of a type",
                                        "an integer above 2**63 - 1",
                                        "a slice",
                                        "a complex type"};
  if (value.is_complex()) return "complex";
  return names[value.is.index()];
}

Arg operand(const Value& value, std::string_view user) {
  const Location nowhere{};  // errors of an expression show their position by its offset
  if (const auto* tensor = value.as<Tensor>()) return {*tensor, nowhere};
  if (const auto* b = value.as<bool>()) return {*b, nowhere};
  if (const auto* i = value.as<std::int64_t>()) return {*i, nowhere};
  if (const auto* f = value.as<double>()) return {*f, nowhere};
  if (const auto* large = value.as<std::uint64_t>()) return {*large, nowhere};
  if (value.is_complex()) array_of(value, user);  // throws
  throw Fault{value.offset, fmt::format("{} takes tensors and numbers, not {}", user, kind_name(value)), true};
}

namespace {

std::vector<Parameter> read_parameters(const Function& function) {
  std::vector<Parameter> parameters;
  bool keyword_only = false;
  std::string_view rest = function.parameters;
  while (!rest.empty()) {
    std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    if (word == "*") {
      keyword_only = true;
      continue;
    }
    Parameter parameter{.keyword_only = keyword_only};
    if ((parameter.optional = word.ends_with('?'))) word.remove_suffix(1);
    if ((parameter.takes_rest = word.ends_with('+'))) word.remove_suffix(1);
    const std::size_t bar = word.find('|');
    parameter.name = word.substr(0, bar);
    if (bar != std::string_view::npos) parameter.other_name = word.substr(bar + 1);
    parameters.push_back(parameter);
  }
  return parameters;
}

}  // namespace

const std::vector<Parameter>& parameters_of(const Function& function) {
  thread_local std::unordered_map<const char*, std::vector<Parameter>> known;  // the key is the address of the row's text, which is a literal
  auto& parameters = known[function.parameters.data()];
  if (parameters.empty()) parameters = read_parameters(function);
  return parameters;
}

Arguments::Arguments(const Function& function, std::vector<Argument> arguments, std::size_t offset)
    : function_(function), parameters_(parameters_of(function)), values_(parameters_.size()), offset_(offset) {
  std::size_t position = 0;
  Tuple rest;
  for (Argument& argument : arguments) {
    std::size_t at = 0;
    if (argument.keyword.empty()) {
      at = position;
      if (at >= parameters_.size() || parameters_[at].keyword_only)
        throw Fault{argument.value.offset, fmt::format("{}() takes {}: too many positional arguments", function.name, signature(parameters_)), true};
      if (parameters_[at].takes_rest) {
        rest.push_back(std::move(argument.value));
        continue;
      }
      ++position;
    } else {
      while (at < parameters_.size() && parameters_[at].name != argument.keyword &&
             (parameters_[at].other_name.empty() || parameters_[at].other_name != argument.keyword))
        ++at;
      if (at == parameters_.size()) {
        std::vector<std::string_view> names;
        for (const Parameter& parameter : parameters_) names.push_back(parameter.name);
        const std::string near = nearest(argument.keyword, names);
        throw Fault{argument.value.offset,
                    fmt::format("{}() has no parameter '{}'{}; it takes {}", function.name, argument.keyword,
                                near.empty() ? "" : fmt::format(" (did you mean {}?)", near), signature(parameters_)),
                    true};
      }
    }
    if (values_[at]) throw Fault{argument.value.offset, fmt::format("{}() is given '{}' twice", function.name, parameters_[at].name), true};
    values_[at] = std::move(argument.value);
  }
  if (!rest.empty()) {
    if (values_[position]) throw Fault{rest[0].offset, fmt::format("{}() is given '{}' twice", function.name, parameters_[position].name), true};
    const std::size_t at = rest[0].offset;
    const bool as_it_is = rest.size() == 1 && !rest[0].as<std::int64_t>();
    gathered_ = !as_it_is;
    values_[position] = as_it_is ? std::move(rest[0]) : Value{std::move(rest), at};
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].optional || (values_[i] && !values_[i]->as<None>())) continue;
    throw Fault{values_[i] ? values_[i]->offset : offset,
                fmt::format("{}() needs '{}'{}; it takes {}", function.name, parameters_[i].name, values_[i] ? ", which is None" : "", signature(parameters_)),
                true};
  }
}

const Value* Arguments::given(int parameter) const {
  const std::optional<Value>& value = values_[static_cast<std::size_t>(parameter)];
  return value && !value->as<None>() ? &*value : nullptr;
}

bool Arguments::none(int parameter) const {
  const std::optional<Value>& value = values_[static_cast<std::size_t>(parameter)];
  return value && value->as<None>();
}

void Arguments::fail(int parameter, const std::string& message) const {
  const std::optional<Value>& value = values_[static_cast<std::size_t>(parameter)];
  throw Fault{value ? value->offset : offset_, message};
}

void Arguments::wrong_kind(int parameter, std::string_view wanted) const {
  const std::optional<Value>& value = values_[static_cast<std::size_t>(parameter)];
  throw Fault{value ? value->offset : offset_,
              fmt::format("{} of {}() must be {}, not {}", parameters_[static_cast<std::size_t>(parameter)].name, function_.name, wanted,
                          value ? kind_name(*value) : "None"),
              true};
}

Arg Arguments::operand(int parameter) const {
  const Value* value = given(parameter);
  if (!value || !(value->is_operand() || value->as<Tuple>())) wrong_kind(parameter, "a tensor or a number");
  if (!value->as<Tuple>()) return table::operand(*value, function_.name);
  Tensor& list = lists_[parameter];
  if (list.empty_handle()) list = array_of(*value, function_.name);
  return {list, Location{}};
}

Tensor Arguments::tensor(int parameter) const {
  const Value* value = given(parameter);
  if (!value && !parameters_[static_cast<std::size_t>(parameter)].optional) wrong_kind(parameter, "a tensor");
  return value ? array_of(*value, function_.name) : Tensor();
}

std::vector<Tensor> Arguments::tensors(int parameter) const {
  const Value* value = given(parameter);
  if (value && parameters_[static_cast<std::size_t>(parameter)].takes_rest && !gathered_) return {array_of(*value, function_.name)};  // one argument, or list
  if (value && value->as<Tensor>()) return unstack(*value->as<Tensor>(), 0, Location{});
  if (!value || !value->as<Tuple>()) wrong_kind(parameter, "a tuple of tensors");
  if (value->is_complex()) return {array_of(*value, function_.name)};  // throws
  std::vector<Tensor> result;
  for (const Value& item : *value->as<Tuple>()) result.push_back(array_of(item, function_.name));
  return result;
}
std::optional<std::int64_t> Arguments::axis(int parameter) const { return given(parameter) ? std::optional(integer(parameter, 0)) : std::nullopt; }
std::vector<std::int64_t> Arguments::list(int parameter) const { return integers(parameter, "an integer or a tuple of integers"); }

std::vector<std::int64_t> Arguments::integers(int parameter, std::string_view wanted) const {
  const Value* value = given(parameter);
  if (value && is_whole_number(*value)) return {whole_number(*value)};
  if (const Tensor* tensor = value ? value->as<Tensor>() : nullptr; tensor && tensor->ndim() == 1 && is_integer(tensor->dtype()))
    return astype(*tensor, DType::int64).to_vector<std::int64_t>(Location{});
  if (!value || !value->as<Tuple>()) wrong_kind(parameter, wanted);
  std::vector<std::int64_t> result;
  for (const Value& item : *value->as<Tuple>()) {
    if (!is_whole_number(item))
      throw Fault{
          item.offset,
          fmt::format("{} of {}() must be {}, but this is {}", parameters_[static_cast<std::size_t>(parameter)].name, function_.name, wanted, kind_name(item)),
          true};
    result.push_back(whole_number(item));
  }
  return result;
}

Axes Arguments::axes(int parameter, const Axes& otherwise) const {
  return given(parameter) ? Axes(integers(parameter, "an integer or a tuple of integers")) : otherwise;
}

Shape Arguments::shape(int parameter) const { return integers(parameter, "an integer or a tuple of integers"); }

bool Arguments::flag(int parameter, bool otherwise) const {
  const Value* value = given(parameter);
  if (!value) return otherwise;
  if (const auto* b = value->as<bool>()) return *b;
  if (const Tensor* truth = value->as<Tensor>(); truth && truth->ndim() == 0 && is_bool(truth->dtype())) return truth->item<bool>(Location{});
  if (is_whole_number(*value))
    if (const std::int64_t number = whole_number(*value); number == 0 || number == 1) return number == 1;
  wrong_kind(parameter, "True or False");
}

std::int64_t Arguments::integer(int parameter, std::int64_t otherwise) const {
  const Value* value = given(parameter);
  if (!value) return otherwise;
  if (is_whole_number(*value)) return whole_number(*value);
  wrong_kind(parameter, "an integer");
}

int Arguments::small_integer(int parameter, int otherwise) const {
  const std::int64_t value = integer(parameter, otherwise);
  if (!std::in_range<int>(value))
    fail(parameter,
         fmt::format("{} of {}() is {}, which is not a 32-bit integer", parameters_[static_cast<std::size_t>(parameter)].name, function_.name, value));
  return static_cast<int>(value);
}

double Arguments::number(int parameter, double otherwise) const {
  const Value* value = given(parameter);
  if (!value) return otherwise;
  if (const auto* tensor = value->as<Tensor>(); tensor && tensor->ndim() == 0) return astype(*tensor, DType::float64).item<double>(Location{});
  if (!value->is_number()) wrong_kind(parameter, "a number");
  return table::operand(*value, function_.name).as_double();
}

std::string Arguments::text(int parameter, std::string_view otherwise) const {
  const Value* value = given(parameter);
  if (!value) return std::string(otherwise);
  if (const auto* text = value->as<std::string>()) return *text;
  wrong_kind(parameter, "a string");
}

std::optional<DType> Arguments::dtype(int parameter) const {
  const Value* value = given(parameter);
  return value ? std::optional(dtype_of(*value, parameters_[static_cast<std::size_t>(parameter)].name, function_.name)) : std::nullopt;
}

bool is_whole_number(const Value& value) {
  const auto* tensor = value.as<Tensor>();
  return value.as<std::int64_t>() || (tensor && tensor->ndim() == 0 && is_integer(tensor->dtype()));
}
std::int64_t whole_number(const Value& value) {
  if (const auto* integer = value.as<std::int64_t>()) return *integer;
  if (!is_whole_number(value)) throw Fault{value.offset, fmt::format("this is {}, not an integer", kind_name(value))};
  return astype(*value.as<Tensor>(), DType::int64).item<std::int64_t>(Location{});
}

std::optional<std::pair<std::int64_t, std::int64_t>> whole_pair(const Value& value) {
  const Tuple* both = value.as<Tuple>();
  if (!both || both->size() != 2 || !is_whole_number((*both)[0]) || !is_whole_number((*both)[1])) return std::nullopt;
  return std::pair{whole_number((*both)[0]), whole_number((*both)[1])};
}

Index index_of(const Value& value) {
  const Location nowhere{};
  if (const auto* i = value.as<std::int64_t>()) return {*i, nowhere};
  if (value.as<None>()) return {newaxis, nowhere};
  if (value.as<Ellipsis>()) return {ellipsis, nowhere};
  if (const auto* slice = value.as<Slice>()) return {*slice, nowhere};
  if (!value.as<Tensor>() && !value.as<Tuple>()) throw Fault{value.offset, fmt::format("an index cannot be {}", kind_name(value))};
  const Tensor places = array_of(value, "array");
  return {value.as<Tuple>() && places.size() == 0 ? astype(places, DType::int64) : places, nowhere};
}

std::vector<Index> indices_of(const Value& value) {
  const Tuple* tuple = value.as<Tuple>();
  if (!tuple || tuple->is_list || tuple->is_complex) return {index_of(value)};
  std::vector<Index> index;
  if (tuple->empty()) index.emplace_back(ellipsis, Location{});
  for (const Value& item : *tuple) index.push_back(index_of(item));
  return index;
}

DType dtype_of(const Value& value, std::string_view parameter, std::string_view function) {
  if (const auto* dtype = value.as<DType>()) return *dtype;
  const auto* text = value.as<std::string>();
  if (!text)
    throw Fault{value.offset, fmt::format("{} of {}() must be a dtype such as float32 or 'float32', not {}", parameter, function, kind_name(value)), true};
  if (const auto dtype = find_type_string(*text)) return *dtype;
  throw Fault{value.offset,
              fmt::format("{} of {}(): there is no dtype '{}'{}", parameter, function, *text,
                          text->starts_with('>') ? "; elements of files in the other byte order are converted when they are read" : ""),
              true};
}

Value call(const Function& function, std::vector<Argument> arguments, std::size_t offset) {
  if (std::optional<Value> complex = complex_call(function, arguments, offset)) return *std::move(complex);
  Value result = function.build(Arguments(function, std::move(arguments), offset));
  result.offset = offset;
  return result;
}

Value call(const Function& function, const Tensor& x) {
  std::vector<Argument> operand(1);
  operand[0].value = {x, 0};
  return function.build(Arguments(function, std::move(operand), 0));
}

}  // namespace sinter::table
