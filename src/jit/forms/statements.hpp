// Writes statements of the loop language: a form adds one after the other.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "jit/loop/language.hpp"

namespace sinter::jit::forms {

using loop::Binding, loop::Change, loop::E, loop::Expr, loop::Memory, loop::Stmt, loop::Type;

class Statements {
 protected:
  Stmt& add(Stmt s) { return out_.emplace_back(std::move(s)); }
  E let(std::string name, Type type, const E& value) {
    add({.kind = Stmt::Kind::let, .type = type, .name = name, .value = as(value, type.dtype)});
    return loop::variable(std::move(name), type);
  }
  E var(std::string name, Type type, const E& value = {}) {
    add({.kind = Stmt::Kind::var, .type = type, .name = name, .value = as(value, type.dtype)});
    return loop::variable(std::move(name), type);
  }
  Memory registers(std::string name, Type type, int count, E first = {}) {
    add({.kind = Stmt::Kind::registers, .type = type, .name = name, .value = std::move(first), .extents = {count}});
    return {std::move(name), type};
  }
  void store(const E& target, const E& value, const E& guard = {}) {
    add({.kind = Stmt::Kind::store, .value = as(value, target->type.dtype), .target = target, .guard = guard});
  }
  /// Returns the statements that `inside` adds.
  template <class Inside> std::vector<Stmt> collected(Inside inside) {
    std::vector<Stmt> before = std::exchange(out_, {});
    inside();
    return std::exchange(out_, std::move(before));
  }
  /// Calls `inside`, whose statements become the body of this statement.
  template <class Inside> void within(Stmt s, Inside inside) {
    s.body = collected(inside);
    add(std::move(s));
  }
  template <class Inside> void each(Binding binding, DType dtype, const std::string& name, const E& first, const E& end, const E& step, Inside inside) {
    within(
        {.kind = Stmt::Kind::loop, .type = dtype, .name = name, .binding = binding, .first = as(first, dtype), .end = as(end, dtype), .step = as(step, dtype)},
        [&] { inside(loop::variable(name, dtype)); });
  }
  static E as(const E& e, DType dtype) { return loop::literal_as(e, dtype); }
  static E combined(Op op, DType dtype, const E& a, const E& b) { return loop::primitive(trace::primitive(op).combine, dtype, {a, b}); }

  std::vector<Stmt> out_;
};

}  // namespace sinter::jit::forms
