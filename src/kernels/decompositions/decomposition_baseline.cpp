#define SINTER_DECOMPOSE decompose_baseline
#include "kernels/decompositions/decomposition.inl"
