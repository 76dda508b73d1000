sinter_program(test_large)
sinter_run(large_llvm test_large SINTER_BACKEND=llvm)
sinter_run(large_interpreter test_large SINTER_BACKEND=interpreter)
sinter_run_cuda(large test_large)
