// Helpers for functions that are composed of other functions.
#pragma once
#include "ops/recording.hpp"
#include "sinter/ops.hpp"

namespace sinter::ops {

/// An argument in the type of a composition: integers as float64, the 16-bit floating types as float32, so that the composition rounds once, at its end.
struct Composed {
  Tensor values;  // the argument in the type of the computation
  DType type;     // type of the result

  Tensor operator()(Tensor result) const { return result.node()->dtype == type ? std::move(result) : result.astype(type); }
};
/// Integers and bool are computed in float64.
inline Composed floating(const Site& site, const Arg& x) {
  const RecordedPtr node = as_node(site, x);
  const DType type = is_floating(node->dtype) ? node->dtype : DType::float64;
  return {Tensor(make_cast(site, node, traits(type).compute)), type};
}
/// Converts like NumPy's functions of real numbers: an integer type becomes its type in the column `real` of sinter/dtypes.def.
inline Composed real(const Site& site, const Arg& x) {
  const RecordedPtr node = as_node(site, x);
  const DType type = traits(node->dtype).real;
  return {Tensor(make_cast(site, node, traits(type).compute)), type};
}

/// Replaces NaN by another number; integers have no NaN.
inline Tensor without_nan(const Tensor& x, double number) { return is_floating(x.dtype()) ? where(isnan(x), number, x) : x; }

}  // namespace sinter::ops
