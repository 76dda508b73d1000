#include <cmath>

#define SINTER_FLOAT32 float32_function_baseline
#include "device/host/interpreter_float32.inl"
