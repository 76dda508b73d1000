if(TARGET sinter_expression)
  sinter_test(test_expression trace)
  target_link_libraries(test_expression PRIVATE sinter_expression)
endif()
