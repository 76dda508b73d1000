# The script for a day with a GPU, from start to end on the emulated device.
if(TARGET sinter_expression AND TARGET sinter_command)
  add_executable(bench_gpu ${PROJECT_SOURCE_DIR}/bench/gpu.cpp)
  target_link_libraries(bench_gpu PRIVATE sinter_expression sinter::sinter fmt::fmt nlohmann_json::nlohmann_json ${CMAKE_DL_LIBS} sinter_warnings)
  add_test(NAME gpu_day_rehearsed COMMAND ${PROJECT_SOURCE_DIR}/bench/gpu_day.sh rehearse ${PROJECT_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR}/gpu_day)
  set_tests_properties(gpu_day_rehearsed PROPERTIES LABELS long TIMEOUT 900
    ENVIRONMENT "SINTER_EMULATOR_CACHE=${CMAKE_CURRENT_BINARY_DIR}/cache/emulator")
endif()
# The documentation as a web site.
if(TARGET sinter_python AND TARGET sinter_command)
  sinter_python(site test_site.py ${PROJECT_BINARY_DIR})
  set_tests_properties(site PROPERTIES LABELS long SKIP_RETURN_CODE 77 TIMEOUT 1800)
endif()

# The library is loaded into a process whose C++ library is in use already, as after `import torch`.
if(NOT SINTER_SANITIZE)
  add_library(uses_call_once MODULE ${CMAKE_CURRENT_LIST_DIR}/uses_call_once.cpp)
  sinter_python(loads_late test_loads_late.py $<TARGET_FILE:uses_call_once> $<TARGET_FILE:sinter>)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    sinter_python(instruction_sets test_instruction_sets.py ${PROJECT_BINARY_DIR})
  endif()
endif()

# docs/guide.md shows the code of examples/guide.cpp and what it prints.
if(TARGET example_guide AND TARGET sinter_command)
  sinter_python(guide ../../scripts/guide.py ${PROJECT_BINARY_DIR} --check)
endif()
# The installation from a user's view. With a sanitizer, the consumer would need the sanitizer's runtime, too.
if(NOT SINTER_SANITIZE)
  find_program(PKG_CONFIG_PROGRAM NAMES pkg-config pkgconf REQUIRED)
  set(scripts ${CMAKE_CURRENT_LIST_DIR}/install)
  set(prefix ${CMAKE_CURRENT_BINARY_DIR}/install/prefix)
  set(settings -DPREFIX=${prefix} -DCXX=${CMAKE_CXX_COMPILER})
  add_test(NAME install COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR} -DPREFIX=${prefix}
    -DCOMMAND_BUILT=$<TARGET_EXISTS:sinter_command> -P ${scripts}/install.cmake)
  add_test(NAME install_package COMMAND ${CMAKE_COMMAND} ${settings} -DGENERATOR=${CMAKE_GENERATOR}
    -DWORK=${CMAKE_CURRENT_BINARY_DIR}/install/package -P ${scripts}/package.cmake)
  add_test(NAME install_pkg_config COMMAND ${CMAKE_COMMAND} ${settings} -DPKG_CONFIG=${PKG_CONFIG_PROGRAM}
    -DWORK=${CMAKE_CURRENT_BINARY_DIR}/install/pkg_config -P ${scripts}/pkg_config.cmake)
  set_tests_properties(install PROPERTIES FIXTURES_SETUP installation)
  set_tests_properties(install_package install_pkg_config PROPERTIES FIXTURES_REQUIRED installation
    ENVIRONMENT "SINTER_CACHE_DIR=${CMAKE_CURRENT_BINARY_DIR}/cache/install")

  add_test(NAME exported_symbols COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} -DLIBRARY=$<TARGET_FILE:sinter> -P ${scripts}/symbols.cmake)
endif()

# The packages in a minimal Debian. It is skipped without root or debootstrap.
if(TARGET sinter_command)
  add_test(NAME packages COMMAND ${CMAKE_CURRENT_LIST_DIR}/packages.sh ${PROJECT_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR}/packages)
  set_tests_properties(packages PROPERTIES LABELS long TIMEOUT 3600 SKIP_RETURN_CODE 77)
endif()

# The suites on 64-bit ARM, cross-compiled. It is skipped without the compiler or qemu.
if(NOT CMAKE_CROSSCOMPILING AND NOT SINTER_SANITIZE)
  add_test(NAME aarch64 COMMAND ${PROJECT_SOURCE_DIR}/scripts/aarch64.sh)
  set_tests_properties(aarch64 PROPERTIES LABELS long TIMEOUT 10800 SKIP_RETURN_CODE 77 COST 2000
    ENVIRONMENT "SINTER_NATIVE_GOLDEN=${CMAKE_CURRENT_BINARY_DIR}/test_golden")
endif()

add_test(NAME header_is_light COMMAND ${CMAKE_COMMAND} -DCXX=${CMAKE_CXX_COMPILER} -DINCLUDE=${PROJECT_SOURCE_DIR}/include
  -DWORK=${CMAKE_CURRENT_BINARY_DIR}/install/header -P ${CMAKE_CURRENT_LIST_DIR}/install/header.cmake)
# A module that includes a later one does not compile. The include folders are those of the real targets.
set(settings -DCXX=${CMAKE_CXX_COMPILER} -DSOURCE=${PROJECT_SOURCE_DIR}/src -DWORK=${CMAKE_CURRENT_BINARY_DIR}/modules)
string(REPLACE ";" "," modules "${SINTER_MODULES}")
foreach(module ${SINTER_MODULES})
  list(APPEND settings "-DINCLUDES_${module}=$<JOIN:$<TARGET_PROPERTY:sinter_module_${module},INCLUDE_DIRECTORIES>,,>")
endforeach()
add_test(NAME modules COMMAND ${CMAKE_COMMAND} ${settings} -DMODULES=${modules} -P ${CMAKE_CURRENT_LIST_DIR}/modules/modules.cmake)
# .clang-format, for all C++ of the project.
add_test(NAME format COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DCLANG_FORMAT=${SINTER_TEST_VENV}/bin/clang-format
  -P ${CMAKE_CURRENT_LIST_DIR}/format.cmake)
add_test(NAME identities COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DWORK=${CMAKE_CURRENT_BINARY_DIR}/identities
  -P ${CMAKE_CURRENT_LIST_DIR}/identities.cmake)
sinter_python(lines lines.py)
