# Trained models, where protobuf is there.
if(TARGET sinter_model)
  add_executable(onnx_conformance onnx_conformance.cpp)
  target_link_libraries(onnx_conformance PRIVATE sinter_room_model sinter_onnx sinter::sinter)
  # SINTER_ONNX_NODE_TESTS: the folder of ONNX's node tests; skipped without it.
  add_test(NAME onnx_conformance COMMAND sh -c "exec $<TARGET_FILE:onnx_conformance> \"$SINTER_ONNX_NODE_TESTS\"")
  set_tests_properties(onnx_conformance PROPERTIES SKIP_RETURN_CODE 77 ENVIRONMENT "SINTER_CACHE_DIR=${CMAKE_CURRENT_BINARY_DIR}/cache/onnx")

  sinter_program(test_model)
  target_link_libraries(test_model PRIVATE sinter::model sinter_onnx)
  sinter_run(model_llvm test_model)
  sinter_run(model_interpreter test_model SINTER_BACKEND=interpreter)
  sinter_run(model_unfused test_model SINTER_FUSE=off)
  sinter_run_cuda(model test_model)

  sinter_program(test_layouts)
  target_link_libraries(test_layouts PRIVATE sinter::model sinter_onnx)
  sinter_run(layouts_llvm test_layouts)
  sinter_run(layouts_interpreter test_layouts SINTER_BACKEND=interpreter)
  sinter_run(layouts_unfused test_layouts SINTER_FUSE=off)

  sinter_program(test_networks)
  target_link_libraries(test_networks PRIVATE sinter::model sinter_onnx)
  sinter_run(networks_llvm test_networks)
  sinter_run(networks_interpreter test_networks SINTER_BACKEND=interpreter)
  sinter_run(networks_unfused test_networks SINTER_FUSE=off)
  sinter_run_cuda(networks test_networks)
endif()
