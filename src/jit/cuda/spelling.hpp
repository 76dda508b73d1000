// The CUDA C++ text of types and primitives, as far as it differs from other C-like languages.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "jit/c_like/helpers.hpp"

namespace sinter::jit::cuda {

class Helpers : public c_like::Helpers {
 public:
  /// `sm`: the architecture, 90 for sm_90.
  Helpers(bool fast_math, int sm);

  std::string_view type(DType dtype) const override;
  std::string widened(DType dtype, const std::string& vector, const std::string& lane) override;
  std::string rounded(DType dtype, const std::string& a) override;
  /// sn_make_divisor(b) returns a prepared divisor d, and sn_divide(a, d) is a / b.
  std::string divisor_type(DType dtype) override;
  /// Adds sn_cluster_arrive() and sn_cluster_wait(): no thread of the cluster passes the wait before all threads have arrived. Adds sn_of_block(&own,
  /// rank): the address of the same shared variable in another block of the cluster.
  void use_clusters() { clusters_ = true; }
  std::string text() const override;

 private:
  std::string own_text(std::string_view name, DType dtype) const override;
  bool comes_first(const std::string& name, DType dtype) const override;
  std::string vector_text(const std::string& name, std::size_t bytes, DType dtype, int width) const override;
  std::string divisor_text(DType dtype) const;

  bool fast_math_;
  int sm_;
  bool clusters_ = false;
  std::vector<DType> divisors_;
};

}  // namespace sinter::jit::cuda
