// A thread's scratch memory, kept from launch to launch. Its contents are not kept.
#pragma once
#include <fmt/format.h>

#include <cstddef>

#include "device/poison.hpp"
#include "sinter/errors.hpp"
#include "trace/guarded_memory.hpp"

namespace sinter::device {

class Scratch {
 public:
  /// 64-byte aligned. Throws MemoryError.
  char* reserve(std::size_t bytes) {
    const std::size_t capacity = memory_.get_deleter().bytes;
    if (bytes > capacity || (bytes < capacity && trace::guarding() != trace::Guard::none)) {  // a guard is at the very end
      memory_.reset();
      memory_ = trace::aligned_memory(bytes);
      if (!memory_) throw MemoryError(fmt::format("cpu: no memory for {} bytes of a kernel's scratch", bytes));
    }
    poison(memory_.get(), bytes);
    return static_cast<char*>(memory_.get());
  }

 private:
  trace::AlignedMemory memory_;
};

}  // namespace sinter::device
