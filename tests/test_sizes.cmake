sinter_program(test_sizes)
sinter_run(sizes_llvm test_sizes SINTER_BACKEND=llvm)
sinter_run(sizes_interpreter test_sizes SINTER_BACKEND=interpreter)
sinter_run_cuda(sizes test_sizes)
