// Converts Python objects to values of the table, and back.
#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core.hpp"
#include "sinter/adopt.hpp"
#include "sinter/errors.hpp"
#include "sinter/ops.hpp"
#include "sinter/types.hpp"
#include "table/arguments.hpp"
#include "table/complex_numbers.hpp"
#include "table/fault.hpp"

namespace sinter::python {
namespace {

using table::Fault;
using table::Tuple;
using table::Value;

/// Reads nested lists of Python numbers directly, because one table value for each element of a large list would take too long.
struct Numbers {
  Shape shape;
  std::vector<std::int64_t> integers;
  std::vector<double> floats;
  bool all_bools = true, any_float = false, any_negative = false, any_large = false;  // large: above the greatest int64, stored as the bits of a uint64

  /// Returns false if the lists contain other objects, or if they do not have one shape.
  bool read(PyObject* list, std::size_t depth, bool first) {
    const bool is_list = PyList_Check(list);
    constexpr std::size_t kDeepest = 64;
    if ((!is_list && !PyTuple_Check(list)) || depth >= kDeepest) return false;
    const Py_ssize_t size = is_list ? PyList_Size(list) : PyTuple_Size(list);
    if (first && depth == shape.size()) shape.resize(depth + 1, size);
    else if (depth >= shape.size() || shape[depth] != size) return false;
    for (Py_ssize_t k = 0; k < size; ++k) {
      PyObject* const item = is_list ? PyList_GetItem(list, k) : PyTuple_GetItem(list, k);
      if (PyList_Check(item) || PyTuple_Check(item)) {
        if (!read(item, depth + 1, first && k == 0)) return false;
      } else if (depth + 1 != shape.size() || !number(item)) {
        return false;
      }
    }
    return true;
  }

 private:
  bool number(PyObject* item) {
    PyTypeObject* const type = Py_TYPE(item);
    if (type == &PyFloat_Type) {
      if (any_large) return false;
      any_float = true;
      all_bools = false;
      floats.resize(integers.size());
      floats.push_back(PyFloat_AsDouble(item));
      integers.push_back(0);
      return true;
    }
    if (type != &PyLong_Type && type != &PyBool_Type) return false;
    int overflow = 0;
    long long value = PyLong_AsLongLongAndOverflow(item, &overflow);
    if (overflow != 0) {
      const unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(item) : 0;
      if (overflow < 0 || PyErr_Occurred() || any_float) {
        PyErr_Clear();
        return false;
      }
      any_large = true;
      value = static_cast<long long>(large);
    } else {
      any_negative |= value < 0;
    }
    all_bools &= type == &PyBool_Type;
    integers.push_back(value);
    if (any_float) floats.push_back(static_cast<double>(value));
    return true;
  }

 public:
  Tensor tensor() {
    if (any_float) {
      for (std::size_t k = 0; k < integers.size(); ++k)
        if (integers[k] != 0) floats[k] = static_cast<double>(integers[k]);
      return adopt(std::move(floats), shape, Location{});
    }
    if (integers.empty()) return zeros(shape, DType::float64, Location{});
    const bool unsigned_bits = any_large && !any_negative;
    const Tensor whole = adopt(std::move(integers), shape, Location{});
    if (unsigned_bits) return view(whole, DType::uint64);
    return all_bools ? astype(whole, DType::bool_) : whole;
  }
};

std::string kind_of(nb::handle object) {
  return nb::cast<std::string>(nb::object(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr()))).attr("__name__")));
}

Value number_of(PyObject* integer) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(integer, &overflow);
  if (value == -1 && PyErr_Occurred()) throw nb::python_error();
  if (overflow == 0) return {static_cast<std::int64_t>(value)};
  const unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(integer) : 0;
  if (overflow < 0 || PyErr_Occurred()) {
    PyErr_Clear();
    raise(PyExc_OverflowError, "this integer has more than 64 bits");
  }
  return {static_cast<std::uint64_t>(large)};
}

/// Returns an end of a slice. Beyond 64 bits, all numbers are equally far away.
std::int64_t end_of(nb::handle object) {
  const nb::object integer = integer_of(object);
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(integer.ptr(), &overflow);
  if (overflow != 0) return overflow > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
  return value;
}

nb::object list_of(PyObject* iterable) {
  nb::object list = nb::steal(PySequence_List(iterable));
  if (!list.is_valid()) throw nb::python_error();
  return list;
}

/// Limits nested lists to the depth of Python's own stack.
struct Depth {
  Depth() {
    if (Py_EnterRecursiveCall(" in the lists of an array") != 0) throw nb::python_error();
  }
  ~Depth() { Py_LeaveRecursiveCall(); }
  Depth(const Depth&) = delete;
};

Value value_of(const Array& array) {
  if (array.is_complex()) return table::complex_value(array.pair(), 0);
  return {array.re};
}

template <class T> nb::object element(T value) {
  if constexpr (std::is_same_v<T, bool>) return nb::bool_(value);
  else if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T>) return nb::steal(PyLong_FromUnsignedLongLong(value));
  else if constexpr (std::is_integral_v<T>) return nb::steal(PyLong_FromLongLong(value));
  else return nb::steal(PyFloat_FromDouble(static_cast<double>(value)));
}

template <class Item> nb::object nested(const Shape& shape, std::size_t axis, std::int64_t& next, Item&& item) {
  if (axis == shape.size()) return item(next++);
  nb::object list = nb::steal(PyList_New(shape[axis]));
  for (std::int64_t k = 0; k < shape[axis]; ++k) PyList_SetItem(list.ptr(), k, nested(shape, axis + 1, next, item).release().ptr());
  return list;
}

/// Returns the object of finfo(dtype) or iinfo(dtype) with its attributes.
nb::object limits(DType dtype) {
  const nb::object made = nb::module_::import_("types").attr("SimpleNamespace")();
  made.attr("bits") = 8 * itemsize(dtype);
  made.attr("dtype") = dtype_object({dtype});
  if (is_floating(dtype)) {
    const FloatInfo info = finfo(dtype, Location{});
    made.attr("eps") = info.eps;
    made.attr("min") = info.min;
    made.attr("max") = info.max;
    made.attr("smallest_normal") = made.attr("tiny") = nb::float_(info.smallest_normal);
    made.attr("smallest_subnormal") = info.smallest_subnormal;
    made.attr("resolution") = 1e-6 < info.eps ? 1e-3 : dtype == DType::float32 ? 1e-6 : 1e-15;
  } else {
    const IntegerInfo info = iinfo(dtype, Location{});
    made.attr("min") = nb::steal(PyLong_FromLongLong(info.min));
    made.attr("max") = nb::steal(PyLong_FromUnsignedLongLong(info.max));
  }
  return made;
}

}  // namespace

nb::object integer_of(nb::handle object) {
  nb::object integer = nb::steal(PyNumber_Index(object.ptr()));
  if (!integer.is_valid()) throw nb::python_error();
  return integer;
}

std::optional<DType> scalar_type(PyObject* object) {
  // NumPy's types that were met, with their element types; none for complex and other types. The references keep the types alive, so no other type gets their
  // address.
  constexpr std::size_t kMostKnown = 64;
  static auto& known = *new std::vector<std::pair<nb::object, std::optional<DType>>>;
  PyTypeObject* const type = Py_TYPE(object);
  const auto found = std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.first.ptr() == reinterpret_cast<PyObject*>(type); });
  if (found != known.end()) return found->second;
  const nb::object of = nb::borrow(reinterpret_cast<PyObject*>(type)), module = nb::getattr(of, "__module__", nb::none());
  if (!PyUnicode_Check(module.ptr()) || nb::cast<std::string_view>(module) != "numpy") return {};
  const auto element_type = find_element_type(of);
  const auto real = element_type && !element_type->is_complex ? std::optional(element_type->parts) : std::nullopt;
  if (known.size() < kMostKnown) known.emplace_back(of, real);
  return real;
}

Tensor scalar_of(PyObject* object) {
  const std::optional<DType> type = scalar_type(object);
  if (!type) return {};
  Py_buffer view;
  if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
  std::byte bytes[8];
  const bool fits = view.len == static_cast<Py_ssize_t>(itemsize(*type));
  if (fits) std::memcpy(bytes, view.buf, itemsize(*type));
  PyBuffer_Release(&view);
  if (!fits) return {};
  return visit_storage(*type, [&]<class T>() {
    T value{};
    std::memcpy(&value, bytes, sizeof value);
    return Tensor(value, Location{});
  });
}

Slice slice_of(nb::handle slice) {
  static PyObject* const names[] = {PyUnicode_InternFromString("start"), PyUnicode_InternFromString("stop"), PyUnicode_InternFromString("step")};
  std::optional<std::int64_t> ends[3];
  for (int k = 0; k < 3; ++k) {
    const nb::object at = nb::steal(PyObject_GetAttr(slice.ptr(), names[k]));
    if (!at.is_valid()) throw nb::python_error();
    if (!at.is_none()) ends[k] = end_of(at);
  }
  return {ends[0], ends[1], ends[2]};
}

Value value_of(nb::handle object) {
  PyObject* const o = object.ptr();
  if (const Array* array = as_array(object)) return value_of(*array);
  PyTypeObject* const type = Py_TYPE(o);
  if (type == &PyFloat_Type) return {PyFloat_AsDouble(o)};
  if (type == &PyBool_Type) return {o == Py_True};
  if (type == &PyLong_Type) return number_of(o);
  if (o == Py_None) return {table::None{}};
  if (PyTuple_Check(o) || PyList_Check(o)) {
    const Depth depth;
    const bool is_list = PyList_Check(o);
    const Py_ssize_t size = is_list ? PyList_Size(o) : PyTuple_Size(o);
    constexpr Py_ssize_t kLong = 32;
    if (size > kLong) {
      if (Numbers numbers; numbers.read(o, 0, true) && !(numbers.any_large && numbers.any_negative)) return {numbers.tensor()};
    }
    Tuple items;
    items.is_list = is_list;
    for (Py_ssize_t k = 0; k < size; ++k) items.push_back(value_of(nb::handle(is_list ? PyList_GetItem(o, k) : PyTuple_GetItem(o, k))));
    return {std::move(items)};
  }
  if (PyUnicode_Check(o)) return {nb::cast<std::string>(object)};
  if (o == Py_Ellipsis) return {Ellipsis{}};
  if (type == &PyComplex_Type)
    return table::complex_value({full({}, PyComplex_RealAsDouble(o), DType::float64), full({}, PyComplex_ImagAsDouble(o), DType::float64)}, 0, true);
  if (const auto element_type = PyType_Check(o) || nb::isinstance<ElementType>(object) ? find_element_type(object) : std::nullopt) {
    if (element_type->is_complex) return {table::ComplexType{element_type->parts}};
    return {element_type->parts};
  }
  if (PyType_Check(o)) throw Fault{0, fmt::format("the type {} is not an element type of sinter", nb::cast<std::string>(nb::str(object))), true};
  if (PySlice_Check(o)) return {slice_of(object)};
  if (const auto scalar = scalar_type(o); scalar && is_floating(*scalar))  // integers are evaluated at once, because many arguments are read while recording
    if (const Tensor made = scalar_of(o); !made.empty_handle()) return {made};
  if (PyObject_CheckBuffer(o) && !PyBytes_Check(o) && !PyByteArray_Check(o)) return value_of(from_buffer(object));
  if (PyFloat_Check(o)) return {PyFloat_AsDouble(o)};
  if (PyLong_Check(o)) return number_of(o);
  if (PyRange_Check(o)) return value_of(list_of(o));
  if (nb::hasattr(object, "__dlpack__")) return value_of(from_dlpack(object, true));
  if (const auto element_type = find_element_type(object)) {  // numpy.dtype('float32')
    if (element_type->is_complex) return {table::ComplexType{element_type->parts}};
    return {element_type->parts};
  }
  if (nb::hasattr(object, "__index__")) return number_of(integer_of(object).ptr());
  if (nb::hasattr(object, "__array__")) return value_of(from_buffer(object.attr("__array__")()));
  if (PyIter_Check(o)) return value_of(list_of(o));
  throw Fault{0, fmt::format("an object of type {} is not an array, a number, a list of these, or an option", kind_of(object)), true};
}

nb::object object_of(const Value& value) {
  if (const auto* tensor = value.as<Tensor>()) return new_array(*tensor);
  if (value.is_complex()) return new_array(table::complex_of(value, ""));
  if (const auto* items = value.as<Tuple>()) {
    nb::object list = nb::steal(PyList_New(0));
    for (const Value& item : *items) PyList_Append(list.ptr(), object_of(item).ptr());
    return items->is_list ? list : nb::steal(PyList_AsTuple(list.ptr()));
  }
  if (const auto* b = value.as<bool>()) return nb::bool_(*b);
  if (const auto* i = value.as<std::int64_t>()) return nb::steal(PyLong_FromLongLong(*i));
  if (const auto* large = value.as<std::uint64_t>()) return nb::steal(PyLong_FromUnsignedLongLong(*large));
  if (const auto* f = value.as<double>()) return nb::float_(*f);
  if (const auto* dtype = value.as<DType>()) return dtype_object({*dtype});
  if (const auto* complex = value.as<table::ComplexType>()) return dtype_object({complex->of_parts, true});
  if (const auto* text = value.as<std::string>()) return nb::str(text->c_str(), text->size());
  if (const auto* range = value.as<table::Limits>()) return limits(range->dtype);
  return nb::none();
}

Array array_of(nb::handle object) {
  if (const Array* array = as_array(object)) return {array->re, array->im, {}};
  PyObject* const o = object.ptr();
  if (PyList_Check(o) || PyTuple_Check(o)) {
    if (Numbers numbers; numbers.read(o, 0, true) && !(numbers.any_large && numbers.any_negative)) return {numbers.tensor(), {}, {}};
  }
  const Value value = value_of(object);
  if (table::holds_complex(value)) {
    Complex pair = table::complex_of(value, "asarray");
    return {std::move(pair.re), std::move(pair.im), {}};
  }
  return {table::array_of(value, "asarray"), {}, {}};
}

std::function<nb::object(std::int64_t)> elements_of(const Array& array) {
  evaluate(array);
  if (array.is_complex()) {
    const auto re = elements_of(Array{array.re, {}, {}}), im = elements_of(Array{array.im, {}, {}});
    return [re, im](std::int64_t k) { return nb::steal(PyComplex_FromDoubles(PyFloat_AsDouble(re(k).ptr()), PyFloat_AsDouble(im(k).ptr()))); };
  }
  return visit_storage(array.re.dtype(), [&]<class T>() -> std::function<nb::object(std::int64_t)> {
    const auto* elements = static_cast<const T*>(detail::host_address(array.re, array.re.dtype(), "tolist", Location{}));
    return [elements, held = array.re](std::int64_t k) { return element(elements[k]); };
  });
}
nb::object to_list(Array array) {
  std::int64_t next = 0;
  return nested(array.re.shape(), 0, next, elements_of(array));
}

nb::object to_number(Array array) {
  if (array.re.size() != 1)
    throw ValueError(fmt::format("only an array of one element converts to a number; this array has shape {}", to_string(array.re.shape())));
  for (Tensor* const part : {&array.re, &array.im}) {
    std::uint64_t element = 0;
    if (!part->empty_handle() && !is_evaluated(*part) && detail::copy_selected(*part, &element)) {
      const Here here("item");
      *part = from_bytes(&element, part->dtype(), 1, Shape{}, Location{});
    }
  }
  if (array.re.ndim() == 0) return to_list(array);
  return to_list(Array{reshape(array.re, Shape{}), array.is_complex() ? reshape(array.im, Shape{}) : Tensor(), {}});
}

}  // namespace sinter::python
