#include "memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace cuda_emulator {
namespace {

constexpr std::size_t kPage = 4096, kAlignment = 256;
constexpr std::size_t kReserved = std::size_t{64} << 30;  // address space, not memory
constexpr int kPoison = 0xff;                             // NaN as a float, -1 as an integer

std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

}  // namespace

Memory::Memory(std::size_t capacity) : capacity_(capacity) {
  void* p = mmap(nullptr, kReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  begin_ = next_ = reinterpret_cast<std::uintptr_t>(p);
  end_ = next_ + kReserved;
}

std::uintptr_t Memory::allocate(std::size_t bytes) {
  if (bytes == 0 || bytes > capacity_ - used_) return 0;
  const std::size_t pages = round_up(bytes, kPage);
  std::uintptr_t base = 0;
  if (const auto it = free_.find(pages); it != free_.end()) {
    base = it->second;
    free_.erase(it);
  } else {
    if (pages + 2 * kPage > end_ - next_) return 0;
    base = next_ + kPage;
    next_ = base + pages;
  }
  // An allocation ends where its pages end, so that a step beyond it meets the inaccessible page.
  const std::uintptr_t address = base + pages - round_up(bytes, kAlignment);
  Block& block = live_[address];
  block.address = address;
  block.bytes = bytes;
  block.base = base;
  block.pages_bytes = pages;
  used_ += bytes;
  const Open open(*this, address);
  std::memset(reinterpret_cast<void*>(address), kPoison, bytes);
  return address;
}

bool Memory::release(std::uintptr_t address) {
  const auto it = live_.find(address);
  if (it == live_.end()) return false;
  madvise(reinterpret_cast<void*>(it->second.base), it->second.pages_bytes, MADV_DONTNEED);
  free_.insert({it->second.pages_bytes, it->second.base});
  used_ -= it->second.bytes;
  live_.erase(it);
  recent_.fill({});
  return true;
}

Memory::Block* Memory::find(std::uintptr_t address, std::size_t bytes) {
  const auto holds = [&](const Block& b) { return address >= b.address && address - b.address <= b.bytes && bytes <= b.bytes - (address - b.address); };
  for (Block* block : recent_)
    if (block && holds(*block)) return block;
  auto it = live_.upper_bound(address);
  if (it == live_.begin() || !holds((--it)->second)) return nullptr;
  return recent_[oldest_++ % recent_.size()] = &it->second;
}

std::string Memory::nearest(std::uintptr_t address) const {
  constexpr std::ptrdiff_t kNear = 1 << 20;
  std::ptrdiff_t best = kNear;
  std::string text;
  for (const auto& [start, block] : live_) {
    const auto offset = static_cast<std::ptrdiff_t>(address - start), past = offset - static_cast<std::ptrdiff_t>(block.bytes);
    const std::ptrdiff_t away = offset < 0 ? -offset : past;
    if (away < 0 || away >= best) continue;
    best = away;
    text = ": byte " + std::to_string(offset) + " of an array of " + std::to_string(block.bytes);
  }
  return text;
}

void Memory::fill(std::uintptr_t address, std::size_t bytes) {
  Block* const block = find(address, bytes);
  if (!block || bytes == 0) return;
  std::pair<std::size_t, std::size_t> whole{address - block->address, address - block->address + bytes};
  std::erase_if(block->filled, [&](const auto& part) {
    if (part.second < whole.first || part.first > whole.second) return false;
    whole = {std::min(whole.first, part.first), std::max(whole.second, part.second)};
    return true;
  });
  block->filled.push_back(whole);
}

Memory::Open::Open(Memory& memory) : memory_(memory) {
  for (const auto& [address, block] : memory_.live_) open(address);
}
Memory::Open::Open(Memory& memory, std::uintptr_t address) : memory_(memory) {
  auto it = memory_.live_.upper_bound(address);
  if (it != memory_.live_.begin()) open((--it)->first);
}
Memory::Open::~Open() {
  for (std::uintptr_t address : opened_) {
    const Block& block = memory_.live_.at(address);
    mprotect(reinterpret_cast<void*>(block.base), block.pages_bytes, PROT_NONE);
  }
}
void Memory::Open::open(std::uintptr_t address) {
  const Block& block = memory_.live_.at(address);
  mprotect(reinterpret_cast<void*>(block.base), block.pages_bytes, PROT_READ | PROT_WRITE);
  opened_.push_back(address);
}

}  // namespace cuda_emulator
