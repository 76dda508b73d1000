sinter_test(test_header io)
set_target_properties(test_header PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)  # it checks the includes of one header
target_link_libraries(test_header PRIVATE Eigen3::Eigen)
sinter_suite(loops llvm interpreter cuda_long "opencl=heat*")
sinter_suite(repeat llvm interpreter cuda_long "opencl=a*repeated*formula*")
sinter_test(test_size io)
sinter_test(test_trace io)
sinter_test(test_trace_rules io)
