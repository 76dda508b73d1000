# sinter_room(NAME): the object library of src/NAME and its subfolders.
function(sinter_room name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/${name}/*.cpp)
  add_library(sinter_room_${name} OBJECT ${sources})
  target_include_directories(sinter_room_${name} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/src>)
  target_link_libraries(sinter_room_${name} PUBLIC
    sinter_warnings fmt::fmt spdlog::spdlog nlohmann_json::nlohmann_json Threads::Threads ${CMAKE_DL_LIBS})
endfunction()
