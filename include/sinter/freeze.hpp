// Frozen functions: a formula is recorded and planned once and called many times. A call binds the inputs and runs the plan's kernels.
#pragma once
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sinter/engine.hpp"
#include "sinter/tensor.hpp"

namespace sinter {

/// A size of an input: a number, or a name that stands for any size. Wherever the same name appears, the size is the same.
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
  std::map<std::string, std::int64_t> sizes;  ///< the sizes of the named axes
  int kernels = 0, library_calls = 0;
  int operations = 0;             ///< operations that these kernels and calls compute; without fusion each would be a launch of its own
  double bytes_moved = 0;         ///< to and from memory, at these sizes
  double bytes_unfused = 0;       ///< the bytes that one launch for each operation would move
  std::uint64_t arena_bytes = 0;  ///< size of the one block that holds all intermediate values
  std::uint64_t least_bytes = 0;  ///< the most bytes that are live at one step; the block cannot be smaller
  std::uint64_t apart_bytes = 0;  ///< the bytes that all intermediate values would take in blocks of their own
};

/// A handle on a frozen formula; copies share the formula. Any number of threads may call it at once.
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
  /// own. For this, save() records the formula at several sizes. A named axis is dynamic if all recordings have the same operations, and every number in them
  /// is a sum of products of the named axes' sizes. If the recording differs at some sizes (if (x.size(0) * x.size(1) > 1000) ...), the accepted ranges exclude
  /// them: save() compares the recordings at the corners of the ranges and at many sizes within. A difference at a few sizes far from the tested ones is not
  /// detected (docs/models.md lists the tested sizes). Prepared sizes are always accepted. `note` is any text that belongs to the function, for a program to
  /// read after load(). Throws IoError, and ValueError for a function that was itself loaded.
  void save(std::string_view path, Location where = Location::current()) const { save(path, {}, where); }
  void save(std::string_view path, std::string_view note, Location where = Location::current()) const;
  /// Reads a function without its formula, for the present device. It opens no compiler. The file is mapped and checked for damage. It holds machine code, so
  /// load only a file that you would also run as a program. Throws IoError for a file that is damaged or of another version of sinter, DeviceError for a file
  /// of another device. Kernels for another processor are compiled again; if there is no compiler, load() throws DeviceError.
  static Function load(std::string_view path, Location where = Location::current());

  /// Makes the plan for these sizes of the named axes now. A name that is left out has the size of its spec. The number of rounds of a loop that collects
  /// values is a size, too: {"rounds of loop 1", 12}. Plans for 0, 1 and 5 rounds are always made. On the CPU these serve all numbers; a GPU may need further
  /// ones. A number for a loop that the function does not have is ignored.
  void prepare(const std::map<std::string, std::int64_t>& sizes, Location where = Location::current()) const;

  const std::vector<InputSpec>& inputs() const;     ///< names, types and shapes, in the order of a call
  const std::string& note() const;                  ///< the note that save() stored in a loaded function's file; else empty
  const std::vector<std::string>& outputs() const;  ///< the results' names: y0, y1, ... unless freeze() received others
  int plans() const;                                ///< number of plans made or loaded
  /// Returns the figures of each bound combination of sizes, the latest call first.
  std::vector<FrozenFigures> figures() const;
  /// Returns the sizes for which each plan of a loaded function is valid: "batch 4 to 7, seq = 16". Each range holds if the other names have the planned sizes.
  std::vector<std::string> serves() const;
  /// Returns whether a call with these sizes has a plan, or the formula can be planned for them. A name that is left out has the size of its spec.
  bool has_plan_for(const std::map<std::string, std::int64_t>& sizes) const;
  /// Returns the paths through the decisions for which a loaded function has no plan, with the reasons.
  std::vector<std::string> missing() const;
  /// Explains the ranges of serves(). For each plan of a loaded function, returns one line per name: the planned size, the sizes for which the scheduler would
  /// make the same plan, and why the plan is not valid for the next size.
  std::vector<std::string> limits() const;
  /// Returns explain() of the plan that was called last; the text begins with the figures. A loaded function knows no source lines.
  std::string explain(const ExplainOptions& options = {}) const;

 private:
  struct State;
  friend Function freeze(Formula formula, const std::vector<InputSpec>& specs, std::vector<std::string> outputs, Location where);
  std::shared_ptr<State> state_;
};

/// Records the formula on placeholders, computes the parts that depend on no input, and plans and compiles the rest for the present device. The function keeps
/// the formula, and records it again for new sizes. Tensors that the formula captures keep the values that they have now.
Function freeze(Function::Formula formula, const std::vector<InputSpec>& specs, std::vector<std::string> outputs = {}, Location where = Location::current());

/// Returns whether this thread records a formula that is being frozen.
bool is_freezing();
/// Returns how many decisions the formula that this thread records has made; 0 outside of freeze().
std::size_t decisions_made();
/// No error: leaves a formula at a decide() whose answer is open. It is no std::exception, so that a formula that handles errors does not handle this. Code
/// between freeze() and the formula, such as a binding to another language, lets it pass.
struct Undecided {};

/// Returns whether a tensor of one element is true, that is, not zero: `if (decide(sum(x) > 0)) ...`. Computes the element. In a formula that is being frozen
/// it is not known yet: then the formula is planned for each answer, and a call computes the condition and continues with the plan for its answer. For this,
/// the formula is recorded several times, each up to the first decision whose answer is open, which decide() leaves by Undecided. The formula must make the
/// same decisions for all sizes, and return equally many tensors on all paths. save() stores the paths that were called, and plans others as long as they have
/// fewer than 32 stages together. Throws
/// ShapeError for another number of elements.
bool decide(const Tensor& condition, Location where = Location::current());

/// What a round of a loop returns.
struct LoopRound {
  Tensor go;                           ///< one element: whether another round follows
  std::vector<Tensor> state;           ///< as many tensors as the round was given, of the same shapes and types
  std::vector<Tensor> collected = {};  ///< the same shapes and types in every round
};
/// A loop whose number of rounds is known only when it runs.
struct Loop {
  Tensor go;                        ///< one element: whether there is a first round
  std::optional<Tensor> most = {};  ///< one element: the largest number of rounds; absent for no limit
  std::vector<Tensor> state;
  std::function<LoopRound(const Tensor& round, const std::vector<Tensor>& state)> body;  ///< `round`, an int64, counts from 0
};
struct LoopResults {
  std::vector<Tensor> state;
  std::vector<Tensor> collected;  ///< the values of all rounds, stacked along a new first axis
};
/// Runs rounds while the last one says so and the limit is not reached. In a formula that is being frozen, a round is planned once, and a call runs its plan as
/// often as needed; a C++ loop over decide() would have a plan for each round. Costly values that the body computes without the round and the state are
/// computed once, before the first round. Throws ShapeError for a state that changes its shape or type.
LoopResults loop(const Loop& loop, Location where = Location::current());

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

/// Returns how many tensors the formula takes as separate arguments, at most eight; 0 for none of these.
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
