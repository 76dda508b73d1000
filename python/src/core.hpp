// Declarations for all files of the extension: arrays, conversion between Python objects and values of the table, errors, and the caller's line.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/detail/nb_list.h>

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

template <> struct nanobind::detail::type_caster<sinter::Shape> : nanobind::detail::list_caster<sinter::Shape, std::int64_t> {};

namespace sinter::python {

namespace nb = nanobind;

/// sinter.Array: a handle of a tensor, or of the two parts of complex numbers. An assignment to a part of the array gives the handle another tensor.
struct Array {
  Tensor re, im;         // `im`: an empty handle if the elements are real
  nb::object base;       // a weak reference to the array of which this would be a view in NumPy; null for none
  bool created = false;  // of an array without axes: whether it is an array in NumPy, which in-place operators change, and not a scalar

  bool is_complex() const { return !im.empty_handle(); }
  Complex pair() const { return {re, im}; }
};

/// sinter.DType: an element type, or complex64 and complex128, whose parts have the type `parts`.
struct ElementType {
  DType parts;
  bool is_complex = false;
};

/// Returns the line of Python code that called. The address of the file's name stays valid. Lines of the package itself do not count.
Location location();

/// Returns how many frames the caller is above the present one, at least 1. Warnings use it.
int stack_level();

/// While this object exists, operations are recorded for this function and the caller's line.
class Here : public Caller {
 public:
  explicit Here(const char* function) : Caller(function, location()) {}
};

/// Carries an exception that a Python formula raised, through the library's frames.
struct FormulaError : Error {
  explicit FormulaError(nb::python_error&& raised) : Error(raised.what()), original(std::make_shared<nb::python_error>(std::move(raised))) {}
  std::shared_ptr<nb::python_error> original;
};

/// The same for a KeyboardInterrupt.
struct FormulaInterrupt : Interrupted {
  explicit FormulaInterrupt(nb::python_error&& raised) : Interrupted(raised.what()), original(std::make_shared<nb::python_error>(std::move(raised))) {}
  std::shared_ptr<nb::python_error> original;
};

/// Sets Python's error from the C++ exception that is being handled.
void set_error() noexcept;
/// Calls `make`, which returns an object, for a slot of CPython. If it throws, sets the error and returns a null pointer.
template <class Make> PyObject* guarded(Make&& make) noexcept {
  try {
    return nb::object(make()).release().ptr();
  } catch (...) {
    set_error();
    return nullptr;
  }
}
/// Does the same for a slot that returns an integer. If it throws, returns -1.
template <class Work> int guarded_int(Work&& work) noexcept {
  try {
    return static_cast<int>(work());
  } catch (...) {
    set_error();
    return -1;
  }
}
[[noreturn]] void raise(PyObject* type, const char* message);
extern PyObject* undecided;  // the Python form of Undecided

/// Returns the weak reference that a view of this array stores: to this array's base if that still exists, else to this array.
nb::object base_of(nb::handle array);
/// Returns the array in an object, or null.
Array* as_array(nb::handle object);
nb::object new_array(Array array);
inline nb::object new_array(Tensor tensor) { return new_array(Array{std::move(tensor), {}, {}}); }
inline nb::object new_array(Complex pair) { return new_array(Array{std::move(pair.re), std::move(pair.im), {}}); }
nb::object dtype_object(ElementType type);
inline ElementType type_of(const Array& array) { return {array.re.dtype(), array.is_complex()}; }
std::string_view type_name(ElementType type);
/// Returns the element type for a type of sinter, NumPy or Python, or for a type's name. Returns nothing for other objects.
std::optional<ElementType> find_element_type(nb::handle object);

/// Converts an argument of a call. Copies arrays of other libraries. Throws a Fault that names the object's type if it cannot be an argument.
table::Value value_of(nb::handle object);
/// Returns the bounds and the step of a Python slice.
Slice slice_of(nb::handle slice);
/// Returns the element type of a real scalar of NumPy, such as numpy.float32(0.5); nothing for any other object.
std::optional<DType> scalar_type(PyObject* object);
/// Returns a scalar of NumPy, such as numpy.float32(0.5), as a constant of its type; an empty handle for any other object.
Tensor scalar_of(PyObject* object);
nb::object object_of(const table::Value& value);
/// Implements asarray for an array, a number, nested lists of these, or another library's array, whose elements are copied.
Array array_of(nb::handle object);
/// Implements asarray with an element type.
nb::object as_type(nb::object array, ElementType type);
/// Warns that in NumPy the assignment would also change the array of which this one is a view.
void warn_of_view(Array& array);
/// Throws ValueError for a device other than None and the Array API standard's 'cpu'.
void check_device(nb::handle device);
/// Returns the result of the object's __index__.
nb::object integer_of(nb::handle object);
/// Copies the elements of an object with the buffer protocol.
Array from_buffer(nb::handle object);
/// Returns the elements of an object with __dlpack__; they are shared unless `copy` is true.
Array from_dlpack(nb::handle object, bool copy);
/// Evaluates. Returns a function from an element's row-major position to its Python number.
std::function<nb::object(std::int64_t)> elements_of(const Array& array);
/// Returns repr() or str() under these options, by the names of set_printoptions(); other options keep their present values.
nb::object text_of(const Array& array, bool represents, const nb::dict& options);
/// Returns the elements as Python numbers, in nested lists. Evaluates. The argument is a copy of the handle, because another thread may change the handle
/// meanwhile.
nb::object to_list(Array array);
/// Returns the only element as a Python number. Evaluates.
nb::object to_number(Array array);

/// Evaluates. Every evaluation releases the GIL, and Ctrl-C stops it. This is also true for an evaluation that the library begins while it records.
void evaluate(const std::vector<Tensor>& tensors, bool fused = false);
inline void evaluate(const Array& array) {
  if (array.is_complex()) evaluate(std::vector{array.re, array.im});
  else if (!is_evaluated(array.re)) evaluate(std::vector{array.re});
}
/// While this object exists, this thread does not hold the GIL, and Ctrl-C stops evaluations. Does nothing if the thread has already released the GIL.
class Released {
 public:
  Released();
  ~Released();
  Released(const Released&) = delete;

 private:
  bool given_up_, listens_;
  PyThreadState* state_ = nullptr;
};
/// While this object exists, this thread holds the GIL.
class Held {
 public:
  Held();
  ~Held();
  Held(const Held&) = delete;

 private:
  PyGILState_STATE state_{};
  bool without_;
};

/// Calls a function of the table as Python would. `self`, if it is not null, is the first argument.
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
