#include "freeze/reach.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sinter/errors.hpp"
#include "trace/library.hpp"

namespace sinter::freezing {
namespace {

using jit::kNone;
using jit::kOne;
__extension__ typedef __int128 Wide;  // no sum or product of a few int64 is lost

constexpr Wide kMost = std::int64_t{1} << 56;

struct Range {
  Wide low = 0, high = 0;
};

[[noreturn]] void refuse(std::string_view what) { throw InternalError(fmt::format("a step of the plan {}", what)); }

Wide within_reason(Wide value) {
  if (value > kMost || value < -kMost) refuse("has numbers beyond any memory");
  return value;
}

Range scaled(const Range& range, Wide by) {
  const Wide a = within_reason(range.low * by), b = within_reason(range.high * by);
  return {std::min(a, b), std::max(a, b)};
}

/// One kernel's walk.
class Walk {
 public:
  Walk(const jit::LoopNest& nest, const std::int64_t* numbers) : nest_(nest), numbers_(numbers) {
    for (int axis = 0; axis < nest.axes(); ++axis) {
      if (numbers[axis] < 0) refuse("has an axis of a negative size");
      empty_ |= numbers[axis] == 0;
    }
    for (const jit::Index& index : nest.indices) ranges_.push_back(of(index));
  }

  bool empty() const { return empty_; }

  /// The places that an index takes; nothing where computed values are part of it.
  const std::optional<Range>& range(int index) const { return ranges_[static_cast<std::size_t>(index)]; }

  Wide parallel_points() const {
    Wide points = 1;
    for (int axis = 0; axis < nest_.parallel; ++axis) points = within_reason(points * numbers_[axis]);
    return points;
  }

 private:
  std::optional<Range> of(const jit::Index& at) const {  // inner ones are there before
    Range sum;
    bool computed = false;
    if (at.constant != kNone) sum = scaled({1, 1}, number(at.constant));
    const bool chunked = nest_.chunk_axis >= 0 && walks_chunks(at);
    for (const jit::Index::Term& term : at.terms) {
      Range one;
      if (term.value >= 0) {
        computed = true;
        continue;
      }
      if (chunked && term.axis == nest_.chunk_axis) continue;  // together with the place in the chunk, below
      if (chunked && term.axis == nest_.chunk_row) {
        one = {0, number(nest_.chunk_total) - 1};
      } else if (term.axis >= 0) {
        one = {0, std::max<std::int64_t>(numbers_[term.axis] - 1, 0)};
      } else {
        const auto& inner = range(term.inner);
        const std::int64_t div = number(term.div);
        if (div <= 0 || (term.mod != kNone && number(term.mod) <= 0)) refuse("divides by no number of elements");
        if (term.mod != kNone) one = {0, number(term.mod) - 1};
        else if (!inner) computed = true;
        else one = {inner->low / div, inner->high / div};
      }
      const Range part = scaled(one, number(term.coeff));
      sum = {within_reason(sum.low + part.low), within_reason(sum.high + part.high)};
    }
    return computed ? std::nullopt : std::optional(sum);
  }

  std::int64_t number(int parameter) const { return parameter == kOne ? 1 : numbers_[parameter]; }

  /// Whether the index counts what is cut in chunks: the chunk's number times its length, and the place in it.
  bool walks_chunks(const jit::Index& index) const {
    std::int64_t chunk = 0, row = 0;
    for (const jit::Index::Term& term : index.terms) {
      if (term.axis == nest_.chunk_axis) chunk += number(term.coeff);
      if (term.axis == nest_.chunk_row) row += number(term.coeff);
    }
    return row != 0 && static_cast<Wide>(row) * numbers_[nest_.chunk_row] == chunk;
  }

  const jit::LoopNest& nest_;
  const std::int64_t* numbers_;
  bool empty_ = false;
  std::vector<std::optional<Range>> ranges_;
};

class Checker {
 public:
  Checker(const Bound& bound, const Values& values, const std::vector<std::int64_t>& input_bytes)
      : bound_(bound), input_bytes_(input_bytes), planned_(*bound.planned) {
    const auto& nodes = planned_.plan.graph.nodes;
    for (const fuse::Node& node : nodes) bytes_.push_back(node.op == trace::Op::data ? leaf_bytes(node) : -1);
    for (std::size_t node = 0; node < nodes.size(); ++node)
      if (planned_.bytes[node] >= 0) bytes_[node] = numbers()[planned_.bytes[node]];
    for (std::size_t k = 0; k < planned_.outputs.size(); ++k) {
      const auto node = static_cast<std::size_t>(planned_.outputs[k]);
      Wide bytes = static_cast<Wide>(itemsize(bound.leaves->results[k]));
      for (const std::int64_t size : values.shapes[k]) bytes = within_reason(bytes * size);
      if (bytes < 0 || bytes > std::max<std::int64_t>(bytes_[node], 0)) refuse("leaves a result shorter than its shape");
    }
  }

  void run() const {
    for (const auto& [node, with] : bound_.shared) {
      written(with);
      if (bytes_[static_cast<std::size_t>(node)] > bytes_[static_cast<std::size_t>(with)]) refuse("takes the memory of a smaller value");
    }
    for (std::size_t s = 0; s < planned_.steps.size(); ++s) {
      if (planned_.plan.steps[s].kind == fuse::Step::Kind::library) call(bound_.library[s]);
      else kernel(planned_.steps[s], planned_.steps[s].follows ? &bound_.library[s - 1] : nullptr);
    }
  }

 private:
  const std::int64_t* numbers() const { return bound_.numbers.data(); }

  /// Of an input: what its shape says.
  std::int64_t leaf_bytes(const fuse::Node& node) const {
    const auto leaf = static_cast<std::size_t>(node.leaf);
    const int input = bound_.leaves->inputs[leaf];
    return input < 0 ? static_cast<std::int64_t>(bound_.leaves->storages[leaf]->bytes) : input_bytes_[static_cast<std::size_t>(input)];
  }

  void inside(int node, const Range& places, std::int64_t offset, DType dtype) const {
    const auto size = static_cast<Wide>(itemsize(dtype));
    if (places.low + offset < 0 || (places.high + offset + 1) * size > bytes_[static_cast<std::size_t>(node)]) refuse("reaches outside of its buffers");
  }

  /// What a step writes is the plan's own: not an input, not a constant, which may lie in the file itself.
  void written(int node) const {
    if (planned_.plan.graph.nodes[static_cast<std::size_t>(node)].op == trace::Op::data) refuse("writes into what it was given");
  }

  void kernel(const PlannedStep& step, const fuse::LibraryCall* followed) const {
    const jit::LoopNest& nest = step.nest;
    const std::int64_t* ints = numbers() + step.numbers;
    const std::int64_t* offsets = ints + nest.ints.size();
    const Walk walk(nest, ints);
    std::vector<bool> bare(nest.inputs.size());  // read at every point, whatever its values
    for (const jit::Instr& instr : nest.instrs)
      if (instr.kind == jit::Instr::Kind::load && instr.guard < 0) bare[static_cast<std::size_t>(instr.input)] = true;
    if (followed && walk.parallel_points() != element_count(followed->shape)) refuse("follows a call of other points");
    if (walk.empty()) return;
    Wide most = 0;
    for (std::size_t k = 0; k < nest.inputs.size(); ++k) {
      if (!bare[k]) continue;
      const auto& places = walk.range(nest.inputs[k].index);
      if (!places) refuse("reads at computed places without a guard");
      inside(nest.inputs[k].buffer, *places, offsets[k], nest.inputs[k].dtype);
    }
    for (std::size_t k = 0; k < nest.outputs.size(); ++k) {
      const jit::Access& out = nest.outputs[k];
      const auto& places = walk.range(out.index);
      if (!places) refuse("writes at computed places");
      written(out.buffer);
      inside(out.buffer, *places, offsets[nest.inputs.size() + k], out.dtype);
      most = std::max<Wide>(most, bytes_[static_cast<std::size_t>(out.buffer)]);
    }
    if (walk.parallel_points() > most) refuse("computes more points than it has room for");
  }

  void call(const fuse::LibraryCall& call) const {
    written(call.node);
    std::vector<Shape> shapes;
    for (const fuse::LibraryOperand& operand : call.operands) {
      Range places;
      bool empty = false;
      for (std::size_t k = 0; k < operand.shape.size(); ++k) {
        if (operand.shape[k] < 0) refuse("has an operand of a negative size");
        empty |= operand.shape[k] == 0;
        const Range part = scaled({0, static_cast<Wide>(operand.shape[k]) - 1}, operand.strides[k]);
        places = {within_reason(places.low + part.low), within_reason(places.high + part.high)};
      }
      if (!empty) inside(operand.node, places, operand.offset, operand.dtype);
      if (call.op != trace::Op::matmul &&  // which looks at its strides itself
          !fuse::library_takes(call.op, fuse::Sizes(operand.shape.begin(), operand.shape.end()), fuse::Sizes(operand.strides.begin(), operand.strides.end())))
        refuse("has an operand in a layout that its library does not read");
      shapes.push_back(operand.shape);
    }
    if (call.row) {
      if (call.shape.empty() || shapes.back() != Shape{call.shape.back()}) refuse("adds a row of another length");
      shapes.pop_back();
    }
    const bool of_bytes = call.op == trace::Op::conv_bytes || call.op == trace::Op::conv_bytes_scaled;
    if ((call.op == trace::Op::conv || call.op == trace::Op::conv_blocked || of_bytes) && !convolves(call.op, shapes, call.ints))
      refuse("has the attributes of no convolution");
    if (of_bytes && !are_bytes(call)) refuse("convolves what are no bytes");
    if (call.op == trace::Op::matmul_panels) {
      const bool fits = shapes.size() == 2 && shapes[0].size() >= 2 && call.ints.size() == 1 && call.ints[0] >= 0 && call.ints[0] < kMost &&
                        shapes[0].back() < kMost && trace::panels_hold(shapes[1], shapes[0].back(), call.ints[0]);
      if (!fits || call.operands[0].dtype != DType::uint8 || call.operands[1].dtype != DType::int8 || call.dtype != DType::int32 || call.stored != call.dtype)
        refuse("multiplies by what are no panels of bytes");
    }
    if (call.op == trace::Op::recurrence) {
      const auto how = trace::Recurrence::of(call.ints);
      if (!how || !how->takes(shapes) || call.dtype != DType::float32) refuse("has the attributes of no recurrent layer");
    }
    if (call.shape != trace::library_shape(call.op, shapes, call.ints)) refuse("gives a result of another shape than its operands say");
    Wide elements = 1;
    for (const std::int64_t size : call.shape) elements = within_reason(elements * size);
    if (elements * static_cast<Wide>(itemsize(call.stored)) > bytes_[static_cast<std::size_t>(call.node)]) refuse("reaches outside of its buffers");
  }

  static bool are_bytes(const fuse::LibraryCall& call) {
    constexpr DType kTypes[] = {DType::uint8, DType::int8, DType::int32, DType::float32};
    for (std::size_t k = 0; k < call.operands.size(); ++k)
      if (call.operands[k].dtype != kTypes[k]) return false;
    return call.dtype == (call.op == trace::Op::conv_bytes ? DType::int32 : DType::float32) && call.stored == call.dtype;
  }
  /// Whether these are what ops/conv.cpp and ops/blocked.cpp record, so far as sizes are divided by them.
  static bool convolves(trace::Op op, const std::vector<Shape>& shapes, const std::vector<std::int64_t>& ints) {
    if (ints.size() < 5 || ints.size() % 4 != 1) return false;
    const trace::Convolution how = trace::Convolution::of(ints);
    constexpr std::int64_t kLargest = std::int64_t{1} << 31;
    for (const auto* list : {&how.stride, &how.dilation})
      if (std::any_of(list->begin(), list->end(), [](std::int64_t n) { return n < 1 || n > kLargest; })) return false;
    for (const auto* list : {&how.before, &how.after})
      if (std::any_of(list->begin(), list->end(), [](std::int64_t n) { return n < -kLargest || n > kLargest; })) return false;
    const Shape &x = shapes[0], &filters = shapes[1];
    if (op == trace::Op::conv_bytes || op == trace::Op::conv_bytes_scaled) {
      const std::size_t operands = op == trace::Op::conv_bytes ? 3 : 4;
      if (shapes.size() != operands || how.axes() != 2 || how.groups != 1 || x.size() != 5 ||
          std::min({how.before[0], how.before[1], how.after[0], how.after[1]}) < 0)
        return false;
      const bool reads = filters.size() == 4 ? filters[0] == x[1] && filters[3] == 16 && x[4] == 16
                                             : filters.size() == 7 && filters[1] == x[1] && (x[4] == 4 || x[4] == 16) && filters[4] * 4 == x[4] &&
                                                   filters[5] == 16 && filters[6] == 4;
      const std::int64_t all = filters[0] * 16;
      return reads && shapes[2] == Shape{all + 1} && (operands == 3 || shapes[3] == Shape{2, all});
    }
    if (op == trace::Op::conv_blocked) {
      if (how.axes() != 2 || !trace::filters_read(x, filters, how.groups)) return false;
      if (std::min({how.before[0], how.before[1], how.after[0], how.after[1]}) < 0) return false;
      const bool transformed = x.size() == 5 && filters.size() == 5;
      const std::int64_t blocks = filters[transformed ? 1 : 0];
      if (shapes.size() != 3 || shapes[2] != Shape{blocks * filters.back()}) return false;  // where sums begin
      return !transformed || (how.stride == Shape{1, 1} && how.dilation == Shape{1, 1});
    }
    return x.size() == how.axes() + 2 && filters.size() == x.size() && how.groups >= 1 && filters[0] % how.groups == 0 && filters[0] >= how.groups &&
           x[1] == filters[1] * how.groups;
  }

  const Bound& bound_;
  const std::vector<std::int64_t>& input_bytes_;
  const Planned& planned_;
  std::vector<std::int64_t> bytes_;  // of each node in memory
};

}  // namespace

void check_bytes(const Planned& planned, const Values& values) {
  std::vector<std::int64_t> numbers;
  planned.program.evaluate(values.symbols, numbers);
  for (const int number : planned.bytes)
    if (number >= 0 && (numbers[static_cast<std::size_t>(number)] < 0 || numbers[static_cast<std::size_t>(number)] > kMost))
      refuse("writes a value of no size");
}

void check_reach(const Bound& bound, const Values& values, const std::vector<std::int64_t>& input_bytes) { Checker(bound, values, input_bytes).run(); }

}  // namespace sinter::freezing
