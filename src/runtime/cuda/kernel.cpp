#include "runtime/cuda/kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sinter/errors.hpp"

namespace sinter::runtime::cuda {
namespace {

/// The bytes of shared memory, static and dynamic together, that a block may have by default.
constexpr std::size_t kSharedWithoutAsking = 48 << 10;

}  // namespace

CudaKernel::CudaKernel(std::shared_ptr<Gpu> gpu, const jit::LoopNest& nest, const jit::Binary& binary)
    : gpu_(std::move(gpu)), name_(std::make_shared<std::string>(binary.entry)), used_ints_(jit::cuda::used_ints(nest)) {
  gpu_->use();
  const Driver& api = gpu_->api();
  check_binary(api.module_load(&module_, binary.image.data()), "cannot be loaded");
  try {
    check_binary(api.module_function(&function_, module_, name_->c_str()), "is not in its module");
    static_shared_ = static_cast<std::size_t>(attribute(function_attribute::static_shared));
    shared_allowed_ = kSharedWithoutAsking - std::min(static_shared_, kSharedWithoutAsking);
    if (nest.schedule.cluster() > 1) find_room_for_clusters(nest);
  } catch (...) {
    api.module_unload(module_);
    throw;
  }
}

/// Checks that the device can run a cluster of this kernel. The blocks of a cluster run at once on neighbouring multiprocessors, so the driver is asked whether
/// there is room for that many with the maximum shared memory that a longer row may need.
void CudaKernel::find_room_for_clusters(const jit::LoopNest& nest) {
  const int cluster = nest.schedule.cluster();
  if (cluster > gpu_->max_cluster())
    throw NoClusterSpace(fmt::format("{}: kernel {} needs clusters of {} blocks, which this GPU lacks", gpu_->name(), *name_, cluster));
  jit::cuda::Geometry g = jit::cuda::geometry(nest, nest.ints, gpu_->info().sm_count);
  if (nest.schedule.steps().count == 0 && !nest.persistent.empty()) {
    g.shared = static_cast<std::size_t>(gpu_->info().shared_bytes) - static_shared_;
    ask_for_shared(g.shared);
  }
  LaunchShape shape;
  shape.grid_x = std::max(g.grid, g.cluster);
  shape.block_x = g.block_x;
  shape.shared = static_cast<unsigned>(g.shared);
  shape.stream = gpu_->stream();
  int active = 0;
  const Result r = gpu_->api().active_clusters(&active, function_, &shape);
  if (r != result::invalid_cluster_size) gpu_->check(r, [&] { return fmt::format("asking how many clusters of kernel {} run at once", *name_); });
  if (active > 0) return;
  gpu_->have_no_room_for(cluster);
  throw NoClusterSpace(fmt::format("{}: the GPU has no room for a cluster of {} blocks of kernel {}", gpu_->name(), cluster, *name_));
}

CudaKernel::~CudaKernel() {
  if (gpu_->enter()) gpu_->api().module_unload(module_);
}

CudaFunctionInfo CudaKernel::info() const {
  gpu_->use();
  return {attribute(function_attribute::registers), attribute(function_attribute::local_bytes), attribute(function_attribute::static_shared),
          attribute(function_attribute::max_threads)};
}

jit::cuda::Geometry CudaKernel::geometry(const jit::LoopNest& nest, std::span<const std::int64_t> ints) {
  const jit::cuda::Geometry g = jit::cuda::geometry(nest, ints, gpu_->info().sm_count);
  if (g.shared > shared_allowed_) {
    gpu_->use();
    ask_for_shared(g.shared);
  }
  return g;
}

std::string CudaKernel::launching(const jit::cuda::Geometry& g) const {
  const std::string clusters = g.cluster > 1 ? fmt::format(" in clusters of {}", g.cluster) : "";
  return fmt::format("launching kernel {} ({} blocks of {}x{} threads{}, {} bytes of dynamic shared memory)", *name_, g.grid, g.block_x, g.block_y, clusters,
                     g.shared);
}

void CudaKernel::launch(const jit::LoopNest& nest, const Arguments& arguments) {
  const jit::cuda::Geometry g = geometry(nest, arguments.ints);
  if (g.grid == 0) return;
  gpu_->use();

  // These arrays are on the stack, except for the largest kernels. A thread_local array would already be destroyed when destructors of static objects evaluate.
  constexpr std::size_t kFew = 64;
  const std::size_t count = arguments.pointers.size() + used_ints_.size() + arguments.scalars.size();
  std::array<std::uint64_t, kFew> few_cells;
  std::array<void*, kFew> few_parameters;
  std::vector<std::uint64_t> many_cells(count > kFew ? count : 0);
  std::vector<void*> many_parameters(many_cells.size());
  std::uint64_t* const cells = many_cells.empty() ? few_cells.data() : many_cells.data();
  void** const parameters = many_cells.empty() ? few_parameters.data() : many_parameters.data();
  std::uint64_t* next = cells;
  for (void* pointer : arguments.pointers) *next++ = reinterpret_cast<std::uint64_t>(pointer);
  for (int i : used_ints_) *next++ = static_cast<std::uint64_t>(arguments.ints[i]);
  std::copy(arguments.scalars.begin(), arguments.scalars.end(), next);
  for (std::size_t i = 0; i < count; ++i) parameters[i] = cells + i;

  gpu_->note_launches({&name_, 1});
  gpu_->check(gpu_->api().launch(function_, g.grid, 1, 1, g.block_x, g.block_y, 1, static_cast<unsigned>(g.shared), gpu_->stream(), parameters, nullptr),
              [&] { return launching(g); });
}

int CudaKernel::attribute(int what) const {
  int value = 0;
  gpu_->check(gpu_->api().function_attribute(&value, what, function_), [&] { return fmt::format("asking for kernel {}'s resources", *name_); });
  return value;
}

/// Throws CompileError if the binary has a fault, and DeviceError if the device has one.
void CudaKernel::check_binary(Result r, const char* what) {
  if (is_of_binary(r)) {
    const std::string_view advice = advice_for(r);
    throw CompileError(fmt::format("kernel {} {}: {}{}{}", *name_, what, gpu_->api().describe(r), advice.empty() ? "" : "; ", advice));
  }
  gpu_->check(r, [&] { return fmt::format("loading kernel {}", *name_); });
}

/// Asks for dynamic shared memory. The limit of a block counts static and dynamic shared memory together.
void CudaKernel::ask_for_shared(std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  if (bytes <= shared_allowed_) return;
  if (bytes + static_shared_ > static_cast<std::size_t>(gpu_->info().shared_bytes))
    throw DeviceError(fmt::format("{}: kernel {} needs {} bytes of shared memory for a row{}; a block has at most {}", gpu_->name(), *name_, bytes,
                                  static_shared_ ? fmt::format(" and {} for its threads' parts", static_shared_) : "", gpu_->info().shared_bytes));
  gpu_->check(gpu_->api().function_set_attribute(function_, function_attribute::max_dynamic_shared, static_cast<int>(bytes)),
              [&] { return fmt::format("asking for {} bytes of shared memory for kernel {}", bytes, *name_); });
  shared_allowed_ = bytes;
}

}  // namespace sinter::runtime::cuda
