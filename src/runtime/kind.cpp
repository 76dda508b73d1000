#include "runtime/kind.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "jit/cuda/geometry.hpp"
#include "sinter/errors.hpp"

namespace sinter::runtime {
namespace {

// The list is never destroyed, because destructors of static objects may still evaluate.
std::vector<const Kind*>& registered() {
  static auto& list = *new std::vector<const Kind*>;
  return list;
}

template <class Wanted> const Kind& first(Wanted wanted, const char* what) {
  for (const Kind* kind : registered())
    if (wanted(*kind)) return *kind;
  throw InternalError(what);
}

}  // namespace

Launch launch_on_gpu(const jit::LoopNest& nest, const fuse::Limits& limits) {
  const jit::cuda::Geometry g = jit::cuda::geometry(nest, nest.ints, limits.units);
  return {g.grid, static_cast<int>(g.block_x * g.block_y), static_cast<int>(g.shared)};
}

jit::Compiler* Kind::compiler() const {
  static std::mutex& mutex = *new std::mutex;
  static auto& found = *new std::map<const Kind*, jit::CompilerPtr>;
  const std::lock_guard lock(mutex);
  const auto known = found.find(this);
  return (known != found.end() ? known : found.emplace(this, find_compiler()).first)->second.get();
}

bool register_kind(Kind kind) {
  auto& list = registered();
  list.push_back(new Kind(std::move(kind)));
  std::sort(list.begin(), list.end(), [](const Kind* a, const Kind* b) { return a->name < b->name; });
  return true;
}

const std::vector<const Kind*>& kinds() { return registered(); }

const Kind* find_kind(std::string_view name) {
  for (const Kind* kind : registered())
    if (kind->name == name) return kind;
  return nullptr;
}

const Kind& kind_of(const fuse::Limits& limits) {
  return first([&](const Kind& kind) { return kind.backend == limits.backend; }, "no kind of device has these limits");
}

const Kind& interpreting_kind() {
  return first([](const Kind& kind) { return kind.interprets; }, "no kind of device interprets");
}

}  // namespace sinter::runtime
