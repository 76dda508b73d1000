#define SINTER_SORT_NETWORKS sort_networks_baseline
#include "kernels/sorting/sort_network.inl"
