// The emulated device's memory: separate from the host's, and inaccessible to it except while the driver works on it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "shadow_memory.hpp"

namespace cuda_emulator {

class Memory {
 public:
  /// `capacity`: the maximum number of bytes that may be allocated at a time.
  explicit Memory(std::size_t capacity);

  /// Returns 0 if no memory is left. New memory is poisoned and lies between two inaccessible pages.
  std::uintptr_t allocate(std::size_t bytes);
  /// Returns false for an address that is not the start of an allocation.
  bool release(std::uintptr_t address);

  /// Returns whether [address, address + bytes) lies within one live allocation.
  bool contains(std::uintptr_t address, std::size_t bytes) { return find(address, bytes) != nullptr; }
  /// Returns whether the address was ever allocated, live or not.
  bool is_device(std::uintptr_t address) const { return address - begin_ < end_ - begin_; }

  struct Block {
    std::uintptr_t address = 0;  // the address that was returned
    std::size_t bytes = 0;       // the size that was requested
    std::uintptr_t base = 0;     // first address of its pages
    std::size_t pages_bytes = 0;
    std::unique_ptr<ShadowMemory> shadow;                     // shadow memory, made at a kernel's first access
    std::vector<std::pair<std::size_t, std::size_t>> filled;  // ranges [begin, end) that copies have written
  };
  /// Returns the live allocation that contains all these bytes, or null.
  Block* find(std::uintptr_t address, std::size_t bytes);
  /// Returns ": byte 4000 of an array of 4000" if an array is near the address, else nothing.
  std::string nearest(std::uintptr_t address) const;
  /// Records that a copy has written these bytes.
  void fill(std::uintptr_t address, std::size_t bytes);

  /// While this object exists, all memory, or the allocation at an address, is accessible to this process.
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
  std::size_t capacity_, used_ = 0;
  std::uintptr_t begin_, next_, end_;
  std::map<std::uintptr_t, Block> live_;             // by returned address
  std::multimap<std::size_t, std::uintptr_t> free_;  // unused pages by size
  // Recently found blocks: a kernel alternates between its few arrays.
  std::array<Block*, 8> recent_{};
  unsigned oldest_ = 0;
};

}  // namespace cuda_emulator
