#if defined(__x86_64__)
#include <cmath>

#define SINTER_FLOAT32 float32_function_avx512
#include "device/host/interpreter_float32.inl"
#endif
