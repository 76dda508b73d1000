// oneDNN's product of float32 matrices, if the machine has it: opened when the first large product or convolution runs, never linked. Only its
// dnnl_sgemm is used, a block at a time on our own threads, so that the result's bits depend on shapes alone and what follows can run on each
// block.
#pragma once
#include <string>

#include "kernels/products/matmul_block.hpp"

namespace sinter::kernels {

struct OneDnn {
  std::string version;     // "oneDNN 2.6.3"
  MatmulBlockFn multiply;  // of float32; false when the library reports an error
};
/// Null when there is none that can be used, or when SINTER_ONEDNN is off; that variable may name the file.
const OneDnn* onednn();

}  // namespace sinter::kernels
