add_executable(test_clusters test_clusters.cpp)
target_link_libraries(test_clusters PRIVATE doctest::doctest
  sinter_room_engine sinter_room_device sinter_room_cache sinter_room_jit sinter_room_fuse sinter_room_trace)
sinter_run_cuda(clusters test_clusters)
sinter_run_emulated(clusters_b200_cuda_emulated test_clusters SINTER_EMULATOR_GPU=B200)
# Devices that have no clusters, or no room for large ones: the same results in another way.
sinter_run_emulated(clusters_none_cuda_emulated test_clusters SINTER_EMULATOR_CLUSTERS=0)
sinter_run_emulated(clusters_narrow_cuda_emulated test_clusters SINTER_EMULATOR_GPC=3)
