// Faults on a device, and their messages. A device stays lost in its process, so each fault is a skipped test case ("child: ...") that a separate process runs.
// The emulator reports the fault.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <random>
#include <thread>

#include "cuda_fixture.hpp"
#include "nest_builder.hpp"
#include "run_command.hpp"
#include "runtime/cuda/driver.hpp"
#include "seed.hpp"

using namespace sinter;
using namespace sinter::test;
using jit::LoopNest;
using testing::NestBuilder;
using testing::Op;

namespace {

constexpr DType f32 = DType::float32;

testing::Ran child(const std::string& test_case, const std::string& environment = "") { return testing::run_test_case(test_case, environment); }
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// These tests need the emulator's checks.
bool on_gpu() { return !has(gpu().info().name, "emulated"); }

LoopNest sum_of_rows(std::int64_t rows, std::int64_t columns) {
  NestBuilder b({rows}, {columns}, true);
  b.nest.name = "sum_of_rows";
  b.stage(true);
  const int sum = b.reduce(Op::reduce_sum, b.load(f32, b.affine({columns, 1})));
  b.stage(false);
  b.store(sum, b.affine({1, 0}));
  return b.nest;
}
LoopNest negative(std::int64_t count) {
  NestBuilder b({count});
  b.nest.name = "negative";
  b.stage(false);
  const int x = b.affine({1});
  b.store(b.op(Op::negative, {b.load(f32, x)}), x);
  return b.nest;
}

/// Changes the source of a nest's kernel, runs the kernel and prints the result.
void run_changed(const LoopNest& nest, const std::string& from, const std::string& to, std::size_t inputs, std::size_t outputs) {
  jit::Source source = jit::generate_cuda(nest, gpu().info().sm);
  const std::size_t at = source.text.find(from);
  REQUIRE(at != std::string::npos);
  source.text.replace(at, from.size(), to);
  const jit::Binary binary = compiler().compile(source);
  const runtime::KernelPtr kernel = gpu().load(nest, binary);
  const runtime::BufferPtr in = gpu().allocate(4 * inputs), out = gpu().allocate(4 * outputs);
  const std::vector<float> ones(inputs, 1.0f);
  gpu().upload(*in, ones.data(), 4 * inputs);
  void* const pointers[] = {in->data(), out->data()};
  std::vector<float> results(outputs);
  try {
    gpu().launch(*kernel, nest, {pointers, nest.ints, {}});
    gpu().download(results.data(), *out, 4 * outputs);
    const float expected = results[0] < 0 ? -1.0f : static_cast<float>(inputs / outputs);
    std::size_t wrong = 0;
    for (float r : results) wrong += r != expected;
    fmt::print("RESULTS: {} of {} wrong, the first is {}\n", wrong, outputs, results[0]);
  } catch (const DeviceError& error) {
    fmt::print("ERROR: {}\n", error.what());
  }
  try {
    gpu().synchronize();
  } catch (const DeviceError& error) {
    fmt::print("AGAIN: {}\n", error.what());
  }
  std::fflush(stdout);
}

constexpr const char* kBarrier = "__syncthreads();\n    float";  // the barrier between writing and reading the parts

}  // namespace

TEST_CASE("an upload has read the host's memory when it returns, and a download has written it") {
  std::mt19937_64 random(sinter::testing::fresh_seed());
  const auto drawn = [&](std::size_t bytes) {
    std::vector<unsigned char> all(bytes);
    for (unsigned char& byte : all) byte = static_cast<unsigned char>(random());
    return all;
  };
  const auto round = [&](std::size_t bytes) {
    const auto first = drawn(bytes), second = drawn(bytes);
    std::vector<unsigned char> given = first, got(bytes), other(bytes);
    const runtime::BufferPtr a = gpu().allocate(bytes), b = gpu().allocate(bytes), copy = gpu().allocate(bytes);
    gpu().upload(*a, given.data(), bytes);
    given = second;  // the copies of the first data may not be done yet
    gpu().upload(*b, given.data(), bytes);
    std::fill(given.begin(), given.end(), static_cast<unsigned char>(7));
    gpu().copy(*copy, *a, bytes);
    gpu().download(got.data(), *copy, bytes);
    gpu().download(other.data(), *b, bytes);
    CHECK(got == first);
    CHECK(other == second);
  };
  for (const std::size_t bytes : {1u, 4096u, 65536u, 65537u, 1048576u, 1048577u, 4194304u, 4194305u, 9437189u}) {
    CAPTURE(bytes);
    round(bytes);
  }
  // Several threads copy at once. A thread that finds the pinned memory in use lets the driver copy.
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([&, k] {
      const std::vector<unsigned char> mine(3000000 + static_cast<std::size_t>(k), static_cast<unsigned char>(k + 1));
      std::vector<unsigned char> got(mine.size());
      const runtime::BufferPtr there = gpu().allocate(mine.size());
      for (int turn = 0; turn < 5; ++turn) {
        gpu().upload(*there, mine.data(), mine.size());
        gpu().download(got.data(), *there, got.size());
        wrong += got != mine;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("child: barrier removed" * doctest::skip()) { run_changed(sum_of_rows(40, 1000), kBarrier, "float", 40000, 40); }
TEST_CASE("child: second barrier removed" * doctest::skip()) { run_changed(sum_of_rows(9000, 40), "__syncthreads();  //", "//", 360000, 9000); }
TEST_CASE("child: barrier of some threads" * doctest::skip()) {
  run_changed(sum_of_rows(40, 1000), kBarrier, "if (threadIdx.x < 64) __syncthreads();\n    float", 40000, 40);
}
TEST_CASE("child: shuffle of some lanes" * doctest::skip()) {
  run_changed(sum_of_rows(40, 1000), "distance >>= 1) {", "distance >>= 1) { if ((threadIdx.x & 31) == 7 && distance == 8) break;", 40000, 40);
}
TEST_CASE("child: unchanged" * doctest::skip()) { run_changed(sum_of_rows(40, 1000), "__syncthreads", "__syncthreads", 40000, 40); }
TEST_CASE("child: three kernels" * doctest::skip()) {
  // The second kernel has the fault, which is reported only when a thread waits.
  const LoopNest sum = sum_of_rows(4, 1000), wild = negative(1000);
  jit::Source source = jit::generate_cuda(wild, gpu().info().sm);
  source.text.replace(source.text.find("out0[p0]"), 8, "((float*)16)[p0]");
  const runtime::KernelPtr summing = gpu().load(sum, compiler().compile(jit::generate_cuda(sum, gpu().info().sm)));
  const runtime::KernelPtr failing = gpu().load(wild, compiler().compile(source));
  const runtime::BufferPtr in = gpu().allocate(16000), out = gpu().allocate(4000);
  gpu().upload(*in, std::vector<float>(4000).data(), 16000);
  void* const pointers[] = {in->data(), out->data()};
  try {
    gpu().launch(*summing, sum, {pointers, sum.ints, {}});
    gpu().synchronize();
    gpu().launch(*failing, wild, {pointers, wild.ints, {}});
    gpu().launch(*summing, sum, {pointers, sum.ints, {}});
    gpu().synchronize();
  } catch (const DeviceError& error) {
    fmt::print("ERROR: {}\n", error.what());
  }
}
TEST_CASE("child: past the end" * doctest::skip()) { run_changed(negative(1000), "point < points", "point <= points", 1000, 1000); }
TEST_CASE("child: wild pointer" * doctest::skip()) { run_changed(negative(1000), "out0[p0]", "((float*)16)[p0]", 1000, 1000); }
TEST_CASE("child: host reads device memory" * doctest::skip()) {
  const runtime::BufferPtr b = gpu().allocate(64);
  fmt::print("READ {}\n", *static_cast<volatile float*>(b->data()));
}
TEST_CASE("child: open" * doctest::skip()) {
  std::string why;
  fmt::print("LISTED {} {}\n", runtime::list_cuda(&why).size(), why);
  try {
    fmt::print("OPENED {}\n", runtime::open_cuda(0)->info().name);
  } catch (const DeviceError& error) {
    fmt::print("ERROR: {}\n", error.what());
  }
}
TEST_CASE("child: allocate" * doctest::skip()) {
  const runtime::BufferPtr held = gpu().allocate(600 << 10);
  try {
    gpu().allocate(600 << 10);
    fmt::print("ALLOCATED\n");
  } catch (const DeviceError& error) {
    fmt::print("ERROR: {}\n", error.what());
  }
}
TEST_CASE("child: allocate and free" * doctest::skip()) {
  for (int i = 0; i < 50; ++i) {
    const runtime::BufferPtr b = gpu().allocate(100000);
    const int value = i;
    int back = -1;
    gpu().upload(*b, &value, sizeof(value));
    gpu().download(&back, *b, sizeof(back));
    REQUIRE(back == i);
  }
  fmt::print("IN USE {} AT PEAK {}\n", gpu().memory().now, gpu().memory().peak);
}

TEST_CASE("a missing barrier in a reduction is reported") {
  if (on_gpu()) {
    MESSAGE("SKIPPED (1 test): a GPU does not notice a missing barrier, only the emulator does");
    return;
  }
  CHECK(has(child("child: unchanged").out, "RESULTS: 0 of 40 wrong"));

  const auto line_from = [](const std::string& text, const std::string& start) {
    const std::size_t at = std::min(text.find(start), text.size());
    return text.substr(at, text.find('\n', at) - at);
  };
  for (const std::string which : {"child: barrier removed", "child: second barrier removed"}) {
    const std::string output = child(which).out;
    MESSAGE(which, " -> ", line_from(output, "cuda emulator:"));
    CAPTURE(output);
    CHECK(has(output, "cuda emulator: kernel sum_of_rows: block ("));
    CHECK((has(output, "with no barrier between") || has(output, "which no thread of the block has written")));
    CHECK(has(output, "ERROR: cuda:0"));
    CHECK(has(output, "CUDA_ERROR_LAUNCH_FAILED (719)"));
    CHECK(has(output, "the kernel at fault is sum_of_rows"));
    CHECK(has(output, "AGAIN: cuda:0"));
    CHECK(has(output, "the device was lost earlier"));
  }
  // With the emulator's checks off, wrong values show the fault, because the emulator runs threads in any order.
  const std::string values = child("child: barrier removed", "SINTER_EMULATOR_CHECKS=off").out;
  MESSAGE("checks off -> ", line_from(values, "RESULTS"));
  CAPTURE(values);
  CHECK(has(values, "RESULTS: "));
  CHECK(!has(values, "RESULTS: 0 of"));
  CHECK(has(child("child: unchanged", "SINTER_EMULATOR_CHECKS=off").out, "RESULTS: 0 of 40 wrong"));
}

TEST_CASE("a barrier or shuffle that some threads miss is a failed launch, not a hang") {
  if (on_gpu()) {
    MESSAGE("SKIPPED (1 test): undefined on a GPU");
    return;
  }
  const std::string barrier = child("child: barrier of some threads", "SINTER_EMULATOR_CHECKS=off").out;
  CAPTURE(barrier);
  CHECK(has(barrier, "waits at the barrier of line"));  // the threads that skipped the barrier wait at the next one
  CHECK(has(barrier, "CUDA_ERROR_LAUNCH_FAILED"));
  const std::string shuffle = child("child: shuffle of some lanes").out;
  CAPTURE(shuffle);
  CHECK(has(shuffle, "wait in a shuffle"));
  CHECK(has(shuffle, "CUDA_ERROR_LAUNCH_FAILED"));
}

TEST_CASE("accesses outside the device's memory are reported") {
  if (on_gpu()) {
    MESSAGE("SKIPPED (1 test): a GPU does not notice a step past the end");
    return;
  }
  for (const char* which : {"child: past the end", "child: wild pointer"})
    for (const char* checks : {"", "SINTER_EMULATOR_CHECKS=off"}) {
      if (std::string(checks) != "" && std::string(which) == "child: past the end") continue;  // within the closed page's slack
      const std::string output = child(which, checks).out;
      CAPTURE(output);
      CHECK(has(output, "cuda emulator: kernel negative: "));
      CHECK(has(output, "CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
      CHECK(has(output, "the kernel at fault is negative"));
    }
  const testing::Ran host = child("child: host reads device memory");
  CHECK(!has(host.out, "READ"));
  CHECK(has(host.out, "SIGSEGV"));
}

TEST_CASE("a missing driver, no GPU, or an unknown GPU is an error") {
  const std::string missing = child("child: open", "SINTER_CUDA_DRIVER=/nonexistent/libcuda.so.1").out;
  CAPTURE(missing);
  CHECK(has(missing, "LISTED 0 no CUDA driver: tried /nonexistent/libcuda.so.1"));
  CHECK(has(missing, "ERROR: no CUDA driver"));
  const std::string foreign = child("child: open", "SINTER_CUDA_DRIVER=libm.so.6").out;
  CAPTURE(foreign);
  CHECK(has(foreign, "libm.so.6 has no cuInit"));
  if (!on_gpu()) {
    const std::string none = child("child: open", "SINTER_EMULATOR_GPU=none").out;
    CAPTURE(none);
    CHECK(has(none, "finds no GPU"));
    CHECK(has(child("child: open", "SINTER_EMULATOR_GPU=T4").out, "OPENED emulated T4"));
  }
  const std::size_t count = runtime::list_cuda().size();
  REQUIRE(count >= 1);
  CHECK_THROWS_WITH_AS(runtime::open_cuda(static_cast<int>(count)), doctest::Contains("does not exist"), DeviceError);
  CHECK_THROWS_AS(runtime::open_cuda(-1), DeviceError);
}

TEST_CASE("memory is exhausted, reused, and allocated without a pool") {
  if (!on_gpu()) {
    const std::string full = child("child: allocate", "SINTER_EMULATOR_MEMORY=1048576").out;
    CAPTURE(full);
    CHECK(has(full, "ERROR: cuda:0: allocating 614400 bytes (614400 of 1048576 are in use)"));
    CHECK(has(full, "free tensors"));
    for (const char* pools : {"SINTER_EMULATOR_POOLS=1", "SINTER_EMULATOR_POOLS=0"})
      CHECK(has(child("child: allocate and free", std::string(pools) + " SINTER_EMULATOR_MEMORY=1048576").out, "IN USE 0 AT PEAK 100000"));
  }
  CHECK_THROWS_AS(gpu().allocate(std::size_t{1} << 60), DeviceError);
  const runtime::BufferPtr small = gpu().allocate(8);
  char bytes[16] = {};
  CHECK_THROWS_AS(gpu().upload(*small, bytes, 16), InternalError);
  CHECK(gpu().allocate(0)->data() != nullptr);
}

TEST_CASE("binaries for other devices are refused") {
  const LoopNest nest = negative(16);
  jit::Binary binary;
  binary.entry = "negative";
  CHECK_THROWS_AS(gpu().load(nest, binary), DeviceError);
  binary.image.assign(4096, 0x5a);
  CHECK_THROWS_WITH_AS(gpu().load(nest, binary), doctest::Contains("CUDA_ERROR_INVALID_IMAGE"), CompileError);
  if (on_gpu()) return;
  binary = compiler().compile(jit::generate_cuda(nest, gpu().info().sm == 75 ? 80 : 75));
  CHECK_THROWS_WITH_AS(gpu().load(nest, binary), doctest::Contains("CUDA_ERROR_NO_BINARY_FOR_GPU"), CompileError);
  binary = compiler().compile(jit::generate_cuda(nest, gpu().info().sm));
  binary.entry = "another";
  CHECK_THROWS_WITH_AS(gpu().load(nest, binary), doctest::Contains("kernel another is not in its module"), CompileError);
}

TEST_CASE("a GPU newer than NVRTC gets PTX; a driver older than NVRTC says what to install") {
  if (on_gpu()) return;
  need_nvrtc();
  const std::string newer = child("child: unchanged", "SINTER_EMULATOR_GPU=FUTURE").out;
  CAPTURE(newer);
  CHECK(has(newer, "RESULTS: 0 of 40 wrong"));
  const std::string old_for_ptx = child("child: unchanged", "SINTER_EMULATOR_GPU=FUTURE SINTER_EMULATOR_DRIVER=12040").out;
  CAPTURE(old_for_ptx);
  CHECK(has(old_for_ptx, "kernel sum_of_rows cannot be loaded: CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222)"));
  const std::string old = child("child: unchanged", "SINTER_EMULATOR_DRIVER=12040").out;
  CAPTURE(old);
  CHECK(has(old, "kernel sum_of_rows cannot be loaded: CUDA_ERROR_INVALID_IMAGE (200)"));
  for (const std::string& output : {old_for_ptx, old}) CHECK(has(output, "install a driver for its CUDA version, or name an NVRTC of the driver's"));
}

TEST_CASE("of several NVRTCs the newest one that the driver supports is found") {
  namespace fs = std::filesystem;
  const fs::path home = fs::temp_directory_path() / fmt::format("sinter_nvrtcs_{}", getpid());
  fs::create_directories(home / "lib64");
  for (const char* version : {"11.2", "12", "13"}) fs::copy_file(NVRTC_EMULATOR, home / "lib64" / fmt::format("libnvrtc.so.{}", version));
  const std::string named = std::getenv("SINTER_NVRTC");  // the fixture sets it
  const char* const path = std::getenv("LD_LIBRARY_PATH");
  const std::string searched = path ? path : "";
  setenv("LD_LIBRARY_PATH", (home / "lib64").c_str(), 1);
  unsetenv("SINTER_NVRTC");
  for (const auto& [driver, file] :
       {std::pair{0, "libnvrtc.so.13"}, std::pair{13, "libnvrtc.so.13"}, std::pair{12, "libnvrtc.so.12"}, std::pair{11, "libnvrtc.so.11.2"}})
    CHECK(jit::find_nvrtc(driver)->path() == (home / "lib64" / file).string());
  setenv("SINTER_NVRTC", named.c_str(), 1);
  setenv("LD_LIBRARY_PATH", searched.c_str(), 1);
  fs::remove_all(home);
}

TEST_CASE("rows near 48 KiB, the shared memory that a block may use by default") {
  for (const std::int64_t columns : {12271, 12272, 12273, 12287, 12288, 12289, 14000}) {
    NestBuilder b({2}, {columns}, true);
    const int x = b.affine({columns, 1});
    b.stage(true);
    const int value = b.load(f32, x), buffer = b.keep(value), sum = b.reduce(Op::reduce_sum, value);
    b.stage(true);
    b.store(b.op(Op::divide, {b.persistent(buffer), sum}), x);
    const Array input(Random().floats(2 * columns, 0.5, 1.5));
    const std::vector<Array> y = run(b.nest, {input}, {static_cast<std::size_t>(2 * columns)});
    for (int row = 0; row < 2; ++row) {
      double expected = 0;
      for (std::int64_t i = 0; i < columns; ++i) expected += input.number(row * columns + i);
      CHECK(y[0].number(row * columns + columns - 1) * expected == doctest::Approx(input.number(row * columns + columns - 1)).epsilon(1e-5));
    }
  }
}

TEST_CASE("the device's default pool is not changed, and sinter's pool keeps freed memory until trim") {
  if (on_gpu()) return;
  using Pool = runtime::cuda::Pool;
  gpu().allocate(1 << 20);
  void* library = dlopen(std::getenv("SINTER_CUDA_DRIVER"), RTLD_NOW);
  const auto get_default = reinterpret_cast<int (*)(Pool*, int)>(dlsym(library, "cuDeviceGetDefaultMemPool"));
  const auto get = reinterpret_cast<int (*)(Pool, int, void*)>(dlsym(library, "cuMemPoolGetAttribute"));
  REQUIRE((get_default && get));
  Pool pool = nullptr;
  std::uint64_t threshold = 1;
  CHECK(get_default(&pool, 0) == 0);
  CHECK(get(pool, runtime::cuda::kPoolReleaseThreshold, &threshold) == 0);
  CHECK(threshold == 0);
  CHECK_NOTHROW(gpu().trim());
  CHECK(gpu().memory().now == 0);
}

TEST_CASE("an asynchronous error names the kernels that may have caused it") {
  if (on_gpu()) return;
  const std::string several = child("child: three kernels").out;
  CAPTURE(several);
  CHECK(has(several, "ERROR: cuda:0: waiting for it: CUDA_ERROR_ILLEGAL_ADDRESS"));
  CHECK(has(several, "at fault is one of the 2 kernels launched since the device was last waited for: negative, sum_of_rows; CUDA_LAUNCH_BLOCKING=1"));
  const std::string blocking = child("child: three kernels", "CUDA_LAUNCH_BLOCKING=1").out;
  CAPTURE(blocking);
  CHECK(has(blocking, "ERROR: cuda:0: launching kernel negative"));
}

TEST_CASE("a row that does not fit in shared memory is refused before the launch") {
  NestBuilder b({1}, {1 << 20}, true);
  b.stage(true);
  const int x = b.affine({0, 1}), buffer = b.keep(b.load(f32, x));
  b.stage(true);
  b.store(b.persistent(buffer), x);
  const jit::Binary binary = compiler().compile(jit::generate_cuda(b.nest, gpu().info().sm));
  const runtime::KernelPtr kernel = gpu().load(b.nest, binary);
  const runtime::BufferPtr from = gpu().allocate(4 << 20), to = gpu().allocate(4 << 20);
  gpu().upload(*from, std::vector<float>(1 << 20).data(), 4 << 20);
  void* const pointers[] = {from->data(), to->data()};
  CHECK_THROWS_WITH_AS(gpu().launch(*kernel, b.nest, {pointers, b.nest.ints, {}}), doctest::Contains("needs 4194304 bytes of shared memory"), DeviceError);
  // Above the default shared memory of a block, and within its opt-in limit.
  b.nest.ints[1] = 12 * 1024 + 256;
  CHECK_NOTHROW(gpu().launch(*kernel, b.nest, {pointers, b.nest.ints, {}}));
  CHECK_NOTHROW(gpu().synchronize());
}

TEST_CASE("a loaded kernel reports its resources and its time") {
  const LoopNest nest = sum_of_rows(2000, 100);
  const jit::Binary binary = compiler().compile(jit::generate_cuda(nest, gpu().info().sm));
  const runtime::KernelPtr kernel = gpu().load(nest, binary);
  const runtime::CudaFunctionInfo info = gpu().function_info(*kernel);
  need_nvrtc();
  CHECK(info.registers == binary.report.registers);
  CHECK(info.static_shared == binary.report.shared_bytes);
  CHECK(info.max_threads >= 256);
  const runtime::BufferPtr in = gpu().allocate(4 * 200000), out = gpu().allocate(4 * 2000);
  gpu().upload(*in, std::vector<float>(200000).data(), 4 * 200000);
  void* const pointers[] = {in->data(), out->data()};
  runtime::EventTimer timer(gpu());
  timer.start();
  gpu().launch(*kernel, nest, {pointers, nest.ints, {}});
  const double ms = timer.stop();
  CHECK(ms > 0);
  CHECK(ms < 60000);
}
