// The parser of expressions: recursive descent, which records each operator and call when it is parsed.
#pragma once
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "expression.hpp"
#include "lexer.hpp"
#include "sinter/caller.hpp"
#include "sinter/ops.hpp"
#include "table/functions.hpp"
#include "words.hpp"

namespace sinter::tools {

using namespace table;

class Parser {
 public:
  Parser(std::string_view text, const Bindings& bindings) : text_(text), bindings_(bindings), tokens_(tokenize(text)) {}
  Evaluated run();

 private:
  /// The target of an assignment: a name, or a part of its value: name[1:3].
  struct Target {
    Token name;
    std::optional<std::vector<Index>> part;
  };
  /// One item between brackets: a value, or the bounds of start:stop:step, with None for an omitted bound.
  struct Subscript {
    std::vector<Value> ends;
    bool range = false;
  };

  // ---- expression.cpp: tokens and errors
  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token& next() { return tokens_[std::min(at_++, tokens_.size() - 1)]; }
  bool accept(std::string_view symbol) {
    if (!peek().is(symbol)) return false;
    ++at_;
    return true;
  }
  bool at_end() const { return peek().kind == TokenKind::separator || peek().kind == TokenKind::end; }
  void expect(std::string_view symbol, const Token& opening);
  [[noreturn]] void unexpected(const Token& token) const;
  /// Throws for a * before a name or an argument, which would unpack a list in Python.
  void refuse_unpacking() const;
  /// Deeply nested input must end in an error, not in an overflow of the stack.
  struct Depth {
    explicit Depth(Parser& of) : parser(of) {
      if (++parser.depth_ > 400) throw Fault{parser.peek().offset, "nested too deeply; name a part of it first"};
    }
    ~Depth() { --parser.depth_; }
    Parser& parser;
  };
  /// Calls `record`. An error points at `offset`, and its message names the function as the expression does.
  template <class Record> auto recorded(std::size_t offset, Record record, std::string_view function = {}) {
    const char* const part = part_read();
    const Caller here("", {part, 0});
    const auto say = [&](const Error& error) { return shown_at(offset, without_place(error.what(), part), function); };
    try {
      return record();
    } catch (const ShapeError& error) {
      throw ShapeError(say(error));
    } catch (const DTypeError& error) {
      throw DTypeError(say(error));
    } catch (const AxisError& error) {
      throw AxisError(say(error));
    } catch (const IndexError& error) {
      throw IndexError(say(error));
    } catch (const ValueError& error) {
      throw ValueError(say(error));
    }
  }
  /// Returns the part of the expression that was read since `begin_`, which explain() shows as the source line. The text is never freed.
  const char* part_read() const;
  /// Removes the place from a message, because a caret shows it.
  static std::string without_place(std::string message, const std::string& part);
  std::string shown_at(std::size_t offset, std::string message, std::string_view function) const;

  // ---- statements.cpp: assignments and the results of the last statement
  /// Parses one statement. Returns true if it assigns.
  bool statement(Value& value);
  /// Reads the targets of the `=` at token `end`.
  std::vector<Target> targets(std::size_t end, bool& several);
  /// Unpacks the value for several targets. Throws if the number of items differs.
  Tuple taken_apart(const Value& value, const std::vector<Target>& list) const;
  /// `update`: the operator of `name += by`, null for `=`; `offset`: its place in the text. Returns the new value of the name.
  Value assign(const Target& target, const Value& by, const Operator* update, std::size_t offset);
  Value with_part(const Value& whole, const std::vector<Index>& part, const Value& by, const Operator* update, std::size_t offset);
  Evaluated results(const Value& last) const;

  // ---- operators.cpp: tuples without parentheses, and operators by binding strength
  Value expressions();
  /// Reads one expression of a tuple and notes its text.
  Value item(std::vector<std::string>& written);
  Value tuple(Tuple items, std::size_t offset, std::vector<std::string> written);
  Value binary(int loosest = kLoosest);
  Value apply(const Operator& row, std::size_t offset, const Value& left, const Value& right);
  Value unary();
  /// ** is right associative, and its exponent may have a sign.
  Value power_of();

  // ---- operands.cpp: literals, lists, names, calls and attributes
  Value postfix();
  Value primary();
  Value list_until(std::string_view close, const Token& opening);
  Value named(Token name);
  /// Returns the value of an assigned or given name, and marks the name as used; null for an unknown name.
  const Value* variable(std::string_view name);
  [[noreturn]] void unknown(const Token& name, bool qualified) const;
  std::vector<Argument> arguments(std::vector<Argument> list = {});
  Value call_of(const Function& function, const Token& name, std::vector<Argument> first = {});
  /// float32(x) converts, as in NumPy.
  Value converted(const Value& type);
  Value attribute(const Value& value);

  // ---- indexing.cpp: brackets after a value, and NumPy's ranges in brackets
  std::vector<Subscript> subscripts(const Token& opening);
  std::vector<Index> indexes(const Token& opening);
  Value indexed(const Value& value);
  /// Parses np.s_[1:3, ::2] and np.index_exp[…], whose value is the index.
  Value as_index(const Token& name);
  /// Parses np.mgrid[0:3, 0:4], np.ogrid[…], np.r_[1, 2, x] and np.c_[x, y].
  Value grid(const Token& name);

  std::string_view text_;
  const Bindings& bindings_;
  std::vector<Token> tokens_;
  Bindings assigned_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;  // begin of the operand or operation that is recorded next
  int depth_ = 0;
  std::size_t written_at_ = 0;        // place of the last tuple that this statement wrote out
  std::vector<std::string> written_;  // the texts of its items
  std::set<std::string_view> used_;
};

}  // namespace sinter::tools
