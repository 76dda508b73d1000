// Runs hand-built loop nests on device cuda, which is a GPU or the emulator.
#pragma once
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "jit/compiler.hpp"
#include "jit/loop_nest.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "seed.hpp"
#include "sinter/errors.hpp"

namespace sinter::test {

/// Sets the environment to the stand-ins unless it names a driver. Must run before the first library is opened. The stand-in driver accepts only the output of
/// the stand-in NVRTC; if the environment names an NVRTC, the stand-in calls that one.
inline const bool environment_is_set = [] {
  setenv("SINTER_CUDA_DRIVER", CUDA_EMULATOR, 0);
  const bool emulated = std::string(std::getenv("SINTER_CUDA_DRIVER")) == CUDA_EMULATOR;
  const char* named = std::getenv("SINTER_NVRTC");
  if (emulated && named && std::string(named) != NVRTC_EMULATOR) setenv("SINTER_EMULATOR_NVRTC", named, 0);
  setenv("SINTER_NVRTC", NVRTC_EMULATOR, emulated);
  return true;
}();

inline const std::vector<int> kTargets = {75, 80, 86, 89, 90, 100, 120};

inline jit::Compiler& compiler() {
  static const jit::CompilerPtr found = jit::find_nvrtc();
  REQUIRE_MESSAGE(found, "no NVRTC, not even the emulated one");
  return *found;
}
inline runtime::CudaDevice& gpu() {
  static const std::shared_ptr<runtime::CudaDevice> opened = runtime::open_cuda(0);
  return *opened;
}

/// The emulated NVRTC takes its resource report from a real one, which scripts/setup.sh --tests installs.
inline void need_nvrtc() {
  static const int registers = [] {
    jit::Source source;
    source.target = "sm_90";
    source.options = "--gpu-architecture=sm_90";
    source.entry = "probe";
    source.text = "extern \"C\" __global__ void probe() {}\n";
    return compiler().compile(source).report.registers;
  }();
  REQUIRE_MESSAGE(registers >= 0, "no NVRTC was found: scripts/setup.sh --tests installs one");
}

/// A host array of one dtype, as bytes.
struct Array {
  DType dtype{};
  std::vector<std::byte> bytes;
  Array() = default;
  Array(DType t, std::size_t count) : dtype(t), bytes(count * itemsize(t)) {}
  template <class T> Array(const std::vector<T>& values) : Array(dtype_of<T>, values.size()) { std::memcpy(bytes.data(), values.data(), bytes.size()); }
  std::size_t count() const { return bytes.size() / itemsize(dtype); }
  template <class T> T at(std::size_t i) const {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    return value;
  }
  template <class T> void set(std::size_t i, T value) { std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T)); }
  double number(std::size_t i) const {
    switch (dtype) {
      case DType::float32: return at<float>(i);
      case DType::float64: return at<double>(i);
      case DType::int32: return at<std::int32_t>(i);
      case DType::int64: return static_cast<double>(at<std::int64_t>(i));
      default: return at<std::uint8_t>(i);
    }
  }
};

inline std::uint64_t bits_of(float f) {
  std::uint32_t bits;
  std::memcpy(&bits, &f, 4);
  return bits;
}

/// Returns arrays for the outputs of a nest, with bytes that no kernel writes.
inline std::vector<Array> poisoned(const jit::LoopNest& nest, const std::vector<std::size_t>& counts) {
  std::vector<Array> outputs;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    outputs.emplace_back(nest.outputs[k].dtype, counts[k]);
    std::fill(outputs[k].bytes.begin(), outputs[k].bytes.end(), std::byte{0xa5});
  }
  return outputs;
}

/// Generates a kernel, compiles it for the present device, and runs it with poisoned outputs. A nest with checks raises flags.
inline std::vector<Array> run(const jit::LoopNest& nest, const std::vector<Array>& inputs, const std::vector<std::size_t>& output_counts,
                              const std::vector<std::uint64_t>& scalars = {}, std::vector<std::int64_t>* flags = nullptr) {
  const jit::Source source = jit::generate_cuda(nest, gpu().info().sm);
  INFO(source.text);
  const jit::Binary binary = compiler().compile(source);
  CHECK(binary.report.spill_bytes <= 0);

  std::vector<Array> outputs = poisoned(nest, output_counts);
  std::vector<runtime::BufferPtr> buffers;
  const auto upload = [&](const void* data, std::size_t bytes) {
    buffers.push_back(gpu().allocate(bytes));
    gpu().upload(*buffers.back(), data, bytes);
  };
  for (const Array& a : inputs) upload(a.bytes.data(), a.bytes.size());
  for (const Array& a : outputs) upload(a.bytes.data(), a.bytes.size());
  if (flags) upload(flags->data(), 8 * flags->size());
  std::vector<void*> pointers;
  for (const runtime::BufferPtr& b : buffers) pointers.push_back(b->data());

  const runtime::KernelPtr kernel = gpu().load(nest, binary);
  gpu().launch(*kernel, nest, {pointers, nest.ints, scalars});
  for (std::size_t i = 0; i < outputs.size(); ++i) gpu().download(outputs[i].bytes.data(), *buffers[inputs.size() + i], outputs[i].bytes.size());
  if (flags) gpu().download(flags->data(), *buffers.back(), 8 * flags->size());
  return outputs;
}

/// Values differ in each run; the seed is printed when a check fails.
struct Random {
  unsigned seed = sinter::testing::fresh_seed();
  std::mt19937_64 engine{seed};
  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(engine); }
  std::int64_t integer(std::int64_t low, std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(low, high)(engine); }
  std::vector<float> floats(std::size_t n, double low = -4, double high = 4) {
    std::vector<float> v(n);
    for (float& x : v) x = static_cast<float>(uniform(low, high));
    return v;
  }
};

}  // namespace sinter::test
