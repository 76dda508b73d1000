#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "jit/loop/language.hpp"
#include "sinter/errors.hpp"

namespace sinter::jit::loop {
namespace {

using Kind = Expr::Kind;

/// The set of threads for which a value is the same: all threads of the grid, of a cluster, of a block, of a warp, or none.
enum class Common : std::uint8_t { grid, cluster, block, warp, none };

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel) {}

  void run() {
    // The threads that share a variable's value depend on every store to it, also on a later store in a loop. So this repeats until nothing changes.
    do {
      changed_ = false;
      scopes_.assign(1, {});
      for (const Parameter& p : kernel_.parameters) declare(p.name, {p.dtype, p.is_memory(), {}, p.kind == Parameter::Kind::output, nullptr, !p.is_memory()});
      walk(kernel_.body, Common::grid);
    } while (changed_);
  }

 private:
  struct Name {
    Type type = DType::int32;
    int dimensions = 0;
    std::vector<int> extents;
    bool stored = false;
    const Stmt* declared = nullptr;  // none: a parameter
    bool constant = false;
    bool shared() const { return declared && (declared->kind == Stmt::Kind::shared || declared->kind == Stmt::Kind::dynamic); }
  };

  template <class... Args> [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw InternalError(fmt::format("kernel {} in loops: {}", kernel_.name, fmt::format(format, std::forward<Args>(args)...)));
  }
  void declare(const std::string& name, Name what) {
    if (!scopes_.back().emplace(name, std::move(what)).second) fail("{} is declared twice", name);
  }
  const Name& find(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto at = scope->find(name); at != scope->end()) return at->second;
    fail("{} is used and not declared", name);
  }
  Common& level(const Stmt* declared) { return levels_.emplace(declared, Common::grid).first->second; }
  void raise(const Stmt* declared, Common to) {
    Common& now = level(declared);
    if (to <= now) return;
    now = to;
    changed_ = true;
  }

  Common all(const std::vector<E>& args) {
    Common largest = Common::grid;
    for (const E& a : args) largest = std::max(largest, value(a));
    return largest;
  }
  Common condition(const E& e, int width = 1) {
    if (e.empty()) return Common::grid;
    if (e->type.dtype != DType::bool_ || (e->type.width != 1 && e->type.width != width)) fail("a condition is not a bool: {}", sinter::name(e->type.dtype));
    return value(e);
  }
  bool on_cpu() const { return kernel_.threads == 0; }
  void only(bool cpu, std::string_view what) const {
    if (cpu != on_cpu()) fail("a {}'s kernel has {}", on_cpu() ? "CPU" : "GPU", what);
  }
  void has_type(const E& e, const Type& type, std::string_view what) const {
    const bool repeated = on_cpu() && e->type == Type(type.dtype);  // a single value for all lanes
    if (e->kind != Kind::literal && !(e->type == type) && !repeated)
      fail("{} is of {} but gets {}", what, sinter::name(type.dtype), sinter::name(e->type.dtype));
  }
  void integer(const E& e, std::string_view what) const {
    if (!is_integer(e->type.dtype) || e->type.width > 1) fail("{} is not an integer but {}", what, sinter::name(e->type.dtype));
  }
  /// Checks the operands of an operation that is done lane by lane: each is one value, or has a value for each lane of the result.
  void lane_by_lane(const Expr& e) const {
    for (const E& a : e.args)
      if (a.empty() || (a->type.width != 1 && a->type.width != e.type.width)) fail("an operation has operands of other widths");
    if (e.type.width > 1) only(true, "arithmetic of vectors");
  }

  /// Checks an access to an element of memory. The element is the same for all threads that share the memory and the index.
  Common memory(const Expr& e) {
    const Name& found = find(e.name);
    const bool vector = e.kind == Kind::vector, strided = e.kind == Kind::strided;
    const bool apart = strided || (e.kind == Kind::element && !e.args.empty() && e.args.back()->type.width > 1);
    const std::size_t indices = e.args.size() - (strided ? 1 : 0);
    if (found.dimensions != static_cast<int>(indices)) fail("{} has {} indices instead of {}", e.name, indices, found.dimensions);
    if (vector || apart ? e.type.dtype != found.type.dtype : !(e.type == found.type)) fail("{} is read as another dtype", e.name);
    if (apart) only(true, "strided vectors and vectors of indices");
    for (std::size_t i = 0; i < e.args.size(); ++i) {
      if (!apart || strided) integer(e.args[i], e.name + "'s index");
      if (i >= found.extents.size() || e.args[i]->kind != Kind::literal) continue;
      if (const auto at = e.args[i]->number; at < 0 || at + (vector && i + 1 == e.args.size() ? e.type.width : 1) > found.extents[i])
        fail("{} has no element {}", e.name, at);
    }
    Common common = all(e.args);
    if (!e.guard.empty()) common = std::max({common, condition(e.guard, e.type.width), value(e.fill)});
    if (found.shared()) return std::max(common, Common::block);
    return found.declared ? std::max(common, level(found.declared)) : common;
  }

  /// Checks an expression and returns for which threads its value is the same.
  Common value(const E& e) {
    if (e.empty()) fail("an operand is missing");
    switch (e->kind) {
      case Kind::literal:
      case Kind::neutral: return Common::grid;
      case Kind::own:
        only(is_bound(*e), e->name);
        return e->name == "thread_x"   ? Common::none
               : e->name == "thread_y" ? (kernel_.across >= 32 ? Common::warp : Common::none)
               : e->name == "block"    ? Common::block
                                       : Common::grid;
      case Kind::variable: {
        const Name& found = find(e->name);
        if (!(found.type == e->type) || found.dimensions > 0) fail("{} is used as another type", e->name);
        return found.shared() ? Common::block : found.declared ? level(found.declared) : Common::grid;
      }
      case Kind::element:
      case Kind::vector:
      case Kind::strided: return memory(*e);
      case Kind::transposed:
        only(true, "squares of vectors");
        if (const Name& found = find(e->name); !(found.type == e->type) || found.extents.size() != 1 || e->type.width % found.extents[0] != 0)
          fail("{} has no squares", e->name);
        return Common::grid;
      case Kind::trees:
        only(true, "squares of vectors");
        if (const Name& found = find(e->name); !(found.type == e->type) || found.extents != std::vector{e->type.width}) fail("{} is no square", e->name);
        return Common::grid;
      case Kind::apart:
      case Kind::together:
        only(true, "arrays of vectors");
        if (const Name& found = find(e->name); !(found.type == e->type) || found.extents.size() != 1) fail("{} is no array of such vectors", e->name);
        return Common::grid;
      case Kind::binary: {
        const E &a = e->args[0], &b = e->args[1];
        lane_by_lane(*e);
        const Common common = all(e->args);
        if (e->name == "&&" || e->name == "||") return std::max(condition(a, e->type.width), condition(b, e->type.width));
        if (!is_integer(a->type.dtype) && e->type.dtype != DType::bool_) fail("{} of {}", e->name, sinter::name(a->type.dtype));
        // The threads of a warp, and the blocks of a cluster, have neighbouring numbers.
        if (e->name != "/" || b->kind != Kind::literal || a->kind != Kind::own) return common;
        if (a->name == "thread_x" && b->number % 32 == 0) return Common::warp;
        return a->name == "block" && b->number == kernel_.cluster ? Common::cluster : common;
      }
      case Kind::invert: return lane_by_lane(*e), condition(e->args[0], e->type.width);
      case Kind::select:
        lane_by_lane(*e);
        has_type(e->args[1], e->type, "a choice");
        has_type(e->args[2], e->type, "a choice");
        return std::max(condition(e->args[0], e->type.width), all(e->args));
      case Kind::cast: return lane_by_lane(*e), all(e->args);
      case Kind::primitive: {
        const trace::Primitive& row = trace::primitive(e->op);
        if (row.kind != trace::OpKind::elementwise || row.arity != static_cast<int>(e->args.size())) fail("{} on {} operands", row.name, e->args.size());
        lane_by_lane(*e);
        const Type operand(e->args.back()->type.dtype, e->type.width);
        for (std::size_t i = e->op == Op::where ? 1 : 0; i < e->args.size(); ++i) has_type(e->args[i], operand, row.name);
        if (e->op != Op::cast && (row.result == trace::Result::boolean ? e->type.dtype != DType::bool_ : !(e->type == operand)))
          fail("{} has another result", row.name);
        return all(e->args);
      }
      case Kind::lane:
        if (e->args[0]->type.width < 2) fail("a lane of a value that is not a vector");
        return all(e->args);
      case Kind::divisor: return all(e->args);
      case Kind::quotient:
        if (!e->args[1]->type.divisor) fail("the divisor of a quotient is not prepared");
        if (on_cpu() && e->args[1]->kind != Kind::divisor) fail("a CPU prepares a divisor in the quotient");
        return all(e->args);
      case Kind::shuffle_xor:
      case Kind::shuffle_up: return together(Common::warp, "a shuffle"), all(e->args);
      case Kind::shuffle: return together(Common::warp, "a shuffle"), std::max(value(e->args[1]), std::min(value(e->args[0]), Common::warp));
      case Kind::remote:
        if (kernel_.cluster < 2 || !find(e->name).shared()) fail("{} is not a shared variable of a cluster", e->name);
        return std::max(Common::cluster, all(e->args));
      case Kind::iota:
      case Kind::lanes_below:
      case Kind::tree:
      case Kind::prefix:
      case Kind::any:
      case Kind::some:
        only(true, "operations on a vector's lanes");
        if (e->kind == Kind::lanes_below) integer(e->args[0], "a number of lanes");
        if (e->kind == Kind::any || e->kind == Kind::some) return condition(e->args[0], e->args[0]->type.width);
        return all(e->args);
      default: return only(false, "an operation of threads"), all(e->args);
    }
  }

  static bool is_bound(const Expr& own) { return own.name.starts_with("outer_") || own.name.starts_with("inner_"); }

  /// Fails unless all threads that have to meet reach this statement together.
  void together(Common needed, std::string_view what) const {
    only(false, what);
    if (here_ > needed) fail("not all threads that {} needs reach it together", what);
  }

  void walk(const std::vector<Stmt>& body, Common here) {
    const Common before = here_;
    here_ = here;
    for (const Stmt& s : body) statement(s);
    here_ = before;
  }
  void inner(const Stmt& s, Common here) {
    scopes_.emplace_back();
    if (s.kind == Stmt::Kind::loop) declare(s.name, {s.type, 0, {}, false, &s, true});
    walk(s.body, here);
    scopes_.pop_back();
    if (s.otherwise.empty()) return;
    scopes_.emplace_back();
    walk(s.otherwise, here);
    scopes_.pop_back();
  }

  void statement(const Stmt& s) {
    const int lanes = s.kind == Stmt::Kind::store ? s.target->type.width : s.kind == Stmt::Kind::check ? s.guard->type.width : 1;
    const Common when = std::max(here_, condition(s.guard, lanes));
    switch (s.kind) {
      case Stmt::Kind::let:
      case Stmt::Kind::var:
      case Stmt::Kind::registers:
        if (s.kind == Stmt::Kind::let && s.value.empty()) fail("{} has no value", s.name);
        if (s.kind == Stmt::Kind::registers && (s.extents.size() != 1 || s.extents[0] < 1)) fail("{} has no extent", s.name);
        if (!s.value.empty()) {
          raise(&s, value(s.value));
          has_type(s.value, s.type, s.name);
        }
        declare(s.name, {s.type, static_cast<int>(s.extents.size()), s.extents, s.kind != Stmt::Kind::let, &s, s.kind == Stmt::Kind::let});
        break;
      case Stmt::Kind::shared: only(false, "shared memory"), declare(s.name, {s.type, static_cast<int>(s.extents.size()), s.extents, true, &s, false}); break;
      case Stmt::Kind::dynamic:
        if (value(s.extent) != Common::grid) fail("the launch does not know the extent of {}", s.name);
        declare(s.name, {s.type, 1, {}, true, &s, false});
        break;
      case Stmt::Kind::store: {
        const E& target = s.target;
        const Common common = std::max({when, value(s.value), target->kind == Kind::variable ? Common::grid : all(target->args)});
        const E& base = target->kind == Kind::lane ? target->args[0] : target;
        if (base->kind != Kind::variable && base->kind != Kind::element && base->kind != Kind::vector && base->kind != Kind::strided)
          fail("a store to an expression that is not memory");
        value(target);
        const Name& found = find(base->name);
        if (!found.stored) fail("{} is stored to, but it is constant", base->name);
        has_type(s.value, target->type, base->name);
        if (found.declared) raise(found.declared, common);
        break;
      }
      case Stmt::Kind::loop: {
        integer(s.first, s.name);
        Common common = std::max(here_, value(s.first));
        if (!s.end.empty()) common = std::max(common, value(s.end));
        if (s.change == Change::add) common = std::max(common, value(s.step));
        if (s.change != Change::half && s.end.empty()) fail("the loop of {} has no end", s.name);
        raise(&s, std::max(value(s.first), s.change == Change::add ? value(s.step) : Common::grid));
        // If some threads leave an iteration or the loop, only the others run the rest.
        const Stmt* const outer = std::exchange(loop_, &s);
        inner(s, std::max(common, left_[&s]));
        loop_ = outer;
        break;
      }
      case Stmt::Kind::branch: inner(s, when); break;
      case Stmt::Kind::next:
      case Stmt::Kind::last:
        if (!loop_) fail("a statement leaves a loop outside of any loop");
        changed_ |= when > left_[loop_];
        left_[loop_] = std::max(left_[loop_], when);
        break;
      case Stmt::Kind::barrier:
        together(s.scope == Scope::warp ? Common::warp : s.scope == Scope::block ? Common::block : Common::cluster, "a barrier");
        if (s.scope >= Scope::cluster_arrive && kernel_.cluster < 2) fail("a cluster's barrier in a kernel without clusters");
        break;
      case Stmt::Kind::check: value(s.value); break;
    }
  }

  const Kernel& kernel_;
  std::vector<std::map<std::string, Name>> scopes_;
  std::map<const Stmt*, Common> levels_;
  std::map<const Stmt*, Common> left_;  // by loop: the threads that leave its iterations
  const Stmt* loop_ = nullptr;
  Common here_ = Common::grid;
  bool changed_ = false;
};

}  // namespace

void verify(const Kernel& kernel) { Verifier(kernel).run(); }

}  // namespace sinter::jit::loop
