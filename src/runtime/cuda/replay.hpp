// Repeated launches are prepared once, and each run changes only the pointers and scalars. Three or more kernels become one CUDA graph, in which
// independent kernels run side by side. A driver without graphs launches the kernels one by one.
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
    std::size_t first = 0, pointers = 0, scalars = 0, first_scalar = 0;  // indices in cells_, and counts
    std::vector<std::size_t> after;
    GraphNode node = nullptr;
    bool changed = true;  // changed since the node's parameters were set
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
  std::mutex mutex_;                  // held while cells are patched and launched: the driver copies the cells during the launch
  Graph graph_ = nullptr;
  GraphExec exec_ = nullptr;
  bool as_graph_;
};

}  // namespace sinter::runtime::cuda
