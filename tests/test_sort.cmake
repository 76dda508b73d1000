sinter_program(test_sort)
sinter_run(sort_llvm test_sort SINTER_BACKEND=llvm)
sinter_run(sort_interpreter test_sort SINTER_BACKEND=interpreter)
sinter_run_cuda(sort test_sort)
