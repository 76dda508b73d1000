# Makes the hashes of src/jit/identities.hpp over the sources that determine kernels and plans, so that a cache never serves the work of
# other sources. The identity of a backend covers the sources of its own kernels and no others. Included, this file makes identities.cpp a
# source of the jit module; run as a script (-P) it writes that file.
set(common src/jit/*.hpp src/jit/*.cpp src/trace/primitives.* include/sinter/dtypes.def)
set(common_kernels ${common} src/jit/loop/* src/jit/forms/forms.hpp src/jit/forms/statements.hpp)
set(gpu_sources ${common_kernels} src/jit/c_like/* src/jit/forms/*.* src/jit/cuda/geometry.*)
set(cuda_sources ${gpu_sources} src/jit/cuda/* src/runtime/cuda/digits.*)
set(opencl_sources ${gpu_sources} src/jit/opencl/* src/jit/math/*)
set(cpu_sources ${common_kernels} src/jit/forms/cpu/* src/jit/llvm/* src/jit/math/* src/base/philox.hpp)
set(plan_sources ${common} src/trace/*.hpp src/fuse/* src/engine/* src/freeze/*)

if(CMAKE_SCRIPT_MODE_FILE)
  foreach(which cuda opencl cpu plan)
    set(all "")
    foreach(pattern ${${which}_sources})
      file(GLOB files RELATIVE ${root} ${root}/${pattern})
      list(SORT files)
      foreach(file ${files})
        file(SHA256 ${root}/${file} hash)
        string(APPEND all "${file} ${hash}\n")
      endforeach()
    endforeach()
    string(SHA256 hash "${all}")
    string(SUBSTRING ${hash} 0 32 ${which})
  endforeach()
  file(WRITE ${out} "#include \"jit/identities.hpp\"

namespace sinter::jit {
const char* cuda_generator() { return \"sinter ${version} cuda ${cuda}\"; }
const char* opencl_generator() { return \"sinter ${version} opencl ${opencl}\"; }
const char* cpu_generator() { return \"sinter ${version} cpu ${cpu}\"; }
const char* planner() { return \"sinter ${version} plans ${plan}\"; }
}  // namespace sinter::jit
")
  return()
endif()

set(identity_sources ${cuda_sources} ${opencl_sources} ${cpu_sources} ${plan_sources})
list(TRANSFORM identity_sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
file(GLOB identity_sources CONFIGURE_DEPENDS ${identity_sources})
set(identities ${CMAKE_CURRENT_BINARY_DIR}/identities.cpp)
add_custom_command(OUTPUT ${identities} VERBATIM
  COMMAND ${CMAKE_COMMAND} -Droot=${CMAKE_CURRENT_SOURCE_DIR} -Dout=${identities} -Dversion=${PROJECT_VERSION} -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${identity_sources} ${CMAKE_CURRENT_LIST_FILE})
target_sources(sinter_module_jit PRIVATE ${identities})
