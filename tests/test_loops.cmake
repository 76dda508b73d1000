sinter_program(test_loops)
sinter_run(loops_llvm test_loops SINTER_BACKEND=llvm)
sinter_run(loops_interpreter test_loops SINTER_BACKEND=interpreter)
sinter_run_cuda(loops test_loops)
