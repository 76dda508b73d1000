// Returns the bytes of a tensor's elements, to compare results bit by bit.
#pragma once
#include <cstddef>
#include <cstring>
#include <vector>

#include "sinter/tensor.hpp"

namespace sinter::testing {

inline std::vector<std::byte> bytes_of(const Tensor& tensor) {
  return visit_storage(tensor.dtype(), [&]<class T>() {
    const std::vector<T> values = tensor.to_vector<T>();
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    for (std::size_t k = 0; k < values.size(); ++k) {
      const T value = values[k];
      std::memcpy(bytes.data() + k * sizeof(T), &value, sizeof(T));
    }
    return bytes;
  });
}

}  // namespace sinter::testing
