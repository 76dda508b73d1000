#include "expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "functions.hpp"
#include "lexer.hpp"
#include "scalars.hpp"
#include "sinter/complex.hpp"
#include "sinter/linalg.hpp"
#include "sinter/ops.hpp"
#include "sinter/types.hpp"
#include "words.hpp"

namespace sinter::tools {
namespace {

/// Part of the expression on one line, shortened, without the comment that may follow it: what a result is called.
std::string label_of(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string label;
  for (const char c : text.substr(0, text.find('#'))) {
    const bool space = c == ' ' || c == '\t' || c == '\r' || c == '\n';
    if (!space) label += c;
    else if (!label.empty() && label.back() != ' ') label += ' ';
  }
  while (label.ends_with(' ')) label.pop_back();
  if (label.size() <= kMost) return label;
  label.resize(kMost);
  while (!label.empty() && (static_cast<unsigned char>(label.back()) & 0xc0) == 0x80) label.pop_back();  // a character cut in two
  return label + "…";
}

class Parser {
 public:
  Parser(std::string_view text, const Bindings& bindings) : text_(text), bindings_(bindings), tokens_(tokenize(text)) {}

  Evaluated run() {
    std::optional<Value> last;
    std::size_t offset = 0;
    for (skip_separators(); peek().kind != TokenKind::end; skip_separators()) {
      offset = peek().offset;
      last = statement();
    }
    if (!last) throw Fault{offset, offset == 0 && definitions_.empty() ? "the expression is empty" : "the last statement gives no result"};
    Evaluated evaluated;
    if (const auto* tuple = last->as<Tuple>()) {
      if (tuple->empty()) throw Fault{last->offset, "the result is an empty tuple"};
      const bool written_here = written_at_ == last->offset && written_.size() == tuple->size();
      for (std::size_t k = 0; k < tuple->size(); ++k) {
        evaluated.results.push_back(result_of((*tuple)[k]));
        evaluated.labels.push_back(written_here ? written_[k] : fmt::format("result {}", k + 1));
      }
    } else {
      evaluated.results.push_back(result_of(*last));
      evaluated.labels.push_back("result");
    }
    for (const auto& [name, value] : bindings_)
      if (!used_.contains(name)) evaluated.unused.push_back(name);
    return evaluated;
  }

 private:
  static Tensor result_of(const Value& value) {
    if (const auto* tensor = value.as<Tensor>()) return *tensor;
    if (value.is_number()) return full({}, operand(value, ""));
    if (const auto* tuple = value.as<Tuple>(); tuple && !tuple->empty() && std::all_of(tuple->begin(), tuple->end(), [](const Value& item) { return item.is_number(); }))
      return array_of(value, "array");  // x, x.shape
    throw Fault{value.offset, value.as<Tuple>() ? "a result is a tuple within a tuple; write the results one after another"
                                                : fmt::format("the result is {}, not a tensor or a number", kind_name(value))};
  }

  /// A function of the text. Its body stays text, which every call reads.
  struct Parameter {
    std::string_view name;
    std::optional<Value> otherwise;
  };
  struct Definition {
    Token name;
    std::vector<Parameter> parameters;
    std::size_t begin = 0;  // its body
    bool active = false;  // being called
  };

  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token& next() { return tokens_[std::min(at_++, tokens_.size() - 1)]; }
  bool accept(std::string_view symbol) {
    if (!peek().is(symbol)) return false;
    ++at_;
    return true;
  }
  void skip_separators() {
    while (peek().kind == TokenKind::separator) ++at_;
  }
  void end_statement() const {
    if (peek().kind != TokenKind::separator && peek().kind != TokenKind::end) unexpected(peek());
  }
  void expect(std::string_view symbol, const Token& opening) {
    if (accept(symbol)) return;
    if (peek().kind == TokenKind::end || peek().kind == TokenKind::separator)
      throw Fault{opening.offset, fmt::format("'{}' is never closed", opening.text)};
    unexpected(peek());
  }

  [[noreturn]] void unexpected(const Token& token) const {
    if (token.kind == TokenKind::end || token.kind == TokenKind::separator)
      throw Fault{token.offset, "an operand is missing here"};
    if (token.kind == TokenKind::name)
      if (const std::string_view advice = advice_on_word(token.text); !advice.empty())
        throw Fault{token.offset, std::string(advice)};
    if (token.is("=")) throw Fault{token.offset, "only a plain name can be assigned to; a comparison is written =="};
    if (token.is("&&") || token.is("||") || token.is("!"))
      throw Fault{token.offset, fmt::format("'{}' is written '{}' here", token.text,
                                            token.is("!") ? "~" : token.text.substr(0, 1))};
    if (find_update(token)) throw Fault{token.offset, fmt::format("'{}' stands after a plain name or a part of it", token.text)};
    throw Fault{token.offset, fmt::format("unexpected {}'{}'", token.kind == TokenKind::string ? "string " : "", token.text)};
  }

  /// Deeply nested input must end in an error, not in an overflow of the stack.
  struct Depth {
    explicit Depth(Parser& of) : parser(of) {
      if (++parser.depth_ > 400) throw Fault{parser.peek().offset, "nested too deeply; name a part of it first"};
    }
    ~Depth() { --parser.depth_; }
    Parser& parser;
  };

  /// Within a handler: the error again, its type kept, with what `say` makes of its text.
  template <class Say> [[noreturn]] static void rethrow(Say say) {
    try {
      throw;
    } catch (const ShapeError& error) {
      throw ShapeError(say(error.what()));
    } catch (const DTypeError& error) {
      throw DTypeError(say(error.what()));
    } catch (const AxisError& error) {
      throw AxisError(say(error.what()));
    } catch (const ValueError& error) {
      throw ValueError(say(error.what()));
    }
  }

  /// Records; what sinter finds wrong is shown at `offset`, and of a function by the name that was written here.
  template <class Record> auto recorded(std::size_t offset, Record record, std::string_view function = {}) {
    try {
      return record();
    } catch (const Error&) {
      rethrow([&](std::string message) {
        for (std::size_t at = 0; (at = message.find("DType::", at)) != std::string::npos;) message.erase(at, 7);  // Python's spelling
        const std::size_t end = message.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_");
        if (!function.empty() && end != std::string::npos && (message[end] == ':' || message.compare(end, 2, " (") == 0)) message.replace(0, end, function);
        return point_at(text_, offset, message);
      });
    }
  }

  enum class Form : std::uint8_t { definition, import, part, update, assignment, expression };
  Form form() const {
    if (peek().kind != TokenKind::name) return Form::expression;
    if (is_word("def")) return Form::definition;
    if (is_word("import")) return Form::import;
    if (peek(1).is("[") && part_is_assigned()) return Form::part;
    if (find_update(peek(1))) return Form::update;
    return targets() > 0 ? Form::assignment : Form::expression;
  }

  /// Nothing: a definition, an import.
  std::optional<Value> statement() {
    written_.clear();
    std::optional<Value> value;
    switch (form()) {
      case Form::definition: define(); break;
      case Form::import: import_numpy(); break;
      case Form::part: value = assign_part(); break;
      case Form::update: value = update(); break;
      case Form::assignment: value = assignment(); break;
      case Form::expression: value = expressions(); break;
    }
    end_statement();
    return value;
  }

  bool is_word(std::string_view word) const { return peek().kind == TokenKind::name && peek().text == word; }

  Value assignment() {
    const std::size_t count = targets();
    const bool one = count == 1 && peek(1).is("=");
    std::vector<Token> names;
    while (names.size() < count) {
      names.push_back(next());
      check_assignable(names.back());
      accept(",");
    }
    next();  // =
    Value value = expressions();
    if (one) {
      if (written_at_ == value.offset) written_at_ = names[0].offset;
      value.offset = names[0].offset;
      assign(names[0], value);
      return value;
    }
    const auto* tuple = value.as<Tuple>();
    if (!tuple || tuple->size() != count)
      throw Fault{names[0].offset, fmt::format("{} name{} given {}", count, count == 1 ? " is" : "s are",
                                               !tuple ? std::string(kind_name(value)) : fmt::format("a tuple of {}", tuple->size()))};
    written_.clear();
    written_at_ = value.offset;
    for (std::size_t k = 0; k < count; ++k) {
      assign(names[k], (*tuple)[k]);
      written_.emplace_back(names[k].text);
    }
    return value;
  }

  void assign(const Token& name, Value value) {
    if (scopes_.size() == 1) definitions_.erase(std::string(name.text));
    scopes_.back().insert_or_assign(std::string(name.text), std::move(value));
  }

  /// name += expression
  Value update() {
    const Token name = next();
    check_assignable(name);
    const Value* before = variable(name.text);
    if (!before) unknown(name, /*variables=*/true);
    const Token symbol = next();
    Value value = updated(*find_update(symbol), symbol.offset, *before, expressions());
    assign(name, value);
    return value;
  }

  Value updated(const Operator& row, std::size_t offset, const Value& before, const Value& by) {
    const auto* tensor = before.as<Tensor>();
    if (!tensor || !row.update) return apply(row, offset, before, by);
    const Value other = beside_tensor(by);
    const Arg operand = tools::operand(other, row.symbol);
    Tensor after = *tensor;
    recorded(offset, [&] { return (after.*row.update)(operand); });
    return {after, offset};
  }

  bool part_is_assigned() const {
    int open = 0;
    for (std::size_t k = 1;; ++k) {
      const Token& token = peek(k);
      if (token.kind == TokenKind::end || token.kind == TokenKind::separator) return false;
      open += token.is("[") || token.is("(") ? 1 : token.is("]") || token.is(")") ? -1 : 0;
      if (open == 0) return peek(k + 1).is("=") || find_update(peek(k + 1));
    }
  }

  /// name[1:3] = expression, name[mask] += expression: the name stands for a tensor in which that part is another.
  Value assign_part() {
    const Token name = next();
    check_assignable(name);
    const Value* before = variable(name.text);
    if (!before) unknown(name, /*variables=*/true);
    const Token opening = next();
    const auto* tensor = before->as<Tensor>();
    if (!tensor) throw Fault{opening.offset, fmt::format("a part of {} cannot be assigned to", kind_name(*before))};
    Tensor whole = *tensor;
    const std::vector<Index> index = indexes(opening);
    const Token symbol = next();
    const Operator* row = find_update(symbol);
    const Value value = beside_tensor(expressions());
    const Arg by = operand(value, symbol.text);
    recorded(symbol.offset, [&] {
      if (!row) whole.at(index, Location{}) = by;
      else if (row->update_part) (whole.at(index, Location{}).*row->update_part)(by);
      else whole.at(index, Location{}) = row->record(std::as_const(whole).at(index, Location{}), by);
    });
    assign(name, {whole, name.offset});
    return {whole, name.offset};
  }

  /// Scripts that begin as Python does.
  void import_numpy() {
    const Token word = next();
    if (!is_word("numpy")) throw Fault{word.offset, std::string(advice_on_word(word.text))};
    next();
    if (is_word("as")) {
      next();
      if (!is_word("np")) throw Fault{peek().offset, "numpy goes by the names numpy and np"};
      next();
    }
  }

  /// What stands before the first token of a line.
  std::string_view indentation(const Token& token) const {
    const std::size_t line = token.offset == 0 ? std::string_view::npos : text_.rfind('\n', token.offset - 1);
    const std::size_t begin = line == std::string_view::npos ? 0 : line + 1;
    const std::string_view before = text_.substr(begin, token.offset - begin);
    return before.substr(0, before.find_first_not_of(" \t"));
  }
  bool begins_line(std::size_t token) const { return token == 0 || tokens_[token - 1].text == "\n"; }

  /// def name(parameters): the body is skipped; a call reads it.
  void define() {
    const Token def = next();
    if (scopes_.size() > 1) throw Fault{def.offset, std::string(advice_on_word("def"))};
    Definition function;
    function.name = next();
    if (function.name.kind != TokenKind::name) unexpected(function.name);
    check_assignable(function.name);
    const Token opening = peek();
    if (!accept("(")) throw Fault{opening.offset, "a function is defined as def name(parameter, other=value): …"};
    while (!peek().is(")")) {
      function.parameters.push_back(parameter(function));
      if (!accept(",")) break;
    }
    expect(")", opening);
    if (!peek().is(":")) throw Fault{peek().offset, "':' is missing here; a function is defined as def name(parameter, other=value): …"};
    next();
    body_of(function, def);
    scopes_.back().erase(std::string(function.name.text));
    definitions_.insert_or_assign(std::string(function.name.text), std::move(function));
  }

  Parameter parameter(const Definition& function) {
    const Token name = next();
    if (name.is("*") || name.is("**") || name.is("/")) throw Fault{name.offset, "parameters are names, and names with a value"};
    if (name.kind != TokenKind::name) unexpected(name);
    check_assignable(name);
    for (const Parameter& other : function.parameters)
      if (other.name == name.text) throw Fault{name.offset, fmt::format("{}() has two parameters '{}'", function.name.text, name.text)};
    if (peek().is(":")) throw Fault{peek().offset, "parameters have no types here"};
    if (accept("=")) return {name.text, expression()};
    if (!function.parameters.empty() && function.parameters.back().otherwise)
      throw Fault{name.offset, fmt::format("'{}' without a value follows a parameter that has one", name.text)};
    return {name.text, std::nullopt};
  }

  /// The lines indented deeper than `def`, or what is left of its own line up to the end of the return.
  void body_of(Definition& function, const Token& def) {
    const bool own_line = peek().kind != TokenKind::separator && peek().kind != TokenKind::end;
    if (!own_line) skip_separators();
    function.begin = at_;
    const std::string_view outside = indentation(def), inside = indentation(peek());
    if (!own_line && (peek().kind == TokenKind::end || inside.size() <= outside.size()))
      throw Fault{def.offset, fmt::format("the body of {}() is missing; indent its lines", function.name.text)};
    bool returns = false;
    for (bool begins = true; peek().kind != TokenKind::end; ++at_) {
      if (!own_line && begins_line(at_) && peek().kind != TokenKind::separator) {
        if (indentation(peek()).size() <= outside.size()) break;
        if (indentation(peek()) != inside) throw Fault{peek().offset, fmt::format("this line is not indented as the others of {}()", function.name.text)};
      }
      if (own_line && peek().kind == TokenKind::separator && (returns || peek().text == "\n")) break;
      if (begins && is_word("def")) throw Fault{peek().offset, std::string(advice_on_word("def"))};
      if (begins && peek().kind != TokenKind::separator && returns) throw Fault{peek().offset, "nothing after return is computed"};
      returns |= begins && is_word("return");
      begins = peek().kind == TokenKind::separator;
    }
    if (!returns) throw Fault{def.offset, fmt::format("{}() returns nothing; end it with return …", function.name.text)};
    if (peek().kind != TokenKind::end && peek().kind != TokenKind::separator) --at_;  // the line's end, which ends the statement
  }

  /// What is recorded where a function is called.
  Value invoke(Definition& function, const Token& name) {
    const std::vector<Argument> given = arguments({});
    if (function.active) throw Fault{name.offset, fmt::format("{}() calls itself; there is no recursion here", name.text)};
    Bindings scope = bound(function, given, name);
    const std::size_t back = std::exchange(at_, function.begin);
    std::optional<Value> result;
    try {
      scopes_.push_back(std::move(scope));
      function.active = true;
      while (!result) {
        skip_separators();
        if (is_word("return")) {
          next();
          result = expressions();
          end_statement();
        } else {
          if (form() == Form::expression && peek().kind != TokenKind::string)
            throw Fault{peek().offset, "this value is not used; a function gives what it returns"};
          statement();
        }
      }
    } catch (const Fault& fault) {
      throw ValueError(called_here(name, point_at(text_, fault.offset, fault.message)));
    } catch (const Error&) {
      rethrow([&](const char* what) { return called_here(name, what); });
    }
    function.active = false;
    scopes_.pop_back();
    at_ = back;
    written_.clear();
    result->offset = name.offset;
    return *std::move(result);
  }

  Bindings bound(const Definition& function, const std::vector<Argument>& given, const Token& call) const {
    Bindings scope;
    const auto& parameters = function.parameters;
    const auto fault = [&](std::size_t offset, std::string_view what) {
      std::string takes;
      for (const Parameter& parameter : parameters)
        takes += fmt::format("{}{}{}", takes.empty() ? "" : ", ", parameter.name, parameter.otherwise ? "=…" : "");
      return Fault{offset, fmt::format("{}() {}; it takes {}", call.text, what, takes.empty() ? "nothing" : takes)};
    };
    for (std::size_t k = 0; k < given.size(); ++k) {
      const Argument& argument = given[k];
      std::size_t at = k;
      if (!argument.keyword.empty())
        for (at = 0; at < parameters.size() && parameters[at].name != argument.keyword;) ++at;
      if (at == parameters.size())
        throw fault(argument.value.offset, argument.keyword.empty() ? "is given too many arguments" : fmt::format("has no parameter '{}'", argument.keyword));
      if (!scope.emplace(parameters[at].name, argument.value).second)
        throw fault(argument.value.offset, fmt::format("is given '{}' twice", parameters[at].name));
    }
    for (const Parameter& parameter : parameters) {
      if (scope.contains(parameter.name)) continue;
      if (!parameter.otherwise) throw fault(call.offset, fmt::format("needs '{}'", parameter.name));
      scope.emplace(parameter.name, *parameter.otherwise);
    }
    return scope;
  }

  std::string called_here(const Token& name, std::string_view what) const {
    return fmt::format("{}\n{}", what, point_at(text_, name.offset, fmt::format("{}() is called here", name.text)));
  }

  /// How many names stand before an assignment's =, the last of them with or without a comma; 0 where the statement is none.
  std::size_t targets() const {
    for (std::size_t count = 1, at = 0;; ++count) {
      if (peek(at).kind != TokenKind::name) return 0;
      if (peek(at + 1).is("=")) return count;
      if (!peek(at + 1).is(",")) return 0;
      at += 2;
      if (peek(at).is("=")) return count;
    }
  }

  void check_assignable(const Token& name) const {
    if (const std::string_view advice = advice_on_word(name.text); !advice.empty()) throw Fault{name.offset, std::string(advice)};
    for (const Constant& constant : constants())
      if (constant.name == name.text && name.text != "e")
        throw Fault{name.offset, fmt::format("'{}' has a meaning of its own and cannot be assigned to", name.text)};
  }

  /// One expression, or several with commas between them: a tuple.
  Value expressions() {
    const std::size_t offset = peek().offset;
    std::vector<std::string> written;
    Value first = item(written);
    if (!peek().is(",")) return first;
    Tuple items{std::move(first)};
    while (accept(",")) {
      if (peek().kind == TokenKind::separator || peek().kind == TokenKind::end) break;
      items.push_back(item(written));
    }
    return tuple(std::move(items), offset, std::move(written));
  }

  /// An expression of a tuple, and how it is written.
  Value item(std::vector<std::string>& written) {
    const std::size_t begin = peek().offset;
    Value value = expression();
    written.push_back(label_of(text_.substr(begin, peek().offset - begin)));
    return value;
  }

  Value tuple(Tuple items, std::size_t offset, std::vector<std::string> written) {
    written_at_ = offset;
    written_ = std::move(written);
    return {std::move(items), offset};
  }

  Value expression() { return binary(kLoosest); }

  Value binary(int loosest) {
    Value left = unary();
    while (const Operator* row = find_operator(peek())) {
      if (row->strength < loosest) break;
      const Token symbol = next();
      const Value right = binary(row->strength + 1);
      left = apply(*row, symbol.offset, left, right);
      if (row->strength == kComparison && find_operator(peek()) && find_operator(peek())->strength == kComparison)
        throw Fault{peek().offset, "comparisons cannot be chained; write (a < b) & (b < c)"};
    }
    return left;
  }

  Value apply(const Operator& row, std::size_t offset, const Value& left, const Value& right) {
    if (left.is_number() && right.is_number()) return scalar_binary(row.symbol, left, right, offset);
    if (left.as<DType>() && right.as<DType>() && row.strength == kComparison && (row.symbol == "==" || row.symbol == "!="))
      return {(*left.as<DType>() == *right.as<DType>()) == (row.symbol == "=="), offset};
    if (!left.as<Tensor>() && !right.as<Tensor>()) return {joined(row.symbol, left, right, offset), offset};
    const Value a = beside_tensor(left), b = beside_tensor(right);
    const Arg x = operand(a, row.symbol), y = operand(b, row.symbol);
    return {recorded(offset, [&] { return row.record(x, y); }), offset};
  }

  /// What an operator or an assignment reads beside a tensor: a list is an array there.
  static Value beside_tensor(const Value& value) { return value.as<Tuple>() ? Value{array_of(value, "array"), value.offset} : value; }

  /// Python's + and * of tuples and lists: x.shape + (1,), (2,) * 3.
  static Tuple joined(std::string_view symbol, const Value& left, const Value& right, std::size_t offset) {
    const Tuple *a = left.as<Tuple>(), *b = right.as<Tuple>();
    if (symbol == "+" && a && b && a->is_list == b->is_list) {
      Tuple both = *a;
      both.insert(both.end(), b->begin(), b->end());
      return both;
    }
    const auto* count = (a ? right : left).as<std::int64_t>();
    if (symbol == "*" && (a || b) && count) {
      constexpr std::size_t kMost = 1 << 20;
      const Tuple& items = a ? *a : *b;
      if (*count > 0 && items.size() * static_cast<std::uint64_t>(*count) > kMost) throw Fault{offset, "the repeated list is too long; repeat() and tile() work on tensors"};
      Tuple many;
      many.is_list = items.is_list;
      for (std::int64_t k = 0; k < *count; ++k) many.insert(many.end(), items.begin(), items.end());
      return many;
    }
    const Value& other = a || !b ? left : right;
    throw Fault{offset, fmt::format("{} takes tensors and numbers, not {}; array(…) makes a tensor", symbol, kind_name(other))};
  }

  Value unary() {
    const Depth depth(*this);
    const Token token = peek();
    if (!token.is("-") && !token.is("+") && !token.is("~")) return power_of();
    next();
    const Value x = unary();
    if (x.is_number()) return scalar_unary(token.text, x, token.offset);
    const Arg argument = operand(x, token.text);
    return {recorded(token.offset, [&] { return token.is("-") ? negative(argument) : token.is("+") ? positive(argument) : bitwise_not(argument); }),
            token.offset};
  }

  /// ** is right associative, and its exponent may have a sign.
  Value power_of() {
    Value base = postfix();
    if (!peek().is("**")) return base;
    const Token symbol = next();
    const Value exponent = unary();
    return apply(kPower, symbol.offset, base, exponent);
  }

  Value postfix() {
    Value value = primary();
    while (true) {
      if (peek().is(".")) value = attribute(std::move(value));
      else if (peek().is("[")) value = indexed(value);
      else if (peek().is("(")) value = called(value);
      else return value;
    }
  }

  Value primary() {
    const Token token = next();
    switch (token.kind) {
      case TokenKind::integer: return {token.integer, token.offset};
      case TokenKind::floating: return {token.floating, token.offset};
      case TokenKind::string: return {std::string(token.text), token.offset};
      case TokenKind::name: return named(token);
      default: break;
    }
    if (token.is("...")) return {Ellipsis{}, token.offset};
    if (token.is("(")) return parenthesized(token);
    if (token.is("[")) return list(token);
    unexpected(token);
  }

  Value parenthesized(const Token& opening) {
    if (accept(")")) return {Tuple{}, opening.offset};
    std::vector<std::string> written;
    Value first = item(written);
    if (!peek().is(",")) {
      expect(")", opening);
      return first;
    }
    Tuple items{std::move(first)};
    while (accept(",")) {
      if (peek().is(")")) break;
      items.push_back(item(written));
    }
    expect(")", opening);
    return tuple(std::move(items), opening.offset, std::move(written));
  }

  /// A list is a tuple here: both stand for shapes and axes.
  Value list(const Token& opening) {
    Tuple items;
    std::vector<std::string> written;
    while (!peek().is("]")) {
      items.push_back(item(written));
      if (!accept(",")) break;
    }
    expect("]", opening);
    items.is_list = true;
    return tuple(std::move(items), opening.offset, std::move(written));
  }

  Value named(const Token& token) {
    if ((token.text == "np" || token.text == "numpy") && peek().is(".") && !variable(token.text)) {
      const auto member = [&] {
        next();
        const Token name = next();
        if (name.kind != TokenKind::name) unexpected(name);
        return name;
      };
      Token name = member();
      while (peek().is(".") && (name.text == "linalg" || name.text == "random" || name.text == "fft" || name.text == "lib" || name.text == "stride_tricks"))
        name = member();
      return meaning(name, /*variables=*/false);
    }
    return meaning(token, /*variables=*/true);
  }

  /// Of the function that is called, of the script, or given outside, which then counts as used; null for an unknown name.
  const Value* variable(std::string_view name) {
    for (const Bindings* scope : {&scopes_.back(), &scopes_.front()})
      if (const auto found = scope->find(name); found != scope->end()) return &found->second;
    const auto found = bindings_.find(name);
    if (found == bindings_.end()) return nullptr;
    used_.insert(found->first);
    return &found->second;
  }

  Value meaning(const Token& token, bool variables) {
    if (variables) {
      if (const auto definition = definitions_.find(token.text); definition != definitions_.end() && !scopes_.back().contains(token.text)) {
        if (peek().is("(")) return invoke(definition->second, token);
        throw Fault{token.offset, fmt::format("'{}' is a function; call it: {}(…)", token.text, token.text)};
      }
      if (const Value* value = variable(token.text)) return {value->is, token.offset};
    }
    for (const Constant& constant : constants())
      if (constant.name == token.text) return {constant.value.is, token.offset};
    if (peek().is("("))
      if (const Function* function = find_function(token.text)) return call_of(*function, token, {});
    if (const auto dtype = find_dtype(token.text)) return {*dtype, token.offset};
    if (find_function(token.text))
      throw Fault{token.offset, fmt::format("'{}' is a function; call it: {}(…)", token.text, token.text)};
    if (const std::string_view advice = advice_on_word(token.text); !advice.empty()) throw Fault{token.offset, std::string(advice)};
    unknown(token, variables);
  }

  [[noreturn]] void unknown(const Token& token, bool variables) const {
    std::vector<std::string_view> known;
    if (variables) {
      for (const auto& [name, value] : bindings_) known.push_back(name);
      for (const Bindings* scope : {&scopes_.back(), &scopes_.front()})
        for (const auto& [name, value] : *scope) known.push_back(name);
      for (const auto& [name, definition] : definitions_) known.push_back(name);
    }
    for (const Function& function : functions()) known.push_back(function.name);
    for (const Constant& constant : constants()) known.push_back(constant.name);
    if (token.text.starts_with("complex") || token.text == "object" || token.text == "str" || token.text == "longdouble")
      throw Fault{token.offset, fmt::format("'{}' is not an element type here; known are bool, int32, int64, float32 and float64",
                                            token.text)};
    const std::string near = nearest(token.text, known);
    const bool call = peek().is("(");
    throw Fault{token.offset,
                fmt::format("unknown {} '{}'{}", call ? "function" : "name", token.text,
                            !near.empty() ? fmt::format(": did you mean {}?", near)
                            : call        ? "; sinter eval --help lists the functions"
                                          : fmt::format("; give it a value on the command line: {}=…", token.text))};
  }

  std::vector<Argument> arguments(std::vector<Argument> list) {
    const Token opening = next();
    while (!peek().is(")")) {
      Argument argument;
      if (peek().kind == TokenKind::name && peek(1).is("=")) {
        argument.keyword = next().text;
        next();
      } else if (!list.empty() && !list.back().keyword.empty()) {
        throw Fault{peek().offset, "a positional argument follows a keyword argument"};
      }
      argument.value = expression();
      list.push_back(std::move(argument));
      if (!accept(",")) break;
    }
    expect(")", opening);
    return list;
  }

  Value call_of(const Function& function, const Token& name, std::vector<Argument> first) {
    std::vector<Argument> list = arguments(std::move(first));
    return recorded(name.offset, [&] { return call(function, std::move(list), name.offset); }, function.name);
  }

  /// float32(x) converts, as in NumPy.
  Value called(const Value& value) {
    const auto* dtype = value.as<DType>();
    if (!dtype) throw Fault{peek().offset, fmt::format("{} cannot be called", kind_name(value))};
    std::vector<Argument> list = arguments({});
    list.push_back({"dtype", {*dtype, value.offset}});
    return recorded(value.offset, [&] { return call(*find_function("astype"), std::move(list), value.offset); });
  }

  Value attribute(Value value) {
    next();
    const Token name = next();
    if (name.kind != TokenKind::name) unexpected(name);
    if (const auto* limits = value.as<Limits>()) return limit(limits->dtype, name);
    const auto* tensor = value.as<Tensor>();
    if (!tensor) throw Fault{name.offset, fmt::format("{} has no attribute '{}'", kind_name(value), name.text)};
    if (name.text == "T" || name.text == "mT") return {recorded(name.offset, [&] { return name.text == "T" ? transpose(*tensor) : matrix_transpose(*tensor); }), name.offset};
    if (name.text == "real" && !peek().is("(")) return {*tensor, name.offset};
    if (name.text == "imag" && !peek().is("(")) return {imag(*tensor), name.offset};
    if (name.text == "itemsize") return {static_cast<std::int64_t>(itemsize(tensor->dtype())), name.offset};
    if (name.text == "nbytes") return {tensor->size() * static_cast<std::int64_t>(itemsize(tensor->dtype())), name.offset};
    if (name.text == "ndim") return {std::int64_t{tensor->ndim()}, name.offset};
    if (name.text == "size") return {tensor->size(), name.offset};
    if (name.text == "dtype") return {tensor->dtype(), name.offset};
    if (name.text == "shape") {
      Tuple sizes;
      for (const std::int64_t size : tensor->shape()) sizes.push_back({size, name.offset});
      return {std::move(sizes), name.offset};
    }
    const Function* function = find_function(name.text);
    if (!function) {
      std::vector<std::string_view> known{"T", "mT", "ndim", "size", "itemsize", "nbytes", "dtype", "shape", "real", "imag"};
      for (const Function& row : functions()) known.push_back(row.name);
      const std::string near = nearest(name.text, known);
      throw Fault{name.offset, fmt::format("a tensor has no attribute '{}'{}", name.text,
                                           near.empty() ? "" : fmt::format(": did you mean {}?", near))};
    }
    if (!peek().is("(")) throw Fault{name.offset, fmt::format("'{}' is a method; call it: .{}(…)", name.text, name.text)};
    std::vector<Argument> self;
    self.push_back({{}, std::move(value)});
    return call_of(*function, name, std::move(self));
  }

  /// finfo(dtype).eps, iinfo(dtype).max
  static Value limit(DType dtype, const Token& name) {
    const std::string_view text = name.text;
    if (text == "bits") return {static_cast<std::int64_t>(8 * itemsize(dtype)), name.offset};
    if (text == "dtype") return {dtype, name.offset};
    if (is_floating(dtype)) {
      const FloatInfo info = finfo(dtype, Location{});
      const std::pair<std::string_view, double> numbers[] = {{"eps", info.eps}, {"min", info.min}, {"max", info.max}, {"smallest_normal", info.smallest_normal},
                                                             {"tiny", info.smallest_normal}, {"smallest_subnormal", info.smallest_subnormal}};
      for (const auto& [word, number] : numbers)
        if (word == text) return {number, name.offset};
    } else {
      const IntegerInfo info = iinfo(dtype, Location{});
      if (text == "min") return {info.min, name.offset};
      if (text == "max" && info.max > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return {full({}, info.max), name.offset};
      if (text == "max") return {static_cast<std::int64_t>(info.max), name.offset};
    }
    throw Fault{name.offset, fmt::format("the limits of {} have no '{}'; they have bits, dtype, min, max{}", sinter::name(dtype), text,
                                         is_floating(dtype) ? ", eps, smallest_normal, smallest_subnormal" : "")};
  }

  std::vector<Index> indexes(const Token& opening) {
    std::vector<Index> index;
    while (!peek().is("]")) {
      index_item(index);
      if (!accept(",")) break;
    }
    if (index.empty() && peek().is("]")) throw Fault{peek().offset, "an index is missing here"};
    expect("]", opening);
    return index;
  }

  Value indexed(const Value& value) {
    const Token opening = next();
    const std::vector<Index> index = indexes(opening);
    if (const auto* tuple = value.as<Tuple>()) {
      const auto size = static_cast<std::int64_t>(tuple->size());
      if (index.size() == 1 && index[0].kind() == Index::Kind::slice) return {part_of(*tuple, index[0].slice(), opening), opening.offset};
      if (index.size() != 1 || index[0].kind() != Index::Kind::integer)
        throw Fault{opening.offset, "a tuple is indexed by one integer or slice"};
      const std::int64_t i = index[0].integer() < 0 ? index[0].integer() + size : index[0].integer();
      if (i < 0 || i >= size)
        throw Fault{opening.offset, fmt::format("index {} is out of range for a tuple of {}", index[0].integer(), size)};
      return {(*tuple)[static_cast<std::size_t>(i)].is, opening.offset};
    }
    const auto* tensor = value.as<Tensor>();
    if (!tensor) throw Fault{opening.offset, fmt::format("{} cannot be indexed", kind_name(value))};
    return {recorded(opening.offset, [&] { return tensor->at(index, Location{}); }), opening.offset};
  }

  /// Python's slice of a tuple: ends beyond it are its ends.
  static Tuple part_of(const Tuple& tuple, const Slice& slice, const Token& opening) {
    const auto size = static_cast<std::int64_t>(tuple.size());
    const std::int64_t step = slice.step.value_or(1), lowest = step < 0 ? -1 : 0, highest = step < 0 ? size - 1 : size;
    if (step == 0) throw Fault{opening.offset, "a slice's step cannot be 0"};
    const auto end = [&](std::optional<std::int64_t> given, std::int64_t otherwise) {
      return !given ? otherwise : std::clamp(*given < 0 ? *given + size : *given, lowest, highest);
    };
    const std::int64_t start = end(slice.start, step < 0 ? highest : lowest), stop = end(slice.stop, step < 0 ? lowest : highest);
    Tuple part;
    part.is_list = tuple.is_list;
    for (std::int64_t k = start; step < 0 ? k > stop : k < stop; k += step) {
      part.push_back(tuple[static_cast<std::size_t>(k)]);
      if (step > size || step < -size) break;  // the next would be beyond, and may be beyond 64 bits
    }
    return part;
  }

  std::optional<std::int64_t> slice_part() {
    if (peek().is(":") || peek().is(",") || peek().is("]")) return std::nullopt;
    const Value value = expression();
    if (value.as<None>()) return std::nullopt;
    if (const auto* i = value.as<std::int64_t>()) return *i;
    throw Fault{value.offset, fmt::format("a slice takes integers, not {}", kind_name(value))};
  }

  void index_item(std::vector<Index>& index) {
    if (peek().is(":")) {
      index.push_back(slice_from(std::nullopt));
      return;
    }
    const Value value = expression();
    if (peek().is(":")) {
      if (!value.as<std::int64_t>() && !value.as<None>())
        throw Fault{value.offset, fmt::format("a slice takes integers, not {}", kind_name(value))};
      index.push_back(slice_from(value.as<None>() ? std::nullopt : std::optional(*value.as<std::int64_t>())));
      return;
    }
    const Tuple* tuple = value.as<Tuple>();
    if (tuple && !tuple->is_list && index.empty() && peek().is("]")) {  // x[(1, 2)] is x[1, 2]
      for (const Value& item : *tuple) index.push_back(index_of(item));
      return;
    }
    index.push_back(index_of(value));
  }

  static Index index_of(const Value& value) {
    const Location nowhere{};
    if (const auto* i = value.as<std::int64_t>()) return {*i, nowhere};
    if (value.as<None>()) return {newaxis, nowhere};
    if (value.as<Ellipsis>()) return {ellipsis, nowhere};
    if (!value.as<Tensor>() && !value.as<Tuple>()) throw Fault{value.offset, fmt::format("an index cannot be {}", kind_name(value))};
    const Tensor places = array_of(value, "array");
    return {value.as<Tuple>() && places.size() == 0 ? astype(places, DType::int64) : places, nowhere};
  }

  Index slice_from(std::optional<std::int64_t> start) {
    Slice slice{.start = start};
    next();
    slice.stop = slice_part();
    if (accept(":")) slice.step = slice_part();
    return Index(slice, Location{});
  }

  std::string_view text_;
  const Bindings& bindings_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::vector<Bindings> scopes_ = std::vector<Bindings>(1);  // the script's names, then those of functions being called
  std::map<std::string, Definition, std::less<>> definitions_;
  std::size_t written_at_ = 0;        // the last tuple that was written out in this statement: its place
  std::vector<std::string> written_;  // and its items
  std::set<std::string_view> used_;
};

}  // namespace

Evaluated evaluate(std::string_view text, const Bindings& bindings) {
  try {
    return Parser(text, bindings).run();
  } catch (const Fault& fault) {
    throw ValueError(point_at(text, fault.offset, fault.message));
  }
}

}  // namespace sinter::tools
