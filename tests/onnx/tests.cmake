# Trained models, if protobuf is installed.
if(TARGET sinter_model)
  add_executable(onnx_conformance ${CMAKE_CURRENT_LIST_DIR}/onnx_conformance.cpp)
  target_link_libraries(onnx_conformance PRIVATE test_runner sinter_module_onnx sinter_onnx_format sinter::sinter)
  add_test(NAME onnx_conformance COMMAND onnx_conformance ${SINTER_TEST_VENV}/onnx_node_tests)
  set_tests_properties(onnx_conformance PROPERTIES ENVIRONMENT "SINTER_CACHE_DIR=${CMAKE_CURRENT_BINARY_DIR}/cache/onnx")

  sinter_suite(model llvm interpreter unfused cuda_long opencl loops_long)
  target_link_libraries(test_model PRIVATE sinter::model sinter_onnx_format)

  sinter_suite(model_operators llvm interpreter unfused cuda_long opencl loops)
  target_link_libraries(test_model_operators PRIVATE sinter::model sinter_onnx_format)

  sinter_suite(layouts llvm interpreter unfused)
  target_link_libraries(test_layouts PRIVATE sinter::model sinter_onnx_format)

  sinter_suite(quantized llvm interpreter unfused cuda_long opencl loops)
  target_link_libraries(test_quantized PRIVATE sinter::model sinter_onnx_format)

  add_test(NAME runtime_operators COMMAND ${SINTER_TEST_VENV}/bin/python ${CMAKE_CURRENT_LIST_DIR}/runtime_operators.py $<TARGET_FILE:sinter_command>)
  set_tests_properties(runtime_operators PROPERTIES LABELS long SKIP_RETURN_CODE 77)

  sinter_program(test_onnx_fuzz)
  target_link_libraries(test_onnx_fuzz PRIVATE sinter::model sinter_onnx_format)
  sinter_run(onnx_fuzz test_onnx_fuzz SINTER_BACKEND=interpreter)
  sinter_run(onnx_fuzz_long test_onnx_fuzz SINTER_BACKEND=interpreter SINTER_TEST_MUTATIONS=40000)
  set_tests_properties(onnx_fuzz_long PROPERTIES LABELS long TIMEOUT 3600)

  sinter_suite(networks llvm interpreter unfused cuda_long opencl loops)
  target_link_libraries(test_networks PRIVATE sinter::model sinter_onnx_format)
  sinter_run_cublaslt(networks_cublaslt test_networks)
endif()
