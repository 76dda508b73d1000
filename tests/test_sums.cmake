sinter_program(test_sums)
sinter_run(sums_llvm test_sums SINTER_BACKEND=llvm)
sinter_run(sums_interpreter test_sums SINTER_BACKEND=interpreter)
