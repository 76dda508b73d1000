// What an index expression selects, down to a strided block of the tensor.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sinter/tensor.hpp"
#include "trace/site.hpp"

namespace sinter::trace {

struct Selection {
  std::vector<std::int64_t> start_step;  // as of a slice: [2k] start, [2k+1] step of axis k
  Shape sliced, result;                  // the block's shape: with every axis; with axes dropped and inserted
  const Index* looked_up = nullptr;      // the position that is a tensor, whose axis of `result` is not looked up yet
  std::size_t looked_up_axis = 0;
};
Selection selected(const Site& site, const Shape& shape, std::span<const Index* const> index);

}  // namespace sinter::trace
