// Expressions: their recordings, Python's arithmetic of numbers, and the column of every error. Nothing is computed; recorded graphs are compared as text.
#include <doctest/doctest.h>

#include <fmt/format.h>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "expression.hpp"
#include "host_data_stub.hpp"
#include "lexer.hpp"
#include "seed.hpp"
#include "sinter/complex.hpp"
#include "sinter/creation.hpp"
#include "sinter/fft.hpp"
#include "sinter/indexing.hpp"
#include "sinter/linalg.hpp"
#include "sinter/ops.hpp"
#include "sinter/shapes.hpp"
#include "sinter/sorting.hpp"
#include "table/arguments.hpp"
#include "table/functions.hpp"
#include "trace/structural_key.hpp"

using namespace sinter;
using namespace sinter::tools;
using namespace sinter::table;

namespace {

__extension__ typedef __int128 Wide;

Bindings names() {
  static const Tensor x = placeholder({4, 6}, DType::float32), y = placeholder({6}, DType::float32), i = placeholder({4, 6}, DType::int32),
                      m = placeholder({4, 6}, DType::bool_);
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

/// Returns a graph's text without source lines.
std::string graph(const Tensor& tensor) { return trace::to_string(trace::linearize({tensor.node()}).graph); }

/// Returns the tensors for the names x, y, ... of the expressions.
#define CHECK_RECORDS(text, tensor)           \
  do {                                        \
    CAPTURE(text);                            \
    std::string got;                          \
    REQUIRE_NOTHROW(got = graph(expr(text))); \
    CHECK(got == graph(tensor));              \
  } while (false)

Tensor changed(Tensor tensor, auto change) {
  change(tensor);
  return tensor;
}

/// Returns the value of an expression of numbers.
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

/// Returns the column (from 0) at which a message's caret points.
std::ptrdiff_t caret(const std::string& message) {
  const std::size_t line = message.rfind('\n') + 1;
  const std::size_t at = message.find('^', line);
  return at == std::string::npos ? -1 : static_cast<std::ptrdiff_t>(at - line) - 2;
}

}  // namespace

TEST_CASE("operators have NumPy's meaning and Python's precedence") {
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
  CHECK(message<DTypeError>("+m").find("not supported for bool") != std::string::npos);
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

TEST_CASE("arithmetic of numbers agrees with Python") {
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

TEST_CASE("integer arithmetic agrees with 128-bit arithmetic, or reports an overflow") {
  std::mt19937_64 random(sinter::testing::fresh_seed());
  for (int round = 0; round < 300; ++round) {
    const auto a = static_cast<std::int64_t>(random()) >> random() % 64, b = static_cast<std::int64_t>(random()) >> random() % 64;
    if (a == std::numeric_limits<std::int64_t>::min() || b == std::numeric_limits<std::int64_t>::min()) continue;
    const Wide wide_a = a, wide_b = b;
    for (const char symbol : {'+', '-', '*'}) {
      const std::string text = fmt::format("({}) {} ({})", a, symbol, b);
      CAPTURE(text);
      const Wide wanted = symbol == '+' ? wide_a + wide_b : symbol == '-' ? wide_a - wide_b : wide_a * wide_b;
      if (wanted > std::numeric_limits<std::uint64_t>::max() || wanted < std::numeric_limits<std::int64_t>::min()) {
        CHECK(message(text).find("does not fit in 64 bits") != std::string::npos);
      } else {
        CHECK(number(text).value == static_cast<double>(wanted));
      }
    }
    if (b == 0) continue;
    // a == q*b + r with r between 0 and b defines both. The product may be too small for 64 bits.
    const Wide rest = wide_a % wide_b, product = wide_a - (rest != 0 && (rest < 0) != (wide_b < 0) ? rest + wide_b : rest);
    if (product >= std::numeric_limits<std::int64_t>::min())
      CHECK(number(fmt::format("({}) // ({}) * ({}) + ({}) % ({})", a, b, b, a, b)).value == static_cast<double>(a));
    const double r = number(fmt::format("({}) % ({})", a, b)).value;
    CHECK((b > 0 ? r >= 0 && r <= static_cast<double>(b) : r <= 0 && r >= static_cast<double>(b)));
  }
}

TEST_CASE("calls and indexes take arguments in every form; functions that NumPy has not") {
  const Tensor x = named("x"), y = named("y"), i = named("i");
  CHECK_RECORDS("x.mean(0, 'float64')", mean(x, 0, false, DType::float64));
  CHECK_RECORDS("std(x, ddof=1)", stddev(x, {}, false, 1));
  CHECK_RECORDS("var(x, dtype=float64)", var(astype(x, DType::float64)));
  CHECK_RECORDS("softmax(x)", softmax(x, -1));
  CHECK_RECORDS("softmax(x, axis=0)", softmax(x, 0));
  CHECK_RECORDS("gelu(x)", gelu(x));
  CHECK_RECORDS("gelu(x, approximate='tanh')", gelu(x, Approximate::tanh));
  CHECK_RECORDS("gammaln(x) + psi(x)", lgamma(x) + digamma(x));
  CHECK_RECORDS("expit(x)", sigmoid(x));
  CHECK_RECORDS("leaky_relu(x, negative_slope=0.1) + elu(x, 2)", leaky_relu(x, 0.1) + elu(x, 2));
  CHECK_RECORDS("glu(x) + swiglu(x, axis=1)", glu(x) + swiglu(x, 1));
  CHECK_RECORDS("layer_norm(x, y, y, eps=1e-6)", layer_norm(x, y, y, 1e-6));
  CHECK_RECORDS("layer_norm(x)", layer_norm(x));
  CHECK_RECORDS("rms_norm(x, weight=y)", rms_norm(x, y));
  CHECK_RECORDS("x.reshape([2, 12])", reshape(x, {2, 12}));
  CHECK_RECORDS("x.T", transpose(x));
  CHECK_RECORDS("broadcast_to(y, x.shape)", broadcast_to(y, {4, 6}));
  CHECK_RECORDS("x / x.shape[1] + x.ndim", x / 6 + 2);
  CHECK_RECORDS("x.astype(i.dtype)", astype(x, DType::int32));
  CHECK_RECORDS("abs(x) + np.exp(x) + numpy.sqrt(x)", abs(x) + exp(x) + sqrt(x));
  CHECK_RECORDS("x[1:-1:2, None, ..., 0]", x(Slice{1, -1, 2}, newaxis, ellipsis, 0));
  CHECK_RECORDS("x[n-1:, 2*2]", x(Slice{2, {}, {}}, 4));
  CHECK_RECORDS("k = [0, 2]; x[k, 1:]", x(from_span(std::vector<std::int64_t>{0, 2}), Slice{1, {}}));
  CHECK_RECORDS("[[2.5], [1], [0], [4]] < x", less(from_span(std::vector<double>{2.5, 1, 0, 4}, {4, 1}), x));
  CHECK_RECORDS("maximum(x, [x[0], y, y, y])", maximum(x, stack({x(0), y, y, y})));
  CHECK_RECORDS("x.reshape(x.shape[::-1])", reshape(x, {6, 4}));
  CHECK_RECORDS("zeros(x.shape[:1] + (2,) * 2) + x.shape[-1]", zeros({4, 2, 2}) + 6);
  CHECK_RECORDS("x.real + x.imag * x.itemsize", x + zeros({4, 6}, DType::float32) * 4);
  CHECK_RECORDS("zeros(x.mT.shape, dtype=result_type(x, float64, 3))", zeros({6, 4}));
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
  CHECK_RECORDS("pi = x; u = y; pi + u", x + y);
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
      {"q = r = x, y", {x, y}, {"x", "y"}},
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
  const std::string label =
      evaluate(std::string("y, x") + std::string(100, ' ') + "+ 1.0" + std::string(18, '0') + "*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x", names()).labels[1];
  CHECK(label == "x + 1.0" + std::string(18, '0') + "*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*" + "…");
}

TEST_CASE("assignment to names and to parts agrees with NumPy") {
  const Tensor x = named("x"), y = named("y"), i = named("i"), m = named("m");
  CHECK_RECORDS("x += y; x", changed(x, [&](Tensor& t) { t += y; }));
  CHECK_RECORDS("x *= 2", x * 2);
  CHECK_RECORDS("x **= 2; x", power(x, 2));
  CHECK_RECORDS("i //= 2; i <<= 1; i", floor_divide(i, 2) << 1);
  CHECK_RECORDS("k = 2; k += 3; x * k", x * 5);
  CHECK_RECORDS("x[0] = y", changed(x, [&](Tensor& t) { t(0) = y; }));
  CHECK_RECORDS("z = x; z[1:3, ::2] = 0.5; z", changed(x, [](Tensor& t) { t(Slice{1, 3, {}}, Slice{{}, {}, 2}) = 0.5; }));
  CHECK_RECORDS("z = x; z[0] = 1; x", x);  // a name is a value, not a view
  CHECK_RECORDS("x[x < 0] = 0; x", changed(x, [](Tensor& t) { t(t < 0) = 0; }));
  CHECK_RECORDS("x[m] *= 2; x", changed(x, [&](Tensor& t) { t(m) *= 2; }));
  CHECK_RECORDS("x[:, 1] //= 2; x", changed(x, [](Tensor& t) { t(Slice{}, 1) = floor_divide(std::as_const(t)(Slice{}, 1), 2); }));
  CHECK_RECORDS("x[(0)][1:] + 1", x(0)(Slice{1, {}, {}}) + 1);
  CHECK_RECORDS("x[0] == y", x(0) == y);
  CHECK(message<DTypeError>("i += 0.5").find("float") != std::string::npos);
  CHECK(caret(message<DTypeError>("i[0] = 0.5")) == 5);
  CHECK(caret(message<ShapeError>("x[0] = x")) == 5);
}

TEST_CASE("results of functions with several results can be unpacked") {
  const Tensor x = named("x"), y = named("y");
  const auto [fraction, exponent] = frexp(x);
  CHECK_RECORDS("f, e = frexp(x); ldexp(f, e)", ldexp(fraction, exponent));
  CHECK_RECORDS("f, _ = modf(x); f", modf(x).first);
  CHECK_RECORDS("q, r = divmod(x, 2); q * 2 + r", divmod(x, 2).first * 2 + divmod(x, 2).second);
  const std::vector<Tensor> grid = meshgrid({y, arange(3)});
  CHECK_RECORDS("u, v = meshgrid(y, arange(3)); u * v", grid[0] * grid[1]);
  CHECK_RECORDS("a, = unstack(x[0:1]); a", x(0));
  CHECK_RECORDS("a, b, = x, y; a - b", x - y);
}

TEST_CASE("numbers and lists become tensors") {
  CHECK(expr("array([[1, 2], [3, 4]])").dtype() == DType::int64);
  CHECK(expr("array([[1, 2], [3, 4]])").shape() == Shape{2, 2});
  CHECK(expr("np.array([1, 2.5, True])").dtype() == DType::float64);
  CHECK(expr("array([True, False])").dtype() == DType::bool_);
  CHECK(expr("asarray([1, 2], dtype=float32)").dtype() == DType::float32);
  CHECK(expr("array([[], []])").shape() == Shape{2, 0});
  CHECK(expr("array(3)").shape() == Shape{});
  CHECK_RECORDS("array([x, x])", stack({named("x"), named("x")}, 0));
  CHECK_RECORDS("array(x)", named("x"));
  for (const char* bad : {"array([[1, 2], [3]])", "array([1, [2]])", "array([[1], 2])", "array(['a'])", "array([None])"}) {
    CAPTURE(std::string(bad));
    CHECK(message(bad).find('^') != std::string::npos);
  }
}

TEST_CASE("a list as the result becomes an array") {
  for (const auto& [text, shape] : {std::pair<const char*, Shape>{"[5]", {1}},
                                    {"[[1, 2], [3, 4]]", {2, 2}},
                                    {"[x.sum(axis=0)]", {1, 6}},
                                    {"[[1, 2], [3, 4]][1]", {2}},
                                    {"[1, 2, 3][0]", {}},
                                    {"[]", {0}}}) {
    CAPTURE(std::string(text));
    const Evaluated got = evaluate(text, names());
    REQUIRE(got.results.size() == 1);
    CHECK(got.results[0].shape() == shape);
  }
}

TEST_CASE("complex numbers: results of fft can be used in arithmetic, and are refused where real numbers are needed") {
  const Tensor y = named("y");
  const Complex z = fft::rfft(y);
  const Tensor w = arange(4, DType::float32);
  CHECK_RECORDS("abs(rfft(y))", abs(z));
  CHECK_RECORDS("rfft(y).real", z.re);
  CHECK_RECORDS("rfft(y).imag.sum()", sum(z.im));
  CHECK_RECORDS("rfft(y).conj()[1].imag", conj(z).im(1));
  CHECK_RECORDS("rfft(y)[1:3].real", z.re(Slice{1, 3}));
  CHECK_RECORDS("irfft(rfft(y) * arange(4, dtype=float32))", fft::irfft(Complex{z.re * w, z.im * w}));
  CHECK_RECORDS("(rfft(y) * rfft(y)).imag", (z * z).im);
  CHECK_RECORDS("(rfft(y) / 2).imag", z.im / 2);
  CHECK_RECORDS("(-rfft(y)).imag", -z.im);
  CHECK_RECORDS("fftshift(rfft(y)).real", fft::fftshift(z.re));
  CHECK_RECORDS("angle(rfft(y))", angle(z));
  CHECK_RECORDS("re, im = rfft(y); im", z.im);
  CHECK_RECORDS("rfft(y).sum(axis=0).imag", sum(z.im, 0));
  CHECK(number("rfft(arange(6.0)).shape[0]").value == 4);
  for (const char* bad : {"erf(rfft(y))", "heaviside(rfft(y), 0)", "floor(rfft(y))", "median(rfft(y))", "y[0:4] + gelu(rfft(y))"}) {
    CAPTURE(std::string(bad));
    CHECK(message(bad).find("complex, a pair (re, im): take abs(z), angle(z), z.real or z.imag") != std::string::npos);
  }
  CHECK(message("rfft(y) // 1").find("// does not take complex numbers") != std::string::npos);
  CHECK(message("rfft(y).foo").find("no attribute 'foo'") != std::string::npos);
  CHECK_RECORDS("z = rfft(y); z[0] = 2; z.imag[0]", changed(z.im, [](Tensor& t) { t(0) = zeros({}, DType::float32); })(0));
}

TEST_CASE("complex numbers: literals take the other operand's precision, and linear functions act on both parts") {
  const Tensor y = named("y");
  CHECK_RECORDS("(y * 1j).imag", y * full({}, 1.0, DType::float32));
  for (const auto& [text, type] : {std::pair{"(y * 1j).real", DType::float32},
                                   {"(y + (1 + 2j)).real", DType::float32},
                                   {"(arange(3) * 1j).imag", DType::float64},
                                   {"array([1j, 2]).real", DType::float64},
                                   {"zeros(3, dtype=complex64).imag", DType::float32},
                                   {"y.astype(complex).real", DType::float64},
                                   {"np.exp(1j * y).real", DType::float32},
                                   {"np.where(y > 0, 1j, y).real", DType::float64}}) {
    CAPTURE(std::string(text));
    CHECK(evaluate(text, names()).results[0].dtype() == type);
  }
  CHECK(number("array([1j, 2, 3]).size").value == 3);
  CHECK(message("z = array([1j, 2]); a, b = z; a").find("could be taken apart in two ways") != std::string::npos);
  CHECK(message("np.zeros(3)[0] + np.erf(1j * y)").find("this is complex") != std::string::npos);
  CHECK(message("x = np.zeros(3); x[0] = 1j; x").find("complex") != std::string::npos);
  CHECK(message("x = np.zeros(3); x += 1j; x").find("complex") != std::string::npos);
}

TEST_CASE("methods and members have NumPy's meaning") {
  const Tensor x = named("x"), y = named("y");
  const Tensor cube = x.reshape({2, 2, 6});
  CHECK_RECORDS("np.linalg.trace(x.reshape(2, 2, 6))", matrix_trace(cube, 0, -2, -1));
  CHECK_RECORDS("np.linalg.diagonal(x.reshape(2, 2, 6), offset=1)", diagonal(cube, 1, -2, -1));
  CHECK_RECORDS("np.trace(x.reshape(2, 2, 6))", matrix_trace(cube));
  const auto same = [](const char* numpy, const char* here) {
    CAPTURE(std::string(numpy));
    CHECK(graph(expr(numpy)) == graph(expr(here)));
  };
  same("np.random.normal(0, 1, (3,), key=7)", "normal((3,), 0, 1, key=7)");
  same("np.random.uniform(2, 5, size=(2, 3), key=7)", "uniform((2, 3), 2, 5, key=7)");
  same("np.random.integers(2, 9, (4,), key=7)", "integers((4,), 2, 9, key=7)");
  same("np.random.integers(9, size=4, key=7)", "integers(4, 0, 9, key=7)");
  same("np.random.poisson(3.0, (4,), key=7)", "poisson((4,), 3.0, key=7)");
  same("np.random.beta(2, 3, 4, key=7)", "beta(4, 2, 3, key=7)");
  same("np.random.gamma(2, 3, 4, key=7)", "gamma(4, 2, 3, key=7)");
  same("np.random.binomial(10, 0.25, (4,), key=7)", "binomial((4,), 10, 0.25, key=7)");
  same("np.random.exponential(2.0, (4,), key=7)", "exponential((4,), 2.0, key=7)");
  same("np.random.choice([1, 5, 9], 2, key=7)", "choice([1, 5, 9], 2, key=7)");
  same("np.random.randn(2, 3, key=7)", "normal((2, 3), key=7)");
  CHECK(expr("np.random.normal(key=7)").shape() == Shape{});
  CHECK(expr("np.random.normal(y, 1, key=7)").shape() == Shape{6});
  CHECK(message("normal(0, 1, (3,), key=7)").find("the size comes first here: normal((3,), 0, 1, key=7)") != std::string::npos);
  CHECK_RECORDS("z = x.sort(); z", sort(x));
  CHECK_RECORDS("x.sort() + y", sort(x) + y);
  CHECK_RECORDS("linalg.norm(x) + fft.rfft(y)[0].real", norm(x) + fft::rfft(y).re(0));
  // In NumPy these statements change their arguments.
  for (const char* text : {"x.sort(); x", "np.put(y, [0], 1); y", "np.add.at(y, [0], 1.5); y", "x + 1; x"}) {
    CAPTURE(std::string(text));
    CHECK(caret(message(text)) == 0);
    CHECK(message(text).find("the value of this statement is lost; give it a name") == 0);
  }
}

TEST_CASE("binary functions have NumPy's reduce, accumulate, outer and keywords") {
  const Tensor x = named("x"), y = named("y"), i = named("i"), m = named("m");
  CHECK_RECORDS("np.add.reduce(x)", sum(x, 0));
  CHECK_RECORDS("multiply.reduce(x, axis=1, keepdims=True)", prod(x, 1, true));
  CHECK_RECORDS("np.maximum.reduce(x, axis=None)", max(x));
  CHECK_RECORDS("np.logical_or.reduce([m, x > 1])", any(stack({m, x > 1}), 0));
  CHECK_RECORDS("np.bitwise_or.reduce(i)",
                bitwise_or(bitwise_or(i(Slice{0, 2}), i(Slice{2, 4}))(Slice{0, 1}), bitwise_or(i(Slice{0, 2}), i(Slice{2, 4}))(Slice{1, 2}))(0));
  CHECK_RECORDS("np.add.accumulate(x)", cumsum(x, 0));
  CHECK_RECORDS("np.minimum.accumulate(x, axis=1)", cummin(x, 1));
  CHECK_RECORDS("np.subtract.outer(y, y)", reshape(y, {6, 1}) - y);
  CHECK_RECORDS("x = np.add(x, y, out=x); x", x + y);
  CHECK_RECORDS("np.divide(x, y, out=zeros_like(x), where=y != 0)", where(y != 0, x / y, zeros_like(x)));
  CHECK_RECORDS("np.sum(x, axis=1, out=None)", sum(x, 1));
  CHECK_RECORDS("np.add(x, i, dtype=np.float64)", astype(x, DType::float64) + astype(i, DType::float64));
  CHECK(message("np.log(x, where=x > 0)").find("out= says what they are") != std::string::npos);
  CHECK(message("np.add(x, y, out=i)").find("float32 to int32, a lower kind") != std::string::npos);
  CHECK(message<ShapeError>("np.add(x, y, out=y)").find("(4, 6)") != std::string::npos);
  CHECK_RECORDS("np.subtract.reduce(x)", x(0) - x(1) - x(2) - x(3));
  CHECK_RECORDS("np.power.accumulate(x[:2])", stack({x(0), power(x(0), x(1))}));
  CHECK_RECORDS("np.divide.reduce(y[:2], initial=3.0)", 3.f / y(0) / y(1));
  CHECK(message("np.less.reduce(x)").find("bool and float32 differs") != std::string::npos);
  CHECK(message("np.exp.reduce(x)").find("needs a function of two operands, and exp() is not one") != std::string::npos);
  CHECK(message("np.subtract.reduce(x, axis=None)").find("goes along one axis") != std::string::npos);
}

TEST_CASE("parts and several names as targets of an assignment, ranges in brackets") {
  const Tensor x = named("x"), y = named("y");
  CHECK_RECORDS("y[0], y[1] = 5, 7; y", [y = y]() mutable {
    y(0) = 5;
    y(1) = 7;
    return y;
  }());
  CHECK_RECORDS("a = c = y * 2; a + c", y * 2 + y * 2);
  CHECK_RECORDS("y[0] = y[1] = 7; y", [y = y]() mutable {
    y(0) = 7;
    y(1) = 7;
    return y;
  }());
  CHECK(message<ShapeError>("np.tensorsolve(zeros((2, 2)), zeros(3))").find("table/") == std::string::npos);
  CHECK_RECORDS("a, b, c, d = x; c", x(2));
  CHECK_RECORDS("np.r_[y, y]", concatenate({y, y}));
  CHECK_RECORDS("np.c_[y, y]", concatenate({reshape(y, {-1, 1}), reshape(y, {-1, 1})}, 1));
  CHECK_RECORDS("np.concatenate(x)", concatenate({x(0), x(1), x(2), x(3)}));
  CHECK_RECORDS("x[np.s_[1, ::2]] + x[np.index_exp[...]][()][1][::2]", x(1, Slice{{}, {}, 2}) + x(ellipsis)(ellipsis)(1)(Slice{{}, {}, 2}));
  CHECK(expr("np.mgrid[0:3, 0:4]").shape() == Shape{2, 3, 4});
  CHECK(expr("np.array([2**63])").dtype() == DType::uint64);
  CHECK(expr("np.array([2**63, 1])").dtype() == DType::float64);
  CHECK(number("2**63 + 5").dtype == DType::uint64);
  CHECK(graph(expr("x.dtype == float32")) == graph(full({}, true)));
  CHECK(graph(expr("x.dtype != y.dtype")) == graph(full({}, false)));
  CHECK(number("2**63 - 2**62").dtype == DType::int64);
  CHECK_RECORDS("max(stack([x, x]))", max(stack({x, x})));
}

TEST_CASE("statements of programs are refused with a hint at Python") {
  struct Row {
    const char *text, *word;
    std::ptrdiff_t column;
  };
  const Row rows[] = {
      {"for k in x: y", "'for'", 0},
      {"while n > 2: n -= 1", "'while'", 0},
      {"if n > 2: x", "'if'", 0},
      {"x if n > 2 else y", "'if'", 2},
      {"n > 2 else y", "'else'", 6},
      {"def f(a): return a", "'def'", 0},
      {"f = lambda a: a", "'lambda'", 4},
      {"return x", "'return'", 0},
      {"yield x", "'yield'", 0},
      {"import numpy as np; x", "'import'", 0},
      {"from math import pi", "'from'", 0},
      {"try: x", "'try'", 0},
      {"raise ValueError('no')", "'raise'", 0},
      {"assert n == 3", "'assert'", 0},
      {"with np.errstate(all='ignore'): x", "'with'", 0},
      {"class C: pass", "'class'", 0},
      {"del x", "'del'", 0},
      {"x is None", "'is'", 2},
      {"pass", "'pass'", 0},
      {"break", "'break'", 0},
      {"np.stack([y * k for k in range(3)])", "'for'", 16},
      {"{1: 2}", "dictionaries and sets", 0},
      {"x + {1, 2}", "dictionaries and sets", 4},
      {"f'{n}'", "a string with 'f' before it", 0},
      {"x + r'a'", "a string with 'r' before it", 4},
      {"np.add(*x)", "a list is unpacked", 7},
      {"np.add(x, **y)", "a list is unpacked", 10},
      {"a, *b = x", "a list is unpacked", 3},
      {"print(x)", "'print'", 0},
      {"np.stack(range(3))", "'range'", 9},
      {"len(x)", "'len'", 0},
      {"str(n)", "'str'", 0},
      {"math.sqrt(2)", "'math'", 0},
      {"np.apply_along_axis(np.sum, 0, x)", "'apply_along_axis'", 3},
      {"np.vectorize(x)", "'vectorize'", 3},
      {"rng = np.random.default_rng(7)", "'default_rng'", 16},
      {"x.item()", "'item'", 2},
      {"x.tolist()", "'tolist'", 2},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(row.text));
    const std::string said = message(row.text);
    CHECK_MESSAGE(said.find(row.word) != std::string::npos, said);
    CHECK_MESSAGE(said.find("this command reads expressions, and python -c 'import sinter as np; …' runs programs\n") != std::string::npos, said);
    CHECK_MESSAGE(caret(said) == row.column, said);
  }
  CHECK_RECORDS("range = max(x) - min(x); x / range", named("x") / (max(named("x")) - min(named("x"))));
}

TEST_CASE("types by NumPy's strings, integers that do not fit, and the other forms of arguments") {
  for (const auto& [text, dtype] : {std::pair{"'f4'", DType::float32},
                                    {"'<f4'", DType::float32},
                                    {"'i4'", DType::int32},
                                    {"'i8'", DType::int64},
                                    {"'|u1'", DType::uint8},
                                    {"'f8'", DType::float64},
                                    {"'=f2'", DType::float16},
                                    {"'b1'", DType::bool_},
                                    {"'float32'", DType::float32},
                                    {"'i32'", DType::int32}}) {
    CAPTURE(std::string(text));
    CHECK(expr(fmt::format("x.astype({})", text)).dtype() == dtype);
  }
  CHECK(message("np.array([300], np.uint8)").find("300 is out of bounds for uint8") != std::string::npos);
  CHECK(caret(message("np.array([[1], [-1]], dtype=uint16)")) == 16);
  CHECK(message("array(128, int8)").find("128 is out of bounds for int8") != std::string::npos);
  CHECK(expr("array([255, 0], uint8)").dtype() == DType::uint8);
  CHECK_RECORDS("x.var(axis=0, correction=1)", var(named("x"), 0, false, 1));
  CHECK_RECORDS("std(x, correction=2)", stddev(named("x"), {}, false, 2));
  CHECK(message("x.var(ddof=1, correction=1)").find("give one of them") != std::string::npos);
  CHECK(message<ShapeError>("uniform((-3,), key=1)").find("uniform: shape (-3,)") == 0);
  CHECK(message("arange(y)").find("are numbers, not tensors") != std::string::npos);
  CHECK(message("where(m, x)").find("takes x and y, or neither") != std::string::npos);
  CHECK(evaluate("meshgrid([1, 2])", names()).results.size() == 1);
  CHECK(message("repeat(y, [1, 2])").find("2 repeats for 6 elements") != std::string::npos);
}

TEST_CASE("every syntax error is a ValueError that shows its column and a remedy") {
  struct Row {
    const char *text, *says;
    std::ptrdiff_t column;
  };
  const Row rows[] = {
      {"", "empty", 0},
      {"  # nothing", "empty", 0},
      {"x +", "operand is missing", 3},
      {"x \x93", "byte 0x93", 2},
      {"x.astype(object)", "not an element type", 9},
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
      {"sum(x, axis='z')", "axis of sum() must be an integer or a tuple of integers, not a string", 12},
      {"sum(x, axis=(0, 1.5))", "this is a float", 16},
      {"sum(x, keepdims=2)", "True or False", 16},
      {"x.astype(y)", "dtype", 9},
      {"gelu(x, approximate='fast')", "'none' or 'tanh'", 20},
      {"round(x, 2.5)", "an integer", 9},
      {"x.reshape(2, 2.5)", "this is a float", 13},
      {"layer_norm(x, 'a')", "tensors, numbers and lists of them, but this is a string", 14},
      {"sum([[1, 2], [3]])", "not of one shape", 13},
      {"sum([1, 'a'])", "this is a string", 8},
      {"stack((x, [1, None]))", "this is None", 14},
      {"x < y < 1", "cannot be chained", 6},
      {"x and y", "write (a) & (b)", 2},
      {"not x", "write ~(a)", 0},
      {"x if y else x", "where(condition", 2},
      {"x && y", "written '&'", 2},
      {"!m", "written '~'", 0},
      {"x + y += 1", "the left side of an assignment is a name, or one part of it such as name[1:3]", 2},
      {"x[0][1] = 1", "the left side of an assignment is a name, or one part of it such as name[1:3]", 4},
      {"(a, b) = 1, 2", "unexpected '('", 0},
      {"a, b += 1", "unexpected '+='", 5},
      {"a = b += 1", "unexpected '+='", 6},
      {"x = y := 2", "a statement of its own", 6},
      {"x in y", "isin(a, b)", 2},
      {"z += 1", "unknown name 'z'", 0},
      {"True += 1", "cannot be assigned", 0},
      {"n[0] = 1", "a part of an integer cannot be assigned", 5},
      {"x[0] += 'a'", "not a string", 8},
      {"a, = x", "1 name is given a tensor", 0},
      {"a, = 1, 2", "1 name is given a tuple of 2", 0},
      {"f(x) = 1", "the left side of an assignment is a name, or one part of it such as name[1:3]", 1},
      {"True = x", "cannot be assigned", 0},
      {"2x", "written 2*", 1},
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
      {"x + (1, 'a')", "this is a string", 8},
      {"(1, 2) + [3]", "not a tuple", 7},
      {"(1, 2) * 1e3", "not a tuple", 7},
      {"[1] * 99999999", "too long", 4},
      {"-'a'", "not a string", 1},
      {"()", "result is an empty tuple", 0},
      {"x, (y, 2)", "tuple within a tuple", 3},
      {"x, 'text'", "result is a string, not a tensor", 3},
      {"x,, y", "unexpected ','", 2},
      {", x", "unexpected ','", 0},
      {"a, b = x", "2 names are given a tensor", 0},
      {"a, b = 1, 2, 3", "2 names are given a tuple of 3", 0},
      {"a, (b, c) = 1, 2", "unexpected '('", 3},
      {"a = [1, 2]; a[0:1] = 3", "a part of a tuple cannot be assigned to", 19},
      {"a, None = 1, 2", "cannot be assigned to", 3},
      {"'a'.foo()", "a string has no attribute 'foo'", 4},
      {"int('x')", "not a string", 4},
      {"None", "gives no result", 0},
      {"x[1.5]", "cannot be a float", 2},
      {"x['a':]", "slice takes integers", 2},
      {"x[:y]", "slice takes integers", 3},
      {"x.shape[2]", "out of range", 7},
      {"x.shape[::0]", "step cannot be 0", 7},
      {"x.shape[1.5]", "cannot be a float", 8},
      {"x[1, 'a']", "cannot be a string", 5},
      {"x[[0, None]]", "this is None", 6},
      {"iinfo(float32)", "not an integer type", 0},
      {"finfo(float32).digits", "no 'digits'", 15},
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

TEST_CASE("errors about shapes, axes and indices keep their type and show their column") {
  const std::string shapes = message<ShapeError>("x + x[:, 1:]");
  CHECK_MESSAGE(shapes.find("(4, 6)") != std::string::npos, shapes);
  CHECK_MESSAGE(caret(shapes) == 2, shapes);
  CHECK(caret(message<ShapeError>("1 + x.reshape(5, 5)")) == 6);
  CHECK(caret(message<ShapeError>("x @ x")) == 2);
  CHECK(caret(message<AxisError>("x + sum(x, axis=7)")) == 4);
  CHECK(caret(message<AxisError>("swapaxes(x, 0, 2)")) == 0);
  CHECK(caret(message<IndexError>("x[9]")) == 1);
  CHECK(caret(message<DTypeError>("2 + (x & x)")) == 7);
  CHECK(caret(message<ValueError>("x[::0]")) == 1);
}

TEST_CASE("long lines are shortened around the error, and the caret still points at it") {
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

  std::mt19937_64 random(sinter::testing::fresh_seed());
  const std::vector<std::string> pieces = {"x",   "y",    "i",     "m",        "n",   " ",  "(",    ")",    "[", "]",  ",",   ":",        ";",      "\n", "=",
                                           "+",   "-",    "*",     "**",       "//",  "@",  "<",    "==",   "~", ".",  ".T",  "...",      "None",   "1",  "2.5",
                                           "'a'", "sum(", "axis=", "reshape(", "np.", "0x", "\xff", "\xc3", "#", "1e", "and", "softmax(", "float32"};
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
  CHECK(recorded > 20);  // some random expressions are valid
}

TEST_CASE("names can be bound to types and numbers") {
  const auto bound = [](const std::string& argument) { return bind_types({argument}).names.begin()->second; };
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
  for (const char* bad : {"x", "=f32[3]", "2x=3", "x=", "x=f32", "x=f32[", "x=f32[3", "x=f33[3]", "x=f32[-1]", "x=f32[3,,4]", "x=f32[x]",
                          "x=f32[4294967296,4294967296]", "x=1.5.2", "x=f32[99999999999999999999]"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(bind_types({bad}), ValueError);
  }
  CHECK_THROWS_AS(bind_types({"x=1", "x=2"}), ValueError);

  // Each named size gets a value that no other size has.
  const TypeBindings named = bind_types({"x=f32[B, 32,T]", "y=f64[T,B]", "z=i32[64]"});
  REQUIRE(named.letters.size() == 2);
  const std::int64_t b = named.letters.at("B"), t = named.letters.at("T");
  CHECK(named.names.at("x").as<Tensor>()->shape() == Shape{b, 32, t});
  CHECK(named.names.at("y").as<Tensor>()->shape() == Shape{t, b});
  CHECK(*named.names.at("B").as<std::int64_t>() == b);
  CHECK(std::set<std::int64_t>{b, t, 32, 64}.size() == 4);
  CHECK(bind_types({"x=f32[B,3]", "B=7"}).names.at("x").as<Tensor>()->shape() == Shape{7, 3});
  for (const auto& bad : std::vector<std::vector<std::string>>{{"x=f32[B]", "B=-1"}, {"x=f32[B]", "B=1.5"}, {"x=f32[B]", "B=f32[3]"}})
    CHECK_THROWS_AS(bind_types(bad), ValueError);
  CHECK_THROWS_AS(bind_values({"x=no-such-file"}), ValueError);
  CHECK_THROWS_AS(bind_values({"x=no-such-file.npy"}), IoError);
}
