add_library(sinter_warnings INTERFACE)
target_compile_options(sinter_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers)
