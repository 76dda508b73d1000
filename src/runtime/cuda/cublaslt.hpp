// Products of matrices by cuBLASLt, NVIDIA's library, opened at run time: building needs no CUDA toolkit, and where the library is missing
// products are generated like everything else.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "fuse/library_call.hpp"
#include "runtime/cuda/gpu.hpp"

namespace sinter::runtime::cuda {

/// The library's file, or "" where there is none or $SINTER_CUBLASLT is "off". Found, not loaded: $SINTER_CUBLASLT (a file), else the newest
/// that the driver serves. Beside a driver that $SINTER_CUDA_DRIVER names only one that is named too: the library would open the system's.
const std::string& cublaslt_file();

/// Who computes a product: the library's version, types, and the algorithm, once it has been chosen.
std::string who_multiplies(const fuse::LibraryCall& call);

/// A GPU's way to the library.
class Products {
 public:
  /// Throws DeviceError when the library does not open.
  explicit Products(Gpu& gpu);
  ~Products();
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  /// c = a b, put on the GPU's stream; pointers: a, b, where the call adds one a row, and c, from their start. a and b are of one type: float16 and
  /// bfloat16 multiply into float32 (stored as that or as they are), float32 into float32 (as TF32 where the call has fast_math), float64 into float64.
  /// Throws NoAlgorithm where the library has none for it.
  void multiply(const fuse::LibraryCall& call, std::span<void* const> pointers);
  /// Chooses the algorithm of a call whose memory begins where the pool's does; throws NoAlgorithm likewise.
  void expect(const fuse::LibraryCall& call);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sinter::runtime::cuda
