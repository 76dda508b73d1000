sinter_test(test_interpreter_ops device jit cache fuse trace)
sinter_test(test_interpreter device jit cache fuse trace)
sinter_test(test_host device jit cache fuse trace)
