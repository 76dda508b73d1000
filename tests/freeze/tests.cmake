sinter_suite(freeze llvm interpreter unfused cuda_long opencl loops)
sinter_suite(decisions llvm interpreter unfused cuda_long)
sinter_run_cublaslt(freeze_cublaslt test_freeze)
set_tests_properties(freeze_cublaslt PROPERTIES LABELS long)
sinter_program(test_plan_file)
target_include_directories(test_plan_file SYSTEM PRIVATE ${XXHASH_INCLUDE_DIR})
sinter_runs(plan_file llvm interpreter unfused cuda_long opencl)
# Which sizes a plan serves does not depend on who runs it.
sinter_program(test_plan_sizes)
sinter_run(plan_sizes test_plan_sizes SINTER_BACKEND=interpreter)
sinter_run_once(plan_sizes_long test_plan_sizes SINTER_BACKEND=interpreter SINTER_TEST_FORMULAS=20000)
set_tests_properties(plan_sizes_long PROPERTIES LABELS long TIMEOUT 7200 COST 1000)
# It computes the library calls that passes record.
target_include_directories(test_plan_file PRIVATE ${PROJECT_SOURCE_DIR}/src)
