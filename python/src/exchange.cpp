// Shares elements with other libraries by the buffer protocol and DLPack, in both directions.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <optional>

#include "core.hpp"
#include "sinter/adopt.hpp"
#include "sinter/dlpack.hpp"
#include "sinter/errors.hpp"
#include "sinter/ops.hpp"
#include "sinter/types.hpp"
#include "table/functions.hpp"

namespace sinter::python {
namespace {

/// Returns the element type for a format of PEP 3118. C's types have the sizes of 64-bit systems.
std::optional<ElementType> type_of_format(const char* format, Py_ssize_t itemsize) {
  std::string_view text = format == nullptr ? "B" : format;
  if (!text.empty() && (text[0] == '@' || text[0] == '=' || text[0] == '<')) text.remove_prefix(1);
  if (text == "?") return ElementType{DType::bool_};
  if (text == "e") return ElementType{DType::float16};
  if (text == "f") return ElementType{DType::float32};
  if (text == "d") return ElementType{DType::float64};
  if (text == "Zf") return ElementType{DType::float32, true};
  if (text == "Zd") return ElementType{DType::float64, true};
  if (text.size() != 1) return std::nullopt;
  const bool is_signed = std::string_view("bhilqn").find(text[0]) != std::string_view::npos,
             is_unsigned = std::string_view("BHILQN").find(text[0]) != std::string_view::npos;
  if (!is_signed && !is_unsigned) return std::nullopt;
  switch (itemsize) {
    case 1: return ElementType{is_signed ? DType::int8 : DType::uint8};
    case 2: return ElementType{is_signed ? DType::int16 : DType::uint16};
    case 4: return ElementType{is_signed ? DType::int32 : DType::uint32};
    case 8: return ElementType{is_signed ? DType::int64 : DType::uint64};
    default: return std::nullopt;
  }
}
const char* format_of(ElementType type) {
  if (type.is_complex) return type.parts == DType::float32 ? "Zf" : "Zd";
  switch (type.parts) {
    case DType::bool_: return "?";
    case DType::int8: return "b";
    case DType::uint8: return "B";
    case DType::int16: return "h";
    case DType::uint16: return "H";
    case DType::int32: return "i";
    case DType::uint32: return "I";
    case DType::int64: return "l";
    case DType::uint64: return "L";
    case DType::float16: return "e";
    case DType::float32: return "f";
    case DType::float64: return "d";
    default: return nullptr;
  }
}

struct Buffer {
  Py_buffer view{};
  bool open = false;
  explicit Buffer(nb::handle object) {
    open = PyObject_GetBuffer(object.ptr(), &view, PyBUF_FULL_RO) == 0;
    if (!open) PyErr_Clear();
  }
  ~Buffer() {
    if (open) PyBuffer_Release(&view);
  }
  Buffer(const Buffer&) = delete;
};

/// Separates pairs of numbers into real and imaginary parts.
template <class T> Array apart(const void* pairs, const Shape& shape, std::size_t count) {
  std::vector<T> re(count), im(count);
  const T* const from = static_cast<const T*>(pairs);
  for (std::size_t k = 0; k < count; ++k) re[k] = from[2 * k], im[k] = from[2 * k + 1];
  return {adopt(std::move(re), shape, Location{}), adopt(std::move(im), shape, Location{}), {}};
}
template <class T> void together(const Complex& pair, void* to) {
  const auto* re = static_cast<const T*>(detail::host_address(pair.re, dtype_of<T>, "buffer", Location{}));
  const auto* im = static_cast<const T*>(detail::host_address(pair.im, dtype_of<T>, "buffer", Location{}));
  T* const out = static_cast<T*>(to);
  for (std::int64_t k = 0; k < pair.re.size(); ++k) out[2 * k] = re[k], out[2 * k + 1] = im[k];
}

/// Owns the memory of an exported buffer.
struct Shown {
  Tensor tensor;                // the tensor with the elements; while it exists, they are not written
  std::shared_ptr<void> pairs;  // the pairs of complex numbers
  std::vector<Py_ssize_t> shape, strides;
};

int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  return guarded_int([&] {
    const Array array = *as_array(nb::handle(self));
    const ElementType type = type_of(array);
    view->obj = nullptr;
    if (flags & PyBUF_WRITABLE) raise(PyExc_BufferError, "an array of sinter is a value: its buffer can be read, but not written");
    const char* const format = format_of(type);
    if (format == nullptr)
      raise(PyExc_BufferError, fmt::format("the buffer protocol has no {}; numpy.asarray(x) works, because it uses __array__", type_name(type)).c_str());
    evaluate(array);
    auto shown = std::make_unique<Shown>();
    shown->tensor = array.re;
    const auto size = static_cast<Py_ssize_t>(itemsize(type.parts)) * (type.is_complex ? 2 : 1);
    const void* data = nullptr;
    if (type.is_complex) {
      shown->pairs = allocate_host(static_cast<std::size_t>(size * array.re.size()));
      if (type.parts == DType::float32) together<float>(array.pair(), shown->pairs.get());
      else together<double>(array.pair(), shown->pairs.get());
      data = shown->pairs.get();
    } else {
      data = detail::host_address(shown->tensor, type.parts, "buffer", Location{});
    }
    shown->shape.assign(array.re.shape().begin(), array.re.shape().end());
    shown->strides.assign(shown->shape.size(), size);
    for (std::size_t k = shown->strides.size(); k-- > 1;) shown->strides[k - 1] = shown->strides[k] * std::max<Py_ssize_t>(shown->shape[k], 1);
    view->buf = const_cast<void*>(data);
    view->len = size * array.re.size();
    view->itemsize = size;
    view->readonly = 1;
    view->ndim = static_cast<int>(shown->shape.size());
    view->format = flags & PyBUF_FORMAT ? const_cast<char*>(format) : nullptr;
    view->shape = flags & PyBUF_ND ? shown->shape.data() : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? shown->strides.data() : nullptr;
    view->suboffsets = nullptr;
    view->internal = shown.release();
    Py_INCREF(self);
    view->obj = self;
    return 0;
  });
}
void release_buffer(PyObject*, Py_buffer* view) noexcept { delete static_cast<Shown*>(view->internal); }

void forget_capsule(PyObject* capsule) {
  for (const char* name : {"dltensor_versioned", "dltensor"})
    if (PyCapsule_IsValid(capsule, name)) {
      void* const managed = PyCapsule_GetPointer(capsule, name);
      if (name[8] == '_') static_cast<dlpack::Versioned*>(managed)->deleter(static_cast<dlpack::Versioned*>(managed));
      else static_cast<dlpack::Unversioned*>(managed)->deleter(static_cast<dlpack::Unversioned*>(managed));
    }
}

nb::object to_capsule(Array array, nb::object stream, nb::object version, nb::object device, std::optional<bool> copy) {
  if (array.is_complex()) raise(PyExc_BufferError, "a complex array is stored as two arrays, which DLPack cannot share as one; share x.real and x.imag");
  if (!device.is_none()) {
    const auto [type, number] = nb::cast<std::pair<int, int>>(device);
    if (type != 1) raise(PyExc_BufferError, "sinter shares elements only on the device where they are");
  }
  (void)stream;  // the elements are complete, so any stream may read them
  evaluate(array);
  const bool versioned = !version.is_none() && nb::cast<int>(version[0]) >= 1;
  void* const managed = versioned ? static_cast<void*>(dlpack::to_versioned(array.re, copy.value_or(false), location()))
                                  : static_cast<void*>(dlpack::to_unversioned(array.re, location()));
  if (!versioned && copy && !*copy) {
    auto* const made = static_cast<dlpack::Unversioned*>(managed);
    made->deleter(made);
    raise(PyExc_BufferError, "without a copy the consumer has to support DLPack 1.0, which can mark elements as read-only");
  }
  return nb::steal(PyCapsule_New(managed, versioned ? "dltensor_versioned" : "dltensor", forget_capsule));
}

std::pair<int, int> device_of(Array array) {
  evaluate(array);
  dlpack::Versioned* const managed = dlpack::to_versioned(array.re, false, Location{});
  const std::pair<int, int> device{static_cast<int>(managed->tensor.device.type), managed->tensor.device.id};
  managed->deleter(managed);
  return device;
}

PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)}, {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)}, {0, nullptr}};

}  // namespace

const PyType_Slot* buffer_slots() { return slots; }

Array from_buffer(nb::handle object) {
  if (nb::hasattr(object, "dtype") && !find_element_type(object.attr("dtype")))
    throw DTypeError(fmt::format("arrays of sinter cannot have elements of type {}", nb::cast<std::string>(nb::str(nb::object(object.attr("dtype"))))));
  const Buffer buffer(object);
  if (!buffer.open) {  // arrays of NumPy whose type has no letter in the protocol, such as bfloat16 of ml_dtypes
    const auto type = nb::hasattr(object, "dtype") ? find_element_type(object.attr("dtype")) : std::nullopt;
    if (!type || type->is_complex || itemsize(type->parts) > 2) raise(PyExc_TypeError, "arrays of sinter cannot have elements of this type");
    const Array bits = from_buffer(object.attr("view")(itemsize(type->parts) == 2 ? "uint16" : "uint8"));
    return {view(bits.re, type->parts), {}, {}};
  }
  const Py_buffer& view = buffer.view;
  const auto type = type_of_format(view.format, view.itemsize);
  if (!type) {
    if (view.format && (view.format[0] == '>' || view.format[0] == '!'))
      return from_buffer(object.attr("astype")(object.attr("dtype").attr("newbyteorder")("=")));
    throw DTypeError(fmt::format("arrays of sinter cannot have elements of format '{}'", view.format ? view.format : ""));
  }
  Shape shape(view.shape, view.shape + view.ndim);
  const auto bytes = static_cast<std::size_t>(view.len);
  std::shared_ptr<void> memory = allocate_host(bytes);
  if (bytes > 0 && PyBuffer_ToContiguous(memory.get(), const_cast<Py_buffer*>(&view), view.len, 'C') != 0) throw nb::python_error();
  const std::size_t count = view.itemsize == 0 ? 0 : bytes / static_cast<std::size_t>(view.itemsize);
  if (type->is_complex) return type->parts == DType::float32 ? apart<float>(memory.get(), shape, count) : apart<double>(memory.get(), shape, count);
  return {adopt_host(std::move(memory), type->parts, shape, Location{}), {}, {}};
}

Array from_dlpack(nb::handle object, bool copy) {
  nb::object capsule;
  try {
    capsule = object.attr("__dlpack__")(nb::arg("max_version") = nb::make_tuple(1, 1));
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_TypeError)) throw;
    capsule = object.attr("__dlpack__")();  // objects from before version 1
  }
  const auto take = [&]<class Managed>(const char* name, const char* used) {
    auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), name));
    if (managed == nullptr) throw nb::python_error();
    if (managed->tensor.dtype.code == dlpack::Code::complex)
      raise(PyExc_TypeError, "sinter cannot share complex numbers of DLPack; pass their real and imaginary parts");
    const Tensor tensor = dlpack::from_dlpack(managed, location());
    PyCapsule_SetName(capsule.ptr(), used);
    return tensor;
  };
  Tensor tensor = PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned") ? take.operator()<dlpack::Versioned>("dltensor_versioned", "used_dltensor_versioned")
                                                                         : take.operator()<dlpack::Unversioned>("dltensor", "used_dltensor");
  if (copy) {  // copies into memory of sinter, which is independent of the other library
    evaluate(std::vector{tensor});
    const std::size_t bytes = static_cast<std::size_t>(tensor.nbytes());
    std::shared_ptr<void> memory = allocate_host(bytes);
    if (bytes > 0) std::memcpy(memory.get(), detail::host_address(tensor, tensor.dtype(), "from_dlpack", location()), bytes);
    return {adopt_host(std::move(memory), tensor.dtype(), tensor.shape(), location()), {}, {}};
  }
  return {tensor, {}, {}};
}

void check_device(nb::handle device) {
  if (device.is_none()) return;
  if (nb::isinstance<nb::str>(device) && nb::cast<std::string>(device) == "cpu") return;
  throw ValueError(
      fmt::format("there is no device '{}' for an array; options() shows the device that computes arrays", nb::cast<std::string>(nb::str(device))));
}

void add_exchange(nb::module_& module) {
  nb::handle array_class = module.attr("Array");
  nb::cpp_function_def(&to_capsule, nb::scope(array_class), nb::name("__dlpack__"), nb::is_method(), nb::kw_only(), nb::arg("stream").none() = nb::none(),
                       nb::arg("max_version").none() = nb::none(), nb::arg("dl_device").none() = nb::none(), nb::arg("copy").none() = nb::none());
  nb::cpp_function_def(&device_of, nb::scope(array_class), nb::name("__dlpack_device__"), nb::is_method());
  module.def("from_bytes", [](nb::bytes data, nb::handle dtype, const Shape& shape) {
    const auto type = find_element_type(dtype);
    const std::size_t count = static_cast<std::size_t>(element_count(shape)), size = itemsize(type->parts) * (type->is_complex ? 2 : 1);
    if (data.size() != count * size) raise(PyExc_ValueError, "the number of bytes does not fit this shape and type");
    std::shared_ptr<void> memory = allocate_host(data.size());
    std::memcpy(memory.get(), data.c_str(), data.size());
    if (type->is_complex)
      return new_array(type->parts == DType::float32 ? apart<float>(memory.get(), shape, count) : apart<double>(memory.get(), shape, count));
    return new_array(adopt_host(std::move(memory), type->parts, shape, location()));
  });
  module.def(
      "asarray_of",
      [](nb::handle object, nb::handle dtype) {
        const Here here("asarray");
        const nb::object made = new_array(array_of(object));
        as_array(made)->created = true;
        if (dtype.is_none()) return made;
        const auto type = find_element_type(dtype);
        if (!type) throw DTypeError(fmt::format("asarray: this is not an element type: {}", nb::cast<std::string>(nb::str(dtype))));
        if (type->is_complex == as_array(made)->is_complex() && type->parts == as_array(made)->re.dtype()) return made;
        return as_type(made, *type);
      },
      nb::arg("object").none(), nb::arg("dtype").none());
  module.def("complex_of", [](const Array& re, const Array& im) { return new_array(Array{re.re, im.re, {}}); });
  module.def("same", [](const Array& x, bool created) { return new_array(Array{x.re, x.im, {}, created}); }, nb::arg("x"), nb::arg("created") = false);
  module.def(
      "find_dtype",
      [](nb::handle object) {
        const auto type = find_element_type(object);
        if (!type) throw DTypeError(fmt::format("this is not an element type: {}", nb::cast<std::string>(nb::str(object))));
        return dtype_object(*type);
      },
      nb::arg("object").none());
  module.def("check_device", &check_device, nb::arg("device").none());
  module.def(
      "from_dlpack",
      [](nb::handle x, nb::object device, std::optional<bool> copy) {
        if (!device.is_none() && !nb::isinstance<nb::str>(device)) raise(PyExc_ValueError, "device is 'cpu', 'cuda' or None");
        if (as_array(x)) return nb::borrow(x);
        return new_array(from_dlpack(x, copy.value_or(false)));
      },
      nb::arg("x"), nb::kw_only(), nb::arg("device").none() = nb::none(), nb::arg("copy").none() = nb::none());
}

}  // namespace sinter::python
