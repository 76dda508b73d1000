sinter_test(test_trace trace)
sinter_test(test_trace_rules trace)
sinter_test(test_trace_text trace)
