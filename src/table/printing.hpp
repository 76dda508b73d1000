// Text of complex numbers, for which sinter has no element type.
#pragma once
#include <string>

#include "sinter/complex.hpp"
#include "sinter/print.hpp"

namespace sinter::table {

/// As NumPy prints an array of complex numbers: columns aligned, [ 1.+0.j  -2.5+1.j ]. Evaluates.
std::string complex_text(const Complex& numbers, const PrintOptions& options);

}  // namespace sinter::table
