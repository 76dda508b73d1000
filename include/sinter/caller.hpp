// For those who bring sinter to another language. Opt-in: sinter.hpp does not include it.
#pragma once
#include "sinter/location.hpp"
#include "sinter/tensor.hpp"

namespace sinter {

/// While one lives, what this thread records is recorded for this function and line, whatever C++ function records it; errors name them. Of several the
/// outermost counts. Both texts have to stay where they are for the life of the process: recording compares their addresses, not their letters.
class Caller {
 public:
  Caller(const char* function, Location where);
  ~Caller();
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

 private:
  alignas(void*) unsigned char scope_[5 * sizeof(void*)];
};

/// Called on a thread before it computes anything and afterwards, with what `before` gave: a language whose threads share a lock gives it up meanwhile. Both
/// may be called within each other. Null pointers: nothing is called.
struct Around {
  void* (*before)() = nullptr;
  void (*after)(void*) = nullptr;
};
void around_evaluations(Around calls);

/// True for a tensor whose elements are in memory already: reading them evaluates nothing.
bool is_evaluated(const Tensor& tensor);

}  // namespace sinter
