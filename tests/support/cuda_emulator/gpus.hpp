// The properties that each emulated GPU reports.
#pragma once
#include <string_view>

namespace cuda_emulator {

struct GpuModel {
  std::string_view name;
  int sm, multiprocessors;
  int shared_opt_in, shared_sm;  // bytes that a block may request, bytes of a multiprocessor
  int threads_sm;                // threads of a multiprocessor
};

// From the CUDA C++ Programming Guide, table of technical specifications by compute capability; numbers of multiprocessors from the products' data sheets.
// Clusters came with sm_90. The last GPU is newer than any compiler knows.
inline constexpr GpuModel kGpuModels[] = {{"T4", 75, 40, 65536, 65536, 1024},          {"A100", 80, 108, 166912, 167936, 2048},
                                          {"RTX3090", 86, 82, 101376, 102400, 1536},   {"L4", 89, 58, 101376, 102400, 1536},
                                          {"H100", 90, 132, 232448, 233472, 2048},     {"B200", 100, 148, 232448, 233472, 2048},
                                          {"RTX5090", 120, 170, 101376, 102400, 1536}, {"FUTURE", 190, 160, 232448, 233472, 2048}};

}  // namespace cuda_emulator
