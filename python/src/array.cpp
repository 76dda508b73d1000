// sinter.Array: operators, indexing, numbers, text.
#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core.hpp"
#include "sinter/errors.hpp"
#include "sinter/freeze.hpp"
#include "sinter/ops.hpp"
#include "sinter/types.hpp"
#include "table/complex_numbers.hpp"
#include "table/fault.hpp"

namespace sinter::python {
namespace {

PyTypeObject* array_type;
PyObject* view_warning;

// ---- operators

/// An operand for the fast path: a real array, a bool, int or float of Python (no subclass), or a real scalar of NumPy. `arg` is empty for another object.
/// This object holds the tensor, because recording may release the GIL, and another thread may then assign a new value to the array's handle.
struct Quick {
  Tensor tensor;
  std::optional<Arg> arg;

  explicit Quick(PyObject* object) {
    PyTypeObject* const type = Py_TYPE(object);
    if (type == array_type) {
      const Array* array = nb::inst_ptr<Array>(object);
      if (array->is_complex()) return;
      tensor = array->re;
      arg.emplace(tensor, Location{});
    } else if (type == &PyFloat_Type) {
      arg.emplace(PyFloat_AsDouble(object), Location{});
    } else if (type == &PyBool_Type) {
      arg.emplace(object == Py_True, Location{});
    } else if (type == &PyLong_Type) {
      int overflow = 0;
      const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
      if (overflow == 0) arg.emplace(static_cast<std::int64_t>(value), Location{});
    } else if (tensor = scalar_of(object); !tensor.empty_handle()) {
      arg.emplace(tensor, Location{});
    }
  }
  Quick(const Quick&) = delete;
};

/// Returns whether sinter's operators accept this object. A class of another library that does not expose its elements has its own operators.
bool is_operand(PyObject* object) {
  return Py_TYPE(object) == array_type || PyFloat_Check(object) || PyLong_Check(object) || PyComplex_Check(object) || PyList_Check(object) ||
         PyTuple_Check(object) || PyRange_Check(object) || (PyObject_CheckBuffer(object) && !PyBytes_Check(object) && !PyByteArray_Check(object));
}

nb::object not_implemented() { return nb::borrow(Py_NotImplemented); }

/// An operator: a function of C++ for real arrays and numbers, the table's function for everything else.
struct Operator {
  const char* name;
  Tensor (*record)(const Arg&, const Arg&);
  Tensor& (Tensor::*update)(const Arg&)& = nullptr;
};
nb::object by_table(const char* name, PyObject* a, PyObject* b) {
  if (!is_operand(a) || !is_operand(b)) return not_implemented();
  PyObject* const operands[] = {a, b};
  return invoke(*table::find_function(name), nullptr, operands, 2, nullptr);
}
template <const Operator& op> PyObject* binary(PyObject* a, PyObject* b) noexcept {
  return guarded([&]() -> nb::object {
    const Quick left(a), right(b);
    if (!left.arg || !right.arg) return by_table(op.name, a, b);
    const Here here(op.name);
    return new_array(op.record(*left.arg, *right.arg));
  });
}
template <const Operator& op> PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) noexcept {
  if (modulus == Py_None) return binary<op>(a, b);
  PyErr_SetString(PyExc_TypeError, "pow() of arrays takes no modulus; (a ** b) % m computes it");
  return nullptr;
}

}  // namespace

void warn_of_view(Array& array) {
  if (!array.base.is_valid()) return;
  const nb::object base = array.base();
  array.base.reset();
  if (base.is_none()) return;
  if (PyErr_WarnEx(
          view_warning,
          "this array was a view of another array, which NumPy would change, too; in sinter each array is a value: assign to a part of the other array instead",
          stack_level()) != 0)
    throw nb::python_error();
}

namespace {

template <const Operator& op> PyObject* update(PyObject* self, PyObject* other) noexcept {
  return guarded([&]() -> nb::object {
    Array& array = *nb::inst_ptr<Array>(self);
    if (array.re.ndim() == 0 && !array.created) return nb::steal(binary<op>(self, other));  // other names of a scalar keep its value
    if (Py_REFCNT(self) > 1) warn_of_view(array);  // else this is the row of `x[0] += 1`, which Python assigns to x afterwards
    const Quick right(other);
    if (right.arg && !array.is_complex() && op.update) {
      const Here here(op.name);
      Tensor updated = array.re;
      (updated.*op.update)(*right.arg);
      array.re = std::move(updated);
      return nb::borrow(self);
    }
    const bool records = right.arg && !array.is_complex();
    const Tensor before = array.re;  // recording may release the GIL, and another thread may then assign to the array
    const Here here(op.name);
    const nb::object result = records ? new_array(op.record(Arg(before, Location{}), *right.arg)) : by_table(op.name, self, other);
    const Array* computed = as_array(result);
    if (!computed) return result;
    if (computed->is_complex() != array.is_complex() || !can_cast(computed->re.dtype(), array.re.dtype(), Casting::same_kind))
      throw DTypeError(fmt::format("{}: a value of {} cannot be assigned to an array of {}; write x = x … y", op.name, type_name(type_of(*computed)),
                                   type_name(type_of(array))));
    if (computed->re.shape() != array.re.shape())
      throw ShapeError(fmt::format("{}: a result of shape {} cannot be assigned to an array of shape {}", op.name, to_string(computed->re.shape()),
                                   to_string(array.re.shape())));
    array.re = astype(computed->re, array.re.dtype());
    if (array.is_complex()) array.im = astype(computed->im, array.im.dtype());
    return nb::borrow(self);
  });
}

constexpr Operator kAdd{"add", &add, &Tensor::operator+= };
constexpr Operator kSubtract{"subtract", &subtract, &Tensor::operator-= };
constexpr Operator kMultiply{"multiply", &multiply, &Tensor::operator*= };
constexpr Operator kDivide{"divide", &divide, &Tensor::operator/= };
constexpr Operator kFloorDivide{"floor_divide", &floor_divide};
constexpr Operator kRemainder{"remainder", &remainder};
constexpr Operator kPower{"power", &sinter::power};
constexpr Operator kMatmul{"matmul", &matmul};
constexpr Operator kAnd{"bitwise_and", &bitwise_and, &Tensor::operator&= };
constexpr Operator kOr{"bitwise_or", &bitwise_or, &Tensor::operator|= };
constexpr Operator kXor{"bitwise_xor", &bitwise_xor, &Tensor::operator^= };
constexpr Operator kLeft{"left_shift", &left_shift, &Tensor::operator<<= };
constexpr Operator kRight{"right_shift", &right_shift, &Tensor::operator>>= };
constexpr Operator kLess{"less", &less}, kLessEqual{"less_equal", &less_equal}, kEqual{"equal", &equal}, kNotEqual{"not_equal", &not_equal},
    kGreater{"greater", &greater}, kGreaterEqual{"greater_equal", &greater_equal};

using Record = PyObject* (*)(PyObject*, PyObject*) noexcept;
template <const Operator&... operators> constexpr std::pair<std::string_view, Record> kRecords[] = {{operators.name, &binary<operators>}...};
/// Returns what records NumPy's function of this name, if it is an operator of two operands; null for another function.
Record operator_of(std::string_view ufunc) {
  for (const auto& [name, record] :
       kRecords<kAdd, kSubtract, kMultiply, kDivide, kFloorDivide, kRemainder, kPower, kMatmul, kLess, kLessEqual, kEqual, kNotEqual, kGreater, kGreaterEqual>)
    if (name == ufunc) return record;
  return nullptr;
}

/// The method __array_ufunc__, by which NumPy's functions and the operators of its scalars compute with arrays of sinter. Operators are recorded at once; all
/// else is the work of the package's function in Python.
PyObject* array_ufunc(PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* keywords) noexcept {
  return guarded([&]() -> nb::object {
    constexpr std::size_t kMostKnown = 64;
    static auto& known = *new std::vector<std::pair<nb::object, Record>>;  // by NumPy's function
    if (!keywords && count == 4 && PyUnicode_Check(given[1]) && PyUnicode_CompareWithASCIIString(given[1], "__call__") == 0) {
      auto found = std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.first.ptr() == given[0]; });
      if (found == known.end() && known.size() < kMostKnown) {
        const nb::object ufunc = nb::borrow(given[0]);
        known.emplace_back(ufunc, operator_of(nb::cast<std::string>(ufunc.attr("__name__"))));
        found = known.end() - 1;
      }
      if (found != known.end() && found->second) {
        const nb::object made = nb::steal(found->second(given[2], given[3]));
        if (!made.is_valid()) throw nb::python_error();
        if (made.ptr() != Py_NotImplemented) return made;
      }
    }
    const nb::object all = nb::steal(PyTuple_New(count));
    for (Py_ssize_t k = 0; k < count; ++k) PyTuple_SetItem(all.ptr(), k, nb::borrow(given[k]).release().ptr());
    nb::dict named;
    for (Py_ssize_t k = 0; keywords && k < PyTuple_Size(keywords); ++k) named[nb::handle(PyTuple_GetItem(keywords, k))] = nb::handle(given[count + k]);
    return nb::borrow(self).attr("_array_ufunc")(*all, **named);
  });
}
PyMethodDef array_ufunc_method{"__array_ufunc__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(array_ufunc)), METH_FASTCALL | METH_KEYWORDS,
                               "NumPy's functions on arrays of sinter call sinter's functions."};

struct Sign {
  const char* name;
  Tensor (*record)(const Arg&);
};
constexpr Sign kNegative{"negative", &negative}, kPositive{"positive", &positive}, kAbsolute{"abs", &sinter::abs}, kInvert{"bitwise_not", &bitwise_not};
template <const Sign& op> PyObject* unary(PyObject* a) noexcept {
  return guarded([&]() -> nb::object {
    const Quick operand(a);
    if (!operand.arg) return invoke(*table::find_function(op.name), nullptr, &a, 1, nullptr);
    const Here here(op.name);
    return new_array(op.record(*operand.arg));
  });
}
PyObject* divided(PyObject* a, PyObject* b) noexcept {
  return guarded([&]() -> nb::object {
    const nb::object quotient = nb::steal(binary<kFloorDivide>(a, b));
    if (!quotient.is_valid()) throw nb::python_error();
    if (quotient.ptr() == Py_NotImplemented) return quotient;
    const nb::object rest = nb::steal(binary<kRemainder>(a, b));
    if (!rest.is_valid()) throw nb::python_error();
    return nb::make_tuple(quotient, rest);
  });
}
PyObject* compare(PyObject* a, PyObject* b, int op) noexcept {
  switch (op) {
    case Py_LT: return binary<kLess>(a, b);
    case Py_LE: return binary<kLessEqual>(a, b);
    case Py_EQ: return binary<kEqual>(a, b);
    case Py_NE: return binary<kNotEqual>(a, b);
    case Py_GT: return binary<kGreater>(a, b);
    default: return binary<kGreaterEqual>(a, b);
  }
}

// ---- numbers

int truth(PyObject* self) noexcept {
  return guarded_int([&] {
    const Array array = *nb::inst_ptr<Array>(self);
    if (array.re.size() != 1) throw ValueError(fmt::format("an array of {} elements is neither true nor false; use x.any() or x.all()", array.re.size()));
    try {
      const int result = PyObject_IsTrue(to_number(array).ptr());
      if (result < 0) throw nb::python_error();
      return result;
    } catch (const ValueError&) {  // in a function that is being frozen
      return static_cast<int>(decide(array.is_complex() ? logical_or(array.re, array.im) : array.re, location()));
    }
  });
}
/// As in NumPy, float(), int() and complex() of several elements raise a TypeError.
void check_one(const Array& array) {
  if (array.re.size() != 1)
    throw DTypeError(fmt::format("only an array of one element converts to a number; this array has shape {}", to_string(array.re.shape())));
}
template <PyObject* (*Convert)(PyObject*)> PyObject* number(PyObject* self) noexcept {
  return guarded([&]() -> nb::object {
    const Array array = *nb::inst_ptr<Array>(self);
    if (array.is_complex()) raise(PyExc_TypeError, "a complex number does not convert to a real one; x.real is its real part");
    check_one(array);
    return nb::steal(Convert(to_number(array).ptr()));
  });
}
PyObject* index_number(PyObject* self) noexcept {
  return guarded([&]() -> nb::object {
    const Array& array = *nb::inst_ptr<Array>(self);
    if (array.is_complex() || array.re.ndim() != 0 || !is_integer(array.re.dtype()))
      raise(PyExc_TypeError, "only a 0-d array of integers can be an index of Python's lists");
    return to_number(array);
  });
}
Py_ssize_t length(PyObject* self) noexcept {
  const Array& array = *nb::inst_ptr<Array>(self);
  if (array.re.ndim() == 0) {
    PyErr_SetString(PyExc_TypeError, "a 0-d array has no length");
    return -1;
  }
  return array.re.shape()[0];
}

// ---- indexing

/// Converts one item of an index. `places` becomes true for an index array, whose result is a copy and not a view.
Index index_item(nb::handle item, bool& places) {
  PyObject* const o = item.ptr();
  const auto integer = [](PyObject* number) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow != 0) raise(PyExc_IndexError, "the index has more than 64 bits");
    return Index(static_cast<std::int64_t>(value), Location{});
  };
  if (PyLong_CheckExact(o)) return integer(o);
  if (o == Py_None) return Index(newaxis, Location{});
  if (o == Py_Ellipsis) return Index(ellipsis, Location{});
  if (PySlice_Check(o)) return Index(slice_of(item), Location{});
  const std::optional<DType> scalar = scalar_type(o);
  const bool counts =
      scalar ? is_integer(*scalar) && !is_bool(*scalar)
             : !as_array(item) && !PyList_Check(o) && !PyTuple_Check(o) && !PyObject_CheckBuffer(o) && !PyBool_Check(o) && nb::hasattr(item, "__index__");
  if (counts) return integer(integer_of(item).ptr());
  if (PyUnicode_Check(o) || PyFloat_Check(o)) raise(PyExc_IndexError, "an index is an integer, a slice, an ellipsis, None, or an array of integers or bools");
  Array array = array_of(item);
  if (array.is_complex()) raise(PyExc_IndexError, "complex numbers cannot be indices");
  if (array.re.size() == 0 && PyList_Check(o)) array.re = astype(array.re, DType::int64);  // x[[]]
  if (!is_bool(array.re.dtype()) && !is_integer(array.re.dtype())) raise(PyExc_IndexError, "an index array holds integers or bools");
  places = true;
  return Index(array.re, Location{});
}
std::vector<Index> index_of(nb::handle key, bool& places) {
  std::vector<Index> index;
  if (PyTuple_Check(key.ptr())) {
    const Py_ssize_t size = PyTuple_Size(key.ptr());
    for (Py_ssize_t k = 0; k < size; ++k) index.push_back(index_item(PyTuple_GetItem(key.ptr(), k), places));
    if (size == 0) index.emplace_back(ellipsis, Location{});
  } else {
    index.push_back(index_item(key, places));
  }
  return index;
}

nb::object view_of(nb::handle self, Array made) {
  made.base = base_of(self);
  return new_array(std::move(made));
}

/// Returns a part of the array. Raises IndexError for index arrays that do not fit, as NumPy does.
Tensor part_at(const Tensor& x, const std::vector<Index>& index) {
  try {
    return x.at(index, Location{});
  } catch (const ShapeError& e) {
    throw IndexError(e.what());
  }
}
PyObject* item(PyObject* self, PyObject* key) noexcept {
  return guarded([&]() -> nb::object {
    const Array array = *nb::inst_ptr<Array>(self);
    bool places = false;
    const Here here("index");
    const std::vector<Index> index = index_of(key, places);
    Array made{part_at(array.re, index), array.is_complex() ? part_at(array.im, index) : Tensor(), {}};
    const bool all = PyTuple_Check(key) && PyTuple_Size(key) == 0;  // x[()] is a scalar, x[...] an array
    made.created = !all && std::any_of(index.begin(), index.end(), [](const Index& i) { return i.kind() == Index::Kind::rest; });
    return places ? new_array(std::move(made)) : view_of(self, std::move(made));
  });
}
/// Assigns while the tensor is moved out of the array's handle, because the assignment may release the GIL. If two handles shared the tensor, its elements
/// could not be written in place.
void assign_to(Tensor& handle, const std::vector<Index>& index, const Arg& value) {
  struct Taken {
    Tensor& handle;
    Tensor tensor = std::move(handle);
    ~Taken() { handle = std::move(tensor); }
  } taken{handle};
  try {
    taken.tensor.at(index, Location{}) = value;
  } catch (const ShapeError&) {  // the error may be about the value or the index
    (void)part_at(taken.tensor, index);
    throw;
  }
}

/// Assigns to a part. Casts real numbers to the array's type, as NumPy does. Complex numbers do not fit into an array of real numbers.
int set_item(PyObject* self, PyObject* key, PyObject* value) noexcept {
  return guarded_int([&] {
    if (value == nullptr) raise(PyExc_TypeError, "elements of an array cannot be deleted; sinter.delete(x, places) returns an array without them");
    Array& array = *nb::inst_ptr<Array>(self);
    warn_of_view(array);
    bool places = false;
    const Here here("assign");
    const std::vector<Index> index = index_of(key, places);
    const DType dtype = array.re.dtype();
    if (const Quick operand(value); operand.arg && !array.is_complex() && !operand.arg->is_tensor()) {
      const Arg& number = *operand.arg;
      const bool fits = is_floating(dtype) || number.kind() == Arg::Kind::boolean || (number.kind() == Arg::Kind::integer && !is_bool(dtype));
      const Tensor cast = fits ? Tensor() : is_bool(dtype) ? Tensor(number.as_double() != 0) : astype(number, dtype);
      assign_to(array.re, index, fits ? number : Arg(cast, Location{}));
      return 0;
    }
    const Array given = array_of(value);
    if (given.is_complex() && !array.is_complex()) throw DTypeError("assign: complex numbers cannot be assigned to an array of real numbers; assign x.real");
    const bool complex = array.is_complex();
    const Tensor real = astype(given.re, dtype), imaginary = complex && given.is_complex() ? astype(given.im, dtype) : Tensor();
    assign_to(array.re, index, Arg(real, Location{}));
    if (complex) assign_to(array.im, index, given.is_complex() ? Arg(imaginary, Location{}) : Arg(0, Location{}));
    return 0;
  });
}
/// Iterates over the elements along the first axis.
PyObject* iterate(PyObject* self) noexcept {
  return guarded([&]() -> nb::object {
    if (length(self) < 0) throw nb::python_error();
    return nb::steal(PySeqIter_New(self));
  });
}
PyObject* sequence_item(PyObject* self, Py_ssize_t k) noexcept {
  const Array& array = *nb::inst_ptr<Array>(self);
  if (array.re.ndim() == 0 || k < 0 || k >= array.re.shape()[0]) {
    PyErr_SetString(PyExc_IndexError, "the index is out of range");
    return nullptr;
  }
  const nb::object key = nb::int_(k);
  return item(self, key.ptr());
}
int contains(PyObject* self, PyObject* value) noexcept {
  return guarded_int([&] {
    const nb::object same = nb::steal(compare(self, value, Py_EQ));
    if (!same.is_valid()) throw nb::python_error();
    if (!as_array(same)) return 0;
    const nb::object any = invoke(*table::find_function("any"), same.ptr(), nullptr, 0, nullptr);
    return PyObject_IsTrue(any.ptr());
  });
}

PyObject* represent(PyObject* self) noexcept {
  return guarded([&] { return text_of(Array(*nb::inst_ptr<Array>(self)), true, {}); });
}
PyObject* write(PyObject* self) noexcept {
  return guarded([&] { return text_of(Array(*nb::inst_ptr<Array>(self)), false, {}); });
}

template <class F> void* slot(F function) { return reinterpret_cast<void*>(function); }

nb::object complex_of(const Array& array) {
  check_one(array);
  const nb::object value = to_number(array);
  if (array.is_complex()) return value;
  return nb::steal(PyComplex_FromDoubles(PyFloat_AsDouble(nb::object(nb::steal(PyNumber_Float(value.ptr()))).ptr()), 0));
}

Array part(const Array& array, bool imaginary) {
  const Here here(imaginary ? "imag" : "real");
  if (array.is_complex()) return {imaginary ? array.im : array.re, {}, {}};
  return {imaginary ? sinter::imag(array.re) : array.re, {}, {}};
}
template <Tensor (Tensor::*Turn)(Location) const> nb::object turned(nb::handle self) {
  const Array array = *nb::inst_ptr<Array>(self);
  const Here here("transpose");
  return view_of(self, {(array.re.*Turn)(Location{}), array.is_complex() ? (array.im.*Turn)(Location{}) : Tensor(), {}});
}

}  // namespace

Array* as_array(nb::handle object) {
  if (Py_TYPE(object.ptr()) == array_type) return nb::inst_ptr<Array>(object);
  return array_type && PyObject_TypeCheck(object.ptr(), array_type) ? nb::inst_ptr<Array>(object) : nullptr;
}

nb::object base_of(nb::handle array) {
  const Array& held = *as_array(array);
  if (held.base.is_valid() && !held.base().is_none()) return held.base;
  return nb::steal(PyWeakref_NewRef(array.ptr(), nullptr));
}

nb::object new_array(Array array) {
  nb::object made = nb::inst_alloc(reinterpret_cast<PyObject*>(array_type));
  new (nb::inst_ptr<Array>(made)) Array(std::move(array));
  nb::inst_mark_ready(made);
  return made;
}

void add_array(nb::module_& module) {
  static PyType_Slot slots[64];
  std::size_t count = 0;
  const auto put = [&](int id, void* function) { slots[count++] = {id, function}; };
  put(Py_nb_add, slot(&binary<kAdd>)), put(Py_nb_subtract, slot(&binary<kSubtract>)), put(Py_nb_multiply, slot(&binary<kMultiply>));
  put(Py_nb_true_divide, slot(&binary<kDivide>)), put(Py_nb_floor_divide, slot(&binary<kFloorDivide>)), put(Py_nb_remainder, slot(&binary<kRemainder>));
  put(Py_nb_power, slot(&power<kPower>)), put(Py_nb_matrix_multiply, slot(&binary<kMatmul>)), put(Py_nb_divmod, slot(&divided));
  put(Py_nb_and, slot(&binary<kAnd>)), put(Py_nb_or, slot(&binary<kOr>)), put(Py_nb_xor, slot(&binary<kXor>));
  put(Py_nb_lshift, slot(&binary<kLeft>)), put(Py_nb_rshift, slot(&binary<kRight>));
  put(Py_nb_inplace_add, slot(&update<kAdd>)), put(Py_nb_inplace_subtract, slot(&update<kSubtract>)), put(Py_nb_inplace_multiply, slot(&update<kMultiply>));
  put(Py_nb_inplace_true_divide, slot(&update<kDivide>)), put(Py_nb_inplace_floor_divide, slot(&update<kFloorDivide>));
  put(Py_nb_inplace_remainder, slot(&update<kRemainder>)), put(Py_nb_inplace_matrix_multiply, slot(&update<kMatmul>));
  put(Py_nb_inplace_power, slot(+[](PyObject* a, PyObject* b, PyObject*) noexcept -> PyObject* { return update<kPower>(a, b); }));
  put(Py_nb_inplace_and, slot(&update<kAnd>)), put(Py_nb_inplace_or, slot(&update<kOr>)), put(Py_nb_inplace_xor, slot(&update<kXor>));
  put(Py_nb_inplace_lshift, slot(&update<kLeft>)), put(Py_nb_inplace_rshift, slot(&update<kRight>));
  put(Py_nb_negative, slot(&unary<kNegative>)), put(Py_nb_positive, slot(&unary<kPositive>)), put(Py_nb_absolute, slot(&unary<kAbsolute>));
  put(Py_nb_invert, slot(&unary<kInvert>)), put(Py_nb_bool, slot(&truth));
  put(Py_nb_float, slot(&number<PyNumber_Float>)), put(Py_nb_int, slot(&number<PyNumber_Long>)), put(Py_nb_index, slot(&index_number));
  put(Py_tp_richcompare, slot(&compare)), put(Py_tp_hash, slot(&PyObject_HashNotImplemented)), put(Py_tp_iter, slot(&iterate));
  put(Py_mp_subscript, slot(&item)), put(Py_mp_ass_subscript, slot(&set_item)), put(Py_mp_length, slot(&length));
  put(Py_sq_length, slot(&length)), put(Py_sq_item, slot(&sequence_item)), put(Py_sq_contains, slot(&contains));
  put(Py_tp_repr, slot(&represent)), put(Py_tp_str, slot(&write));
  for (const PyType_Slot* more = buffer_slots(); more->slot != 0; ++more) put(more->slot, more->pfunc);
  slots[count] = {0, nullptr};

  view_warning = PyErr_NewExceptionWithDoc(
      "sinter.ViewWarning", "An assignment changes a view, but not the array that it is a view of; NumPy would change both.", PyExc_UserWarning, nullptr);
  module.attr("ViewWarning") = nb::handle(view_warning);

  nb::class_<Array> type(module, "Array", nb::type_slots(slots), nb::is_weak_referenceable(),
                         "An array whose value is computed when it is needed. It is a handle: assigning to a part gives the handle a new value.");
  array_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  type.attr("__array_ufunc__") = nb::steal(PyDescr_NewMethod(array_type, &array_ufunc_method));
  type.def_prop_ro("shape",
                   [](const Array& x) {
                     nb::object sizes = nb::steal(PyTuple_New(x.re.ndim()));
                     for (int k = 0; k < x.re.ndim(); ++k) PyTuple_SetItem(sizes.ptr(), k, PyLong_FromLongLong(x.re.shape()[static_cast<std::size_t>(k)]));
                     return sizes;
                   })
      .def_prop_ro("ndim", [](const Array& x) { return x.re.ndim(); })
      .def_prop_ro("size", [](const Array& x) { return x.re.size(); })
      .def_prop_ro("dtype", [](const Array& x) { return dtype_object(type_of(x)); })
      .def_prop_ro(
          "itemsize", [](const Array& x) { return x.re.itemsize() * (x.is_complex() ? 2 : 1); }, "The number of bytes of an element.")
      .def_prop_ro("nbytes", [](const Array& x) { return x.re.nbytes() * (x.is_complex() ? 2 : 1); })
      .def_prop_ro("T", &turned<&Tensor::T>, "The array with all axes reversed.")
      .def_prop_ro("mT", &turned<&Tensor::mT>, "The array with the last two axes exchanged.")
      .def_prop_ro("real", [](nb::handle x) { return view_of(x, part(*nb::inst_ptr<Array>(x), false)); })
      .def_prop_ro("imag",
                   [](nb::handle x) {
                     const Array& array = *nb::inst_ptr<Array>(x);
                     return array.is_complex() ? view_of(x, part(array, true)) : new_array(part(array, true));
                   })
      .def_prop_ro(
          "evaluated", [](const Array& x) { return is_evaluated(x.re) && (!x.is_complex() || is_evaluated(x.im)); }, "Whether the elements are in memory.")
      .def("_item",
           [](nb::handle self, nb::args where) {
             const Array& x = *nb::inst_ptr<Array>(self);
             if (where.size() == 0) return to_number(x);
             const bool flat = where.size() == 1 && !PyTuple_Check(nb::object(where[0]).ptr()) && x.re.ndim() != 1;
             const nb::object whole = flat ? nb::object(self.attr("reshape")(-1)) : nb::borrow(self);
             const nb::object at = where.size() == 1 ? nb::object(where[0]) : nb::object(where);
             return to_number(*as_array(nb::object(whole[at])));
           })
      .def("_tolist", &to_list)
      .def("__complex__", &complex_of)
      .def("__copy__", [](const Array& x) { return new_array(Array{x.re, x.im, {}, x.created}); })
      .def(
          "__deepcopy__", [](const Array& x, nb::handle) { return new_array(Array{x.re, x.im, {}, x.created}); }, nb::arg("memo").none())
      .def("_assign", [](Array& x, const Array& y) {
        warn_of_view(x);
        x.re = y.re, x.im = y.im;
      });
}

}  // namespace sinter::python
