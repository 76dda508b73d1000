# A room that includes a later one does not compile. The folders are the real targets' own.
set(settings -DCXX=${CMAKE_CXX_COMPILER} -DSOURCE=${PROJECT_SOURCE_DIR}/src -DWORK=${CMAKE_CURRENT_BINARY_DIR}/rooms)
string(REPLACE ";" "," rooms "${SINTER_ROOMS}")
foreach(room ${SINTER_ROOMS})
  list(APPEND settings "-DINCLUDES_${room}=$<JOIN:$<TARGET_PROPERTY:sinter_room_${room},INCLUDE_DIRECTORIES>,,>")
endforeach()
add_test(NAME rooms COMMAND ${CMAKE_COMMAND} ${settings} -DROOMS=${rooms} -P ${CMAKE_CURRENT_SOURCE_DIR}/rooms/rooms.cmake)
