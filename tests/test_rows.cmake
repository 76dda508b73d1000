sinter_program(test_rows)
sinter_run(rows_llvm test_rows SINTER_BACKEND=llvm)
sinter_run(rows_interpreter test_rows SINTER_BACKEND=interpreter)
sinter_run_cuda(rows test_rows)
