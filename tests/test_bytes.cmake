sinter_test(test_bytes device jit fuse trace)
