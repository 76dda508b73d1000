add_library(sinter_warnings INTERFACE)
target_compile_options(sinter_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers)
# GCC 12 gives false warnings about std::string's copies (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(sinter_warnings INTERFACE -Wno-restrict)
endif()
