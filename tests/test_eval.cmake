sinter_program(test_eval)
sinter_run(eval_llvm test_eval SINTER_BACKEND=llvm)
sinter_run(eval_interpreter test_eval SINTER_BACKEND=interpreter)
sinter_run(eval_unfused test_eval SINTER_FUSE=off)
