// Wrong arguments: every function of the command's table, the forms of NumPy's modules, indexes and operators are called with invalid values, one or two at a
// time. A sample runs by default. SINTER_ARGUMENTS_STRIDE=1 tries each value for each argument, SINTER_ARGUMENTS_PAIRS=n tries n pairs for each function,
// SINTER_ARGUMENTS_ONLY=name tries only the calls of one function.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "attempts.hpp"
#include "cases.hpp"
#include "expression.hpp"
#include "seed.hpp"
#include "table/arguments.hpp"
#include "table/descriptions.hpp"

namespace sn = sinter;
using namespace sinter::testing;

namespace {

constexpr const char* kWrong[] = {"None",
                                  "True",
                                  "0",
                                  "1",
                                  "-1",
                                  "2",
                                  "3",
                                  "7",
                                  "-4",
                                  "33",
                                  "65",
                                  "2**31",
                                  "-2**31",
                                  "2**32",
                                  "10**12",
                                  "2**62",
                                  "-2**62",
                                  "2**63 - 1",
                                  "-2**63",
                                  "2**64 - 1",
                                  "0.5",
                                  "-0.5",
                                  "-0.0",
                                  "nan",
                                  "inf",
                                  "-inf",
                                  "1e300",
                                  "1e-300",
                                  "'x'",
                                  "''",
                                  "()",
                                  "[]",
                                  "(0,)",
                                  "(1, 2)",
                                  "(2, 1, 0)",
                                  "(-1, 2)",
                                  "(2**32, 2**32)",
                                  "(2**31, 3)",
                                  "(2**62, 2**62)",
                                  "[1, [2, 3]]",
                                  "[None]",
                                  "((1, 2), (3, 4))",
                                  "((1, 2), (3,))",
                                  "((-1, 2), (2**62, 1))",
                                  "('x', 1)",
                                  "(nan, 1)",
                                  "[ones(2), ones(3)]",
                                  "(ones((2, 3)), 1)",
                                  "array([])",
                                  "zeros((0, 3))",
                                  "zeros((3, 0))",
                                  "zeros((2, 0, 3))",
                                  "array(2)",
                                  "array(-1)",
                                  "array(2.5)",
                                  "array(nan)",
                                  "ones(1)",
                                  "ones(3)",
                                  "arange(5)",
                                  "ones((2, 3))",
                                  "ones((3, 3))",
                                  "ones((2, 2))",
                                  "ones((2, 3, 4))",
                                  "ones((1, 1, 1, 1, 1, 1))",
                                  "ones(3, dtype=bool)",
                                  "ones((2, 3), dtype=bool)",
                                  "array([1, -1, 100])",
                                  "array([2**62, -2**63])",
                                  "full((2, 2), nan)",
                                  "array([nan, inf, -inf])",
                                  "ones((2, 2), dtype=float16)",
                                  "ones((1, 2, 4, 4), dtype=int8)",
                                  "float32",
                                  "int8",
                                  "bool",
                                  "complex",
                                  "'float32'",
                                  "1j",
                                  "array([1j, 2])",
                                  "..."};
constexpr std::size_t kWrongCount = std::size(kWrong);

/// Expressions for which the table of functions has no row or no example. The arguments to replace are between '@'.
constexpr const char* kForms[] = {"arange(24.).reshape(2, 3, 4)[@0@]",
                                  "arange(24.).reshape(2, 3, 4)[@0@, @1@]",
                                  "arange(24.).reshape(2, 3, 4)[@0@:@2@:@1@]",
                                  "arange(24.).reshape(2, 3, 4)[..., @None@, @0@]",
                                  "x = arange(24.).reshape(2, 3, 4); x[@0@] = @1.5@; x",
                                  "x = arange(6); x[@1:3@] += @2@; x",
                                  "x = zeros((3, 3)); x[@0@, @1@] = @1@; x",
                                  "@arange(3)@ + @1@",
                                  "@arange(3)@ // @2@",
                                  "@arange(3)@ ** @2@",
                                  "@ones((2, 2))@ @@ @ones((2, 2))@",
                                  "@arange(3)@ << @1@",
                                  "@arange(3)@ % @2@",
                                  "-@arange(3)@",
                                  "~@arange(3)@",
                                  "@arange(3)@ < @1@",
                                  "add.reduce(@ones((2, 3))@, axis=@0@)",
                                  "add.accumulate(@ones((2, 3))@, @0@)",
                                  "add.outer(@ones(2)@, @ones(3)@)",
                                  "multiply.reduceat(@arange(8)@, @[0, 4]@)",
                                  "maximum.at(@arange(4)@, @[0, 1]@, @2@)",
                                  "linalg.cross(@arange(3.)@, @ones(3)@, axis=@-1@)",
                                  "linalg.diagonal(@ones((3, 3))@, offset=@0@)",
                                  "linalg.trace(@ones((3, 3))@, offset=@0@)",
                                  "random.beta(@2.@, @3.@, @(4,)@, key=@7@)",
                                  "random.binomial(@10@, @0.5@, @(4,)@, key=@7@)",
                                  "random.chisquare(@2.@, @(4,)@, key=@7@)",
                                  "random.choice(@5@, @(4,)@, @True@, @None@, key=@7@, axis=@0@)",
                                  "random.exponential(@2.@, @(4,)@, key=@7@)",
                                  "random.gamma(@2.@, @1.@, @(4,)@, key=@7@)",
                                  "random.geometric(@0.5@, @(4,)@, key=@7@)",
                                  "random.gumbel(@0.@, @1.@, @(4,)@, key=@7@)",
                                  "random.integers(@0@, @10@, @(4,)@, key=@7@, dtype=@int64@, endpoint=@True@)",
                                  "random.laplace(@0.@, @1.@, @(4,)@, key=@7@)",
                                  "random.logistic(@0.@, @1.@, @(4,)@, key=@7@)",
                                  "random.lognormal(@0.@, @1.@, @(4,)@, key=@7@)",
                                  "random.normal(@0.@, @1.@, @(4,)@, key=@7@, dtype=@float32@)",
                                  "random.pareto(@2.@, @(4,)@, key=@7@)",
                                  "random.poisson(@2.@, @(4,)@, key=@7@)",
                                  "random.rand(@2@, @3@, key=@7@)",
                                  "random.randint(@0@, @10@, @(4,)@, key=@7@)",
                                  "random.randn(@2@, @3@, key=@7@)",
                                  "random.random(@(4,)@, key=@7@)",
                                  "random.rayleigh(@1.@, @(4,)@, key=@7@)",
                                  "random.standard_normal(@(4,)@, key=@7@)",
                                  "random.standard_t(@3.@, @(4,)@, key=@7@)",
                                  "random.uniform(@0.@, @1.@, @(4,)@, key=@7@)",
                                  "random.weibull(@2.@, @(4,)@, key=@7@)",
                                  "@ones((2, 3))@.reshape(@3@, @2@)",
                                  "@arange(6)@.astype(@float32@)",
                                  "@ones((2, 3))@.transpose(@1@, @0@)",
                                  "@ones((2, 3))@.sum(@0@, keepdims=@True@)",
                                  "@arange(6)@.view(@int32@)",
                                  "int(@2.5@)",
                                  "float(@2@)",
                                  "bool(@1@)",
                                  "round(@2.5@, @1@)",
                                  "abs(@-2@)",
                                  "pow(@2@, @3@)",
                                  "divmod(@7@, @2@)",
                                  "any(@[1, 0]@)"};

/// A call as parts of text: the parts between the arguments, and the arguments that are replaced.
struct Call {
  std::string name;
  std::vector<std::string> between, arguments;  // one piece more than arguments

  std::string with(std::size_t place, const std::string& value) const { return with(place, value, place, value); }
  std::string with(std::size_t place, const std::string& value, std::size_t other, const std::string& other_value) const {
    std::string text = between[0];
    for (std::size_t k = 0; k < arguments.size(); ++k) text += (k == place ? value : k == other ? other_value : arguments[k]) + between[k + 1];
    return text;
  }
};

/// "@@" stands for the operator @.
Call of_form(std::string_view form) {
  Call call{std::string(form), {""}, {}};
  bool argument = false;
  for (std::size_t k = 0; k < form.size(); ++k) {
    if (form[k] != '@') (argument ? call.arguments : call.between).back() += form[k];
    else if (form.substr(k, 4) == "@@ @") call.between.back() += '@', ++k;
    else if ((argument = !argument)) call.arguments.emplace_back();
    else call.between.emplace_back();
  }
  return call;
}

/// Returns the call in a function's example, with the function's own name. Parameters that the example omits are appended as "name=" with an empty argument.
Call of_function(const sn::table::Function& function) {
  const sn::table::Description& description = *sn::table::find_description(function);
  const std::string_view example = description.example;
  std::size_t at = example.find(std::string(description.name) + "(");
  while (at != 0 && at != std::string_view::npos && (std::isalnum(static_cast<unsigned char>(example[at - 1])) || example[at - 1] == '_'))
    at = example.find(std::string(description.name) + "(", at + 1);
  Call call{std::string(function.name), {std::string(function.name) + "("}, {}};
  std::vector<std::string> written;
  if (at != std::string_view::npos) {
    int open = 0;
    std::string one;
    for (at += description.name.size() + 1; at < example.size(); ++at) {
      const char c = example[at];
      if (open == 0 && (c == ')' || c == ',')) {
        if (one.find_first_not_of(' ') != std::string::npos) written.push_back(one.substr(one.find_first_not_of(' ')));
        one.clear();
        if (c == ')') break;
        continue;
      }
      open += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
      one += c;
    }
  }
  std::vector<std::string> keywords;
  std::size_t positional = 0;
  for (const std::string& argument : written) {
    const std::size_t equals = argument.find('=');
    const bool keyword = equals != std::string::npos && std::all_of(argument.begin(), argument.begin() + static_cast<std::ptrdiff_t>(equals),
                                                                    [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
    if (call.arguments.size() > 0) call.between.back() += ", ";
    if (keyword) keywords.push_back(argument.substr(0, equals)), call.between.back() += keywords.back() + "=";
    else ++positional;
    call.arguments.push_back(keyword ? argument.substr(equals + 1) : argument);
    call.between.emplace_back();
  }
  call.between.back() += ")";
  return call;
}

/// Returns the parameters that can be given by name and that the example omits.
std::vector<std::string> left_out(const sn::table::Function& function, const Call& call) {
  std::vector<std::string> names;
  std::size_t positional = 0;
  for (std::size_t k = 0; k < call.arguments.size(); ++k) positional += !call.between[k].ends_with('=');
  const auto parameters = sn::table::parameters_of(function);
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    const std::string name(parameters[k].name);
    const bool named = std::any_of(call.between.begin(), call.between.end(), [&](const std::string& piece) { return piece.ends_with(name + "="); });
    if (!named && (k >= positional || parameters[k].keyword_only) && !parameters[k].takes_rest) names.push_back(name);
  }
  return names;
}

/// Returns all calls of one function or form: each value for each argument, and pairs of values.
std::vector<std::string> calls_of(const Call& call, const std::vector<std::string>& names, std::size_t stride, std::size_t pairs) {
  std::mt19937 rng(test_seed() ^ static_cast<std::uint32_t>(std::hash<std::string>()(call.name)));
  std::vector<Call> forms{call};
  for (const std::string& name : names) {
    Call longer = call;
    longer.between.back().pop_back();  // the closing parenthesis
    longer.between.back() += (call.arguments.empty() ? "" : ", ") + name + "=";
    longer.arguments.emplace_back("None");
    longer.between.emplace_back(")");
    forms.push_back(std::move(longer));
  }
  std::vector<std::string> calls;
  std::size_t counted = rng() % stride;
  for (std::size_t f = 0; f < forms.size(); ++f)
    for (std::size_t place = f == 0 ? 0 : call.arguments.size(); place < forms[f].arguments.size(); ++place)
      for (const char* value : kWrong)
        if (counted++ % stride == 0) calls.push_back(forms[f].with(place, value));
  for (std::size_t k = 0; k < pairs; ++k) {
    const Call& form = forms[rng() % forms.size()];
    if (form.arguments.empty()) continue;
    const std::string first = kWrong[rng() % kWrongCount], second = kWrong[rng() % kWrongCount];
    calls.push_back(form.with(rng() % form.arguments.size(), first, rng() % form.arguments.size(), second));
  }
  return calls;
}

std::vector<sn::Tensor> evaluated(const std::string& call) { return sn::tools::evaluate(call, {}).results; }

}  // namespace

TEST_CASE("wrong arguments give a result or one of sinter's exceptions") {
  const std::size_t stride = std::max<std::size_t>(number("SINTER_ARGUMENTS_STRIDE", 24), 1), pairs = number("SINTER_ARGUMENTS_PAIRS", 4);
  const char* only = std::getenv("SINTER_ARGUMENTS_ONLY");
  Tried tried;
  std::size_t functions = 0;
  std::vector<std::string> calls;  // a process makes the calls of several functions, because starting it takes longer than a few calls
  const auto add = [&](const Call& call, const std::vector<std::string>& names) {
    if (only && call.name != only) return;
    ++functions;
    const std::vector<std::string> more = calls_of(call, names, stride, pairs);
    calls.insert(calls.end(), more.begin(), more.end());
    if (calls.size() < 500) return;
    run(calls, evaluated, tried);
    calls.clear();
  };
  for (const sn::table::Function& function : sn::table::functions()) {
    const Call call = of_function(function);
    add(call, left_out(function, call));
  }
  for (const char* form : kForms) add(of_form(form), {});
  run(calls, evaluated, tried);
  MESSAGE(functions << " functions and forms: " << tried.calls << " calls, " << tried.computed << " computed, " << tried.refused << " refused, "
                    << tried.failures << " failed");
  CHECK(tried.failures == 0);
  CHECK(tried.calls == tried.computed + tried.refused + tried.failures);
  if (!only) CHECK(tried.computed > tried.calls / 20);  // the values reach the computation
}

TEST_CASE("functions that make one object per item or per count check the number first") {
  constexpr const char* kCalls[] = {"concat(zeros(2**40))",
                                    "stack(zeros(2**40))",
                                    "hstack(zeros(2**40))",
                                    "column_stack(zeros(2**40))",
                                    "choose([0, 1], zeros(2**40))",
                                    "lexsort(zeros(2**40))",
                                    "unstack(zeros(2**40))",
                                    "split(zeros(2**40), 2**40)",
                                    "array_split(arange(5), 10**12)",
                                    "array_split(arange(5), 2**62)",
                                    "adaptive_avg_pool1d(arange(6.).reshape(1, 1, 6), 2**31)",
                                    "adaptive_max_pool2d(arange(16.).reshape(1, 1, 4, 4), 2**31)",
                                    "pixel_shuffle(ones((1, 4, 2, 2)), 2**32)",
                                    "pixel_unshuffle(ones((1, 4, 2, 2)), 2**32)",
                                    "choose([0, 1], [ones(2)] * 10**12)",
                                    "polyval(zeros(2**40), 2.)",
                                    "poly(zeros(2**40))",
                                    "diff(zeros(2**40), 2**40)",
                                    "tri(2**62)",
                                    "eye(2**62)",
                                    "one_hot(array([1, 2]), 2**62)",
                                    "tile(ones(3), 2**62)",
                                    "repeat(ones(3), 2**62)",
                                    "repeat(zeros((0, 3)), 2**62, 1)",
                                    "linspace(0, 1, 2**62)",
                                    "random.binomial(2**62, 0.5, 3, key=7)",
                                    "multi_dot([ones((2, 2))] * 3001)",
                                    "[1] * 10**12",
                                    "pad(ones(3), 10**12, mode='wrap')",
                                    "histogram(ones(3), 2**62)",
                                    "sliding_window_view(zeros(2**40), 2**39)[0, 0, 0]",
                                    "unfold(ones((1, 1, 4, 4)), 1, padding=2**31)[0, 0, 0, 0]",
                                    "max_pool1d(ones((1, 1, 6)), 2**31, padding=2**30)",
                                    "avg_pool1d(ones((1, 1, 6)), 2**31, padding=2**30)"};
  for (const char* call : kCalls) {
    Tried tried;
    run({call}, evaluated, tried);
    CAPTURE(std::string(call));
    CHECK(tried.refused == 1);
  }
}

int main(int argc, char** argv) { return run_cases(argc, argv); }
