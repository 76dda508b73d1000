# docs/guide.md shows the code of examples/guide.cpp and what it prints.
if(TARGET example_guide AND TARGET sinter_command)
  sinter_python(guide ../scripts/guide.py ${PROJECT_BINARY_DIR} --check)
endif()
