#include "expression.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <optional>
#include <set>

#include "functions.hpp"
#include "lexer.hpp"
#include "scalars.hpp"
#include "sinter/ops.hpp"

namespace sinter::tools {
namespace {

// Binding strength of the binary operators, Python's order. Unary + - ~ bind tighter than all of these, ** tighter still.
enum Strength : int { kLoosest = 1, kComparison = 1, kOr, kXor, kAnd, kShift, kSum, kProduct };

struct Operator {
  std::string_view symbol;
  int strength;
  Tensor (*record)(const Arg&, const Arg&);
};
constexpr Operator kOperators[] = {
    {"==", kComparison, equal},    {"!=", kComparison, not_equal},     {"<", kComparison, less},
    {"<=", kComparison, less_equal}, {">", kComparison, greater},      {">=", kComparison, greater_equal},
    {"|", kOr, bitwise_or},        {"^", kXor, bitwise_xor},           {"&", kAnd, bitwise_and},
    {"<<", kShift, left_shift},    {">>", kShift, right_shift},        {"+", kSum, add},
    {"-", kSum, subtract},         {"*", kProduct, multiply},          {"/", kProduct, divide},
    {"//", kProduct, floor_divide}, {"%", kProduct, remainder},        {"@", kProduct, matmul},
};
constexpr Operator kPower = {"**", 0, power};

const Operator* find_operator(const Token& token) {
  if (token.kind == TokenKind::symbol)
    for (const Operator& row : kOperators)
      if (row.symbol == token.text) return &row;
  return nullptr;
}

struct Constant {
  std::string_view name;
  Value value;
};
const std::vector<Constant>& constants() {
  static const std::vector<Constant> table = {
      {"True", {true}}, {"False", {false}}, {"None", {None{}}}, {"newaxis", {None{}}},
      {"pi", {std::numbers::pi}}, {"e", {std::numbers::e}},
      {"inf", {std::numeric_limits<double>::infinity()}}, {"nan", {std::numeric_limits<double>::quiet_NaN()}},
  };
  return table;
}

/// Words of Python that are not in this language, and what to write instead.
std::string_view advice_on_word(std::string_view word) {
  if (word == "and") return "'and' does not work on arrays; write (a) & (b)";
  if (word == "or") return "'or' does not work on arrays; write (a) | (b)";
  if (word == "not") return "'not' does not work on arrays; write ~(a) or logical_not(a)";
  if (word == "if" || word == "else") return "there is no conditional; where(condition, a, b) chooses element by element";
  if (word == "for" || word == "while" || word == "in" || word == "lambda" || word == "def" || word == "import" ||
      word == "is" || word == "return")
    return "only expressions and assignments are understood here";
  return {};
}

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
    while (true) {
      while (peek().kind == TokenKind::separator) ++at_;
      if (peek().kind == TokenKind::end) break;
      last = statement();
      if (peek().kind != TokenKind::separator && peek().kind != TokenKind::end) unexpected(peek());
    }
    if (!last) throw Fault{0, "the expression is empty"};
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
    throw Fault{value.offset, value.as<Tuple>() ? "a result is a tuple within a tuple; write the results one after another"
                                                : fmt::format("the result is {}, not a tensor or a number", kind_name(value))};
  }

  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token& next() { return tokens_[std::min(at_++, tokens_.size() - 1)]; }
  bool accept(std::string_view symbol) {
    if (!peek().is(symbol)) return false;
    ++at_;
    return true;
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
    if (token.kind == TokenKind::symbol && token.text.size() > 1 && token.text.ends_with('='))
      throw Fault{token.offset, fmt::format("'{}' is not an operator here; write name = name {} …", token.text,
                                            token.text.substr(0, token.text.size() - 1))};
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

  /// Records; what sinter finds wrong is shown at `offset`, its type kept, and of a function by the name that was written here.
  template <class Record> auto recorded(std::size_t offset, Record record, std::string_view function = {}) {
    const auto told = [&](std::string message) {
      const std::size_t end = message.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_");
      if (!function.empty() && end != std::string::npos && (message[end] == ':' || message.compare(end, 2, " (") == 0)) message.replace(0, end, function);
      return point_at(text_, offset, message);
    };
    try {
      return record();
    } catch (const ShapeError& error) {
      throw ShapeError(told(error.what()));
    } catch (const DTypeError& error) {
      throw DTypeError(told(error.what()));
    } catch (const AxisError& error) {
      throw AxisError(told(error.what()));
    } catch (const ValueError& error) {
      throw ValueError(told(error.what()));
    }
  }

  Value statement() {
    written_.clear();
    const std::size_t count = targets();
    if (count == 0) return expressions();
    std::vector<Token> names;
    for (std::size_t k = 0; k < count; ++k) {
      names.push_back(next());
      next();  // the comma, or = after the last
    }
    for (const Token& name : names) check_assignable(name);
    Value value = expressions();
    if (count == 1) {
      if (written_at_ == value.offset) written_at_ = names[0].offset;
      value.offset = names[0].offset;
      locals_.insert_or_assign(std::string(names[0].text), value);
      return value;
    }
    const auto* tuple = value.as<Tuple>();
    if (!tuple || tuple->size() != count)
      throw Fault{names[0].offset, fmt::format("{} names are given {}", count, !tuple ? std::string(kind_name(value))
                                                                                      : fmt::format("a tuple of {}", tuple->size()))};
    written_.clear();
    written_at_ = value.offset;
    for (std::size_t k = 0; k < count; ++k) {
      locals_.insert_or_assign(std::string(names[k].text), (*tuple)[k]);
      written_.emplace_back(names[k].text);
    }
    return value;
  }

  /// How many names stand before an assignment's =; 0 where the statement is none.
  std::size_t targets() const {
    for (std::size_t count = 1;; ++count) {
      if (peek(2 * count - 2).kind != TokenKind::name) return 0;
      const Token& after = peek(2 * count - 1);
      if (after.is("=")) return count;
      if (!after.is(",")) return 0;
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
    const Arg a = operand(left, row.symbol), b = operand(right, row.symbol);
    return {recorded(offset, [&] { return row.record(a, b); }), offset};
  }

  Value unary() {
    const Depth depth(*this);
    const Token token = peek();
    if (!token.is("-") && !token.is("+") && !token.is("~")) return power_of();
    next();
    const Value x = unary();
    if (x.is_number()) return scalar_unary(token.text, x, token.offset);
    const Arg argument = operand(x, token.text);
    if (token.is("+")) return x;
    return {recorded(token.offset, [&] { return token.is("-") ? negative(argument) : bitwise_not(argument); }), token.offset};
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
    return tuple(std::move(items), opening.offset, std::move(written));
  }

  Value named(const Token& token) {
    if ((token.text == "np" || token.text == "numpy") && peek().is(".") && !is_bound(token.text)) {
      next();
      const Token member = next();
      if (member.kind != TokenKind::name) unexpected(member);
      return meaning(member, /*variables=*/false);
    }
    return meaning(token, /*variables=*/true);
  }

  bool is_bound(std::string_view name) const { return locals_.contains(name) || bindings_.contains(name); }

  Value meaning(const Token& token, bool variables) {
    if (variables) {
      // A name bound outside counts as used even where a local hides it later.
      if (const auto local = locals_.find(token.text); local != locals_.end()) return {local->second.is, token.offset};
      if (const auto bound = bindings_.find(token.text); bound != bindings_.end()) {
        used_.insert(bound->first);
        return {bound->second.is, token.offset};
      }
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
      for (const auto& [name, value] : locals_) known.push_back(name);
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
    const auto* tensor = value.as<Tensor>();
    if (!tensor) throw Fault{name.offset, fmt::format("{} has no attribute '{}'", kind_name(value), name.text)};
    if (name.text == "T") return {recorded(name.offset, [&] { return transpose(*tensor); }), name.offset};
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
      std::vector<std::string_view> known{"T", "ndim", "size", "dtype", "shape"};
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

  Value indexed(const Value& value) {
    const Token opening = next();
    std::vector<Index> index;
    while (!peek().is("]")) {
      index.push_back(index_item());
      if (!accept(",")) break;
    }
    if (index.empty() && peek().is("]")) throw Fault{peek().offset, "an index is missing here"};
    expect("]", opening);
    if (const auto* tuple = value.as<Tuple>()) {
      if (index.size() != 1 || index[0].kind() != Index::Kind::integer)
        throw Fault{opening.offset, "a tuple is indexed by one integer"};
      const auto size = static_cast<std::int64_t>(tuple->size());
      const std::int64_t i = index[0].integer() < 0 ? index[0].integer() + size : index[0].integer();
      if (i < 0 || i >= size)
        throw Fault{opening.offset, fmt::format("index {} is out of range for a tuple of {}", index[0].integer(), size)};
      return {(*tuple)[static_cast<std::size_t>(i)].is, opening.offset};
    }
    const auto* tensor = value.as<Tensor>();
    if (!tensor) throw Fault{opening.offset, fmt::format("{} cannot be indexed", kind_name(value))};
    return {recorded(opening.offset, [&] { return tensor->at(index, Location{}); }), opening.offset};
  }

  std::optional<std::int64_t> slice_part() {
    if (peek().is(":") || peek().is(",") || peek().is("]")) return std::nullopt;
    const Value value = expression();
    if (value.as<None>()) return std::nullopt;
    if (const auto* i = value.as<std::int64_t>()) return *i;
    throw Fault{value.offset, fmt::format("a slice takes integers, not {}", kind_name(value))};
  }

  Index index_item() {
    const Location nowhere{};
    if (!peek().is(":")) {
      const Value value = expression();
      if (!peek().is(":")) {
        if (const auto* i = value.as<std::int64_t>()) return Index(*i, nowhere);
        if (value.as<None>()) return Index(newaxis, nowhere);
        if (value.as<Ellipsis>()) return Index(ellipsis, nowhere);
        if (const auto* places = value.as<Tensor>()) {
          if (is_bool(places->dtype()))
            throw Fault{value.offset, "an index cannot be a tensor of bool; where(mask, a, b) chooses element by element"};
          return Index(*places, nowhere);
        }
        throw Fault{value.offset, fmt::format("an index cannot be {}", kind_name(value))};
      }
      if (!value.as<std::int64_t>() && !value.as<None>())
        throw Fault{value.offset, fmt::format("a slice takes integers, not {}", kind_name(value))};
      return slice_from(value.as<None>() ? std::nullopt : std::optional(*value.as<std::int64_t>()));
    }
    return slice_from(std::nullopt);
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
  Bindings locals_;
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
