#define SINTER_SORT_NETWORKS sort_networks_baseline
#include "device/host/sort_network.inl"
