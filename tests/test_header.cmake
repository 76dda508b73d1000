sinter_test(test_header trace)
target_link_libraries(test_header PRIVATE Eigen3::Eigen)
