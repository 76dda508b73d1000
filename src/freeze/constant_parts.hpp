// The parts of a formula that depend on no input: they are computed once, when the formula is frozen.
#pragma once
#include <unordered_map>
#include <vector>

#include "base/hash.hpp"
#include "trace/record.hpp"

namespace sinter::freezing {

class ConstantParts {
 public:
  /// `products`: the device has a library of products, which reads 16-bit floats without conversion.
  explicit ConstantParts(bool products) : products_(products) {}
  /// Takes the results of recordings of a formula. The others have different sizes of its inputs' named axes, as far as it accepts them; if it accepts none,
  /// the only other one is the same recording. Parts without a placeholder that are equal in one of the others depend on no size either. They are evaluated,
  /// unless their contents would exceed 64 KiB and four times the contents from which they are computed.
  void choose(const std::vector<trace::RecordedPtr>& results, const std::vector<std::vector<trace::RecordedPtr>>& others);
  /// In a further recording, gives each part that equals a chosen part the contents of that part.
  void fill(const std::vector<trace::RecordedPtr>& results) const;
  std::size_t count() const { return contents_.size(); }

 private:
  bool products_;
  std::unordered_map<Hash128, StoragePtr> contents_;
  std::vector<StoragePtr> read_;  // kept alive, so that no other contents get their addresses and are mistaken for them
};

}  // namespace sinter::freezing
