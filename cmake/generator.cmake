# jit::generator_id(): a hash over the sources that decide what a kernel is, so that a cache entry of other sources is never taken.
# Included, it makes the file that holds it a source of the jit module; run as a script (-P) it writes that file.
if(CMAKE_SCRIPT_MODE_FILE)
  file(GLOB_RECURSE files RELATIVE ${root} ${root}/src/jit/* ${root}/src/kernels/* ${root}/src/runtime/* ${root}/src/trace/primitives.* ${root}/src/base/philox.hpp)
  list(SORT files)
  set(all "")
  foreach(file ${files})
    file(SHA256 ${root}/${file} hash)
    string(APPEND all "${file} ${hash}\n")
  endforeach()
  string(SHA256 hash "${all}")
  string(SUBSTRING ${hash} 0 32 hash)
  file(WRITE ${out} "#include \"jit/source.hpp\"\n\nnamespace sinter::jit {\nconst char* generator_id() { return \"sinter ${version} ${hash}\"; }\n}\n")
  return()
endif()

file(GLOB_RECURSE generator_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/jit/* ${CMAKE_CURRENT_SOURCE_DIR}/src/kernels/* ${CMAKE_CURRENT_SOURCE_DIR}/src/runtime/*
  ${CMAKE_CURRENT_SOURCE_DIR}/src/trace/primitives.* ${CMAKE_CURRENT_SOURCE_DIR}/src/base/philox.hpp)
set(generator_file ${CMAKE_CURRENT_BINARY_DIR}/generator_id.cpp)
add_custom_command(OUTPUT ${generator_file} VERBATIM
  COMMAND ${CMAKE_COMMAND} -Droot=${CMAKE_CURRENT_SOURCE_DIR} -Dout=${generator_file} -Dversion=${PROJECT_VERSION} -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${generator_sources} ${CMAKE_CURRENT_LIST_FILE})
target_sources(sinter_module_jit PRIVATE ${generator_file})
