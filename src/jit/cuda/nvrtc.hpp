// Declarations of the functions of NVRTC's C interface that sinter calls. Building needs no CUDA toolkit.
#pragma once
#include <cstddef>

extern "C" {
struct _nvrtcProgram;
}

namespace sinter::jit::cuda {

struct Nvrtc {
  using Program = _nvrtcProgram*;
  int (*version)(int* major, int* minor) = nullptr;
  const char* (*error_string)(int result) = nullptr;
  int (*create_program)(Program* program, const char* text, const char* name, int headers, const char* const* header_texts,
                        const char* const* header_names) = nullptr;
  int (*destroy_program)(Program* program) = nullptr;
  int (*compile_program)(Program program, int options, const char* const* option) = nullptr;
  int (*cubin_size)(Program program, std::size_t* size) = nullptr;
  int (*cubin)(Program program, char* image) = nullptr;
  int (*ptx_size)(Program program, std::size_t* size) = nullptr;
  int (*ptx)(Program program, char* text) = nullptr;
  int (*arch_count)(int* count) = nullptr;
  int (*archs)(int* list) = nullptr;
  int (*log_size)(Program program, std::size_t* size) = nullptr;
  int (*log)(Program program, char* text) = nullptr;
};

}  // namespace sinter::jit::cuda
