#include <cmath>

#define SINTER_FUNCTIONS functions_baseline
#include "device/host/interpreter_functions.inl"
