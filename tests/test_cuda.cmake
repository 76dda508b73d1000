add_subdirectory(cuda_emulator)
foreach(test test_cuda test_cuda_checks test_cuda_faults test_nest)
  sinter_test(${test} engine device cache jit fuse trace)
  target_compile_definitions(${test} PRIVATE
    CUDA_EMULATOR="$<TARGET_FILE:cuda_emulator>" NVRTC_EMULATOR="$<TARGET_FILE:nvrtc_emulator>")
  add_dependencies(${test} cuda_emulator nvrtc_emulator)
endforeach()
add_test(NAME test_nest_cuda COMMAND test_nest)
set_tests_properties(test_nest_cuda PROPERTIES ENVIRONMENT "SINTER_NEST_CUDA=1")
