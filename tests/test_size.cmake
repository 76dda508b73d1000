sinter_test(test_size fuse trace)
