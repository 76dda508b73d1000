// Trained models: an ONNX file becomes a function of tensors. Needs the library sinter_model (CMake: sinter::model), which is built where
// protobuf is there.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/tensor.hpp"

namespace sinter {

/// A model that cannot be read, that means nothing (a cycle, an unknown value), or that holds an operator that is not there. The message
/// names the file and the node.
struct ModelError : Error {
  using Error::Error;
};

/// A size of a model's input or output: a number, or a name that stands for any (empty: any, and nothing is said about it).
struct ModelSize {
  std::optional<std::int64_t> size;
  std::string symbol;
};

/// An input or output of a model. Without a shape, any is taken.
struct ModelValue {
  std::string name;
  DType dtype = DType::float32;
  std::optional<std::vector<ModelSize>> shape;
};
std::string to_string(const ModelValue& value);  // "x: float32[N, 3, 224, 224]"

/// An operator that a model holds and sinter lacks, or an operator's variant.
struct MissingOperator {
  std::string op;     // with its domain where that is not ONNX's own
  std::string first;  // the first node that has it: its name and its place
  int nodes = 0;      // how many of the model's nodes have it
};

/// What a rewrite did when the model was loaded.
struct Rewrite {
  std::string_view name;
  std::string_view what;  // a sentence
  int count = 0;
};

/// Nodes one after the other whose values lie in one way.
struct LayoutRegion {
  std::string_view layout;  // "as the model says", "channels in blocks of 16"
  std::string why;          // of its first node
  std::string first;        // that node
  int nodes = 0;
};

struct ModelOptions {
  bool rewrite = true;               // fold and merge what can be known before the first input, and lay values out as the device convolves fastest
  std::vector<std::string> without;  // rewrites that are left out, by the names that Model::rewrites() gives
  /// float16 or bfloat16: what the model has in float32 between its inputs and outputs, its weights too, is kept in this type, and computed in float32;
  /// constants beyond its range become its largest numbers. float64: kept and computed in float64, to see what rounding does to a model. Inputs and
  /// outputs stay as the model says.
  DType precision = DType::float32;
  /// A node whose result would have more elements is refused, before anything is computed for it: what a broken or hostile file asks for has a bound.
  /// The windows of a pool or a convolution may take 1024 products for each.
  std::int64_t most_elements = std::int64_t{1} << 36;
  /// If, Loop and Scan, which are unrolled at each call, are refused where they come to more nodes than this.
  std::int64_t most_unrolled = 200'000;
};

/// A trained model: a counted, immutable value that any number of threads may call.
class Model {
 public:
  /// Reads an .onnx file (opsets 11 to 21, other versions where the operators did not change), with its external data. Throws IoError for
  /// a file that cannot be read, ModelError for one that means nothing, ValueError for options that are not there. Operators that are missing are no error
  /// before a call.
  static Model load(std::string_view path, const ModelOptions& options = {}, Location where = Location::current());

  const std::vector<ModelValue>& inputs() const;
  const std::vector<ModelValue>& outputs() const;
  /// How many nodes the file has, and how many are left after the rewrites.
  int nodes_in_file() const;
  int nodes() const;
  const std::vector<Rewrite>& rewrites() const;
  std::vector<MissingOperator> missing() const;
  /// How values lay in the last call, node by node in the order in which they run; empty before the first one.
  std::vector<LayoutRegion> layouts() const;

  /// Records the model on these inputs, in the order of inputs(); nothing is computed before a value is needed, but for sizes that depend on
  /// the data. Throws DTypeError and ShapeError for what the model does not take, ModelError where a node fails, naming it.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs, Location where = Location::current()) const;
  /// The same by name, all outputs computed.
  std::map<std::string, Tensor> run(const std::map<std::string, Tensor>& inputs, Location where = Location::current()) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace sinter
