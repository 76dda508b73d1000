# The tests' Python packages and CUDA compilers: scripts/setup.sh --tests installs those that tests/requirements.txt names.
set(SINTER_TEST_VENV ${PROJECT_SOURCE_DIR}/build/venv CACHE PATH "the virtual environment of scripts/setup.sh --tests")
set(SINTER_TEST_PYTHON ${SINTER_TEST_VENV}/bin/python CACHE FILEPATH "a Python that has the packages of tests/requirements.txt")
set(SINTER_TEST_CUDA ${SINTER_TEST_VENV}/cuda CACHE PATH "a CUDA toolkit: NVRTC, nvcc and nvdisasm; needs no GPU")

# sinter_finish_tests(): gives all tests of a folder their common settings; called at the end of the folder. An internal fault that a
# program survives with a warning ends a test's process (src/base/own_fault.hpp); a test that plants one changes this in its own process
# alone. An unmapped page follows each buffer (src/base/guarded_memory.hpp) unless the test asks for another guard.
function(sinter_finish_tests)
  get_property(tests DIRECTORY PROPERTY TESTS)
  set_property(TEST ${tests} APPEND PROPERTY ENVIRONMENT
    SINTER_FAULTS=fatal CUDA_HOME=${SINTER_TEST_CUDA} SINTER_ONNX_NODE_TESTS=${SINTER_TEST_VENV}/onnx_node_tests)
  foreach(test ${tests})
    get_property(environment TEST ${test} PROPERTY ENVIRONMENT)
    if(NOT environment MATCHES "SINTER_GUARD=")
      set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT SINTER_GUARD=end)
    endif()
  endforeach()
endfunction()
