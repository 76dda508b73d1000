add_executable(test_targets test_targets.cpp)
target_link_libraries(test_targets PRIVATE doctest::doctest
  sinter_room_engine sinter_room_device sinter_room_cache sinter_room_jit sinter_room_fuse sinter_room_trace)
foreach(suite nvrtc nvcc)  # two tests, for two cores
  add_test(NAME targets_${suite} COMMAND test_targets --test-suite=${suite})
endforeach()
