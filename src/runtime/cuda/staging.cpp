#include "runtime/cuda/staging.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/log.hpp"
#include "sinter/counted.hpp"

namespace sinter::runtime::cuda {
namespace {

/// Copies of at most this many bytes use the driver directly, which immediately copies them into its own memory.
constexpr std::size_t kSmall = std::size_t{64} << 10;

std::string copying(std::size_t bytes, const char* where) { return fmt::format("copying {} {}", counted(bytes, "byte"), where); }

}  // namespace

Staging::~Staging() {
  if (memory_ && gpu_->enter()) release();
}

void Staging::release() noexcept {
  const Driver& api = gpu_->api();
  for (Slot& slot : slots_) {
    if (slot.in_use) api.event_synchronize(slot.copied);
    if (slot.copied) api.event_destroy(slot.copied);
    slot = {};
  }
  if (memory_) api.host_free(memory_);
  memory_ = nullptr;
}

/// Locks the pinned memory. The lock is empty if there is no pinned memory or another thread uses it: the driver then copies, so that no thread waits.
std::unique_lock<std::mutex> Staging::take() {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock && (refused_ || !(memory_ || make()))) lock.unlock();
  return lock;
}

bool Staging::make() {
  const Driver& api = gpu_->api();
  Result r = api.host_allocate && api.host_free ? api.host_allocate(&memory_, kSlots * kSlotBytes, 0) : result::not_supported;
  for (Slot& slot : slots_)
    if (r == result::success) r = api.event_create(&slot.copied, kEventWithoutTime);
  if (r == result::success) return true;
  release();
  refused_ = true;
  log().debug("{}: no pinned memory of the host: {}", gpu_->name(), api.describe(r));
  return false;
}

void Staging::put_event(Slot& slot) {
  gpu_->check(gpu_->api().event_record(slot.copied, gpu_->stream()), "marking the end of a copy");
  slot.in_use = true;
}

void Staging::wait_for(Slot& slot) {
  if (!slot.in_use) return;
  gpu_->check(gpu_->api().event_synchronize(slot.copied), "waiting for its results");
  slot.in_use = false;
}

void Staging::upload(Address to, const void* from, std::size_t bytes) {
  gpu_->use();
  const Driver& api = gpu_->api();
  const auto doing = [&] { return copying(bytes, "to it"); };
  const auto lock = bytes > kSmall ? take() : std::unique_lock<std::mutex>();
  if (!lock) return gpu_->check(api.copy_to_device(to, from, bytes, gpu_->stream()), doing);
  const char* next = static_cast<const char*>(from);
  for (std::size_t done = 0, part = 0; done < bytes; ++part) {
    Slot& slot = slots_[part % kSlots];
    const std::size_t count = std::min(kSlotBytes, bytes - done);
    wait_for(slot);
    std::memcpy(memory_of(part % kSlots), next + done, count);
    gpu_->check(api.copy_to_device(to + done, memory_of(part % kSlots), count, gpu_->stream()), doing);
    put_event(slot);
    done += count;
  }
}

void Staging::download(void* to, Address from, std::size_t bytes) {
  gpu_->use();
  const Driver& api = gpu_->api();
  const auto doing = [&] { return copying(bytes, "from it"); };
  const auto lock = bytes > kSmall ? take() : std::unique_lock<std::mutex>();
  if (!lock) {
    gpu_->check(api.copy_to_host(to, from, bytes, gpu_->stream()), doing);
    return gpu_->synchronize("waiting for its results");
  }
  const std::size_t parts = (bytes + kSlotBytes - 1) / kSlotBytes;
  const auto count = [&](std::size_t part) { return std::min(kSlotBytes, bytes - part * kSlotBytes); };
  const auto ask = [&](std::size_t part) {
    Slot& slot = slots_[part % kSlots];
    wait_for(slot);  // an earlier upload may use the slot
    gpu_->check(api.copy_to_host(memory_of(part % kSlots), from + part * kSlotBytes, count(part), gpu_->stream()), doing);
    put_event(slot);
  };
  for (std::size_t part = 0; part < std::min(parts, kSlots); ++part) ask(part);
  for (std::size_t part = 0; part < parts; ++part) {
    wait_for(slots_[part % kSlots]);
    std::memcpy(static_cast<char*>(to) + part * kSlotBytes, memory_of(part % kSlots), count(part));
    if (part + kSlots < parts) ask(part + kSlots);
  }
  gpu_->synchronize("waiting for its results");
}

}  // namespace sinter::runtime::cuda
