sinter_suite(files llvm interpreter)
sinter_suite(formats llvm interpreter)

if(TARGET sinter_command)
  sinter_python(formats_numpy formats_numpy.py $<TARGET_FILE:sinter_command>)
endif()
sinter_suite(dlpack llvm interpreter cuda_long opencl)
sinter_suite(interchange llvm interpreter cuda_long opencl loops)
target_link_libraries(test_interchange PRIVATE Eigen3::Eigen)
# Eigen's prefetches do not compile without optimisation.
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/test_interchange.cpp PROPERTIES COMPILE_OPTIONS -O1 SKIP_PRECOMPILE_HEADERS ON)
sinter_test(test_trace_text io)
