# The rooms, in the order in which data moves. A room sees itself and the rooms before it, and no other: its files are compiled against
# a folder of links to just these, so that an include of a later room does not compile (tests/rooms.cmake proves it).
set(SINTER_ROOMS trace fuse jit cache device engine)

# sinter_room_view(NAME VARIABLE): the folder of what the room may include.
function(sinter_room_view name variable)
  set(view ${CMAKE_CURRENT_BINARY_DIR}/rooms/${name})
  file(MAKE_DIRECTORY ${view})
  set(later FALSE)
  foreach(room ${SINTER_ROOMS})
    if(later)
      file(REMOVE ${view}/${room})  # of a build folder from before a change of the order
    else()
      file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/src/${room} ${view}/${room} SYMBOLIC)
    endif()
    if(room STREQUAL name)
      set(later TRUE)
    endif()
  endforeach()
  set(${variable} ${view} PARENT_SCOPE)
endfunction()

# sinter_room(NAME): the object library of src/NAME and its subfolders.
function(sinter_room name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/${name}/*.cpp)
  add_library(sinter_room_${name} OBJECT ${sources})
  sinter_room_view(${name} view)
  target_include_directories(sinter_room_${name} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${view}>)
  set_target_properties(sinter_room_${name} PROPERTIES VISIBILITY_INLINES_HIDDEN ON)
  # Nobody replaces the library's own functions, so that they may be inlined. Thread-locals lie a fixed distance from the thread's
  # register: a few hundred bytes of what the C library keeps free for libraries that are loaded later.
  target_compile_options(sinter_room_${name} PRIVATE -fno-semantic-interposition -ftls-model=initial-exec)
  target_link_libraries(sinter_room_${name} PUBLIC
    sinter_warnings fmt::fmt spdlog::spdlog nlohmann_json::nlohmann_json Threads::Threads ${CMAKE_DL_LIBS})
endfunction()
