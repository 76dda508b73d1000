// The only functions that generated machine code may call. Each takes arrays of n values, f(x, n) or f(x, y, n), and writes its results to x.
#pragma once
#include <string_view>

namespace sinter::jit::llvm {

/// Returns the address of a function that machine code may call, or null for any other name.
const void* library_function(std::string_view symbol);

}  // namespace sinter::jit::llvm
