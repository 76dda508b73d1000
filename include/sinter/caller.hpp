// Support for binding sinter to another language. Opt-in: sinter.hpp does not include this header.
#pragma once
#include "sinter/location.hpp"
#include "sinter/tensor.hpp"

namespace sinter {

/// While a Caller exists, each operation that this thread records has this function and line, and errors name them. If several exist, the one that was made
/// first counts. Both texts must stay at their addresses for the life of the process, because recording compares addresses, not characters.
class Caller {
 public:
  Caller(const char* function, Location where);
  ~Caller();
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

 private:
  alignas(void*) unsigned char scope_[5 * sizeof(void*)];
};

/// Functions that a thread calls before and after it computes; `after` receives the result of `before`. A language whose threads share a lock, such as Python,
/// can release the lock in between. Calls may nest. Null pointers mean that nothing is called.
struct Around {
  void* (*before)() = nullptr;
  void (*after)(void*) = nullptr;
};
void around_evaluations(Around calls);  ///< called on the thread that evaluates, before and after each evaluation

/// Withdraws earlier calls of interrupt(), so that they do not stop evaluations that begin later. Call it if a signal arrived just as an evaluation ended.
void withdraw_interrupt() noexcept;

/// Returns true for a tensor whose elements are already in memory: reading them evaluates nothing.
bool is_evaluated(const Tensor& tensor);

}  // namespace sinter
