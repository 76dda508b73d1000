// cmake/instruction_sets.cmake sets this file's instruction set.
#define Eigen Eigen_avx2
#define SINTER_FOURIER_LANES fourier_lanes_avx2
#define SINTER_FOURIER_COUNT 4
#include "kernels/fourier/lanes.inl"
