// The expression language: what is recorded for what is written, Python's arithmetic among numbers, and that every fault
// points at its column. Nothing is computed: recorded graphs are compared as text.
#include <doctest/doctest.h>

#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "expression.hpp"
#include "functions.hpp"
#include "arguments.hpp"
#include "host_data_stub.hpp"
#include "lexer.hpp"
#include "sinter/ops.hpp"
#include "trace/outline.hpp"

using namespace sinter;
using namespace sinter::tools;

namespace {

__extension__ typedef __int128 Wide;

Bindings names() {
  static const Tensor x = placeholder({4, 6}, DType::float32), y = placeholder({6}, DType::float32),
                      i = placeholder({4, 6}, DType::int32), m = placeholder({4, 6}, DType::bool_);
  Bindings bindings;
  bindings.emplace("x", Value{x});
  bindings.emplace("y", Value{y});
  bindings.emplace("i", Value{i});
  bindings.emplace("m", Value{m});
  bindings.emplace("n", Value{std::int64_t{3}});
  bindings.emplace("s", Value{0.5});
  return bindings;
}
Tensor named(const char* name) { return *names().at(name).as<Tensor>(); }

Tensor expr(std::string_view text) { return evaluate(text, names()).results.at(0); }

/// Graphs without the lines they were recorded at.
std::string graph(const Tensor& tensor) {
  return trace::to_string(trace::linearize({tensor.node()}).graph);
}

/// Every name x, y, ... as in the expression.
#define CHECK_RECORDS(text, tensor)                         \
  do {                                                      \
    CAPTURE(text);                                          \
    std::string got;                                        \
    REQUIRE_NOTHROW(got = graph(expr(text)));               \
    CHECK(got == graph(tensor));                            \
  } while (false)

/// The value of an expression among numbers.
struct Number {
  DType dtype;
  double value;
};
Number number(std::string_view text) {
  const Tensor result = evaluate(text, {}).results.at(0);
  const trace::Graph recorded = trace::linearize({result.node()}).graph;
  REQUIRE(recorded.nodes.size() >= 1);
  const trace::Node& node = recorded.nodes.back();
  REQUIRE(node.op == trace::Op::constant);
  return {node.dtype, node.scalar.as_double()};
}

template <class Exception = ValueError> std::string message(std::string_view text, const Bindings& bindings = names()) {
  try {
    evaluate(text, bindings);
  } catch (const Exception& error) {
    return error.what();
  } catch (const std::exception& error) {
    return fmt::format("another exception: {}", error.what());
  }
  return "no error";
}

/// The column (from 0) that the caret of a message stands under.
std::ptrdiff_t caret(const std::string& message) {
  const std::size_t line = message.rfind('\n') + 1;
  const std::size_t at = message.find('^', line);
  return at == std::string::npos ? -1 : static_cast<std::ptrdiff_t>(at - line) - 2;
}

}  // namespace

TEST_CASE("operators record what they mean in NumPy, with Python's precedence") {
  const Tensor x = named("x"), y = named("y"), i = named("i"), m = named("m");
  CHECK_RECORDS("x + y * x", x + y * x);
  CHECK_RECORDS("(x + y) * x", (x + y) * x);
  CHECK_RECORDS("x - y - x", (x - y) - x);
  CHECK_RECORDS("x / y / x", (x / y) / x);
  CHECK_RECORDS("x ** y ** x", power(x, power(y, x)));
  CHECK_RECORDS("-x ** 2", -power(x, 2));
  CHECK_RECORDS("x ** -y", power(x, -y));
  CHECK_RECORDS("-x * y", (-x) * y);
  CHECK_RECORDS("2 * -x", 2 * (-x));
  CHECK_RECORDS("- -x", -(-x));
  CHECK_RECORDS("+x", x);
  CHECK_RECORDS("~m & m", (~m) & m);
  CHECK_RECORDS("x // y % x", remainder(floor_divide(x, y), x));
  CHECK_RECORDS("x @ x.T * 2", matmul(x, transpose(x)) * 2);
  CHECK_RECORDS("i << 1 + 2", i << 3);
  CHECK_RECORDS("i >> 1 & 3", (i >> 1) & 3);
  CHECK_RECORDS("i & 3 == i", (i & 3) == i);  // Python: & binds tighter than ==
  CHECK_RECORDS("i | i ^ i & 1", i | (i ^ (i & 1)));
  CHECK_RECORDS("(x < 1) | (x >= y)", (x < 1) | (x >= y));
  CHECK_RECORDS("x != y", x != y);
  CHECK_RECORDS("1 - x", 1 - x);
  CHECK_RECORDS("x*n + s", x * 3 + 0.5);
}

TEST_CASE("numbers stay weak: they take the tensor's type") {
  CHECK(expr("x * 2.5").dtype() == DType::float32);
  CHECK(expr("x * s").dtype() == DType::float32);
  CHECK(expr("x + n").dtype() == DType::float32);
  CHECK(expr("i + n").dtype() == DType::int32);
  CHECK(expr("i + s").dtype() == (named("i") + 0.5).dtype());
  CHECK(expr("x * float64(2)").dtype() == DType::float64);
  CHECK(expr("x * pi").dtype() == DType::float32);
}

TEST_CASE("arithmetic among numbers is Python's") {
  const auto is = [](std::string_view text, double wanted, DType dtype) {
    CAPTURE(text);
    const Number got = number(text);
    CHECK(got.dtype == dtype);
    CHECK(got.value == wanted);
    CHECK(std::signbit(got.value) == std::signbit(wanted));
  };
  constexpr DType f = DType::float64, i = DType::int64, b = DType::bool_;
  is("2**-1", 0.5, f);
  is("2**10", 1024, i);
  is("2**3**2", 512, i);
  is("-2**2", -4, i);
  is("7//2", 3, i);
  is("-7//2", -4, i);
  is("7//-2", -4, i);
  is("-7 % 3", 2, i);
  is("7 % -3", -2, i);
  is("7/2", 3.5, f);
  is("-7.5 // 2", -4, f);
  is("-7.5 % 2", 0.5, f);
  is("7.5 % -2", -0.5, f);
  is("-0.0 // 1", -0.0, f);
  is("6.0 % -3", -0.0, f);
  is("1 << 5 | 1", 33, i);
  is("-9 >> 1", -5, i);
  is("~5", -6, i);
  is("0xff & 0b1010", 10, i);
  is("0o17 + 1_000", 1015, i);
  is("True + True", 2, i);
  is("True & False", 0, b);
  is("~True", 0, b);
  is("1 < 2", 1, b);
  is("2 == 2.0", 1, b);
  is("1e-3", 1e-3, f);
  is(".5e2 + 1.", 51, f);
  is("1_0.5", 10.5, f);
  is("inf - 1", std::numeric_limits<double>::infinity(), f);
  is("pi", 3.141592653589793, f);
  is("e", 2.718281828459045, f);
  is("-9223372036854775807 - 1", -9223372036854775808.0, i);
  is("(-9223372036854775807 - 1) % -1", 0, i);
}

TEST_CASE("integer arithmetic agrees with 128-bit arithmetic, or says that it does not fit") {
  std::random_device device;
  const std::uint64_t seed = (std::uint64_t{device()} << 32) | device();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    const auto a = static_cast<std::int64_t>(random()) >> random() % 64, b = static_cast<std::int64_t>(random()) >> random() % 64;
    if (a == std::numeric_limits<std::int64_t>::min() || b == std::numeric_limits<std::int64_t>::min()) continue;
    const Wide wide_a = a, wide_b = b;
    for (const char symbol : {'+', '-', '*'}) {
      const std::string text = fmt::format("({}) {} ({})", a, symbol, b);
      CAPTURE(text);
      const Wide wanted = symbol == '+' ? wide_a + wide_b : symbol == '-' ? wide_a - wide_b : wide_a * wide_b;
      if (wanted > std::numeric_limits<std::int64_t>::max() || wanted < std::numeric_limits<std::int64_t>::min()) {
        CHECK(message(text).find("does not fit in 64 bits") != std::string::npos);
      } else {
        CHECK(number(text).value == static_cast<double>(wanted));
      }
    }
    if (b == 0) continue;
    // a == q*b + r with r between 0 and b defines both.
    CHECK(number(fmt::format("({}) // ({}) * ({}) + ({}) % ({})", a, b, b, a, b)).value == static_cast<double>(a));
    const double r = number(fmt::format("({}) % ({})", a, b)).value;
    CHECK((b > 0 ? r >= 0 && r <= static_cast<double>(b) : r <= 0 && r >= static_cast<double>(b)));
  }
}

TEST_CASE("calls take NumPy's arguments, by place and by name") {
  const Tensor x = named("x"), y = named("y"), m = named("m"), i = named("i");
  CHECK_RECORDS("sum(x)", sum(x));
  CHECK_RECORDS("sum(x, 0)", sum(x, 0));
  CHECK_RECORDS("sum(x, axis=(0, 1), keepdims=True)", sum(x, {0, 1}, true));
  CHECK_RECORDS("np.sum(x, axis=-1, dtype=float64)", sum(x, -1, false, DType::float64));
  CHECK_RECORDS("sum(x, axis=None)", sum(x));
  CHECK_RECORDS("x.sum(axis=0)", sum(x, 0));
  CHECK_RECORDS("x.mean(0, 'float64')", mean(x, 0, false, DType::float64));
  CHECK_RECORDS("x.max(axis=1)", max(x, 1));
  CHECK_RECORDS("amin(x)", min(x));
  CHECK_RECORDS("std(x, ddof=1)", stddev(x, {}, false, 1));
  CHECK_RECORDS("x.var(axis=0, keepdims=True, ddof=1)", var(x, 0, true, 1));
  CHECK_RECORDS("var(x, dtype=float64)", var(astype(x, DType::float64)));
  CHECK_RECORDS("any(m, axis=0)", any(m, 0));
  CHECK_RECORDS("softmax(x)", softmax(x, -1));
  CHECK_RECORDS("softmax(x, axis=0)", softmax(x, 0));
  CHECK_RECORDS("gelu(x)", gelu(x));
  CHECK_RECORDS("gelu(x, approximate='tanh')", gelu(x, Approximate::tanh));
  CHECK_RECORDS("fmod(x, y) + copysign(x, y)", fmod(x, y) + copysign(x, y));
  CHECK_RECORDS("gammaln(x) + psi(x)", lgamma(x) + digamma(x));
  CHECK_RECORDS("expit(x)", sigmoid(x));
  CHECK_RECORDS("gcd(i, 12)", gcd(i, 12));
  CHECK_RECORDS("nan_to_num(x, nan=1.5, posinf=9)", nan_to_num(x, 1.5, 9.0));
  CHECK_RECORDS("isclose(x, y, atol=0.5)", isclose(x, y, 1e-5, 0.5));
  CHECK_RECORDS("select((x < 0, x > 1), (x, y*x), default=3)", select({x < 0, x > 1}, {x, y * x}, 3));
  CHECK_RECORDS("piecewise(x, (x < 0, x > 1), (-1, x, 2))", piecewise(x, {x < 0, x > 1}, {full({}, -1), x, full({}, 2)}));
  CHECK_RECORDS("divmod(x, y)[1]", divmod(x, y).second);
  CHECK_RECORDS("frexp(x)[0]", frexp(x).first);
  CHECK_RECORDS("leaky_relu(x, negative_slope=0.1) + elu(x, 2)", leaky_relu(x, 0.1) + elu(x, 2));
  CHECK_RECORDS("glu(x) + swiglu(x, axis=1)", glu(x) + swiglu(x, 1));
  CHECK_RECORDS("clip(x, 0, 1)", clip(x, 0, 1));
  CHECK_RECORDS("clip(x, a_min=0, a_max=s)", clip(x, 0, 0.5));
  CHECK_RECORDS("clip(x, min=0)", maximum(x, 0));
  CHECK_RECORDS("clip(x, None, 1)", minimum(x, 1));
  CHECK_RECORDS("where(x > 0, x, 0.1*x)", where(x > 0, x, 0.1 * x));
  CHECK_RECORDS("layer_norm(x, y, y, eps=1e-6)", layer_norm(x, y, y, 1e-6));
  CHECK_RECORDS("layer_norm(x)", layer_norm(x));
  CHECK_RECORDS("rms_norm(x, weight=y)", rms_norm(x, y));
  CHECK_RECORDS("x.reshape(2, -1)", reshape(x, {2, -1}));
  CHECK_RECORDS("x.reshape((2, -1))", reshape(x, {2, -1}));
  CHECK_RECORDS("x.reshape([2, 12])", reshape(x, {2, 12}));
  CHECK_RECORDS("reshape(x, 24)", reshape(x, {24}));
  CHECK_RECORDS("reshape(x, shape=(24,))", reshape(x, {24}));
  CHECK_RECORDS("x.T", transpose(x));
  CHECK_RECORDS("x.transpose()", transpose(x));
  CHECK_RECORDS("x.transpose(1, 0)", transpose(x));
  CHECK_RECORDS("swapaxes(x, 0, -1)", transpose(x));
  CHECK_RECORDS("expand_dims(y, axis=0)", expand_dims(y, 0));
  CHECK_RECORDS("squeeze(x[None])", x);
  CHECK_RECORDS("broadcast_to(y, (4, 6))", broadcast_to(y, {4, 6}));
  CHECK_RECORDS("broadcast_to(y, x.shape)", broadcast_to(y, {4, 6}));
  CHECK_RECORDS("x / x.shape[1] + x.ndim", x / 6 + 2);
  CHECK_RECORDS("flip(x, axis=1)", flip(x, 1));
  CHECK_RECORDS("x.astype(float64)", astype(x, DType::float64));
  CHECK_RECORDS("float64(x)", astype(x, DType::float64));
  CHECK_RECORDS("x.astype(i.dtype)", astype(x, DType::int32));
  CHECK_RECORDS("arange(6) * y", arange(6) * y);
  CHECK_RECORDS("arange(1, 7, dtype=float32) * y", arange(1, 7, DType::float32) * y);
  CHECK_RECORDS("zeros((4, 6), dtype=float32) + x", zeros({4, 6}, DType::float32) + x);
  CHECK_RECORDS("zeros_like(x) + x", zeros({4, 6}, DType::float32) + x);
  CHECK_RECORDS("full(6, 2.5, float32) * y", full({6}, 2.5, DType::float32) * y);
  CHECK_RECORDS("linspace(0, 1, 6)", linspace(0, 1, 6));
  CHECK_RECORDS("abs(x) + np.exp(x) + numpy.sqrt(x)", abs(x) + exp(x) + sqrt(x));
  CHECK_RECORDS("arctan2(x, y)", atan2(x, y));
  CHECK_RECORDS("mod(i, 3)", remainder(i, 3));
}

TEST_CASE("every function of the table can be called with tensors, and its parameters parse") {
  // Those whose arguments are of a kind of their own.
  const std::map<std::string_view, std::string> calls = {
      {"add_at", "add_at(t, 0, 1)"},
      {"argpartition", "argpartition(t, 2)"},
      {"bernoulli", "bernoulli((4,), 0.5, key=3)"},
      {"beta", "beta((4,), 2, 3, key=3)"},
      {"bincount", "bincount(t[0])"},
      {"binomial", "binomial((4,), 9, 0.3, key=3)"},
      {"categorical", "categorical(t * 0.5, key=3)"},
      {"cauchy", "cauchy((4,), key=3)"},
      {"chisquare", "chisquare((4,), 3, key=3)"},
      {"choice", "choice(t[0], 2, key=3)"},
      {"compress", "compress(t[0], t, axis=1)"},
      {"corrcoef", "corrcoef(t)"},
      {"cumulative_prod", "cumulative_prod(t, axis=0)"},
      {"cumulative_sum", "cumulative_sum(t, axis=0)"},
      {"digitize", "digitize(t, t[0])"},
      {"dirichlet", "dirichlet(t[0], key=3)"},
      {"dot", "dot(t, t.T)"},
      {"einsum", "einsum('ij->j', t)"},
      {"exponential", "exponential((4,), key=3)"},
      {"gamma", "gamma((4,), 2, key=3)"},
      {"geometric", "geometric((4,), 0.3, key=3)"},
      {"gumbel", "gumbel((4,), key=3)"},
      {"histogram2d", "histogram2d(t[0], t[1])"},
      {"integers", "integers((4,), 0, 9, key=3)"},
      {"interp", "interp(t, t[0], t[1])"},
      {"laplace", "laplace((4,), key=3)"},
      {"lexsort", "lexsort((t[0], t[1]))"},
      {"logistic", "logistic((4,), key=3)"},
      {"lognormal", "lognormal((4,), key=3)"},
      {"matrix_power", "matrix_power(t @ t.T, 2)"},
      {"meshgrid", "meshgrid(t[0], t[1])"},
      {"moveaxis", "moveaxis(t, 0, 1)"},
      {"nanpercentile", "nanpercentile(t, 30)"},
      {"nanquantile", "nanquantile(t, 0.3)"},
      {"normal", "normal((4,), key=3)"},
      {"pareto", "pareto((4,), 3, key=3)"},
      {"partition", "partition(t, 2)"},
      {"percentile", "percentile(t, 30)"},
      {"permutation", "permutation(9, key=3)"},
      {"place", "place(t, t, t)"},
      {"poisson", "poisson((4,), 2.5, key=3)"},
      {"put", "put(t, 3, 1)"},
      {"put_along_axis", "put_along_axis(t, arange(4).reshape(4, 1), 1, 1)"},
      {"quantile", "quantile(t, 0.3)"},
      {"rademacher", "rademacher((4,), key=3)"},
      {"ravel_multi_index", "ravel_multi_index((t, t), (9, 9))"},
      {"rayleigh", "rayleigh((4,), key=3)"},
      {"searchsorted", "searchsorted(t[0], t)"},
      {"shuffle", "shuffle(t, key=3)"},
      {"sliding_window_view", "sliding_window_view(t, (2, 2))"},
      {"standard_t", "standard_t((4,), 3, key=3)"},
      {"topk", "topk(t, 2)"},
      {"truncated_normal", "truncated_normal((4,), -1, 1, key=3)"},
      {"uniform", "uniform((4,), key=3)"},
      {"unravel_index", "unravel_index(t, (4, 6))"},
      {"weibull", "weibull((4,), 3, key=3)"},
  };
  for (const Function& function : functions()) {
    CAPTURE(function.name);
    const std::vector<Parameter> parameters = parameters_of(function);
    REQUIRE(!parameters.empty());
    std::string call = fmt::format("{}(", function.name);
    for (const Parameter& parameter : parameters) {
      if (parameter.optional && parameter.name != "a_min") continue;
      const std::string_view name = parameter.name;
      const std::string_view value = name == "shape" && function.name != "broadcast_to" ? "(24,)"
                                     : name == "shape"      ? "(4, 6)"
                                     : name == "axes"       ? "(1, 0)"
                                     : name == "dtype"      ? "float64"
                                     : name == "arrays"     ? "(t, t)"
                                     : name == "indices_or_sections" ? "2"
                                     : name == "condlist" || name == "choicelist" || name == "funclist" ? "(t, t)"
                                     : name == "pad_width" || name == "shift" || name == "reps" || name == "repeats" || name == "N" ? "2"
                                     : name == "axis2"      ? "1"
                                     : name.starts_with("axis") ? "0"
                                     : name == "start" || name == "fill_value" || name == "a_min" ? "1"
                                     : name == "stop"       ? "5"
                                     : name == "tup"         ? "(t, t)"
                                     : name == "xi"          ? "arange(3)"
                                     : name == "subscripts"  ? "'ij->ji'"
                                     : name == "source"      ? "0"
                                     : name == "destination" ? "1"
                                     : name == "indices_or_sections" || name == "n" ? "2"
                                     : name == "window_shape" ? "(2, 3)"
                                     : function.name == "matrix_power" ? "t[:, 0:4]"
                                     : function.name.starts_with("cumulative_") ? "t[0]"
                                     : (function.name == "matmul" && name == "x2") || (function.name == "dot" && name == "b") ? "t.T"
                                                            : "t";
      call += fmt::format("{}{}", call.ends_with('(') ? "" : ", ", value);
    }
    call += ")";
    if (const auto written = calls.find(function.name); written != calls.end()) call = written->second;
    CAPTURE(call);
    std::string faults;
    bool recorded = false;
    for (const char* tensor : {"x", "i", "m"}) {  // some take integers or truth values only
      Bindings bindings;
      bindings.emplace("t", names().at(tensor));
      try {
        evaluate(call, bindings);
        recorded = true;
      } catch (const DTypeError& error) {
        faults += error.what();
      } catch (const ValueError& error) {  // there is no engine here, and some evaluate
        faults += error.what();
        recorded |= std::string_view(error.what()).find("not evaluated") != std::string_view::npos;
      }
    }
    CAPTURE(faults);
    CHECK(recorded);
  }
}

TEST_CASE("indexing is NumPy's") {
  const Tensor x = named("x"), y = named("y");
  CHECK_RECORDS("x[0]", x(0));
  CHECK_RECORDS("x[-1, 2]", x(-1, 2));
  CHECK_RECORDS("x[1:-1:2]", x(Slice{1, -1, 2}));
  CHECK_RECORDS("x[:, ::-1]", x(Slice{}, Slice{{}, {}, -1}));
  CHECK_RECORDS("x[1:-1:2, None, ..., 0]", x(Slice{1, -1, 2}, newaxis, ellipsis, 0));
  CHECK_RECORDS("x[..., np.newaxis]", x(ellipsis, newaxis));
  CHECK_RECORDS("x[2:]", x(Slice{2, {}, {}}));
  CHECK_RECORDS("x[:n]", x(Slice{{}, 3, {}}));
  CHECK_RECORDS("x[n-1:, 2*2]", x(Slice{2, {}, {}}, 4));
  CHECK_RECORDS("x[None:None:2]", x(Slice{{}, {}, 2}));
  CHECK_RECORDS("x[0][1:3] * y[1:3]", x(0)(Slice{1, 3, {}}) * y(Slice{1, 3, {}}));
  CHECK_RECORDS("x.T[0]", transpose(x)(0));
  CHECK_RECORDS("(x + 1)[0]", (x + 1)(0));
}

TEST_CASE("statements, comments and lines") {
  const Tensor x = named("x"), y = named("y");
  CHECK_RECORDS("u = x*s + y; softmax(gelu(u), axis=-1)", softmax(gelu(x * 0.5 + y), -1));
  CHECK_RECORDS("u = x + 1\nv = u * u   # squares\n\nv - u\n", (x + 1) * (x + 1) - (x + 1));
  CHECK_RECORDS("x = x + 1; x = x * 2; x", (x + 1) * 2);
  CHECK_RECORDS("(x +\n  y)  # over two lines", x + y);
  CHECK_RECORDS("x + \\\n y", x + y);
  CHECK_RECORDS(";; x ;", x);
  CHECK_RECORDS("u = x + y", x + y);  // the last statement is the result, also when it is an assignment
  CHECK_RECORDS("e = x; e * 2", x * 2);
  CHECK_RECORDS("x\r\n", x);
  CHECK(evaluate("x + 1", names()).unused == std::vector<std::string>{"i", "m", "n", "s", "y"});
}

TEST_CASE("several results: a tuple as the last statement") {
  const Tensor x = named("x"), y = named("y");
  struct Row {
    const char* text;
    std::vector<Tensor> results;
    std::vector<std::string> labels;
  };
  const Row rows[] = {
      {"x", {x}, {"result"}},
      {"x, y", {x, y}, {"x", "y"}},
      {"x,", {x}, {"x"}},
      {"(x, y)", {x, y}, {"x", "y"}},
      {"[x + 1, y]", {x + 1, y}, {"x + 1", "y"}},
      {"u = x * 2; u , u[:,  0:3] # both", {x * 2, (x * 2)(Slice{}, Slice{0, 3})}, {"u", "u[:, 0:3]"}},
      {"q = x, y\nq", {x, y}, {"result 1", "result 2"}},
      {"q = (x, y)", {x, y}, {"x", "y"}},
      {"a, b = x + 1, y", {x + 1, y}, {"a", "b"}},
      {"a, b = x, y; b, a = a, b; a - b, a", {y - x, y}, {"a - b", "a"}},
      {"r, c = x.shape; x.reshape((c, r)), r", {x.reshape({6, 4}), full({}, std::int64_t{4})}, {"x.reshape((c, r))", "r"}},
      {"x.reshape((6, 4)).shape", {full({}, std::int64_t{6}), full({}, std::int64_t{4})}, {"result 1", "result 2"}},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(row.text));
    const Evaluated got = evaluate(row.text, names());
    CHECK(got.labels == row.labels);
    REQUIRE(got.results.size() == row.results.size());
    for (std::size_t k = 0; k < row.results.size(); ++k) CHECK(graph(got.results[k]) == graph(row.results[k]));
  }
  const std::string label = evaluate(std::string("y, x") + std::string(100, ' ') + "+ 1.0" + std::string(18, '0') + "*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x", names()).labels[1];
  CHECK(label == "x + 1.0" + std::string(18, '0') + "*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*" + "…");
}

TEST_CASE("every fault is a ValueError that points at its column and says what to do") {
  struct Row {
    const char *text, *says;
    std::ptrdiff_t column;
  };
  const Row rows[] = {
      {"", "empty", 0},
      {"  # nothing", "empty", 0},
      {"x +", "operand is missing", 3},
      {"x \x93", "byte 0x93", 2},
      {"x.astype(complex64)", "not an element type", 9},
      {"x + ; y", "operand is missing", 4},
      {"x + * y", "unexpected '*'", 4},
      {"x y", "unexpected 'y'", 2},
      {"x)", "unexpected ')'", 1},
      {"(x + y", "never closed", 0},
      {"sum(x, axis=0", "never closed", 3},
      {"x[0", "never closed", 1},
      {"x[]", "index is missing", 2},
      {"sofmax(x)", "did you mean 'softmax'?", 0},
      {"x + yy", "did you mean 'y'?", 4},
      {"x + quux", "quux=…", 4},
      {"kronecker(x, y)", "unknown function 'kronecker'", 0},
      {"np.foo(x)", "unknown function 'foo'", 3},
      {"x.foo()", "no attribute 'foo'", 2},
      {"x.mena(axis=0)", "did you mean 'mean'?", 2},
      {"x.mean", "call it", 2},
      {"exp + 1", "call it", 0},
      {"sum(x, axes=0)", "did you mean 'axis'?", 12},
      {"sum(x, 0, float32, 5)", "too many positional", 19},
      {"sum(x, axis=0, axis=1)", "twice", 20},
      {"sum(axis=0)", "needs 'a'", 0},
      {"sum(x, axis=0, 1)", "positional argument follows", 15},
      {"sum(x, axis='z')", "axis of sum() is an integer or a tuple of integers, not a string", 12},
      {"sum(x, axis=(0, 1.5))", "this is a float", 16},
      {"sum(x, keepdims=1)", "True or False", 16},
      {"x.astype(y)", "dtype", 9},
      {"gelu(x, approximate='fast')", "'none' or 'tanh'", 20},
      {"round(x, 2)", "decimals=0", 9},
      {"clip(x)", "a_min", 5},
      {"x.reshape(2, 2.5)", "this is a float", 13},
      {"layer_norm(x, 2)", "a tensor", 14},
      {"x < y < 1", "cannot be chained", 6},
      {"x and y", "write (a) & (b)", 2},
      {"not x", "write ~(a)", 0},
      {"x if y else x", "where(condition", 2},
      {"lambda x: x", "only expressions", 0},
      {"x && y", "written '&'", 2},
      {"!m", "written '~'", 0},
      {"x += 1", "name = name + ", 2},
      {"x[0] = 1", "plain name", 5},
      {"f(x) = 1", "unknown function 'f'", 0},
      {"True = x", "cannot be assigned", 0},
      {"2x", "written 2*", 1},
      {"3j", "complex", 0},
      {"99999999999999999999", "64 bits", 0},
      {"0x", "not a number", 0},
      {"0xfg", "not a number", 0},
      {"x + 'a", "no end", 4},
      {"x $ y", "unexpected character '$'", 2},
      {"x × y", "unexpected character '×'", 2},
      {"'ä' + $", "unexpected character '$'", 6},
      {"1/0", "by zero", 1},
      {"1 % 0", "by zero", 2},
      {"0 ** -1", "negative power", 2},
      {"(-8) ** 0.5", "complex", 5},
      {"1.5 & 2", "integers", 4},
      {"2 ** 64", "64 bits", 2},
      {"1 << -1", "negative shift", 2},
      {"2 @ 3", "matrices", 2},
      {"x + None", "not None", 4},
      {"x + (1, 2)", "not a tuple", 4},
      {"-'a'", "not a string", 1},
      {"()", "result is an empty tuple", 0},
      {"x, (y, 2)", "tuple within a tuple", 3},
      {"x, 'text'", "result is a string, not a tensor", 3},
      {"x,, y", "unexpected ','", 2},
      {", x", "unexpected ','", 0},
      {"a, b = x", "2 names are given a tensor", 0},
      {"a, b = 1, 2, 3", "2 names are given a tuple of 3", 0},
      {"a, pi = 1, 2", "cannot be assigned to", 3},
      {"None", "result is None", 0},
      {"x[1.5]", "cannot be a float", 2},
      {"x['a':]", "slice takes integers", 2},
      {"x[:y]", "slice takes integers", 3},
      {"x.shape[2]", "out of range", 7},
      {"n[0]", "cannot be indexed", 1},
      {"x(1)", "cannot be called", 1},
      {"n.T", "no attribute", 2},
      {"u = x\nv = u +\nv", "line 2", 7},
      {"u = x;\n\n\tw", "(line 3)", 1},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(row.text));
    const std::string said = message(row.text);
    CHECK_MESSAGE(said.find(row.says) != std::string::npos, said);
    CHECK_MESSAGE(caret(said) == row.column, said);
  }
}

TEST_CASE("what does not fit keeps its type and gets its column") {
  const std::string shapes = message<ShapeError>("x + x[:, 1:]");
  CHECK_MESSAGE(shapes.find("(4, 6)") != std::string::npos, shapes);
  CHECK_MESSAGE(caret(shapes) == 2, shapes);
  CHECK(caret(message<ShapeError>("1 + x.reshape(5, 5)")) == 6);
  CHECK(caret(message<ShapeError>("x @ x")) == 2);
  CHECK(caret(message<AxisError>("x + sum(x, axis=7)")) == 4);
  CHECK(caret(message<AxisError>("swapaxes(x, 0, 2)")) == 0);
  CHECK(caret(message<AxisError>("x[9]")) == 1);
  CHECK(caret(message<DTypeError>("2 + (x & x)")) == 7);
  CHECK(caret(message<ValueError>("x[::0]")) == 1);
}

TEST_CASE("long lines are cut around the place, and the caret still points at it") {
  std::string text = "x";
  for (int k = 0; k < 200; ++k) text += fmt::format(" + x*{}", k);
  const std::size_t place = text.size() / 2;
  const std::size_t star = text.find('*', place);
  text[star] = '$';
  const std::string said = message(text);
  const std::size_t line_start = said.find("\n  ") + 3;
  const std::string line = said.substr(line_start, said.rfind('\n') - line_start);
  CHECK(line.size() < 120);
  CHECK(line.starts_with("..."));
  CHECK(line.ends_with("..."));
  REQUIRE(caret(said) >= 0);
  CHECK(line[static_cast<std::size_t>(caret(said))] == '$');
}

TEST_CASE("hostile input ends in an error, never in a crash") {
  CHECK(message(std::string(100000, '(')).find("nested too deeply") != std::string::npos);
  CHECK(message(std::string(100000, '-') + "x").find("nested too deeply") != std::string::npos);
  CHECK(message(std::string(100000, '[')).find("nested too deeply") != std::string::npos);
  std::string powers = "x";
  for (int k = 0; k < 50000; ++k) powers += "**x";
  CHECK(message(powers).find("nested too deeply") != std::string::npos);

  std::random_device device;
  const std::uint64_t seed = (std::uint64_t{device()} << 32) | device();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const std::vector<std::string> pieces = {"x", "y", "i", "m", "n", " ", "(", ")", "[", "]", ",", ":", ";", "\n", "=", "+", "-", "*",
                                           "**", "//", "@", "<", "==", "~", ".", ".T", "...", "None", "1", "2.5", "'a'", "sum(",
                                           "axis=", "reshape(", "np.", "0x", "\xff", "\xc3", "#", "1e", "and", "softmax(", "float32"};
  int recorded = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (std::uint64_t k = random() % 12; k > 0; --k) text += pieces[random() % pieces.size()];
    CAPTURE(text);
    try {
      evaluate(text, names());
      ++recorded;
    } catch (const Error& error) {
      CHECK(std::string_view(error.what()).find('^') != std::string_view::npos);
    }
  }
  CHECK(recorded > 20);  // the pieces do make sense now and then
}

TEST_CASE("types and numbers bind names") {
  const auto bound = [](const std::string& argument) { return bind_types({argument}).begin()->second; };
  const auto tensor = [&](const std::string& argument) { return *bound(argument).as<Tensor>(); };
  CHECK(tensor("x=f32[4096,1024]").shape() == Shape{4096, 1024});
  CHECK(tensor("x=f32[4096,1024]").dtype() == DType::float32);
  for (int i = 0; i < kDTypeCount; ++i) {
    CHECK(tensor("x=" + std::string(kDTypes[i].alias) + "[3]").dtype() == static_cast<DType>(i));
    CHECK(tensor("x=" + std::string(kDTypes[i].name) + "[3]").dtype() == static_cast<DType>(i));
    CHECK(expr("x.astype(" + std::string(kDTypes[i].name) + ")").dtype() == static_cast<DType>(i));
  }
  CHECK(tensor("x=float64[3]").dtype() == DType::float64);
  CHECK(tensor("x=bool[8, 8]").shape() == Shape{8, 8});
  CHECK(tensor("x=i64[]").shape() == Shape{});
  CHECK(tensor("x=i32[ ]").shape() == Shape{});
  CHECK(tensor("x=f32[0,3]").shape() == Shape{0, 3});
  CHECK(*bound("x=-2.5e3").as<double>() == -2500);
  CHECK(*bound("x=+7").as<std::int64_t>() == 7);
  CHECK(std::isinf(*bound("x=inf").as<double>()));
  CHECK(*bound("x=True").as<bool>());
  for (const char* bad : {"x", "=f32[3]", "2x=3", "x=", "x=f32", "x=f32[", "x=f32[3", "x=f33[3]", "x=f32[-1]", "x=f32[3,,4]",
                          "x=f32[a]", "x=f32[4294967296,4294967296]", "x=1.5.2", "x=f32[99999999999999999999]"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(bind_types({bad}), ValueError);
  }
  CHECK_THROWS_AS(bind_types({"x=1", "x=2"}), ValueError);
  CHECK_THROWS_AS(bind_values({"x=no-such-file"}), ValueError);
  CHECK_THROWS_AS(bind_values({"x=no-such-file.npy"}), IoError);
}
