# `cpack --config build/release/CPackConfig.cmake` makes a Debian package and a tarball of the files that `cmake --install` installs.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_VENDOR "sinter")
set(CPACK_PACKAGE_CONTACT "The sinter developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "NumPy-like C++ tensors that fuse themselves, compiled at run time and cached")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_CURRENT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
# The package depends on the libraries that it is linked with. Its own libraries need each other.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_CURRENT_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR}/src/onnx)
# These libraries are opened at run time. Without them kernels are interpreted, and Eigen computes products.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libllvm20 | libllvm19 | libllvm18 | libllvm17 | libllvm16, libdnnl3 | libdnnl2")
include(CPack)
