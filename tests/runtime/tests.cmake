sinter_suite(device cuda)
sinter_run_emulated(device_lost_cuda_emulated test_device SINTER_EMULATOR_LOSE=3)
sinter_test(test_interpreter runtime)
sinter_test(test_host runtime)
sinter_test_emulated(test_cuda_checks freeze)
sinter_test_emulated(test_cuda_faults freeze)
# A driver without pinned memory.
add_test(NAME test_cuda_faults_not_pinned COMMAND test_cuda_faults --test-case=what*the*host*gives*)
set_tests_properties(test_cuda_faults_not_pinned PROPERTIES ENVIRONMENT "SINTER_EMULATOR_PINNED=0")
