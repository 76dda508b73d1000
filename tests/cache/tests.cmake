sinter_test(test_cache cache)
