#include "runtime/host/host_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <typeinfo>

#include "base/per_thread.hpp"
#include "base/threads.hpp"
#include "jit/compiler.hpp"
#include "kernels/library.hpp"
#include "kernels/products/byte_product.hpp"
#include "runtime/host/interpreter.hpp"
#include "runtime/host/memory_pool.hpp"
#include "runtime/host/partition.hpp"
#include "runtime/host/scratch.hpp"
#include "sinter/counted.hpp"
#include "sinter/errors.hpp"

namespace sinter::runtime {

using namespace kernels;
namespace {

using PoolPtr = std::shared_ptr<MemoryPool>;

class PooledBuffer final : public Buffer {
 public:
  PooledBuffer(PoolPtr pool, std::size_t bytes) : pool_(std::move(pool)), data_(pool_->take(bytes)), bytes_(bytes) {}
  ~PooledBuffer() override { pool_->give_back(data_, bytes_); }
  PooledBuffer(const PooledBuffer&) = delete;
  PooledBuffer& operator=(const PooledBuffer&) = delete;
  void* data() override { return data_; }
  std::size_t bytes() const override { return bytes_; }

 private:
  PoolPtr pool_;  // this may outlive the device
  void* data_;
  std::size_t bytes_;
};

class InterpretedKernel final : public Kernel {
 public:
  explicit InterpretedKernel(const jit::LoopNest& nest) : interpreter(nest) {}
  const Interpreter interpreter;
};

class CompiledKernel final : public Kernel {
 public:
  explicit CompiledKernel(const jit::Binary& binary) : code(jit::load_object(binary)), entry(code->entry()) {}
  const std::shared_ptr<jit::LoadedCode> code;
  const jit::CpuEntry entry;
};

/// Returns the bytes of scratch that a compiled kernel needs, as jit::CpuEntry defines them.
std::int64_t scratch_bytes(const jit::LoopNest& nest, std::span<const std::int64_t> ints) {
  const std::int64_t points = row_points(nest, ints), values = points * (nest.schedule.lanes_along_rows() ? jit::rows_at_once(points) : 64);
  return (values * 8 + 63) / 64 * 64 * static_cast<std::int64_t>(nest.persistent.size());
}

/// Runs parts of a kernel's points. A library call runs its epilogue many times, each time for a few microseconds, so the kernel's type is tested only once.
class Runner {
 public:
  Runner(Kernel& kernel, const jit::LoopNest& nest, const Arguments& arguments) {
    if (typeid(kernel) == typeid(CompiledKernel)) entry_ = static_cast<CompiledKernel&>(kernel).entry, scratch_ = scratch_bytes(nest, arguments.ints);
    else if (typeid(kernel) == typeid(InterpretedKernel)) interpreter_ = &static_cast<InterpretedKernel&>(kernel).interpreter;
    else throw InternalError("cpu: launch of a kernel that another device loaded");
  }

  void operator()(const Arguments& arguments, std::int64_t outer_begin, std::int64_t outer_end, std::int64_t inner_begin, std::int64_t inner_end) const {
    if (interpreter_) return interpreter_->run(arguments, outer_begin, outer_end, inner_begin, inner_end);
    entry_(arguments.pointers.data(), arguments.ints.data(), arguments.scalars.data(),
           scratch_ > 0 ? per_thread<Scratch>().reserve(static_cast<std::size_t>(scratch_)) : nullptr, outer_begin, outer_end, inner_begin, inner_end);
  }

 private:
  const Interpreter* interpreter_ = nullptr;  // null: the kernel is compiled
  jit::CpuEntry entry_ = nullptr;
  std::int64_t scratch_ = 0;
};

class HostDevice final : public Device {
 public:
  explicit HostDevice(int threads) { set_threads(threads); }

  std::string name() const override { return "cpu"; }
  std::string model() const override { return fmt::format("{}, {}", jit::host_processor(), counted(threads_.load(), "thread")); }
  fuse::Limits limits() const override {
    fuse::Limits limits = fuse::cpu_limits();
    limits.channel_blocks = limits.fold_channels = limits.block_bytes = limits.scale_bytes = jit::host_cpu().vector_bytes >= 32;
    limits.lay_out_bytes = true;
    limits.byte_panels = &kernels::byte_panels() != &kernels::kBytePanelsBaseline;
    return limits;
  }
  void set_threads(int threads) override { threads_ = thread_count(threads); }
  BufferPtr allocate(std::size_t bytes) override { return std::make_shared<PooledBuffer>(pool_, bytes); }
  void upload(Buffer& to, const void* from, std::size_t bytes) override { move("upload", to, to.data(), from, bytes); }
  void download(void* to, Buffer& from, std::size_t bytes) override { move("download", from, to, from.data(), bytes); }
  void copy(Buffer& to, Buffer& from, std::size_t bytes) override { move("copy", to.bytes() < from.bytes() ? to : from, to.data(), from.data(), bytes); }

  bool reads_host() const override { return true; }
  std::shared_ptr<void> host_memory(const BufferPtr& buffer) override { return {buffer, buffer->data()}; }

  KernelPtr load(const jit::LoopNest& nest, const jit::Binary& binary) override {
    if (binary.image.empty()) return std::make_shared<InterpretedKernel>(nest);
    return std::make_shared<CompiledKernel>(binary);
  }

  void launch(Kernel& kernel, const jit::LoopNest& nest, const Arguments& arguments) override {
    const int threads = threads_;
    const Partition parts = partition(nest, arguments.ints, threads);
    const Runner run(kernel, nest, arguments);
    if (parts.pieces() == 1) return run(arguments, 0, parts.outer, 0, parts.inner);
    run_tasks(threads, parts.pieces(), [&](std::int64_t piece) {
      const std::int64_t outer = piece / parts.inner_pieces * parts.outer_step;
      const std::int64_t inner = piece % parts.inner_pieces * parts.inner_step;
      run(arguments, outer, std::min(outer + parts.outer_step, parts.outer), inner, std::min(inner + parts.inner_step, parts.inner));
    });
  }

  void launch_part(Kernel& kernel, const jit::LoopNest& nest, const Arguments& arguments, const jit::Box& box) override {
    const int threads = threads_;
    const std::vector<Ranges> pieces = pieces_of(box, nest, arguments.ints, threads);
    const Runner run(kernel, nest, arguments);
    run_tasks(threads, static_cast<std::int64_t>(pieces.size()), [&](std::int64_t piece) {
      const Ranges& part = pieces[static_cast<std::size_t>(piece)];
      run(arguments, part.outer_begin, part.outer_end, part.inner_begin, part.inner_end);
    });
  }

  void call(const fuse::LibraryCall& call, std::span<void* const> pointers, const EpilogueKernel* epilogue) override {
    if (!epilogue) return run_library_call(call, pointers, threads_, nullptr);
    const jit::LoopNest& nest = epilogue->nest;
    const std::int64_t inner = epilogue->arguments.ints[static_cast<std::size_t>(nest.lane_axis())];
    const Runner run(epilogue->kernel, nest, epilogue->arguments);
    // Runs whole rows of the vector axis at once, and the two ends of a piece separately.
    const auto walk = [&](const Arguments& arguments, std::int64_t begin, std::int64_t end) {
      while (begin < end) {
        const std::int64_t row = begin / inner, at = begin % inner, left = end - begin;
        const std::int64_t rows = at == 0 ? left / inner : 0, points = rows > 0 ? rows * inner : std::min(inner - at, left);
        if (rows > 0) run(arguments, row, row + rows, 0, inner);
        else run(arguments, row, row + 1, at, at + points);
        begin += points;
      }
    };
    const Epilogue::Call apply = [&](std::int64_t begin, std::int64_t end, const void* at) {
      if (!at) return walk(epilogue->arguments, begin, end);
      std::vector<void*> there(epilogue->arguments.pointers.begin(), epilogue->arguments.pointers.end());
      for (std::size_t k = 0; k < nest.inputs.size(); ++k)
        if (nest.inputs[k].buffer == call.node)
          there[k] = const_cast<char*>(static_cast<const char*>(at) - begin * static_cast<std::int64_t>(itemsize(nest.inputs[k].dtype)));
      walk({there, epilogue->arguments.ints, epilogue->arguments.scalars}, begin, end);
    };
    run_library_call(call, pointers, threads_, {apply, pointers.back() == nullptr});
  }

  void synchronize() override {}  // a launch returns when it is done
  MemoryUse memory() const override { return pool_->use(); }
  void reset_peak() override { pool_->reset_peak(); }
  void trim() override { pool_->trim(); }
  void before_fork() override { pool_->hold(); }
  void after_fork() override { pool_->release(); }

 private:
  static void move(const char* what, const Buffer& smaller, void* to, const void* from, std::size_t bytes) {
    if (bytes > smaller.bytes()) throw InternalError(fmt::format("cpu: {} of {} with a buffer of {}", what, counted(bytes, "byte"), smaller.bytes()));
    if (bytes > 0) std::memmove(to, from, bytes);
  }

  std::atomic<int> threads_{1};
  PoolPtr pool_ = std::make_shared<MemoryPool>();
};

}  // namespace

DevicePtr open_host(int threads) { return std::make_shared<HostDevice>(threads); }

}  // namespace sinter::runtime
