#include "ops/in_place.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <utility>

#include "ops/recording.hpp"
#include "trace/for_any_size.hpp"
#include "trace/loops.hpp"

namespace sinter::ops {
namespace {

constexpr std::int64_t kSmall = 256;                             // maximum number of elements of a block: writing them costs less than recording the assignment
constexpr std::int64_t kShare = 16;                              // a larger block is at most this part of the whole, which the recorded assignment would copy
constexpr std::size_t kWorthEvaluating = std::size_t{64} << 10;  // bytes of the whole whose copy takes longer than to evaluate the value on its own
constexpr int kScalarNodes = 32;                                 // maximum number of operations on single elements that an assignment evaluates
constexpr std::size_t kMinWaiting = 8, kMaxWaiting = 64;         // minimum and maximum number of pending assignments
constexpr std::size_t kMaxExpanded = std::size_t{16} << 20;      // maximum number of bytes to which a literal may be expanded before they are read

/// Whether values are computed in a device's memory, which an assignment learns from the first value that it evaluates.
std::atomic<bool> computed_on_device{false};

/// Returns the elements, if nothing else refers to the storage; null otherwise.
std::byte* sole_elements(const Storage& storage) {
  return storage.own && !storage.device && storage.host.use_count() == 1 ? static_cast<std::byte*>(storage.host.get()) : nullptr;
}

bool is_small(const Shape& whole, const Shape& block) {
  const std::int64_t count = element_count(block);
  return count <= std::max(kSmall, element_count(whole) / kShare);
}

/// For each row of a block (its last axis), in order, calls visit with the numbers in the whole tensor of its first element and of the step to the next.
template <class Visit> void for_each_row(const Shape& whole, const std::vector<std::int64_t>& start_step, const Shape& block, Visit visit) {
  const std::size_t rank = whole.size();
  std::vector<std::int64_t> at(rank, 0), stride(rank, 1);
  for (std::size_t k = rank; k-- > 1;) stride[k - 1] = stride[k] * whole[k];
  std::int64_t place = 0;
  for (std::size_t k = 0; k < rank; ++k) place += start_step[2 * k] * stride[k];
  const std::int64_t length = rank == 0 ? 1 : block.back(), along = rank == 0 ? 1 : start_step[2 * rank - 1];
  for (std::int64_t left = length == 0 ? 0 : element_count(block) / length; left > 0; --left) {
    visit(place, along);
    for (std::size_t k = rank; k-- > 1;) {
      const std::int64_t step = start_step[2 * (k - 1) + 1] * stride[k - 1];
      place += step;
      if (++at[k - 1] < block[k - 1]) break;
      place -= at[k - 1] * step;
      at[k - 1] = 0;
    }
  }
}
template <class Visit> void for_each_place(const Shape& whole, const std::vector<std::int64_t>& start_step, const Shape& block, Visit visit) {
  const std::int64_t length = block.empty() ? 1 : block.back();
  for_each_row(whole, start_step, block, [&](std::int64_t place, std::int64_t step) {
    for (std::int64_t k = 0; k < length; ++k) visit(place + k * step);
  });
}

/// The elements to write: a number, an element of an evaluated node, or the elements of one.
class Source {
 public:
  Source(const RecordedPtr& node, std::int64_t count) : size_(itemsize(node->dtype)) {
    if (node->op == Op::constant && !node->evaluated()) {
      bits_ = node->scalar.bits();
      from_ = reinterpret_cast<const std::byte*>(&bits_);
      return;
    }
    if (detail::copy_selected(Tensor(node), &bits_)) {
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
    const std::size_t length = block.empty() ? 1 : static_cast<std::size_t>(block.back());
    for_each_row(whole, start_step, block, [&](std::int64_t place, std::int64_t step) {
      std::byte* const to = elements + place * static_cast<std::ptrdiff_t>(size_);
      const std::ptrdiff_t apart = step * static_cast<std::ptrdiff_t>(size_);
      if (step == 1 && step_ != 0) std::memcpy(to, from_, length * size_);
      else if (size_ == 8) copy<8>(to, apart, length);
      else if (size_ == 4) copy<4>(to, apart, length);
      else if (size_ == 2) copy<2>(to, apart, length);
      else copy<1>(to, apart, length);
      from_ += length * step_;
    });
  }

 private:
  template <std::size_t Size> void copy(std::byte* to, std::ptrdiff_t apart, std::size_t length) const {
    for (std::size_t k = 0; k < length; ++k) std::memcpy(to + static_cast<std::ptrdiff_t>(k) * apart, from_ + k * step_, Size);
  }

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

/// Returns the node whose elements the value has, in order: reshapes do not change them.
RecordedPtr before_reshapes(RecordedPtr value) {
  while (!value->evaluated() && value->op == Op::reshape) {
    const Operands operands = value->inputs();
    if (operands.empty()) break;  // evaluated meanwhile
    value = operands[0];
  }
  return value;
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
    const RecordedPtr value = before_reshapes(operands[0]);
    if ((operands[1].use_count() != 2 && (operands[1]->op != Op::constant || operands[1]->evaluated())) || !is_small(under->shape, value->shape) ||
        (value->op != Op::constant && !value->evaluated()))
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
    Source source(before_reshapes(value), element_count(value->shape));
    if (!source) return nullptr;  // earlier assignments are written; an evaluation of the pads writes them again
    source.write(elements, top->shape, starts_of(pads[k]->ints), value->shape);
  }
  return storage;
}

/// Returns the elements for writing a block of this shape if only this handle refers to them. The handle then refers to a leaf, because the op of another node
/// implies properties of the elements (constant, not negative) that would no longer be true after the write.
std::byte* own_elements(const Site& site, Tensor& whole, const Shape& block) {
  const RecordedPtr& node = whole.node();
  if (ForAnySize::recording() || node.use_count() != 1 || node->symbolic || !is_small(node->shape, block)) return nullptr;
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

/// Returns whether the node is one repeated number under pending assignments, which are written out after some more.
bool gets_memory(const Recorded& node, std::size_t left) {
  if (node.evaluated() || node.op == Op::constant) return true;
  if (node.op != Op::pad || left == 0) return false;
  const Operands operands = node.inputs();
  return operands.size() == 2 && gets_memory(*operands[1], left - 1);
}

}  // namespace

bool is_worth_evaluating(const Recorded& whole) {
  if (ForAnySize::recording() || whole.symbolic || bytes_of(whole) < kWorthEvaluating) return false;
  if (whole.evaluated()) return whole.storage.use_count() == 1 && sole_elements(*whole.storage) != nullptr;
  return !computed_on_device && bytes_of(whole) <= kMaxExpanded && gets_memory(whole, kMaxWaiting);
}

namespace {

/// Returns whether one element of the value is computed by few operations from single elements in host memory, so that its evaluation costs less than to record
/// its assignment. `left` is how many operations may follow.
bool is_scalar_work(const Recorded& value, int& left) {
  if (--left < 0 || value.symbolic) return false;
  if (const StoragePtr known = value.result()) return !known->device;
  if (value.op == Op::constant) return true;
  if (is_reduction(value.op) || is_step(value.op)) return false;
  const Operands operands = value.inputs();
  return std::all_of(operands.begin(), operands.end(), [&](const RecordedPtr& x) { return is_scalar_work(*x, left); });
}
/// Returns whether to evaluate a recorded value now, so that it can be written.
bool is_worth_evaluating_for(const Recorded& whole, const Shape& block, const Recorded& value) {
  if (value.evaluated() || value.op == Op::constant || ForAnySize::recording()) return false;
  if (is_small(whole.shape, block) && is_worth_evaluating(whole)) return true;
  int nodes = kScalarNodes;
  return !computed_on_device && element_count(block) == 1 && element_count(whole.shape) > kSmall && is_scalar_work(value, nodes);
}

}  // namespace

namespace {

/// Evaluates a value, and learns where values are computed.
void evaluate_here(const RecordedPtr& value) {
  evaluation_asked();
  evaluate({value});
  if (const StoragePtr made = value->result(); made && made->device) computed_on_device = true;
}

/// Returns how many assignments to parts of a node are pending, at most `limit`.
std::size_t pending_assignments(const RecordedPtr& node, std::size_t limit) {
  if (limit == 0 || node->evaluated() || node->op != Op::pad) return 0;
  const Operands operands = node->inputs();
  return operands.size() == 2 ? 1 + pending_assignments(operands[1], limit - 1) : 0;
}
}  // namespace

void settle(const RecordedPtr& node) {
  if (ForAnySize::recording() || node->evaluated() || node->symbolic || computed_on_device || element_count(node->shape) < kSmall * kShare) return;
  if (pending_assignments(node, kMinWaiting) < kMinWaiting && before_reshapes(node)->op != Op::scatter) return;
  evaluate_here(node);
}

bool write_in_place(const Site& site, Tensor& whole, const Selection& block, const RecordedPtr& value) {
  if (is_small(whole.shape(), block.sliced)) settle(whole.node());
  std::optional<Source> source(std::in_place, value, element_count(block.sliced));
  if (!*source && is_worth_evaluating_for(*whole.node(), block.sliced, *value)) {
    evaluate_here(value);
    source.emplace(value, element_count(block.sliced));
  }
  if (!*source) return false;
  std::byte* const elements = own_elements(site, whole, block.sliced);
  if (elements == nullptr) return false;
  source->write(elements, whole.shape(), block.start_step, block.sliced);
  return true;
}

bool write_rows_in_place(const Site& site, Tensor& whole, const RecordedPtr& places, const RecordedPtr& value, std::int64_t columns) {
  if (!is_small(whole.shape(), value->shape) || places->symbolic || value->symbolic) return false;
  if (value->op == Op::constant && !value->evaluated()) evaluate({places});
  else evaluate({places, value});
  const StoragePtr numbers = places->result();
  Source source(value, element_count(value->shape));
  if (!numbers || numbers->device || places->dtype != DType::int64 || !source) return false;
  const RecordedPtr& node = whole.node();
  if (node->op == Op::constant && !node->evaluated() && node.use_count() == 1)  // one repeated number gets memory, as the recorded assignment would
    if (StoragePtr storage = filled(*node)) whole = Tensor(make_data(site, node->dtype, node->shape, std::move(storage)));
  std::byte* const elements = own_elements(site, whole, value->shape);
  if (elements == nullptr) return false;
  const auto* const number = static_cast<const std::int64_t*>(numbers->host.get());
  const Shape rows{element_count(whole.shape()) / columns, columns};
  for (std::int64_t k = 0, count = element_count(places->shape); k < count; ++k) source.write(elements, rows, {number[k], 1, 0, 1}, {1, columns});
  return true;
}

bool update_in_place(const Site& site, Tensor& whole, const Selection& block, Op op, const Scalar& number) {
  const DType dtype = whole.dtype();
  if (is_bool(dtype) || is_storage_only(dtype)) return false;
  std::byte* const elements = own_elements(site, whole, block.sliced);
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
