#include "runtime/cuda/replay.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <cstring>

#include "base/log.hpp"

namespace sinter::runtime::cuda {
namespace {

/// The minimum number of launches for a graph, because launching a graph costs the driver about as much as launching two kernels.
constexpr std::size_t kMinGraphLaunches = 3;

}  // namespace

CudaReplay::CudaReplay(std::shared_ptr<Gpu> gpu, std::span<const RepeatedLaunch> launches)
    : gpu_(std::move(gpu)), as_graph_(launches.size() >= kMinGraphLaunches && gpu_->api().has_graphs()) {
  for (const RepeatedLaunch& from : launches) {
    auto& kernel = static_cast<CudaKernel&>(from.kernel);
    Launch& launch = launches_.emplace_back();
    launch.kernel = &kernel;
    launch.geometry = kernel.geometry(from.nest, from.ints);
    launch.first = cells_.size();
    launch.pointers = from.pointers;
    cells_.resize(cells_.size() + from.pointers);
    for (const int used : kernel.used_ints()) cells_.push_back(static_cast<std::uint64_t>(from.ints[static_cast<std::size_t>(used)]));
    launch.first_scalar = cells_.size();
    launch.scalars = from.nest.scalars.size();
    cells_.resize(cells_.size() + launch.scalars);
    launch.after = from.after;
    names_.push_back(kernel.name());
  }
  for (std::uint64_t& cell : cells_) parameters_.push_back(&cell);
}

CudaReplay::~CudaReplay() {
  if (gpu_->enter()) drop_graph();
}

KernelNode CudaReplay::node_of(const Launch& launch) {
  const auto& g = launch.geometry;
  return {launch.kernel->function(), g.grid, 1, 1, g.block_x, g.block_y, 1, static_cast<unsigned>(g.shared), parameters_.data() + launch.first, nullptr};
}

void CudaReplay::patch(std::span<void* const> pointers, std::span<const std::uint64_t> scalars) {
  static_assert(sizeof(void*) == sizeof(std::uint64_t));
  const auto put = [&](Launch& launch, std::size_t at, const void* from, std::size_t count) {
    if (count == 0 || std::memcmp(&cells_[at], from, count * sizeof(std::uint64_t)) == 0) return;
    std::memcpy(&cells_[at], from, count * sizeof(std::uint64_t));
    launch.changed = true;
  };
  std::size_t pointer = 0, scalar = 0;
  for (Launch& launch : launches_) {
    put(launch, launch.first, pointers.data() + pointer, launch.pointers);
    put(launch, launch.first_scalar, scalars.data() + scalar, launch.scalars);
    pointer += launch.pointers;
    scalar += launch.scalars;
  }
}

bool CudaReplay::run(std::span<void* const> pointers, std::span<const std::uint64_t> scalars) {
  const std::scoped_lock lock(mutex_);
  gpu_->use();
  patch(pointers, scalars);
  gpu_->note_launches(names_);
  const Driver& api = gpu_->api();
  if (as_graph_ && (exec_ || make_graph())) {
    for (Launch& launch : launches_) {
      if (!launch.changed) continue;
      const KernelNode node = node_of(launch);
      gpu_->check(api.graph_set_kernel(exec_, launch.node, &node), [&] { return fmt::format("{} in a graph", launch.kernel->launching(launch.geometry)); });
      launch.changed = false;
    }
    gpu_->check(api.graph_launch(exec_, gpu_->stream()), [&] { return fmt::format("launching a graph of the kernels {}", all_names()); });
    return true;
  }
  for (const Launch& launch : launches_) {
    const KernelNode n = node_of(launch);
    gpu_->check(api.launch(n.function, n.grid_x, n.grid_y, n.grid_z, n.block_x, n.block_y, n.block_z, n.shared, gpu_->stream(), n.parameters, nullptr),
                [&] { return launch.kernel->launching(launch.geometry); });
  }
  return false;
}

/// Returns false if the driver cannot make the graph; later runs then launch the kernels one by one. If the device itself failed, these launches report it.
bool CudaReplay::make_graph() {
  const Driver& api = gpu_->api();
  Result r = api.graph_create(&graph_, 0);
  std::vector<GraphNode> after;
  for (Launch& launch : launches_) {
    if (r != result::success) break;
    after.clear();
    for (const std::size_t other : launch.after) after.push_back(launches_[other].node);
    const KernelNode node = node_of(launch);
    r = api.graph_add_kernel(&launch.node, graph_, after.data(), after.size(), &node);
    launch.changed = false;
  }
  if (r == result::success) r = api.graph_instantiate(&exec_, graph_, 0);
  if (r == result::success) return true;
  drop_graph();
  as_graph_ = false;
  static std::atomic<bool> reported{false};  // warns once, because every other plan would give the same warning
  log().at(reported.exchange(true) ? spdlog::level::info : spdlog::level::warn, "{}: no graph of {} kernels: {}; they are launched one by one", gpu_->name(),
           launches_.size(), api.describe(r));
  return false;
}

void CudaReplay::drop_graph() noexcept {
  if (exec_) gpu_->api().graph_exec_destroy(exec_);
  if (graph_) gpu_->api().graph_destroy(graph_);
  exec_ = nullptr;
  graph_ = nullptr;
}

std::string CudaReplay::all_names() const {
  std::vector<std::string_view> names;
  for (const auto& name : names_) names.push_back(*name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace sinter::runtime::cuda
