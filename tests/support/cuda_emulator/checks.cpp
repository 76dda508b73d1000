// The functions that a host compiler's checks call. They are compiled once and linked with every kernel, because compiling them takes longer than compiling
// most kernels. Each kernel has its own copy, so that the sanitizers' libraries, if the process has them, cannot replace the functions.
#include "hooks.hpp"

extern "C" __attribute__((visibility("default"))) cuda_emulator::Hooks* cuda_emulator_hooks;

// With -fsanitize=thread and without the sanitizer's library, the compiler reports every access to these functions of the emulator.
#define CUDA_EMULATOR_ACCESS(name, bytes, write) \
  extern "C" void __tsan_##name(void* p) { cuda_emulator_hooks->access(p, bytes, write); }
#define CUDA_EMULATOR_ACCESSES(size)                      \
  CUDA_EMULATOR_ACCESS(read##size, size, false)           \
  CUDA_EMULATOR_ACCESS(write##size, size, true)           \
  CUDA_EMULATOR_ACCESS(unaligned_read##size, size, false) \
  CUDA_EMULATOR_ACCESS(unaligned_write##size, size, true) \
  CUDA_EMULATOR_ACCESS(volatile_read##size, size, false)  \
  CUDA_EMULATOR_ACCESS(volatile_write##size, size, true)
CUDA_EMULATOR_ACCESSES(1)
CUDA_EMULATOR_ACCESSES(2)
CUDA_EMULATOR_ACCESSES(4)
CUDA_EMULATOR_ACCESSES(8)
CUDA_EMULATOR_ACCESSES(16)
#define CUDA_EMULATOR_RANGE(name, write) \
  extern "C" void __tsan_##name(void* p, unsigned long n) { cuda_emulator_hooks->access(p, n, write); }
CUDA_EMULATOR_RANGE(read_range, false)
CUDA_EMULATOR_RANGE(write_range, true)
extern "C" void __tsan_init() {}
extern "C" void __tsan_func_entry(void*) {}
extern "C" void __tsan_func_exit() {}
extern "C" void* __tsan_memcpy(void* to, const void* from, unsigned long n) {
  cuda_emulator_hooks->access(from, n, false);
  cuda_emulator_hooks->access(to, n, true);
  return __builtin_memcpy(to, from, n);
}
extern "C" void* __tsan_memset(void* to, int byte, unsigned long n) {
  cuda_emulator_hooks->access(to, n, true);
  return __builtin_memset(to, byte, n);
}

// With -fsanitize=alignment,bounds the compiler calls these functions if an access breaks a type's alignment or an array's size.
namespace cuda_emulator {
struct SourcePlace {
  const char* file;
  unsigned line, column;
};
struct TypeName {
  unsigned short kind, info;
  char name[1];
};
struct Mismatch {
  SourcePlace where;
  const TypeName* type;
  unsigned char log_alignment, kind;  // kind of the access: 0 reads, 1 writes
};
struct OutOfBounds {
  SourcePlace where;
  const TypeName *array, *index;
};
}  // namespace cuda_emulator
extern "C" void __ubsan_handle_type_mismatch_v1(cuda_emulator::Mismatch* what, unsigned long address) {
  cuda_emulator_hooks->misaligned(reinterpret_cast<const void*>(address), 1ul << what->log_alignment, what->type->name, what->kind == 1, what->where.line);
}
extern "C" void __ubsan_handle_out_of_bounds(cuda_emulator::OutOfBounds* what, unsigned long index) {
  cuda_emulator_hooks->out_of_bounds(what->array->name, static_cast<long long>(index), what->where.line);
}
