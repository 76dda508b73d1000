sinter_program(test_fuzz)
sinter_run(fuzz_llvm test_fuzz SINTER_BACKEND=llvm)
sinter_run(fuzz_interpreter test_fuzz SINTER_BACKEND=interpreter)
sinter_run_cuda(fuzz test_fuzz)
