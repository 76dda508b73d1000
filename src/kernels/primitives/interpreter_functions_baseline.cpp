#include <cmath>

#define SINTER_FUNCTIONS functions_baseline
#include "kernels/primitives/interpreter_functions.inl"
