# Checks which headers a file that includes sinter/sinter.hpp includes, and reports how long it compiles. The time has no limit, because it depends on the
# machine.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
file(MAKE_DIRECTORY ${WORK})
set(compile ${CXX} -std=c++20 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -I${INCLUDE} ${CMAKE_CURRENT_LIST_DIR}/header.cpp)
# This reads line markers, not the output of -M, in which some compilers list files that only __has_include names.
run("preprocessing" ${compile} -E)
string(REGEX MATCHALL "\n# [0-9]+ \"[^\"]+\"" markers "${output}")
list(TRANSFORM markers REPLACE "^\n# [0-9]+ " "")
list(REMOVE_DUPLICATES markers)
list(LENGTH markers count)
if(NOT markers MATCHES "sinter/tensor\\.hpp")
  message(FATAL_ERROR "the preprocessor's output makes no sense: ${markers}")
endif()
list(FILTER markers INCLUDE REGEX
  "/[Ee]igen|/fmt/|/spdlog/|/nlohmann/|/tbb/|/oneapi/|/llvm/|/llvm-c/|/cuda|nvrtc|xxhash|sinter/eigen\\.hpp|/src/(trace|fuse|jit|cache|device|engine)/")
if(markers)
  message(FATAL_ERROR "sinter/sinter.hpp pulls in ${markers}")
endif()
string(TIMESTAMP begin "%s%f")
run("compiling the header" ${compile} -c -o ${WORK}/header.o)
string(TIMESTAMP end "%s%f")
math(EXPR took "(${end} - ${begin}) / 1000")
message("sinter/sinter.hpp: ${count} files, compiled in ${took} ms")
