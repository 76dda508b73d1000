#define SINTER_DECOMPOSE decompose_baseline
#include "decompositions/real.inl"
