sinter_test(test_llvm_math jit trace)
