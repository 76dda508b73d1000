// What of a formula depends on no input: computed once, when it is frozen.
#pragma once
#include <unordered_map>
#include <vector>

#include "base/hash.hpp"
#include "trace/record.hpp"

namespace sinter::freezing {

class ConstantParts {
 public:
  /// `products`: a library multiplies where the formula runs, 16 bits as they are.
  explicit ConstantParts(bool products) : products_(products) {}
  /// Of a formula that was recorded twice, with other sizes of its inputs' named axes (twice the same recording where there are none): the parts
  /// without a placeholder that are equal in both depend on no size either. They are evaluated, unless their contents would be more than 64 KiB
  /// and four times what they are computed from.
  void choose(const std::vector<trace::RecordedPtr>& results, const std::vector<trace::RecordedPtr>& others);
  /// Gives the parts of a further recording that are equal to chosen ones their contents.
  void fill(const std::vector<trace::RecordedPtr>& results) const;
  std::size_t count() const { return contents_.size(); }

 private:
  bool products_;
  std::unordered_map<Hash128, StoragePtr> contents_;
  std::vector<StoragePtr> read_;  // kept, so that no other contents come to lie where they are and are taken for them
};

}  // namespace sinter::freezing
