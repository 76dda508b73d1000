// cmake/instruction_sets.cmake sets this file's instruction set.
#define SINTER_SORT_NETWORKS sort_networks_avx2
#include "kernels/sorting/sort_network.inl"
