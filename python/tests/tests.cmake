# The tests of the Python package. Slow tests and tests with other packages are in the long part.
function(sinter_pytest test marks)
  add_test(NAME ${test} COMMAND ${Python_EXECUTABLE} -m pytest -q -p no:cacheprovider -m "${marks}" ${ARGN} ${PROJECT_SOURCE_DIR}/python/tests)
  set_tests_properties(${test} PROPERTIES COST 100  # It starts first, so that it does not run alone at the end.
    ENVIRONMENT "PYTHONPATH=${PROJECT_BINARY_DIR}/python;PYTHONDONTWRITEBYTECODE=1;SINTER_CACHE_DIR=${CMAKE_CURRENT_BINARY_DIR}/cache/${test}")
endfunction()
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter)
sinter_pytest(python "not long")
sinter_pytest(python_long long --long)
set_tests_properties(python_long PROPERTIES LABELS long)
add_test(NAME python_stubs COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/python_stubs.py --check)
set_tests_properties(python_stubs PROPERTIES
  ENVIRONMENT "PYTHONPATH=${PROJECT_BINARY_DIR}/python;PYTHONDONTWRITEBYTECODE=1;SINTER_CACHE_DIR=${CMAKE_CURRENT_BINARY_DIR}/cache/python_stubs")
