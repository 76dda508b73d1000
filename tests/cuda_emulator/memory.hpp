// The emulated device's memory: apart from the host's, closed to it except while the driver works on it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace cuda_emulator {

class Memory {
 public:
  /// `capacity`: bytes that may be allocated at a time.
  explicit Memory(std::size_t capacity);

  /// 0 when there is no more. New memory is poisoned; an inaccessible page lies before and after it.
  std::uintptr_t allocate(std::size_t bytes);
  /// False for an address that is not the start of an allocation.
  bool release(std::uintptr_t address);

  /// Whether [address, address + bytes) lies within one live allocation.
  bool contains(std::uintptr_t address, std::size_t bytes) const;

  /// Opens all memory, or the allocation at an address, to this process while it lives.
  class Open {
   public:
    explicit Open(Memory& memory);
    Open(Memory& memory, std::uintptr_t address);
    ~Open();
    Open(const Open&) = delete;

   private:
    void open(std::uintptr_t start);
    Memory& memory_;
    std::vector<std::uintptr_t> opened_;
  };

  std::size_t capacity() const { return capacity_; }

 private:
  struct Block {
    std::size_t bytes;    // as asked for
    std::uintptr_t base;  // of its pages
    std::size_t pages_bytes;
  };

  std::size_t capacity_, used_ = 0;
  std::uintptr_t next_, end_;
  std::map<std::uintptr_t, Block> live_;             // by the address handed out
  std::multimap<std::size_t, std::uintptr_t> free_;  // pages, by their size
  // Blocks that were found lately: a kernel goes back and forth between its few arrays.
  struct Range {
    std::uintptr_t begin = 1, end = 0;
  };
  mutable std::array<Range, 8> recent_;
  mutable unsigned oldest_ = 0;
};

}  // namespace cuda_emulator
