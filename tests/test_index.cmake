sinter_test(test_index fuse trace)
add_test(NAME index_rules COMMAND ${CMAKE_SOURCE_DIR}/scripts/prove_index_rules.sh)
