# The modules of src, in the order in which data moves. A module sees itself and the modules before it, and no other: its files are compiled
# against a folder of links to exactly these, so an include of a later module does not compile (tests/project/modules proves it).
# docs/architecture.md says what each module holds.
set(SINTER_MODULES base trace ops io ranks fuse jit cache kernels runtime engine freeze)

# sinter_modules_until(NAME VARIABLE): the module and those before it.
function(sinter_modules_until name variable)
  set(modules)
  foreach(module ${SINTER_MODULES})
    list(APPEND modules ${module})
    if(module STREQUAL name)
      set(${variable} ${modules} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "${name} is no module: ${SINTER_MODULES}")
endfunction()

# sinter_module_objects(NAME VARIABLE): the object libraries of the module and of those before it.
function(sinter_module_objects name variable)
  sinter_modules_until(${name} modules)
  list(TRANSFORM modules PREPEND sinter_module_)
  set(${variable} ${modules} PARENT_SCOPE)
endfunction()

# sinter_module_view(NAME VARIABLE): the folder of links to the headers that the module may include. It is made anew, in case the order has
# changed.
function(sinter_module_view name variable)
  set(view ${CMAKE_CURRENT_BINARY_DIR}/modules/${name})
  sinter_modules_until(${name} visible)
  file(GLOB links RELATIVE ${view} ${view}/*)
  foreach(link ${links})
    if(NOT link IN_LIST visible)
      file(REMOVE ${view}/${link})
    endif()
  endforeach()
  file(MAKE_DIRECTORY ${view})
  foreach(module ${visible})
    file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/src/${module} ${view}/${module} SYMBOLIC)
  endforeach()
  set(${variable} ${view} PARENT_SCOPE)
endfunction()

# Two ways to compile in less time. With SINTER_UNITY several files of a target are compiled as one, which takes a third of the time, but compiles all of
# them anew where one changed. And a target that runs once for a plan, a model or a command is compiled with -O1: -O3 takes half as long again.
option(SINTER_UNITY "compile several files of a module as one" OFF)
function(sinter_few_files target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${SINTER_UNITY} UNITY_BUILD_BATCH_SIZE 16)
  if(SINTER_UNITY)  # GCC takes an anonymous namespace of an included file for one of a header
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()
function(sinter_quick_to_build target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  sinter_few_files(${target})
endfunction()

# Modules that do not run when a formula is repeated, or only briefly.
set(SINTER_PLANNING_MODULES ops io ranks jit cache engine freeze)

# sinter_module(NAME): the object library of src/NAME and its subfolders.
function(sinter_module name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/${name}/*.cpp)
  add_library(sinter_module_${name} OBJECT ${sources})
  sinter_module_view(${name} view)
  target_include_directories(sinter_module_${name} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${view}>)
  set_target_properties(sinter_module_${name} PROPERTIES VISIBILITY_INLINES_HIDDEN ON)
  # Nothing replaces the library's own functions, so they may be inlined. Thread-local variables have a fixed offset: a few hundred bytes of
  # the space that the C library reserves for libraries loaded later.
  target_compile_options(sinter_module_${name} PRIVATE -fno-semantic-interposition -ftls-model=initial-exec)
  target_link_libraries(sinter_module_${name} PUBLIC
    sinter_warnings fmt::fmt spdlog::spdlog nlohmann_json::nlohmann_json Threads::Threads ${CMAKE_DL_LIBS})
  if(name IN_LIST SINTER_PLANNING_MODULES)
    sinter_quick_to_build(sinter_module_${name})
  else()
    sinter_few_files(sinter_module_${name})
  endif()
  if(name STREQUAL base OR name STREQUAL trace OR name STREQUAL fuse)  # recording and most of the time of planning
    target_compile_options(sinter_module_${name} PRIVATE $<$<CONFIG:Release>:-O2>)
  endif()
  if(name STREQUAL "kernels" AND NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    # Files for one instruction set define the same names. On x86 their options keep them apart (instruction_sets.cmake).
    set_target_properties(sinter_module_kernels PROPERTIES UNITY_BUILD OFF)
  endif()
  if(name STREQUAL runtime)  # names of one device have other meanings in another's files
    set_target_properties(sinter_module_runtime PROPERTIES UNITY_BUILD_MODE GROUP)
    foreach(device host cuda opencl)
      file(GLOB files ${CMAKE_CURRENT_SOURCE_DIR}/src/runtime/${device}/*.cpp)
      set_source_files_properties(${files} PROPERTIES UNITY_GROUP ${device})
    endforeach()
    # digits.cpp has names of cublaslt.cpp. The tests' devices (tests/support/loop_device) replace the files *_kind.cpp of CUDA and OpenCL.
    set_source_files_properties(src/runtime/cuda/digits.cpp src/runtime/cuda/cuda_kind.cpp src/runtime/opencl/opencl_kind.cpp
      PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()
