// The references of bench/accuracy.cpp for float32, eight at a time: formulas over the vector functions of the C library (libmvec), whose errors
// of a few units of double's last place are far below what can be seen in float32. They only pick the inputs that are looked at closely.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace bench {

/// Whether this processor and this function have one.
bool has_vector_reference(std::string_view function);

/// The places of x whose `got` is further than `ulps` units of the last place from the function's value, or cannot be told.
void suspects(std::string_view function, const float* x, const float* got, std::size_t count, double ulps, std::vector<std::uint32_t>& places);

}  // namespace bench
