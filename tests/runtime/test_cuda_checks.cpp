// Tests the emulated device: faults are injected into kernels, one at a time. Each is reported with kernel, block, thread and address, and the kernels without
// faults run to their end. A device stays lost in its process, so each fault has a separate process.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cuda_fixture.hpp"
#include "draws.hpp"
#include "run_command.hpp"
#include "runtime/cuda/driver.hpp"

using namespace sinter;
using namespace sinter::test;
namespace cuda = sinter::runtime::cuda;

namespace {

constexpr int kCount = 512;  // elements of each array, a thread each

/// A kernel `k(float* a, float* b, int n)` with blocks of 128 threads. a contains 0, 1, 2, ..., b is uninitialised. `right` is a part of its text, and `wrong`
/// is the same part with a fault.
struct Planted {
  const char* fault;
  const char* body;
  const char *right, *wrong;
  const char* expected;  // a part of the report
  bool refused = false;  // the launch reports the fault before any thread runs
  int dynamic = 0, wrong_dynamic = 0;
  int cluster = 0;  // all blocks form one cluster
};

const char* const kTypes = R"(struct __align__(8) F2 { float at[2]; };
struct __align__(4) B4 { bool at[4]; };
struct __align__(16) F4 { float at[4]; };
)";

/// The functions of generated cluster kernels, under shorter names.
const char* const kClusters = R"(__device__ void arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ void wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
__device__ void meet() { arrive(); wait(); }
__device__ float* of_block(float* own, unsigned int rank) {
  unsigned long long there;
  asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(own), "r"(rank));
  return (float*)there;
}
)";

const Planted kPlanted[] = {
    {"float2 at an odd element", "if (2 * i + 2 < n) *(F2*)(b + 2 * i) = *(const F2*)(a + 2 * i);", "(a + 2 * i)", "(a + 2 * i + 1)",
     "which is no multiple of 8 bytes"},
    {"bool4 at an odd pair", "*(B4*)((bool*)b + 4 * i) = B4{};", "b + 4 * i", "b + 4 * i + 2", "which is no multiple of 4 bytes"},
    {"float4 at an even element", "if (4 * i + 4 < n) *(F4*)(b + 4 * i) = *(const F4*)(a + 4 * i);", "(b + 4 * i)", "(b + 4 * i + 2)",
     "which is no multiple of 16 bytes"},
    {"more threads than the launch bounds", "b[i] = a[i];", "__launch_bounds__(128)", "__launch_bounds__(64)",
     "128 threads a block, its launch bounds promise at most 64", true},
    {"dynamic and static shared memory over the limit together",
     "__shared__ float s[16]; extern __shared__ unsigned char dynamic[]; float* d = (float*)dynamic; "
     "if (threadIdx.x < 16) s[threadIdx.x] = 1; d[threadIdx.x] = a[i]; __syncthreads(); b[i] = d[threadIdx.x] + s[threadIdx.x / 8];",
     "", "", "49152 bytes of dynamic shared memory beside 64 static ones", true, 49152 - 64, 49152},
    {"a block reads what another block of the launch writes", "a[i] = i; b[i] = a[i];", "b[i] = a[i]", "b[i] = a[(i + 128) % n]", " of the same launch"},
    {"two blocks write one element", "b[i] = a[i];", "b[i]", "b[threadIdx.x]", "written by block ("},
    {"a wrong write that another block repeats", "b[i] = a[i];", "b[i] = a[i];", "b[(i + 128) % n] = -1; b[i] = a[i];", "written by block ("},
    {"global memory read before the block has met", "a[i] = i; __syncthreads(); b[i] = a[i ^ 32];", "__syncthreads();", "", "with no barrier between"},
    {"two threads of a block write one element", "if (i % 2) b[i / 2] = a[i];", "if (i % 2)", "", "written by thread ("},
    {"past the end", "if (i < n) b[i] = a[i];", "if (i < n) b[i] = a[i]", "b[i + 1] = a[i]",
     "outside every allocation of the device: byte 2048 of an array of 2048"},
    {"before the start", "b[i] = a[i];", "= a[i]", "= a[i - 1]", ": byte -4 of an array of 2048"},
    {"memory that nobody wrote", "b[i] = a[i];", "b[i] = a[i]", "a[i] = b[i]", "which nobody has written"},
    {"past the end of a shared array", "__shared__ float s[128]; const int at = threadIdx.x; s[at] = a[i]; b[i] = s[at];", "at = threadIdx.x",
     "at = threadIdx.x + 1", "takes element 128 of an array 'float [128]'"},
    {"past the end of dynamic shared memory", "extern __shared__ unsigned char dynamic[]; float* s = (float*)dynamic + threadIdx.x; *s = a[i]; b[i] = *s;",
     "dynamic + threadIdx.x", "dynamic + threadIdx.x + 1", "past the 512 bytes of dynamic shared memory", false, 512, 512},
    {"shared memory that nobody wrote", "__shared__ float s[128]; s[threadIdx.x] = a[i]; __syncthreads(); b[i] = s[threadIdx.x ^ 1];", "s[threadIdx.x] = a[i]",
     "if (threadIdx.x < 64) s[threadIdx.x] = a[i]", "which no thread of the block has written"},
    {"a barrier left out", "__shared__ float s[128]; s[threadIdx.x] = a[i]; __syncthreads(); b[i] = s[127 - threadIdx.x]; __syncwarp();", "__syncthreads();",
     "", "shared byte "},
    {"a warp's barrier left out", "__shared__ float s[128]; s[threadIdx.x] = a[i]; __syncwarp(); b[i] = s[threadIdx.x ^ 1]; __shfl_sync(0xffffffffu, i, 0);",
     "__syncwarp();", "", "shared byte "},
    {"a barrier that some threads miss", "b[i] = a[i]; __syncthreads();", "__syncthreads();", "if (threadIdx.x < 64) __syncthreads();",
     "is reached by 64 of 128 threads, not by thread (64, 0, 0)"},
    {"threads at different barriers", "b[i] = a[i];\n __syncthreads();", "__syncthreads();", "if (threadIdx.x < 64)\n __syncthreads(); else\n __syncthreads();",
     "waits at the barrier of line "},
    {"a shuffle that a lane misses", "b[i] = __shfl_sync(0xffffffffu, a[i], 3);", "b[i] = ", "if (threadIdx.x != 7) b[i] = ", "wait in a shuffle"},
    {"the last block reads with no fence before it",
     R"(if (threadIdx.x == 0) {
    b[blockIdx.x] = a[i + 1];
    __threadfence();  // before
    const unsigned ticket = atomicInc((unsigned*)a, gridDim.x - 1);
    __threadfence();  // after
    float sum = 0;
    if (ticket == gridDim.x - 1) for (int block = 0; block < gridDim.x; ++block) sum += b[block];
    if (ticket == gridDim.x - 1) b[gridDim.x] = sum;
  })",
     "__threadfence();  // before", "", " of the same launch"},
    {"a cluster's barrier left out",
     "__shared__ float own; meet(); if (threadIdx.x == 0) own = a[i]; meet(/*written*/); b[i] = *of_block(&own, (blockIdx.x + 1) % 4); meet();",
     "meet(/*written*/);", "__syncthreads();", "shared byte ", false, 0, 0, 4},
    {"a part written again while other blocks read it",
     "__shared__ float own; if (threadIdx.x == 0) own = a[i]; meet(); b[i] = *of_block(&own, (blockIdx.x + 1) % 4); meet(/*read*/); if (threadIdx.x == 0) own "
     "= 2; meet();",
     "meet(/*read*/);", "__syncthreads();", " with no barrier between", false, 0, 0, 4},
    {"a write to another block's part beside its own",
     "__shared__ float own; meet(); if (threadIdx.x == 0) *of_block(&own, (blockIdx.x + 1) % 4) = a[i]; meet(); b[i] = own; meet();",
     "if (threadIdx.x == 0) *of_block(&own, (blockIdx.x + 1) % 4) = a[i];", "if (threadIdx.x == 0) own = *of_block(&own, (blockIdx.x + 1) % 4) = a[i];",
     "shared byte 0, written by block (", false, 0, 0, 4},
    {"another block's memory before the cluster has met",
     "__shared__ float own; meet(/*begun*/); if (threadIdx.x == 0) *of_block(&own, blockIdx.x ^ 1) = a[i]; meet(); b[i] = own; meet();", "meet(/*begun*/);", "",
     "which the cluster has not met yet", false, 0, 0, 4},
    {"a block that leaves while others read its memory",
     "__shared__ float own; if (threadIdx.x == 0) own = a[i]; meet(); b[i] = *of_block(&own, 3 - blockIdx.x); meet(/*read*/);", "meet(/*read*/);", "",
     "which has ended", false, 0, 0, 4},
    {"a cluster's barrier that some threads miss", "b[i] = a[i]; meet();", "meet();", "if (threadIdx.x < 64) meet();", "does not reach the cluster's barrier 1",
     false, 0, 0, 4},
    {"an arrival without a wait", "b[i] = a[i]; arrive(); wait(); meet();", "wait();", "", "and has not waited there", false, 0, 0, 4},
    {"a block that the cluster has not", "__shared__ float own; if (threadIdx.x == 0) own = a[i]; meet(); b[i] = *of_block(&own, 3); meet();", "&own, 3",
     "&own, 4", "asks for block 4 of a cluster of 4", false, 0, 0, 4},
    {"clusters of 16 blocks", "b[i] = a[i]; meet();", "__cluster_dims__(4", "__cluster_dims__(16", "clusters of 16 blocks", true, 0, 0, 4},
    {"a grid that is no multiple of the cluster", "b[i] = a[i]; meet();", "__cluster_dims__(4", "__cluster_dims__(8", "clusters of 8 blocks, of (4, 1, 1)",
     true, 0, 0, 4},
    {"an atomic beside a plain write", "atomicAdd(a, 1.0f);", "atomicAdd(a, 1.0f)", "if (i == 77) a[0] = 1; else atomicAdd(a, 1.0f)",
     "byte 0 of an array of 2048"},
};

std::string text_of(const Planted& planted, bool wrong) {
  std::string text = fmt::format(
      "{}{}extern \"C\" __global__ void {}__launch_bounds__(128) k(float* a, float* b, int n) {{\n"
      "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  {}\n}}\n",
      kTypes, planted.cluster ? kClusters : "", planted.cluster ? fmt::format("__cluster_dims__({}, 1, 1) ", planted.cluster) : "", planted.body);
  const std::size_t at = text.rfind(planted.right);
  REQUIRE_MESSAGE(at != std::string::npos, std::string(planted.fault));
  if (wrong) text.replace(at, std::string_view(planted.right).size(), planted.wrong);
  return text;
}

/// Compiles and runs the kernel; prints the driver's results.
void run(const Planted& planted, bool wrong) {
  const cuda::Driver& api = cuda::driver();
  jit::Source source;
  source.target = fmt::format("sm_{}", gpu().info().sm);
  source.options = fmt::format("--gpu-architecture={} --std=c++17", source.target);
  source.entry = "k";
  source.text = text_of(planted, wrong);
  const jit::Binary binary = compiler().compile(source);
  const runtime::BufferPtr a = gpu().allocate(4 * kCount), b = gpu().allocate(4 * kCount);
  std::vector<float> values(kCount);
  for (int i = 0; i < kCount; ++i) values[i] = static_cast<float>(i);
  gpu().upload(*a, values.data(), 4 * kCount);
  gpu().synchronize();

  cuda::Context context = nullptr;
  cuda::Module module = nullptr;
  cuda::Function function = nullptr;
  cuda::Stream stream = nullptr;
  REQUIRE(api.context_retain(&context, 0) == 0);
  REQUIRE(api.context_set(context) == 0);
  REQUIRE(api.stream_create(&stream, 0) == 0);
  REQUIRE(api.module_load(&module, binary.image.data()) == 0);
  REQUIRE(api.module_function(&function, module, "k") == 0);
  void *pointer_a = a->data(), *pointer_b = b->data();
  int n = kCount;
  void* parameters[] = {&pointer_a, &pointer_b, &n};
  const int launched = api.launch(function, kCount / 128, 1, 1, 128, 1, 1, wrong ? planted.wrong_dynamic : planted.dynamic, stream, parameters, nullptr);
  const int finished = api.stream_synchronize(stream);
  fmt::print("{}: LAUNCHED {} FINISHED {}\n", planted.fault, launched, finished);
  std::fflush(stdout);
}

std::string child(const std::string& test_case, const std::string& environment) { return testing::run_test_case(test_case, environment).out; }
bool runs_here(const Planted& planted) { return planted.cluster == 0 || gpu().info().clusters; }
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool skipped_on_gpu() {
  if (has(gpu().info().name, "emulated")) return false;
  MESSAGE("SKIPPED (1 test): a GPU does not notice these faults, only the emulator does");
  return true;
}

}  // namespace

TEST_CASE("child: planted" * doctest::skip()) {
  const char* which = std::getenv("SINTER_TEST_FAULT");
  run(kPlanted[which ? std::atoi(which) : 0], true);
}
TEST_CASE("child: not planted" * doctest::skip()) {
  for (const Planted& planted : kPlanted)
    if (runs_here(planted)) run(planted, false);
}

TEST_CASE("each injected fault is reported with kernel, block, thread and address") {
  if (skipped_on_gpu()) return;
  for (const std::int64_t i : sinter::testing::sampled(sinter::testing::integers(0, std::ssize(kPlanted) - 1))) {
    const Planted& planted = kPlanted[i];
    if (planted.wrong_dynamic != planted.dynamic) need_nvrtc();  // the compiler's report contains the static shared memory
    if (!runs_here(planted)) continue;
    const std::string output = child("child: planted", fmt::format("SINTER_TEST_FAULT={}", i));
    const std::size_t begin = std::min(output.find("cuda emulator:"), output.size());
    const std::string report = output.substr(begin, output.find('\n', begin) - begin);
    MESSAGE(std::string(planted.fault), " -> ", report);
    CAPTURE(output);
    CHECK(has(report, "cuda emulator: kernel k: "));
    CHECK(has(report, planted.expected));
    if (planted.refused) {
      CHECK(!has(output, "LAUNCHED 0 "));
      continue;
    }
    CHECK(has(output, "LAUNCHED 0 "));
    CHECK(!has(output, "FINISHED 0"));
    CHECK(has(report, "block ("));
    CHECK(has(report, "SINTER_EMULATOR_SEED="));
    CHECK((has(report, "thread (") || has(report, " wait in a shuffle")));
    const bool of_no_address = has(report, "waits at the barrier") || has(report, "is reached by") || has(report, "takes element") ||
                               has(report, "the cluster's barrier") || has(report, "asks for block");
    CHECK((of_no_address || has(report, " at 0x")));
  }
}

TEST_CASE("the same kernels without faults run in every order") {
  if (skipped_on_gpu()) return;
  for (const int seed : sinter::testing::sampled({1, 2, 3})) {
    const std::string output = child("child: not planted", fmt::format("SINTER_EMULATOR_SEED={}", seed));
    CAPTURE(output);
    CHECK(!has(output, "cuda emulator:"));
    for (const Planted& planted : kPlanted)
      if (runs_here(planted)) CHECK_MESSAGE(has(output, fmt::format("{}: LAUNCHED 0 FINISHED 0", planted.fault)), std::string(planted.fault));
  }
}

TEST_CASE("GPUs before sm_90 refuse clusters") {
  if (skipped_on_gpu()) return;
  const auto clusters = std::find_if(std::begin(kPlanted), std::end(kPlanted), [](const Planted& planted) { return planted.cluster > 0; });
  for (const char* name : {"T4", "A100"}) {
    const std::string output = child("child: planted", fmt::format("SINTER_EMULATOR_GPU={} SINTER_TEST_FAULT={}", name, clusters - std::begin(kPlanted)));
    CAPTURE(output);
    CHECK(has(output, "__cluster_dims__"));
    CHECK(!has(output, "LAUNCHED 0"));
  }
}

TEST_CASE("a stream that does not wait for another stream reads memory before it is written") {
  if (skipped_on_gpu()) return;
  const cuda::Driver& api = cuda::driver();
  cuda::Context context = nullptr;
  REQUIRE(api.context_retain(&context, 0) == 0);
  REQUIRE(api.context_set(context) == 0);
  int stale = 0;
  constexpr int kRounds = 40;
  for (bool waits : {false, true})
    for (int round = 0; round < kRounds; ++round) {
      const runtime::BufferPtr first = gpu().allocate(4), second = gpu().allocate(4);
      gpu().synchronize();
      cuda::Stream one = nullptr, two = nullptr;
      cuda::Event event = nullptr;
      REQUIRE(api.stream_create(&one, 1) == 0);
      REQUIRE(api.stream_create(&two, 1) == 0);
      REQUIRE(api.event_create(&event, 0) == 0);
      const auto at = [](const runtime::BufferPtr& b) { return reinterpret_cast<cuda::Address>(b->data()); };
      int value = round, got = -2;
      REQUIRE(api.copy_to_device(at(first), &value, 4, one) == 0);
      REQUIRE(api.event_record(event, one) == 0);
      if (waits) REQUIRE(api.stream_wait(two, event, 0) == 0);
      REQUIRE(api.copy_on_device(at(second), at(first), 4, two) == 0);
      REQUIRE(api.copy_to_host(&got, at(second), 4, two) == 0);
      CHECK(got == -2);  // nothing has waited for the kernel yet
      REQUIRE(api.stream_synchronize(two) == 0);
      if (waits) CHECK(got == round);
      else stale += got != round;
      REQUIRE(api.stream_destroy(one) == 0);
      REQUIRE(api.stream_destroy(two) == 0);
      REQUIRE(api.event_destroy(event) == 0);
    }
  CHECK(stale > 0);
}
