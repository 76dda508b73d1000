// Parses the text of the loop language (jit/loop/language.hpp), so that tests can compare a parsed kernel with the printed one, and can contain hand-written
// kernels.
#pragma once
#include <fmt/format.h>

#include <cctype>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "jit/loop/language.hpp"

namespace sinter::test {

class LoopReader {
  using E = jit::loop::E;
  using Expr = jit::loop::Expr;
  using Kind = Expr::Kind;
  using Stmt = jit::loop::Stmt;
  using Type = jit::loop::Type;

 public:
  static jit::loop::Kernel read(const std::string& text) { return LoopReader(text).kernel(); }

 private:
  explicit LoopReader(const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
      const char c = text[at];
      std::size_t end = at + 1;
      const auto word = [&](std::size_t i) { return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_'); };
      if (std::isspace(static_cast<unsigned char>(c))) {
        at = end;
        continue;
      }
      if (word(at))
        while (word(end)) ++end;
      else if (text.compare(at, 2, "//") == 0) end = text.find('\n', at);
      else if (const std::string three = text.substr(at, 3); three == "<<=" || three == ">>=") end = at + 3;
      else if (const std::string two = text.substr(at, 2); two == "&&" || two == "||" || two == "<=" || two == ">=" || two == "==" || two == "+=") end = at + 2;
      tokens_.push_back(text.substr(at, end - at));
      at = end;
    }
    scopes_.emplace_back();
  }

  const std::string& peek(std::size_t ahead = 0) const {
    static const std::string none;
    return at_ + ahead < tokens_.size() ? tokens_[at_ + ahead] : none;
  }
  std::string take() {
    if (at_ == tokens_.size()) throw std::runtime_error("the text ends early");
    return tokens_[at_++];
  }
  bool accept(std::string_view token) {
    if (peek() != token) return false;
    ++at_;
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) throw std::runtime_error(fmt::format("'{}' instead of '{}' after '{}'", peek(), token, at_ ? tokens_[at_ - 1] : ""));
  }
  int number() { return std::stoi(take()); }
  std::string comment() { return peek().starts_with("//") ? take().substr(3) : std::string(); }

  static bool dtype_named(const std::string& text, DType& dtype) {
    for (int i = 0; i < kDTypeCount; ++i)
      if (name(static_cast<DType>(i)) == text) return dtype = static_cast<DType>(i), true;
    return false;
  }
  Type type() {
    std::string text = take();
    DType dtype{};
    if (dtype_named(text, dtype)) return dtype;
    if (text.ends_with("_divisor") && dtype_named(text.substr(0, text.size() - sizeof("divisor")), dtype)) return {dtype, 1, true};
    const std::size_t x = text.rfind('x');
    if (x == std::string::npos || !dtype_named(text.substr(0, x), dtype)) throw std::runtime_error("no type: " + text);
    return {dtype, std::stoi(text.substr(x + 1))};
  }
  Type declared(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto found = scope->find(name); found != scope->end()) return found->second;
    throw std::runtime_error("not declared: " + name);
  }
  void declare(const std::string& name, Type what) { scopes_.back().insert_or_assign(name, what); }
  template <std::size_t N> static int place(const char* const (&names)[N], const std::string& name) {
    for (std::size_t i = 0; i < N; ++i)
      if (names[i] == name) return static_cast<int>(i);
    throw std::runtime_error("unknown: " + name);
  }

  // ---- expressions

  E expression(int min_precedence = 0) {
    E left = unary();
    while (true) {
      static const std::map<std::string, int> levels = {{"?", 1}, {"||", 2}, {"&&", 3}, {"^", 5}, {"&", 6},  {"==", 7}, {"<", 8}, {"<=", 8},
                                                        {">", 8}, {">=", 8}, {"+", 9},  {"-", 9}, {"*", 10}, {"/", 10}, {"%", 10}};
      const auto found = levels.find(peek());
      if (found == levels.end() || found->second < min_precedence) return left;
      const std::string symbol = take();
      if (symbol == "?") {
        const E yes = expression(2);
        expect(":");
        left = select(left, yes, expression(1));
        continue;
      }
      const E right = expression(found->second + 1);
      left = symbol == "||"   ? left || right
             : symbol == "&&" ? left && right
             : symbol == "^"  ? left ^ right
             : symbol == "&"  ? left & right
             : symbol == "==" ? left == right
             : symbol == "<"  ? left < right
             : symbol == "<=" ? left <= right
             : symbol == ">"  ? left > right
             : symbol == ">=" ? left >= right
             : symbol == "+"  ? left + right
             : symbol == "-"  ? left - right
             : symbol == "*"  ? left * right
             : symbol == "/"  ? left / right
                              : left % right;
    }
  }
  E unary() {
    if (accept("!")) return !unary();
    if (accept("-")) return jit::loop::literal(-std::stoll(take()), DType::int32);
    E e = primary();
    while (accept(".")) {
      const std::string what = take();
      if (what == "at") {
        expect("[");
        e = lane_of(e, expression());
        expect("]");
      } else {
        Expr vector = *e;
        if (vector.kind == Kind::element) vector.kind = Kind::vector;
        vector.type.width = std::stoi(what.substr(1));
        e = vector;
      }
    }
    return e;
  }
  E primary() {
    if (accept("(")) {
      const E e = expression();
      expect(")");
      return e;
    }
    const std::string word = take();
    if (std::isdigit(static_cast<unsigned char>(word[0]))) return jit::loop::literal(std::stoll(word), DType::int32);
    if (word == "outer_begin" || word == "outer_end" || word == "inner_begin" || word == "inner_end") return jit::loop::bound(word.c_str());
    if (word == "thread_x" || word == "thread_y" || word == "block" || word == "blocks") return Expr{.kind = Kind::own, .type = DType::uint32, .name = word};
    if (peek() == "(") return call(word);
    if (peek() != "[") return jit::loop::variable(word, declared(word));
    Expr e{.kind = Kind::element, .type = declared(word), .name = word};
    while (accept("[")) {
      e.args.push_back(expression());
      e.type.width = std::max(e.type.width, e.args.back()->type.width);
      if (accept("by")) e.kind = Kind::strided, e.args.push_back(expression());
      if (accept("when")) {
        e.guard = expression(2);
        expect("else");
        e.fill = literal_as(expression(2), e.type.dtype);
      }
      expect("]");
    }
    return e;
  }
  E call(const std::string& function) {
    expect("(");
    DType dtype{};
    if (function == "transposed" || function == "apart" || function == "together") {
      const std::string square = take();
      expect(")");
      return Expr{.kind = function == "apart"      ? Kind::apart
                          : function == "together" ? Kind::together
                                                   : Kind::transposed,
                  .type = declared(square),
                  .name = square};
    }
    if (function == "iota") {
      const Type of = type();
      expect(")");
      return make(Kind::iota, of, {});
    }
    if (function == "lanes_below") {
      const int lanes = number();
      expect(",");
      const E count = expression();
      expect(")");
      return make(Kind::lanes_below, {DType::bool_, lanes}, {count});
    }
    if (function == "trees") {
      const trace::Op op = op_named(take());
      expect(",");
      const std::string square = take();
      expect(")");
      return Expr{.kind = Kind::trees, .type = declared(square), .name = square, .op = op};
    }
    if (function == "neutral" || function == "rounded" || function == "remote" || function == "tree" || function == "prefix") {
      const std::string first = take();
      expect(",");
      E e;
      if (function == "neutral") e = jit::loop::neutral(op_named(first), type().dtype);
      else if (function == "tree" || function == "prefix") {
        const E vector = expression();
        const bool tree = function == "tree";
        const int left = !tree ? vector->type.width : accept(",") ? number() : 1;
        e = Expr{.kind = tree ? Kind::tree : Kind::prefix, .type = {vector->type.dtype, left}, .op = op_named(first), .args = {vector}};
      } else if (function == "remote") e = Expr{.kind = Kind::remote, .type = declared(first), .name = first, .args = {expression()}};
      else dtype_named(first, dtype), e = Expr{.kind = Kind::rounded, .type = DType::float32, .dtype = dtype, .args = {expression()}};
      expect(")");
      return e;
    }
    std::vector<E> args{expression()};
    while (accept(",")) args.push_back(expression());
    expect(")");
    static const std::map<std::string, Kind> kinds = {{"multiply_add", Kind::multiply_add}, {"quotient", Kind::quotient},     {"shuffle", Kind::shuffle},
                                                      {"shuffle_xor", Kind::shuffle_xor},   {"shuffle_up", Kind::shuffle_up}, {"some", Kind::some}};
    if (function == "any") return make(Kind::any, DType::bool_, args);
    if (const auto found = kinds.find(function); found != kinds.end()) return make(found->second, args[0]->type, args);
    if (function == "divisor") return make(Kind::divisor, {args[0]->type.dtype, 1, true}, args);
    if (dtype_named(function, dtype)) return make(Kind::cast, {dtype, args[0]->type.width}, args);
    const trace::Op op = op_named(function);
    const DType operand = args[args.back()->kind == Kind::literal ? 0 : args.size() - 1]->type.dtype;
    return jit::loop::primitive(op, trace::primitive(op).result == trace::Result::boolean ? DType::bool_ : operand, args);
  }
  static trace::Op op_named(const std::string& name) {
    for (int i = 0; i < trace::primitive_count(); ++i)
      if (trace::name(static_cast<trace::Op>(i)) == name) return static_cast<trace::Op>(i);
    throw std::runtime_error("no function: " + name);
  }

  // ---- statements

  std::vector<Stmt> body(const Stmt* loop = nullptr) {
    scopes_.emplace_back();
    if (loop) declare(loop->name, loop->type);
    std::vector<Stmt> all;
    while (!accept("}")) {
      all.push_back(statement());
      if (const std::string note = comment(); !note.empty()) all.back().note = note;
    }
    scopes_.pop_back();
    return all;
  }
  Stmt statement() {
    Stmt s;
    if (accept("{")) return s.kind = Stmt::Kind::branch, s.body = body(), s;
    if (accept("for")) return loop();
    if (accept("barrier")) {
      s.kind = Stmt::Kind::barrier;
      s.scope = static_cast<jit::loop::Scope>(place({"warp", "block", "cluster_arrive", "cluster_wait"}, take()));
      return expect(";"), s;
    }
    if (const std::string word = peek(); word == "let" || word == "var" || word == "registers" || word == "shared" || word == "dynamic") return declaration();
    if (accept("if")) {
      expect("(");
      s.guard = expression();
      expect(")");
      if (accept("{")) {
        s.kind = Stmt::Kind::branch;
        s.body = body();
        if (accept("else")) expect("{"), s.otherwise = body();
        return s;
      }
      if (accept("check")) {
        s.kind = Stmt::Kind::check;
        s.number = number();
        expect("=");
        s.value = expression();
        return expect(";"), s;
      }
    }
    if (peek() == "continue" || peek() == "break") {
      s.kind = take() == "continue" ? Stmt::Kind::next : Stmt::Kind::last;
      return expect(";"), s;
    }
    s.kind = Stmt::Kind::store;
    s.target = unary();
    expect("=");
    s.value = literal_as(expression(), s.target->type.dtype);
    if (accept("streamed")) s.stream = expression();
    return expect(";"), s;
  }
  Stmt declaration() {
    Stmt s;
    const std::string word = take();
    s.kind = static_cast<Stmt::Kind>(place({"let", "var", "registers", "shared", "dynamic"}, word));
    s.aligned = accept("aligned");
    s.type = type();
    s.name = take();
    while (accept("[")) {
      if (word == "dynamic") s.extent = expression();
      else s.extents.push_back(number());
      expect("]");
    }
    if (accept("by")) s.number = number();
    if (accept("=")) s.value = literal_as(expression(), s.type.dtype);
    declare(s.name, s.type);
    return expect(";"), s;
  }
  Stmt loop() {
    Stmt s;
    s.kind = Stmt::Kind::loop;
    s.binding = static_cast<jit::loop::Binding>(place({"serial", "unrolled", "lanes", "threads", "grid"}, take()));
    expect("(");
    s.type = type();
    s.name = take();
    expect("=");
    s.first = literal_as(expression(), s.type.dtype);
    expect(";");
    expect(s.name);
    if (accept(">")) expect("0");
    else expect("<"), s.end = literal_as(expression(9), s.type.dtype);
    expect(";");
    expect(s.name);
    if (accept("<<=")) s.change = jit::loop::Change::twice, expect("1");
    else if (accept(">>=")) s.change = jit::loop::Change::half, expect("1");
    else expect("+="), s.step = literal_as(expression(), s.type.dtype);
    expect(")");
    expect("{");
    s.body = body(&s);
    return s;
  }

  jit::loop::Kernel kernel() {
    jit::loop::Kernel k;
    while (peek().starts_with("//")) k.notes.push_back(comment());
    expect("kernel");
    k.name = take();
    expect(":");
    if (accept("vectors")) k.threads = 0;
    else {
      k.threads = number();
      expect("threads");
      expect(",");
      k.across = number();
      expect("across");
    }
    while (accept(",")) {
      if (accept("clusters")) expect("of"), k.cluster = number();
      else k.residents = number(), expect("resident");
    }
    while (!accept("{")) {
      jit::loop::Parameter p;
      p.kind = static_cast<jit::loop::Parameter::Kind>(place({"input", "output", "number", "literal"}, take()));
      p.dtype = type().dtype;
      p.name = take();
      declare(p.name, p.dtype);
      k.parameters.push_back(p);
    }
    k.body = body();
    return k;
  }

  std::vector<std::string> tokens_;
  std::size_t at_ = 0;
  std::vector<std::map<std::string, Type>> scopes_;
};

/// Returns whether two expressions, lists of statements or kernels are the same in every member.
inline bool same(const jit::loop::E& a, const jit::loop::E& b) {
  if (a.empty() || b.empty()) return a.empty() == b.empty();
  if (a->kind != b->kind || !(a->type == b->type) || a->name != b->name || a->number != b->number || a->op != b->op || a->dtype != b->dtype) return false;
  if (a->args.size() != b->args.size() || !same(a->guard, b->guard) || !same(a->fill, b->fill)) return false;
  for (std::size_t i = 0; i < a->args.size(); ++i)
    if (!same(a->args[i], b->args[i])) return false;
  return true;
}
inline bool same(const std::vector<jit::loop::Stmt>& a, const std::vector<jit::loop::Stmt>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto &s = a[i], &t = b[i];
    if (s.kind != t.kind || !(s.type == t.type) || s.name != t.name || s.extents != t.extents || s.aligned != t.aligned || s.number != t.number) return false;
    if (s.binding != t.binding || s.change != t.change || s.scope != t.scope || s.note != t.note) return false;
    for (const auto member : {&jit::loop::Stmt::value, &jit::loop::Stmt::target, &jit::loop::Stmt::guard, &jit::loop::Stmt::extent, &jit::loop::Stmt::first,
                              &jit::loop::Stmt::end, &jit::loop::Stmt::step, &jit::loop::Stmt::stream})
      if (!same(s.*member, t.*member)) return false;
    if (!same(s.body, t.body) || !same(s.otherwise, t.otherwise)) return false;
  }
  return true;
}
inline bool same(const jit::loop::Kernel& a, const jit::loop::Kernel& b) {
  if (a.name != b.name || a.notes != b.notes || a.threads != b.threads || a.across != b.across || a.residents != b.residents || a.cluster != b.cluster)
    return false;
  if (a.parameters.size() != b.parameters.size()) return false;
  for (std::size_t i = 0; i < a.parameters.size(); ++i)
    if (a.parameters[i].name != b.parameters[i].name || a.parameters[i].dtype != b.parameters[i].dtype || a.parameters[i].kind != b.parameters[i].kind)
      return false;
  return same(a.body, b.body);
}

}  // namespace sinter::test
