// Executes kernels of the loop language (jit/loop/language.hpp) and checks every access. The threads of a cluster run in step: each statement runs for all of
// its threads before the next one. A fault is reported with the kernel, the thread and the name in the text:
//
//   an access outside of its array, and a vector that is not aligned; a read of an element that nothing has written; a race of two threads, in shared or in
//   global memory; a barrier or a shuffle that some threads do not reach
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "jit/loop/language.hpp"

namespace sinter::test {

/// A fault that the executor has found.
class LoopFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct LoopLaunch {
  std::int64_t blocks = 0;
  std::vector<std::byte*> pointers;           // in the order of the kernel's parameters; one may point before its buffer
  std::vector<std::uint64_t> numbers;         // the other parameters, in order, each in its own type
  std::vector<std::span<std::byte>> buffers;  // all allocated buffers by address; each pointer points into one of them
};

/// Runs the kernel. Throws LoopFault.
void execute(const jit::loop::Kernel& kernel, const LoopLaunch& launch);

}  // namespace sinter::test
