// Frozen functions: a formula recorded and planned once, called many times. A call binds the inputs and runs the plan's kernels.
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

/// A size of an input: a number, or a name, which stands for any size, the same wherever it appears.
struct AxisSize {
  template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  AxisSize(T number) : size(static_cast<std::int64_t>(number)) {}
  /// `hint`: the size that is planned for first.
  AxisSize(std::string axis, std::int64_t hint = kUsual) : size(hint), name(std::move(axis)) {}
  AxisSize(const char* axis, std::int64_t hint = kUsual) : size(hint), name(axis) {}

  static constexpr std::int64_t kUsual = 40;
  std::int64_t size = 0;
  std::string name;  // empty: a number
};

/// What an input has to be.
struct InputSpec {
  DType dtype = DType::float32;
  std::vector<AxisSize> shape;
  std::string name = {};  // for messages and for the command
};
std::string to_string(const InputSpec& spec);  // "x: float32[batch, 3, 224, 224]"

/// What a call at some sizes takes.
struct FrozenFigures {
  std::map<std::string, std::int64_t> sizes;  // of the named axes
  int kernels = 0, library_calls = 0;
  int operations = 0;             // that these compute: so many launches it would be, one for each
  double bytes_moved = 0;         // to and from memory, at the sizes that the plan was made for
  double bytes_unfused = 0;       // one launch for each operation
  std::uint64_t arena_bytes = 0;  // one block for all values on the way
  std::uint64_t least_bytes = 0;  // the most that is alive at one step: no block can be smaller
  std::uint64_t apart_bytes = 0;  // of all values: a block for each
};

/// A frozen formula: a counted handle; any number of threads may call it at once.
class Function {
 public:
  using Formula = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

  Function() = default;  ///< empty: a call throws ValueError

  /// Computes the formula. The results have memory of their own. Sizes of named axes that were not met before are planned for once, and kept; so are
  /// the last 64 combinations of sizes, bound. Throws ValueError for another number of inputs, DTypeError and ShapeError for what the specs do not
  /// allow, naming the input; and, of a function that was loaded, ShapeError for sizes that no plan in the file holds for,
  /// DeviceError where its plan has products of a library's that there is not here, or that has no algorithm for them.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs, Location where = Location::current()) const;
  std::vector<Tensor> operator()(std::initializer_list<Tensor> inputs, Location where = Location::current()) const {
    return (*this)(std::vector<Tensor>(inputs), where);
  }
  template <class... Tensors>
    requires(std::is_convertible_v<const Tensors&, Tensor> && ...)
  std::vector<Tensor> operator()(const Arg& first, const Tensors&... rest) const {
    return (*this)(std::vector<Tensor>{first.is_tensor() ? first.tensor() : Tensor(), rest...}, first.where());
  }

  /// Writes the function to a file: its plans, machine code, and what it has captured. For sizes other than those that its plans were made with, a
  /// loaded function relies on rules that are found now by recording the formula at several sizes: an axis is free where all numbers of the recording
  /// are sums of products of the named axes' sizes, and the same operations result. A formula that does something else at some sizes
  /// (if (x.size(0) * x.size(1) > 1000) ...) is served up to there: the corners of what is served, and many sizes within, record the same. One that does so
  /// at single sizes only, far from those that are looked at, is not found out (docs/models.md lists them). Sizes that were prepared are served in any case.
  /// Throws IoError, and ValueError for a function that was loaded itself.
  void save(std::string_view path, Location where = Location::current()) const;
  /// Reads a function without its formula, for the present device. No compiler is opened. The file is mapped, and checked for damage; it holds machine
  /// code, and has to be trusted as a program has. Throws IoError for one that is
  /// damaged or of another version of sinter, DeviceError for one of another device; kernels of another processor are compiled again, DeviceError
  /// where there is no compiler.
  static Function load(std::string_view path, Location where = Location::current());

  /// Plans for these sizes of the named axes now; those that are left out are as the specs have them.
  void prepare(const std::map<std::string, std::int64_t>& sizes, Location where = Location::current()) const;

  const std::vector<InputSpec>& inputs() const;
  const std::vector<std::string>& outputs() const;  ///< names: y0, y1, ... unless freeze() was told others
  int plans() const;                                ///< how many were made, or loaded
  /// Of each combination of sizes that is bound, the one called last first.
  std::vector<FrozenFigures> figures() const;
  /// The sizes that each plan of a loaded function serves: "batch 4 to 7, seq = 16", the sizes of each name around the planned one, while the others are as
  /// planned for.
  std::vector<std::string> serves() const;
  /// Of each plan of a loaded function, a line for each name: for which size it was made, which would be planned the same, and why it serves no others.
  std::vector<std::string> ends() const;
  /// The figures, and what explain() says of the plan that was called last.
  std::string explain() const;

 private:
  struct State;
  friend Function freeze(Formula formula, const std::vector<InputSpec>& specs, std::vector<std::string> outputs, Location where);
  std::shared_ptr<State> state_;
};

/// Records the formula on placeholders, computes what of it depends on no input, plans the rest and compiles it, for the present device. The formula is
/// kept, and called again for sizes that it was not recorded with. What it has captured is part of it as it is now.
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

/// How many tensors the formula takes one by one, up to eight.
template <class F, std::size_t N = 1> constexpr std::size_t arity() {
  if constexpr (takes<F>(std::make_index_sequence<N>())) return N;
  else if constexpr (N < 8) return arity<F, N + 1>();
  else return 0;
}

}  // namespace detail

/// Of a function of tensors one by one, that returns a tensor or several: freeze([](const Tensor& x, const Tensor& w) { return relu(x % w); }, ...).
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
