// Loop nest -> CUDA C++. One self-contained kernel in one of five forms (see geometry.hpp); the text holds no
// parameter value, so that another literal or another size is the same text.
//
// Names follow to_string(LoopNest): axes p0.. and r0.., numbers s3, indices i2, literals c0, persistent buffers persistent0; values have
// the names of their instructions.
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
      default: throw InternalError("a form that is the CPU's");  // check() has told it better
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
  /// Prints `inside` once per element of a vector, or as it is where there is no vector.
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
        if (c == '\n' || c == '\r' || c == '\\') c = ' ';  // any of these would end or extend the comment
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

  /// Blocks of up to 256 threads fit whatever the kernel's registers (256 * 255 < 65536), and a bound would make ptxas
  /// trade a few spilled registers for more blocks a multiprocessor.
  std::string launch_bounds() const {
    const int threads = nest_.schedule.threads;
    // Of the largest squares a multiprocessor takes two blocks, if each keeps to 128 registers: it does, of one sum of products.
    // (For sm_120 ptxas does not where there are batches, and would spill.)
    if (form_ == Form::contraction && side() == 128 && !(sm_ >= 120 && nest_.parallel > 2)) {
      const auto parts = contraction(nest_, nest_.schedule.left, nest_.schedule.right);
      if (parts && parts->of_products && parts->pairs.size() == 1) return fmt::format("__launch_bounds__({}, 2) ", threads);
    }
    // What is kept of columns takes about half of a thread's 64 registers, which leave a multiprocessor as many warps as a block has or twice that.
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

  /// The index as an expression. Its value at lane 0 of a vector, or (per_lane) at the lane at hand.
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

  /// Names the inner indices that `number` is made of, those that (do not) move along the rows, before their first use.
  void name_inner(int number, bool row, std::vector<int>& named) {
    for (const Index::Term& term : nest_.indices[number].terms) {
      if (term.inner < 0) continue;
      name_inner(term.inner, row, named);
      if (uses_values(nest_, term.inner)) continue;  // they are not computed yet
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
  /// Names what does not move along the rows, once per point, ahead of the stage's loop.
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
  /// Axis values from a flat count, the last axis innermost; those that nothing uses have no name.
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

  /// The number of row points of this parallel point; the chunk's part of it where rows are cut in chunks.
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

  /// The divisor's own value: a literal's is known before anything is computed.
  std::string divisor_value(int id) const {
    const Instr& instr = nest_.instrs[id];
    return instr.kind == Instr::Kind::scalar ? fmt::format("c{}", instr.input) : value_[id];
  }
  /// Names what many quotients are divided by, ahead of the loop of `stage`: literals, and (not `literals`) what is computed once for a
  /// point. Down columns by vectors each lane has a divisor of its own.
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

  /// True where the stage's values differ from lane to lane.
  bool stage_has_lanes(const Stage& stage) const {
    return width_ > 1 && !tail_ && (form_ == Form::pointwise || form_ == Form::columns || form_ == Form::contraction || stage.row);
  }
  /// Values of a stage outside the row loops are used beyond it: in a column kernel with vectors they are arrays.
  bool keeps_arrays(const Stage& stage) const { return form_ == Form::columns && width_ > 1 && !stage.row; }

  bool is_vector(int index) const { return coefficient(nest_, index, nest_.lane_axis()) == kOne; }
  bool is_vector(const Instr& load) const { return is_vector(nest_.inputs[load.input].index) && !nest_.schedule.is_single(load.input); }
  bool is_uniform(int index) const { return !depends_on(nest_, index, nest_.lane_axis()); }
  /// The access is what it is before any value of the stage is computed.
  bool is_plain(const Instr& load) const { return load.guard < 0 && !uses_values(nest_, nest_.inputs[load.input].index); }
  bool is_vector(const Store& store) const {
    const int index = nest_.outputs[store.output].index;
    return store.guard < 0 && is_vector(index) && !uses_values(nest_, index) && !nest_.schedule.is_single(nest_.inputs.size() + store.output);
  }

  std::string vector_at(std::string_view pointer, DType dtype, const std::string& offset, bool constant) {
    return fmt::format("*({}{}*)({} + {})", constant ? "const " : "", helpers_.vector_type(dtype, width_), pointer, offset);
  }

  /// Declares what a vector stage reads before its lanes: whole vectors, and what all lanes share.
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
  /// Where shared memory has a row point: of a row that a cluster shares a block has its own part.
  const char* kept_place() const { return cluster() > 1 ? "row - own_first" : "row"; }
  /// A persistent buffer at this row point.
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
      case Instr::Kind::persistent:  // of the last element, what its own thread may be changing
        if (scanning_ && !in_registers()) return fmt::format("in_row ? persistent{}[row] : ({})0", instr.input, cpp_type(instr.dtype));
        return persistent_element(instr.input, false);
      case Instr::Kind::op: break;
      default: throw InternalError(fmt::format("CUDA kernel {}: {} has no expression", nest_.name, instr.name));
    }
    auto arg = [&](int i) { return instr.args[i] >= 0 ? value_[instr.args[i]] : std::string(); };
    // What is rounded to 16 bits and used as a float again.
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
      if (per_lane && instr.kind != Instr::Kind::op && !value_[id].empty()) continue;  // loaded ahead
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

  /// One stage at one row point (or one parallel point). `owner`: the condition under which a thread stores, or "".
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
        // One of the threads that find a bad value tells it; one past the last point has none.
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
  /// What a scan has come to, from stretch to stretch.
  static DType carried(const Instr& scan) { return trace::scan_carry(scan.op, scan.dtype); }
  void start_scans(const Stage& stage) {
    each_scan(stage, [&](const Instr& scan) {
      const std::string start = scan.args[1] < 0 ? helpers_.neutral(scan.op, carried(scan)) : value_[scan.args[1]];
      line("{} {}_so_far = {};", cpp_type(carried(scan)), scan.name, start);
    });
  }
  /// Down a column a thread goes alone. Along a row the threads have a stretch of it at a time: each warp scans its part, and what
  /// stands before it, of this stretch and of those before, is put ahead in order.
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

  /// Number of stages that end in a block-wide combination.
  int reducing_stages() const {
    int n = 0;
    for (const Stage& stage : nest_.stages) n += !stage.reductions.empty();
    return n;
  }
  /// A part in shared memory is written again at the next point. With two or more reducing stages a barrier of another
  /// stage lies between; a single one needs its own.
  void guard_reuse(bool shared_parts) {
    if (shared_parts && reducing_stages() == 1) line("__syncthreads();  // before the next point writes its parts");
  }

  /// Each thread's parts of a row become one value that all threads of the row know.
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

  /// Each block's part of a row, likewise: every block reads those of all from their shared memory, and combines them in one order.
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
  /// Each thread's part of a column, likewise.
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
    // Where a thread has few rows, or there are many threads, one for each column combines and all others take what it found.
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

  /// Without rows the stages are one: a vector's values stay in its lanes.
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

  /// Blocks of 32 x 32 points of the last two axes. What lies side by side along the one before the last is read along that one, a warp
  /// a line, and found in shared memory along the other; lines of 33 let a warp read a column in one go. Results that lie so go back the same way.
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
    // Past the end of an axis its last point is read again, and not stored: without branches all reads of a tile are under way at once.
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
      // The lanes of a warp meet in its shuffles, whatever row they have: those past the last one compute that again and store nothing.
      open("for ({0} first = ({0})blockIdx.x * {1}; first < points; first += ({0})gridDim.x * {1})", count_, rows_per_block(nest_));
      line("const bool inside = first + threadIdx.x / {} < points;", sharing);
      line("const {} point = inside ? first + threadIdx.x / {} : points - 1;", count_, sharing);
      row_owner_ = "inside";
    } else if (warp) {
      // The first lane's number, which all have: from the shuffle the compiler knows that a warp's lanes go round together.
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

  /// A block of a cluster has neighbouring points of the row, in whole vectors: none where the row is over before its part.
  void print_own_points() {
    line("const {} part = {};", count_, part_of("row_points"));
    line("const {} own_first = rank * part < row_points ? rank * part : row_points;", count_);
    line("const {} own_end = row_points - own_first < part ? row_points : own_first + part;", count_);
  }
  std::string part_of(std::string_view row) const { return fmt::format("({} + {}) / {} * {}", row, cluster() * width_ - 1, cluster() * width_, width_); }

  /// The threads of a row walk it, by vectors where there are any. The last of a row's chunks may end within a vector:
  /// what is left goes element by element.
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

  /// Where a block's row, or its part of one, is over.
  const char* row_end() const { return form_ == Form::columns ? "own_row_points" : cluster() > 1 ? "own_end" : "row_points"; }

  /// A loop over a row's points that this thread takes: from `first` on, `step` apart. Where the results may be known early it is asked
  /// for them now and then: at every point the question would keep the next reads waiting.
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

  /// Whether nothing more can change this thread's parts. The lanes of a row's vectors share a result, those of columns have one each.
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

  /// As many steps as the longest row takes, so that what a thread keeps of each has a register of its own.
  void steps_loop(const Stage& stage) {
    line("#pragma unroll");
    open("for (int step = 0; step < {}; ++step)", nest_.schedule.row_steps);
    const bool columns = form_ == Form::columns;
    const std::string at =
        fmt::format("({})step * {} + {}", count_, columns ? nest_.schedule.threads / kWarp : nest_.schedule.row_threads, columns ? "threadIdx.y" : "thread");
    const std::string vectors = width_ > 1 && !columns ? fmt::format("({}) * {}", at, width_) : at, place = cluster() > 1 ? "own_first + " + vectors : vectors;
    // A later pass that reads what the first did not: unasked, ptxas would read it for all steps at once, beside what is kept.
    const bool reads = std::any_of(stage.body.begin(), stage.body.end(), [&](int id) { return nest_.instrs[id].kind == Instr::Kind::load; });
    const bool reads_again =
        reads && std::any_of(stage.body.begin(), stage.body.end(), [&](int id) { return nest_.instrs[id].kind == Instr::Kind::persistent; });
    if (columns && !nest_.schedule.whole && reads && !reads_again) {
      // Past its end a column's last point is read again and not counted: without branches all of its reads are under way at once.
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

  /// Threads meet in a scan: all go round as often. One past the end computes the last element again and does not count it.
  void scan_loop(const Stage& stage) {
    start_scans(stage);
    // Elements go to other threads than in passes by vectors.
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

  /// A region of dynamic shared memory for each persistent buffer (of each warp that has a row of its own). Threads read back only
  /// what they wrote themselves, so that persistent buffers need no barrier but around a scan.
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
    if (nest_.schedule.whole) row_owner_ = "inside";  // of the last column again every row is computed
    // Every thread of a block walks the same blocks of points, so that all reach each barrier. A thread past the last
    // point computes the last one again, over no rows, and stores nothing.
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
  /// A thread's point number `number` of its sixteenth: groups of neighbours, a group of each thread after the other.
  std::string place(std::string_view thread, const std::string& number) const {
    return fmt::format("{0} * {1} + {2} / {1} * {3} + {2} % {1}", thread, group(), number, group() * kContractionSide);
  }
  std::string shared_name(int value) const { return nest_.instrs[value].name + "_shared"; }

  /// The rows are gone through in stretches of `depth()`. While a stretch is combined, what the next one reads is under way to registers;
  /// it lies in the other half of shared memory when all have met.
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

  /// Whether what the values are computed from lies side by side along the rows, rather than along the axis.
  bool lies_along_rows(const std::vector<int>& values, int a) const {
    for (const int id : computed_from(nest_, values)) {
      if (nest_.instrs[id].kind != Instr::Kind::load) continue;
      const int index = nest_.inputs[nest_.instrs[id].input].index;
      if (coefficient(nest_, index, nest_.axes() - 1) == kOne) return true;
      if (coefficient(nest_, index, a) == kOne) return false;
    }
    return true;
  }
  /// A loop over what this thread brings of one side's stretch: neighbouring threads bring what lies side by side.
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

  /// One stretch's points, each combined for all pairs of what this thread has of either side.
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
    for (std::size_t id = 0; id < nest_.instrs.size(); ++id)  // those of the stage before the pass too
      if (nest_.instrs[id].kind == Instr::Kind::scalar) value_[id] = fmt::format("c{}", nest_.instrs[id].input);
    Stage pairs;
    pairs.row = true;
    // A product that is only summed is added in one operation.
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

  /// What comes after the rows, point by point, or by the neighbours that a thread has.
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
  const std::vector<int> turned_;       // inputs that tiles read the other way round
  const std::vector<int> turned_back_;  // outputs that they write so
  const int sm_;
  Helpers helpers_;
  std::string body_;
  int depth_ = 1;
  std::string row_owner_;                // the condition under which a row's threads store, or ""
  bool tail_ = false;                    // elements after the last whole vector, of a row or of all points, are being printed
  bool counts_in_row_ = false;           // points past the end of a column are computed like its last one, for in_row
  bool scanning_ = false;                // threads past the end of a row go along, for in_row
  std::vector<std::string> value_;       // how an instruction's value is referred to, where it has one
  std::map<int, bool> index_names_;      // inner indices that have a name here
  std::map<int, std::string> divisors_;  // what holds the reciprocal of a value that others are divided by
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
