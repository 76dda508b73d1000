// cmake/instruction_sets.cmake sets this file's instruction set.
#define Eigen Eigen_baseline
#define SINTER_FOURIER_LANES fourier_lanes_baseline
#define SINTER_FOURIER_COUNT 2
#include "kernels/fourier/lanes.inl"
