// Weights that training has shrunk to subnormal numbers become 0.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <set>
#include <type_traits>
#include <vector>

#include "onnx/rewrite_rules.hpp"

namespace sinter::onnx {
namespace {

/// Operators that multiply values by constants, or add constants.
constexpr std::string_view kWeighted[] = {"Add", "Conv", "ConvTranspose", "GRU", "Gemm", "LSTM", "MatMul", "Mul", "RNN"};
/// Constants of fewer numbers are often written by hand, such as the 1e-45 of log(x + 1e-45), and cost little.
constexpr std::int64_t kFewest = 64;

/// Replaces subnormal numbers by 0, unless no number is normal: such a constant is meant to be tiny.
template <class T> bool flush(Tensor& weights) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1), kLeast = std::bit_cast<Bits>(std::numeric_limits<T>::min());
  const std::span<const T> numbers = weights.data<T>();
  const auto magnitude = [](T x) { return std::bit_cast<Bits>(x) & ~kSign; };
  const auto is_subnormal = [&](T x) { return magnitude(x) != 0 && magnitude(x) < kLeast; };
  bool normal = false, subnormal = false;
  for (const T x : numbers) normal |= magnitude(x) >= kLeast, subnormal |= is_subnormal(x);
  if (!normal || !subnormal) return false;
  std::vector<T> flushed(numbers.begin(), numbers.end());
  std::replace_if(flushed.begin(), flushed.end(), is_subnormal, T(0));
  weights = from_span(flushed, weights.shape());
  return true;
}

}  // namespace

int flush_subnormals(Graph& graph) {
  std::set<std::string, std::less<>> weights, others = inner_reads(graph);
  for (const ModelValue& output : graph.outputs) others.insert(output.name);
  for (const Node& node : graph.nodes) {
    const bool weighted = std::find(std::begin(kWeighted), std::end(kWeighted), node.op) != std::end(kWeighted);
    (weighted ? weights : others).insert(node.inputs.begin(), node.inputs.end());
  }
  int count = 0;
  for (auto& [name, constant] : graph.constants) {
    if (!weights.contains(name) || others.contains(name) || constant.size() < kFewest) continue;
    count += constant.dtype() == DType::float32 ? flush<float>(constant) : constant.dtype() == DType::float64 ? flush<double>(constant) : 0;
  }
  return count;
}

}  // namespace sinter::onnx
