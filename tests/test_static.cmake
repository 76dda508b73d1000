add_executable(test_static test_static.cpp)
target_link_libraries(test_static PRIVATE doctest::doctest
  sinter_room_engine sinter_room_device sinter_room_cache sinter_room_jit sinter_room_fuse sinter_room_trace)
# Half of the corpus each, on two cores.
sinter_run(static_even test_static SINTER_STATIC_PART=0/2)
sinter_run(static_odd test_static SINTER_STATIC_PART=1/2)
# What is promised of the machine code, where the toolkit's disassembler is there.
if(TARGET sinter_command)
  add_test(NAME static_code COMMAND sh -c "command -v python3 >/dev/null || exit 77; exec python3 \"$0\" \"$1\" --target sm_80 sm_90 sm_100 --check"
    ${PROJECT_SOURCE_DIR}/bench/sass.py $<TARGET_FILE:sinter_command>)
  set_tests_properties(static_code PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900 ENVIRONMENT "SINTER_CACHE_DIR=${CMAKE_CURRENT_BINARY_DIR}/cache/static_code")
endif()
