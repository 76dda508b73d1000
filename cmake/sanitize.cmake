set(SINTER_SANITIZE "" CACHE STRING "address, undefined, \"address,undefined\" or thread: build everything with these sanitizers")
if(SINTER_SANITIZE)
  add_compile_options(-fsanitize=${SINTER_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${SINTER_SANITIZE})
  if(SINTER_SANITIZE MATCHES "undefined")
    # Checks of every pointer take half of the compiler's time; AddressSanitizer finds most of the same faults.
    add_compile_options(-fno-sanitize-recover=undefined -fno-sanitize=null,alignment,object-size,vptr)
  endif()
endif()
