// The only functions generated machine code may call. Each takes arrays of n values: f(x, n) or f(x, y, n), and leaves the
// results in x.
#pragma once
#include <string_view>

namespace sinter::jit::llvm {

/// The address of a function that machine code may call; null for any other name.
const void* library_function(std::string_view symbol);

}  // namespace sinter::jit::llvm
