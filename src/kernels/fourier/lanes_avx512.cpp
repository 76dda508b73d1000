// cmake/instruction_sets.cmake sets this file's instruction set.
#define Eigen Eigen_avx512
#define SINTER_FOURIER_LANES fourier_lanes_avx512
#define SINTER_FOURIER_COUNT 8
#include "kernels/fourier/lanes.inl"
