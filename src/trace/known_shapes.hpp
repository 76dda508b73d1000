// A cache of the recent shapes of this thread's nodes. A formula that is recorded again has the same shapes and reuses them.
#pragma once
#include <span>

#include "trace/record.hpp"

namespace sinter::trace {

/// Returns a shape with these sizes, usually one from the cache.
ShapePtr shared_shape(std::span<const std::int64_t> sizes);

/// A short list of sizes that are computed before the cache is searched; it usually needs no memory from the heap.
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
