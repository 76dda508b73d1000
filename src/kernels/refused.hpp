// The exception of a library call that has no result.
#pragma once
#include <cstdint>

namespace sinter::kernels {

/// Thrown by a library call whose operands have no result. Contains the number of the first such matrix of the batch, and the reason.
struct Refused {
  std::int64_t element = 0;
  const char* why = "";
};

}  // namespace sinter::kernels
