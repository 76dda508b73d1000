// The references of bench/accuracy.cpp for float32, eight at a time: formulas over the vector functions of the C library (libmvec), whose errors of a few
// units of double's last place are far below float32's resolution. They only select the inputs that are compared with the exact reference.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace bench {

/// Returns whether this processor and this function have a vector reference.
bool has_vector_reference(std::string_view function);

/// Returns the positions in x whose `got` is further than `ulps` units of the last place from the function's value, or cannot be decided.
void suspects(std::string_view function, const float* x, const float* got, std::size_t count, double ulps, std::vector<std::uint32_t>& places);

}  // namespace bench
