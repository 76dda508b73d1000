add_library(sinter_warnings INTERFACE)
target_compile_options(sinter_warnings INTERFACE -Wall -Wextra -Wpedantic -Wno-missing-field-initializers)
