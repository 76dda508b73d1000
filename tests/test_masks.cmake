sinter_test(test_guarded_memory trace)
sinter_program(test_masks)
sinter_run(masks_llvm test_masks SINTER_BACKEND=llvm)
sinter_run(masks_interpreter test_masks SINTER_BACKEND=interpreter)
