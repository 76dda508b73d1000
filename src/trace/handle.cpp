// Tensor as a counted reference; the public header does not know how it counts.
#include <utility>

#include "trace/record.hpp"

namespace sinter {
namespace {

using trace::RecordedPtr;

RecordedPtr& pointer(void* held) { return *std::launder(static_cast<RecordedPtr*>(held)); }
const RecordedPtr& pointer(const void* held) { return *std::launder(static_cast<const RecordedPtr*>(held)); }

}  // namespace

static_assert(sizeof(RecordedPtr) == 2 * sizeof(void*) && alignof(RecordedPtr) == alignof(void*));

Tensor::Tensor() noexcept { new (held_) RecordedPtr; }
Tensor::Tensor(trace::Handle handle) noexcept { new (held_) RecordedPtr(std::move(handle.node)); }
Tensor::Tensor(const Tensor& other) noexcept { new (held_) RecordedPtr(pointer(other.held_)); }
Tensor::Tensor(Tensor&& other) noexcept { new (held_) RecordedPtr(std::move(pointer(other.held_))); }
Tensor& Tensor::operator=(const Tensor& other) & noexcept {
  pointer(held_) = pointer(other.held_);
  return *this;
}
Tensor& Tensor::operator=(Tensor&& other) & noexcept {
  pointer(held_) = std::move(pointer(other.held_));
  return *this;
}
Tensor::~Tensor() { pointer(held_).~RecordedPtr(); }
bool Tensor::empty_handle() const { return pointer(held_) == nullptr; }

}  // namespace sinter
