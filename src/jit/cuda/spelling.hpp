// How types and primitives are spelled in CUDA C++, and the sn_ helper functions those spellings call.
#pragma once
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "sinter/dtype.hpp"
#include "trace/primitives.hpp"

namespace sinter::jit::cuda {

/// "float", "long long", ...: an element in memory.
std::string_view cpp_type(DType dtype);

/// The helper functions one kernel uses. Spelling an op asks for them; text() defines those asked for, and what they
/// call, in a fixed order.
class Helpers {
 public:
  /// `sm`: the architecture, 90 for sm_90.
  Helpers(bool fast_math, int sm) : fast_math_(fast_math), sm_(sm) {}

  /// An elementwise op other than cast on operands of one dtype, as an expression.
  std::string spell(trace::Op op, DType operand, const std::string& a, const std::string& b = {}, const std::string& c = {});
  std::string cast(DType from, DType to, const std::string& a);
  /// The neutral element of a reduction.
  std::string neutral(trace::Op reduction, DType dtype);
  /// Combines a value over 8, 16 or all 32 neighbouring lanes of a warp; each has the result.
  std::string warp_reduce(trace::Op reduction, DType dtype, int lanes, const std::string& a);
  /// The name of a struct of `width` elements that is read and written by accesses of up to 16 bytes.
  std::string vector_type(DType dtype, int width);
  /// An element of such a struct of a type of 16 bits, as a float.
  std::string widened(DType dtype, const std::string& vector, const std::string& lane);
  /// A float rounded to a type of 16 bits, as a float.
  std::string rounded(DType dtype, const std::string& a);
  /// True where quotients of one divisor share its reciprocal. Then sn_make_divisor(b) gives this type, and sn_divide(a, that) is a / b.
  bool shares_divisor(DType dtype) const { return !fast_math_ && (dtype == DType::float32 || dtype == DType::float64); }
  std::string divisor_type(DType dtype);
  /// sn_cluster_arrive(), sn_cluster_wait(): no thread of the cluster is past the second before all have been at the first.
  /// sn_of_block(&own, rank): where another block of the cluster has the same shared variable.
  void use_clusters() { clusters_ = true; }

  std::string text() const;

 private:
  void use(std::string_view name, DType dtype);
  void use_all_in(const std::string& expression, DType dtype);
  std::string function_text(std::string_view name, DType dtype) const;
  std::string divisor_text(DType dtype) const;

  bool fast_math_;
  int sm_;
  bool clusters_ = false;
  std::vector<std::pair<std::string, DType>> functions_;
  std::vector<std::pair<DType, int>> vectors_;
  std::vector<DType> divisors_;
  std::vector<std::tuple<trace::Op, DType, int>> reductions_;  // with the lanes
};

}  // namespace sinter::jit::cuda
