// For those who bring sinter to another language. Opt-in: sinter.hpp does not include it.
#pragma once
#include "sinter/location.hpp"
#include "sinter/tensor.hpp"

namespace sinter {

/// While a Caller lives, each operation that this thread records carries this function and line, and errors name them. Where several live, the outermost
/// counts. Both texts must stay at their addresses for the life of the process, because recording compares addresses and not letters.
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

/// Evaluations that begin from now on are not stopped by calls of interrupt() until now: for a signal that came as an evaluation ended.
void withdraw_interrupt() noexcept;

/// True for a tensor whose elements are in memory already: reading them evaluates nothing.
bool is_evaluated(const Tensor& tensor);

}  // namespace sinter
