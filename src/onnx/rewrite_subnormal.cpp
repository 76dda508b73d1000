// Weights that training has shrunk to subnormal numbers become 0.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "onnx/rewrite_rules.hpp"

namespace sinter::onnx {
namespace {

/// Operators that multiply values by constants, or add constants. A subnormal number changes their results by less than the numbers beside it are rounded.
constexpr std::string_view kWeighted[] = {"Add",  "BatchNormalization", "Conv",   "ConvTranspose", "GRU", "Gemm", "GroupNormalization", "InstanceNormalization",
                                          "LSTM", "LayerNormalization", "MatMul", "Mul",           "RNN"};

/// Replaces subnormal numbers by 0, unless no number is normal: such a constant is meant to be tiny.
template <class T> bool flush(Tensor& weights) {
  constexpr T kLeast = std::numeric_limits<T>::min();
  const auto is_subnormal = [](T x) { return x != 0 && std::abs(x) < kLeast; };
  std::vector<T> numbers = weights.to_vector<T>();
  if (std::none_of(numbers.begin(), numbers.end(), is_subnormal)) return false;
  if (std::none_of(numbers.begin(), numbers.end(), [](T x) { return std::abs(x) >= kLeast; })) return false;
  std::replace_if(numbers.begin(), numbers.end(), is_subnormal, T(0));
  weights = from_span(numbers, weights.shape());
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
    if (!weights.contains(name) || others.contains(name)) continue;
    count += constant.dtype() == DType::float32 ? flush<float>(constant) : constant.dtype() == DType::float64 ? flush<double>(constant) : 0;
  }
  return count;
}

}  // namespace sinter::onnx
