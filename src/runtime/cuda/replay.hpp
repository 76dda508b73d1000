// Launches that are made again and again: worked out once, then patched with the pointers and scalars of the day. Three kernels or more are one
// launch of a CUDA graph, in which they run beside each other where none has to wait; a driver without graphs launches them one by one.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/cuda/gpu.hpp"
#include "runtime/cuda/kernel.hpp"
#include "runtime/replay.hpp"

namespace sinter::runtime::cuda {

class CudaReplay : public Replay {
 public:
  CudaReplay(std::shared_ptr<Gpu> gpu, std::span<const RepeatedLaunch> launches);
  ~CudaReplay() override;
  CudaReplay(const CudaReplay&) = delete;
  CudaReplay& operator=(const CudaReplay&) = delete;

  bool run(std::span<void* const> pointers, std::span<const std::uint64_t> scalars) override;

 private:
  struct Launch {
    const CudaKernel* kernel;
    jit::cuda::Geometry geometry;
    std::size_t first = 0, pointers = 0, scalars = 0, first_scalar = 0;  // in cells_
    std::vector<std::size_t> after;
    GraphNode node = nullptr;
    bool changed = true;  // since its node was set
  };
  KernelNode node_of(const Launch& launch);
  void patch(std::span<void* const> pointers, std::span<const std::uint64_t> scalars);
  bool make_graph();
  void drop_graph() noexcept;
  std::string all_names() const;

  std::shared_ptr<Gpu> gpu_;
  std::vector<Launch> launches_;
  std::vector<std::shared_ptr<const std::string>> names_;
  std::vector<std::uint64_t> cells_;  // the parameters of all launches
  std::vector<void*> parameters_;     // a pointer to each
  std::mutex mutex_;                  // held while cells are patched and launched: the driver copies them
  Graph graph_ = nullptr;
  GraphExec exec_ = nullptr;
  bool as_graph_;
};

}  // namespace sinter::runtime::cuda
