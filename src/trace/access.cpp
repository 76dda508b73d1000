// The properties of a handle, and access to its contents.
#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sinter/counted.hpp"
#include "sinter/tensor.hpp"
#include "trace/build.hpp"
#include "trace/host_access.hpp"

namespace sinter {

using namespace trace;

const Shape& Tensor::shape() const { return node_of({"shape", {}}, *this)->shape; }
DType Tensor::dtype() const { return node_of({"dtype", {}}, *this)->dtype; }
std::int64_t Tensor::size(int axis, Location where) const {
  const Site site{"size", where};
  const Shape& shape = node_of(site, *this)->shape;
  return shape[static_cast<std::size_t>(checked_axis(site, axis, static_cast<std::int64_t>(shape.size())))];
}

namespace trace {

namespace {

/// Returns the row-major number of the first element of a slice, if its elements are consecutive; -1 otherwise.
std::int64_t start_of_consecutive(const Recorded& slice, const Shape& whole) {
  std::int64_t start = 0, apart = 1;
  bool inside = true;  // the axes after this one are whole
  for (std::size_t k = whole.size(); k-- > 0; apart *= whole[k]) {
    const std::int64_t first = slice.ints[2 * k], step = slice.ints[2 * k + 1], size = slice.shape[k];
    start += first * apart;
    if (inside ? size > 1 && step != 1 : size > 1) return -1;
    inside = inside && size == whole[k];
  }
  return start;
}

/// Returns the elements of an evaluated node from `first` on; nothing if they are not in host memory.
HostPart elements_from(const Recorded& evaluated, std::int64_t first) {
  const StoragePtr storage = evaluated.storage;
  const std::lock_guard lock(storage->lock);
  if (!storage->host) return {};
  return {storage->host, static_cast<const std::byte*>(storage->host.get()) + static_cast<std::size_t>(first) * itemsize(evaluated.dtype)};
}

}  // namespace

HostPart part_of_evaluated(const RecordedPtr& node) {
  if (node->symbolic || element_count(node->shape) == 0) return {};
  RecordedPtr below = node;
  std::int64_t start = 0;
  while (!below->evaluated()) {
    const Operands operands = below->inputs();
    if (operands.empty()) break;  // a leaf, or evaluated meanwhile
    if (below->op == Op::slice) {
      const std::int64_t first = start_of_consecutive(*below, operands[0]->shape);
      if (first < 0) return {};
      start += first;
    } else if (below->op != Op::reshape) {
      return {};
    }
    below = operands[0];
  }
  return below->evaluated() ? elements_from(*below, start) : HostPart{};
}

}  // namespace trace

namespace {

[[noreturn]] void refuse_type(const Site& site, DType held, DType wanted) {
  fail<DTypeError>(site, fmt::format("the tensor holds {}, not {}; ask for {}, or convert it first with astype", name(held), name(wanted), name(held)));
}

template <class To, class From> To converted(From value) {
  if constexpr (std::is_arithmetic_v<To>) return static_cast<To>(value);
  else return To(static_cast<float>(value));  // a 16-bit float
}

/// Returns whether an integer is the same number in its new type; long double holds all integers.
template <class To, class From> bool survives(From value, To made) {
  if constexpr (std::is_integral_v<To>) return std::cmp_equal(value, made);
  else return static_cast<long double>(static_cast<std::conditional_t<std::is_arithmetic_v<To>, To, float>>(made)) == static_cast<long double>(value);
}
template <class T> inline constexpr bool is_number = std::is_integral_v<T> && !std::is_same_v<T, bool>;

}  // namespace

namespace detail {

const void* host_address(const Tensor& tensor, DType wanted, const char* function, Location where) {
  const Site site{function, where};
  const RecordedPtr& node = node_of(site, tensor);
  if (node->dtype != wanted) refuse_type(site, node->dtype, wanted);
  return host_data(node, site);
}

namespace {

/// Returns the row-major number of an element.
std::int64_t place_of(const std::vector<std::int64_t>& at, const Shape& shape) {
  std::int64_t place = 0;
  for (std::size_t k = 0; k < shape.size(); ++k) place = place * shape[k] + at[k];
  return place;
}

/// Returns the only element of a node if slices, permutations and reshapes select it from an evaluated node in host memory; nothing otherwise.
HostPart selected_element(const RecordedPtr& node) {
  if (node->symbolic || element_count(node->shape) != 1) return {};
  RecordedPtr below = node;
  std::vector<std::int64_t> at(node->shape.size(), 0);
  while (!below->evaluated()) {
    const Operands operands = below->inputs();
    if (operands.empty()) {
      if (below->evaluated()) break;
      return {};
    }
    const Shape& whole = operands[0]->shape;
    if (below->op == Op::slice) {
      for (std::size_t k = 0; k < at.size(); ++k) at[k] = below->ints[2 * k] + at[k] * below->ints[2 * k + 1];
    } else if (below->op == Op::permute) {
      const std::vector<std::int64_t> turned = at;
      for (std::size_t k = 0; k < at.size(); ++k) at[static_cast<std::size_t>(below->ints[k])] = turned[k];
    } else if (below->op == Op::reshape) {
      std::int64_t place = place_of(at, below->shape);
      at.resize(whole.size());
      for (std::size_t k = whole.size(); k-- > 0; place /= whole[k]) at[k] = place % whole[k];
    } else {
      return {};
    }
    below = operands[0];
  }
  return elements_from(*below, place_of(at, below->shape));
}

}  // namespace

bool copy_selected(const Tensor& tensor, void* out) {
  const RecordedPtr& node = node_of({"item", {}}, tensor);
  const HostPart element = selected_element(node);
  if (element.held) std::memcpy(out, element.elements, itemsize(node->dtype));
  return element.held != nullptr;
}

void copy_elements(const Tensor& tensor, void* out, DType wanted, std::int64_t count, const char* function, Location where) {
  const Site site{function, where};
  const RecordedPtr& node = node_of(site, tensor);
  if (element_count(node->shape) != count)
    fail<ShapeError>(site, fmt::format("shape {} has {}, not {}", to_string(node->shape), counted(element_count(node->shape), "element"), count));
  const bool exact = lossless(node->dtype, wanted);
  if (!exact && (!is_integer(node->dtype) || is_bool(wanted))) refuse_type(site, node->dtype, wanted);
  if (count == 0) return;
  const HostPart element = count == 1 ? selected_element(node) : HostPart{};
  const void* elements = element.elements;
  if (!elements) elements = host_data(node, site);
  visit_storage(node->dtype, [&]<class From>() {
    visit_storage(wanted, [&]<class To>() {
      const From* from = static_cast<const From*>(elements);
      To* to = static_cast<To*>(out);
      if constexpr (std::is_same_v<From, To>) {
        std::copy(from, from + count, to);
      } else {
        for (std::int64_t i = 0; i < count; ++i) {
          to[i] = converted<To>(from[i]);
          if constexpr (is_number<From> && !std::is_same_v<To, bool>) {
            if (!exact && !survives(from[i], to[i]))
              fail<DTypeError>(site, fmt::format("the tensor holds {} {}, which {} does not hold", name(node->dtype), from[i], name(wanted)));
          }
        }
      }
    });
  });
}

void refuse_shape(const Shape& shape, const char* why, const char* function, Location where) {
  fail<ShapeError>({function, where}, fmt::format("shape {} {}", to_string(shape), why));
}

}  // namespace detail

Tensor::operator bool() const {
  const Site site{"operator bool", node_of({"operator bool", {}}, *this)->where};
  if (size() != 1) fail<ShapeError>(site, fmt::format("shape {} has {}, not 1: any() or all() of them?", to_string(shape()), counted(size(), "element")));
  return astype(DType::bool_, site.where).item<bool>(site.where);
}

}  // namespace sinter
