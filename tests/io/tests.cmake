sinter_suite(files llvm interpreter)
sinter_suite(formats llvm interpreter)

if(TARGET sinter_command)
  sinter_python(formats_numpy formats_numpy.py $<TARGET_FILE:sinter_command>)
endif()
# DLPack with NumPy: a library of C functions that Python calls.
add_library(dlpack_bridge SHARED ${CMAKE_CURRENT_LIST_DIR}/dlpack_bridge.cpp)
target_link_libraries(dlpack_bridge PRIVATE sinter::sinter sinter_warnings)
sinter_python(dlpack_numpy dlpack_numpy.py $<TARGET_FILE:dlpack_bridge>)
# Python has no sanitizer of its own: the runtime comes before it.
if(SINTER_SANITIZE)
  string(REGEX MATCH "address|thread" runtime ${SINTER_SANITIZE})
  string(REPLACE "address" "asan" runtime ${runtime})
  string(REPLACE "thread" "tsan" runtime ${runtime})
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=lib${runtime}.so OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE)
  set_property(TEST dlpack_numpy APPEND PROPERTY ENVIRONMENT LD_PRELOAD=${runtime})
endif()

sinter_suite(dlpack llvm interpreter cuda)
sinter_suite(interchange llvm interpreter cuda)
target_link_libraries(test_interchange PRIVATE Eigen3::Eigen)
sinter_test(test_trace_text io)
