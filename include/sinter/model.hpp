// Trained models: loads an ONNX file as a function of tensors. Needs the library sinter_model (CMake: sinter::model), which is built where protobuf is
// installed.
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

/// Thrown for a model that cannot be read, that is invalid (a cycle, an unknown value), or that uses an operator that sinter lacks. The message names the file
/// and the node.
struct ModelError : Error {
  using Error::Error;
};

/// A size of a model's input or output: a number, or a name that stands for any number. A size without a name in the file, or with the name "?", is named after
/// its input or output and its axis: "x.0".
struct ModelSize {
  std::optional<std::int64_t> size;
  std::string symbol;
};

/// An input or output of a model. Without a shape, any shape is accepted.
struct ModelValue {
  std::string name;
  DType dtype = DType::float32;
  std::optional<std::vector<ModelSize>> shape;
};
std::string to_string(const ModelValue& value);  ///< "x: float32[N, 3, 224, 224]"

/// An operator, or an operator's variant, that a model has and sinter lacks.
struct MissingOperator {
  std::string op;     ///< the operator's name, preceded by its domain unless that is ONNX's own
  std::string first;  ///< the name and place of the first node with this operator
  int nodes = 0;      ///< number of the model's nodes with this operator
};

/// One kind of change that was made when the model was loaded.
struct Rewrite {
  std::string_view name;
  std::string_view what;  ///< a sentence that describes the change
  int count = 0;
};

struct ModelOptions {
  bool rewrite = true;               ///< fold and merge nodes that depend on no input
  std::vector<std::string> without;  ///< names of rewrites to leave out, as Model::rewrites() returns them
  /// float16 or bfloat16: the model's float32 values between inputs and outputs, including the weights, are stored in this type and computed in float32;
  /// constants beyond its range become its largest numbers. float64: values are stored and computed in float64, which shows how rounding affects a model. The
  /// types of inputs and outputs do not change.
  DType precision = DType::float32;
  /// A node whose result would have more elements is refused before anything is computed for it. This bounds the memory that a broken or hostile file can
  /// request. The windows of a pool or a convolution may take at most 1024 times this number of products.
  std::int64_t max_elements = std::int64_t{1} << 36;
  /// If, Loop and Scan are unrolled at each call; a model whose unrolled nodes would be more than this is refused.
  std::int64_t max_unrolled = 200'000;
  /// Values for inputs that never change: these inputs become constants of the model. A number stands for all elements of its input.
  std::map<std::string, Tensor> fixed = {};
};

/// A trained model. It never changes, and copies share it. Any number of threads may call it at once.
class Model {
 public:
  /// Reads an .onnx file (opsets 11 to 21, other versions where the operators did not change), with its external data. Throws IoError for a file that cannot be
  /// read, ModelError for an invalid model, ValueError for unknown options. Missing operators throw only at a call.
  static Model load(std::string_view path, const ModelOptions& options = {}, Location where = Location::current());

  const std::vector<ModelValue>& inputs() const;   ///< names, types and shapes, in the order of a call
  const std::vector<ModelValue>& outputs() const;  ///< in the order of the results
  int nodes_in_file() const;                       ///< the number of nodes in the file
  int nodes() const;                               ///< the number of nodes after the rewrites
  const std::vector<Rewrite>& rewrites() const;    ///< the rewrites, and how often each was applied
  std::vector<MissingOperator> missing() const;    ///< operators of the file that sinter lacks

  /// Records the model on these inputs, in the order of inputs(). Nothing is computed, except sizes that depend on the data. Throws DTypeError and ShapeError
  /// for inputs that the model does not accept, ModelError with the node's name where a node fails.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs, Location where = Location::current()) const;
  /// Does the same with inputs and outputs by name, and computes all outputs.
  std::map<std::string, Tensor> run(const std::map<std::string, Tensor>& inputs, Location where = Location::current()) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace sinter
