// sinter.float32, sinter.complex64 and the others: the element types of arrays.
#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "core.hpp"
#include "table/complex_numbers.hpp"

namespace sinter::python {
namespace {

PyObject* dtype_type;
/// One object for each type; the complex types come last.
std::array<PyObject*, kDTypeCount + 2> objects;

std::size_t number(ElementType type) {
  if (!type.is_complex) return static_cast<std::size_t>(type.parts);
  return static_cast<std::size_t>(kDTypeCount) + (type.parts == DType::float64 ? 1 : 0);
}

char kind(ElementType type) {
  if (type.is_complex) return 'c';
  if (is_bool(type.parts)) return 'b';
  if (is_floating(type.parts)) return 'f';
  return is_unsigned(type.parts) ? 'u' : 'i';
}
int size_of(ElementType type) { return static_cast<int>(itemsize(type.parts)) * (type.is_complex ? 2 : 1); }

std::optional<ElementType> find_type(nb::handle object) {
  if (nb::isinstance<ElementType>(object)) return nb::cast<ElementType>(object);
  PyObject* const o = object.ptr();
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return ElementType{DType::bool_};
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return ElementType{DType::int64};
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return ElementType{DType::float64};
  if (o == reinterpret_cast<PyObject*>(&PyComplex_Type)) return ElementType{DType::float64, true};
  nb::object name;
  if (PyUnicode_Check(o)) name = nb::borrow(object);
  else if (PyType_Check(o)) name = nb::hasattr(object, "dtype") ? nb::object(object.attr("__name__")) : nb::object();  // numpy.float32
  else if (nb::hasattr(object, "itemsize") && nb::hasattr(object, "kind")) name = object.attr("name");                 // numpy.dtype
  if (!name.is_valid() || !PyUnicode_Check(name.ptr())) return std::nullopt;
  const auto text = nb::cast<std::string_view>(name);
  if (const auto parts = table::find_complex_type(text)) return ElementType{*parts, true};
  if (const auto dtype = table::find_type_string(text)) return ElementType{*dtype};
  if (text == "bool_") return ElementType{DType::bool_};
  return std::nullopt;
}

}  // namespace

std::optional<ElementType> find_element_type(nb::handle object) {
  // NumPy computes a type's name anew in every call, which takes longer than recording an operation. It has one object for each of its own types.
  constexpr std::size_t kMostKnown = 64;
  static auto& known = *new std::vector<std::pair<nb::object, ElementType>>;
  for (const auto& [type, element_type] : known)
    if (type.is(object)) return element_type;
  const std::optional<ElementType> found = find_type(object);
  if (found && known.size() < kMostKnown && !PyUnicode_Check(object.ptr())) known.emplace_back(nb::borrow(object), *found);
  return found;
}

std::string_view type_name(ElementType type) { return type.is_complex ? table::complex_type_name(type.parts) : sinter::name(type.parts); }

nb::object as_type(nb::object array, ElementType type) {
  const nb::object wanted = dtype_object(type);
  PyObject* const given[] = {array.ptr(), wanted.ptr()};
  return invoke(*table::find_function("astype"), nullptr, given, 2, nullptr);
}

nb::object dtype_object(ElementType type) { return nb::borrow(objects[number(type)]); }

void add_dtypes(nb::module_& module) {
  nb::class_<ElementType> type(module, "DType", "An element type. A call with a value makes an array of this type.");
  dtype_type = type.ptr();
  type.def_prop_ro("name", &type_name)
      .def_prop_ro("itemsize", &size_of, "The number of bytes of an element.")
      .def_prop_ro(
          "kind", [](ElementType t) { return std::string(1, kind(t)); }, "The kind of the type, as in NumPy: 'b', 'i', 'u', 'f' or 'c'.")
      .def_prop_ro("alignment", [](ElementType t) { return static_cast<int>(itemsize(t.parts)); })
      .def_prop_ro("str", [](ElementType t) { return fmt::format("{}{}{}", size_of(t) == 1 ? '|' : '<', kind(t), size_of(t)); })
      .def_prop_ro("hasobject", [](ElementType) { return false; })
      .def("__repr__", [](ElementType t) { return fmt::format("sinter.{}", type_name(t)); })
      .def("__str__", &type_name)
      .def("__hash__", [](ElementType t) { return static_cast<Py_hash_t>(number(t) + 1); })
      .def(
          "__eq__",
          [](ElementType a, nb::handle b) {
            const auto other = find_type(b);
            return other && number(a) == number(*other);
          },
          nb::arg("other").none())
      .def(
          "__ne__",
          [](ElementType a, nb::handle b) {
            const auto other = find_type(b);
            return !other || number(a) != number(*other);
          },
          nb::arg("other").none())
      .def("__reduce__", [](ElementType t) { return std::string(type_name(t)); })
      .def("__copy__", [](nb::handle self) { return nb::borrow(self); })
      .def("__deepcopy__", [](nb::handle self, nb::handle) { return nb::borrow(self); })
      .def("__call__", [](ElementType t, nb::handle value) { return as_type(new_array(array_of(value)), t); }, nb::arg("value") = 0);
  for (int k = 0; k < kDTypeCount + 2; ++k) {
    const ElementType element = k < kDTypeCount ? ElementType{static_cast<DType>(k)} : ElementType{k == kDTypeCount ? DType::float32 : DType::float64, true};
    objects[number(element)] = nb::cast(element).release().ptr();
    module.attr(std::string(type_name(element)).c_str()) = nb::handle(objects[number(element)]);
  }
  module.attr("bool_") = module.attr("bool");
}

}  // namespace sinter::python
