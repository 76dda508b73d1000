// Shapes that this thread's nodes had lately: a formula that is recorded again has the same ones, and takes them instead of making them anew.
#pragma once
#include <span>

#include "trace/record.hpp"

namespace sinter::trace {

/// A shape of these sizes: one that was asked for before, mostly.
ShapePtr shared_shape(std::span<const std::int64_t> sizes);

/// A few sizes that are worked out before anybody knows whether the shape is there: no memory of their own, mostly.
class FewSizes {
 public:
  explicit FewSizes(std::size_t rank) : size_(rank) {
    if (rank > few_.size()) many_.resize(rank);
  }
  std::int64_t& operator[](std::size_t k) { return data()[k]; }
  std::span<std::int64_t> span() { return {data(), size_}; }
  operator std::span<const std::int64_t>() { return span(); }

 private:
  std::int64_t* data() { return many_.empty() ? few_.data() : many_.data(); }
  std::size_t size_;
  std::array<std::int64_t, 8> few_;
  std::vector<std::int64_t> many_;
};

}  // namespace sinter::trace
