// Control over what is fused.
#pragma once
#include "sinter/engine.hpp"
#include "sinter/errors.hpp"

namespace sinter {

/// Thrown for a formula that needs more than one kernel. The message gives the reason of each fusion boundary.
struct FusionError : Error {
  using Error::Error;
};

/// Materialises the value: the kernel that computes it writes it to memory. All uses read it from there, in other kernels, and do not compute it again.
Tensor materialize(const Arg& x);

/// Computes the tensors now by one kernel. Throws FusionError, before anything runs, if the plan has several steps. A library call counts as one step, together
/// with its epilogue. With SINTER_FUSE=off nothing is checked.
void eval_fused(const std::vector<Tensor>& tensors, Location where = Location::current());
/// Calls `formula`, which returns a tensor or a vector of tensors, and computes the result by eval_fused(): `Tensor y = sn::fused([&] { return
/// sn::softmax(x * s, -1); });`. Operands that are recorded but not evaluated yet become part of the kernel.
template <class Formula> auto fused(Formula&& formula, Location where = Location::current()) {
  auto result = formula();
  if constexpr (std::is_convertible_v<decltype(result), Tensor>) eval_fused({result}, where);
  else eval_fused(result, where);
  return result;
}

}  // namespace sinter
