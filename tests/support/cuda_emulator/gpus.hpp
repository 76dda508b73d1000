// The GPUs that are emulated, as they describe themselves.
#pragma once
#include <string_view>

namespace cuda_emulator {

struct GpuModel {
  std::string_view name;
  int sm, multiprocessors;
  int shared_opt_in, shared_sm;  // bytes a block may ask for, bytes a multiprocessor has
  int threads_sm;                // that a multiprocessor holds
};

// CUDA C++ Programming Guide, table of technical specifications by compute capability; multiprocessors from the products' data sheets.
// Clusters came with sm_90. The last is newer than any compiler knows.
inline constexpr GpuModel kGpuModels[] = {{"T4", 75, 40, 65536, 65536, 1024},          {"A100", 80, 108, 166912, 167936, 2048},
                                          {"RTX3090", 86, 82, 101376, 102400, 1536},   {"L4", 89, 58, 101376, 102400, 1536},
                                          {"H100", 90, 132, 232448, 233472, 2048},     {"B200", 100, 148, 232448, 233472, 2048},
                                          {"RTX5090", 120, 170, 101376, 102400, 1536}, {"FUTURE", 190, 160, 232448, 233472, 2048}};

}  // namespace cuda_emulator
