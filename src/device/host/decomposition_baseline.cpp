#define SINTER_DECOMPOSE decompose_baseline
#include "device/host/decomposition.inl"
