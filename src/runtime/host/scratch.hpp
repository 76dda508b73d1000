// Scratch memory of one thread. The memory is reused from launch to launch; its contents are not preserved.
#pragma once
#include <fmt/format.h>

#include <cstddef>

#include "base/guarded_memory.hpp"
#include "runtime/poison.hpp"
#include "sinter/counted.hpp"
#include "sinter/errors.hpp"

namespace sinter::runtime {

class Scratch {
 public:
  /// Returns memory that is 64-byte aligned. Throws MemoryError.
  char* reserve(std::size_t bytes) {
    const std::size_t capacity = memory_.get_deleter().bytes;
    if (bytes > capacity || (bytes < capacity && guarding() != Guard::none)) {  // the guard must follow the last byte
      memory_.reset();
      memory_ = aligned_memory(bytes);
      if (!memory_) throw MemoryError(fmt::format("cpu: no memory for the {} of a kernel's scratch", counted(bytes, "byte")));
    }
    poison(memory_.get(), bytes);
    return static_cast<char*>(memory_.get());
  }

 private:
  AlignedMemory memory_;
};

}  // namespace sinter::runtime
