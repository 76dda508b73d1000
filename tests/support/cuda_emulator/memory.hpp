// The emulated device's memory: separate from the host's, and inaccessible to it except while the driver works on it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "book.hpp"

namespace cuda_emulator {

class Memory {
 public:
  /// `capacity`: bytes that may be allocated at a time.
  explicit Memory(std::size_t capacity);

  /// Returns 0 when there is no more. New memory is poisoned; an inaccessible page is before and after it.
  std::uintptr_t allocate(std::size_t bytes);
  /// Returns false for an address that is not the start of an allocation.
  bool release(std::uintptr_t address);

  /// Returns whether [address, address + bytes) lies within one live allocation.
  bool contains(std::uintptr_t address, std::size_t bytes) { return find(address, bytes) != nullptr; }
  /// Returns whether the address was ever allocated, live or not.
  bool is_device(std::uintptr_t address) const { return address - begin_ < end_ - begin_; }

  struct Block {
    std::uintptr_t address = 0;  // as handed out
    std::size_t bytes = 0;       // as asked for
    std::uintptr_t base = 0;     // of its pages
    std::size_t pages_bytes = 0;
    std::unique_ptr<Book> book;                               // made at the first access by a kernel
    std::vector<std::pair<std::size_t, std::size_t>> filled;  // [begin, end) that copies have filled
  };
  /// The live allocation that holds all these bytes, or null.
  Block* find(std::uintptr_t address, std::size_t bytes);
  /// ": byte 4000 of an array of 4000", where an array is near the address; else nothing.
  std::string nearest(std::uintptr_t address) const;
  /// A copy has filled these bytes.
  void fill(std::uintptr_t address, std::size_t bytes);

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
  std::size_t capacity_, used_ = 0;
  std::uintptr_t begin_, next_, end_;
  std::map<std::uintptr_t, Block> live_;             // by the address handed out
  std::multimap<std::size_t, std::uintptr_t> free_;  // pages, by their size
  // Blocks that were found lately: a kernel goes back and forth between its few arrays.
  std::array<Block*, 8> recent_{};
  unsigned oldest_ = 0;
};

}  // namespace cuda_emulator
