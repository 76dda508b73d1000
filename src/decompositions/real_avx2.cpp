// CMakeLists.txt sets this file's instruction set.
#define Eigen Eigen_avx2
#define SINTER_DECOMPOSE decompose_avx2
#include "decompositions/real.inl"
