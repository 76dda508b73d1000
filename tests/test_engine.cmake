sinter_test(test_engine engine device cache jit fuse trace)
