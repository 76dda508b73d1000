sinter_test(test_interpreter_ops device jit fuse trace)
sinter_test(test_interpreter device jit fuse trace)
sinter_test(test_host device jit fuse trace)
