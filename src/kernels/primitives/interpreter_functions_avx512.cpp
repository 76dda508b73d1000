#if defined(__x86_64__)
#include <cmath>

#define SINTER_FUNCTIONS functions_avx512
#include "kernels/primitives/interpreter_functions.inl"
#endif
