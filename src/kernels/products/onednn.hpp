// oneDNN's product of float32 matrices, if the machine has it. The library is opened at the first large product or convolution, never linked. sinter calls only
// its dnnl_sgemm, one block at a time on sinter's threads. So the result's bits depend only on shapes, and an epilogue can run on each block.
#pragma once
#include <string>

#include "kernels/products/matmul_block.hpp"

namespace sinter::kernels {

struct OneDnn {
  std::string version;     // such as "oneDNN 2.6.3"
  MatmulBlockFn multiply;  // for float32; returns false when the library reports an error
  void (*prepare)();       // makes what its first product would make
};
/// Returns null when no usable library was found. SINTER_ONEDNN=off disables the search; any other value is the library's file.
const OneDnn* onednn();

}  // namespace sinter::kernels
