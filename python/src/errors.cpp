// Maps the errors of sinter to Python exceptions. Each is a subclass of the exception that users of NumPy expect.
#include <fmt/format.h>

#include <initializer_list>
#include <string>

#include "core.hpp"
#include "sinter/control.hpp"
#include "sinter/decompositions.hpp"
#include "sinter/errors.hpp"
#include "sinter/freeze.hpp"
#include "sinter/ranks.hpp"
#include "sinter/types.hpp"
#include "table/fault.hpp"

namespace sinter::python {
namespace {

PyObject *error, *shape_error, *dtype_error, *axis_error, *index_error, *value_error, *io_error, *compile_error, *device_error, *memory_error, *fusion_error,
    *interrupted, *internal_error, *model_error, *linear_algebra_error, *matrix_shape_error, *overflow_error, *sharding_error, *rank_error;

}  // namespace

PyObject* undecided;

namespace {

PyObject* add(nb::module_& module, const char* name, const char* text, std::initializer_list<PyObject*> bases) {
  nb::list list;
  for (PyObject* base : bases) list.append(nb::handle(base));
  PyObject* made = PyErr_NewExceptionWithDoc((std::string("sinter.") + name).c_str(), text, nb::tuple(list).ptr(), nullptr);
  if (made == nullptr) throw nb::python_error();
  module.attr(name) = nb::handle(made);
  return made;
}

/// Errors of models come from a library that this file does not see, so they are recognised by name.
PyObject* of_name(const Error& e) { return std::string_view(typeid(e).name()).find("ModelError") != std::string_view::npos ? model_error : error; }

/// Returns the caller's line, for errors that do not come from the library.
std::string at_caller_line() noexcept {
  try {
    const Location where = location();
    return where.file != nullptr && *where.file != '\0' ? fmt::format(" at {}:{}", where.file, where.line) : "";
  } catch (...) {
    PyErr_Clear();
    return "";
  }
}

}  // namespace

void raise(PyObject* type, const char* message) {
  PyErr_SetString(type, message);
  throw nb::python_error();
}

void set_error() noexcept {
  try {
    throw;
  } catch (nb::python_error& e) {
    e.restore();
  } catch (const FormulaError& e) {
    e.original->restore();
  } catch (const FormulaInterrupt& e) {
    e.original->restore();
  } catch (const nb::cast_error&) {
    PyErr_SetString(PyExc_TypeError, "an argument has a type that this function does not take");
  } catch (const table::Fault& fault) {
    PyErr_SetString(fault.of_kind ? dtype_error : value_error, (fault.message + at_caller_line()).c_str());
  } catch (const FusionError& e) {
    PyErr_SetString(fusion_error, e.what());
  } catch (const Undecided&) {
    PyErr_SetString(undecided, "the answer to a condition is not known yet");
  } catch (const Interrupted& e) {
    if (PyErr_CheckSignals() == 0) PyErr_SetString(interrupted, e.what());
  } catch (const MatrixShapeError& e) {
    PyErr_SetString(matrix_shape_error, e.what());
  } catch (const ShapeError& e) {
    PyErr_SetString(shape_error, e.what());
  } catch (const DTypeError& e) {
    PyErr_SetString(dtype_error, e.what());
  } catch (const AxisError& e) {
    PyErr_SetString(axis_error, e.what());
  } catch (const IndexError& e) {
    PyErr_SetString(index_error, e.what());
  } catch (const OverflowError& e) {
    PyErr_SetString(overflow_error, e.what());
  } catch (const ValueError& e) {
    PyErr_SetString(value_error, e.what());
  } catch (const LinAlgError& e) {
    PyErr_SetString(linear_algebra_error, e.what());
  } catch (const IoError& e) {
    PyErr_SetString(io_error, e.what());
  } catch (const CompileError& e) {
    PyErr_SetString(compile_error, e.what());
  } catch (const MemoryError& e) {
    PyErr_SetString(memory_error, e.what());
  } catch (const DeviceError& e) {
    PyErr_SetString(device_error, e.what());
  } catch (const ShardingError& e) {
    PyErr_SetString(sharding_error, e.what());
  } catch (const RankError& e) {
    PyErr_SetString(rank_error, e.what());
  } catch (const InternalError& e) {
    PyErr_SetString(internal_error, e.what());
  } catch (const Error& e) {
    PyErr_SetString(of_name(e), e.what());
  } catch (const std::bad_alloc&) {
    PyErr_SetString(memory_error, "there is not enough memory");
  } catch (const std::exception& e) {
    PyErr_SetString(internal_error, e.what());
  }
}

void add_errors(nb::module_& module) {
  error = add(module, "Error", "The base of every error of sinter.", {PyExc_Exception});
  shape_error = add(module, "ShapeError", "Shapes that do not fit.", {error, PyExc_ValueError});
  dtype_error = add(module, "DTypeError", "An element type, or a kind of argument, that the function does not take.", {error, PyExc_TypeError});
  axis_error = add(module, "AxisError", "An axis that is out of range or given twice, or more indices than axes.", {error, PyExc_ValueError, PyExc_IndexError});
  index_error = add(module, "IndexError", "An index that is out of range. For an element of an index array, the error is raised when the value is computed.",
                    {error, PyExc_IndexError});
  value_error = add(module, "ValueError", "A value that is not meaningful for the function.", {error, PyExc_ValueError});
  io_error = add(module, "IoError", "A file that is missing, unreadable, or malformed.", {error, PyExc_OSError});
  compile_error = add(module, "CompileError", "A compiler refused a kernel; the message has its log.", {error, PyExc_RuntimeError});
  device_error = add(module, "DeviceError", "A device that is missing or failed.", {error, PyExc_RuntimeError});
  memory_error = add(module, "MemoryError", "There is no memory for an array.", {device_error, PyExc_MemoryError});
  fusion_error = add(module, "FusionError", "A formula that needs more than one kernel; the message says why.", {error, PyExc_RuntimeError});
  interrupted = add(module, "Interrupted", "An evaluation was stopped by interrupt().", {error, PyExc_RuntimeError});
  undecided = add(module, "Undecided", "No error: leaves a function that is being frozen at a condition whose answer is not known yet.", {PyExc_BaseException});
  internal_error = add(module, "InternalError", "A mistake in sinter itself; please report it.", {error, PyExc_RuntimeError});
  model_error = add(module, "ModelError", "A model that cannot be read, or an operator that sinter lacks.", {error, PyExc_ValueError});
  linear_algebra_error = add(module, "LinAlgError", "A matrix that does not have the decomposition or the inverse.", {error, PyExc_ValueError});
  matrix_shape_error = add(module, "MatrixShapeError", "Operands of linear algebra that are not matrices, are not square, or do not fit each other.",
                           {shape_error, linear_algebra_error});
  sharding_error =
      add(module, "ShardingError", "An operation whose arrays are sharded over the ranks in ways that do not fit each other.", {error, PyExc_ValueError});
  rank_error = add(module, "RankError", "Ranks recorded different operations, or a rank did not come to an exchange in time, or has ended.",
                   {error, PyExc_RuntimeError});
  overflow_error = add(module, "OverflowError", "A number outside the range of the integer type to which it is converted.", {value_error, PyExc_OverflowError});
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (nb::python_error&) {
      throw;
    } catch (nb::builtin_exception&) {
      throw;
    } catch (...) {
      set_error();
    }
  });
}

}  // namespace sinter::python
