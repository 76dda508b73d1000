// Recording and linearising: tests which nodes of a formula remain.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <thread>

#include "host_data_stub.hpp"
#include "seed.hpp"
#include "sinter/adopt.hpp"
#include "sinter/sinter.hpp"
#include "trace/loops.hpp"
#include "trace/structural_key.hpp"

namespace sn = sinter;
using namespace sinter::trace;
using sn::DType;
using sn::Shape;
using sn::Tensor;

namespace {

Graph graph_of(const std::vector<Tensor>& roots) {
  std::vector<RecordedPtr> nodes;
  for (const Tensor& t : roots) nodes.push_back(t.node());
  return linearize(nodes).graph;
}
Graph graph_of(const Tensor& t) { return graph_of(std::vector{t}); }
/// Returns the lines of the graph's nodes.
std::vector<NodeSite> sites_of(const Tensor& t) {
  const std::vector<RecordedPtr> roots{t.node()};
  Traversal traversal;
  traversal.walk(roots);
  return traversal.sites();
}
std::string text_of(const Tensor& t) { return to_string(graph_of(t)); }
Tensor input(DType dtype = DType::float32, const Shape& shape = {2, 3}) { return sn::placeholder(shape, dtype); }
bool same(const Tensor& a, const Tensor& b) { return a.node() == b.node(); }
/// Returns the value of a tensor that is a literal.
double literal(const Tensor& t) {
  REQUIRE(t.node()->op == Op::constant);
  return t.node()->scalar.as_double();
}
/// A node that the engine has computed.
Tensor evaluated(const Tensor& t) {
  auto storage = std::make_shared<sinter::Storage>();
  storage->bytes = static_cast<std::size_t>(t.size()) * itemsize(t.dtype());
  storage->host = sinter::allocate_host(storage->bytes);
  t.node()->materialize(storage, nullptr);
  return t;
}

}  // namespace

TEST_CASE("operands get casts, broadcasts and full constants") {
  const Tensor x = input(), b = input(DType::int32, {3});
  CHECK(text_of(x * 0.5 + b.astype(DType::float32)) ==
        "%0 = data float32 (2, 3) leaf 0\n"
        "%1 = constant float32 (2, 3) 0.5\n"
        "%2 = multiply float32 (2, 3) %0 %1\n"
        "%3 = data int32 (3,) leaf 1\n"
        "%4 = cast float32 (3,) %3\n"
        "%5 = broadcast float32 (2, 3) %4\n"
        "%6 = add float32 (2, 3) %2 %5\n"
        "return %6\n");
  CHECK(text_of(x > b) ==
        "%0 = data int32 (3,) leaf 0\n"
        "%1 = cast float64 (3,) %0\n"
        "%2 = broadcast float64 (2, 3) %1\n"
        "%3 = data float32 (2, 3) leaf 1\n"
        "%4 = cast float64 (2, 3) %3\n"
        "%5 = less bool (2, 3) %2 %4\n"
        "return %5\n");
  CHECK(sites_of(x + 1)[2].where.line == __LINE__);
  CHECK(sites_of(sn::gelu(x)).back().where.line == __LINE__);
  CHECK(std::string(sites_of(sn::softmax(x)).back().where.file) == __FILE__);
}

TEST_CASE("a literal power of 2 or 0.5 is cheaper and exact") {
  const Tensor x = input();
  CHECK(graph_of(sn::pow(x, 2)).nodes.back().op == Op::multiply);
  CHECK(graph_of(sn::pow(x, 0.5)).nodes.back().op == Op::sqrt);  // pow(-0.0, 0.5) would be +0.0, NumPy gives -0.0
  CHECK(graph_of(sn::pow(input(DType::int32), 0.5)).nodes.back().dtype == DType::float64);
  CHECK(graph_of(sn::pow(x, 0.25)).nodes.back().op == Op::power);
}

TEST_CASE("identities record no node") {
  const Tensor f = input(), i = input(DType::int32), b = input(DType::bool_);
  for (const Tensor& x : {f, i}) {
    CHECK(same(x * 1, x));
    CHECK(same(1 * x, x));
    CHECK(same(x - 0, x));
    CHECK(same(sn::pow(x, 1), x));
  }
  CHECK(same(f / 1, f));
  CHECK(same(i + 0, i));
  CHECK(same(0 + i, i));
  CHECK(same(sn::floor_divide(i, 1), i));
  CHECK(same(i | 0, i));
  CHECK(same(i ^ 0, i));
  CHECK(same(i << 0, i));
  CHECK(same(b + false, b));
  CHECK(same(b * true, b));
  CHECK(same(b | false, b));
  CHECK(same(-(-f), f));
  CHECK(same(~(~i), i));
  CHECK(same(!(!b), b));
  CHECK(same(sn::floor(i), i));
  CHECK(same(sn::where(sn::full({}, true), f, 7), f));
  CHECK(literal(sn::where(sn::full({}, false), f, 7)) == 7);
}

TEST_CASE("operations that only resemble an identity stay") {
  const Tensor f = input(), i = input(DType::int32), b = input(DType::bool_);
  CHECK_FALSE(same(f + 0, f));       // -0.0 + 0.0 is 0.0
  CHECK_FALSE(same(f - (-0.0), f));  // -0.0 - -0.0 is 0.0
  CHECK_FALSE(same(0 - f, f));
  CHECK_FALSE(same(1 / f, f));
  CHECK_FALSE(same(sn::floor_divide(f, 1), f));
  CHECK_FALSE(same(0 << i, i));
  CHECK_FALSE(same(sn::pow(1, i), i));
  CHECK_FALSE(same(i * true * 0, i));
  CHECK((i / 1).dtype() == DType::float64);
  CHECK((b * 1).dtype() == DType::int64);
  CHECK_FALSE(same(f * sn::ones({4, 2, 3}, DType::float32), f));  // broadcasts
}

TEST_CASE("casts merge where nothing is lost") {
  const auto ops = [](const Tensor& t) { return graph_of(t).nodes.size() - 1; };
  const Tensor f = input(), d = input(DType::float64), i = input(DType::int32), l = input(DType::int64), b = input(DType::bool_);
  CHECK(same(f.astype(DType::float32), f));
  CHECK(same(i.astype(DType::int64).astype(DType::int32), i));
  CHECK(same(f.astype(DType::float64).astype(DType::float32), f));
  CHECK(same(b.astype(DType::float32).astype(DType::bool_), b));
  CHECK(ops(i.astype(DType::int64).astype(DType::float64)) == 1);
  CHECK(ops(i.astype(DType::float64).astype(DType::float32)) == 1);
  CHECK(ops(b.astype(DType::int32).astype(DType::int64).astype(DType::float64)) == 1);
  // A lossy first cast stays, because the result shows its rounding, its truncation or its conversion to bool.
  CHECK(ops(d.astype(DType::float32).astype(DType::float64)) == 2);
  CHECK(ops(l.astype(DType::int32).astype(DType::int64)) == 2);
  CHECK(ops(i.astype(DType::float32).astype(DType::float64)) == 2);
  CHECK(ops(l.astype(DType::float64).astype(DType::int64)) == 2);
  CHECK(ops(f.astype(DType::bool_).astype(DType::float32)) == 2);
  CHECK(ops(i.astype(DType::bool_).astype(DType::int32)) == 2);
  CHECK(ops(f.astype(DType::int32).astype(DType::bool_)) == 2);  // 0.5 is true, int(0.5) is not
}

TEST_CASE("views merge and vanish") {
  const Tensor x = input(DType::float32, {2, 3, 4});
  CHECK(same(x.T().T(), x));
  CHECK(same(sn::permute(x, {0, 1, 2}), x));
  CHECK(same(sn::flip(sn::flip(x)), x));
  CHECK(same(sn::reshape(sn::reshape(x, {24}), {2, 3, 4}), x));
  CHECK(same(sn::broadcast_to(x, {2, 3, 4}), x));
  CHECK(same(x(sn::ellipsis), x));
  CHECK(same(x(sn::Slice{0, 100}), x));
  const Tensor column = input(DType::float32, {1});
  CHECK(same(sn::flip(column), column));
  CHECK(text_of(sn::permute(sn::permute(x, {1, 2, 0}), {1, 0, 2})) ==
        "%0 = data float32 (2, 3, 4) leaf 0\n"
        "%1 = permute float32 (4, 3, 2) %0 [2, 1, 0]\n"
        "return %1\n");
  CHECK(text_of(sn::reshape(sn::reshape(x, {6, 4}), {8, 3})) ==
        "%0 = data float32 (2, 3, 4) leaf 0\n"
        "%1 = reshape float32 (8, 3) %0\n"
        "return %1\n");
  CHECK(text_of(sn::broadcast_to(sn::broadcast_to(column, {3, 1}), {2, 3, 5})) ==
        "%0 = data float32 (1,) leaf 0\n"
        "%1 = broadcast float32 (2, 3, 5) %0\n"
        "return %1\n");
  const Tensor line = input(DType::float32, {100});
  CHECK(text_of(line(sn::Slice{10, 90, 2})(sn::Slice{{}, {}, -3})) ==
        "%0 = data float32 (100,) leaf 0\n"
        "%1 = slice float32 (14,) %0 [88, -6]\n"
        "return %1\n");
  CHECK(text_of(x(1, sn::Slice{{}, {}, 2}, -1)) ==
        "%0 = data float32 (2, 3, 4) leaf 0\n"
        "%1 = slice float32 (1, 2, 1) %0 [1, 1, 0, 2, 3, 1]\n"
        "%2 = reshape float32 (2,) %1\n"
        "return %2\n");
  CHECK(same(sn::contiguous(x), x));
  CHECK(sn::contiguous(x.T()).node()->op == Op::contiguous);
}

TEST_CASE("merging random slices equals slicing in steps") {
  const unsigned seed = sinter::testing::fresh_seed();
  CAPTURE(seed);
  std::mt19937 engine(seed);
  const auto random = [&](std::int64_t low, std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(low, high)(engine); };
  for (int round = 0; round < 500; ++round) {
    const std::int64_t n = random(0, 30);
    std::vector<std::int64_t> values(static_cast<std::size_t>(n));
    for (std::int64_t k = 0; k < n; ++k) values[static_cast<std::size_t>(k)] = k;
    const Tensor x = input(DType::float32, {n});
    Tensor y = x;
    for (int depth = 0; depth < 3; ++depth) {
      const std::int64_t start = random(-35, 35), stop = random(-35, 35);
      const std::int64_t step = random(1, 4) * (random(0, 1) ? 1 : -1);
      y = y(sn::Slice{start, stop, step});
      const auto size = static_cast<std::int64_t>(values.size());
      std::vector<std::int64_t> kept;  // by Python's definition, element by element
      const auto end = [&](std::int64_t i) { return i < 0 ? i + size : i; };
      const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
      const std::int64_t first = std::clamp(end(start), low, high), last = std::clamp(end(stop), low, high);
      for (std::int64_t i = first; step > 0 ? i < last : i > last; i += step) kept.push_back(values[static_cast<std::size_t>(i)]);
      values = kept;
    }
    REQUIRE(y.size() == static_cast<std::int64_t>(values.size()));
    if (values.empty()) continue;  // a literal without elements
    const auto at = same(x, y) ? std::vector<std::int64_t>{0, 1} : y.node()->ints;
    REQUIRE((same(x, y) || y.node()->inputs().front() == x.node()));
    for (std::size_t k = 0; k < values.size(); ++k) {
      REQUIRE(values[k] == at[0] + static_cast<std::int64_t>(k) * at[1]);
    }
  }
}

TEST_CASE("operations on empty tensors record literals") {
  const Tensor none = input(DType::float32, {2, 0, 3}), some = input(DType::float32, {2, 4, 3});
  const auto is_literal = [](const Tensor& x, const Shape& shape) { return x.node()->op == Op::constant && x.shape() == shape; };
  CHECK(is_literal(sn::exp(none), {2, 0, 3}));
  CHECK(is_literal(none < 1, {2, 0, 3}));
  CHECK((none < 1).dtype() == DType::bool_);
  CHECK(is_literal(none.T(), {3, 0, 2}));
  CHECK(is_literal(some(sn::Slice{}, sn::Slice{1, 1}), {2, 0, 3}));
  CHECK(is_literal(sn::max(none, 0), {0, 3}));
  CHECK(is_literal(sn::sum(none, 1), {2, 3}));
  CHECK(literal(sn::sum(none)) == 0);
  CHECK(literal(sn::prod(none)) == 1);
  CHECK(sn::sum(none.astype(DType::int32)).dtype() == DType::int64);
  CHECK(is_literal(sn::matmul(none, some(0).T()), {2, 0, 4}));
  CHECK_THROWS_AS(sn::max(none), sn::ValueError);
}

TEST_CASE("literals fold to the values that the executors compute") {
  const auto f = [](float v) { return sn::full({2}, v); };
  CHECK(literal(f(0.1f) + f(0.2f)) == static_cast<double>(0.1f + 0.2f));
  CHECK(literal(f(1) / f(3)) == static_cast<double>(1.f / 3.f));
  CHECK(literal(sn::full({2}, 0.1) * 3) == 0.1 * 3);
  CHECK(literal(sn::full({2}, INT32_MAX) + 1) == INT32_MIN);  // wraps
  CHECK(literal(-sn::full({2}, INT32_MIN)) == INT32_MIN);
  CHECK(literal(sn::full({}, true) + sn::full({}, true)) == 1);
  CHECK(literal(f(1) < f(2)) == 1);
  CHECK(literal(sn::full({}, 16777217).astype(DType::float32)) == 16777216);
  CHECK(literal(f(-1.5f).astype(DType::int32)) == -1);
  CHECK(literal(f(0.5f).astype(DType::bool_)) == 1);
  CHECK(literal(f(NAN).astype(DType::bool_)) == 1);
  CHECK(literal(sn::maximum(f(1), f(2))) == 2);
  CHECK(literal(sn::minimum(f(1), f(2))) == 1);
  CHECK(literal(sn::rint(f(2.5f))) == 2);
  CHECK(std::isinf(literal(f(1) / f(0))));
  CHECK(literal(sn::ones({2, 3}).T()) == 1);
  CHECK(sn::broadcast_to(sn::ones({3}), {2, 3}).node()->op == Op::constant);
  CHECK(sn::ones({2, 3})(0, sn::Slice{1}).shape() == Shape{2});
  // Where executors may differ, the operation stays.
  CHECK((f(0) / f(0)).node()->op == Op::divide);
  CHECK(f(1e20f).astype(DType::int32).node()->op == Op::cast);
  CHECK(sn::minimum(f(0.f), f(-0.f)).node()->op == Op::minimum);
  CHECK(sn::exp(f(1)).node()->op == Op::exp);
}

TEST_CASE("equal nodes are merged, unused nodes are dropped") {
  const Tensor x = input();
  const Tensor dead = sn::exp(x);
  const Graph g = graph_of(sn::exp(x * 2) + sn::exp(x * 2));
  CHECK(g.nodes.size() == 5);  // x, 2, *, exp, +
  CHECK(g.nodes.back().inputs == std::vector{3, 3});
  CHECK(graph_of(sn::exp(x * 2) + sn::exp(x * 3)).nodes.size() == 8);
  CHECK(graph_of(sn::sum(x, 0) + sn::sum(x, 1)(0)).nodes.size() == 7);  // different axes give different values
  CHECK(graph_of({x + 1, x + 1, x}).outputs == std::vector{2, 2, 0});
  CHECK(graph_of(sn::placeholder({2}, DType::float32) + sn::placeholder({2}, DType::float32)).leaves == 2);
  const Tensor c = sn::ones({2}, DType::float32);
  CHECK(graph_of(sn::exp(c) + sn::exp(sn::ones({2}, DType::float32))).nodes.size() == 3);
  CHECK(graph_of(sn::exp(sn::full({2}, 0.f)) + sn::exp(sn::full({2}, -0.f))).nodes.size() == 5);
}

TEST_CASE("evaluated nodes become leaves and release their operands") {
  const Tensor x = input();
  Tensor y = sn::exp(x);
  const std::weak_ptr<Recorded> operand = x.node();
  evaluated(y);
  CHECK(y.node()->inputs().empty());
  CHECK(text_of(y + 1) ==
        "%0 = data float32 (2, 3) leaf 0\n"
        "%1 = constant float32 (2, 3) 1\n"
        "%2 = add float32 (2, 3) %0 %1\n"
        "return %2\n");
  CHECK(linearize({y.node()}).leaves[0] == y.node()->result());
  Tensor z = input().T();
  evaluated(z);
  CHECK(z.T().node()->op == Op::permute);  // its operand was released, so there is nothing to merge with
  CHECK(same(-(-y), y));
}

namespace {
int evaluations = 0;
}
TEST_CASE("a loop that never evaluates is evaluated at equal intervals") {
  evaluations = 0;
  set_evaluate_hook([](const std::vector<RecordedPtr>& nodes) {
    ++evaluations;
    CHECK(nodes.size() == 1);  // the value that `b` holds
    for (const auto& node : nodes) {
      auto storage = std::make_shared<sinter::Storage>();
      storage->host = sinter::allocate_host(8);
      node->materialize(storage, nullptr);
    }
  });
  Tensor b = {1.f, 2.f};
  for (int i = 0; i < 10000; ++i) b += 0.02f;
  CHECK(evaluations >= 10000 / kLoopOps);
  CHECK(evaluations <= 10000 / kLoopOps + 1);
  CHECK(graph_of(b).nodes.size() <= 2 + kLoopOps);
  const int so_far = evaluations;
  Tensor planned = input();  // a value that can never be evaluated is never requested
  for (int i = 0; i < 100000; ++i) planned += 0.02f;
  CHECK(evaluations == so_far);
  CHECK(graph_of(planned).nodes.size() == 2 + 100000);
  planned = Tensor();  // and a long chain is dropped without recursion
  set_evaluate_hook(nullptr);
}

TEST_CASE("threads record over shared nodes") {
  const Tensor x = {1.f, 2.f, 3.f};
  const Tensor shared = sn::exp(x) + 1;
  std::vector<Tensor> results(8);
  std::vector<std::thread> threads;
  for (Tensor& result : results) {
    threads.emplace_back([&result, &shared] {
      Tensor y = shared;
      for (int i = 0; i < 500; ++i) y = sn::maximum(y * 1.5f, shared);
      result = y;
      graph_of(y);
    });
  }
  evaluated(shared);
  for (std::thread& t : threads) t.join();
  for (const Tensor& r : results) CHECK(text_of(r) == text_of(results[0]));
}

TEST_CASE("compositions record the expected operations") {
  const Tensor x = input(DType::float32, {4, 8});
  const auto ops = [](const Tensor& t) {
    std::string list;
    for (const Node& n : graph_of(t).nodes) {
      if (is_elementwise(n.op) || is_reduction(n.op)) list += std::string(name(n.op)) + " ";
    }
    return list;
  };
  CHECK(ops(sn::softmax(x)) == "reduce_max subtract exp reduce_sum divide ");
  CHECK(ops(sn::sigmoid(x)) == "sigmoid ");
  CHECK(ops(sn::relu(x)) == "maximum ");
  CHECK(ops(sn::var(x, 0)) == "reduce_sum divide subtract multiply reduce_sum divide ");
  CHECK(ops(sn::clip(x, 0, 1)) == "maximum minimum ");
  CHECK(ops(sn::any(x)) == "cast reduce_max ");
  CHECK(ops(sn::pow(x, 2)) == "multiply ");
  CHECK(ops(sn::layer_norm(x)) == "reduce_sum divide subtract multiply reduce_sum divide add rsqrt multiply ");
}
