// Frozen functions: a formula is recorded and planned once and called many times. A call binds the inputs and runs the plan's kernels.
#pragma once
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sinter/engine.hpp"
#include "sinter/tensor.hpp"

namespace sinter {

/// A size of an input: a number, or a name, which stands for any size, the same wherever the name appears.
struct AxisSize {
  template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  AxisSize(T number) : size(static_cast<std::int64_t>(number)) {}
  /// `hint` is the size for which the first plan is made.
  AxisSize(std::string axis, std::int64_t hint = kUsual) : size(hint), name(std::move(axis)) {}
  AxisSize(const char* axis, std::int64_t hint = kUsual) : size(hint), name(axis) {}

  static constexpr std::int64_t kUsual = 40;
  std::int64_t size = 0;
  std::string name;  ///< empty for a number
};

/// The required type and shape of an input.
struct InputSpec {
  DType dtype = DType::float32;
  std::vector<AxisSize> shape;
  std::string name = {};  ///< for messages and for the command
};
std::string to_string(const InputSpec& spec);  ///< "x: float32[batch, 3, 224, 224]"

/// The cost of a call at one combination of sizes.
struct FrozenFigures {
  std::map<std::string, std::int64_t> sizes;  ///< of the named axes
  int kernels = 0, library_calls = 0;
  int operations = 0;             ///< operations that these kernels and calls compute; without fusion each would be a launch
  double bytes_moved = 0;         ///< to and from memory, at these sizes
  double bytes_unfused = 0;       ///< the same with one launch for each operation
  std::uint64_t arena_bytes = 0;  ///< one block for all intermediate values
  std::uint64_t least_bytes = 0;  ///< the most bytes that are live at one step: no block can be smaller
  std::uint64_t apart_bytes = 0;  ///< the sum over all values if each had a block of its own
};

/// A frozen formula: a counted handle. Any number of threads may call it at once.
class Function {
 public:
  using Formula = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

  Function() = default;  ///< empty: a call throws ValueError

  /// Computes the formula. The results have memory of their own. New sizes of named axes are planned once, and the plan is stored; the last 64 combinations of
  /// sizes stay bound. Throws ValueError for a wrong number of inputs, DTypeError and ShapeError for inputs that the specs do not allow, naming the input. A
  /// loaded function also throws ShapeError for sizes for which no plan in the file is valid, and DeviceError if its plan calls a library that is missing here
  /// or that has no algorithm for the call.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs, Location where = Location::current()) const;
  std::vector<Tensor> operator()(std::initializer_list<Tensor> inputs, Location where = Location::current()) const {
    return (*this)(std::vector<Tensor>(inputs), where);
  }
  template <class... Tensors>
    requires(std::is_convertible_v<const Tensors&, Tensor> && ...)
  std::vector<Tensor> operator()(const Arg& first, const Tensors&... rest) const {
    return (*this)(std::vector<Tensor>{first.is_tensor() ? first.tensor() : Tensor(), rest...}, first.where());
  }

  /// Writes the function to a file: its plans, machine code, and the tensors that it has captured. A loaded function also accepts sizes without a plan of their
  /// own, by rules that save() finds: it records the formula at several sizes, and a named axis is dynamic if the operations are the same and every number of
  /// the recording is a sum of products of the named axes' sizes. If a formula behaves differently at some sizes (if (x.size(0) * x.size(1) > 1000) ...), the
  /// accepted sizes end there: the recordings at the corners of the accepted ranges, and at many sizes within, are the same. A difference at single sizes, far
  /// from the tested ones, is not detected (docs/models.md lists the tested sizes). Prepared sizes are always accepted. `note` is any text that belongs to the
  /// function, for a program to read after load(). Throws IoError, and ValueError for a function that was itself loaded.
  void save(std::string_view path, Location where = Location::current()) const { save(path, {}, where); }
  void save(std::string_view path, std::string_view note, Location where = Location::current()) const;
  /// Reads a function without its formula, for the present device. It opens no compiler. The file is mapped and checked for damage; it holds machine code, so
  /// trust it only as you would trust a program. Throws IoError for a file that is damaged or of another version of sinter, DeviceError for a file of another
  /// device. Kernels of another processor are compiled again; without a compiler it throws DeviceError.
  static Function load(std::string_view path, Location where = Location::current());

  /// Makes plans for these sizes of the named axes now; names that are left out have the specs' sizes.
  void prepare(const std::map<std::string, std::int64_t>& sizes, Location where = Location::current()) const;

  const std::vector<InputSpec>& inputs() const;     ///< names, types and shapes, in the order of a call
  const std::string& note() const;                  ///< of a loaded function; empty for others
  const std::vector<std::string>& outputs() const;  ///< names: y0, y1, ... unless freeze() received others
  int plans() const;                                ///< number of plans made or loaded
  /// Returns the figures of each bound combination of sizes, the latest call first.
  std::vector<FrozenFigures> figures() const;
  /// Returns the sizes for which each plan of a loaded function is valid: "batch 4 to 7, seq = 16". The range of a name applies while the other names have the
  /// planned sizes.
  std::vector<std::string> serves() const;
  /// Returns for each plan of a loaded function one line per name: the size of the plan, the sizes that give the same plan, and the reason why it is not valid
  /// for others.
  std::vector<std::string> ends() const;
  /// Returns explain() of the plan that was called last; the text begins with the figures. A loaded function knows no source lines.
  std::string explain(const ExplainOptions& options = {}) const;

 private:
  struct State;
  friend Function freeze(Formula formula, const std::vector<InputSpec>& specs, std::vector<std::string> outputs, Location where);
  std::shared_ptr<State> state_;
};

/// Records the formula on placeholders, computes the parts that depend on no input, plans the rest and compiles it, for the present device. The formula is
/// stored, and called again for new sizes. Captured tensors are stored with their present values.
Function freeze(Function::Formula formula, const std::vector<InputSpec>& specs, std::vector<std::string> outputs = {}, Location where = Location::current());

namespace detail {

template <class F, std::size_t... I> auto call_with(const F& formula, const std::vector<Tensor>& inputs, std::index_sequence<I...>) {
  return formula(inputs[I]...);
}
template <class F, std::size_t... I> constexpr bool takes(std::index_sequence<I...>) {
  return std::is_invocable_v<const F&, decltype((void(I), std::declval<const Tensor&>()))...>;
}
[[noreturn]] void refuse_inputs(std::size_t given, std::size_t taken, Location where);

inline std::vector<Tensor> as_list(Tensor result) { return {std::move(result)}; }
inline std::vector<Tensor> as_list(std::vector<Tensor> results) { return results; }

/// Counts the tensors that the formula takes one by one, up to eight.
template <class F, std::size_t N = 1> constexpr std::size_t arity() {
  if constexpr (takes<F>(std::make_index_sequence<N>())) return N;
  else if constexpr (N < 8) return arity<F, N + 1>();
  else return 0;
}

}  // namespace detail

/// Freezes a function of separate tensors that returns a tensor or several: freeze([](const Tensor& x, const Tensor& w) { return relu(x % w); }, ...).
template <class F>
  requires(!std::is_invocable_v<const F&, const std::vector<Tensor>&> && detail::arity<F>() > 0)
Function freeze(F formula, const std::vector<InputSpec>& specs, std::vector<std::string> outputs = {}, Location where = Location::current()) {
  constexpr std::size_t count = detail::arity<F>();
  if (specs.size() != count) detail::refuse_inputs(specs.size(), count, where);
  return freeze(Function::Formula([formula = std::move(formula)](const std::vector<Tensor>& inputs) {
                  return detail::as_list(detail::call_with(formula, inputs, std::make_index_sequence<count>()));
                }),
                specs, std::move(outputs), where);
}

}  // namespace sinter
