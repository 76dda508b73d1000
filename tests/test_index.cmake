sinter_test(test_index fuse trace)
