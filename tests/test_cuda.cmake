add_subdirectory(cuda_emulator)
foreach(test test_cuda test_cuda_faults)
  sinter_test(${test} trace jit device)
  target_link_libraries(${test} PRIVATE Eigen3::Eigen TBB::tbb)
  target_compile_definitions(${test} PRIVATE
    CUDA_EMULATOR="$<TARGET_FILE:cuda_emulator>" NVRTC_EMULATOR="$<TARGET_FILE:nvrtc_emulator>")
  add_dependencies(${test} cuda_emulator nvrtc_emulator)
endforeach()
