sinter_test(test_llvm engine device cache jit fuse trace)
sinter_test(test_llvm_ops engine device cache jit fuse trace)
sinter_test(test_llvm_math engine device cache jit fuse trace)
sinter_test(test_llvm_object engine device cache jit fuse trace)
