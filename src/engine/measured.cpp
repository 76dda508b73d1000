#include "engine/measured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "base/threads.hpp"

namespace sinter::engine {
namespace {

constexpr std::size_t kBytes = std::size_t{64} << 20;  // the size of each of the two arrays, larger than the caches
constexpr int kRounds = 5;                             // minimum number of rounds, and
constexpr double kSeconds = 0.1;                       // minimum time, so that a busy machine has a quiet moment

template <class Copy> double fastest(runtime::Device& device, const Copy& copy, double at_least = kSeconds) {
  using Clock = std::chrono::steady_clock;
  double best = std::numeric_limits<double>::infinity();
  double all = 0;
  for (int round = 0; round < kRounds || all < at_least; ++round) {
    const auto start = Clock::now();
    copy();
    device.synchronize();
    const double took = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::min(best, took);
    all += took;
  }
  return best;
}

double measure(runtime::Device& device, int threads) {
  double seconds = 0;
  if (device.reads_host()) {
    const auto from = std::make_unique<char[]>(kBytes), to = std::make_unique<char[]>(kBytes);
    constexpr std::size_t kPiece = std::size_t{1} << 20;
    seconds = fastest(device, [&] {
      run_tasks(threads, kBytes / kPiece, [&](std::int64_t piece) {
        const std::size_t at = static_cast<std::size_t>(piece) * kPiece;
        std::memcpy(to.get() + at, from.get() + at, kPiece);
      });
    });
  } else {
    const auto from = device.allocate(kBytes), to = device.allocate(kBytes);
    seconds = fastest(device, [&] { device.copy(*to, *from, kBytes); });
  }
  return 2 * static_cast<double>(kBytes) / seconds;
}

double measure_products(runtime::Device& device, DType dtype) {
  constexpr std::int64_t kFirst = 256, kLast = 4096;
  constexpr double kLong = 4e-3;  // seconds of a product that is large enough
  if (!fuse::has_library(device.limits(), trace::Op::matmul, dtype)) return 0;
  for (std::int64_t side = kFirst;; side *= 2) {
    fuse::LibraryCall call;
    call.op = trace::Op::matmul;
    call.dtype = call.stored = dtype;
    call.shape = {side, side};
    call.node = 2;
    for (const int node : {0, 1}) call.operands.push_back({node, dtype, 0, {side, side}, {side, 1}});
    const std::size_t elements = static_cast<std::size_t>(side * side), bytes = elements * itemsize(dtype);
    const std::vector<char> zeros(bytes);
    const std::array buffers{device.allocate(bytes), device.allocate(bytes), device.allocate(bytes)};
    for (const auto& buffer : buffers) device.upload(*buffer, zeros.data(), bytes);
    const std::array<void*, 3> pointers{buffers[0]->data(), buffers[1]->data(), buffers[2]->data()};
    const auto multiply = [&] { device.call(call, pointers, nullptr); };
    const double seconds = fastest(device, multiply, 0);
    if (seconds >= kLong || side >= kLast)
      return 2 * static_cast<double>(side * side * side) / std::min(seconds, seconds < kSeconds ? fastest(device, multiply) : seconds);
  }
}

/// Measures once for each device and `what`. Returns 0 if there is no memory for the measurement.
template <class Measure> double once(runtime::Device& device, const std::string& what, const Measure& measure) {
  static auto& mutex = *new std::mutex;
  static auto& known = *new std::map<std::string, double>;
  const std::lock_guard lock(mutex);
  const auto [entry, fresh] = known.try_emplace(device.model() + what, 0);
  if (!fresh) return entry->second;
  try {
    entry->second = measure();
  } catch (const std::bad_alloc&) {
  } catch (const DeviceError&) {
  }
  return entry->second;
}

}  // namespace

double measured_bandwidth(runtime::Device& device, int threads) {
  return once(device, "memory bandwidth", [&] { return measure(device, threads); });
}

double measured_arithmetic(runtime::Device& device, DType dtype) {
  return once(device, fmt::format("products of {}", name(dtype)), [&] { return measure_products(device, dtype); });
}

}  // namespace sinter::engine
