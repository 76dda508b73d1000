sinter_program(test_files)
target_link_libraries(test_files PRIVATE fmt::fmt)
sinter_run(files_llvm test_files SINTER_BACKEND=llvm)
sinter_run(files_interpreter test_files SINTER_BACKEND=interpreter)
