#include "trace/graph.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>

#include <fmt/format.h>

#include "sinter/whole.hpp"
#include "trace/symbols.hpp"

namespace sinter {

std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

std::int64_t element_count(const Shape& shape) {
  std::int64_t n = 1;
  for (const std::int64_t size : shape) {
    if (size == 0) return 0;
  }
  for (const std::int64_t size : shape) n *= size;
  return n;
}

}  // namespace sinter

namespace sinter::trace {
namespace {

/// Truncates; a number that fits only uint64 becomes its bits.
std::int64_t to_integer(double f) { return f >= 0x1p63 && f < 0x1p64 ? static_cast<std::int64_t>(static_cast<std::uint64_t>(f)) : detail::saturated(f); }

}  // namespace

double Scalar::as_double() const {
  if (is_floating(dtype)) return f;
  return is_unsigned(dtype) ? static_cast<double>(static_cast<std::uint64_t>(i)) : static_cast<double>(i);
}

std::uint64_t Scalar::bits() const {
  std::uint64_t bits = 0;
  visit_storage(dtype, [&]<class T>() {
    const T value = is_floating(dtype_of<T>) ? static_cast<T>(f) : static_cast<T>(i);
    std::memcpy(&bits, &value, sizeof value);
  });
  return bits;
}

Scalar make_scalar(DType dtype, double f) {
  if (!is_floating(dtype)) return make_scalar_int(dtype, is_bool(dtype) ? f != 0 : to_integer(f));
  visit_storage(dtype, [&]<class T>() { f = static_cast<double>(static_cast<T>(f)); });
  return {dtype, f, 0};
}

Scalar make_scalar_int(DType dtype, std::int64_t i) {
  if (dtype == DType::float32) return {dtype, static_cast<double>(static_cast<float>(i)), 0};  // rounded once
  if (is_floating(dtype)) return make_scalar(dtype, static_cast<double>(i));
  visit_storage(dtype, [&]<class T>() { i = static_cast<std::int64_t>(static_cast<T>(i)); });
  return {dtype, 0, i};
}

Scalar neutral(Op reduction, DType dtype) {
  if (reduction == Op::reduce_sum || reduction == Op::reduce_prod) return make_scalar_int(dtype, reduction == Op::reduce_prod);
  const bool is_min = reduction == Op::reduce_min;  // starts from the largest
  return visit_storage(dtype, [&]<class T>() -> Scalar {
    using limits = std::numeric_limits<T>;
    if constexpr (limits::has_infinity) return {dtype, is_min ? HUGE_VAL : -HUGE_VAL, 0};
    const T start = is_min ? limits::max() : limits::lowest();
    if constexpr (!limits::is_integer) return {dtype, static_cast<double>(start), 0};
    else return {dtype, 0, static_cast<std::int64_t>(static_cast<std::uint64_t>(start))};
  });
}

std::vector<int> Node::axes() const {
  std::vector<int> numbers;
  for (std::size_t k = 0; k < ints.size(); ++k) numbers.push_back(axis(k));
  return numbers;
}

std::vector<std::int64_t> elements_left(const Node& node, const Sizes& operand) {
  const std::vector<std::int64_t> shape = hints(node.shape), ints = hints(node.ints), whole = hints(operand);
  std::vector<std::int64_t> left;
  if (node.op == Op::slice) {
    for (std::size_t k = 0; k < shape.size(); ++k) {
      if (shape[k] == 0) continue;
      const std::int64_t start = ints[2 * k], last = start + (shape[k] - 1) * ints[2 * k + 1];
      left.push_back(std::min(start, last));
      left.push_back(whole[k] - 1 - std::max(start, last));
    }
  } else if (node.op == Op::windows) {
    const auto axis = static_cast<std::size_t>(ints[0]);
    left.push_back(whole[axis] - 1 - (shape[axis] - 1) * ints[1] - (shape.back() - 1) * ints[2]);
  } else if (node.op == Op::argsort) {
    left.push_back(whole.back() - shape.back());
  }
  return left;
}

namespace {

/// Replaces the numbers of a graph by symbols.
class SymbolWriter {
 public:
  explicit SymbolWriter(Graph& graph) : graph_(graph) {}
  void write_to(Sizes& numbers) {
    to_ = &numbers;
    numbers.clear();
  }
  void write_starts_of(Node& slice) {
    write_to(slice.ints);
    operand_ = slice.inputs[0];
  }
  void constant(std::int64_t value) { to_->push_back(value); }
  void symbol(int number, std::int64_t value, SymbolNumbers::Of of) {
    if (number == static_cast<int>(symbols_.size())) {
      const bool start = of == SymbolNumbers::Of::start;
      symbols_.push_back(graph_.space->symbol(fmt::format("{}{}", start ? 'o' : 'n', start ? starts_++ : sizes_++), value, start ? 1 : 2));
    }
    to_->push_back(symbols_[static_cast<std::size_t>(number)]);
  }
  void last_of(std::size_t axis) { to_->push_back(graph_.nodes[static_cast<std::size_t>(operand_)].shape[axis] - 1); }
  void more(std::int64_t distance) { to_->back() += distance; }

 private:
  Graph& graph_;
  Sizes* to_ = nullptr;
  int operand_ = -1;  // node of the slice whose starts are written
  Sizes symbols_;
  int sizes_ = 0, starts_ = 0;
};

}  // namespace

Graph symbolic(Graph graph) {
  graph.space = std::make_shared<SizeSpace>();
  std::vector<Shape> shapes;
  std::deque<std::vector<std::int64_t>> ints;  // never moved, because slices refer to them
  std::vector<SymbolNumbers::Slice> slices;
  std::vector<Node*> sliced;
  shapes.reserve(graph.nodes.size());
  graph.recorded.reserve(graph.nodes.size());
  SymbolNumbers numbers;
  SymbolWriter writer(graph);
  int calls = 0;
  for (Node& node : graph.nodes) {
    node.from = static_cast<int>(shapes.size());
    if (is_library(node.op)) node.call = calls++;
    shapes.emplace_back(hints(node.shape));
    writer.write_to(node.shape);
    numbers.sizes(shapes.back(), writer);
    node.elements = element_count(node.shape);
    graph.recorded.push_back(node.elements);
    if (node.ints.empty()) continue;
    ints.push_back(hints(node.ints));
    writer.write_to(node.ints);
    numbers.ints(node.op, ints.back(), writer);
    if (node.op != Op::slice) continue;
    slices.push_back({static_cast<std::uint64_t>(node.inputs[0]), &shapes[static_cast<std::size_t>(node.inputs[0])], &ints.back()});
    sliced.push_back(&node);
  }
  numbers.starts(slices, [&](std::size_t k) { writer.write_starts_of(*sliced[k]); }, writer);
  return graph;
}

std::string to_string(const Sizes& shape) { return to_string(Shape(hints(shape))); }

std::string to_string(const Graph& graph) {
  std::string text;
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& n = graph.nodes[id];
    text += fmt::format("%{} = {} {} {}", id, name(n.op), name(n.dtype), to_string(n.shape));
    for (const int input : n.inputs) text += fmt::format(" %{}", input);
    if (!n.ints.empty()) text += fmt::format(" [{}]", fmt::join(n.ints, ", "));
    if (n.op == Op::constant)
      text += is_floating(n.dtype)   ? fmt::format(" {}", n.scalar.f)
              : is_unsigned(n.dtype) ? fmt::format(" {}", static_cast<std::uint64_t>(n.scalar.i))
                                     : fmt::format(" {}", n.scalar.i);
    if (n.op == Op::data) text += fmt::format(" leaf {}", n.leaf);
    if (n.chunk.hint() > 0) text += fmt::format(" chunk {}{}", n.chunk.hint(), n.chunks_first ? " first" : "");
    text += '\n';
  }
  text += "return";
  for (const int output : graph.outputs) text += fmt::format(" %{}", output);
  return text + '\n';
}

}  // namespace sinter::trace
