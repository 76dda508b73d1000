if(TARGET sinter_command)
  sinter_test(test_cli)
  target_link_libraries(test_cli PRIVATE sinter::sinter fmt::fmt nlohmann_json::nlohmann_json)
  target_compile_definitions(test_cli PRIVATE SINTER_COMMAND="$<TARGET_FILE:sinter_command>")
  add_dependencies(test_cli sinter_command)
endif()

# Programs against NumPy. Each run draws another seed and tells it; SINTER_TEST_SEED repeats it.
if(TARGET sinter_command)
  # sinter_numpy(TEST VARIABLE=VALUE...)
  function(sinter_numpy test)
    sinter_python(${test} numpy_programs.py $<TARGET_FILE:sinter_command>)
    set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT SINTER_POISON=on ${ARGN})
  endfunction()
  sinter_numpy(numpy_llvm SINTER_BACKEND=llvm)
  sinter_numpy(numpy_interpreter SINTER_BACKEND=interpreter)
  sinter_numpy(numpy_unfused SINTER_FUSE=off)
  sinter_numpy(numpy_cuda_emulated SINTER_DEVICE=cuda
    SINTER_CUDA_DRIVER=${CMAKE_CURRENT_BINARY_DIR}/cuda_emulator/libcuda_emulator.so
    SINTER_NVRTC=${CMAKE_CURRENT_BINARY_DIR}/cuda_emulator/libnvrtc_emulator.so
    SINTER_EMULATOR_CACHE=${CMAKE_CURRENT_BINARY_DIR}/cache/emulator)
endif()
