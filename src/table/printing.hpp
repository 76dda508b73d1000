// Writes complex numbers, for which sinter has no element type, as text.
#pragma once
#include <string>

#include "sinter/complex.hpp"
#include "sinter/print.hpp"

namespace sinter::table {

/// Evaluates the tensors and writes them as NumPy prints an array of complex numbers: columns aligned, [ 1.+0.j  -2.5+1.j ].
std::string complex_text(const Complex& numbers, const PrintOptions& options);

}  // namespace sinter::table
