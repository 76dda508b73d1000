sinter_test(test_guarded_memory io)
