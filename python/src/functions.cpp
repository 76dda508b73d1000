// The functions of the table as Python functions, as methods of arrays, and as ufuncs.
#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core.hpp"
#include "sinter/errors.hpp"
#include "table/arguments.hpp"
#include "table/complex_numbers.hpp"
#include "table/descriptions.hpp"
#include "table/fault.hpp"
#include "table/ufuncs.hpp"

namespace sinter::python {
namespace {

using table::Argument;
using table::Function;
using table::Value;

/// Functions that return views in NumPy: an assignment to the result would change the array.
bool gives_view(std::string_view name) {
  constexpr std::string_view names[] = {
      "array_split", "ascontiguousarray", "asfortranarray", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_to", "diagonal",
      "dsplit",      "expand_dims",       "flip",           "fliplr",     "flipud",     "hsplit",     "imag",         "matrix_transpose",
      "moveaxis",    "permute_dims",      "ravel",          "real",       "reshape",    "rollaxis",   "rot90",        "split",
      "squeeze",     "swapaxes",          "transpose",      "unstack",    "view",       "vsplit"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// Functions that create an array accept the argument `device` of the Array API standard.
bool makes_array(std::string_view name) {
  constexpr std::string_view names[] = {"arange",   "empty", "empty_like", "eye",      "fftfreq", "full",      "full_like",
                                        "linspace", "ones",  "ones_like",  "rfftfreq", "zeros",   "zeros_like"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// NumPy returns a scalar for a result without axes. These functions return an array.
bool makes_created(std::string_view name) {
  constexpr std::string_view names[] = {"array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray"};
  return makes_array(name) || gives_view(name) || std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// Functions that return lists in NumPy; all others return tuples.
bool gives_list(std::string_view name) {
  constexpr std::string_view names[] = {"array_split", "dsplit", "hsplit", "split", "vsplit"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// Properties of a function's results, which its name determines.
struct Results {
  bool views = false;    // a method's results are views of its array
  bool created = false;  // a result without axes is an array, not a scalar
  bool keeps = false;    // ... if the method's array is one
  bool list = false;     // several results are a list
};
/// Returns the properties for a row of the table. They are kept, because searching the lists of names takes longer than many calls.
const Results& results_of(const Function& function) {
  static auto& known = *new std::unordered_map<const Function*, Results>;
  const auto [row, added] = known.try_emplace(&function);
  const std::string_view name = function.name;
  if (added) {
    const bool views = gives_view(name);
    row->second = {views, makes_created(name), views || name == "copy" || name == "astype", gives_list(name)};
  }
  return row->second;
}

/// Returns a signature in Python's form: "(x1, x2, *, axis=None)".
std::string signature_of(const Function& function, bool method) {
  std::string text = "(";
  bool keywords = false, defaults = false;
  std::size_t place = 0;
  const auto add = [&](std::string_view word) { text += fmt::format("{}{}", text.size() == 1 ? "" : ", ", word); };
  for (const table::Parameter& parameter : table::parameters_of(function)) {
    const bool first = place++ == 0, self = method && first, rest = parameter.takes_rest && (first || method) && !self;
    if (parameter.keyword_only && !keywords) add("*"), keywords = true;
    if (rest) {
      add(fmt::format("*{}", parameter.name)), keywords = true;
      continue;
    }
    defaults |= parameter.optional;
    const std::string_view name = self ? "self" : parameter.name;
    add(!self && (parameter.optional || (defaults && !keywords)) ? fmt::format("{}=None", name) : std::string(name));
  }
  if (makes_array(function.name)) {
    if (!keywords) add("*");
    add("device=None");
  }
  return text + ")";
}

/// Returns the docstring: the signature, a description, and the example.
std::string documentation(const Function& function, std::string_view name, bool method) {
  const table::Description* described = table::find_description(function);
  std::string text = fmt::format("{}{}\n--\n\n", name, signature_of(function, method));
  if (described) text += fmt::format("{}\n\n    {}", described->text, described->example);
  return text;
}

/// Gives a handle the value of an array, or of the array that asarray makes of the object.
void rebind(Array& handle, nb::handle value) {
  const Array made = array_of(value);
  handle.re = made.re, handle.im = made.im;
}

nb::object call(const Function& function, PyObject* self, std::vector<Argument> arguments, Array* out) {
  const Value result = table::call_with_keywords(function, std::move(arguments), 0);
  nb::object made = object_of(result);
  if (out) rebind(*out, made);
  const Results& results = results_of(function);
  if (results.list) made = nb::steal(PySequence_List(made.ptr()));
  const auto mark = [&](nb::handle one) {
    Array* const array = as_array(one);
    if (!array) return;
    const Array* const from = self ? as_array(self) : nullptr;
    array->created = results.keeps && from && from->re.ndim() == 0 ? from->created : results.created;
    if (self && results.views) array->base = base_of(self);
  };
  if (PyList_Check(made.ptr()) || PyTuple_Check(made.ptr())) {
    for (nb::handle one : made) mark(one);
  } else {
    mark(made);
  }
  return made;
}

std::vector<Argument> arguments_of(PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* keywords, nb::object& out) {
  std::vector<Argument> arguments;
  arguments.reserve(static_cast<std::size_t>(count) + (self ? 1 : 0) + (keywords ? static_cast<std::size_t>(PyTuple_Size(keywords)) : 0));
  if (self) arguments.push_back({{}, value_of(nb::handle(self))});
  for (Py_ssize_t k = 0; k < count; ++k) arguments.push_back({{}, value_of(nb::handle(given[k]))});
  const Py_ssize_t named = keywords ? PyTuple_Size(keywords) : 0;
  for (Py_ssize_t k = 0; k < named; ++k) {
    const auto name = nb::cast<std::string_view>(nb::handle(PyTuple_GetItem(keywords, k)));
    nb::object value = nb::borrow(given[count + k]);
    if (name == "device") {
      check_device(value);
      continue;
    }
    if (name == "out") {
      if (PyTuple_Check(value.ptr()) && PyTuple_Size(value.ptr()) == 1) value = nb::borrow(PyTuple_GetItem(value.ptr(), 0));
      if (value.is_none()) continue;
      if (!as_array(value)) raise(PyExc_TypeError, "out must be an array of sinter");
      out = value;
    }
    arguments.push_back({name, value_of(value)});
  }
  return arguments;
}

constexpr std::size_t kMaxRows = 640, kMaxMembers = 64;
template <std::size_t I> PyObject* row(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject* keywords) noexcept {
  return guarded([&] { return invoke(table::functions()[I], nullptr, given, count, keywords); });
}
template <std::size_t I> PyObject* method(PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* keywords) noexcept {
  return guarded([&] { return invoke(table::functions()[I], self, given, count, keywords); });
}
template <std::size_t I> PyObject* member(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject* keywords) noexcept {
  return guarded([&] { return invoke(table::members()[I], nullptr, given, count, keywords); });
}
using Entry = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
template <std::size_t... I> constexpr std::array<Entry, sizeof...(I)> rows(std::index_sequence<I...>) { return {row<I>...}; }
template <std::size_t... I> constexpr std::array<Entry, sizeof...(I)> methods(std::index_sequence<I...>) { return {method<I>...}; }
template <std::size_t... I> constexpr std::array<Entry, sizeof...(I)> all_members(std::index_sequence<I...>) { return {member<I>...}; }

/// Makes a method definition that is never freed, as Python requires.
PyMethodDef* definition(Entry entry, std::string_view name, const std::string& text) {
  auto* const words = new std::pair<std::string, std::string>(name, text);
  return new PyMethodDef{words->first.c_str(), reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(entry)), METH_FASTCALL | METH_KEYWORDS,
                         words->second.c_str()};
}

/// sinter.ufunc: an elementwise function, which has methods.
struct Ufunc {
  const Function* function;
};
/// Returns the operand of a call such as exp(x) if it is one real array and there are no keywords; else null.
const Array* one_real(const Function& function, PyObject* arguments, PyObject* keywords) {
  if (function.parameters != "x" || PyTuple_Size(arguments) != 1 || (keywords && PyDict_Size(keywords) > 0)) return nullptr;
  const Array* array = as_array(PyTuple_GetItem(arguments, 0));
  return array && !array->is_complex() ? array : nullptr;
}
nb::object call_ufunc(const Function& function, PyObject* arguments, PyObject* keywords) {
  if (const Array* array = one_real(function, arguments, keywords)) {
    const Here here(function.name.data());
    return object_of(table::call(function, array->re));
  }
  std::vector<PyObject*> given;
  for (Py_ssize_t k = 0; k < PyTuple_Size(arguments); ++k) given.push_back(PyTuple_GetItem(arguments, k));
  auto count = static_cast<Py_ssize_t>(given.size());
  nb::object names;
  if (keywords && PyDict_Size(keywords) > 0) {
    const nb::object list = nb::steal(PyDict_Keys(keywords));
    names = nb::steal(PyList_AsTuple(list.ptr()));
    for (Py_ssize_t k = 0; k < PyTuple_Size(names.ptr()); ++k) given.push_back(PyDict_GetItem(keywords, PyTuple_GetItem(names.ptr(), k)));
  }
  if (count == static_cast<Py_ssize_t>(table::parameters_of(function).size()) + 1) {  // exp(x, out)
    names = nb::make_tuple("out") + (names.is_valid() ? nb::object(names) : nb::object(nb::tuple()));
    --count;
  }
  return invoke(function, nullptr, given.data(), count, names.ptr());
}
const Function& function_of(PyObject* ufunc) {
  if (!nb::inst_ready(nb::handle(ufunc))) raise(PyExc_TypeError, "only sinter can make functions of the table");
  return *nb::inst_ptr<Ufunc>(ufunc)->function;
}
PyObject* ufunc_called(PyObject* self, PyObject* arguments, PyObject* keywords) noexcept {
  return guarded([&] { return call_ufunc(function_of(self), arguments, keywords); });
}
std::string name_of(const Function& function) { return std::string(function.name); }
std::string help_of(const Function& function) {
  const std::string text = documentation(function, function.name, false);
  return text.substr(text.find("--\n\n") + 4);
}
std::string words_of(const Function& function) { return signature_of(function, false); }
template <std::string (*Text)(const Function&)> PyObject* text_of(PyObject* self, void*) noexcept {
  return guarded([&]() -> nb::object { return nb::str(Text(function_of(self)).c_str()); });
}
nb::object ufunc_method(const Ufunc& ufunc, const char* name, nb::args given, nb::kwargs keywords) {
  const Here here(ufunc.function->name.data());
  std::vector<Argument> arguments;
  std::vector<std::string> names;
  names.reserve(keywords.size());
  nb::object out;
  for (nb::handle value : given) arguments.push_back({{}, value_of(value)});
  for (auto [key, value] : keywords) {
    names.push_back(nb::cast<std::string>(key));
    if (names.back() == "out") {
      if (value.is_none()) continue;
      out = nb::borrow(value);
      continue;
    }
    arguments.push_back({names.back(), value_of(value)});
  }
  const Value result = table::call_ufunc_method(*ufunc.function, name, std::move(arguments), 0);
  Array* target = std::string_view(name) == "at" ? as_array(given[0]) : out.is_valid() ? as_array(out) : nullptr;
  nb::object made = object_of(result);
  if (target) {
    warn_of_view(*target);
    rebind(*target, made);
    if (std::string_view(name) == "at") return nb::none();
    return out;
  }
  return made;
}

}  // namespace

nb::object invoke(const Function& function, PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  const Here here(function.name.data());
  nb::object out;
  std::vector<Argument> arguments = arguments_of(self, given, count, keywords, out);
  if (out.is_valid()) warn_of_view(*as_array(out));
  nb::object made = call(function,
                         self                              ? self
                         : count > 0 && as_array(given[0]) ? given[0]
                                                           : nullptr,
                         std::move(arguments), out.is_valid() ? as_array(out) : nullptr);
  return out.is_valid() ? out : made;
}

void add_functions(nb::module_& module) {
  static constexpr auto entries = rows(std::make_index_sequence<kMaxRows>());
  static constexpr auto method_entries = methods(std::make_index_sequence<kMaxRows>());
  static constexpr auto member_entries = all_members(std::make_index_sequence<kMaxMembers>());
  static PyGetSetDef of_ufuncs[] = {{"__name__", text_of<name_of>, nullptr, nullptr, nullptr},
                                    {"__qualname__", text_of<name_of>, nullptr, nullptr, nullptr},
                                    {"__doc__", text_of<help_of>, nullptr, nullptr, nullptr},
                                    {"__text_signature__", text_of<words_of>, nullptr, nullptr, nullptr},
                                    {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyType_Slot ufunc_slots[] = {{Py_tp_call, reinterpret_cast<void*>(ufunc_called)}, {Py_tp_getset, reinterpret_cast<void*>(of_ufuncs)}, {0, nullptr}};
  nb::class_<Ufunc>(module, "ufunc", nb::type_slots(ufunc_slots))
      .def_prop_ro("nin", [](const Ufunc& u) { return table::parameters_of(*u.function).size(); })
      .def("__repr__", [](const Ufunc& u) { return fmt::format("<ufunc '{}'>", u.function->name); })
      .def("__reduce__", [](const Ufunc& u) { return std::string(u.function->name); });
  module.def("ufunc_method", &ufunc_method);

  if (table::functions().size() > kMaxRows || table::members().size() > kMaxMembers)
    throw InternalError("the table has more rows than the extension has entries");
  const nb::object of_module = nb::str("sinter");
  const nb::dict functions, members, methods_of_arrays;
  for (std::size_t k = 0; k < table::functions().size(); ++k) {
    const Function& function = table::functions()[k];
    const std::string name(function.name);
    if (table::is_elementwise(function)) {
      functions[name.c_str()] = nb::cast(Ufunc{&function});
    } else {
      functions[name.c_str()] = nb::steal(PyCFunction_NewEx(definition(entries[k], name, documentation(function, name, false)), nullptr, of_module.ptr()));
    }
    methods_of_arrays[name.c_str()] = nb::steal(PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(nb::object(module.attr("Array")).ptr()),
                                                                  definition(method_entries[k], name, documentation(function, name, true))));
  }
  for (std::size_t k = 0; k < table::members().size(); ++k) {
    const Function& function = table::members()[k];
    const std::string full(function.name), name = full.substr(full.find('.') + 1), owner = "sinter." + full.substr(0, full.find('.'));
    members[full.c_str()] =
        nb::steal(PyCFunction_NewEx(definition(member_entries[k], name, documentation(function, name, false)), nullptr, nb::str(owner.c_str()).ptr()));
  }
  module.attr("functions") = functions;
  module.attr("members") = members;
  module.attr("methods") = methods_of_arrays;
}

}  // namespace sinter::python
