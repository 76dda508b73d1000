sinter_program(test_formats)
target_link_libraries(test_formats PRIVATE fmt::fmt)
sinter_run(formats_llvm test_formats SINTER_BACKEND=llvm)
sinter_run(formats_interpreter test_formats SINTER_BACKEND=interpreter)

if(TARGET sinter_command)
  sinter_python(formats_numpy formats_numpy.py $<TARGET_FILE:sinter_command>)
endif()
# DLPack with NumPy: a library of C functions that Python calls.
add_library(dlpack_bridge SHARED dlpack_bridge.cpp)
target_link_libraries(dlpack_bridge PRIVATE sinter::sinter sinter_warnings)
sinter_python(dlpack_numpy dlpack_numpy.py $<TARGET_FILE:dlpack_bridge>)

sinter_program(test_dlpack)
sinter_run(dlpack_llvm test_dlpack SINTER_BACKEND=llvm)
sinter_run(dlpack_interpreter test_dlpack SINTER_BACKEND=interpreter)
sinter_run_cuda(dlpack test_dlpack)
