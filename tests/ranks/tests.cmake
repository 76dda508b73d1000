# Ranks that are threads of the test.
sinter_suite(ranks llvm interpreter unfused)
set_tests_properties(ranks_unfused PROPERTIES LABELS long)
sinter_test(test_sharding ranks)

# Ranks that are processes: with the MPI that the module was built for, and with MPICH where it is here, too.
if(TARGET sinter_mpi)
  sinter_program(mpi_program)
  # sinter_mpi_test(NAME MPIRUN MODULE)
  function(sinter_mpi_test name mpirun module)
    sinter_python(${name} mpi.py $<TARGET_FILE:mpi_program> $<TARGET_FILE:example_ranks> ${mpirun} ${module})
    set_tests_properties(${name} PROPERTIES LABELS long RUN_SERIAL ON)
  endfunction()
  if(TARGET example_ranks)
    sinter_mpi_test(ranks_mpi ${MPIEXEC_EXECUTABLE} $<TARGET_FILE:sinter_mpi>)
    find_program(MPICXX_MPICH mpicxx.mpich)
    find_program(MPIRUN_MPICH mpirun.mpich)
    if(MPICXX_MPICH AND MPIRUN_MPICH)
      set(module ${CMAKE_CURRENT_BINARY_DIR}/libsinter_mpich.so)
      set(source ${PROJECT_SOURCE_DIR}/src/mpi/mpi_transport.cpp)
      add_custom_command(OUTPUT ${module} DEPENDS ${source} ${PROJECT_SOURCE_DIR}/src/ranks/transport.hpp
        COMMAND ${MPICXX_MPICH} -std=c++20 -O1 -shared -fPIC -I ${PROJECT_SOURCE_DIR}/src ${source} -o ${module})
      add_custom_target(sinter_mpich ALL DEPENDS ${module})
      sinter_mpi_test(ranks_mpich ${MPIRUN_MPICH} ${module})
    endif()
  endif()
endif()
# The library opens MPI's module at run time and names nothing of MPI itself.
add_test(NAME ranks_no_mpi_symbol COMMAND sh -c "! nm -D $<TARGET_FILE:sinter> | grep -E '[ _]MPI_'")
