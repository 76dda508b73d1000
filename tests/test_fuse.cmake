sinter_test(test_fuse trace fuse jit)
