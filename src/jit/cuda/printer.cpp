// Generates CUDA C++ from a loop nest: one self-contained kernel in one of five forms (see geometry.hpp). The text holds no parameter value, so that another
// literal or another size gives the same text.
// Names follow to_string(LoopNest): axes p0.. and r0.., numbers s3, indices i2, literals c0, persistent buffers persistent0. Values have the names of their
// instructions.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "jit/compiler.hpp"
#include "jit/contraction.hpp"
#include "jit/cuda/geometry.hpp"
#include "jit/cuda/spelling.hpp"
#include "jit/loop_nest.hpp"
#include "jit/reduction_order.hpp"
#include "sinter/errors.hpp"

namespace sinter::jit {
namespace cuda {
namespace {

class Printer {
 public:
  Printer(const LoopNest& nest, int sm)
      : nest_(nest),
        form_(nest.schedule.form),
        width_(nest.schedule.vector),
        int_(nest.schedule.wide_index ? "long long" : "int"),
        count_(nest.schedule.wide_index ? "long long" : "unsigned int"),
        turned_(form_ == Form::tiles ? turnable_inputs(nest) : std::vector<int>()),
        turned_back_(form_ == Form::tiles ? turnable_outputs(nest) : std::vector<int>()),
        sm_(sm),
        helpers_(nest.fast_math, sm),
        value_(nest.instrs.size()) {}

  std::string print() {
    check();
    switch (form_) {
      case Form::pointwise: pointwise(); break;
      case Form::tiles: tiles(); break;
      case Form::rows: rows(); break;
      case Form::columns: columns(); break;
      case Form::contraction: contract(); break;
      default: throw InternalError("a form that is the CPU's");  // check() has reported it with a better text
    }
    return header() + helpers_.text() + "\n" + signature() + body_ + "}\n";
  }

 private:
  // ---- output -------------------------------------------------------------------------------------------------

  template <class... Args> void line(fmt::format_string<Args...> format, Args&&... args) {
    body_.append(2 * depth_, ' ');
    body_ += fmt::format(format, std::forward<Args>(args)...);
    body_ += '\n';
  }
  template <class... Args> void open(fmt::format_string<Args...> format, Args&&... args) {
    const std::string head = fmt::format(format, std::forward<Args>(args)...);
    line("{}{{", head.empty() ? "" : head + " ");
    ++depth_;
  }
  void close() {
    --depth_;
    line("}}");
  }
  /// Prints `inside` once for each element of a vector, or once where there is no vector.
  void lanes(bool wanted, const std::function<void()>& inside) {
    if (!wanted) return inside();
    line("#pragma unroll");
    open("for (int lane = 0; lane < {}; ++lane)", width_);
    inside();
    close();
  }

  std::string header() const {
    std::string text;
    for (std::string op : nest_.ops) {
      for (char& c : op)
        if (c == '\n' || c == '\r' || c == '\\') c = ' ';  // each of these would end or extend the comment
      text += "// " + op + "\n";
    }
    switch (form_) {
      case Form::pointwise: text += "// a thread per point"; break;
      case Form::tiles: text += "// a block per 32 x 32 points; what lies the other way round is turned in shared memory"; break;
      case Form::rows:
        text += cluster() > 1                         ? fmt::format("// a cluster of {} blocks per row", cluster())
                : !within_warps(nest_)                ? "// a block per row"
                : nest_.schedule.row_threads == kWarp ? "// a warp per row"
                                                      : fmt::format("// {} threads per row", nest_.schedule.row_threads);
        break;
      case Form::columns: text += "// a thread per column, the block's y shares its rows"; break;
      case Form::contraction: text += fmt::format("// a block per {0} x {0} points, of which a thread has {1} x {1}", side(), each()); break;
      default: break;
    }
    return text + (width_ > 1 ? fmt::format("; vectors of {}\n", width_) : "\n");
  }

  /// Returns the launch bounds. Blocks of up to 256 threads need none: they fit whatever number of registers the kernel takes (256 * 255 < 65536), and a bound
  /// would make ptxas spill a few registers to fit more blocks on a multiprocessor.
  std::string launch_bounds() const {
    const int threads = nest_.schedule.threads;
    // A multiprocessor holds two blocks of the largest squares, if each thread keeps to 128 registers. For one sum of products it does. (For sm_120 with
    // batches ptxas does not, and would spill.)
    if (form_ == Form::contraction && side() == 128 && !(sm_ >= 120 && nest_.parallel > 2)) {
      const auto parts = contraction(nest_, nest_.schedule.left, nest_.schedule.right);
      if (parts && parts->of_products && parts->pairs.size() == 1) return fmt::format("__launch_bounds__({}, 2) ", threads);
    }
    // Cached columns take about half of a thread's 64 registers. A multiprocessor then holds as many warps as a block has, or twice as many.
    if (form_ == Form::columns && in_registers() && nest_.schedule.residents > 0)
      return fmt::format("__launch_bounds__({}, {}) ", threads, nest_.schedule.residents);
    return threads <= 256 ? "" : fmt::format("__launch_bounds__({}, 1) ", threads);
  }

  std::string signature() const {
    std::vector<std::string> parameters;
    for (const Access& a : nest_.inputs) parameters.push_back(fmt::format("const {}* __restrict__ {}", cpp_type(a.dtype), a.name));
    for (const Access& a : nest_.outputs) parameters.push_back(fmt::format("{}* __restrict__ {}", cpp_type(a.dtype), a.name));
    if (nest_.checks > 0) parameters.push_back("long long* __restrict__ flags");
    for (int i : used_ints(nest_)) parameters.push_back(fmt::format("const {} s{}", int_, i));
    for (std::size_t i = 0; i < nest_.scalars.size(); ++i) parameters.push_back(fmt::format("const {} c{}", cpp_type(nest_.scalars[i].dtype), i));
    const std::string dimensions = cluster() > 1 ? fmt::format("__cluster_dims__({}, 1, 1) ", cluster()) : "";
    return fmt::format("extern \"C\" __global__ void {}{}{}(\n    {}) {{\n", dimensions, launch_bounds(), nest_.name, fmt::join(parameters, ",\n    "));
  }

  void check() const {
    verify(nest_);
    auto fail = [&](std::string_view what) { throw InternalError(fmt::format("CUDA kernel {}: {}", nest_.name, what)); };
    if (form_ == Form::panels) fail(fmt::format("the form '{}' is the CPU's", name(form_)));
    if (width_ < 1 || width_ > 16 || (width_ & (width_ - 1)) != 0) fail(fmt::format("vectors of {} elements", width_));
    const int threads = nest_.schedule.threads, row_threads = nest_.schedule.row_threads;
    if (threads % kWarp != 0 || threads < kWarp || threads > 1024) fail(fmt::format("{} threads to a block", threads));
    if (form_ == Form::tiles && kWarp * kWarp % threads != 0) fail(fmt::format("squares of {} for {} threads", kWarp, threads));
    if (form_ == Form::tiles && (nest_.rows > 0 || nest_.parallel < 2 || width_ > 1)) fail("tiles are of points of two axes, one by one");
    if (form_ == Form::rows && row_threads != 8 && row_threads != 16 && row_threads != kWarp && row_threads != threads)
      fail(fmt::format("{} threads of {} to a row", row_threads, threads));
    if (cluster() > 1) {
      if (sm_ < 90 || cluster() > 8 || (cluster() & (cluster() - 1)) != 0) fail(fmt::format("clusters of {} blocks for sm_{}", cluster(), sm_));
      if (form_ != Form::rows || row_threads != threads || threads <= kWarp || nest_.chunk_axis >= 0)
        fail("blocks share whole rows, which all of their threads walk");
      for (const Stage& stage : nest_.stages)
        if (has_scan(nest_, stage)) fail("a scan goes through one block");
    }
    if (form_ == Form::contraction) {
      if (threads != kContractionThreads || (side() & (side() - 1)) != 0) fail(fmt::format("squares of {} for {} threads", side(), threads));
      if (width_ != 1 && width_ != contraction_group(side())) fail("a thread stores the neighbours that it has, or one by one");
    }
    if (!nest_.persistent.empty() && form_ == Form::columns && !in_registers()) fail("of columns only registers keep anything");
    if (nest_.schedule.tail && (form_ != Form::pointwise || nest_.parallel != 1)) fail("only points along one axis end within a vector");
    if (in_registers() && form_ != Form::columns && (form_ != Form::rows || nest_.chunk_axis >= 0)) fail("only whole rows and columns are kept in registers");
    if (nest_.schedule.whole && !in_registers()) fail("only what is kept in registers goes by a number of steps");
    for (const Instr& instr : nest_.instrs)
      if (instr.kind == Instr::Kind::scan && in_registers()) fail("a scan goes over its row in a loop");
    for (const Instr& instr : nest_.instrs)
      if (instr.kind == Instr::Kind::scan && (width_ > 1 || (form_ == Form::columns && threads != kWarp) || (form_ == Form::rows && row_threads < kWarp)))
        fail("a scan goes element by element, down a column by one thread");
  }

  // ---- axes and indices ---------------------------------------------------------------------------------------

  std::string axis(int a) const { return a < nest_.parallel ? fmt::format("p{}", a) : fmt::format("r{}", a - nest_.parallel); }
  std::string int_or_one(int parameter) const { return parameter == kOne ? "1" : fmt::format("s{}", parameter); }

  /// Returns the index as an expression. Its value is that at lane 0 of a vector, or (per_lane) that at the current lane.
  std::string index(int number, bool per_lane) const {
    const Index& x = nest_.indices[number];
    std::string text;
    for (const Index::Term& term : x.terms) {
      std::string factor;
      if (term.axis >= 0) {
        factor = per_lane && term.axis == nest_.lane_axis() ? fmt::format("({} + lane)", axis(term.axis)) : axis(term.axis);
      } else if (term.value >= 0) {
        factor = nest_.schedule.wide_index ? value_[term.value] : "(int)" + value_[term.value];
      } else {
        const bool named = !(per_lane && depends_on(nest_, term.inner, nest_.lane_axis()));
        factor = named && index_names_.count(term.inner) ? fmt::format("i{}", term.inner) : fmt::format("({})", index(term.inner, per_lane));
        if (term.div != kOne) factor += fmt::format(" / s{}", term.div);
        if (term.mod != kNone) factor = fmt::format("({} % {})", factor, int_or_one(term.mod));
        if (term.div != kOne && term.mod == kNone) factor = "(" + factor + ")";
      }
      if (term.coeff != kOne) factor += fmt::format(" * s{}", term.coeff);
      text += (text.empty() ? "" : " + ") + factor;
    }
    if (x.constant != kNone) text += (text.empty() ? "" : " + ") + int_or_one(x.constant);
    return text.empty() ? "0" : text;
  }

  bool moves_along_rows(int number) const {
    for (int a = nest_.parallel; a < nest_.axes(); ++a)
      if (depends_on(nest_, number, a)) return true;
    return false;
  }

  /// Names the inner indices of `number` before their first use: those that depend on the row axes, or (not `row`) those that do not.
  void name_inner(int number, bool row, std::vector<int>& named) {
    for (const Index::Term& term : nest_.indices[number].terms) {
      if (term.inner < 0) continue;
      name_inner(term.inner, row, named);
      if (uses_values(nest_, term.inner)) continue;  // the values that it uses are not computed yet
      if (moves_along_rows(term.inner) != row || index_names_.count(term.inner)) continue;
      line("const {} i{} = {};", int_, term.inner, index(term.inner, false));
      index_names_.insert({term.inner, true});
      named.push_back(term.inner);
    }
  }
  template <class Visit> void each_index(const Stage& stage, Visit visit) const {
    for (int id : stage.body) {
      const Instr& instr = nest_.instrs[id];
      if (instr.kind == Instr::Kind::load) visit(nest_.inputs[instr.input].index);
      if (instr.kind == Instr::Kind::index) visit(instr.input);
    }
    for (const Store& store : stage.stores) visit(nest_.outputs[store.output].index);
  }
  /// Names indices that do not depend on the row axes, once for each point, before the stage's loop.
  void name_point_indices(const Stage& stage) {
    std::vector<int> named;
    each_index(stage, [&](int number) { name_inner(number, false, named); });
  }

  bool is_used(int a, const Stage& stage) const {
    bool used = false;
    each_index(stage, [&](int number) { used |= depends_on(nest_, number, a); });
    return used;
  }
  bool is_used(int a) const {
    bool used = a == nest_.chunk_axis;
    for (const Stage& stage : nest_.stages) used |= is_used(a, stage);
    return used;
  }
  static std::vector<int> axes_between(int first, int end) {
    std::vector<int> axes;
    for (int a = first; a < end; ++a) axes.push_back(a);
    return axes;
  }
  /// Computes axis values from a flat count, the last axis innermost. Axes that nothing uses get no name.
  template <class IsUsed> void unflatten(const std::string& flat, const std::vector<int>& axes, IsUsed is_wanted) {
    std::string rest = flat;
    for (auto at = axes.rbegin(); at != axes.rend(); ++at) {
      const int a = *at;
      if (is_wanted(a)) line("const {} {} = ({})({}{});", int_, axis(a), int_, rest, at + 1 == axes.rend() ? "" : fmt::format(" % s{}", a));
      if (std::none_of(at + 1, axes.rend(), is_wanted)) return;
      line("const {} {}_rest = {} / s{};", count_, axis(a), rest, a);
      rest = axis(a) + "_rest";
    }
  }
  void unflatten_point() {
    unflatten("point", axes_between(0, nest_.parallel), [&](int a) { return is_used(a); });
  }
  void unflatten_row(const Stage& stage) {
    unflatten("row", axes_between(nest_.parallel, nest_.axes()), [&](int a) { return is_used(a, stage); });
  }

  void print_points() {
    std::string product;
    for (int a = 0; a < nest_.parallel; ++a) product += fmt::format("{}({})s{}", a ? " * " : "", count_, a);
    line("const {} points = {};", count_, product);
  }

  /// Prints the number of row points of this parallel point. Where rows are divided into chunks, it is the chunk's part.
  void print_row_points() {
    std::string product;
    if (nest_.chunk_axis >= 0) {
      const std::string left = fmt::format("s{} - {} * s{}", nest_.chunk_total, axis(nest_.chunk_axis), nest_.chunk_row);
      line("const {} left = {};", int_, left);
      line("const {} cut = left < s{} ? (left > 0 ? left : 0) : s{};", int_, nest_.chunk_row, nest_.chunk_row);
      product = fmt::format("({})cut", count_);
    } else {
      product = fmt::format("({})s{}", count_, nest_.parallel);
    }
    for (int a = nest_.parallel + 1; a < nest_.axes(); ++a) product += fmt::format(" * ({})s{}", count_, a);
    line("const {} row_points = {};", count_, product);
  }

  // ---- divisors -----------------------------------------------------------------------------------------------

  /// Returns the divisor's own value. A literal's value is known before anything is computed.
  std::string divisor_value(int id) const {
    const Instr& instr = nest_.instrs[id];
    return instr.kind == Instr::Kind::scalar ? fmt::format("c{}", instr.input) : value_[id];
  }
  /// Prepares divisors that many quotients share, before the loop of `stage`: literals, or (not `literals`) values that are computed once for a point. For
  /// columns by vectors each lane has a divisor of its own.
  void name_divisors(const Stage& stage, bool literals) {
    for (const int id : stage.body) {
      const Instr& quotient = nest_.instrs[id];
      if (quotient.kind != Instr::Kind::op || quotient.op != Op::divide || !helpers_.shares_divisor(quotient.dtype)) continue;
      const int id_of_divisor = quotient.args[1];
      const Instr& divisor = nest_.instrs[id_of_divisor];
      const bool literal = divisor.kind == Instr::Kind::scalar;
      if (literal != literals || divisors_.count(id_of_divisor)) continue;
      if (!literal && (divisor.row || !stage.row || std::find(stage.body.begin(), stage.body.end(), id_of_divisor) != stage.body.end())) continue;
      const std::string name = fmt::format("{}_divisor", literal ? divisor_value(id_of_divisor) : divisor.name), type = helpers_.divisor_type(quotient.dtype);
      if (!literal && form_ == Form::columns && width_ > 1) {
        line("{} {}[{}];", type, name, width_);
        lanes(true, [&] { line("{}[lane] = sn_make_divisor({});", name, divisor_value(id_of_divisor)); });
        divisors_[id_of_divisor] = name + "[lane]";
      } else {
        line("const {} {} = sn_make_divisor({});", type, name, divisor_value(id_of_divisor));
        divisors_[id_of_divisor] = name;
      }
    }
  }
  void name_literal_divisors() {
    for (const Stage& stage : nest_.stages)
      if (stage.row || form_ == Form::pointwise) name_divisors(stage, true);
  }

  // ---- bodies -------------------------------------------------------------------------------------------------

  /// Returns whether the stage's values differ from lane to lane.
  bool stage_has_lanes(const Stage& stage) const {
    return width_ > 1 && !tail_ && (form_ == Form::pointwise || form_ == Form::columns || form_ == Form::contraction || stage.row);
  }
  /// Returns whether the stage's values are arrays: those of a columns kernel with vectors outside the row loops, which are used beyond the stage.
  bool keeps_arrays(const Stage& stage) const { return form_ == Form::columns && width_ > 1 && !stage.row; }

  bool is_vector(int index) const { return coefficient(nest_, index, nest_.lane_axis()) == kOne; }
  bool is_vector(const Instr& load) const { return is_vector(nest_.inputs[load.input].index) && !nest_.schedule.is_single(load.input); }
  bool is_uniform(int index) const { return !depends_on(nest_, index, nest_.lane_axis()); }
  /// Returns whether the access needs no computed value: it has no guard and no computed index.
  bool is_plain(const Instr& load) const { return load.guard < 0 && !uses_values(nest_, nest_.inputs[load.input].index); }
  bool is_vector(const Store& store) const {
    const int index = nest_.outputs[store.output].index;
    return store.guard < 0 && is_vector(index) && !uses_values(nest_, index) && !nest_.schedule.is_single(nest_.inputs.size() + store.output);
  }

  std::string vector_at(std::string_view pointer, DType dtype, const std::string& offset, bool constant) {
    return fmt::format("*({}{}*)({} + {})", constant ? "const " : "", helpers_.vector_type(dtype, width_), pointer, offset);
  }

  /// Declares the values that a vector stage reads before its lanes: whole vectors, and values that all lanes share.
  void load_ahead(const Stage& stage) {
    for (int id : stage.body) {
      const Instr& instr = nest_.instrs[id];
      const std::string type(cpp_type(instr.dtype));
      if (instr.kind == Instr::Kind::load && !is_plain(instr)) continue;
      if (instr.kind == Instr::Kind::persistent) {
        if (in_registers()) {
          value_[id] = persistent_element(instr.input, true);
          continue;
        }
        line("const {} {} = {};", helpers_.vector_type(instr.dtype, width_), instr.name,
             vector_at(fmt::format("persistent{}", instr.input), instr.dtype, kept_place(), true));
        value_[id] = instr.name + ".at[lane]";
      } else if (instr.kind == Instr::Kind::load && is_vector(instr)) {
        const Access& input = nest_.inputs[instr.input];
        line("const {} {} = {};", helpers_.vector_type(input.dtype, width_), instr.name, vector_at(input.name, input.dtype, index(input.index, false), true));
        value_[id] = instr.name + ".at[lane]";
      } else if (instr.kind == Instr::Kind::load && is_uniform(nest_.inputs[instr.input].index)) {
        const Access& input = nest_.inputs[instr.input];
        line("const {} {} = {}[{}];", type, instr.name, input.name, index(input.index, false));
        value_[id] = instr.name;
      }
    }
  }

  bool in_registers() const { return nest_.schedule.row_steps > 0; }
  int cluster() const { return nest_.schedule.cluster; }
  /// Returns the index of a row point in shared memory. Where a cluster shares a row, a block has only its own part.
  const char* kept_place() const { return cluster() > 1 ? "row - own_first" : "row"; }
  /// Returns the element of a persistent buffer at this row point.
  std::string persistent_element(int buffer, bool per_lane) const {
    if (!in_registers()) return fmt::format("persistent{}[{}]", buffer, kept_place());
    return per_lane ? fmt::format("persistent{}[step * {} + lane]", buffer, width_) : fmt::format("persistent{}[step]", buffer);
  }

  std::string expression(const Instr& instr, bool per_lane) {
    switch (instr.kind) {
      case Instr::Kind::load: {
        if (is_turned(instr.input)) return fmt::format("turned{}[threadIdx.x][y]", instr.input);
        const std::string element = fmt::format("{}[{}]", nest_.inputs[instr.input].name, index(nest_.inputs[instr.input].index, per_lane));
        if (instr.guard < 0) return element;
        const std::string fill = instr.fill < 0 ? fmt::format("({})0", cpp_type(instr.dtype)) : value_[instr.fill];
        return fmt::format("{} ? {} : {}", value_[instr.guard], element, fill);
      }
      case Instr::Kind::index: return fmt::format("(long long)({})", index(instr.input, per_lane));
      case Instr::Kind::persistent:  // the thread of the row's last element may be changing it
        if (scanning_ && !in_registers()) return fmt::format("in_row ? persistent{}[row] : ({})0", instr.input, cpp_type(instr.dtype));
        return persistent_element(instr.input, false);
      case Instr::Kind::op: break;
      default: throw InternalError(fmt::format("CUDA kernel {}: {} has no expression", nest_.name, instr.name));
    }
    auto arg = [&](int i) { return instr.args[i] >= 0 ? value_[instr.args[i]] : std::string(); };
    // Handles values that are rounded to 16 bits and used as float32 again.
    if (instr.op == Op::cast && is_storage_only(instr.operand) && instr.dtype == DType::float32) {
      const Instr& narrow = nest_.instrs[instr.args[0]];
      if (narrow.kind == Instr::Kind::op && narrow.op == Op::cast && narrow.operand == DType::float32)
        return helpers_.rounded(instr.operand, value_[narrow.args[0]]);
      constexpr std::string_view element = ".at[lane]";
      if (const std::string& a = value_[instr.args[0]]; a.ends_with(element))
        return helpers_.widened(instr.operand, a.substr(0, a.size() - element.size()), "lane");
    }
    if (instr.op == Op::cast) return helpers_.cast(instr.operand, instr.dtype, arg(0));
    if (const auto divisor = divisors_.find(instr.args[1]); instr.op == Op::divide && divisor != divisors_.end())
      return fmt::format("sn_divide({}, {})", arg(0), divisor->second);
    return helpers_.spell(instr.op, instr.operand, arg(0), arg(1), arg(2));
  }

  void compute(const Stage& stage, bool per_lane) {
    for (int id : stage.body) {
      const Instr& instr = nest_.instrs[id];
      if (instr.kind == Instr::Kind::scalar) {
        value_[id] = fmt::format("c{}", instr.input);
        continue;
      }
      if (per_lane && instr.kind != Instr::Kind::op && !value_[id].empty()) continue;  // it was loaded before the lanes
      if (instr.kind == Instr::Kind::scan) {
        print_scan(instr);
        value_[id] = instr.name;
        continue;
      }
      if (keeps_arrays(stage)) {
        line("{}[lane] = {};", instr.name, expression(instr, per_lane));
        value_[id] = instr.name + "[lane]";
      } else {
        line("const {} {} = {};", cpp_type(instr.dtype), instr.name, expression(instr, per_lane));
        value_[id] = instr.name;
      }
    }
  }

  static std::string both(const std::string& a, const std::string& b) { return a.empty() || b.empty() ? a + b : a + " && " + b; }
  std::string store_condition(const Store& store, const std::string& owner) const {
    const std::string when = both(owner, store.guard < 0 ? std::string() : value_[store.guard]);
    return when.empty() ? when : "if (" + when + ") ";
  }

  /// Prints one stage at one row point (or one parallel point). `owner`: the condition under which a thread stores, or "".
  void stage_body(const Stage& stage, const std::string& owner) {
    std::vector<int> named;
    if (stage.row) each_index(stage, [&](int number) { name_inner(number, true, named); });
    const bool per_lane = stage_has_lanes(stage);
    if (per_lane) load_ahead(stage);
    if (keeps_arrays(stage))
      for (int id : stage.body)
        if (value_[id].empty() && nest_.instrs[id].kind != Instr::Kind::scalar)
          line("{} {}[{}];", cpp_type(nest_.instrs[id].dtype), nest_.instrs[id].name, width_);
    if (per_lane) {
      for (const Store& store : stage.stores)
        if (is_vector(store)) line("{} {}_at;", helpers_.vector_type(nest_.outputs[store.output].dtype, width_), nest_.outputs[store.output].name);
      if (!in_registers())
        for (const PersistentStore& keep : stage.keeps) line("{} persistent{}_at;", helpers_.vector_type(nest_.persistent[keep.buffer], width_), keep.buffer);
    }
    lanes(per_lane, [&] {
      compute(stage, per_lane);
      for (const Check& check : stage.checks) {
        // One of the threads that find a bad value reports it. A thread past the last point reports none.
        line("if ({} && atomicExch((unsigned long long*)flags + {}, 1ull) == 0) flags[{}] = {};", both(owner, "!" + value_[check.condition]), 2 * check.number,
             2 * check.number + 1, value_[check.value]);
      }
      const std::string in_row = has_scan(nest_, stage) && form_ == Form::rows ? "if (in_row) " : "";
      for (const Reduction& reduction : stage.reductions) accumulate(reduction, per_lane, counts_in_row_ ? "if (in_row) " : in_row);
      for (const PersistentStore& keep : stage.keeps) {
        const std::string at = per_lane && !in_registers() ? fmt::format("persistent{}_at.at[lane]", keep.buffer) : persistent_element(keep.buffer, per_lane);
        line("{}{} = {};", in_row, at, value_[keep.value]);
      }
      if (!per_lane) return;
      for (const Store& store : stage.stores) {
        const Access& output = nest_.outputs[store.output];
        if (is_vector(store)) line("{}_at.at[lane] = {};", output.name, value_[store.value]);
        else line("{}{}[{}] = {};", store_condition(store, owner), output.name, index(output.index, true), value_[store.value]);
      }
    });
    if (per_lane && !in_registers())
      for (const PersistentStore& keep : stage.keeps)
        line("{} = persistent{}_at;", vector_at(fmt::format("persistent{}", keep.buffer), nest_.persistent[keep.buffer], kept_place(), false), keep.buffer);
    for (const Store& store : stage.stores) {
      const Access& output = nest_.outputs[store.output];
      const std::string when = store_condition(store, owner);
      if (is_turned_back(store.output)) line("turned_back{}[y][threadIdx.x] = {};", store.output, value_[store.value]);
      else if (!per_lane) line("{}{}[{}] = {};", when, output.name, index(output.index, false), value_[store.value]);
      else if (is_vector(store)) line("{}{} = {}_at;", when, vector_at(output.name, output.dtype, index(output.index, false), false), output.name);
    }
    for (int number : named) index_names_.erase(number);
  }

  // ---- reductions ---------------------------------------------------------------------------------------------

  const Instr& result(const Reduction& reduction) const { return nest_.instrs[reduction.result]; }
  std::string combine(const Reduction& reduction, const std::string& a, const std::string& b) {
    return helpers_.spell(trace::primitive(reduction.op).combine, result(reduction).dtype, a, b);
  }

  void declare_accumulators(const Stage& stage) {
    for (const Reduction& reduction : stage.reductions) {
      const Instr& r = result(reduction);
      const std::string neutral = helpers_.neutral(reduction.op, r.dtype);
      if (width_ == 1) {
        line("{} {}_part = {};", cpp_type(r.dtype), r.name, neutral);
      } else {
        std::string list = neutral;
        for (int i = 1; i < width_; ++i) list += ", " + neutral;
        line("{} {}_part[{}] = {{{}}};", cpp_type(r.dtype), r.name, width_, list);
      }
    }
  }
  void accumulate(const Reduction& reduction, bool per_lane, const std::string& in_row) {
    const std::string part = result(reduction).name + (per_lane ? "_part[lane]" : width_ > 1 ? "_part[0]" : "_part");
    line("{}{} = {};", in_row, part, combine(reduction, part, value_[reduction.value]));
  }

  // ---- scans --------------------------------------------------------------------------------------------------

  template <class Visit> void each_scan(const Stage& stage, Visit visit) const {
    for (int id : stage.body)
      if (nest_.instrs[id].kind == Instr::Kind::scan) visit(nest_.instrs[id]);
  }
  /// Returns the type of a scan's running value between stretches.
  static DType carried(const Instr& scan) { return trace::scan_carry(scan.op, scan.dtype); }
  void start_scans(const Stage& stage) {
    each_scan(stage, [&](const Instr& scan) {
      const std::string start = scan.args[1] < 0 ? helpers_.neutral(scan.op, carried(scan)) : value_[scan.args[1]];
      line("{} {}_so_far = {};", cpp_type(carried(scan)), scan.name, start);
    });
  }
  /// Prints a scan. Down a column, each thread scans alone. Along a row, the threads scan one stretch at a time: each warp scans its part, and then combines
  /// it, in order, with the values of the earlier stretches and of the earlier warps.
  void print_scan(const Instr& scan) {
    const std::string type(cpp_type(scan.dtype)), so_far = scan.name + "_so_far", value = value_[scan.args[0]];
    const auto combine = [&](const std::string& a, const std::string& b) { return helpers_.spell(trace::primitive(scan.op).combine, scan.dtype, a, b); };
    const std::string wide(cpp_type(carried(scan)));
    const auto carry = [&](const std::string& a, const std::string& b) { return helpers_.spell(trace::primitive(scan.op).combine, carried(scan), a, b); };
    if (form_ == Form::columns) {
      line("{} = {};", so_far, carry(so_far, value));
      line("const {} {} = ({}){};", type, scan.name, type, so_far);
      return;
    }
    line("{} {} = in_row ? {} : {};", type, scan.name, value, helpers_.neutral(scan.op, scan.dtype));
    line("#pragma unroll");
    open("for (int distance = 1; distance < {}; distance <<= 1)", kWarp);
    line("const {} before = __shfl_up_sync(0xffffffffu, {}, distance);", type, scan.name);
    line("if ((thread & {}) >= distance) {} = {};", kWarp - 1, scan.name, combine("before", scan.name));
    close();
    const int warps = nest_.schedule.row_threads / kWarp;
    if (warps == 1) {
      line("const {} {}_last = __shfl_sync(0xffffffffu, {}, {});", type, scan.name, scan.name, kWarp - 1);
      line("{} = ({})({});", scan.name, type, carry(so_far, scan.name));
      line("{} = {};", so_far, carry(so_far, scan.name + "_last"));
      return;
    }
    line("if ((thread & {0}) == {0}) {1}_parts[thread / {2}] = {1};", kWarp - 1, scan.name, kWarp);
    line("__syncthreads();");
    open("");
    line("{} before = {};", wide, so_far);
    line("for (int warp = 0; warp < thread / {}; ++warp) before = {};", kWarp, carry("before", scan.name + "_parts[warp]"));
    line("{} = ({})({});", scan.name, type, carry("before", scan.name));
    close();
    line("for (int warp = 0; warp < {}; ++warp) {} = {};", warps, so_far, carry(so_far, scan.name + "_parts[warp]"));
    line("__syncthreads();  // before the next stretch writes its parts");
  }

  /// Returns the number of stages that end with a reduction over the block.
  int reducing_stages() const {
    int n = 0;
    for (const Stage& stage : nest_.stages) n += !stage.reductions.empty();
    return n;
  }
  /// Prints a barrier before parts in shared memory are written again at the next point. With two or more reducing stages a barrier of another stage lies
  /// between; a single stage needs its own.
  void guard_reuse(bool shared_parts) {
    if (shared_parts && reducing_stages() == 1) line("__syncthreads();  // before the next point writes its parts");
  }

  /// Combines each thread's parts of a row into one value that all threads of the row have.
  void combine_row(const Stage& stage) {
    const int warps = nest_.schedule.row_threads / kWarp;
    for (const Reduction& reduction : stage.reductions) {
      const Instr& r = result(reduction);
      std::string part = r.name + "_part";
      if (width_ > 1) {
        line("#pragma unroll");
        line("for (int lane = 1; lane < {1}; ++lane) {0}[0] = {2};", part, width_, combine(reduction, part + "[0]", part + "[lane]"));
        part += "[0]";
      }
      const std::string warp = helpers_.warp_reduce(reduction.op, r.dtype, std::min(nest_.schedule.row_threads, kWarp), part);
      if (warps <= 1) {
        line("const {} {} = {};", cpp_type(r.dtype), r.name, warp);
        value_[reduction.result] = r.name;
      } else {
        line("const {} {}_warp = {};", cpp_type(r.dtype), r.name, warp);
        line("if ((threadIdx.x & {}) == 0) {}_parts[threadIdx.x / {}] = {}_warp;", kWarp - 1, r.name, kWarp, r.name);
      }
    }
    if (warps <= 1 || stage.reductions.empty()) return;
    line("__syncthreads();");
    for (const Reduction& reduction : stage.reductions) {
      const Instr& r = result(reduction);
      line("{} {} = {}_parts[0];", cpp_type(r.dtype), r.name, r.name);
      line("#pragma unroll");
      line("for (int warp = 1; warp < {}; ++warp) {} = {};", warps, r.name, combine(reduction, r.name, r.name + "_parts[warp]"));
      value_[reduction.result] = r.name;
    }
    if (cluster() > 1) combine_cluster(stage);
  }

  /// Combines the blocks' parts of a row. Every block reads the parts of all blocks from their shared memory and combines them in the same order.
  void combine_cluster(const Stage& stage) {
    helpers_.use_clusters();
    for (const Reduction& reduction : stage.reductions) line("if (thread == 0) {0}_own = {0};", result(reduction).name);
    line("sn_cluster_arrive();");
    line("sn_cluster_wait();");
    for (const Reduction& reduction : stage.reductions) {
      const Instr& r = result(reduction);
      const auto of = [&](std::string_view block) { return fmt::format("*(const {}*)sn_of_block(&{}_own, {})", cpp_type(r.dtype), r.name, block); };
      line("{} = {};", r.name, of("0"));
      line("#pragma unroll");
      line("for (int block = 1; block < {}; ++block) {} = {};", cluster(), r.name, combine(reduction, r.name, of("block")));
    }
    if (&stage == last_reducing_stage()) line("sn_cluster_arrive();  // this block has read what it needs of the others");
  }
  const Stage* last_reducing_stage() const {
    const Stage* last = nullptr;
    for (const Stage& stage : nest_.stages)
      if (!stage.reductions.empty()) last = &stage;
    return last;
  }

  static constexpr int kFewWarps = 8;
  /// Combines the threads' parts of a column.
  void combine_column(const Stage& stage) {
    const int threads = nest_.schedule.threads / kWarp;
    const auto element = [&](const Reduction& reduction, std::string_view y) {
      return fmt::format("{}_parts[{}][{}threadIdx.x]", result(reduction).name, y, width_ > 1 ? fmt::format("lane * {} + ", kWarp) : "");
    };
    const auto name = [&](const Reduction& reduction, std::string_view tail) {
      return fmt::format("{}{}{}", result(reduction).name, tail, width_ > 1 ? "[lane]" : "");
    };
    for (const Reduction& reduction : stage.reductions) value_[reduction.result] = name(reduction, "");
    if (stage.reductions.empty()) return;
    if (threads > 1) {
      lanes(width_ > 1, [&] {
        for (const Reduction& reduction : stage.reductions) line("{} = {};", element(reduction, "threadIdx.y"), name(reduction, "_part"));
      });
      line("__syncthreads();");
    }
    for (const Reduction& reduction : stage.reductions)
      line("{} {};", cpp_type(result(reduction).dtype), result(reduction).name + (width_ > 1 ? fmt::format("[{}]", width_) : ""));
    // Where a thread has few rows, or a block many threads, one thread combines a column and all others read its result.
    const bool once = threads > 1 && (in_registers() || threads > kFewWarps);
    if (once) {
      open("for (unsigned int own_column = threadIdx.y * {0} + threadIdx.x; own_column < {1}; own_column += {2})", kWarp, kWarp * width_,
           nest_.schedule.threads);
      for (const Reduction& reduction : stage.reductions) {
        const std::string value = result(reduction).name + "_column", parts = result(reduction).name + "_parts";
        line("{} {} = {}[0][own_column];", cpp_type(result(reduction).dtype), value, parts);
        line("#pragma unroll");
        line("for (int y = 1; y < {}; ++y) {} = {};", threads, value, combine(reduction, value, parts + "[y][own_column]"));
        line("{}[0][own_column] = {};", parts, value);
      }
      close();
      line("__syncthreads();");
    }
    lanes(width_ > 1, [&] {
      for (const Reduction& reduction : stage.reductions) {
        const std::string value = name(reduction, "");
        if (once) {
          line("{} = {};", value, element(reduction, "0"));
          continue;
        }
        if (threads == 1) {
          line("{} = {};", value, name(reduction, "_part"));
          continue;
        }
        line("{} = {};", value, element(reduction, "0"));
        line("#pragma unroll");
        line("for (int y = 1; y < {}; ++y) {} = {};", threads, value, combine(reduction, value, element(reduction, "y")));
      }
    });
  }

  void declare_parts(const std::string& extent) {
    for (const Stage& stage : nest_.stages)
      for (const Reduction& reduction : stage.reductions) line("__shared__ {} {}_parts{};", cpp_type(result(reduction).dtype), result(reduction).name, extent);
    if (form_ != Form::rows) return;
    for (const Stage& stage : nest_.stages)
      for (const Reduction& reduction : stage.reductions)
        if (cluster() > 1) line("__shared__ {} {}_own;", cpp_type(result(reduction).dtype), result(reduction).name);
    for (const Stage& stage : nest_.stages)
      each_scan(stage, [&](const Instr& scan) { line("__shared__ {} {}_parts{};", cpp_type(scan.dtype), scan.name, extent); });
  }

  // ---- the forms ----------------------------------------------------------------------------------------------

  /// Joins all stages into one. Without rows a vector's values stay in its lanes.
  Stage all_stages() const {
    Stage all;
    for (const Stage& stage : nest_.stages) {
      all.body.insert(all.body.end(), stage.body.begin(), stage.body.end());
      all.stores.insert(all.stores.end(), stage.stores.begin(), stage.stores.end());
      all.checks.insert(all.checks.end(), stage.checks.begin(), stage.checks.end());
    }
    return all;
  }

  void pointwise() {
    print_points();
    if (width_ > 1) name_literal_divisors();
    const std::string thread = fmt::format("({})blockIdx.x * {} + threadIdx.x", count_, nest_.schedule.threads);
    if (width_ > 1) open("for ({0} vector = {1}; vector < points / {2}; vector += ({0})gridDim.x * {3})", count_, thread, width_, nest_.schedule.threads);
    else open("for ({0} point = {1}; point < points; point += ({0})gridDim.x * {2})", count_, thread, nest_.schedule.threads);
    if (width_ > 1) line("const {} point = vector * {};", count_, width_);
    unflatten_point();
    const Stage all = all_stages();
    name_point_indices(all);
    stage_body(all, "");
    close();
    if (!nest_.schedule.tail) return;
    tail_ = true;
    open("for ({0} point = points / {1} * {1} + {2}; point < points; point += ({0})gridDim.x * {3})", count_, width_, thread, nest_.schedule.threads);
    unflatten_point();
    index_names_.clear();
    name_point_indices(all);
    stage_body(all, "");
    close();
  }

  bool is_turned(int input) const { return std::find(turned_.begin(), turned_.end(), input) != turned_.end(); }
  bool is_turned_back(int output) const { return std::find(turned_back_.begin(), turned_back_.end(), output) != turned_back_.end(); }

  /// Prints blocks of 32 x 32 points of the last two axes. Inputs that are contiguous along the axis before the last are read along that axis into shared
  /// memory, one line to a warp, and read back along the other axis. Lines of 33 elements let a warp read a column in one access. Outputs do the reverse.
  void tiles() {
    const int across = nest_.parallel - 1, down = across - 1, rows = nest_.schedule.threads / kWarp;
    std::string outer;
    for (int a = 0; a < down; ++a) outer += fmt::format(" * ({})s{}", count_, a);
    line("const {0} tiles_across = (({0})s{1} + {2}) / {3}, tiles_down = (({0})s{4} + {2}) / {3};", count_, across, kWarp - 1, kWarp, down);
    line("const {} tiles = tiles_across * tiles_down{};", count_, outer);
    for (int input : turned_) line("__shared__ {} turned{}[{}][{}];", cpp_type(nest_.inputs[input].dtype), input, kWarp, kWarp + 1);
    for (int output : turned_back_) line("__shared__ {} turned_back{}[{}][{}];", cpp_type(nest_.outputs[output].dtype), output, kWarp, kWarp + 1);
    open("for ({0} tile = blockIdx.x; tile < tiles; tile += gridDim.x)", count_);
    line("const {} first_across = tile % tiles_across * {}, line_of_tiles = tile / tiles_across;", count_, kWarp);
    line("const {} first_down = line_of_tiles % tiles_down * {};", count_, kWarp);
    if (down > 0) {
      line("const {} outer = line_of_tiles / tiles_down;", count_);
      unflatten("outer", axes_between(0, down), [&](int a) { return is_used(a); });
    }
    // Past the end of an axis its last point is read again and not stored. Without branches, all reads of a tile are in flight at once.
    const auto points = [&](const char* x, const char* y) {
      line("#pragma unroll");
      open("for (int step = 0; step < {}; ++step)", kWarp / rows);
      line("const unsigned int y = threadIdx.y + step * {};", rows);
      const std::string x_at = fmt::format("first_across + {}", x), y_at = fmt::format("first_down + {}", y);
      line("const bool x_inside = {} < s{}, y_inside = {} < s{};", x_at, across, y_at, down);
      line("const {0} {1} = x_inside ? ({0})({2}) : s{3} - 1, {4} = y_inside ? ({0})({5}) : s{6} - 1;", int_, axis(across), x_at, across, axis(down), y_at,
           down);
    };
    if (!turned_.empty()) {
      points("y", "threadIdx.x");
      for (int input : turned_) line("turned{}[y][threadIdx.x] = {}[{}];", input, nest_.inputs[input].name, index(nest_.inputs[input].index, false));
      close();
      line("__syncthreads();");
    }
    points("threadIdx.x", "y");
    const Stage all = all_stages();
    name_point_indices(all);
    stage_body(all, "x_inside && y_inside");
    close();
    if (!turned_back_.empty()) {
      index_names_.clear();
      line("__syncthreads();");
      points("y", "threadIdx.x");
      for (int output : turned_back_)
        line("if (x_inside && y_inside) {}[{}] = turned_back{}[threadIdx.x][y];", nest_.outputs[output].name, index(nest_.outputs[output].index, false),
             output);
      close();
    }
    if (!turned_.empty() || !turned_back_.empty()) line("__syncthreads();  // before the next tile is read");
    close();
  }

  void rows() {
    const bool warp = within_warps(nest_);
    const int sharing = nest_.schedule.row_threads;
    print_points();
    if (!warp && nest_.schedule.row_threads > kWarp) declare_parts(fmt::format("[{}]", nest_.schedule.row_threads / kWarp));
    if (warp) line("const unsigned int thread = threadIdx.x & {};", sharing - 1);
    else line("const unsigned int thread = threadIdx.x;");
    declare_persistent(warp);
    name_literal_divisors();
    if (warp && sharing < kWarp) {
      // All lanes of a warp must take part in its shuffles. Lanes past the last row compute the last row again and store nothing.
      open("for ({0} first = ({0})blockIdx.x * {1}; first < points; first += ({0})gridDim.x * {1})", count_, rows_per_block(nest_));
      line("const bool inside = first + threadIdx.x / {} < points;", sharing);
      line("const {} point = inside ? first + threadIdx.x / {} : points - 1;", count_, sharing);
      row_owner_ = "inside";
    } else if (warp) {
      // All lanes have the same warp number. The shuffle tells the compiler so: the lanes of a warp then loop together.
      line("const unsigned int warp = __shfl_sync(0xffffffffu, threadIdx.x / {}, 0);", kWarp);
      open("for ({0} point = ({0})blockIdx.x * {1} + warp; point < points; point += ({0})gridDim.x * {1})", count_, rows_per_block(nest_));
    } else if (cluster() > 1) {
      line("const unsigned int rank = blockIdx.x % {};", cluster());
      open("for ({0} point = blockIdx.x / {1}; point < points; point += gridDim.x / {1})", count_, cluster());
    } else open("for ({0} point = blockIdx.x; point < points; point += gridDim.x)", count_);
    unflatten_point();
    print_row_points();
    if (cluster() > 1) print_own_points();
    for (const Stage& stage : nest_.stages) {
      name_point_indices(stage);
      if (!stage.row) {
        stage_body(stage, both(row_owner_, cluster() > 1 ? "thread == 0 && rank == 0" : "thread == 0"));
        continue;
      }
      name_divisors(stage, false);
      declare_accumulators(stage);
      row_loop(stage);
      combine_row(stage);
    }
    if (cluster() == 1) guard_reuse(nest_.schedule.row_threads > kWarp);
    else if (last_reducing_stage()) line("sn_cluster_wait();  // before this block's parts are written again, or gone with it");
    close();
  }

  /// Prints the block's part of the row: neighbouring points, in whole vectors. It is empty where the row ends before it.
  void print_own_points() {
    line("const {} part = {};", count_, part_of("row_points"));
    line("const {} own_first = rank * part < row_points ? rank * part : row_points;", count_);
    line("const {} own_end = row_points - own_first < part ? row_points : own_first + part;", count_);
  }
  std::string part_of(std::string_view row) const { return fmt::format("({} + {}) / {} * {}", row, cluster() * width_ - 1, cluster() * width_, width_); }

  /// Prints the loop in which the threads of a row walk it, by vectors where there are any. The last chunk of a row may end within a vector: the remaining
  /// elements are taken one by one.
  void row_loop(const Stage& stage) {
    if (has_scan(nest_, stage)) return scan_loop(stage);
    if (in_registers()) return steps_loop(stage);
    const bool may_end_within = width_ > 1 && nest_.chunk_axis >= 0 && nest_.chunk_row == nest_.lane_axis();
    std::string end = row_end();
    if (may_end_within) {
      open("");
      end = "whole";
      line("const {} whole = row_points / {} * {};", count_, width_, width_);
    }
    thread_loop(stage, width_ > 1 ? fmt::format("thread * {}", width_) : "thread", end, nest_.schedule.row_threads * width_);
    if (!may_end_within) return;
    tail_ = true;
    open("for ({} row = whole + thread; row < row_points; row += {})", count_, nest_.schedule.row_threads);
    unflatten_row(stage);
    stage_body(stage, row_owner_);
    close();
    tail_ = false;
    close();
  }

  /// Returns the end of a block's row, or of its part of one.
  const char* row_end() const { return form_ == Form::columns ? "own_row_points" : cluster() > 1 ? "own_end" : "row_points"; }

  /// Prints a loop over this thread's points of a row: from `first` on, `step` apart. Where the results may be known early, the loop tests for that now and
  /// then: a test at every point would delay the next reads.
  void thread_loop(const Stage& stage, const std::string& first, const std::string& end, int step) {
    const bool early = may_end_early(nest_, stage);
    if (early) {
      open("for ({} begin = {}; begin < {}; begin += {})", count_, cluster() > 1 ? "own_first" : "0", end, step * kUndecidedSteps);
      line("const {0} stop = {1} - begin < {2} ? {1} : begin + {2};", count_, end, step * kUndecidedSteps);
    }
    open("for ({0} row = {1}{2}; row < {3}; row += {4})", count_, early ? "begin + " : cluster() > 1 ? "own_first + " : "", first, early ? "stop" : end, step);
    unflatten_row(stage);
    stage_body(stage, row_owner_);
    close();
    if (!early) return;
    line("if ({}) break;", decided(stage));
    close();
  }

  /// Returns the condition that nothing can change this thread's parts any more. The lanes of a row's vectors share a result, those of columns have one each.
  std::string decided(const Stage& stage) const {
    std::string all;
    for (const Reduction& reduction : stage.reductions) {
      const int bound = bound_of_first_place(nest_, reduction);
      std::string known;
      for (int lane = 0; lane < width_; ++lane) {
        std::string part = result(reduction).name + "_part";
        if (width_ > 1) part += fmt::format("[{}]", lane);
        if (lane > 0) known += form_ == Form::rows ? " || " : " && ";
        known += bound >= 0 ? fmt::format("{} < {}", part, value_[bound]) : reduction.op == Op::reduce_max ? part : "!" + part;
      }
      all += fmt::format("{}({})", all.empty() ? "" : " && ", known);
    }
    return all;
  }

  /// Prints as many unrolled steps as the longest row takes, so that the thread's cached value of each step has a register of its own.
  void steps_loop(const Stage& stage) {
    line("#pragma unroll");
    open("for (int step = 0; step < {}; ++step)", nest_.schedule.row_steps);
    const bool columns = form_ == Form::columns;
    const std::string at =
        fmt::format("({})step * {} + {}", count_, columns ? nest_.schedule.threads / kWarp : nest_.schedule.row_threads, columns ? "threadIdx.y" : "thread");
    const std::string vectors = width_ > 1 && !columns ? fmt::format("({}) * {}", at, width_) : at, place = cluster() > 1 ? "own_first + " + vectors : vectors;
    // A later pass may read inputs that the first pass did not. Without a test ptxas would load them for all steps at once, beside the cached values.
    const bool reads = std::any_of(stage.body.begin(), stage.body.end(), [&](int id) { return nest_.instrs[id].kind == Instr::Kind::load; });
    const bool reads_again =
        reads && std::any_of(stage.body.begin(), stage.body.end(), [&](int id) { return nest_.instrs[id].kind == Instr::Kind::persistent; });
    if (columns && !nest_.schedule.whole && reads && !reads_again) {
      // Past its end, a column's last point is read again and not counted. Without branches, all reads of the column are in flight at once.
      line("const bool in_row = {} < own_row_points;", place);
      line("const {} row = in_row ? {} : row_points - 1;", count_, place);
      unflatten_row(stage);
      counts_in_row_ = true;
      stage_body(stage, "in_row");
      counts_in_row_ = false;
      return close();
    }
    line("const {} row = {};", count_, place);
    if (!nest_.schedule.whole || reads_again) line("if (row >= {}) continue;", row_end());
    unflatten_row(stage);
    stage_body(stage, row_owner_);
    close();
  }

  /// Prints a loop with a scan. All threads run it equally often, for the scan's sake: one past the end recomputes the last element and does not count it.
  void scan_loop(const Stage& stage) {
    start_scans(stage);
    // Elements belong to other threads than in passes by vectors.
    const bool shares_persistent = !nest_.persistent.empty() && !in_registers();
    const auto meet = [&] {
      if (shares_persistent) line("{}();", nest_.schedule.row_threads > kWarp ? "__syncthreads" : "__syncwarp");
    };
    meet();
    open("for ({0} first = 0; first < row_points; first += {1})", count_, nest_.schedule.row_threads);
    line("const bool in_row = first + thread < row_points;");
    line("const {} row = in_row ? first + thread : row_points - 1;", count_);
    unflatten_row(stage);
    scanning_ = true;
    stage_body(stage, "in_row");
    scanning_ = false;
    close();
    meet();
  }

  /// Declares the persistent buffers: registers, or a region of dynamic shared memory for each buffer (of each warp that has a row of its own). Threads read
  /// back only elements that they wrote themselves, so buffers need no barrier except around a scan.
  void declare_persistent(bool warp) {
    if (in_registers())
      for (std::size_t i = 0; i < nest_.persistent.size(); ++i)
        line("{} persistent{}[{}];", cpp_type(nest_.persistent[i]), i, nest_.schedule.row_steps * width_);
    if (nest_.persistent.empty() || in_registers()) return;
    line("extern __shared__ __align__(16) unsigned char sn_shared[];");
    std::string product;
    for (int a = nest_.parallel; a < nest_.axes(); ++a) product += fmt::format("{}(unsigned int)s{}", product.empty() ? "" : " * ", a);
    line("const unsigned int longest_row = {};", cluster() > 1 ? part_of(product) : product);
    const auto bytes = [&](std::size_t i) { return fmt::format("(longest_row * {} + 15) / 16 * 16", itemsize(nest_.persistent[i])); };
    std::string at = "sn_shared";
    if (warp) {
      std::string all;
      for (std::size_t i = 0; i < nest_.persistent.size(); ++i) all += (i ? " + " : "") + bytes(i);
      at += fmt::format(" + threadIdx.x / {} * ({})", nest_.schedule.row_threads, all);
    }
    for (std::size_t i = 0; i < nest_.persistent.size(); ++i) {
      line("{0}* const persistent{1} = ({0}*)({2});", cpp_type(nest_.persistent[i]), i, at);
      at = fmt::format("(unsigned char*)persistent{} + {}", i, bytes(i));
    }
  }

  void columns() {
    const int threads_y = nest_.schedule.threads / kWarp;
    print_points();
    if (threads_y > 1) declare_parts(fmt::format("[{}][{}]", threads_y, kWarp * width_));
    declare_persistent(false);
    name_literal_divisors();
    if (nest_.schedule.whole) row_owner_ = "inside";  // a thread past the last column computes all rows of the last column again
    // Every thread of a block walks the same blocks of points, so that all reach each barrier. A thread past the last point computes the last one again, over
    // no rows, and stores nothing.
    open("for ({0} first = ({0})blockIdx.x * {1}; first < points; first += ({0})gridDim.x * {1})", count_, kWarp * width_);
    line("const bool inside = first + threadIdx.x * {} < points;", width_);
    line("const {} point = inside ? first + threadIdx.x * {} : points - {};", count_, width_, width_);
    unflatten_point();
    print_row_points();
    line("const {} own_row_points = inside ? row_points : 0;", count_);
    for (const Stage& stage : nest_.stages) {
      name_point_indices(stage);
      if (!stage.row) {
        stage_body(stage, "inside && threadIdx.y == 0");
        continue;
      }
      name_divisors(stage, false);
      declare_accumulators(stage);
      start_scans(stage);
      if (in_registers()) steps_loop(stage);
      else thread_loop(stage, "threadIdx.y", "own_row_points", threads_y);
      combine_column(stage);
    }
    guard_reuse(threads_y > 1);
    close();
  }

  // ---- contractions -------------------------------------------------------------------------------------------

  int side() const { return nest_.schedule.side; }
  int each() const { return side() / kContractionSide; }
  int depth() const { return contraction_depth(side()); }
  int group() const { return contraction_group(side()); }
  /// Returns the position in the square of a thread's point `number`. The points are groups of neighbours, and the groups of the threads follow each other.
  std::string place(std::string_view thread, const std::string& number) const {
    return fmt::format("{0} * {1} + {2} / {1} * {3} + {2} % {1}", thread, group(), number, group() * kContractionSide);
  }
  std::string shared_name(int value) const { return nest_.instrs[value].name + "_shared"; }

  /// Prints a contraction. The rows are walked in stretches of `depth()`. While a stretch is combined, the next one is loaded to registers; it is written to
  /// the other half of shared memory before the barrier.
  void contract() {
    const int left = nest_.schedule.left, right = nest_.schedule.right;
    const Contraction parts = *contraction(nest_, left, right);
    std::vector<int> outer;
    std::string product;
    for (int a = 0; a < nest_.parallel; ++a) {
      if (a == left || a == right) continue;
      outer.push_back(a);
      product += fmt::format(" * ({})s{}", count_, a);
    }
    line("const {0} squares_across = (({0})s{1} + {2}) / {3}, squares_down = (({0})s{4} + {2}) / {3};", count_, right, side() - 1, side(), left);
    line("const {} squares = squares_across * squares_down{};", count_, product);
    line("const unsigned int across = threadIdx.x % {0}, down = threadIdx.x / {0};", kContractionSide);
    for (const auto* values : {&parts.left, &parts.right})
      for (const int value : *values)
        line("__shared__ __align__(16) {} {}[2][{}][{}];", cpp_type(nest_.instrs[value].dtype), shared_name(value), depth(), side() + 4);
    open("for ({0} square = blockIdx.x; square < squares; square += gridDim.x)", count_);
    line("const {} first_across = square % squares_across * {}, line_of_squares = square / squares_across;", count_, side());
    line("const {} first_down = line_of_squares % squares_down * {};", count_, side());
    if (!outer.empty()) {
      line("const {} outer = line_of_squares / squares_down;", count_);
      unflatten("outer", outer, [&](int a) { return is_used(a); });
    }
    print_row_points();
    const Stage& pass = *std::find_if(nest_.stages.begin(), nest_.stages.end(), [](const Stage& stage) { return stage.row; });
    for (const Reduction& reduction : pass.reductions) {
      const Instr& r = result(reduction);
      line("{} {}_part[{}][{}];", cpp_type(r.dtype), r.name, each(), each());
    }
    for_each_pair([&] {
      for (const Reduction& reduction : pass.reductions) line("{} = {};", part(reduction), helpers_.neutral(reduction.op, result(reduction).dtype));
    });
    line("const {} stretches = (row_points + {}) / {};", count_, depth() - 1, depth());
    open("for ({} stretch = 0; stretch <= stretches; ++stretch)", count_);
    for (const auto* values : {&parts.left, &parts.right})
      for (const int value : *values)
        line("{} {}_next[{}];", cpp_type(nest_.instrs[value].dtype), nest_.instrs[value].name, depth() * side() / kContractionThreads);
    open("if (stretch < stretches)");
    bring(parts.left, left, "first_down");
    bring(parts.right, right, "first_across");
    close();
    open("if (stretch > 0)");
    combine_pairs(parts, pass);
    close();
    open("if (stretch < stretches)");
    put(parts.left, left);
    put(parts.right, right);
    close();
    line("__syncthreads();");
    close();
    finish_pairs(pass, left, right);
    close();
  }

  std::string part(const Reduction& reduction) const { return result(reduction).name + "_part[y][x]"; }
  void for_each_pair(const std::function<void()>& inside) {
    line("#pragma unroll");
    open("for (int y = 0; y < {}; ++y)", each());
    line("#pragma unroll");
    open("for (int x = 0; x < {}; ++x)", each());
    inside();
    close();
    close();
  }

  /// Returns whether the inputs of the values are contiguous along the rows, and not along the axis.
  bool lies_along_rows(const std::vector<int>& values, int a) const {
    for (const int id : computed_from(nest_, values)) {
      if (nest_.instrs[id].kind != Instr::Kind::load) continue;
      const int index = nest_.inputs[nest_.instrs[id].input].index;
      if (coefficient(nest_, index, nest_.axes() - 1) == kOne) return true;
      if (coefficient(nest_, index, a) == kOne) return false;
    }
    return true;
  }
  /// Opens a loop over the elements that this thread loads of one side's stretch. Neighbouring threads load adjacent elements.
  void open_brought(const std::vector<int>& values, int a) {
    const bool rows = lies_along_rows(values, a);
    line("#pragma unroll");
    open("for (int piece = 0; piece < {}; ++piece)", depth() * side() / kContractionThreads);
    line("const unsigned int number = threadIdx.x + piece * {};", kContractionThreads);
    line("const unsigned int at = number {} {}, deep = number {} {};", rows ? '/' : '%', rows ? depth() : side(), rows ? '%' : '/', rows ? depth() : side());
  }
  void bring(const std::vector<int>& values, int a, std::string_view first) {
    Stage needed;
    needed.row = true;
    needed.body = computed_from(nest_, values);
    open_brought(values, a);
    line("const {} {} = ({})({} + at);", int_, axis(a), int_, first);
    line("const {} row = stretch * {} + deep;", count_, depth());
    for (const int value : values) line("{}_next[piece] = 0;", nest_.instrs[value].name);
    open("if ({} < s{} && row < row_points)", axis(a), a);
    unflatten_row(needed);
    std::vector<int> named;
    for (const bool row : {false, true}) each_index(needed, [&](int number) { name_inner(number, row, named); });
    compute(needed, false);
    for (const int value : values) line("{}_next[piece] = {};", nest_.instrs[value].name, value_[value]);
    close();
    close();
    for (const int number : named) index_names_.erase(number);
    for (const int id : needed.body) value_[id].clear();
  }
  void put(const std::vector<int>& values, int a) {
    open_brought(values, a);
    for (const int value : values) line("{}[stretch & 1][deep][at] = {}_next[piece];", shared_name(value), nest_.instrs[value].name);
    close();
  }

  /// Combines one stretch's points: at each point, all pairs of the thread's left and right values.
  void combine_pairs(const Contraction& parts, const Stage& pass) {
    line("#pragma unroll");
    open("for (int deep = 0; deep < {}; ++deep)", depth());
    if (!parts.of_products) line("if ((stretch - 1) * {} + deep >= row_points) break;", depth());
    const auto take = [&](const std::vector<int>& values, std::string_view thread, char number) {
      for (const int value : values) {
        const Instr& instr = nest_.instrs[value];
        const std::string type = helpers_.vector_type(instr.dtype, group());
        line("{} {}_at[{}];", type, instr.name, each() / group());
        line("#pragma unroll");
        line("for (int k = 0; k < {}; ++k) {}_at[k] = *(const {}*)&{}[~stretch & 1][deep][{} * {} + k * {}];", each() / group(), instr.name, type,
             shared_name(value), thread, group(), group() * kContractionSide);
        value_[value] = fmt::format("{0}_at[{1} / {2}].at[{1} % {2}]", instr.name, number, group());
      }
    };
    take(parts.left, "down", 'y');
    take(parts.right, "across", 'x');
    for (std::size_t id = 0; id < nest_.instrs.size(); ++id)  // including those of the stage before the pass
      if (nest_.instrs[id].kind == Instr::Kind::scalar) value_[id] = fmt::format("c{}", nest_.instrs[id].input);
    Stage pairs;
    pairs.row = true;
    // A product that is only summed is multiplied and added in one operation.
    const auto adds_product = [&](const Reduction& reduction) {
      const Instr& value = nest_.instrs[reduction.value];
      const auto uses = [&](int id) {
        int count = 0;
        for (const int other : parts.pairs) each_operand(nest_, nest_.instrs[other], [&](int operand) { count += operand == id; });
        for (const Reduction& other : pass.reductions) count += other.value == id;
        return count;
      };
      return reduction.op == Op::reduce_sum && value.kind == Instr::Kind::op && value.op == Op::multiply &&
             (value.dtype == DType::float32 || value.dtype == DType::float64) && uses(reduction.value) == 1;
    };
    std::vector<int> added;
    for (const Reduction& reduction : pass.reductions)
      if (adds_product(reduction)) added.push_back(reduction.value);
    for (const int id : parts.pairs)
      if (std::find(added.begin(), added.end(), id) == added.end()) pairs.body.push_back(id);
    for_each_pair([&] {
      compute(pairs, false);
      for (const Reduction& reduction : pass.reductions) {
        const Instr& value = nest_.instrs[reduction.value];
        if (std::find(added.begin(), added.end(), reduction.value) != added.end())
          line("{0} = {1}({2}, {3}, {0});", part(reduction), value.dtype == DType::float32 ? "fmaf" : "fma", value_[value.args[0]], value_[value.args[1]]);
        else line("{} = {};", part(reduction), combine(reduction, part(reduction), value_[reduction.value]));
      }
    });
    close();
    for (const int id : pass.body) value_[id].clear();
    for (const auto* values : {&parts.left, &parts.right})
      for (const int value : *values) value_[value].clear();
  }

  /// Prints the stages after the rows, point by point, or by vectors of a thread's neighbouring points.
  void finish_pairs(const Stage& pass, int left, int right) {
    Stage all;
    for (const Stage& stage : nest_.stages) {
      if (stage.row) continue;
      all.body.insert(all.body.end(), stage.body.begin(), stage.body.end());
      all.stores.insert(all.stores.end(), stage.stores.begin(), stage.stores.end());
    }
    line("#pragma unroll");
    open("for (int y = 0; y < {}; ++y)", each());
    line("const {} {} = ({})(first_down + {});", int_, axis(left), int_, place("down", "y"));
    line("if ({} >= s{}) continue;", axis(left), left);
    line("#pragma unroll");
    open("for (int x = 0; x < {}; {})", each(), width_ > 1 ? fmt::format("x += {}", width_) : "++x");
    line("const {} {} = ({})(first_across + {});", int_, axis(right), int_, place("across", "x"));
    line("if ({} >= s{}) continue;", axis(right), right);
    for (const Reduction& reduction : pass.reductions)
      value_[reduction.result] = width_ > 1 ? fmt::format("{}_part[y][x + lane]", result(reduction).name) : part(reduction);
    name_point_indices(all);
    stage_body(all, "");
    close();
    close();
  }

  const LoopNest& nest_;
  const Form form_;
  const int width_;
  const std::string int_, count_;       // types of axis values and of flat counts
  const std::vector<int> turned_;       // inputs that tiles read transposed
  const std::vector<int> turned_back_;  // outputs that tiles write transposed
  const int sm_;
  Helpers helpers_;
  std::string body_;
  int depth_ = 1;
  std::string row_owner_;                // the condition under which a row's threads store, or ""
  bool tail_ = false;                    // the elements after the last whole vector, of a row or of all points, are being printed
  bool counts_in_row_ = false;           // points past the end of a column are computed as its last one and count only if in_row
  bool scanning_ = false;                // threads past the end of a row take part and count only if in_row
  std::vector<std::string> value_;       // the expression for an instruction's value, where it has one
  std::map<int, bool> index_names_;      // inner indices that have a name in this scope
  std::map<int, std::string> divisors_;  // names of the prepared divisors of values that others are divided by
};

}  // namespace
}  // namespace cuda

Source generate_cuda(const LoopNest& nest, int sm) {
  Source source;
  source.target = fmt::format("sm_{}", sm);
  source.options = fmt::format("--gpu-architecture=sm_{} --std=c++17 {}", sm, nest.fast_math ? "--use_fast_math" : "--fmad=false");
  source.entry = nest.name;
  source.text = cuda::Printer(nest, sm).print();
  return source;
}

}  // namespace sinter::jit
