// The CUDA C++ of types and primitives, and the sn_ helper functions that it calls.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sinter/dtype.hpp"
#include "trace/primitives.hpp"

namespace sinter::jit::cuda {

/// Returns the type of an element in memory: "float", "long long", ...
std::string_view cpp_type(DType dtype);

/// The helper functions that one kernel uses. Spelling an op adds its helpers; text() defines them, and the functions that they call, in a fixed order.
class Helpers {
 public:
  /// `sm`: the architecture, 90 for sm_90.
  Helpers(bool fast_math, int sm) : fast_math_(fast_math), sm_(sm) {}

  /// Returns the expression of an elementwise op other than cast, on operands of one dtype.
  std::string spell(trace::Op op, DType operand, const std::string& a, const std::string& b = {}, const std::string& c = {});
  std::string cast(DType from, DType to, const std::string& a);
  /// Returns the neutral element of a reduction.
  std::string neutral(trace::Op reduction, DType dtype);
  /// Returns the name of a struct of `width` elements that is read and written by accesses of up to 16 bytes.
  std::string vector_type(DType dtype, int width);
  /// Returns an element of such a struct, whose type has 16 bits, as a float.
  std::string widened(DType dtype, const std::string& vector, const std::string& lane);
  /// Rounds a float to a type of 16 bits and returns it as a float.
  std::string rounded(DType dtype, const std::string& a);
  /// Returns the type of a prepared divisor: sn_make_divisor(b) returns it, and sn_divide(a, that) is a / b.
  std::string divisor_type(DType dtype);
  /// Adds sn_cluster_arrive() and sn_cluster_wait(): no thread of the cluster passes the wait before all threads have arrived. Adds sn_of_block(&own,
  /// rank): the address of the same shared variable in another block of the cluster.
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
};

}  // namespace sinter::jit::cuda
