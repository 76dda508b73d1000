add_subdirectory(cuda_emulator)
foreach(test test_cuda test_cuda_checks test_cuda_faults test_nest)
  sinter_test(${test} engine device cache jit fuse trace)
  target_compile_definitions(${test} PRIVATE
    CUDA_EMULATOR="$<TARGET_FILE:cuda_emulator>" NVRTC_EMULATOR="$<TARGET_FILE:nvrtc_emulator>")
  add_dependencies(${test} cuda_emulator nvrtc_emulator)
endforeach()
add_test(NAME test_nest_cuda COMMAND test_nest)
set_tests_properties(test_nest_cuda PROPERTIES ENVIRONMENT "SINTER_NEST_CUDA=1")
# A driver that has no pinned memory to give.
add_test(NAME test_cuda_faults_not_pinned COMMAND test_cuda_faults --test-case=what*the*host*gives*)
set_tests_properties(test_cuda_faults_not_pinned PROPERTIES ENVIRONMENT "SINTER_EMULATOR_PINNED=0")
