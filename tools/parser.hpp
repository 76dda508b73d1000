// What reads an expression or a program: each statement and operator is carried out as it is read, from the tokens, which a loop's body and a
// function's are read from again each time. One class, for what they all share is the place in the text and the names; its parts lie in files of
// their own, named in the sections below.
#pragma once
#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "expression.hpp"
#include "lexer.hpp"
#include "sinter/ops.hpp"
#include "sinter/print.hpp"
#include "table/functions.hpp"
#include "words.hpp"

namespace sinter::tools {

using namespace table;

class Parser {
 public:
  using Print = std::function<void(const std::string&)>;
  Parser(std::string_view text, const Bindings& bindings, const Print& print)
      : text_(text), bindings_(bindings), print_(print), tokens_(as_deque(tokenize(text))) {}
  Evaluated run();

 private:
  static std::deque<Token> as_deque(const std::vector<Token>& tokens) { return {tokens.begin(), tokens.end()}; }

  /// A function of the text. Its body stays text, which every call reads.
  struct Parameter {
    std::string_view name;
    std::optional<Value> otherwise;
    bool keyword_only = false;  // behind *
    bool rest = false;          // *name: a tuple of what is left
    bool named_rest = false;    // **name: a dictionary of the keywords that are left
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
    bool nameless = false;   // a lambda
    std::size_t within = 0;  // the call in which it was written, by its number; 0: outside of functions
    Bindings around;         // what that call's names meant at its end
  };

  /// A name, a part of what it stands for: name[1:3], name[0][1], or several of them in brackets.
  struct Target {
    struct Part {
      std::size_t at = 0;  // the token behind the bracket; what stands there is read when what it is a part of is known
      Token opening;
    };
    Token name = {};  // or the bracket
    std::vector<Part> parts = {};
    std::vector<Target> inner = {};
    bool rest = false;  // *name: a list of what is left
  };

  struct Targets {
    std::vector<Target> list;
    bool several = false;    // written with a comma
    std::size_t equals = 0;  // where the = stands
  };

  // ---- tokens and errors
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
  void end_statement() const;
  void expect(std::string_view symbol, const Token& opening);
  [[noreturn]] void unexpected(const Token& token) const;
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
      rethrow([&](const char* what) { return shown_at(offset, what, function); });
    }
  }
  std::string shown_at(std::size_t offset, std::string message, std::string_view function) const;
  static int opens(const Token& token) {
    return token.is("(") || token.is("[") || token.is("{") ? 1 : token.is(")") || token.is("]") || token.is("}") ? -1 : 0;
  }
  bool is_word(std::string_view word) const { return peek().is_word(word); }

  // ---- expression.cpp: tuples, a if b else c, or, and
  /// One expression, or several with commas between them: a tuple.
  Value expressions();
  /// An expression of a tuple, and how it is written.
  Value item(std::vector<std::string>& written);
  Value tuple(Tuple items, std::size_t offset, std::vector<std::string> written);
  /// The arm that is not taken is not looked at: it may be there because it would fail.
  Value expression();
  Value disjunction();
  Value conjunction();
  /// Whether nothing is left to ask for. Of a tensor that is not known without evaluating it.
  bool decided(const Value& left, const Token& word) { return !left.as<Tensor>() && truth(left, word) == (word.text == "or"); }
  /// How many tokens stand before the first of these words, or before what ends an expression, outside of brackets.
  std::size_t until(std::initializer_list<std::string_view> words) const;
  /// What is not evaluated is used all the same.
  void pass_over(std::size_t count);

  // ---- statements.cpp: which one stands here, and those that hold others (if, for, while, with)
  enum class Form : std::uint8_t { definition, import, part, update, assignment, appended, changed, deletion, expression };
  Form form();
  /// Nothing: a definition, an import.
  std::optional<Value> statement();
  enum class Flow : std::uint8_t { next, broken, continued, returned };
  /// One statement; `value` is what it is worth, `returned_` what it returns.
  Flow step(std::optional<Value>& value);
  /// What follows a colon: the rest of the line, or the lines that are indented deeper than that of `word`. It is passed over.
  Block block(const Token& word);
  Flow run_block(const Block& block);
  /// A value that no name keeps. What NumPy's settings and functions of the text print or do is not known before they are called.
  bool is_plain_expression();
  bool calls_text();
  /// A block that is not run counts what it names as used.
  void skip(const Block& block);
  /// for name in …:, for a, b in …:
  Flow loop_over();
  Targets loop_names(const Token& word);
  /// What a loop and a list made of another go over.
  std::vector<Value> items_of(const Value& over);
  Value list_of(const Value& over);
  void name_item(const Targets& names, const Value& value);
  Flow loop_while();
  /// What follows a loop: an else that is run where nothing broke off.
  Flow loop_end(const Token& word, std::size_t end, bool broken);
  /// if …: elif …: else:
  Flow choice();
  /// with np.errstate(…): nothing is warned of in any case.
  Flow with_settings();
  /// raise ValueError("…"): the program ends with this message.
  [[noreturn]] void raised();
  void asserted();
  /// try: … except ValueError as e: … else: … finally: …
  Flow attempt();
  bool catches(const Token& word, std::string_view type);
  /// Scripts that begin as Python does.
  void import_module();
  void import_names();
  /// What stands before the first token of a line.
  std::string_view indentation(const Token& token) const;
  bool begins_line(std::size_t token) const { return token == 0 || tokens_[token - 1].text == "\n"; }

  // ---- assignments.cpp: names and parts of them get values: a = …, a, *b = …, x[0][1] += …, list.append(…), and what NumPy changes in place
  /// The name that a statement such as x.sort(), np.put(x, …) or np.add.at(x, …) changes in NumPy: here it gets the changed value.
  std::optional<Token> changed_in_place() const;
  /// Where targets end that begin at this token: a, (b, *c), x[0][1]. Nothing where these are none.
  std::optional<std::size_t> targets_end(std::size_t at = 0, int depth = 0) const;
  Target target();
  Targets targets();
  /// a = …; a, b = …; a[0], (b, *c) = …; a = b = …
  Value assignment();
  /// What the statement is worth.
  Value assign_all(const Targets& targets, Value value);
  void assign_target(const Target& target, const Value& value, std::size_t equals);
  /// The items that were assigned.
  Tuple assign_each(const std::vector<Target>& list, const Value& value, std::size_t equals);
  enum class Append : std::uint8_t { item, items };
  /// What comes to stand in a part: a value, or what an operator makes of the part's and it.
  struct Change {
    const Operator* update = nullptr;
    std::size_t offset = 0;  // of the = or the operator
    Value by;
    std::optional<Append> append = {};  // to the list that the part is
  };
  /// The name stands for a tensor or a list in which that part is another.
  Value change(const Target& target, const Change& change);
  /// x[0][1]: the part of a part is changed, then the part.
  Value with_part(const Value& whole, const Target& target, std::size_t level, const Change& change);
  Value changed_value(const Value& before, const Change& change);
  /// A list and one item more, or those of another one.
  Value with_items(const Value& before, const Change& change);
  Value with_complex_part(const Value& whole, const std::vector<Index>& index, const Target& target, std::size_t level, const Change& change);
  /// list.append(x), list.extend(y)
  Value appended();
  Value changed();
  /// del d[key], del list[k], del name
  void deleted();
  void assign(const Token& name, Value value);
  /// name += expression
  Value update();
  Value updated(const Operator& row, std::size_t offset, const Value& before, const Value& by);
  std::vector<Index> indexes(const Target::Part& part);
  /// The token behind a name, or behind name[…][…], that begins at this one.
  std::size_t target_end(std::size_t at) const;
  /// name[mask] += expression
  Value update_part();

  // ---- definitions.cpp: def, lambda, their parameters, and what happens where they are called
  /// def name(parameters): the body is skipped; a call reads it.
  void define();
  Parameter parameter(const Definition& function, bool keyword_only);
  /// a, b=2, /, c, *, d, e=3; *rest
  void parameters(Definition& function);
  /// lambda a, b=2: expression
  Value nameless(const Token& word);
  /// What is recorded where a function is called, on these arguments.
  Value invoke(Definition& function, const std::vector<Argument>& given, const Token& name);
  /// What the names of the function that it was written in mean now, or meant at its end.
  const Bindings& around(const Definition& function) const;
  Value invoke(const Callable& callable, const std::vector<Argument>& given, std::size_t offset);
  /// NumPy's functions that take functions: piecewise, apply_along_axis, fromfunction, vectorize. Nothing for others.
  std::optional<Value> of_functions(const Token& name, std::vector<Argument>& list);
  /// The function of each vector along the axis; its results lie where the axis was.
  Value along_axis(const Callable& callable, std::int64_t axis, const Tensor& x, std::size_t offset);
  Bindings bound(const Definition& function, const std::vector<Argument>& given, const Token& call) const;
  std::string called_here(const Token& name, std::string_view what) const;
  void check_assignable(const Token& name) const;

  // ---- operators.cpp: not, and, or, in, is, comparisons, arithmetic
  Value inversion();
  /// Python's truth; of a tensor of one element, which is evaluated.
  bool truth(const Value& value, const Token& word);
  /// and, or: of two conditions of one element another one, which nothing evaluates.
  Value connected(const Token& word, const Value& left, const Value& right);
  Value binary(int loosest);
  /// x in list, x not in tensor, x is None, x is not None
  Value membership(const Value& left);
  /// a < b < c is (a < b) and (b < c), of numbers and tensors of one element.
  Value chained(Value left, Value middle);
  Value apply(const Operator& row, std::size_t offset, const Value& left, const Value& right);
  /// What an operator or an assignment reads beside a tensor: a list is an array there.
  static Value beside_tensor(const Value& value);
  Value unary();
  /// ** is right associative, and its exponent may have a sign.
  Value power_of();

  // ---- operands.cpp: what operators stand between: literals, names, lists, what is in parentheses, comprehensions
  Value postfix();
  Value primary();
  Value parenthesized(const Token& opening);
  /// A list is a tuple here: both stand for shapes and axes.
  Value list(const Token& opening);
  /// Where the `for` of [… for name in …] stands; 0 in another list.
  std::size_t comprehension(std::string_view close = "]") const;
  /// The item is read once for each value of the names for which the conditions hold.
  /// `of_pairs`: key: value, one behind the other in the list.
  Value comprehended(const Token& opening, std::size_t word, std::string_view close = "]", bool of_pairs = false);
  struct Comprehension {
    std::size_t item = 0, word = 0;  // where the item begins and the first `for` stands
    bool of_pairs = false;
    Tuple items = {};
    std::set<std::string> names = {};
  };
  static void add_names(const std::vector<Target>& targets, std::set<std::string>& names);
  /// {key: value, …}, {item, …}, and either with for.
  Value dictionary(const Token& opening);
  /// What follows a `for`: names in list, conditions, further clauses.
  void clause(Comprehension& made);

  // ---- names.cpp: what a name means, of the script, of NumPy, of its modules, of Python
  Value named(const Token& token);
  /// math.sqrt(2), math.pi: of numbers, as Python has them.
  Value of_math(const Token& name);
  /// Arguments of Python's functions of numbers: tensors of one element are read.
  std::vector<Value> numbers_given(const std::vector<Argument>& given, std::size_t offset);
  /// rng.normal(size=3): each call under a key of its own.
  Value drawn(const Callable& callable, const Token& method);
  Value new_generator(const Token& name);
  /// Of the function that is called, of the script, or given outside, which then counts as used; null for an unknown name.
  const Value* variable(std::string_view name);
  Value meaning(const Token& token, bool variables);
  /// Functions of Python's alone: print, str, ord, sorted, map, dict, …
  std::optional<Value> of_python(const Token& token);
  Value sorted(const Token& token, const std::vector<Argument>& given);
  /// int(x), float(x): of numbers Python's, of tensors a conversion that is recorded.
  Value as_python(const Token& token);
  /// np.set_printoptions(precision=3, suppress=True) for what is printed from here on; np.seterr(…): nothing is warned of in any case.
  Value settings(const Token& token);
  [[noreturn]] void unknown(const Token& token, bool variables) const;

  // ---- calls.cpp: arguments as they are written, functions of the table, conversions
  struct Given {
    std::vector<Argument> list;
    std::optional<Token> out;  // the name of out=name, which gets the result
  };
  Given arguments(std::vector<Argument> list);
  /// `bare`: written without np., where Python has functions of some of the names.
  Value call_of(const Function& function, const Token& name, std::vector<Argument> first, bool bare = false);
  /// Python's max(1, 2) and min(a, b) of numbers, whose second would be an axis; abs and round of one number, which stays one; the sum of a list of
  /// tensors, which is a tensor.
  std::optional<Value> of_numbers(const Function& function, const std::vector<Argument>& list, std::size_t offset);
  /// float32(x) converts, as in NumPy.
  Value called(const Value& value);
  Value made_complex(DType of_parts, std::size_t offset);

  // ---- attributes.cpp: what follows a dot: attributes and methods
  Value attribute(Value value);
  void expect_no_arguments(const Token& name);
  /// x.item(), x.item(3): the element as a number of Python's, which evaluates.
  Value item_of(const Tensor& tensor, const Token& name);
  /// fft(x).real, fft(x).conj()
  Value complex_attribute(Value value, const Token& name);

  // ---- dictionaries.cpp: dictionaries and sets (what stands in braces, in operands above)
  Value dictionary_attribute(const Dictionary& dictionary, const Token& name);
  Value made_dictionary(const Token& name);

  // ---- indexing.cpp: what stands in brackets behind a value: indexes, slices, and NumPy's ranges in brackets (mgrid, r_, s_)
  /// np.mgrid[0:3, 0:4], np.ogrid[…], np.r_[1, 2, x], np.c_[x, y]: what stands in brackets is numbers, arrays and ranges.
  Value grid(const Token& name);
  /// np.s_[1:3, ::2], np.index_exp[…]: the index as a value.
  Value as_index(const Token& name);
  std::vector<Index> indexes(const Token& opening);
  Value indexed(const Value& value);
  /// A tensor of one integer without axes, which is a number as an index.
  static bool is_place(const Index& index);
  static std::size_t place_in(const Tuple& tuple, const std::vector<Index>& index, std::size_t offset);
  std::optional<std::int64_t> slice_part();
  static std::optional<std::int64_t> slice_end(const Value& value);
  void index_item(std::vector<Index>& index);
  static Index index_of(const Value& value);
  Index slice_from(std::optional<std::int64_t> start);

  // ---- strings.cpp: values as text, print(), f-strings
  /// As Python's str().
  std::string shown(const Value& value);
  /// As Python's repr(), where numbers of NumPy's are shown as plain ones.
  std::string written(const Value& value);
  /// print(a, b, sep=' ', end='\n')
  Value printed(const Token& name);
  /// f'{x:.3f}': what stands in braces is an expression of this place.
  std::string formatted(const Token& token);
  /// Those that stand side by side are one.
  Value strings(const Token& first);
  std::string percent(const std::string& text, const Value& values, std::size_t offset);
  Value string_attribute(const std::string& text, const Token& name);
  /// The value of a part of the text that stands in a string.
  Value inner(std::string_view expression_text, std::size_t offset);
  std::string in_format(const Value& given, const std::string& format, const Token& token);

  std::string_view text_;
  const Bindings& bindings_;
  const Print& print_;
  std::deque<Token> tokens_;                    // of the text, then those of what stands in strings
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
  std::vector<Bindings> scopes_ = std::vector<Bindings>(1);       // the script's names, then those of functions being called
  std::vector<std::size_t> calls_ = std::vector<std::size_t>(1);  // the number of the call that each of scopes_ belongs to
  std::size_t last_call_ = 0;
  std::deque<Definition> functions_;  // of the text
  std::deque<std::string> keywords_;  // of f(**names)
  /// raise ValueError('…'): what except sees.
  struct Raised {
    std::string type, message;
  };
  std::optional<Raised> raised_;
  int attempts_ = 0;                  // try blocks around this place
  std::size_t written_at_ = 0;        // the last tuple that was written out in this statement: its place
  std::vector<std::string> written_;  // and its items
  std::set<std::string_view> used_;
  std::size_t listed_ = 0;  // items of lists made of others
};

}  // namespace sinter::tools
