# Builds a consumer in WORK that finds the installation in PREFIX as a CMake package.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
file(REMOVE_RECURSE ${WORK})
run("configuring" ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX}
  -DCMAKE_PREFIX_PATH=${PREFIX} -DCMAKE_BUILD_TYPE=Release)
file(STRINGS ${WORK}/CMakeCache.txt found REGEX "^sinter_DIR:")
string(FIND "${found}" "${PREFIX}" at)
if(at EQUAL -1)
  message(FATAL_ERROR "another installation was found: ${found}")
endif()
run("building" ${CMAKE_COMMAND} --build ${WORK})
run("the consumer" ${WORK}/consumer)
message("${output}")
