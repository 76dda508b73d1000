// Matrix products by cuBLASLt, NVIDIA's library. sinter opens the library at run time, so building needs no CUDA toolkit. If the library is missing, sinter
// generates kernels for products, like for other operations.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "fuse/library_call.hpp"
#include "runtime/cuda/gpu.hpp"

namespace sinter::runtime::cuda {

/// Returns the library's file without loading it: the file that $SINTER_CUBLASLT names, else the newest one that the driver supports. Returns "" if there is no
/// such file or if $SINTER_CUBLASLT is "off". If $SINTER_CUDA_DRIVER names a driver, only $SINTER_CUBLASLT is used, because an installed library would open the
/// system's driver.
const std::string& cublaslt_file();

/// Returns a text for explain: the library's file, the types, and the algorithm once it has been chosen.
std::string who_multiplies(const fuse::LibraryCall& call);

/// The products of one GPU.
class Products {
 public:
  /// Throws DeviceError when the library does not open.
  explicit Products(Gpu& gpu);
  ~Products();
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  /// Enqueues c = a b on the GPU's stream. pointers: the starts of a, of b, of the row that is added (if the call adds one), and of c. a and b have one type:
  /// float16 and bfloat16 give float32 (stored as float32 or as their own type), float32 gives float32 (as TF32 if the call has fast_math), float64 gives
  /// float64. Throws NoAlgorithm if the library has no algorithm for the call.
  void multiply(const fuse::LibraryCall& call, std::span<void* const> pointers);
  /// Chooses the algorithm of a later call, whose operands will have the alignment of memory from the pool. Throws NoAlgorithm as multiply() does.
  void expect(const fuse::LibraryCall& call);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sinter::runtime::cuda
