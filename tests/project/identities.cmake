# A change of a source file changes only the identities that depend on the file. The test adds a comment at the end of a copy.
cmake_policy(VERSION 3.25)
function(identities)
  execute_process(COMMAND ${CMAKE_COMMAND} -Droot=${WORK} -Dout=${WORK}/identities.cpp -Dversion=0 -P ${ROOT}/cmake/identities.cmake
    COMMAND_ERROR_IS_FATAL ANY)
  foreach(which cuda opencl cpu plans)
    file(STRINGS ${WORK}/identities.cpp line REGEX "\"sinter 0 ${which} [0-9a-f]+\"")
    if(NOT line)
      message(FATAL_ERROR "no identity of ${which}")
    endif()
    set(${which} "${line}" PARENT_SCOPE)
  endforeach()
endfunction()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/include)
file(COPY ${ROOT}/src DESTINATION ${WORK})
file(COPY ${ROOT}/include/sinter DESTINATION ${WORK}/include)
# A file, and the identities that depend on it.
foreach(case "src/jit/schedule.cpp cuda opencl cpu plans" "src/trace/primitives.def cuda opencl cpu plans"
        "include/sinter/dtypes.def cuda opencl cpu plans" "src/jit/forms/rows.cpp cuda opencl" "src/jit/opencl/printer.cpp opencl"
        "src/jit/cuda/printer.cpp cuda" "src/jit/llvm/printer.cpp cpu" "src/jit/forms/cpu/rows.cpp cpu" "src/jit/loop/language.cpp cuda opencl cpu" "src/jit/math/float32_math.hpp opencl cpu" "src/base/philox.hpp cpu"
        "src/fuse/group.cpp plans" "src/engine/planned.cpp plans" "src/freeze/plan_file.cpp plans"
        "src/kernels/sorting/sort.cpp" "src/runtime/host/partition.cpp" "src/ops/sort.cpp" "src/io/npy.cpp" "src/onnx/model.cpp")
  separate_arguments(case)
  list(POP_FRONT case file)
  identities()
  foreach(which cuda opencl cpu plans)
    set(before_${which} "${${which}}")
  endforeach()
  file(APPEND ${WORK}/${file} "// another comment\n")
  identities()
  foreach(which cuda opencl cpu plans)
    if(which IN_LIST case)
      if(before_${which} STREQUAL ${which})
        message(FATAL_ERROR "a change of ${file} leaves the identity of ${which}")
      endif()
    elseif(NOT before_${which} STREQUAL ${which})
      message(FATAL_ERROR "a change of ${file} changes the identity of ${which}")
    endif()
  endforeach()
endforeach()
