# docs/guide.md shows the code of examples/guide.cpp and what it prints.
if(TARGET example_guide AND TARGET sinter_command)
  add_test(NAME guide COMMAND sh -c "command -v python3 >/dev/null || exit 77; exec python3 \"$0\" \"$1\" --check"
    ${PROJECT_SOURCE_DIR}/scripts/guide.py ${PROJECT_BINARY_DIR})
  set_tests_properties(guide PROPERTIES SKIP_RETURN_CODE 77)
endif()
