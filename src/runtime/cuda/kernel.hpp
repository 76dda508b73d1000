// A kernel that a GPU has loaded, and its launches.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "jit/cuda/geometry.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/gpu.hpp"

namespace sinter::runtime::cuda {

class CudaKernel : public Kernel {
 public:
  CudaKernel(std::shared_ptr<Gpu> gpu, const jit::LoopNest& nest, const jit::Binary& binary);
  ~CudaKernel() override;
  CudaKernel(const CudaKernel&) = delete;
  CudaKernel& operator=(const CudaKernel&) = delete;

  void launch(const jit::LoopNest& nest, const Arguments& arguments);

  /// Returns which of the nest's numbers are parameters. A launch's parameters are cells of 8 bytes: the pointers, these numbers, the scalars. The driver reads
  /// only as many low bytes of a cell as the parameter has.
  const std::vector<int>& used_ints() const { return used_ints_; }
  /// Returns the blocks and threads of a launch at these numbers. From then on the kernel may use the shared memory that this launch takes.
  jit::cuda::Geometry geometry(const jit::LoopNest& nest, std::span<const std::int64_t> ints);
  /// Describes a launch: "launching kernel sum (40 blocks of 128x1 threads, 0 bytes of dynamic shared memory)".
  std::string launching(const jit::cuda::Geometry& geometry) const;

  Function function() const { return function_; }
  const std::shared_ptr<const std::string>& name() const { return name_; }
  CudaFunctionInfo info() const;

 private:
  int attribute(int what) const;
  void check_binary(Result r, const char* what);
  void ask_for_shared(std::size_t bytes);
  void find_room_for_clusters(const jit::LoopNest& nest);

  std::shared_ptr<Gpu> gpu_;
  std::shared_ptr<const std::string> name_;
  std::vector<int> used_ints_;
  Module module_ = nullptr;
  Function function_ = nullptr;
  std::size_t static_shared_ = 0;
  std::mutex mutex_;
  std::atomic<std::size_t> shared_allowed_{0};  // dynamic shared memory that a launch may now have
};

}  // namespace sinter::runtime::cuda
