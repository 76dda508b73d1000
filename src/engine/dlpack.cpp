// DLPack in both directions: exports a view of a node's storage, and makes a storage over foreign memory.
#include "sinter/dlpack.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "engine/engine.hpp"
#include "sinter/ops.hpp"
#include "trace/build.hpp"

namespace sinter::dlpack {
namespace {

using trace::fail;
using trace::Site;

// The sizes of the protocol's structs on 64-bit systems.
static_assert(sizeof(View) == 48 && offsetof(View, shape) == 24 && offsetof(View, byte_offset) == 40);
static_assert(sizeof(Versioned) == 80 && offsetof(Versioned, flags) == 24 && offsetof(Versioned, tensor) == 32);
static_assert(sizeof(Unversioned) == 64 && offsetof(Unversioned, manager) == 48);

ElementType element_type(DType dtype) { return {static_cast<Code>(traits(dtype).dlpack), static_cast<std::uint8_t>(8 * itemsize(dtype)), 1}; }
std::optional<DType> dtype_of(ElementType type) {
  for (int k = 0; k < kDTypeCount; ++k) {
    const ElementType known = element_type(static_cast<DType>(k));
    if (known.code == type.code && known.bits == type.bits && known.lanes == type.lanes) return static_cast<DType>(k);
  }
  return std::nullopt;
}

/// Owns everything to which an exported tensor refers; `managed` is a part of it.
template <class Managed> struct Exported {
  Managed managed{};
  Shape shape, strides;
  std::shared_ptr<void> memory;
};

template <class Managed> Managed* exported(const Tensor& tensor, bool copy, const Site& site) {
  auto made = std::make_unique<Exported<Managed>>();
  const auto& node = trace::node_of(site, tensor);
  const engine::Residence at = engine::Engine::get().residence(node, copy, site);
  made->memory = at.memory;
  made->shape = node->shape;
  made->strides.assign(made->shape.size(), 1);
  for (std::size_t k = made->strides.size(); k-- > 1;) made->strides[k - 1] = made->strides[k] * std::max<std::int64_t>(made->shape[k], 1);
  View& view = made->managed.tensor;
  view.data = at.data;
  view.device = {at.kind == "cuda" ? DeviceType::cuda : DeviceType::cpu, at.ordinal};
  view.ndim = static_cast<std::int32_t>(made->shape.size());
  view.dtype = element_type(node->dtype);
  view.shape = made->shape.data();
  view.strides = made->strides.data();
  made->managed.manager = made.get();
  made->managed.deleter = [](Managed* self) { delete static_cast<Exported<Managed>*>(self->manager); };
  return &made.release()->managed;
}

/// Returns the axes from the longest stride to the shortest, if the elements then fill their memory.
std::optional<std::vector<std::int64_t>> dense_order(const Shape& shape, const std::vector<std::int64_t>& strides) {
  std::vector<std::int64_t> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  const auto at = [](const auto& list, std::int64_t axis) { return list[static_cast<std::size_t>(axis)]; };
  // The stride of an axis of size 1 has no meaning, so the axis keeps its position.
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return at(shape, a) > 1 && at(shape, b) > 1 && at(strides, a) > at(strides, b); });
  std::int64_t expected = 1;
  for (std::size_t k = order.size(); k-- > 0;) {
    if (at(shape, order[k]) > 1 && at(strides, order[k]) != expected) return std::nullopt;
    expected *= at(shape, order[k]);
  }
  return order;
}

template <class Managed> Tensor imported(Managed* managed, const Site& site) {
  if (managed == nullptr) fail<ValueError>(site, "there is no tensor: the pointer is null");
  const View& view = managed->tensor;
  const auto dtype = dtype_of(view.dtype);
  if (!dtype)
    fail<DTypeError>(site, fmt::format("sinter has no dtype for elements of code {} with {} bits in {} lanes", static_cast<int>(view.dtype.code),
                                       view.dtype.bits, view.dtype.lanes));
  if (view.ndim < 0 || view.ndim > 64 || (view.ndim > 0 && view.shape == nullptr))
    fail<ValueError>(site, fmt::format("the tensor has {} axes, or no shape", view.ndim));
  const Shape shape(view.shape, view.shape + view.ndim);
  trace::check_shape(site, shape, *dtype);
  const bool on_gpu = view.device.type == DeviceType::cuda;
  const bool readable = view.device.type == DeviceType::cpu || view.device.type == DeviceType::cuda_host || view.device.type == DeviceType::cuda_managed;
  if (!on_gpu && !readable) fail<DeviceError>(site, fmt::format("elements on a device of DLPack's type {} cannot be used", static_cast<int>(view.device.type)));
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t k = shape.size(); k-- > 1;) strides[k - 1] = strides[k] * shape[k];
  if (view.strides != nullptr) strides.assign(view.strides, view.strides + view.ndim);

  const auto own = [&] {
    return std::shared_ptr<Managed>(managed, [](Managed* taken) {
      if (taken->deleter != nullptr) taken->deleter(taken);
    });
  };
  const auto bytes = static_cast<std::size_t>(element_count(shape)) * itemsize(*dtype);
  if (bytes == 0) {
    own();
    return zeros(shape, *dtype, site.where);
  }
  if (view.data == nullptr) fail<ValueError>(site, fmt::format("shape {} has elements, but the pointer is null", to_string(shape)));
  char* const data = static_cast<char*>(view.data) + view.byte_offset;
  const auto order = dense_order(shape, strides);
  const DType held = is_bool(*dtype) ? DType::uint8 : *dtype;                                           // sinter requires a bool to be 0 or 1
  const bool aligned = reinterpret_cast<std::uintptr_t>(data) % (on_gpu ? 16 : itemsize(*dtype)) == 0;  // a GPU moves 16 bytes at a time
  if (on_gpu && (!order || !aligned))
    fail<ValueError>(site,
                     fmt::format("elements of shape {} on a GPU are not contiguous, or do not begin at a multiple of 16 bytes: let their owner copy them first",
                                 to_string(shape)));
  if (!on_gpu && (!order || !aligned)) {
    const Tensor copy = from_pointer(data, held, shape, strides, site.where);
    own();
    return is_bool(*dtype) ? not_equal(copy, 0) : copy;
  }
  Shape in_memory;
  std::vector<std::int64_t> back(shape.size());
  for (std::size_t k = 0; k < shape.size(); ++k) {
    in_memory.push_back(shape[static_cast<std::size_t>((*order)[k])]);
    back[static_cast<std::size_t>((*order)[k])] = static_cast<std::int64_t>(k);
  }
  auto storage = std::make_shared<Storage>();
  storage->bytes = bytes;
  if (on_gpu) {
    const runtime::DevicePtr device = engine::Engine::get().device_at("cuda", view.device.id, site);
    storage->device = engine::contents_of_others(device, data, bytes, own());
  } else {
    storage->host = std::shared_ptr<void>(own(), data);
  }
  const auto leaf = trace::make_data(site, held, in_memory, std::move(storage));
  const Tensor tensor(trace::make_permute(site, leaf, back));
  return is_bool(*dtype) ? not_equal(tensor, 0) : tensor;
}

}  // namespace

Versioned* to_versioned(const Tensor& tensor, bool copy, Location where) {
  Versioned* managed = exported<Versioned>(tensor, copy, trace::site_of("to_versioned", where));
  managed->version = {1, 1};  // the first version with float8
  managed->flags = copy ? kCopied : kReadOnly;
  return managed;
}

Unversioned* to_unversioned(const Tensor& tensor, Location where) { return exported<Unversioned>(tensor, true, trace::site_of("to_unversioned", where)); }

Tensor from_dlpack(Versioned* managed, Location where) {
  const Site site = trace::site_of("from_dlpack", where);
  if (managed != nullptr && managed->version.major != 1)
    fail<ValueError>(site, fmt::format("the tensor is of DLPack {}.{}; sinter reads 1.x", managed->version.major, managed->version.minor));
  return imported(managed, site);
}

Tensor from_dlpack(Unversioned* managed, Location where) { return imported(managed, trace::site_of("from_dlpack", where)); }

}  // namespace sinter::dlpack
