# The script of a GPU day, from end to end on the emulated device.
if(TARGET sinter_expression AND TARGET sinter_command)
  add_executable(bench_gpu ${PROJECT_SOURCE_DIR}/bench/gpu.cpp)
  target_link_libraries(bench_gpu PRIVATE sinter_expression sinter::sinter fmt::fmt nlohmann_json::nlohmann_json ${CMAKE_DL_LIBS} sinter_warnings)
  add_test(NAME gpu_day_rehearsed COMMAND ${PROJECT_SOURCE_DIR}/bench/gpu_day.sh rehearse ${PROJECT_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR}/gpu_day)
  set_tests_properties(gpu_day_rehearsed PROPERTIES TIMEOUT 900
    ENVIRONMENT "SINTER_EMULATOR_CACHE=${CMAKE_CURRENT_BINARY_DIR}/cache/emulator")
endif()
