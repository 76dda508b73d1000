// Declarations for all files of the extension: arrays, conversion between values of the table and objects of Python, errors, and the caller's line.
#pragma once
#include <nanobind/nanobind.h>

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "sinter/caller.hpp"
#include "sinter/complex.hpp"
#include "sinter/errors.hpp"
#include "sinter/tensor.hpp"
#include "table/functions.hpp"

namespace sinter::python {

namespace nb = nanobind;

/// sinter.Array: a handle on a tensor, or on the two parts of complex numbers. Assigning to a part of it gives the handle another tensor.
struct Array {
  Tensor re, im;    // `im` is an empty handle where the elements are real
  nb::object base;  // a weak reference to the array of which NumPy would have made this a view; null for none

  bool is_complex() const { return !im.empty_handle(); }
  Complex pair() const { return {re, im}; }
};

/// sinter.DType: an element type, or complex64 and complex128, whose parts are of `parts`.
struct ElementType {
  DType parts;
  bool is_complex = false;
};

/// The line of Python that called, with the file's name at an address that stays the same. Lines of the package itself do not count.
Location location();

/// How many frames up from the present one the caller's is, from 1 on: for warnings.
int stack_level();

/// While one lives, what is recorded is recorded for this function and the caller's line.
class Here : public Caller {
 public:
  explicit Here(const char* function) : Caller(function, location()) {}
};

/// An exception that a formula of Python raised, on its way through the library.
struct FormulaError : Error {
  explicit FormulaError(nb::python_error&& raised) : Error(raised.what()), original(std::make_shared<nb::python_error>(std::move(raised))) {}
  std::shared_ptr<nb::python_error> original;
};

/// Makes Python's error of the C++ exception that is being handled.
void set_error() noexcept;
/// Calls `make`, which gives an object, for a slot of CPython: a null pointer where it throws, with the error set.
template <class Make> PyObject* guarded(Make&& make) noexcept {
  try {
    return nb::object(make()).release().ptr();
  } catch (...) {
    set_error();
    return nullptr;
  }
}
/// Likewise for a slot that gives an integer, -1 with an error.
template <class Work> int guarded_int(Work&& work) noexcept {
  try {
    return static_cast<int>(work());
  } catch (...) {
    set_error();
    return -1;
  }
}
[[noreturn]] void raise(PyObject* type, const char* message);

/// A weak reference for a view of this array to remember: to the base of this array while that lives, else to this array.
nb::object base_of(nb::handle array);
/// The array behind an object, or null.
Array* as_array(nb::handle object);
nb::object new_array(Array array);
inline nb::object new_array(Tensor tensor) { return new_array(Array{std::move(tensor), {}, {}}); }
inline nb::object new_array(Complex pair) { return new_array(Array{std::move(pair.re), std::move(pair.im), {}}); }
nb::object dtype_object(ElementType type);
inline ElementType type_of(const Array& array) { return {array.re.dtype(), array.is_complex()}; }
std::string_view type_name(ElementType type);
/// A type of sinter, NumPy or Python, or its name; nothing for another object.
std::optional<ElementType> find_element_type(nb::handle object);

/// An argument of a call. Arrays of other libraries are copied. Throws a Fault that names the object's type where it is none.
table::Value value_of(nb::handle object);
nb::object object_of(const table::Value& value);
/// The array that asarray makes of an object: of an array, a number, nested lists of these, or another library's array, whose elements are copied.
Array array_of(nb::handle object);
/// The same in an element type.
nb::object as_type(nb::object array, ElementType type);
/// Tells that NumPy would change the array that this one is a view of as well.
void warn_of_view(Array& array);
/// Throws ValueError for a device other than None and 'cpu', the one of the Array API standard.
void check_device(nb::handle device);
/// What __index__ of an object gives.
nb::object integer_of(nb::handle object);
/// A copy of the elements that an object with the buffer protocol shows.
Array from_buffer(nb::handle object);
/// The elements of an object with __dlpack__, shared where `copy` is not true.
Array from_dlpack(nb::handle object, bool copy);
/// Evaluates, and gives a function of an element's row-major place: the element as a number of Python.
std::function<nb::object(std::int64_t)> elements_of(const Array& array);
/// What repr() or str() gives under these options, by the names of set_printoptions(); others are as they are set.
nb::object text_of(const Array& array, bool represents, const nb::dict& options);
/// The elements as Python's numbers, in lists for the axes. Evaluates; the array is a copy of the handle, since another thread may change that meanwhile.
nb::object to_list(Array array);
/// The only element as a number of Python. Evaluates.
nb::object to_number(Array array);

/// Evaluates. Every evaluation releases the GIL, and Ctrl-C stops it. This holds too for an evaluation that the library begins while it records.
void evaluate(const std::vector<Tensor>& tensors);
inline void evaluate(const Array& array) {
  if (array.is_complex()) evaluate(std::vector{array.re, array.im});
  else if (!is_evaluated(array.re)) evaluate(std::vector{array.re});
}
/// While one lives, this thread has given the GIL up, unless it had already, and Ctrl-C stops evaluations.
class Released {
 public:
  Released();
  ~Released();
  Released(const Released&) = delete;

 private:
  bool given_up_, listens_;
  PyThreadState* state_ = nullptr;
};
/// While one lives, this thread has the GIL.
class Held {
 public:
  Held();
  ~Held();
  Held(const Held&) = delete;

 private:
  PyGILState_STATE state_{};
  bool without_;
};

/// Calls a function of the table as Python would: with `self` before the arguments, if it is not null.
nb::object invoke(const table::Function& function, PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords);

void add_errors(nb::module_& module);
void add_dtypes(nb::module_& module);
void add_array(nb::module_& module);
void add_exchange(nb::module_& module);
void add_functions(nb::module_& module);
void add_engine(nb::module_& module);
void add_printing(nb::module_& module);
void add_ranks(nb::module_& module);
const PyType_Slot* buffer_slots();

}  // namespace sinter::python
