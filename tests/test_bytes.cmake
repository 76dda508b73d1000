sinter_test(test_bytes engine device cache jit fuse trace)
