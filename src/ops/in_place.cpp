#include "ops/in_place.hpp"

#include <cstddef>
#include <cstring>
#include <mutex>
#include <new>
#include <numeric>
#include <utility>

#include "ops/recording.hpp"
#include "trace/for_any_size.hpp"

namespace sinter::ops {
namespace {

constexpr std::int64_t kSmall = 256;                         // maximum number of elements of a block: writing them costs less than recording the assignment
constexpr std::size_t kMinWaiting = 8, kMaxWaiting = 64;     // minimum and maximum number of pending assignments
constexpr std::size_t kMaxExpanded = std::size_t{16} << 20;  // maximum number of bytes to which a literal may be expanded before they are read

/// Returns the elements, if nothing else refers to the storage; null otherwise.
std::byte* sole_elements(const Storage& storage) {
  return storage.own && !storage.device && storage.host.use_count() == 1 ? static_cast<std::byte*>(storage.host.get()) : nullptr;
}

/// For each element of a block, in row-major order, calls visit with the element's number in the whole tensor.
template <class Visit> void for_each_place(const Shape& whole, const std::vector<std::int64_t>& start_step, const Shape& block, Visit visit) {
  const std::size_t rank = whole.size();
  std::vector<std::int64_t> at(rank, 0), stride(rank, 1);
  for (std::size_t k = rank; k-- > 1;) stride[k - 1] = stride[k] * whole[k];
  std::int64_t place = 0;
  for (std::size_t k = 0; k < rank; ++k) place += start_step[2 * k] * stride[k];
  for (std::int64_t left = element_count(block); left > 0; --left) {
    visit(place);
    for (std::size_t k = rank; k-- > 0;) {
      const std::int64_t step = start_step[2 * k + 1] * stride[k];
      place += step;
      if (++at[k] < block[k]) break;
      place -= at[k] * step;
      at[k] = 0;
    }
  }
}

/// The elements to write: a number, or the elements of an evaluated node.
class Source {
 public:
  Source(const RecordedPtr& node, std::int64_t count) : size_(itemsize(node->dtype)) {
    if (node->op == Op::constant && !node->evaluated()) {
      bits_ = node->scalar.bits();
      from_ = reinterpret_cast<const std::byte*>(&bits_);
      return;
    }
    const StoragePtr storage = node->result();
    const std::int64_t given = element_count(node->shape);
    if (!storage || (given != 1 && given != count)) return;
    const std::lock_guard lock(storage->lock);
    memory_ = storage->host;
    from_ = static_cast<const std::byte*>(memory_.get());
    step_ = given == 1 ? 0 : size_;
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  explicit operator bool() const { return from_ != nullptr; }
  void write(std::byte* elements, const Shape& whole, const std::vector<std::int64_t>& start_step, const Shape& block) {
    for_each_place(whole, start_step, block, [&](std::int64_t place) {
      std::memcpy(elements + static_cast<std::size_t>(place) * size_, from_, size_);
      from_ += step_;
    });
  }

 private:
  std::size_t size_, step_ = 0;
  std::uint64_t bits_ = 0;
  std::shared_ptr<void> memory_;
  const std::byte* from_ = nullptr;
};

std::vector<std::int64_t> starts_of(const std::vector<std::int64_t>& around) {
  std::vector<std::int64_t> start_step(around.size(), 1);
  for (std::size_t k = 0; k < around.size(); k += 2) start_step[k] = around[k];
  return start_step;
}

/// Returns memory filled with a number.
StoragePtr filled(const Recorded& constant) {
  const std::size_t size = itemsize(constant.dtype), count = static_cast<std::size_t>(element_count(constant.shape));
  StoragePtr storage;
  try {
    storage = host_storage({"assign", constant.where}, size * count);
  } catch (const DeviceError&) {
    return nullptr;  // the value stays a literal, which takes no memory
  }
  const std::uint64_t bits = constant.scalar.bits();
  auto* const elements = static_cast<std::byte*>(storage->host.get());
  if (bits == 0) std::memset(elements, 0, size * count);
  else
    for (std::size_t k = 0; k < count; ++k) std::memcpy(elements + k * size, &bits, size);
  return storage;
}

/// Writes the pending small assignments of a node into the elements to which the first of them assigned, and returns these elements. Returns null if another
/// handle refers to the target of one of the assignments.
StoragePtr written_out(const RecordedPtr& top) {
  std::vector<RecordedPtr> pads;  // in reverse order
  RecordedPtr under = top;
  while (!under->evaluated() && under->op == Op::pad && !under->symbolic && pads.size() < kMaxWaiting) {
    const Operands operands = under->inputs();
    if (operands.size() != 2) return nullptr;
    // Only the pad that reads the assigned tensor, and `operands`, may refer to it. A number is only read.
    if ((operands[1].use_count() != 2 && (operands[1]->op != Op::constant || operands[1]->evaluated())) || element_count(operands[0]->shape) > kSmall ||
        (operands[0]->op != Op::constant && !operands[0]->evaluated()))
      return nullptr;
    pads.push_back(under);
    under = operands[1];
  }
  if (pads.empty()) return nullptr;
  StoragePtr storage;
  if (under->evaluated()) {
    storage = under->storage;
    if (storage.use_count() != 2) return nullptr;  // held by the node and by this variable
  } else if (under->op == Op::constant && pads.size() >= kMinWaiting && bytes_of(*top) <= kMaxExpanded) {
    storage = filled(*under);
  }
  std::byte* const elements = storage ? sole_elements(*storage) : nullptr;
  if (elements == nullptr) return nullptr;
  for (std::size_t k = pads.size(); k-- > 0;) {
    const RecordedPtr value = pads[k]->inputs().front();
    Source source(value, element_count(value->shape));
    if (!source) return nullptr;  // earlier assignments are written; an evaluation of the pads writes them again
    source.write(elements, top->shape, starts_of(pads[k]->ints), value->shape);
  }
  return storage;
}

/// Returns the elements for writing if only this handle refers to them. The handle then refers to a leaf, because the op of another node implies properties of
/// the elements (constant, not negative) that would no longer be true after the write.
std::byte* own_elements(const Site& site, Tensor& whole, const Selection& block) {
  const RecordedPtr& node = whole.node();
  if (ForAnySize::recording() || node.use_count() != 1 || node->symbolic || element_count(block.sliced) > kSmall) return nullptr;
  if (node->op != Op::data) {
    StoragePtr storage = node->evaluated() ? node->storage : written_out(node);
    if (!storage || (node->evaluated() && (storage.use_count() != 2 || sole_elements(*storage) == nullptr))) return nullptr;
    whole = Tensor(make_data(site, node->dtype, node->shape, std::move(storage)));
  }
  Storage& storage = *whole.node()->storage;
  std::byte* const elements = whole.node()->storage.use_count() == 1 ? sole_elements(storage) : nullptr;
  if (elements != nullptr) storage.laid_out.reset();
  return elements;
}

}  // namespace

bool write_in_place(const Site& site, Tensor& whole, const Selection& block, const RecordedPtr& value) {
  Source source(value, element_count(block.sliced));
  if (!source) return false;
  std::byte* const elements = own_elements(site, whole, block);
  if (elements == nullptr) return false;
  source.write(elements, whole.shape(), block.start_step, block.sliced);
  return true;
}

bool update_in_place(const Site& site, Tensor& whole, const Selection& block, Op op, const Scalar& number) {
  const DType dtype = whole.dtype();
  if (is_bool(dtype) || is_storage_only(dtype)) return false;
  std::byte* const elements = own_elements(site, whole, block);
  if (elements == nullptr) return false;
  return visit_storage(dtype, [&]<class T>() {
    T* const values = std::launder(reinterpret_cast<T*>(elements));
    std::vector<T> results;
    bool certain = true;
    for_each_place(whole.shape(), block.start_step, block.sliced, [&](std::int64_t place) {
      const Scalar operands[] = {std::is_floating_point_v<T> ? make_scalar(dtype, static_cast<double>(values[place]))
                                                             : make_scalar_int(dtype, static_cast<std::int64_t>(values[place])),
                                 number};
      Scalar result;
      certain = certain && fold(op, operands, result) && result.dtype == dtype;
      if (certain) results.push_back(std::is_floating_point_v<T> ? static_cast<T>(result.f) : static_cast<T>(result.i));
    });
    if (!certain) return false;
    auto next = results.begin();
    for_each_place(whole.shape(), block.start_step, block.sliced, [&](std::int64_t place) { values[place] = *next++; });
    return true;
  });
}

}  // namespace sinter::ops
