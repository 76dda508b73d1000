include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(sinter_libraries sinter)
if(TARGET sinter_model)
  list(APPEND sinter_libraries sinter_model)
endif()
install(TARGETS ${sinter_libraries} EXPORT sinter-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/sinter DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT sinter-targets NAMESPACE sinter:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sinter)

configure_package_config_file(cmake/sinter-config.cmake.in sinter-config.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sinter)
write_basic_package_version_file(sinter-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/sinter-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/sinter-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sinter)

# The paths are relative to the file: an installation may be moved, and `cmake --install --prefix` may name any folder.
file(RELATIVE_PATH SINTER_PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
foreach(library IN LISTS sinter_libraries)
  configure_file(cmake/${library}.pc.in ${library}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${library}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
install(FILES LICENSE THIRD_PARTY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
