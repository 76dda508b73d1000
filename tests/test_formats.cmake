sinter_program(test_formats)
target_link_libraries(test_formats PRIVATE fmt::fmt)
sinter_run(formats_llvm test_formats SINTER_BACKEND=llvm)
sinter_run(formats_interpreter test_formats SINTER_BACKEND=interpreter)

# sinter_python(TEST SCRIPT ARGUMENT): a script by $PYTHON (python3), where there is one.
function(sinter_python test script argument)
  add_test(NAME ${test} COMMAND sh -c
    "python=\${PYTHON:-python3}; command -v \"$python\" >/dev/null || { echo SKIPPED: needs Python; exit 77; }; exec \"$python\" \"$0\" \"$1\""
    ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${argument})
  set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77 ENVIRONMENT "SINTER_CACHE_DIR=${CMAKE_CURRENT_BINARY_DIR}/cache/${test}")
endfunction()
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
