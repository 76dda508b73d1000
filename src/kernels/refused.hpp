// How a library call says that it has no result.
#pragma once
#include <cstdint>

namespace sinter::kernels {

/// What a library call throws for operands that it has no result for: which matrix of the batch is the first, and what it is.
struct Refused {
  std::int64_t element = 0;
  const char* why = "";
};

}  // namespace sinter::kernels
