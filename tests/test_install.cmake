# The installation as a user meets it. A sanitizer's build would need its runtime in the consumer too.
if(NOT SINTER_SANITIZE)
  find_program(PKG_CONFIG_PROGRAM NAMES pkg-config pkgconf REQUIRED)
  set(scripts ${CMAKE_CURRENT_SOURCE_DIR}/install)
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

add_test(NAME header_is_light COMMAND ${CMAKE_COMMAND} -DCXX=${CMAKE_CXX_COMPILER} -DINCLUDE=${PROJECT_SOURCE_DIR}/include
  -DWORK=${CMAKE_CURRENT_BINARY_DIR}/install/header -P ${CMAKE_CURRENT_SOURCE_DIR}/install/header.cmake)
