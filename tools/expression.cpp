#include "expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <numbers>
#include <optional>
#include <set>
#include <utility>

#include "arguments.hpp"
#include "format_spec.hpp"
#include "functions.hpp"
#include "lexer.hpp"
#include "scalars.hpp"
#include "sinter/complex.hpp"
#include "sinter/creation.hpp"
#include "sinter/linalg.hpp"
#include "sinter/ops.hpp"
#include "sinter/print.hpp"
#include "sinter/random.hpp"
#include "sinter/shapes.hpp"
#include "sinter/types.hpp"
#include "printing.hpp"
#include "ufuncs.hpp"
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
  using Print = std::function<void(const std::string&)>;
  Parser(std::string_view text, const Bindings& bindings, const Print& print) : text_(text), bindings_(bindings), print_(print), tokens_(as_deque(tokenize(text))) {}

  Evaluated run() {
    std::optional<Value> last;
    std::size_t offset = 0;
    for (skip_separators(); peek().kind != TokenKind::end; skip_separators()) {
      offset = peek().offset;
      const Flow flow = step(last);
      if (flow != Flow::next) throw Fault{offset, flow == Flow::returned ? std::string(advice_on_word("return")) : "this stands in a loop: for k in range(n): …"};
    }
    Evaluated evaluated;
    if (!last || last->as<None>()) {
      if (!printed_) throw Fault{offset, tokens_.size() == 1 ? "the expression is empty" : "the last statement gives no result"};
    } else if (const auto* tuple = last->as<Tuple>(); tuple && !is_array(*last)) {
      if (tuple->empty()) throw Fault{last->offset, "the result is an empty tuple"};
      const bool written_here = written_at_ == last->offset && written_.size() == tuple->size();
      for (std::size_t k = 0; k < tuple->size(); ++k) {
        evaluated.results.push_back(result_of((*tuple)[k]));
        evaluated.labels.push_back(last->is_complex() ? k == 0 ? "real" : "imag" : written_here ? written_[k] : fmt::format("result {}", k + 1));
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
  static std::deque<Token> as_deque(const std::vector<Token>& tokens) { return {tokens.begin(), tokens.end()}; }

  /// A list of what is of one shape; other lists are several results, as tuples are.
  static bool is_array(const Value& value) {
    if (!value.as<Tuple>() || !value.as<Tuple>()->is_list) return false;
    try {
      array_of(value, "array");
      return true;
    } catch (const Fault&) {
      return false;
    }
  }

  static Tensor result_of(const Value& value) {
    if (const auto* tensor = value.as<Tensor>()) return *tensor;
    if (value.is_number()) return full({}, operand(value, ""));
    if (is_array(value)) return array_of(value, "array");
    if (const auto* tuple = value.as<Tuple>(); tuple && !tuple->empty() && std::all_of(tuple->begin(), tuple->end(), [](const Value& item) { return item.is_number(); }))
      return array_of(value, "array");  // x, x.shape
    throw Fault{value.offset, value.as<Tuple>() ? "a result is a tuple within a tuple; write the results one after another"
                                                : fmt::format("the result is {}, not a tensor or a number", kind_name(value))};
  }

  /// A function of the text. Its body stays text, which every call reads.
  struct Parameter {
    std::string_view name;
    std::optional<Value> otherwise;
    bool keyword_only = false;  // behind *
    bool rest = false;          // *name: a tuple of what is left
  };
  /// Statements under a line that ends with a colon.
  struct Block {
    std::size_t begin = 0, end = 0;  // tokens
    std::string_view indentation;
    bool own_line = false;  // they stand on that line
  };
  struct Definition {
    Token name;
    std::vector<Parameter> parameters;
    std::size_t begin = 0;  // of a lambda, which is one expression
    Block body;
    bool nameless = false;  // a lambda
    Bindings around;        // what names of a function it was written in meant there
    bool active = false;    // being called
  };

  /// A name, a part of what it stands for: name[1:3], name[0][1], or several of them in brackets.
  struct Target {
    struct Part {
      std::vector<Index> index;
      std::size_t opening = 0;  // where the bracket stands
    };
    Token name = {};  // or the bracket
    std::vector<Part> parts = {};
    std::vector<Target> inner = {};
    bool rest = false;  // *name: a list of what is left
  };
  struct Targets {
    std::vector<Target> list;
    bool several = false;  // written with a comma
    std::size_t equals = 0;  // where the = stands
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
        for (const std::string_view space : {"DType::", "random::", "fft::", " (random)"})  // Python's spelling
          for (std::size_t at = 0; (at = message.find(space, at)) != std::string::npos;) message.erase(at, space.size());
        constexpr std::string_view kNumbers = " are C++ numbers; read one from a tensor with item<T>()";
        if (const std::size_t at = message.find(kNumbers); at != std::string::npos) message.replace(at, kNumbers.size(), " are numbers, not tensors");
        // Of what a function of the table is composed of, the place is no line of the user's.
        if (const std::size_t place = message.rfind("tools/"), from = message.rfind(" at ", place); place != std::string::npos && from != std::string::npos && message.find(' ', place) == std::string::npos)
          message.erase(from);
        const std::size_t end = message.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_");
        if (!function.empty() && end != std::string::npos && (message[end] == ':' || message.compare(end, 2, " (") == 0)) message.replace(0, end, function);
        return point_at(text_, offset, message);
      });
    }
  }

  enum class Form : std::uint8_t { definition, import, part, update, assignment, appended, changed, expression };
  Form form() {
    const std::optional<std::size_t> end = targets_end();
    if (end && peek(*end).is("=")) return Form::assignment;
    if (peek().kind != TokenKind::name) return Form::expression;
    if (is_word("def")) return Form::definition;
    if (is_word("import") || is_word("from")) return Form::import;
    if (peek(1).is(".") && (peek(2).is_word("append") || peek(2).is_word("extend")) && peek(3).is("("))
      if (const Value* value = variable(peek().text); value && value->as<Tuple>() && value->as<Tuple>()->is_list) return Form::appended;
    if (find_update(peek(1))) return Form::update;
    if (peek(1).is("[") && find_update(peek(target_end(0)))) return Form::part;
    return changed_in_place() ? Form::changed : Form::expression;
  }

  /// Nothing: a definition, an import.
  std::optional<Value> statement() {
    written_.clear();
    std::optional<Value> value;
    switch (form()) {
      case Form::definition: define(); break;
      case Form::import: import_numpy(); break;
      case Form::part: value = update_part(); break;
      case Form::update: value = update(); break;
      case Form::assignment: value = assignment(); break;
      case Form::appended: value = appended(); break;
      case Form::changed: value = changed(); break;
      case Form::expression: value = expressions(); break;
    }
    end_statement();
    return value;
  }

  // ---- statements that hold others

  enum class Flow : std::uint8_t { next, broken, continued, returned };

  /// One statement; `value` is what it is worth, `returned_` what it returns.
  Flow step(std::optional<Value>& value) {
    if (peek().kind == TokenKind::name) {
      if (is_word("for")) return value.reset(), loop_over();
      if (is_word("while")) return value.reset(), loop_while();
      if (is_word("if")) return value.reset(), choice();
      if (is_word("with")) return value.reset(), with_settings();
      if (is_word("assert")) {
        asserted();
        value.reset();
        return Flow::next;
      }
      if (is_word("raise")) raised();
      if (is_word("return") && scopes_.size() > 1) {
        const Token word = next();
        returned_ = peek().kind == TokenKind::separator || peek().kind == TokenKind::end ? Value{None{}, word.offset} : expressions();
        end_statement();
        return Flow::returned;
      }
      if (is_word("break") || is_word("continue") || is_word("pass")) {
        const Token word = next();
        end_statement();
        value.reset();
        return word.text == "break" ? Flow::broken : word.text == "continue" ? Flow::continued : Flow::next;
      }
    }
    value = statement();
    return Flow::next;
  }

  /// What follows a colon: the rest of the line, or the lines that are indented deeper than that of `word`. It is passed over.
  Block block(const Token& word) {
    const Token colon = next();
    if (!colon.is(":")) throw Fault{colon.offset, fmt::format("':' is missing here; the statements under '{}' follow it", word.text)};
    Block block;
    block.own_line = peek().kind != TokenKind::separator && peek().kind != TokenKind::end;
    if (!block.own_line) skip_separators();
    const std::string_view outside = indentation(word);
    block.begin = at_;
    block.indentation = indentation(peek());
    if (!block.own_line && (peek().kind == TokenKind::end || block.indentation.size() <= outside.size()))
      throw Fault{word.offset, fmt::format("the lines under '{}' are missing; indent them", word.text)};
    bool returns = false;  // a function's line ends with its return
    for (; peek().kind != TokenKind::end; ++at_) {
      if (block.own_line && peek().kind == TokenKind::separator && (returns || peek().text == "\n")) break;
      returns |= word.text == "def" && is_word("return");
      if (block.own_line || peek().kind == TokenKind::separator || !begins_line(at_)) continue;
      if (indentation(peek()).size() <= outside.size()) break;
      if (indentation(peek()).size() < block.indentation.size()) throw Fault{peek().offset, fmt::format("this line is not indented as the others under '{}'", word.text)};
    }
    block.end = at_;
    return block;
  }

  Flow run_block(const Block& block) {
    at_ = block.begin;
    for (skip_separators(); at_ < block.end; skip_separators()) {
      if (!block.own_line && begins_line(at_) && indentation(peek()) != block.indentation) throw Fault{peek().offset, "this line is indented otherwise than the ones before it"};
      std::optional<Value> value;
      const bool unused = scopes_.size() > 1 && peek().kind != TokenKind::string && !is_word("print") && is_plain_expression();
      if (unused) throw Fault{peek().offset, "this value is not used; a function gives what it returns"};
      if (const Flow flow = step(value); flow != Flow::next) return flow;
    }
    at_ = block.end;
    return Flow::next;
  }
  /// A value that no name keeps. What NumPy's settings and functions of the text print or do is not known before they are called.
  bool is_plain_expression() {
    for (const std::string_view word : {"for", "while", "if", "with", "assert", "raise", "return", "break", "continue", "pass"})
      if (is_word(word)) return false;
    return form() == Form::expression && !(peek().is_word("np") && (peek(2).is_word("seterr") || peek(2).is_word("set_printoptions"))) && !calls_text();
  }
  bool calls_text() {
    if (peek().kind != TokenKind::name || !peek(1).is("(")) return false;
    const Value* value = variable(peek().text);
    return value && value->as<Callable>() && !value->as<Callable>()->function;
  }
  /// A block that is not run counts what it names as used.
  void skip(const Block& block) {
    at_ = block.begin;
    pass_over(block.end - block.begin);
  }

  /// for name in …:, for a, b in …:
  Flow loop_over() {
    const Depth depth(*this);
    const Token word = next();
    const Targets names = loop_names(word);
    const Value over = expressions();
    const Block body = block(word);
    const std::size_t end = body.end;
    for (const Value& value : items_of(over)) {
      name_item(names, value);
      const Flow flow = run_block(body);
      if (flow == Flow::broken) break;
      if (flow == Flow::returned) return flow;
    }
    at_ = end;
    return Flow::next;
  }
  Targets loop_names(const Token& word) {
    const std::optional<std::size_t> end = targets_end();
    if (!end || !peek(*end).is_word("in")) throw Fault{word.offset, "a loop is written for name in range(n): …"};
    Targets names = targets();
    names.equals = next().offset;
    return names;
  }
  /// What a loop and a list made of another go over.
  std::vector<Value> items_of(const Value& over) {
    if (const auto* tuple = over.as<Tuple>(); tuple && !over.is_complex()) return *tuple;
    const auto* tensor = over.as<Tensor>();
    if (!tensor) throw Fault{over.offset, fmt::format("this goes over a list, range(n) or a tensor's first axis, not {}", kind_name(over))};
    std::vector<Value> items;
    for (const Tensor& slice : recorded(over.offset, [&] { return unstack(*tensor, 0, Location{}); })) items.push_back({slice, over.offset});
    return items;
  }
  void name_item(const Targets& names, const Value& value) {
    if (names.several) assign_each(names.list, value, names.equals);
    else assign_target(names.list.front(), value, names.equals);
  }

  Flow loop_while() {
    const Depth depth(*this);
    const Token word = next();
    const std::size_t condition = at_;
    for (;;) {
      at_ = condition;
      const bool holds = truth(expression(), word);
      const Block body = block(word);
      if (!holds) {
        skip(body);
        return Flow::next;
      }
      const std::size_t end = body.end;
      const Flow flow = run_block(body);
      if (flow == Flow::returned) return flow;
      at_ = end;
      if (flow == Flow::broken) return Flow::next;
    }
  }

  /// if …: elif …: else:
  Flow choice() {
    const Depth depth(*this);
    std::optional<Block> chosen;
    Token word = next();
    for (;;) {
      if (word.text == "else") {
        const Block body = block(word);
        if (!chosen) chosen = body;
        else skip(body);
        break;
      }
      bool holds = false;
      if (chosen) pass_over(until({}));
      else holds = truth(expression(), word);
      const Block body = block(word);
      if (holds) chosen = body;
      else skip(body);
      at_ = body.end;
      std::size_t ahead = 0;
      while (peek(ahead).kind == TokenKind::separator) ++ahead;
      const Token& other = peek(ahead);
      if (!(other.is_word("elif") || other.is_word("else")) || indentation(other) != indentation(word)) break;
      at_ += ahead;
      word = next();
    }
    const std::size_t end = at_;
    const Flow flow = chosen ? run_block(*chosen) : Flow::next;
    if (flow == Flow::next) at_ = end;
    return flow;
  }

  /// with np.errstate(…): nothing is warned of in any case.
  Flow with_settings() {
    const Token word = next();
    const std::size_t settings = at_;
    if (!(peek(2).is_word("errstate") && peek(3).is("("))) throw Fault{word.offset, "with is known with np.errstate(…) alone"};
    while (!peek().is(":") && peek().kind != TokenKind::separator && peek().kind != TokenKind::end) ++at_;
    if (at_ == settings) unexpected(peek());
    const Block body = block(word);
    const std::size_t end = body.end;
    const Flow flow = run_block(body);
    if (flow == Flow::next) at_ = end;
    return flow;
  }

  /// raise ValueError("…"): the program ends with this message.
  [[noreturn]] void raised() {
    const Token word = next(), type = next();
    if (type.kind != TokenKind::name || !peek().is("(")) throw Fault{word.offset, "an error is raised by raise ValueError('…')"};
    std::string message;
    for (const Argument& argument : arguments({}).list) message += (message.empty() ? "" : ", ") + shown(argument.value);
    throw Fault{word.offset, fmt::format("{}: {}", type.text, message)};
  }
  void asserted() {
    const Token word = next();
    const Value condition = expression();
    std::string message = "this does not hold";
    const bool holds = truth(condition, word);
    if (accept(",")) {
      if (holds) pass_over(until({}));
      else message = shown(expression());
    }
    end_statement();
    if (!holds) throw Fault{word.offset, fmt::format("assert: {}", message)};
  }

  // ---- printing

  /// As Python's str().
  std::string shown(const Value& value) {
    if (const auto* text = value.as<std::string>()) return *text;
    return written(value);
  }
  /// As Python's repr(), where numbers of NumPy's are shown as plain ones.
  std::string written(const Value& value) {
    if (const auto* text = value.as<std::string>()) return fmt::format("'{}'", *text);
    if (const auto* truth = value.as<bool>()) return *truth ? "True" : "False";
    if (const auto* integer = value.as<std::int64_t>()) return fmt::to_string(*integer);
    if (const auto* large = value.as<std::uint64_t>()) return fmt::to_string(*large);
    if (value.as<double>()) return to_string(full({}, operand(value, "print")));
    if (value.as<None>()) return "None";
    if (const auto* dtype = value.as<DType>()) return std::string(name(*dtype));
    if (const auto* tensor = value.as<Tensor>()) return recorded(value.offset, [&] { return to_string(*tensor, printing_); });
    if (value.is_complex()) return recorded(value.offset, [&] { return complex_text({*(*value.as<Tuple>())[0].as<Tensor>(), *(*value.as<Tuple>())[1].as<Tensor>()}, printing_); });
    if (const auto* tuple = value.as<Tuple>()) {
      std::string items;
      for (const Value& item : *tuple) items += fmt::format("{}{}", items.empty() ? "" : ", ", written(item));
      return tuple->is_list ? fmt::format("[{}]", items) : fmt::format("({}{})", items, tuple->size() == 1 ? "," : "");
    }
    return fmt::format("<{}>", kind_name(value));
  }
  /// print(a, b, sep=' ', end='\n')
  Value printed(const Token& name) {
    const std::vector<Argument> given = arguments({}).list;
    printed_ = true;
    if (!print_) return {None{}, name.offset};
    std::string line, separator = " ", end = "\n";
    for (const Argument& argument : given) {
      if (argument.keyword == "flush") continue;
      if (argument.keyword.empty()) continue;
      const auto* text = argument.value.as<std::string>();
      if (!text || (argument.keyword != "sep" && argument.keyword != "end")) throw Fault{argument.value.offset, "print() takes values, and sep= and end=, which are strings"};
      (argument.keyword == "sep" ? separator : end) = *text;
    }
    bool first = true;
    for (const Argument& argument : given) {
      if (!argument.keyword.empty()) continue;
      line += fmt::format("{}{}", std::exchange(first, false) ? "" : separator, shown(argument.value));
    }
    print_(line + end);
    return {None{}, name.offset};
  }
  /// f'{x:.3f}': what stands in braces is an expression of this place.
  Value formatted(const Token& token) {
    const std::string_view text = token.text;
    std::string made;
    for (std::size_t at = 0; at < text.size(); ++at) {
      const char c = text[at];
      if ((c == '{' || c == '}') && at + 1 < text.size() && text[at + 1] == c) {
        made += text[++at];
        continue;
      }
      if (c == '}') throw Fault{token.offset, "a '}' alone in this string; write }} for one"};
      if (c != '{') {
        made += c;
        continue;
      }
      int open = 0;
      std::size_t close = at + 1, colon = 0;
      for (; close < text.size() && (open > 0 || text[close] != '}'); ++close) {
        if (text[close] == '(' || text[close] == '[') ++open;
        if (text[close] == ')' || text[close] == ']') --open;
        if (text[close] == ':' && open == 0 && colon == 0) colon = close;
      }
      if (close == text.size()) throw Fault{token.offset, "a '{' of this string has no end"};
      std::string_view expression = text.substr(at + 1, (colon ? colon : close) - at - 1);
      const bool named = expression.ends_with('=');  // f'{x=}'
      if (named) made += expression;
      if (named) expression.remove_suffix(1);
      const std::string format(colon ? text.substr(colon + 1, close - colon - 1) : "");
      made += in_format(inner(expression, static_cast<std::size_t>(expression.data() - text_.data())), format, token);
      at = close;
    }
    return {made, token.offset};
  }
  /// The value of a part of the text that stands in a string.
  Value inner(std::string_view expression_text, std::size_t offset) {
    const Depth depth(*this);
    const auto [found, added] = strings_.emplace(offset, tokens_.size());
    if (added)
      for (Token& token : tokenize(expression_text)) {
        token.offset += offset;
        tokens_.push_back(token);
      }
    const std::size_t back = std::exchange(at_, found->second);
    Value value = expressions();
    if (peek().kind != TokenKind::end) unexpected(peek());
    at_ = back;
    return value;
  }
  std::string in_format(const Value& given, const std::string& format, const Token& token) {
    if (format.empty()) return shown(given);
    const auto* tensor = given.as<Tensor>();
    const Value value = tensor && tensor->size() == 1 ? recorded(token.offset, [&] { return numbers_of(reshape(*tensor, Shape{}), given.offset); }) : given;
    if (const std::optional<std::string> text = by_format(value, format, [&] { return shown(value); })) return *text;
    throw Fault{token.offset, fmt::format("'{}' is no format of {}", format, kind_name(value))};
  }

  /// The name that a statement such as x.sort(), np.put(x, …) or np.add.at(x, …) changes in NumPy: here it gets the changed value.
  std::optional<Token> changed_in_place() const {
    const auto one_of = [](std::string_view name, std::initializer_list<std::string_view> names) { return std::find(names.begin(), names.end(), name) != names.end(); };
    std::size_t at = 0;  // the last name before the parenthesis
    while (peek(at).kind == TokenKind::name && peek(at + 1).is(".")) at += 2;
    if (peek(at).kind != TokenKind::name || !peek(at + 1).is("(")) return std::nullopt;
    const bool module = is_word("np") || is_word("numpy");
    const bool method = at == 2 && !module;
    const bool ufunc = at >= 2 && peek(at).text == "at" && find_function(peek(at - 2).text);
    std::size_t end = at + 1;
    for (int open = 0; peek(end).kind != TokenKind::end; ++end)
      if ((open += opens(peek(end))) == 0) break;
    if (peek(end + 1).kind != TokenKind::separator && peek(end + 1).kind != TokenKind::end) return std::nullopt;  // a part of something
    if (method && !ufunc) return one_of(peek(at).text, {"fill", "partition", "put", "resize", "sort"}) ? std::optional(peek()) : std::nullopt;
    if (!ufunc && !one_of(peek(at).text, {"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask", "shuffle"})) return std::nullopt;
    return peek(at + 2).kind == TokenKind::name && (peek(at + 3).is(",") || peek(at + 3).is(")")) ? std::optional(peek(at + 2)) : std::nullopt;
  }
  static int opens(const Token& token) { return token.is("(") || token.is("[") ? 1 : token.is(")") || token.is("]") ? -1 : 0; }

  bool is_word(std::string_view word) const { return peek().is_word(word); }

  /// Where targets end that begin at this token: a, (b, *c), x[0][1]. Nothing where these are none.
  std::optional<std::size_t> targets_end(std::size_t at = 0, int depth = 0) const {
    if (depth > 50) return std::nullopt;
    for (;;) {
      if (peek(at).is("*")) ++at;
      if (peek(at).is("(") || peek(at).is("[")) {
        const std::optional<std::size_t> close = targets_end(at + 1, depth + 1);
        if (!close || opens(peek(*close)) >= 0) return std::nullopt;
        at = *close + 1;
      } else if (peek(at).kind == TokenKind::name) {
        at = target_end(at);
      } else {
        return std::nullopt;
      }
      if (!peek(at).is(",")) return at;
      if (ends_targets(peek(++at))) return at;
    }
  }
  static bool ends_targets(const Token& token) { return token.is("=") || token.is(")") || token.is("]") || token.is_word("in"); }

  Target target() {
    Target one;
    one.rest = accept("*");
    const Token first = one.name = next();
    if (first.is("(") || first.is("[")) {
      Targets inner = targets();
      expect(first.is("(") ? ")" : "]", first);
      if (first.is("(") && !inner.several && !one.rest) return std::move(inner.list.front());  // (a) = 1
      one.inner = std::move(inner.list);
      return one;
    }
    if (first.kind != TokenKind::name) unexpected(first);
    check_assignable(first);
    while (peek().is("[")) {
      const Token opening = next();
      one.parts.push_back({indexes(opening), opening.offset});
    }
    return one;
  }
  Targets targets() {
    Targets made;
    do {
      if (!made.list.empty() && ends_targets(peek())) break;
      made.list.push_back(target());
      made.several |= peek().is(",");
    } while (accept(","));
    const auto rest = [](const Target& target) { return target.rest; };
    if (std::count_if(made.list.begin(), made.list.end(), rest) > (made.several ? 1 : 0)) throw Fault{made.list.front().name.offset, "one name among several takes the rest: a, *rest = …"};
    return made;
  }

  /// a = …; a, b = …; a[0], (b, *c) = …; a = b = …
  Value assignment() {
    std::vector<Targets> all;
    for (auto end = targets_end(); end && peek(*end).is("="); end = targets_end()) {
      Targets one = targets();
      if (!one.several && !one.list.front().inner.empty()) {  // (a, b) = …
        one.list = std::vector<Target>(one.list.front().inner);
        one.several = true;
      }
      one.equals = next().offset;
      all.push_back(std::move(one));
    }
    const Value value = expressions();
    Value worth;
    for (const Targets& targets : all) worth = assign_all(targets, value);
    return worth;
  }

  /// What the statement is worth.
  Value assign_all(const Targets& targets, Value value) {
    const Target& first = targets.list.front();
    if (!targets.several) {
      if (written_at_ == value.offset && first.parts.empty()) written_at_ = first.name.offset;
      value.offset = first.name.offset;
      assign_target(first, value, targets.equals);
      return first.parts.empty() ? value : Value{variable(first.name.text)->is, first.name.offset};
    }
    value.is = assign_each(targets.list, value, targets.equals);
    written_.clear();
    written_at_ = value.offset;
    for (const Target& target : targets.list)
      if (target.inner.empty()) written_.emplace_back(target.name.text);  // else, and where one takes the rest, the results have no names
    return value;
  }
  void assign_target(const Target& target, const Value& value, std::size_t equals) {
    if (!target.inner.empty()) assign_each(target.inner, value, equals);
    else if (target.parts.empty()) assign(target.name, value);
    else change(target, {.offset = equals, .by = value});
  }
  /// The items that were assigned.
  Tuple assign_each(const std::vector<Target>& list, const Value& value, std::size_t equals) {
    const auto rest = std::find_if(list.begin(), list.end(), [](const Target& target) { return target.rest; });
    const std::size_t before = static_cast<std::size_t>(rest - list.begin()), behind = rest == list.end() ? 0 : list.size() - before - 1, count = before + behind;
    const auto* tuple = value.as<Tuple>();
    const auto* tensor = value.as<Tensor>();
    const std::optional<std::size_t> size = tuple ? std::optional(tuple->size()) : tensor && tensor->ndim() > 0 ? std::optional(static_cast<std::size_t>(tensor->shape()[0])) : std::nullopt;
    if (!size || (rest == list.end() ? *size != count : *size < count))
      throw Fault{list.front().name.offset, fmt::format("{} name{} given {}", list.size(), list.size() == 1 ? " is" : "s are",
                                                        !tuple ? std::string(kind_name(value)) : fmt::format("a tuple of {}", tuple->size()))};
    Tuple items;
    if (tuple) items = *tuple;
    else for (const Tensor& slice : unstack(*tensor, 0, Location{})) items.push_back({slice, value.offset});
    for (std::size_t k = 0; k < before; ++k) assign_target(list[k], items[k], equals);
    if (rest == list.end()) return items;
    const auto left = items.begin() + static_cast<std::ptrdiff_t>(before), end = items.end() - static_cast<std::ptrdiff_t>(behind);
    Tuple others;
    others.assign(left, end);
    others.is_list = true;
    assign_target({.name = rest->name, .parts = rest->parts, .inner = rest->inner}, {std::move(others), value.offset}, equals);
    for (std::size_t k = 0; k < behind; ++k) assign_target(list[before + 1 + k], items[items.size() - behind + k], equals);
    return items;
  }

  /// What comes to stand in a part: a value, or what an operator makes of the part's and it.
  struct Change {
    const Operator* update = nullptr;
    std::size_t offset = 0;  // of the = or the operator
    Value by;
  };
  /// The name stands for a tensor or a list in which that part is another.
  Value change(const Target& target, const Change& change) {
    const Value* before = variable(target.name.text);
    if (!before) unknown(target.name, /*variables=*/true);
    Value after{with_part(*before, target, 0, change).is, target.name.offset};
    assign(target.name, after);
    return after;
  }
  /// x[0][1]: the part of a part is changed, then the part.
  Value with_part(const Value& whole, const Target& target, std::size_t level, const Change& change) {
    const auto& [index, opening] = target.parts[level];
    const bool last = level + 1 == target.parts.size();
    if (const auto* items = whole.as<Tuple>(); items && items->is_list) {
      if (index.size() != 1 || (index[0].kind() != Index::Kind::integer && !is_place(index[0]))) throw Fault{opening, "an item of a list is assigned to, by one integer"};
      Tuple list = *items;
      Value& item = list[place_in(list, index, opening)];
      item = !last ? with_part(item, target, level + 1, change) : change.update ? updated(*change.update, change.offset, item, change.by) : change.by;
      return {std::move(list), whole.offset};
    }
    const auto* before = whole.as<Tensor>();
    if (!before) throw Fault{opening, fmt::format("a part of {} cannot be assigned to", kind_name(whole))};
    Tensor after = *before;
    if (!last) {
      if (std::any_of(index.begin(), index.end(), [](const Index& i) { return i.kind() == Index::Kind::places && !is_place(i); }))
        throw Fault{opening, "what tensors of places choose is a copy, and the assignment to a part of it would be lost; write all of it as one index"};
      const Value part{recorded(opening, [&] { return std::as_const(after).at(index, Location{}); }), opening};
      const Value changed = with_part(part, target, level + 1, change);
      recorded(change.offset, [&] { after.at(index, Location{}) = *changed.as<Tensor>(); });
      return {after, whole.offset};
    }
    const Value value = beside_tensor(change.by);
    const Arg by = operand(value, change.update ? change.update->symbol : "=");
    recorded(change.offset, [&] {
      if (!change.update) after.at(index, Location{}) = by;
      else if (change.update->update_part) (after.at(index, Location{}).*change.update->update_part)(by);
      else after.at(index, Location{}) = change.update->record(std::as_const(after).at(index, Location{}), by);
    });
    return {after, whole.offset};
  }

  /// list.append(x), list.extend(y)
  Value appended() {
    const Token name = next();
    next();
    const bool whole = next().text == "extend";
    const std::vector<Argument> given = arguments({}).list;
    if (given.size() != 1 || !given[0].keyword.empty()) throw Fault{name.offset, whole ? "extend() takes a list" : "append() takes one value"};
    Bindings& scope = scopes_.back().contains(name.text) ? scopes_.back() : scopes_.front();
    auto& list = std::get<Tuple>(scope.find(name.text)->second.is);
    if (!whole) list.push_back(given[0].value);
    else for (const Value& item : items_of(given[0].value)) list.push_back(item);
    return {None{}, name.offset};
  }

  Value changed() {
    const Token name = *changed_in_place();
    if (!variable(name.text)) unknown(name, /*variables=*/true);
    Value value = expressions();
    assign(name, value);
    return value;
  }

  void assign(const Token& name, Value value) {
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

  /// The token behind a name, or behind name[…][…], that begins at this one.
  std::size_t target_end(std::size_t at) const {
    std::size_t end = at + 1;
    int open = 0;
    for (std::size_t k = end; (open > 0 || peek(k).is("[")) && peek(k).kind != TokenKind::end && peek(k).kind != TokenKind::separator; ++k)
      if ((open += opens(peek(k))) == 0) end = k + 1;
    return end;
  }

  /// name[mask] += expression
  Value update_part() {
    const Target to = target();
    if (const Value* before = variable(to.name.text); !before) unknown(to.name, /*variables=*/true);
    const Token symbol = next();
    return change(to, {find_update(symbol), symbol.offset, expressions()});
  }

  /// Scripts that begin as Python does.
  void import_numpy() {
    const Token word = next();
    const bool math = is_word("math");
    if (word.text != "import" || (!is_word("numpy") && !math)) throw Fault{word.offset, std::string(advice_on_word(word.text))};
    next();
    if (!math && is_word("as")) {
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
    parameters(function);
    expect(")", opening);
    if (peek().is("-") && peek(1).is(">")) next(), next(), pass_over(until({}));  // -> type
    if (!peek().is(":")) throw Fault{peek().offset, "':' is missing here; a function is defined as def name(parameter, other=value): …"};
    function.body = block(def);
    for (std::size_t k = function.body.begin; k < function.body.end; ++k)
      if (tokens_[k].is_word("def")) throw Fault{tokens_[k].offset, std::string(advice_on_word("def"))};
    if (peek().kind != TokenKind::end && peek().kind != TokenKind::separator) --at_;  // the line's end, which ends the statement
    functions_.push_back(std::move(function));
    assign(functions_.back().name, {Callable{functions_.size() - 1, nullptr}, functions_.back().name.offset});
  }

  Parameter parameter(const Definition& function, bool keyword_only) {
    const bool rest = accept("*");
    const Token name = next();
    if (name.is("**")) throw Fault{name.offset, "parameters are names, names with a value, *name and keywords behind *"};
    if (name.kind != TokenKind::name) unexpected(name);
    check_assignable(name);
    for (const Parameter& other : function.parameters)
      if (other.name == name.text) throw Fault{name.offset, fmt::format("{}() has two parameters '{}'", function.name.text, name.text)};
    if (!function.nameless && accept(":")) pass_over(until({}));  // a type
    if (rest) return {name.text, std::nullopt, false, true};
    if (accept("=")) return {name.text, expression(), keyword_only};
    if (!keyword_only && !function.parameters.empty() && function.parameters.back().otherwise)
      throw Fault{name.offset, fmt::format("'{}' without a value follows a parameter that has one", name.text)};
    return {name.text, std::nullopt, keyword_only};
  }
  /// a, b=2, /, c, *, d, e=3; *rest
  void parameters(Definition& function) {
    const std::string_view end = function.nameless ? ":" : ")";
    bool keyword_only = false;
    while (!peek().is(end)) {
      if (peek().is("/") && !function.parameters.empty()) next();
      else if (peek().is("*") && peek(1).is(",")) next(), keyword_only = true;
      else function.parameters.push_back(parameter(function, keyword_only)), keyword_only |= function.parameters.back().rest;
      if (!accept(",")) break;
    }
  }

  /// lambda a, b=2: expression
  Value nameless(const Token& word) {
    Definition function;
    function.name = word;
    function.nameless = true;
    if (scopes_.size() > 1) function.around = scopes_.back();
    parameters(function);
    if (!peek().is(":")) unexpected(peek());
    next();
    function.begin = at_;
    int open = 0;
    for (; peek().kind != TokenKind::end && peek().kind != TokenKind::separator; ++at_) {
      if (open == 0 && (peek().is(",") || opens(peek()) < 0)) break;
      open += opens(peek());
    }
    if (at_ == function.begin) unexpected(peek());
    functions_.push_back(std::move(function));
    return {Callable{functions_.size() - 1, nullptr}, word.offset};
  }

  /// What is recorded where a function is called, on these arguments.
  Value invoke(Definition& function, const std::vector<Argument>& given, const Token& name) {
    if (function.active) throw Fault{name.offset, fmt::format("{}() calls itself; there is no recursion here", name.text)};
    Bindings scope = bound(function, given, name);
    for (const auto& [around, value] : function.around) scope.emplace(around, value);
    const std::size_t back = std::exchange(at_, function.begin);
    std::optional<Value> result;
    try {
      scopes_.push_back(std::move(scope));
      function.active = true;
      if (function.nameless) {
        result = expression();
      } else {
        const Block body = function.body;
        const Flow flow = run_block(body);
        if (flow == Flow::broken || flow == Flow::continued) throw Fault{tokens_[body.begin].offset, "break and continue stand in a loop"};
        result = flow == Flow::returned ? *std::exchange(returned_, std::nullopt) : Value{None{}, name.offset};
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
  Value invoke(const Callable& callable, const std::vector<Argument>& given, std::size_t offset) {
    if (callable.function) return recorded(offset, [&] { return call_with_keywords(*callable.function, given, offset); }, callable.function->name);
    Token name = functions_[callable.number].name;
    name.offset = offset;
    return invoke(functions_[callable.number], given, name);
  }

  /// NumPy's functions that take functions: piecewise, apply_along_axis, fromfunction, vectorize. Nothing for others.
  std::optional<Value> of_functions(const Token& name, std::vector<Argument>& list) {
    const auto callable = [&](std::size_t k) { return k < list.size() ? list[k].value.as<Callable>() : nullptr; };
    const std::size_t offset = name.offset;
    if (name.text == "vectorize" && callable(0) && list.size() == 1) return list[0].value;
    if (name.text == "fromfunction" && callable(0) && list.size() > 1) {
      std::vector<Argument> places;
      const Value grid = call(*find_function("indices"), {{{}, list[1].value}}, offset);
      for (const Tensor& along : unstack(*grid.as<Tensor>(), 0, Location{})) places.push_back({{}, {list.size() > 2 ? along : astype(along, DType::float64), offset}});
      return invoke(*callable(0), places, offset);
    }
    if (name.text == "apply_along_axis" && callable(0) && list.size() == 3 && list[1].value.as<std::int64_t>()) return along_axis(*callable(0), *list[1].value.as<std::int64_t>(), array_of(list[2].value, name.text), offset);
    if (name.text == "piecewise" && list.size() == 3) {
      const Tuple* values = list[2].value.as<Tuple>();
      if (!values) return std::nullopt;
      Tuple computed;
      for (const Value& value : *values) computed.push_back(value.as<Callable>() ? invoke(*value.as<Callable>(), {list[0]}, value.offset) : value);
      list[2].value.is = std::move(computed);
    }
    return std::nullopt;
  }
  /// The function of each vector along the axis; its results lie where the axis was.
  Value along_axis(const Callable& callable, std::int64_t axis, const Tensor& x, std::size_t offset) {
    const Tensor last = recorded(offset, [&] { return moveaxis(x, axis, -1); });
    const std::int64_t size = last.shape().back(), count = size == 0 ? 0 : last.size() / size;
    if (count == 0 || count > 4096) throw Fault{offset, fmt::format("apply_along_axis() takes from 1 to 4096 vectors, not {}", count)};
    std::vector<Tensor> results;
    for (const Tensor& vector : unstack(reshape(last, Shape{count, size}), 0, Location{}))
      results.push_back(array_of(invoke(callable, {{{}, {vector, offset}}}, offset), "apply_along_axis"));
    return recorded(offset, [&]() -> Value {
      const Tensor all = stack(results, 0, Location{});
      Shape shape(last.shape().begin(), last.shape().end() - 1);
      shape.insert(shape.end(), results[0].shape().begin(), results[0].shape().end());
      const std::int64_t place = axis < 0 ? axis + x.ndim() : axis;
      std::vector<std::int64_t> from, to;
      for (int k = 0; k < results[0].ndim(); ++k) from.push_back(x.ndim() - 1 + k), to.push_back(place + k);
      return {moveaxis(reshape(all, shape), from, to), offset};
    });
  }

  Bindings bound(const Definition& function, const std::vector<Argument>& given, const Token& call) const {
    Bindings scope;
    const auto& parameters = function.parameters;
    const auto fault = [&](std::size_t offset, std::string_view what) {
      std::string takes;
      bool keywords = false;
      for (const Parameter& parameter : parameters) {
        const bool star = parameter.keyword_only && !std::exchange(keywords, true);
        keywords |= parameter.rest;
        takes += fmt::format("{}{}{}{}", takes.empty() ? "" : ", ", star ? "*, " : parameter.rest ? "*" : "", parameter.name, parameter.otherwise ? "=…" : "");
      }
      return Fault{offset, fmt::format("{}() {}; it takes {}", call.text, what, takes.empty() ? "nothing" : takes)};
    };
    const auto named = std::find_if(parameters.begin(), parameters.end(), [](const Parameter& parameter) { return parameter.keyword_only || parameter.rest; });
    const auto by_position = static_cast<std::size_t>(named - parameters.begin());
    std::optional<Tuple> rest;
    if (named != parameters.end() && named->rest) rest.emplace();
    for (std::size_t k = 0; k < given.size(); ++k) {
      const Argument& argument = given[k];
      std::size_t at = k;
      if (!argument.keyword.empty())
        for (at = 0; at < parameters.size() && (parameters[at].name != argument.keyword || parameters[at].rest);) ++at;
      const std::size_t last = argument.keyword.empty() ? by_position : parameters.size();
      if (at >= last && argument.keyword.empty() && rest) {
        rest->push_back(argument.value);
        continue;
      }
      if (at >= last)
        throw fault(argument.value.offset, argument.keyword.empty() ? "is given too many arguments" : fmt::format("has no parameter '{}'", argument.keyword));
      if (!scope.emplace(parameters[at].name, argument.value).second)
        throw fault(argument.value.offset, fmt::format("is given '{}' twice", parameters[at].name));
    }
    for (const Parameter& parameter : parameters) {
      if (parameter.rest) scope.insert_or_assign(std::string(parameter.name), Value{*rest, call.offset});
      if (scope.contains(parameter.name)) continue;
      if (!parameter.otherwise) throw fault(call.offset, fmt::format("needs '{}'", parameter.name));
      scope.emplace(parameter.name, *parameter.otherwise);
    }
    return scope;
  }

  std::string called_here(const Token& name, std::string_view what) const {
    return fmt::format("{}\n{}", what, point_at(text_, name.offset, fmt::format("{}() is called here", name.text)));
  }

  void check_assignable(const Token& name) const {
    if (const std::string_view advice = advice_on_word(name.text); !advice.empty()) throw Fault{name.offset, std::string(advice)};
    for (const Constant& constant : constants())
      if (constant.name == name.text && (constant.value.as<bool>() || name.text == "None"))
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

  /// The arm that is not taken is not looked at: it may be there because it would fail.
  Value expression() {
    const std::size_t before = until({"if"});
    if (!peek(before).is_word("if")) return disjunction();
    const Depth depth(*this);
    const std::size_t first = at_;
    pass_over(before);
    const std::size_t condition = at_;
    const Token word = next();
    const bool holds = truth(disjunction(), word);
    if (!is_word("else")) throw Fault{word.offset, "a conditional is written a if condition else b"};
    next();
    if (!holds) return expression();
    const std::size_t other = std::exchange(at_, first);
    Value value = disjunction();
    if (at_ != condition) unexpected(peek());
    at_ = other;
    pass_over(until({}));
    return value;
  }
  Value disjunction() {
    Value left = conjunction();
    while (is_word("or")) {
      const Token word = next();
      if (decided(left, word)) pass_over(until({"or", "if", "else"}));
      else left = connected(word, left, conjunction());
    }
    return left;
  }
  Value conjunction() {
    Value left = inversion();
    while (is_word("and")) {
      const Token word = next();
      if (decided(left, word)) pass_over(until({"and", "or", "if", "else"}));
      else left = connected(word, left, inversion());
    }
    return left;
  }
  /// Whether nothing is left to ask for. Of a tensor that is not known without evaluating it.
  bool decided(const Value& left, const Token& word) { return !left.as<Tensor>() && truth(left, word) == (word.text == "or"); }

  /// How many tokens stand before the first of these words, or before what ends an expression, outside of brackets.
  std::size_t until(std::initializer_list<std::string_view> words) const {
    int open = 0;
    for (std::size_t k = 0;; ++k) {
      const Token& token = peek(k);
      if (token.kind == TokenKind::end) return k;
      if (open == 0) {
        if (token.kind == TokenKind::separator || token.is(",") || token.is(":") || token.is("=") || token.is_word("for")) return k;
        if (std::any_of(words.begin(), words.end(), [&](std::string_view word) { return token.is_word(word); })) return k;
      }
      open += opens(token);
      if (open < 0) return k;
    }
  }
  /// What is not evaluated is used all the same.
  void pass_over(std::size_t count) {
    for (const std::size_t end = at_ + count; at_ < end; ++at_)
      if (const auto found = bindings_.find(peek().text); peek().kind == TokenKind::name && found != bindings_.end()) used_.insert(found->first);
  }
  Value inversion() {
    if (!is_word("not")) return binary(kLoosest);
    const Depth depth(*this);
    const Token word = next();
    const Value x = inversion();
    if (const Tensor* tensor = x.as<Tensor>(); tensor && tensor->size() == 1) return {logical_not(*tensor), word.offset};
    return {!truth(x, word), word.offset};
  }

  /// Python's truth; of a tensor of one element, which is evaluated.
  bool truth(const Value& value, const Token& word) {
    if (value.is_number()) return operand(value, word.text).as_double() != 0;
    if (value.as<None>()) return false;
    if (const auto* text = value.as<std::string>()) return !text->empty();
    if (const auto* tuple = value.as<Tuple>(); tuple && !tuple->is_complex) return !tuple->empty();
    const auto* tensor = value.as<Tensor>();
    if (!tensor) throw Fault{word.offset, fmt::format("'{}' asks whether {} is true", word.text, kind_name(value))};
    if (tensor->size() != 1) throw Fault{word.offset, std::string(advice_on_word(word.text))};
    return recorded(word.offset, [&] { return astype(*tensor, DType::bool_).item<bool>(Location{}); });
  }
  /// and, or: of two conditions of one element another one, which nothing evaluates.
  Value connected(const Token& word, const Value& left, const Value& right) {
    const bool both = word.text == "and";
    const auto condition = [](const Value& value) { return value.as<bool>() || (value.as<Tensor>() && value.as<Tensor>()->size() == 1 && is_bool(value.as<Tensor>()->dtype())); };
    if ((left.as<Tensor>() || right.as<Tensor>()) && condition(left) && condition(right)) {
      const Arg a = operand(left, word.text), b = operand(right, word.text);
      return {both ? logical_and(a, b) : logical_or(a, b), word.offset};
    }
    if (right.as<Tensor>() && right.as<Tensor>()->size() != 1) truth(right, word);  // which refuses it
    return truth(left, word) == both ? right : left;
  }

  Value binary(int loosest) {
    Value left = unary();
    while (loosest <= kComparison && (is_word("in") || is_word("is") || (is_word("not") && peek(1).is_word("in")))) left = membership(left);
    while (const Operator* row = find_operator(peek())) {
      if (row->strength < loosest) break;
      const Token symbol = next();
      const Value right = binary(row->strength + 1);
      left = apply(*row, symbol.offset, left, right);
      if (row->strength == kComparison) return chained(std::move(left), right);
    }
    return left;
  }

  /// x in list, x not in tensor, x is None, x is not None
  Value membership(const Value& left) {
    const Token word = next();
    bool negated = word.text == "not";
    if (negated) next();
    if (word.text == "is") {
      if (is_word("not")) next(), negated = true;
      const Value right = binary(kComparison + 1);
      const bool both = left.as<None>() && right.as<None>(), truths = left.as<bool>() && right.as<bool>() && *left.as<bool>() == *right.as<bool>();
      const bool types = left.as<DType>() && right.as<DType>() && *left.as<DType>() == *right.as<DType>();
      if (!right.as<None>() && !right.as<bool>() && !right.as<DType>()) throw Fault{word.offset, "'is' asks for None, True, False or a dtype; values are compared by =="};
      return {(both || truths || types) != negated, word.offset};
    }
    const Value right = binary(kComparison + 1);
    if (const auto* tensor = right.as<Tensor>()) {
      const Arg x = operand(left, "in");
      const Tensor found = recorded(word.offset, [&] { return any(equal(*tensor, x)); });
      return {negated ? logical_not(found) : found, word.offset};
    }
    const auto* list = right.as<Tuple>();
    if (!list || right.is_complex()) throw Fault{word.offset, fmt::format("'in' looks into a list or a tensor, not into {}", kind_name(right))};
    const auto same = [&](const Value& item) {
      if (left.as<std::string>() || item.as<std::string>()) return left.as<std::string>() && item.as<std::string>() && *left.as<std::string>() == *item.as<std::string>();
      if (left.as<DType>() || item.as<DType>()) return left.as<DType>() && item.as<DType>() && *left.as<DType>() == *item.as<DType>();
      if (left.as<None>() || item.as<None>()) return left.as<None>() && item.as<None>();
      return truth(apply(*find_operator({.kind = TokenKind::symbol, .text = "=="}), word.offset, left, item), word);
    };
    return {std::any_of(list->begin(), list->end(), same) != negated, word.offset};
  }

  /// a < b < c is (a < b) and (b < c), of numbers and tensors of one element.
  Value chained(Value left, Value middle) {
    for (const Operator* row = find_operator(peek()); row && row->strength == kComparison; row = find_operator(peek())) {
      const Token symbol = next();
      for (const Value* side : {&left, &middle})
        if (side->as<Tensor>() && side->as<Tensor>()->size() != 1) throw Fault{symbol.offset, "comparisons of arrays cannot be chained; write (a < b) & (b < c)"};
      const Value right = binary(kComparison + 1);
      Token word = symbol;
      word.text = "and";
      left = connected(word, left, apply(*row, symbol.offset, middle, right));
      middle = right;
    }
    return left;
  }

  Value apply(const Operator& row, std::size_t offset, const Value& left, const Value& right) {
    if (left.is_number() && right.is_number()) return scalar_binary(row.symbol, left, right, offset);
    if (left.as<DType>() && right.as<DType>() && row.strength == kComparison && (row.symbol == "==" || row.symbol == "!="))
      return {(*left.as<DType>() == *right.as<DType>()) == (row.symbol == "=="), offset};
    if (left.as<Tuple>() && right.as<Tuple>() && !left.is_complex() && !right.is_complex() && (row.symbol == "==" || row.symbol == "!="))
      return {equal_tuples(*left.as<Tuple>(), *right.as<Tuple>()) == (row.symbol == "=="), offset};
    if (left.is_complex() || right.is_complex()) return recorded(offset, [&] { return complex_binary(row.symbol, left, right, offset); });
    if (left.as<std::string>() && right.as<std::string>()) {
      if (row.symbol == "+") return {*left.as<std::string>() + *right.as<std::string>(), offset};
      if (row.symbol == "==" || row.symbol == "!=") return {(*left.as<std::string>() == *right.as<std::string>()) == (row.symbol == "=="), offset};
    }
    if ((left.as<None>() || right.as<None>()) && (row.symbol == "==" || row.symbol == "!="))
      return {(left.as<None>() && right.as<None>()) == (row.symbol == "=="), offset};
    if (!left.as<Tensor>() && !right.as<Tensor>()) return {joined(row.symbol, left, right, offset), offset};
    const Value a = beside_tensor(left), b = beside_tensor(right);
    const Arg x = operand(a, row.symbol), y = operand(b, row.symbol);
    return {recorded(offset, [&] { return row.record(x, y); }), offset};
  }

  /// An operand beside complex numbers of this type.
  static Complex complex_operand(const Value& value, std::string_view symbol, DType dtype) {
    if (value.is_complex()) return {*(*value.as<Tuple>())[0].as<Tensor>(), *(*value.as<Tuple>())[1].as<Tensor>()};
    const Tensor re = value.is_number() ? full({}, operand(value, symbol), dtype) : array_of(value, symbol);
    return {re, zeros_like(re)};
  }
  static Value complex_binary(std::string_view symbol, const Value& left, const Value& right, std::size_t offset) {
    const DType dtype = (*(left.is_complex() ? left : right).as<Tuple>())[0].as<Tensor>()->dtype();
    const Complex a = complex_operand(left, symbol, dtype), b = complex_operand(right, symbol, dtype);
    const auto* exponent = right.as<std::int64_t>();
    const auto both = [&](const Complex& z) {
      Tuple parts{Value{z.re, offset}, Value{z.im, offset}};
      parts.is_complex = true;
      return Value{std::move(parts), offset};
    };
    if (symbol == "+") return both(a + b);
    if (symbol == "-") return both(a - b);
    if (symbol == "*" && !right.is_complex()) return both({a.re * b.re, a.im * b.re});
    if (symbol == "*" && !left.is_complex()) return both({a.re * b.re, a.re * b.im});
    if (symbol == "*" || (symbol == "**" && exponent && *exponent == 2)) return both(a * (symbol == "*" ? b : a));
    if (symbol == "/" && !right.is_complex()) return both({a.re / b.re, a.im / b.re});
    if (symbol == "/") return both(a / b);
    if (symbol == "==") return {logical_and(a.re == b.re, a.im == b.im), offset};
    if (symbol == "!=") return {logical_or(a.re != b.re, a.im != b.im), offset};
    throw Fault{offset, fmt::format("{} does not take complex numbers, a pair (re, im); there are +, -, *, /, == and != of them, and abs(z), z.real and z.imag are real", symbol)};
  }

  /// What an operator or an assignment reads beside a tensor: a list is an array there.
  static Value beside_tensor(const Value& value) { return value.as<Tuple>() ? Value{array_of(value, "array"), value.offset} : value; }

  /// x.shape == (3, 4): tuples of numbers.
  static bool equal_tuples(const Tuple& a, const Tuple& b) {
    const auto same = [](const Value& x, const Value& y) {
      if (x.as<Tuple>() && y.as<Tuple>()) return equal_tuples(*x.as<Tuple>(), *y.as<Tuple>());
      for (const Value* value : {&x, &y})
        if (!value->is_number()) throw Fault{value->offset, fmt::format("tuples with {} are not compared; array_equal() compares tensors", kind_name(*value))};
      return *scalar_binary("==", x, y, x.offset).as<bool>();
    };
    return a.is_list == b.is_list && a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), same);
  }

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
    if (x.is_complex() && !token.is("~"))
      return recorded(token.offset, [&] { return call(*find_function(token.is("-") ? "negative" : "positive"), {{{}, x}}, token.offset); });
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
      case TokenKind::integer: return token.above_int64 ? Value{static_cast<std::uint64_t>(token.integer), token.offset} : Value{token.integer, token.offset};
      case TokenKind::floating: return {token.floating, token.offset};
      case TokenKind::string: return token.formatted ? formatted(token) : Value{std::string(token.text), token.offset};
      case TokenKind::name: return token.text == "lambda" ? nameless(token) : named(token);
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
    if (const std::size_t at = comprehension()) return comprehended(opening, at);
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

  /// Where the `for` of [… for name in …] stands; 0 in another list.
  std::size_t comprehension(std::string_view close = "]") const {
    int open = 1;
    for (std::size_t k = 0; peek(k).kind != TokenKind::end && open > 0; ++k) {
      if (open == 1 && peek(k).is(",") && close == ")") return 0;
      if (open == 1 && k > 0 && peek(k).kind == TokenKind::name && peek(k).text == "for") return at_ + k;
      open += opens(peek(k));
    }
    return 0;
  }
  /// The item is read once for each value of the names for which the conditions hold.
  Value comprehended(const Token& opening, std::size_t word, std::string_view close = "]") {
    const Depth depth(*this);
    Comprehension made{.item = std::exchange(at_, word + 1), .word = word};
    const Bindings before = scopes_.back();
    clause(made);
    for (const std::string& name : made.names) {  // which mean outside what they meant before
      scopes_.back().erase(name);
      if (const auto found = before.find(name); found != before.end()) scopes_.back().emplace(name, found->second);
    }
    at_ = made.item;
    int open = 0;
    while (open > 0 || !(peek().is("]") || peek().is(")"))) {
      if (peek().kind == TokenKind::end) break;
      open += opens(next());
    }
    expect(close, opening);
    written_.clear();
    made.items.is_list = true;
    return {std::move(made.items), opening.offset};
  }
  struct Comprehension {
    std::size_t item = 0, word = 0;  // where the item begins and the first `for` stands
    Tuple items = {};
    std::set<std::string> names = {};
  };
  static void add_names(const std::vector<Target>& targets, std::set<std::string>& names) {
    for (const Target& target : targets)
      if (target.inner.empty()) names.emplace(target.name.text);
      else add_names(target.inner, names);
  }
  /// What follows a `for`: names in list, conditions, further clauses.
  void clause(Comprehension& made) {
    const Targets names = loop_names(tokens_[at_ - 1]);
    const std::vector<Value> values = items_of(disjunction());
    std::vector<std::size_t> conditions;
    while (is_word("if")) {
      next();
      conditions.push_back(at_);
      pass_over(until({"if"}));
    }
    const std::size_t inner = is_word("for") ? at_ + 1 : 0;  // of a further clause
    if (inner == 0 && !peek().is("]") && !peek().is(")")) unexpected(peek());
    add_names(names.list, made.names);
    for (const Value& value : values) {
      name_item(names, value);
      const bool chosen = std::all_of(conditions.begin(), conditions.end(), [&](std::size_t condition) {
        at_ = condition;
        return truth(disjunction(), tokens_[made.word]);
      });
      if (!chosen) continue;
      at_ = inner != 0 ? inner : made.item;
      if (inner != 0) {
        clause(made);
        continue;
      }
      made.items.push_back(expression());
      if (at_ != made.word) unexpected(peek());
      if (++listed_ > 1000000) throw Fault{tokens_[made.word].offset, "lists made of others hold a million items at most; tensors hold more"};
    }
  }

  /// np.mgrid[0:3, 0:4], np.ogrid[…], np.r_[1, 2, x], np.c_[x, y]: what stands in brackets is numbers, arrays and ranges.
  Value grid(const Token& name) {
    const Token opening = next();
    std::vector<Value> items;
    std::vector<Tensor> ranges;
    while (!peek().is("]")) {
      const std::size_t offset = peek().offset;
      std::optional<Value> start;
      if (!peek().is(":")) start = expression();
      if (!peek().is(":")) {
        items.push_back(*start);
      } else {
        std::vector<Argument> ends{{{}, start.value_or(Value{std::int64_t{0}, offset})}};
        for (next(); !peek().is("]") && !peek().is(","); accept(":")) ends.push_back({{}, expression()});
        if (ends.size() < 2 || ends.size() > 3) throw Fault{offset, fmt::format("a range of {} is start:stop or start:stop:step", name.text)};
        items.push_back(recorded(offset, [&] { return call(*find_function("arange"), std::move(ends), offset); }));
        ranges.push_back(*items.back().as<Tensor>());
      }
      if (!accept(",")) break;
    }
    expect("]", opening);
    if (items.empty()) throw Fault{opening.offset, "an index is missing here"};
    return recorded(opening.offset, [&]() -> Value {
      if (name.text == "mgrid" || name.text == "ogrid") {
        if (ranges.size() != items.size()) throw Fault{opening.offset, fmt::format("{} takes ranges, as {}[0:3, 0:4]", name.text, name.text)};
        if (ranges.size() == 1) return {ranges[0], opening.offset};
        const std::string_view make = name.text == "mgrid" ? "meshgrid" : "ix_";
        std::vector<Argument> each;
        for (Value& item : items) each.push_back({{}, std::move(item)});
        if (make == "meshgrid") each.push_back({"indexing", {std::string("ij"), opening.offset}});
        Value grids = call(*find_function(make), std::move(each), opening.offset);
        return make == "ix_" ? grids : Value{array_of(grids, name.text), opening.offset};
      }
      Tuple parts;
      for (const Value& item : items) parts.push_back({atleast_1d(array_of(item, name.text)), item.offset});
      return call(*find_function(name.text == "r_" ? "concatenate" : "column_stack"), {{{}, {std::move(parts), opening.offset}}}, opening.offset);
    });
  }

  /// np.s_[1:3, ::2], np.index_exp[…]: the index as a value.
  Value as_index(const Token& name) {
    const Token opening = next();
    Tuple items;
    bool several = name.text == "index_exp";
    while (!peek().is("]")) {
      if (peek().is(":")) items.push_back({slice_from(std::nullopt).slice(), opening.offset});
      else if (Value value = expression(); peek().is(":")) items.push_back({slice_from(slice_end(value)).slice(), value.offset});
      else items.push_back(std::move(value));
      if (!accept(",")) break;
      several = true;
    }
    if (items.empty()) throw Fault{opening.offset, "an index is missing here"};
    expect("]", opening);
    if (!several) return items.front();
    return {std::move(items), opening.offset};
  }

  Value named(const Token& token) {
    if (token.text == "math" && peek().is(".") && !variable(token.text)) {
      next();
      return of_math(next());
    }
    if ((token.text == "np" || token.text == "numpy") && peek().is(".") && !variable(token.text)) {
      const auto member = [&] {
        next();
        const Token name = next();
        if (name.kind != TokenKind::name) unexpected(name);
        return name;
      };
      Token name = member(), module;
      while (peek().is(".") && (name.text == "linalg" || name.text == "random" || name.text == "fft" || name.text == "lib" || name.text == "stride_tricks")) {
        module = name;
        name = member();
      }
      if (peek().is("(") && (name.text == "default_rng" || name.text == "RandomState")) return new_generator(name);
      if (peek().is("("))
        if (const Function* function = find_member(module.text, name.text)) return call_of(*function, name, {});
      return meaning(name, /*variables=*/false);
    }
    return meaning(token, /*variables=*/true);
  }

  /// math.sqrt(2), math.pi: of numbers, as Python has them.
  Value of_math(const Token& name) {
    if (!peek().is("(")) {
      if (name.text == "tau") return {2 * std::numbers::pi, name.offset};
      for (const Constant& constant : constants())
        if (constant.name == name.text && constant.value.as<double>()) return {constant.value.is, name.offset};
      throw Fault{name.offset, fmt::format("math has no number '{}'", name.text)};
    }
    std::vector<Value> numbers;
    for (const Argument& argument : arguments({}).list) {
      const Tensor* tensor = argument.value.as<Tensor>();
      numbers.push_back(tensor && tensor->size() == 1 ? recorded(name.offset, [&] { return numbers_of(reshape(*tensor, Shape{}), name.offset); }) : argument.value);
    }
    return scalar_function(name.text, numbers, name.offset);
  }

  /// rng.normal(size=3): each call under a key of its own.
  Value drawn(const Callable& callable, const Token& method) {
    const Function* function = find_member("random", method.text);
    if (!function || !peek().is("(") || !takes_key(*function)) throw Fault{method.offset, fmt::format("a generator of random numbers has no method '{}'; there are random, normal, uniform, integers, choice, permutation, shuffle and others", method.text)};
    Generator& generator = generators_[callable.number];
    const auto key = static_cast<std::int64_t>(random::Key(generator.seed).fold_in(generator.calls++).bits());
    std::vector<Argument> given = arguments({}).list;
    given.push_back({"key", {key, method.offset}});
    return recorded(method.offset, [&] { return call_with_keywords(*function, given, method.offset); }, function->name);
  }
  static bool takes_key(const Function& function) { return function.parameters.find(" key") != std::string_view::npos; }
  Value new_generator(const Token& name) {
    const std::vector<Argument> given = arguments({}).list;
    const auto* seed = given.size() == 1 ? given[0].value.as<std::int64_t>() : nullptr;
    if (!seed) throw Fault{name.offset, fmt::format("{}() takes a seed here: no numbers are drawn that another run would not draw", name.text)};
    generators_.push_back({static_cast<std::uint64_t>(*seed), 0});
    return {Callable{generators_.size() - 1, nullptr, true}, name.offset};
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
      if (const Value* value = variable(token.text)) return {value->is, token.offset};
    }
    for (const Constant& constant : constants())
      if (constant.name == token.text) return {constant.value.is, token.offset};
    if (peek().is("("))
      if (const Function* function = find_function(token.text)) return call_of(*function, token, {}, variables);
    if (peek().is("(") && (token.text == "apply_along_axis" || token.text == "fromfunction" || token.text == "vectorize")) {
      std::vector<Argument> given = arguments({}).list;
      if (const auto value = of_functions(token, given)) return *value;
      throw Fault{token.offset, fmt::format("{0}() takes a function first: {0}({1})", token.text, token.text == "vectorize" ? "f" : token.text == "fromfunction" ? "f, shape" : "f, axis, array")};
    }
    if (variables && peek().is("(") && token.text == "print") return printed(token);
    if (peek().is("(") && (token.text == "set_printoptions" || token.text == "seterr")) return settings(token);
    if (variables && peek().is("(") && (token.text == "int" || token.text == "float") && !peek(1).is(")")) return as_python(token);
    if (const auto dtype = find_dtype(token.text)) return {*dtype, token.offset};
    if (peek().is("[") && (token.text == "s_" || token.text == "index_exp")) return as_index(token);
    if (peek().is("[") && (token.text == "mgrid" || token.text == "ogrid" || token.text == "r_" || token.text == "c_")) return grid(token);
    if (const Function* function = find_function(token.text)) {
      if (peek().is(".") && is_ufunc_method(peek(1).text) && peek(2).is("(")) {
        next();
        const Token method = next();
        return recorded(method.offset, [&] { return call_ufunc_method(*function, method.text, arguments({}).list, method.offset); });
      }
      if (peek().is(",") || peek().is(")") || peek().is("]")) return {Callable{0, function}, token.offset};  // handed to another one
      throw Fault{token.offset, fmt::format("'{}' is a function; call it: {}(…)", token.text, token.text)};
    }
    if (!variables)
      if (const std::string_view kind = find_kind(token.text); !kind.empty()) return {std::string(kind), token.offset};
    if (const std::string_view advice = advice_on_word(token.text); !advice.empty()) throw Fault{token.offset, std::string(advice)};
    unknown(token, variables);
  }

  /// int(x), float(x): of numbers Python's, of tensors a conversion that is recorded.
  Value as_python(const Token& token) {
    const bool whole = token.text == "int";
    std::vector<Argument> list = arguments({}).list;
    if (list.size() == 1 && list[0].keyword.empty()) {
      const Value& value = list[0].value;
      if (value.as<double>() && whole) {
        const double number = std::trunc(*value.as<double>());
        if (!(std::fabs(number) < 0x1p63)) throw Fault{value.offset, fmt::format("{} does not fit in an integer of 64 bits", *value.as<double>())};
        return {static_cast<std::int64_t>(number), token.offset};
      }
      if (value.as<bool>() && whole) return {std::int64_t{*value.as<bool>()}, token.offset};
      if (value.is_number()) return whole ? Value{value.is, token.offset} : Value{operand(value, token.text).as_double(), token.offset};
      if (const auto* text = value.as<std::string>()) {
        if (*text == "inf" || *text == "-inf" || *text == "nan") return {std::strtod(text->c_str(), nullptr), token.offset};
        throw Fault{value.offset, "numbers are not read from strings, but for float('inf') and float('nan')"};
      }
    }
    list.push_back({"dtype", {whole ? DType::int64 : DType::float64, token.offset}});
    return recorded(token.offset, [&] { return call(*find_function("astype"), std::move(list), token.offset); });
  }

  /// np.set_printoptions(precision=3, suppress=True) for what is printed from here on; np.seterr(…): nothing is warned of in any case.
  Value settings(const Token& token) {
    for (const Argument& argument : arguments({}).list) {
      if (token.text == "seterr") continue;
      const auto* number = argument.value.as<std::int64_t>();
      const auto* truth = argument.value.as<bool>();
      if (argument.keyword == "precision" && number) printing_.precision = static_cast<int>(*number);
      else if (argument.keyword == "threshold" && number) printing_.threshold = *number;
      else if (argument.keyword == "edgeitems" && number) printing_.edgeitems = *number;
      else if (argument.keyword == "linewidth" && number) printing_.linewidth = static_cast<int>(*number);
      else if (argument.keyword == "suppress" && truth) printing_.suppress = *truth;
      else throw Fault{argument.value.offset, "set_printoptions() takes precision, threshold, edgeitems, linewidth and suppress by keyword"};
    }
    return {None{}, token.offset};
  }

  [[noreturn]] void unknown(const Token& token, bool variables) const {
    std::vector<std::string_view> known;
    if (variables) {
      for (const auto& [name, value] : bindings_) known.push_back(name);
      for (const Bindings* scope : {&scopes_.back(), &scopes_.front()})
        for (const auto& [name, value] : *scope) known.push_back(name);
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

  struct Given {
    std::vector<Argument> list;
    std::optional<Token> out;  // the name of out=name, which gets the result
  };
  Given arguments(std::vector<Argument> list) {
    const Token opening = next();
    std::optional<Token> out;
    while (!peek().is(")")) {
      Argument argument;
      if (peek().kind == TokenKind::name && peek(1).is("=")) {
        argument.keyword = next().text;
        next();
      } else if (!list.empty() && !list.back().keyword.empty()) {
        throw Fault{peek().offset, "a positional argument follows a keyword argument"};
      }
      if (argument.keyword.empty() && peek().is("*")) {  // f(*list)
        next();
        for (const Value& item : items_of(expression())) list.push_back({{}, item});
        if (!accept(",")) break;
        continue;
      }
      if (list.empty() && argument.keyword.empty())
        if (const std::size_t at = comprehension(")")) {  // sum(x for x in …)
          list.push_back({{}, comprehended(opening, at, ")")});
          return {std::move(list), out};
        }
      if (argument.keyword == "out" && peek().kind == TokenKind::name && (peek(1).is(",") || peek(1).is(")")) && variable(peek().text)) out = peek();
      argument.value = expression();
      list.push_back(std::move(argument));
      if (!accept(",")) break;
    }
    expect(")", opening);
    return {std::move(list), out};
  }

  /// `bare`: written without np., where Python has functions of some of the names.
  Value call_of(const Function& function, const Token& name, std::vector<Argument> first, bool bare = false) {
    const bool method = !first.empty();
    auto [list, out] = arguments(std::move(first));
    if (const auto value = of_functions(name, list)) return *value;
    if (bare)
      if (const auto value = of_numbers(function, list, name.offset)) return *value;
    if (method && function.name == "compress" && list.size() > 1) {  // the one method whose tensor comes second in the function
      if (list[1].keyword.empty()) std::swap(list[0].value, list[1].value);
      else list[0].keyword = "a";
    }
    Value value = recorded(name.offset, [&, list = std::move(list)] { return call_with_keywords(function, list, name.offset); }, function.name);
    if (out) assign(*out, value);
    return value;
  }

  /// Python's max(1, 2) and min(a, b) of numbers, whose second would be an axis; abs and round of one number, which stays one; the sum of a list of
  /// tensors, which is a tensor.
  std::optional<Value> of_numbers(const Function& function, const std::vector<Argument>& list, std::size_t offset) {
    const std::string_view name = function.name;
    for (const Argument& argument : list)
      if (!argument.keyword.empty()) return std::nullopt;
    if (name == "sum" && list.size() == 1) {
      const Tuple* items = list[0].value.as<Tuple>();
      if (items && items->empty()) return Value{std::int64_t{0}, offset};
      if (!items || !items->is_list || !items->front().as<Tensor>() || items->front().as<Tensor>()->ndim() == 0) return std::nullopt;
      Value total = items->front();
      for (std::size_t k = 1; k < items->size(); ++k) total = apply(*find_operator({.kind = TokenKind::symbol, .text = "+"}), offset, total, (*items)[k]);
      return total;
    }
    const auto scalar = [](const Argument& argument) { return argument.value.is_number() || (argument.value.as<Tensor>() && argument.value.as<Tensor>()->ndim() == 0); };
    if ((name == "max" || name == "min") && list.size() > 1 && std::all_of(list.begin(), list.end(), scalar) && std::any_of(list.begin(), list.end(), [](const Argument& argument) { return argument.value.as<Tensor>(); })) {
      Value best = list[0].value;
      for (std::size_t k = 1; k < list.size(); ++k) best = call(*find_function(name == "max" ? "maximum" : "minimum"), {{{}, best}, {{}, list[k].value}}, offset);
      return best;
    }
    for (const Argument& argument : list)
      if (!argument.value.is_number()) return std::nullopt;
    if (name == "abs" && list.size() == 1) return *scalar_binary("<", list[0].value, {std::int64_t{0}}, offset).as<bool>() ? scalar_unary("-", list[0].value, offset) : scalar_unary("+", list[0].value, offset);
    if (name == "round" && !list.empty() && list[0].value.as<double>()) {
      const double x = *list[0].value.as<double>();
      const std::int64_t digits = list.size() > 1 ? whole_number(list[1].value) : 0;
      if (!std::isfinite(x) || digits < 0 || digits > 300) return std::nullopt;
      const double rounded = std::strtod(fmt::format("{:.{}f}", x, digits).c_str(), nullptr);
      if (list.size() > 1) return Value{rounded, offset};
      return std::fabs(rounded) < 0x1p63 ? std::optional<Value>({static_cast<std::int64_t>(rounded), offset}) : std::nullopt;
    }
    if ((name != "max" && name != "min") || list.size() < 2) return std::nullopt;
    Value best = list[0].value;
    for (const Argument& argument : list)
      if (*scalar_binary(name == "max" ? ">" : "<", argument.value, best, offset).as<bool>()) best = argument.value;
    return Value{best.is, offset};
  }

  /// float32(x) converts, as in NumPy.
  Value called(const Value& value) {
    if (const auto* callable = value.as<Callable>()) return invoke(*callable, arguments({}).list, value.offset);
    const auto* dtype = value.as<DType>();
    if (!dtype) throw Fault{peek().offset, fmt::format("{} cannot be called", kind_name(value))};
    std::vector<Argument> list = arguments({}).list;
    list.push_back({"dtype", {*dtype, value.offset}});
    return recorded(value.offset, [&] { return call(*find_function("astype"), std::move(list), value.offset); });
  }

  Value attribute(Value value) {
    next();
    const Token name = next();
    if (name.kind != TokenKind::name) unexpected(name);
    if (const auto* limits = value.as<Limits>()) return limit(limits->dtype, name);
    if (const auto* callable = value.as<Callable>(); callable && callable->is_generator) return drawn(*callable, name);
    if (const auto* slice = value.as<Slice>(); slice && (name.text == "start" || name.text == "stop" || name.text == "step")) {
      const std::optional<std::int64_t>& end = name.text == "start" ? slice->start : name.text == "stop" ? slice->stop : slice->step;
      return end ? Value{*end, name.offset} : Value{None{}, name.offset};
    }
    if (value.is_complex()) return complex_attribute(std::move(value), name);
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
    if (name.text == "flat") return {reshape(*tensor, Shape{-1}), name.offset};
    if (peek().is("(")) {
      if (name.text == "item") return item_of(*tensor, name);
      if (name.text == "tolist") {
        expect_no_arguments(name);
        return recorded(name.offset, [&] { return numbers_of(*tensor, name.offset); });
      }
      if (name.text == "fill") return call_of(*find_function("full_like"), name, {{{}, std::move(value)}});
    }
    const Function* function = find_function(name.text);
    if (!function) {
      std::vector<std::string_view> known{"T", "mT", "flat", "fill", "item", "tolist", "ndim", "size", "itemsize", "nbytes", "dtype", "shape", "real", "imag"};
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

  void expect_no_arguments(const Token& name) {
    const Token opening = next();
    if (!peek().is(")")) throw Fault{peek().offset, fmt::format("{}() takes no arguments", name.text)};
    expect(")", opening);
  }
  /// x.item(), x.item(3): the element as a number of Python's, which evaluates.
  Value item_of(const Tensor& tensor, const Token& name) {
    const std::vector<Argument> given = arguments({}).list;
    return recorded(name.offset, [&] {
      if (given.empty() && tensor.size() != 1) throw Fault{name.offset, fmt::format("item() of {} elements; item(k) is one of them", tensor.size())};
      if (given.empty()) return numbers_of(reshape(tensor, Shape{}), name.offset);
      std::vector<Index> index;
      for (const Argument& argument : given) index.push_back(index_of(argument.value));
      const Tensor element = (given.size() == 1 ? reshape(tensor, Shape{-1}) : tensor).at(index, Location{});
      if (element.ndim() != 0) throw Fault{name.offset, "item() takes an integer for each axis, or one into the flat tensor"};
      return numbers_of(element, name.offset);
    });
  }
  /// Numbers and lists of them, as Python has them.
  static Value numbers_of(const Tensor& tensor, std::size_t offset) {
    std::vector<Value> flat;
    const auto read = [&]<class E>(const std::vector<E>& elements) {
      for (const E element : elements) flat.push_back({element, offset});
    };
    if (is_bool(tensor.dtype())) {
      for (const bool element : tensor.to_vector<bool>(Location{})) flat.push_back({element, offset});
    } else if (is_floating(tensor.dtype())) {
      read(astype(tensor, DType::float64).to_vector<double>(Location{}));
    } else if (tensor.dtype() == DType::uint64) {
      for (const std::uint64_t element : tensor.to_vector<std::uint64_t>(Location{}))
        if (element > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) flat.push_back({element, offset});
        else flat.push_back({static_cast<std::int64_t>(element), offset});
    } else {
      read(astype(tensor, DType::int64).to_vector<std::int64_t>(Location{}));
    }
    auto next_one = flat.begin();
    return nested(tensor.shape(), 0, next_one, offset);
  }
  static Value nested(const Shape& shape, std::size_t level, std::vector<Value>::iterator& next_one, std::size_t offset) {
    if (level == shape.size()) return *next_one++;
    Tuple items;
    items.is_list = true;
    for (std::int64_t k = 0; k < shape[level]; ++k) items.push_back(nested(shape, level + 1, next_one, offset));
    return {std::move(items), offset};
  }

  /// fft(x).real, fft(x).conj()
  Value complex_attribute(Value value, const Token& name) {
    const Tuple& parts = *value.as<Tuple>();
    const Tensor& re = *parts[0].as<Tensor>();
    if (peek().is("(")) {
      if (const Function* function = find_function(name.text)) return call_of(*function, name, {{{}, std::move(value)}});
    } else if (name.text == "real" || name.text == "imag") {
      return {parts[name.text == "real" ? 0 : 1].is, name.offset};
    } else if (name.text == "T" || name.text == "mT") {
      return recorded(name.offset, [&] { return call(*find_function(name.text == "T" ? "transpose" : "matrix_transpose"), {{{}, value}}, name.offset); });
    } else if (name.text == "shape") {
      return call(*find_function("shape"), {{{}, Value{re, value.offset}}}, name.offset);
    } else if (name.text == "ndim" || name.text == "size") {
      return {name.text == "size" ? re.size() : std::int64_t{re.ndim()}, name.offset};
    }
    throw Fault{name.offset, fmt::format("complex numbers, a pair (re, im), have no attribute '{}'; they have real, imag, shape, ndim, size, T and methods such as conj()", name.text)};
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
      if (text == "max" && info.max > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return {info.max, name.offset};
      if (text == "max") return {static_cast<std::int64_t>(info.max), name.offset};
    }
    throw Fault{name.offset, fmt::format("the limits of {} have no '{}'; they have bits, dtype, min, max{}", sinter::name(dtype), text,
                                         is_floating(dtype) ? ", eps, smallest_normal, smallest_subnormal" : "")};
  }

  std::vector<Index> indexes(const Token& opening) {
    std::vector<Index> index;
    const bool whole = peek().is("(") && peek(1).is(")") && peek(2).is("]");  // x[()]
    if (whole) next(), next(), index.emplace_back(ellipsis, Location{});
    while (!whole && !peek().is("]")) {
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
      if (value.is_complex()) {  // both parts
        Tuple parts;
        parts.is_complex = true;
        for (const Value& part : *tuple) parts.push_back({recorded(opening.offset, [&] { return std::as_const(*part.as<Tensor>()).at(index, Location{}); }), opening.offset});
        return {std::move(parts), opening.offset};
      }
      if (index.size() == 1 && index[0].kind() == Index::Kind::slice) return {part_of(*tuple, index[0].slice(), opening), opening.offset};
      return {(*tuple)[place_in(*tuple, index, opening.offset)].is, opening.offset};
    }
    const auto* tensor = value.as<Tensor>();
    if (!tensor) throw Fault{opening.offset, fmt::format("{} cannot be indexed", kind_name(value))};
    return {recorded(opening.offset, [&] { return tensor->at(index, Location{}); }), opening.offset};
  }

  /// A tensor of one integer without axes, which is a number as an index.
  static bool is_place(const Index& index) { return index.kind() == Index::Kind::places && index.places().ndim() == 0 && is_integer(index.places().dtype()); }
  static std::size_t place_in(const Tuple& tuple, const std::vector<Index>& index, std::size_t offset) {
    if (index.size() != 1 || (index[0].kind() != Index::Kind::integer && !is_place(index[0])))
      throw Fault{offset, fmt::format("{} is indexed by one integer or slice", tuple.is_list ? "a list" : "a tuple")};
    const std::int64_t given = is_place(index[0]) ? whole_number({index[0].places(), offset}) : index[0].integer();
    const auto size = static_cast<std::int64_t>(tuple.size());
    const std::int64_t i = given < 0 ? given + size : given;
    if (i < 0 || i >= size) throw Fault{offset, fmt::format("index {} is out of range for {} of {}", given, tuple.is_list ? "a list" : "a tuple", size)};
    return static_cast<std::size_t>(i);
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
    return slice_end(value);
  }
  static std::optional<std::int64_t> slice_end(const Value& value) {
    if (value.as<None>()) return std::nullopt;
    if (is_whole_number(value)) return whole_number(value);
    throw Fault{value.offset, fmt::format("a slice takes integers, not {}", kind_name(value))};
  }

  void index_item(std::vector<Index>& index) {
    if (peek().is(":")) {
      index.push_back(slice_from(std::nullopt));
      return;
    }
    const Value value = expression();
    if (peek().is(":")) {
      index.push_back(slice_from(slice_end(value)));
      return;
    }
    const Tuple* tuple = value.as<Tuple>();
    if (tuple && !tuple->is_list && index.empty() && peek().is("]")) {  // x[(1, 2)] is x[1, 2]
      if (tuple->empty()) index.emplace_back(ellipsis, Location{});
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
    if (const auto* slice = value.as<Slice>()) return {*slice, nowhere};
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
  const Print& print_;
  std::deque<Token> tokens_;  // of the text, then those of what stands in strings
  std::map<std::size_t, std::size_t> strings_;  // where these begin, by their place in the text
  bool printed_ = false;
  PrintOptions printing_ = printoptions();
  std::optional<Value> returned_;
  /// np.random.default_rng(seed): each call takes another key.
  struct Generator {
    std::uint64_t seed = 0, calls = 0;
  };
  std::deque<Generator> generators_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::vector<Bindings> scopes_ = std::vector<Bindings>(1);  // the script's names, then those of functions being called
  std::deque<Definition> functions_;  // of the text
  std::size_t written_at_ = 0;        // the last tuple that was written out in this statement: its place
  std::vector<std::string> written_;  // and its items
  std::set<std::string_view> used_;
  std::size_t listed_ = 0;  // items of lists made of others
};

}  // namespace

Evaluated evaluate(std::string_view text, const Bindings& bindings, const std::function<void(const std::string&)>& print) {
  try {
    return Parser(text, bindings, print).run();
  } catch (const Fault& fault) {
    throw ValueError(point_at(text, fault.offset, fault.message));
  }
}

}  // namespace sinter::tools
