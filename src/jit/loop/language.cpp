#include "jit/loop/language.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "sinter/errors.hpp"

namespace sinter::jit::loop {
namespace {

using Kind = Expr::Kind;

/// Returns the type in which two integers are combined.
DType common(DType a, DType b) {
  if (itemsize(a) != itemsize(b)) return itemsize(a) > itemsize(b) ? a : b;
  return is_unsigned(a) ? a : b;
}
bool is_literal(const E& e) { return e->kind == Kind::literal; }
int widest(const std::vector<E>& args) {
  int width = 1;
  for (const E& a : args) width = std::max(width, a->type.width);
  return width;
}

E binary(const char* symbol, const E& a, const E& b, bool condition = false) {
  Expr e{.kind = Kind::binary, .name = symbol};
  const DType type = is_literal(a) == is_literal(b) ? common(a->type.dtype, b->type.dtype) : is_literal(a) ? b->type.dtype : a->type.dtype;
  e.args = {literal_as(a, type), literal_as(b, type)};
  e.type = {condition ? DType::bool_ : common(e.args[0]->type.dtype, e.args[1]->type.dtype), widest(e.args)};
  return e;
}
E own(const char* name, DType dtype = DType::uint32) { return Expr{.kind = Kind::own, .type = dtype, .name = name}; }

int precedence(std::string_view symbol) {
  constexpr std::array<std::pair<std::string_view, int>, 13> kTable = {
      {{"||", 2}, {"&&", 3}, {"^", 5}, {"&", 6}, {"==", 7}, {"<", 8}, {"<=", 8}, {">", 8}, {">=", 8}, {"+", 9}, {"-", 9}, {"*", 10}, {"/", 10}}};
  for (const auto& [known, level] : kTable)
    if (known == symbol) return level;
  return 10;  // %
}

}  // namespace

E::E(int literal) : E(Expr{.number = literal}) {}
E::E(Expr expr) : tree_(std::make_shared<const Expr>(std::move(expr))) {}

E variable(std::string name, Type type) { return Expr{.kind = Kind::variable, .type = type, .name = std::move(name)}; }
E literal(std::int64_t number, DType dtype) { return Expr{.type = dtype, .number = number}; }
E thread_x() { return own("thread_x"); }
E thread_y() { return own("thread_y"); }
E block() { return own("block"); }
E blocks() { return own("blocks"); }
E bound(const char* name) { return own(name, DType::int64); }
E operator+(const E& a, const E& b) {
  if (is_literal(a) && is_literal(b)) return literal(a->number + b->number, common(a->type.dtype, b->type.dtype));
  return binary("+", a, b);
}
E operator-(const E& a, const E& b) { return binary("-", a, b); }
E operator*(const E& a, const E& b) { return binary("*", a, b); }
E operator/(const E& a, const E& b) { return binary("/", a, b); }
E operator%(const E& a, const E& b) { return binary("%", a, b); }
E operator&(const E& a, const E& b) { return binary("&", a, b); }
E operator^(const E& a, const E& b) { return binary("^", a, b); }
E operator<(const E& a, const E& b) { return binary("<", a, b, true); }
E operator<=(const E& a, const E& b) { return binary("<=", a, b, true); }
E operator>(const E& a, const E& b) { return binary(">", a, b, true); }
E operator>=(const E& a, const E& b) { return binary(">=", a, b, true); }
E operator==(const E& a, const E& b) { return binary("==", a, b, true); }
E operator!(const E& a) { return make(Kind::invert, {DType::bool_, a->type.width}, {a}); }
E operator&&(const E& a, const E& b) { return a.empty() ? b : b.empty() ? a : binary("&&", a, b, true); }
E operator||(const E& a, const E& b) { return a.empty() ? b : b.empty() ? a : binary("||", a, b, true); }
E select(const E& condition, const E& yes, const E& no) {
  const DType dtype = is_literal(yes) ? no->type.dtype : yes->type.dtype;
  return make(Kind::select, {dtype, widest({condition, yes, no})}, {condition, literal_as(yes, dtype), literal_as(no, dtype)});
}
E cast(const E& a, DType to) { return a->type == Type(to, a->type.width) ? a : make(Kind::cast, {to, a->type.width}, {a}); }
E literal_as(const E& a, DType type) {
  if (a.empty() || !is_literal(a)) return a;
  Expr e = *a;
  e.type = type;
  return e;
}
E primitive(Op op, DType result, std::vector<E> args) {
  for (E& a : args)
    if (is_literal(a)) a = literal_as(a, is_literal(args.back()) ? args[0]->type.dtype : args.back()->type.dtype);
  const Type type(result, widest(args));
  return Expr{.kind = Kind::primitive, .type = type, .op = op, .args = std::move(args)};
}
E neutral(Op reduction, DType dtype) { return Expr{.kind = Kind::neutral, .type = dtype, .op = reduction}; }
E lane_of(const E& vector, const E& lane) { return make(Kind::lane, vector->type.dtype, {vector, lane}); }
E make(Kind kind, Type type, std::vector<E> args) { return Expr{.kind = kind, .type = type, .args = std::move(args)}; }
E guarded(const E& access, const E& guard, const E& fill) {
  Expr e = *access;
  e.guard = guard;
  e.fill = literal_as(fill, e.type.dtype);
  return e;
}

E Memory::at(std::vector<E> index) const {
  const Type of(type.dtype, std::max(type.width, widest(index)), type.divisor);
  return Expr{.kind = Kind::element, .type = of, .name = name, .args = std::move(index)};
}
E Memory::vector_at(std::vector<E> index, int width) const {
  if (width == 1) return at(std::move(index));
  return Expr{.kind = Kind::vector, .type = {type.dtype, width}, .name = name, .args = std::move(index)};
}
E Memory::strided_at(const E& first, const E& stride, int width) const {
  return Expr{.kind = Kind::strided, .type = {type.dtype, width}, .name = name, .args = {first, stride}};
}

// ---- printing

std::string Printer::index_text(const std::vector<E>& index) {
  std::string out;
  for (const E& i : index) out += fmt::format("[{}]", text(i));
  return out;
}

std::string Printer::text(const E& e, int min_precedence) {
  std::string out;
  int binds = kAtom;
  switch (e->kind) {
    case Kind::literal: out = fmt::format("{}", e->number); break;
    case Kind::variable: out = e->name; break;
    case Kind::binary:
      binds = precedence(e->name);
      out = fmt::format("{} {} {}", text(e->args[0], binds), e->name, text(e->args[1], binds + 1));
      break;
    case Kind::invert:
      binds = kUnary;
      out = "!" + text(e->args[0], kUnary);
      break;
    case Kind::select:
      binds = 1;
      out = fmt::format("{} ? {} : {}", text(e->args[0], 2), text(e->args[1], 2), text(e->args[2], 1));
      break;
    case Kind::element:
      if (e->guard.empty()) {
        out = e->name + index_text(e->args);
        break;
      }
      [[fallthrough]];
    default: std::tie(out, binds) = special(*e);
  }
  return binds < min_precedence ? "(" + out + ")" : out;
}

void Printer::print(const std::vector<Stmt>& statements, int depth) {
  for (const Stmt& s : statements) {
    const std::string note = s.note.empty() ? "" : "  // " + s.note, when = !s.guard.empty() ? fmt::format("if ({}) ", text(s.guard)) : "";
    switch (s.kind) {
      case Stmt::Kind::store:
        line(depth, fmt::format("{}{} = {}{};{}", when, text(s.target), text(s.value), s.stream.empty() ? "" : " streamed " + text(s.stream), note));
        break;
      case Stmt::Kind::next: line(depth, when + "continue;" + note); break;
      case Stmt::Kind::last: line(depth, when + "break;" + note); break;
      case Stmt::Kind::branch:
        line(depth, when + "{" + note);
        print(s.body, depth + 1);
        if (!s.otherwise.empty()) line(depth, "} else {"), print(s.otherwise, depth + 1);
        line(depth, "}");
        break;
      case Stmt::Kind::loop: {
        std::vector<std::string> head = loop_head(s);
        const std::string change = s.change == Change::twice  ? s.name + " <<= 1"
                                   : s.change == Change::half ? s.name + " >>= 1"
                                                              : fmt::format("{} += {}", s.name, text(s.step));
        head.back() += fmt::format("({0} {1} = {2}; {3}; {4}) {{{5}", type_text(s.type), s.name, text(s.first),
                                   s.change == Change::half ? s.name + " > 0" : fmt::format("{} < {}", s.name, text(s.end, 9)), change, note);
        for (const std::string& one : head) line(depth, one);
        print(s.body, depth + 1);
        line(depth, "}");
        break;
      }
      default: {
        std::vector<std::string> lines = simple(s);
        lines.back() += note;
        for (const std::string& one : lines) line(depth, one);
      }
    }
  }
}

namespace {

constexpr std::array kBindings = {"serial", "unrolled", "lanes", "threads", "grid"};
constexpr std::array kScopes = {"warp", "block", "cluster_arrive", "cluster_wait"};

/// Prints the language itself. tests/support/loop_reader.hpp parses this text.
class Text : public Printer {
 public:
  std::string kernel(const Kernel& k) {
    for (const std::string& note : k.notes) line(0, "// " + note);
    if (k.threads == 0) line(0, fmt::format("kernel {}: vectors", k.name));
    else
      line(0, fmt::format("kernel {}: {} threads, {} across{}{}", k.name, k.threads, k.across, k.residents ? fmt::format(", {} resident", k.residents) : "",
                          k.cluster > 1 ? fmt::format(", clusters of {}", k.cluster) : ""));
    constexpr std::array kKinds = {"input", "output", "number", "literal"};
    for (const Parameter& p : k.parameters) line(1, fmt::format("{} {} {}", kKinds[static_cast<std::size_t>(p.kind)], sinter::name(p.dtype), p.name));
    line(0, "{");
    print(k.body, 1);
    line(0, "}");
    return std::move(text_);
  }

 private:
  std::string type_text(const Type& type) override {
    return fmt::format("{}{}{}", sinter::name(type.dtype), type.width > 1 ? fmt::format("x{}", type.width) : "", type.divisor ? "_divisor" : "");
  }
  std::pair<std::string, int> special(const Expr& e) override {
    std::vector<std::string> args;
    for (const E& a : e.args) args.push_back(text(a));
    const auto call = [&](std::string_view function) { return std::pair(fmt::format("{}({})", function, fmt::join(args, ", ")), kAtom); };
    const auto combination = [&](std::string_view function, std::string_view of) {
      return std::pair(fmt::format("{}({}, {})", function, trace::name(e.op), of), kAtom);
    };
    switch (e.kind) {
      case Kind::own: return {e.name, kAtom};
      case Kind::element:
      case Kind::vector:
      case Kind::strided: {
        const std::string when = e.guard.empty() ? "" : fmt::format(" when {} else {}", text(e.guard, 2), text(e.fill, 2));
        if (e.kind == Kind::strided) return {fmt::format("{}[{} by {}{}].x{}", e.name, args[0], args[1], when, e.type.width), kAtom};
        std::string all = e.name;
        for (std::size_t i = 0; i < args.size(); ++i) all += fmt::format("[{}{}]", args[i], i + 1 < args.size() ? "" : when);
        return {all + (e.kind == Kind::vector ? fmt::format(".x{}", e.type.width) : ""), kAtom};
      }
      case Kind::lane: return {fmt::format("{}.at[{}]", text(e.args[0], kAtom), args[1]), kAtom};
      case Kind::cast: return call(sinter::name(e.type.dtype));
      case Kind::primitive: return call(trace::name(e.op));
      case Kind::multiply_add: return call("multiply_add");
      case Kind::neutral: return {fmt::format("neutral({}, {})", trace::name(e.op), sinter::name(e.type.dtype)), kAtom};
      case Kind::rounded: return {fmt::format("rounded({}, {})", sinter::name(e.dtype), args[0]), kAtom};
      case Kind::divisor: return call("divisor");
      case Kind::quotient: return call("quotient");
      case Kind::shuffle_xor: return call("shuffle_xor");
      case Kind::shuffle_up: return call("shuffle_up");
      case Kind::shuffle: return call("shuffle");
      case Kind::transposed: return {fmt::format("transposed({})", e.name), kAtom};
      case Kind::apart: return {fmt::format("apart({})", e.name), kAtom};
      case Kind::together: return {fmt::format("together({})", e.name), kAtom};
      case Kind::iota: return {fmt::format("iota({})", type_text(e.type)), kAtom};
      case Kind::lanes_below: return {fmt::format("lanes_below({}, {})", e.type.width, args[0]), kAtom};
      case Kind::any: return call("any");
      case Kind::some: return call("some");
      case Kind::tree: return combination("tree", args[0] + (e.type.width > 1 ? fmt::format(", {}", e.type.width) : ""));
      case Kind::trees: return combination("trees", e.name);
      case Kind::prefix: return combination("prefix", args[0]);
      default: return {fmt::format("remote({}, {})", e.name, args[0]), kAtom};
    }
  }
  std::vector<std::string> simple(const Stmt& s) override {
    const std::string type = type_text(s.type), start = !s.value.empty() ? " = " + text(s.value) : "";
    std::string extents;
    for (const int extent : s.extents) extents += fmt::format("[{}]", extent);
    switch (s.kind) {
      case Stmt::Kind::let: return {fmt::format("let {} {}{};", type, s.name, start)};
      case Stmt::Kind::var: return {fmt::format("var {} {}{};", type, s.name, start)};
      case Stmt::Kind::registers: return {fmt::format("registers {} {}{}{};", type, s.name, extents, start)};
      case Stmt::Kind::shared: return {fmt::format("shared{} {} {}{};", s.aligned ? " aligned" : "", type, s.name, extents)};
      case Stmt::Kind::dynamic: return {fmt::format("dynamic {} {}[{}]{};", type, s.name, text(s.extent), s.number ? fmt::format(" by {}", s.number) : "")};
      case Stmt::Kind::barrier: return {fmt::format("barrier {};", kScopes[static_cast<std::size_t>(s.scope)])};
      default: return {fmt::format("if ({}) check {} = {};", text(s.guard), s.number, text(s.value))};
    }
  }
  std::vector<std::string> loop_head(const Stmt& s) override { return {fmt::format("for {} ", kBindings[static_cast<std::size_t>(s.binding)])}; }
};

}  // namespace

std::string to_string(const Kernel& kernel) { return Text().kernel(kernel); }

}  // namespace sinter::jit::loop
