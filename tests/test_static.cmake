add_executable(test_static test_static.cpp)
target_link_libraries(test_static PRIVATE doctest::doctest
  sinter_room_engine sinter_room_device sinter_room_cache sinter_room_jit sinter_room_fuse sinter_room_trace)
# Half of the corpus each, on two cores.
sinter_run(static_even test_static SINTER_STATIC_PART=0/2)
sinter_run(static_odd test_static SINTER_STATIC_PART=1/2)
# The promises about machine code.
if(TARGET sinter_command)
  sinter_python(static_code ../bench/sass.py $<TARGET_FILE:sinter_command> --target sm_80 sm_90 sm_100 --check)
  set_tests_properties(static_code PROPERTIES TIMEOUT 900)
endif()
