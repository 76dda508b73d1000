# `cpack --config build/release/CPackConfig.cmake` makes a Debian package and a tarball of what `cmake --install` installs.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_VENDOR "sinter")
set(CPACK_PACKAGE_CONTACT "The sinter developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "NumPy-like C++ tensors that fuse themselves, compiled at run time and cached")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_CURRENT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
# What the libraries are linked with. The package's own libraries need each other.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_CURRENT_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR}/src/onnx)
# Opened at run time. Without them kernels are interpreted, and products are computed by Eigen.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libllvm20 | libllvm19 | libllvm18 | libllvm17 | libllvm16, libdnnl3 | libdnnl2")
include(CPack)
