sinter_test(test_interpreter_ops device jit trace)
sinter_test(test_interpreter device jit trace)
sinter_test(test_host device jit trace)
