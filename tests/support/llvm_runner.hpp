// Compiles nests with LLVM and runs them, for tests of generated CPU code.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "draws.hpp"
#include "jit/choose.hpp"
#include "jit/compiler.hpp"
#include "jit/loop_nest.hpp"
#include "llvm_masks.hpp"

namespace sinter::testing {

/// Returns the one compiler of the test, null if there is none.
inline jit::Compiler* llvm_compiler() {
  static const jit::CompilerPtr compiler = jit::find_llvm();
  return compiler.get();
}
#define NEEDS_LLVM REQUIRE_MESSAGE(llvm_compiler(), "no LLVM was found: scripts/setup.sh installs it");

/// Returns this processor, and descriptions of older ones: AVX2 with FMA, and plain x86-64. In a sample (cases.hpp), one of them.
inline std::vector<jit::CpuTarget> cpu_levels() {
  std::vector<jit::CpuTarget> levels{jit::host_cpu()};
  const auto without = [](jit::CpuTarget cpu, const std::string& from, int vector_bytes) {
    const std::size_t cut = cpu.features.find(from);
    if (cut != std::string::npos) cpu.features.resize(cut == 0 ? 0 : cut - 1);
    cpu.vector_bytes = vector_bytes;
    return cpu;
  };
  if (levels[0].vector_bytes == 64) levels.push_back(without(levels[0], "+avx512f", 32));
  if (levels[0].vector_bytes >= 32) levels.push_back({levels[0].arch, "", 16});
  if (is_sample()) return {levels[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(levels.size()) - 1))]};
  return levels;
}

inline std::shared_ptr<jit::LoadedCode> compile(const jit::LoopNest& nest, const jit::CpuTarget& cpu) {
  jit::LoopNest scheduled = nest;
  scheduled.schedule = jit::choose_for_cpu(nest);
  jit::verify(scheduled);
  check_masks(jit::generate_llvm(scheduled, avx512_level()).text);
  const jit::Source source = jit::generate_llvm(scheduled, cpu);
  INFO(source.text);
  return jit::load_object(llvm_compiler()->compile(source));
}

/// Runs the code over all points, divided into parts of odd sizes as threads would do.
inline void run(const jit::LoopNest& nest, jit::CpuEntry entry, const std::vector<void*>& pointers, const std::vector<std::uint64_t>& scalars, int shares = 1) {
  const bool rows_are_lanes = nest.schedule.lanes_along_rows();
  std::int64_t outer = 1, inner = 1, row_points = 1;
  for (int axis = 0; axis < nest.parallel; ++axis) (axis == nest.lane_axis() ? inner : outer) *= nest.ints[axis];
  for (int axis = nest.parallel; axis < nest.axes(); ++axis) row_points *= nest.ints[axis];
  const std::int64_t buffer = (row_points * (rows_are_lanes ? jit::rows_at_once(row_points) : 64) * 8 + 63) / 64 * 64;
  const std::size_t scratch = static_cast<std::size_t>(buffer) * nest.persistent.size();
  std::vector<unsigned char> memory(scratch + 64, 0xCD);
  const auto range = [&](std::int64_t n, int share) { return n * share / shares; };
  for (int s = 0; s < shares; ++s) {
    const bool by_outer = outer > 1 || rows_are_lanes;
    if (by_outer) entry(pointers.data(), nest.ints.data(), scalars.data(), memory.data(), range(outer, s), range(outer, s + 1), 0, inner);
    else entry(pointers.data(), nest.ints.data(), scalars.data(), memory.data(), 0, outer, range(inner, s), range(inner, s + 1));
  }
  CHECK(std::all_of(memory.begin() + scratch, memory.end(), [](unsigned char c) { return c == 0xCD; }));
}

/// Returns the value in the form in which kernels take a scalar.
template <class T> std::uint64_t scalar_bits(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

}  // namespace sinter::testing
