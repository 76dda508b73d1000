sinter_test(test_fuse trace fuse jit)
sinter_test(test_fusion trace fuse)
