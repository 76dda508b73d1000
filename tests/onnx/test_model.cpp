// Trained models: the meaning of files, the conditions of each rewrite, and errors of files and calls.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <thread>

#include "mutations.hpp"
#include "onnx_builder.hpp"
#include "passes.hpp"
#include "program.hpp"
#include "sinter/freeze_model.hpp"
#include "sinter/half.hpp"
#include "sinter/model.hpp"
#include "sinter/recurrent.hpp"
#include "temporary_folder.hpp"

using namespace sinter;
using testing::floats;
using testing::OnnxBuilder;
using testing::random_tensor;
using File = testing::TemporaryFile;

namespace {

int fired(const Model& model, std::string_view name) {
  for (const Rewrite& rewrite : model.rewrites())
    if (rewrite.name == name) return rewrite.count;
  FAIL("no rewrite ", std::string(name));
  return 0;
}

/// Compares within the rounding errors of a few hundred float32 operations on numbers of about 1.
void check_close(const Tensor& got, const Tensor& want) {
  REQUIRE(got.shape() == want.shape());
  const auto a = got.to_vector<float>(), b = want.to_vector<float>();
  double worst = 0;
  for (std::size_t k = 0; k < a.size(); ++k) worst = std::max(worst, std::isfinite(a[k]) ? std::fabs(static_cast<double>(a[k]) - b[k]) : INFINITY);
  CHECK(worst <= 2e-5);
}

/// Checks that the rewritten model agrees with the model without rewrites. Returns the rewritten model.
Model check_same(const OnnxBuilder& builder, const std::vector<Tensor>& inputs, double tolerance = 2e-5) {
  File file("same.onnx");
  builder.save(file.path);
  const Model rewritten = Model::load(file.path), plain = Model::load(file.path, {.rewrite = false});
  CHECK(plain.nodes() == plain.nodes_in_file());
  const std::vector<Tensor> a = rewritten(inputs), b = plain(inputs);
  REQUIRE(a.size() == b.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    REQUIRE(a[k].shape() == b[k].shape());
    REQUIRE(a[k].dtype() == b[k].dtype());
    const auto x = a[k].astype(DType::float64).to_vector<double>(), y = b[k].astype(DType::float64).to_vector<double>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      INFO("output ", k, " element ", i, ": ", x[i], " rewritten, ", y[i], " not");
      REQUIRE(std::fabs(x[i] - y[i]) <= tolerance * (1 + std::fabs(y[i])));
    }
  }
  return rewritten;
}

/// Returns a model of three convolutions whose channels stay in blocks. `after` adds the nodes between the second convolution (result "c") and the third
/// (operand "b").
OnnxBuilder three_convolutions(const std::function<void(OnnxBuilder&)>& after, std::int64_t groups = 1) {
  OnnxBuilder m;
  m.input("x", {-1, 32, 8, 8}).output("y").constant("w0", {32, 32, 1, 1}, floats(1024, -0.3f, 0.3f)).node("Conv", {"x", "w0"}, {"r"});
  m.constant("w", {16, 32 / groups, 3, 3}, floats(static_cast<std::size_t>(4608 / groups), -0.1f, 0.1f)).constant("bias", {16}, floats(16));
  m.node("Conv", {"r", "w", "bias"}, {"c"}, {{"pads", {1, 1, 1, 1}}, {"group", groups}});
  after(m);
  return m.constant("w2", {16, 16, 1, 1}, floats(256, -0.3f, 0.3f)).node("Conv", {"b", "w2"}, {"y"});
}

void batch_norm_of(OnnxBuilder& m, const std::string& x, const std::string& y, std::int64_t channels) {
  const auto count = static_cast<std::size_t>(channels);
  m.constant("s", {channels}, floats(count, 0.5, 2)).constant("t", {channels}, floats(count)).constant("m", {channels}, floats(count));
  m.constant("v", {channels}, floats(count, 0.2f, 2)).node("BatchNormalization", {x, "s", "t", "m", "v"}, {y}, {{"epsilon", 1e-3f}});
}

/// Returns whether the operations after the second of three convolutions became a part of it: then the only kernels are those before the first and after the
/// last convolution. Checks that the recorded and the frozen model agree with the model without passes.
bool folded(const OnnxBuilder& builder, const std::vector<Tensor>& inputs) {
  File file("folded.onnx");
  const Model model = Model::load(builder.save(file.path));
  const Function frozen = freeze(model, {{"N", {inputs[0].size(0)}}});
  const auto want = testing::as_recorded([&] { return model(inputs); }), recorded = model(inputs), called = frozen(inputs);
  for (std::size_t k = 0; k < want.size(); ++k) {
    check_close(recorded[k], want[k]);
    check_close(called[k], want[k]);
  }
  const std::int64_t of_recorded = testing::launches(model(inputs)), before = counters().kernels_launched;
  (void)frozen(inputs);
  const auto of_frozen = static_cast<std::int64_t>(counters().kernels_launched) - before;
  CHECK(of_recorded <= of_frozen);  // all inputs are known when the model is recorded
  return of_frozen == 2;
}

}  // namespace

TEST_CASE("a model's results agree with its nodes' definitions") {
  OnnxBuilder m;
  m.input("x", {-1, 5}).input("y", {5}).output("z").output("s");
  m.node("Mul", {"x", "y"}, {"p"}).node("Relu", {"p"}, {"z"}).node("ReduceSum", {"z", "axes"}, {"s"}, {{"keepdims", 0}}).integers("axes", {1});
  File file("plain.onnx");
  const Model model = Model::load(m.save(file.path));
  CHECK(to_string(model.inputs()[0]) == "x: float32[N, 5]");
  CHECK(model.nodes_in_file() == 3);
  const std::vector<float> x = floats(35), y = floats(5);
  const auto results = model.run({{"x", from_span(x, {7, 5})}, {"y", from_span(y)}});
  const auto z = results.at("z").to_vector<float>(), s = results.at("s").to_vector<float>();
  for (std::size_t i = 0; i < 7; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < 5; ++j) {
      const float expected = std::max(x[i * 5 + j] * y[j], 0.f);
      CHECK(z[i * 5 + j] == expected);
      sum += expected;
    }
    CHECK(s[i] == doctest::Approx(sum).epsilon(1e-6));
  }
}

TEST_CASE("one file serves all sizes of its symbolic axes, and its shapes are inferred once for each") {
  OnnxBuilder m;
  m.input("x", {-1, 6}).output("y");
  m.node("Shape", {"x"}, {"shape"}).integers("zero", {0}).node("Gather", {"shape", "zero"}, {"n"}).integers("rest", {2, 3});
  m.node("Concat", {"n", "rest"}, {"sizes"}, {{"axis", 0}}).node("Reshape", {"x", "sizes"}, {"r"}).node("Transpose", {"r"}, {"y"}, {{"perm", {0, 2, 1}}});
  File file("symbols.onnx");
  const Model model = Model::load(m.save(file.path));
  for (const std::int64_t n : {1, 4, 9, 4}) {
    const Tensor x = random_tensor({n, 6});
    const Tensor y = model({x})[0];
    CHECK(y.shape() == Shape{n, 3, 2});
    CHECK(y.to_vector<float>() == transpose(reshape(x, {n, 2, 3}), {0, 2, 1}).to_vector<float>());
  }
  const Tensor x = random_tensor({4, 6});
  eval(x);
  const auto before = counters().kernels_launched;
  eval(model({x}));
  CHECK(counters().kernels_launched - before <= 1);  // these sizes were used before
}

TEST_CASE("rewrites can be disabled by name") {
  OnnxBuilder m;
  m.input("x", {2, 3, 6, 6}).output("y").constant("w", {4, 3, 3, 3}, floats(108)).integers("pads", {0, 0, 1, 1, 0, 0, 1, 1});
  m.node("Pad", {"x", "pads"}, {"p"}).node("Conv", {"p", "w"}, {"y"});
  File file("without.onnx");
  const std::string path = m.save(file.path);
  const Model absorbed = Model::load(path), apart = Model::load(path, {.without = {"absorb_pad", "merge_products"}});
  CHECK(absorbed.nodes() == 1);
  CHECK(fired(apart, "absorb_pad") == 0);
  CHECK(apart.nodes() == 2);
  const Tensor x = random_tensor({2, 3, 6, 6});
  check_close(absorbed({x})[0], apart({x})[0]);
  CHECK_THROWS_WITH_AS(Model::load(path, {.without = {"absorb_pads"}}), doctest::Contains("absorb_pad, "), ValueError);
}

TEST_CASE("subnormal numbers among weights become 0, but not constants that are meant to be tiny") {
  constexpr std::int64_t n = 64;
  const float tiny = 1e-40f, large = 1e38f, small = tiny * large;  // the product is normal
  const auto numbers = [&](std::int64_t count, float first, float others) {
    std::vector<float> all(static_cast<std::size_t>(count), others);
    all[0] = first;
    return all;
  };
  OnnxBuilder m;
  for (const char* name : {"x", "zero"}) m.input(name, {1, n});
  for (const char* name : {"product", "scaled", "by_tiny", "by_few", "shared", "divided", "merged1", "merged2"}) m.output(name);
  m.constant("w", {n, 2}, numbers(2 * n, tiny, 0)).constant("normal", {n, 1}, numbers(n, 1, 0)).constant("scale", {n}, numbers(n, -tiny, 2));
  m.constant("all_tiny", {n}, numbers(n, tiny, tiny)).constant("few", {1}, {tiny}).constant("both", {n}, numbers(n, tiny, 1));
  m.constant("tiny_w", {n, 1}, numbers(n, tiny, 0)).constant("more", {n, 2}, numbers(2 * n, 0, 1));
  m.node("Add", {"w", "more"}, {"w_and_more"}).node("MatMul", {"x", "w_and_more"}, {"product"});  // computed constants, too
  m.node("Mul", {"x", "scale"}, {"scaled"}).node("Mul", {"x", "all_tiny"}, {"by_tiny"}).node("Mul", {"x", "few"}, {"by_few"});
  m.node("Mul", {"x", "both"}, {"shared"}).node("Div", {"both", "x"}, {"divided"});
  m.node("MatMul", {"x", "normal"}, {"merged1"}).node("MatMul", {"x", "tiny_w"}, {"merged2"});  // become one product
  File file("subnormal.onnx");
  const std::string path = m.save(file.path);
  const std::vector<Tensor> inputs{sn::from_span(numbers(n, large, 0), {1, n}), sn::zeros({1, n}, DType::float32)};
  const auto first_of = [](const Tensor& t) { return t(0, 0).item<float>(); };
  for (const bool flushed : {true, false}) {
    const Model model = flushed ? Model::load(path) : Model::load(path, {.without = {"flush_subnormals"}});
    CHECK(fired(model, "merge_products") > 0);
    CHECK(fired(model, "flush_subnormals") == (flushed ? 2 : 0));
    const std::vector<Tensor> got = model(inputs);
    const float want[] = {flushed ? 0 : small, flushed ? 0 : -small, small, small, small, 0, large, small};
    for (std::size_t k = 0; k < std::size(want); ++k) {
      INFO(model.outputs()[k].name);
      CHECK(first_of(got[k]) == want[k]);
    }
  }
  CHECK(fired(Model::load(path, {.precision = DType::float64}), "flush_subnormals") == 0);  // normal numbers there
  const Model of_data = Model::load(path, {.fixed = {{"zero", inputs[0]}}});
  CHECK(fired(of_data, "flush_subnormals") == 0);
}

TEST_CASE("a batch norm, or a factor or offset per channel, becomes part of the convolution before it; other broadcasts do not") {
  if (!testing::convolves_in_blocks() || !options().fuse) return;
  const std::vector<Tensor> x{random_tensor({2, 32, 8, 8})};
  const auto norm = [](OnnxBuilder& m) { batch_norm_of(m, "c", "b", 16); };
  for (const std::int64_t groups : {1, 2}) CHECK(folded(three_convolutions(norm, groups), x));
  OnnxBuilder wanted = three_convolutions(norm);
  CHECK_FALSE(folded(wanted.output("c"), x));
  const auto read_twice = [&](OnnxBuilder& m) {
    batch_norm_of(m, "c", "n", 16);
    m.node("Add", {"n", "c"}, {"b"});
  };
  CHECK_FALSE(folded(three_convolutions(read_twice), x));
  const auto given = [](OnnxBuilder& m) { m.input("s", {16}).input("v", {16}).node("BatchNormalization", {"c", "s", "bias", "bias", "v"}, {"b"}); };
  CHECK_FALSE(folded(three_convolutions(given), {x[0], random_tensor({16}), random_tensor({16}, 0.5, 1)}));

  const auto with = [&](const std::string& op, const std::vector<std::int64_t>& shape, bool constant_first = false) {
    std::size_t count = 1;
    for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
    const auto after = [&](OnnxBuilder& m) {
      m.constant("k", shape, floats(count, 0.5, 2));
      m.node(op, constant_first ? std::vector<std::string>{"k", "c"} : std::vector<std::string>{"c", "k"}, {"b"});
    };
    return folded(three_convolutions(after), x);
  };
  for (const char* op : {"Mul", "Add", "Sub"}) {
    CAPTURE(op);
    CHECK(with(op, {16, 1, 1}));
    CHECK(with(op, {1, 16, 1, 1}));
    CHECK(with(op, {1}));
    CHECK_FALSE(with(op, {8}));  // along the last axis
    CHECK_FALSE(with(op, {8, 8}));
    CHECK_FALSE(with(op, {2, 16, 1, 1}));  // one for each batch
  }
  CHECK_FALSE(with("Sub", {16, 1, 1}, true));
  CHECK_FALSE(with("Div", {16, 1, 1}));
}

TEST_CASE("fold_batch_norm: one factor and one summand for each channel, after Conv, Gemm and ConvTranspose") {
  for (const int transposed : {0, 1}) {
    OnnxBuilder gemm;
    gemm.input("x", {-1, 6}).output("b").constant("w", transposed ? std::vector<std::int64_t>{4, 6} : std::vector<std::int64_t>{6, 4}, floats(24));
    gemm.node("Gemm", {"x", "w"}, {"c"}, {{"transB", transposed}});
    batch_norm_of(gemm, "c", "b", 4);
    CHECK(fired(check_same(gemm, {random_tensor({5, 6})}), "fold_batch_norm") == 1);
  }
  OnnxBuilder transposed;
  transposed.input("x", {-1, 3, 5, 5}).output("b").constant("w", {3, 4, 2, 2}, floats(48));
  transposed.node("ConvTranspose", {"x", "w"}, {"c"}, {{"strides", {2, 2}}});
  batch_norm_of(transposed, "c", "b", 4);
  CHECK(fired(check_same(transposed, {random_tensor({2, 3, 5, 5})}), "fold_batch_norm") == 1);
  const OnnxBuilder after_conv = three_convolutions([](OnnxBuilder& m) { batch_norm_of(m, "c", "b", 16); });
  CHECK(fired(check_same(after_conv, {random_tensor({2, 32, 8, 8})}), "fold_batch_norm") == 1);
  OnnxBuilder given;  // operands that are no constants
  given.input("x", {1, 4, 8}).input("v", {4}).output("b").constant("s", {4}, floats(4)).node("BatchNormalization", {"x", "s", "s", "s", "v"}, {"b"});
  CHECK(fired(check_same(given, {random_tensor({1, 4, 8}), random_tensor({4}, 0.5, 1)}), "fold_batch_norm") == 0);
}

TEST_CASE("absorb_pad: zeros around a convolution are absorbed, other padding is not") {
  const auto with = [](const std::vector<std::int64_t>& pads, float fill, const char* mode, const std::string& op = "Conv") {
    OnnxBuilder m;
    m.input("x", {2, 3, 6, 6}).output("y").integers("pads", pads).constant("fill", {}, {fill}).node("Pad", {"x", "pads", "fill"}, {"p"}, {{"mode", mode}});
    if (op == "Conv")
      m.constant("w", {4, pads[1] == 0 ? 3 : 5, 3, 3}, floats(4 * (pads[1] == 0 ? 27 : 45))).node("Conv", {"p", "w"}, {"y"}, {{"pads", {0, 1, 0, 1}}});
    else m.node(op, {"p"}, {"y"}, {{"kernel_shape", {2, 2}}});
    return fired(check_same(m, {random_tensor({2, 3, 6, 6})}), "absorb_pad");
  };
  CHECK(with({0, 0, 1, 2, 0, 0, 3, 0}, 0, "constant") == 1);
  CHECK(with({0, 0, 1, 2, 0, 0, 3, 0}, 1, "constant") == 0);
  CHECK(with({0, 0, 1, 2, 0, 0, 3, 0}, 0, "edge") == 0);
  CHECK(with({0, 1, 1, 2, 0, 1, 3, 0}, 0, "constant") == 0);   // pads the channels, too
  CHECK(with({0, 0, -1, 1, 0, 0, 1, 1}, 0, "constant") == 0);  // a negative pad
  CHECK(with({0, 0, 1, 1, 0, 0, 1, 1}, 0, "constant", "MaxPool") == 0);
}

TEST_CASE("merge_products: Q, K and V are one product") {
  const auto with = [](bool same_operand, bool constant) {
    OnnxBuilder m;
    m.input("x", {2, 5, 8}).input("u", {2, 5, 8}).input("g", {8, 4}).output("y");
    m.constant("wq", {8, 4}, floats(32)).constant("wk", {8, 4}, floats(32)).constant("bq", {4}, floats(4));
    m.node("MatMul", {"x", "wq"}, {"q0"}).node("Add", {"q0", "bq"}, {"q"}).node("MatMul", {same_operand ? "x" : "u", constant ? "wk" : "g"}, {"k"});
    m.node("Transpose", {"k"}, {"kt"}, {{"perm", {0, 2, 1}}}).node("MatMul", {"q", "kt"}, {"s"}).node("Softmax", {"s"}, {"y"});
    return fired(check_same(m, {random_tensor({2, 5, 8}), random_tensor({2, 5, 8}), random_tensor({8, 4})}), "merge_products");
  };
  CHECK(with(true, true) == 1);
  CHECK(with(false, true) == 0);
  CHECK(with(true, false) == 0);
}

TEST_CASE("merge_products: the biases of the products become one row") {
  const auto with = [](const std::string& second, bool product_wanted = false) {
    OnnxBuilder m;
    m.input("x", {2, 5, 8})
        .input("row", {4})
        .output("y")
        .constant("wq", {8, 4}, floats(32))
        .constant("wk", {8, 4}, floats(32))
        .constant("wv", {8, 6}, floats(48));
    m.constant("bq", {4}, floats(4))
        .constant("bk", {4}, floats(4))
        .constant("bv", {6}, floats(6))
        .constant("one", {}, {3})
        .constant("wide", {5, 4}, floats(20));
    m.node("MatMul", {"x", "wq"}, {"q0"}).node("Add", {"q0", "bq"}, {"q"}).node("MatMul", {"x", "wk"}, {"k0"}).node("Add", {second, "k0"}, {"k"});
    m.node("MatMul", {"x", "wv"}, {"v0"}).node("Add", {"bv", "v0"}, {"v"}).node("Transpose", {"k"}, {"kt"}, {{"perm", {0, 2, 1}}});
    m.node("MatMul", {"q", "kt"}, {"s"}).node("Softmax", {"s"}, {"p"}).node("MatMul", {"p", "v"}, {"y"});
    if (product_wanted) m.output("v0");
    const Model model = check_same(m, {random_tensor({2, 5, 8}), random_tensor({4})});
    CHECK(fired(model, "merge_products") == 2);
    return model.nodes();
  };
  CHECK(with("bk") == 7);    // a product, an addition, the parts; Transpose, two products, Softmax
  CHECK(with("row") == 9);   // the operand is no constant
  CHECK(with("one") == 9);   // the operand is a scalar
  CHECK(with("wide") == 9);  // a different row for each step
  CHECK(with("bk", true) == 9);
}

TEST_CASE("views, equal nodes, identities and constants") {
  OnnxBuilder m;
  m.input("x", {2, 3, 4}).output("y").output("same");
  m.node("Transpose", {"x"}, {"a"}, {{"perm", {2, 0, 1}}}).node("Transpose", {"a"}, {"b"}, {{"perm", {1, 2, 0}}}).node("Identity", {"b"}, {"c"});
  m.node("Dropout", {"c"}, {"d"}).node("Exp", {"d"}, {"e1"}).node("Exp", {"d"}, {"e2"}).node("Add", {"e1", "e2"}, {"f"});
  m.integers("s1", {6, 4}).integers("s2", {4, -1}).node("Reshape", {"f", "s1"}, {"g"}).node("Reshape", {"g", "s2"}, {"h"});
  m.constant("k", {2}, {1, 2})
      .constant("l", {2}, {3, 4})
      .node("Mul", {"k", "l"}, {"kl"})
      .node("ReduceSum", {"kl"}, {"n"}, {{"keepdims", 0}})
      .node("Mul", {"h", "n"}, {"y"});
  m.node("Identity", {"x"}, {"same"});
  const Model model = check_same(m, {random_tensor({2, 3, 4})});
  CHECK(fired(model, "remove_identity") == 2);  // the product that is an output stays
  CHECK(fired(model, "fold_constants") == 2);
  CHECK(model.nodes() == 9);  // removes one of two Transpose, Exp and Reshape nodes each
  if (!options().fuse) return;
  // Recording merges two views into one or none, and an evaluation computes equal nodes once.
  const Tensor y = model({random_tensor({2, 3, 4})})[0];
  CHECK(testing::launches(y) == 1);
}

TEST_CASE("Pow: exponents that are numbers of the model, and others") {
  OnnxBuilder m;
  m.input("x", {2, 3}).input("e", {3});
  const std::vector<float> exponents{2, 0.5, 3, -1.5};
  for (std::size_t k = 0; k < exponents.size(); ++k) {
    const std::string number = std::to_string(k);
    m.output("y" + number).constant("c" + number, {1}, {exponents[k]}).node("Pow", {"x", "c" + number}, {"y" + number});
  }
  m.output("wide").constant("w", {1, 1, 1}, {2}).node("Pow", {"x", "w"}, {"wide"});
  m.output("z").node("Pow", {"x", "e"}, {"z"});
  File file("pow.onnx");
  const Model model = Model::load(m.save(file.path));
  const std::vector<float> x = floats(6, 0.1f, 3), e = floats(3);
  const auto results = model.run({{"x", from_span(x, {2, 3})}, {"e", from_span(e)}});
  CHECK(results.at("wide").shape() == Shape{1, 2, 3});
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t k = 0; k < exponents.size(); ++k)
      CHECK(results.at("y" + std::to_string(k)).to_vector<float>()[i] == doctest::Approx(std::pow(double(x[i]), double(exponents[k]))).epsilon(1e-6));
    CHECK(results.at("wide").to_vector<float>()[i] == doctest::Approx(double(x[i]) * x[i]).epsilon(1e-6));
    CHECK(results.at("z").to_vector<float>()[i] == doctest::Approx(std::pow(double(x[i]), double(e[i % 3]))).epsilon(1e-6));
  }
}

TEST_CASE("remove_identity: removes only nodes that change nothing") {
  const auto with = [](const std::string& op, const std::vector<std::string>& more, const std::vector<OnnxBuilder::Attribute>& attributes = {}) {
    OnnxBuilder m;
    m.input("x", {2, 3, 4}).output("y").constant("one", {}, {1}).constant("ones", {1}, {1}).constant("zero", {}, {0});
    m.integers("none", {0, 0, 0, 0, 0, 0})
        .integers("some", {0, 0, 1, 0, 0, 0})
        .integers("from", {0, 0})
        .integers("past", {INT64_MAX, INT64_MAX})
        .integers("early", {1, INT64_MAX});
    m.integers("axes", {0, 2})
        .integers("steps", {1, 1})
        .integers("backwards", {1, -1})
        .integers("copied", {0, 0, 0})
        .integers("fewer", {0, 0, -1})
        .integers("as_is", {0, 0});
    std::vector<std::string> inputs{"x"};
    inputs.insert(inputs.end(), more.begin(), more.end());
    m.node(op, inputs, {"v"}, attributes).node("Exp", {"v"}, {"y"});
    return fired(check_same(m, {random_tensor({2, 3, 4})}), "remove_identity");
  };
  CHECK(with("Cast", {}, {{"to", 1}}) == 1);
  CHECK(with("Cast", {}, {{"to", 11}}) == 0);
  CHECK(with("Transpose", {}, {{"perm", {0, 1, 2}}}) == 1);
  CHECK(with("Transpose", {}, {{"perm", {0, 2, 1}}}) == 0);
  CHECK(with("Concat", {}, {{"axis", 1}}) == 1);
  CHECK(with("Concat", {"x"}, {{"axis", 1}}) == 0);
  CHECK(with("Max", {}) == 1);
  CHECK(with("Pad", {"none"}) == 1);
  CHECK(with("Pad", {"some"}) == 0);
  CHECK(with("Slice", {"from", "past", "axes", "steps"}) == 1);
  CHECK(with("Slice", {"from", "early", "axes", "steps"}) == 0);
  CHECK(with("Slice", {"from", "past", "axes", "backwards"}) == 0);
  CHECK(with("Reshape", {"copied"}) == 1);
  CHECK(with("Reshape", {"fewer"}) == 0);
  CHECK(with("Mul", {"one"}) == 1);
  CHECK(with("Div", {"one"}) == 1);
  CHECK(with("Pow", {"one"}) == 1);
  CHECK(with("Sub", {"zero"}) == 1);
  CHECK(with("Add", {"zero"}) == 0);  // -0 + 0 is 0
  CHECK(with("Mul", {"zero"}) == 0);
  CHECK(with("Mul", {"ones"}) == 0);  // `ones` has an axis, so the product may have one more axis than x
  CHECK(with("Dropout", {}) == 1);
  OnnxBuilder masked;  // the mask of a Dropout is an output
  masked.input("x", {4}).output("y").output("mask", {}, 9).node("Dropout", {"x"}, {"d", "mask"}).node("Exp", {"d"}, {"y"});
  CHECK(fired(check_same(masked, {random_tensor({4})}), "remove_identity") == 0);
}

TEST_CASE("pool_first: moves a pool before a monotonic function, unless others read it or it costs nothing") {
  const auto with = [](const std::string& op, const std::vector<OnnxBuilder::Attribute>& attributes, bool conv = false, bool read_twice = false,
                       bool ceil = false) {
    OnnxBuilder m;
    m.input("x", {2, 3, 7, 7}).output("y").constant("w", {3, 3, 1, 1}, floats(9));
    if (conv) m.node("Conv", {"x", "w"}, {"c"});
    m.node(op, {conv ? "c" : "x"}, {"a"}, attributes);
    m.node("MaxPool", {"a"}, {"y"}, {{"kernel_shape", {3, 3}}, {"strides", {2, 2}}, {"pads", {1, 1, 1, 1}}, {"ceil_mode", ceil ? 1 : 0}});
    if (read_twice) m.output("z").node("Neg", {"a"}, {"z"});
    return fired(check_same(m, {random_tensor({2, 3, 7, 7})}), "pool_first");
  };
  CHECK(with("Sigmoid", {}) == 1);
  CHECK(with("Tanh", {}, true) == 1);
  CHECK(with("Relu", {}) == 1);
  CHECK(with("LeakyRelu", {{"alpha", 0.2f}}) == 1);
  CHECK(with("Relu", {}, true) == 0);                 // as the epilogue of a convolution the function costs nothing
  CHECK(with("LeakyRelu", {{"alpha", -0.2f}}) == 0);  // not monotonic
  CHECK(with("Neg", {}) == 0);
  CHECK(with("Sigmoid", {}, false, true) == 0);
  CHECK(with("Sigmoid", {}, false, false, true) == 0);
}

TEST_CASE("large results and constant outputs stay nodes, and a branch reads outer values") {
  OnnxBuilder large;
  large.input("x", {100, 100})
      .output("y")
      .integers("shape", {100, 100})
      .constant("k", {}, {3})
      .node("Expand", {"k", "shape"}, {"e"})
      .node("Add", {"x", "e"}, {"y"});
  CHECK(fired(check_same(large, {random_tensor({100, 100})}), "fold_constants") == 0);
  OnnxBuilder wanted;  // a constant that is an output
  wanted.input("x", {2}).output("y").output("k2").constant("k", {2}, {1, 2}).node("Exp", {"k"}, {"k2"}).node("Add", {"x", "k2"}, {"y"});
  CHECK(fired(check_same(wanted, {random_tensor({2})}), "fold_constants") == 0);

  // Filters that a formula states: arithmetic on a row and a column. Repeating elements stays a node.
  OnnxBuilder formula;
  formula.input("x", {70, 60}).output("y").constant("row", {1, 60}, floats(60)).constant("column", {70, 1}, floats(70));
  formula.node("Add", {"row", "column"}, {"t"}).node("Sin", {"t"}, {"filters"}).node("Mul", {"x", "filters"}, {"y"});
  CHECK(fired(check_same(formula, {random_tensor({70, 60})}), "fold_constants") == 2);
  OnnxBuilder repeated;
  repeated.input("x", {70, 60}).output("y").constant("row", {1, 60}, floats(60)).integers("times", {70, 1});
  repeated.node("Tile", {"row", "times"}, {"all"}).node("Mul", {"x", "all"}, {"y"});
  CHECK(fired(check_same(repeated, {random_tensor({70, 60})}), "fold_constants") == 0);
  OnnxBuilder used;  // remove_dead keeps values that a branch reads
  OnnxBuilder then, otherwise;
  then.output("t").node("Add", {"x", "b"}, {"t"});
  otherwise.output("e").node("Neg", {"x"}, {"e"});
  used.input("x", {3}).input("c", {1}, 9).output("y").node("Exp", {"x"}, {"b"}).node("Sin", {"x"}, {"dead"});
  used.node("If", {"c"}, {"y"}, {{"then_branch", then.model.graph()}, {"else_branch", otherwise.model.graph()}});
  CHECK(fired(check_same(used, {random_tensor({3}), Tensor{true}}), "remove_dead") == 1);
}

TEST_CASE("a convolution, its bias of any shape, a residual and an activation are one step") {
  if (!testing::convolves_in_blocks() || testing::on_gpu() || !options().fuse) return;
  // Exporters write the bias in several ways: as an operand of the Conv, or added after a Reshape, an Unsqueeze or an Expand. It may be a constant, or an
  // input, which cannot be folded.
  for (const char* const how : {"bias", "Reshape", "Unsqueeze", "Expand"})
    for (const bool constant : {true, false}) {
      CAPTURE(how);
      CAPTURE(constant);
      OnnxBuilder m;
      m.input("x", {1, 32, 9, 9}).output("y").constant("w", {32, 32, 3, 3}, floats(32 * 32 * 9, -0.1f, 0.1f));
      m.constant("before", {32, 32, 1, 1}, floats(32 * 32, -0.2f, 0.2f)).node("Conv", {"x", "before"}, {"r"});
      if (constant) m.constant("b", {32}, floats(32));
      else m.input("b", {32});
      const bool own = how == std::string("bias");
      m.node("Conv", own ? std::vector<std::string>{"r", "w", "b"} : std::vector<std::string>{"r", "w"}, {"c"}, {{"pads", {1, 1, 1, 1}}});
      m.integers("shape", {1, 32, 1, 1}).integers("axes", {0, 2, 3}).integers("all", {1, 32, 9, 9});
      if (how == std::string("Reshape")) m.node("Reshape", {"b", "shape"}, {"b4"});
      else m.node("Unsqueeze", {"b", "axes"}, {how == std::string("Expand") ? "b3" : "b4"});
      if (how == std::string("Expand")) m.node("Expand", {"b3", "all"}, {"b4"});
      if (!own) m.node("Add", {"c", "b4"}, {"biased"});
      m.node("Add", {own ? "c" : "biased", "r"}, {"sum"}).node("Relu", {"sum"}, {"a"});
      m.constant("next", {16, 32, 1, 1}, floats(512, -0.2f, 0.2f)).node("Conv", {"a", "next"}, {"y"});
      std::vector<Tensor> inputs{random_tensor({1, 32, 9, 9})};
      if (!constant) inputs.push_back(random_tensor({32}));
      if (own && !constant) continue;  // a convolution whose bias is an input is not computed in blocks
      const Model model = check_same(m, inputs);
      const Function f = freeze(model);
      (void)f(inputs);
      const auto before = counters();
      (void)f(inputs);
      const auto after = counters();
      INFO(f.explain());
      CHECK(after.library_calls - before.library_calls == 3);
      CHECK(after.epilogues - before.epilogues == 1);
      CHECK(after.kernels_launched - before.kernels_launched == 3);  // the epilogue, the conversion of x to blocks, and the conversion of the last result
    }
}

TEST_CASE("recurrent layers as one call agree with recorded steps, and one plan serves every length") {
  struct Layer {
    const char* op;
    std::int64_t gates;
    std::vector<OnnxBuilder::Attribute> attributes;
  };
  const std::vector<Layer> layers{{"LSTM", 4, {}}, {"GRU", 3, {{"linear_before_reset", 1}}}, {"GRU", 3, {}}, {"RNN", 1, {}}};
  for (const Layer& layer : layers) {
    constexpr std::int64_t kSize = 10, kInputs = 6;
    const std::vector<float> w = floats(static_cast<std::size_t>(2 * layer.gates * kSize * kInputs), -0.5f, 0.5f),
                             r = floats(static_cast<std::size_t>(2 * layer.gates * kSize * kSize), -0.5f, 0.5f),
                             b = floats(static_cast<std::size_t>(4 * layer.gates * kSize));
    const auto saved = [&](const File& file, bool clipped) {
      OnnxBuilder m;
      m.input("x", {-1, 3, kInputs})
          .output("y")
          .output("last")
          .constant("w", {2, layer.gates * kSize, kInputs}, w)
          .constant("r", {2, layer.gates * kSize, kSize}, r);
      m.constant("b", {2, 2 * layer.gates * kSize}, b).constant("h", {2, 3, kSize}, std::vector<float>(2 * 3 * kSize, 0.25f));
      auto attributes = layer.attributes;
      attributes.insert(attributes.end(), {{"hidden_size", kSize}, {"direction", "bidirectional"}});
      if (clipped) attributes.emplace_back("clip", 1e6f);  // no sum reaches this bound, and the library call does not support it
      m.node(layer.op, {"x", "w", "r", "b", "", "h"}, {"y", "last"}, attributes);
      return m.save(file.path);
    };
    File one("recurrent.onnx"), steps("recurrent_steps.onnx"), plan("recurrent.plan");
    const Model model = Model::load(saved(one, false)), by_steps = Model::load(saved(steps, true));
    freeze(model, {{"N", {7}}}).save(plan.path);
    const Function f = Function::load(plan.path);
    for (const std::int64_t length : {7, 2, 5, 31}) {
      INFO(layer.op, " of ", length);
      const Tensor x = random_tensor({length, 3, kInputs});
      const auto want = by_steps({x}), got = model({x});
      for (std::size_t k = 0; k < 2; ++k) check_close(got[k], want[k]);
      if (options().device != "cpu" && length != 7) continue;  // a plan of a GPU has this number of steps
      const auto planned = f({x});
      for (std::size_t k = 0; k < 2; ++k) check_close(planned[k], want[k]);
    }
  }
}

TEST_CASE("parameters of recurrent activations reach the functions that have them") {
  const std::vector<float> x = floats(2), w = floats(8), r(4), b(8);
  OnnxBuilder m;
  m.input("x", {1, 1, 2}).output("y").constant("w", {1, 4, 2}, w).constant("r", {1, 4, 1}, r).constant("b", {1, 8}, b);
  m.node("LSTM", {"x", "w", "r", "b"}, {"y"},
         {{"hidden_size", 1},
          OnnxBuilder::Attribute::texts("activations", {"HardSigmoid", "LeakyRelu", "ScaledTanh"}),
          OnnxBuilder::Attribute::floats("activation_alpha", {0.25f, 0.375f, 1.5f}),
          OnnxBuilder::Attribute::floats("activation_beta", {0.4f, 0.7f})});
  File file("activations.onnx");
  const double y = Model::load(m.save(file.path))({from_span(x, {1, 1, 2})})[0].astype(DType::float64).to_vector<double>()[0];
  const auto sum = [&](std::size_t gate) {
    return static_cast<double>(w[2 * gate]) * x[0] + static_cast<double>(w[2 * gate + 1]) * x[1];
  };  // input, output, forget, cell
  const auto gate = [](double z) { return std::clamp(0.25 * z + 0.4f, 0.0, 1.0); };
  const double cell = gate(sum(0)) * (sum(3) < 0 ? 0.375 * sum(3) : sum(3)), want = gate(sum(1)) * 1.5 * std::tanh(0.7f * cell);
  CHECK(std::fabs(y - want) <= 1e-6);
}

TEST_CASE("recurrent steps over sequences of several lengths are kernels") {
  constexpr std::int64_t kSteps = 41, kBatch = 13;
  OnnxBuilder m;
  m.input("x", {kSteps, kBatch, 2})
      .input("lengths", {kBatch}, 6)
      .output("y")
      .constant("w", {1, 12, 2}, floats(24))
      .constant("r", {1, 12, 3}, floats(36))
      .constant("b", {1, 24}, floats(24));
  m.node("LSTM", {"x", "w", "r", "b", "lengths"}, {"y"}, {{"hidden_size", 3}, {"direction", "reverse"}});
  File file("lengths.onnx");
  const Model model = Model::load(m.save(file.path));
  const Tensor x = random_tensor({kSteps, kBatch, 2}), lengths = (arange(kBatch) * 3 + 2).astype(DType::int32);
  const Function f = freeze(model);
  const auto y = f({x, lengths})[0].to_vector<float>();
  const auto before = counters().kernels_launched;
  CHECK(f({x, lengths})[0].to_vector<float>() == y);
  if (options().fuse) CHECK(counters().kernels_launched - before <= 5 * kSteps);  // one for each operation: 22 a step
  // Each sequence alone, with its own length, gives the same results.
  for (const std::int64_t row : {0, 5, 12}) {
    const std::int64_t length = 3 * row + 2;
    const auto alone =
        model({broadcast_to(x(Slice{}, Slice{row, row + 1}), {kSteps, kBatch, 2}), full({kBatch}, length).astype(DType::int32)})[0].to_vector<float>();
    for (std::int64_t at = 0; at < kSteps; ++at)
      for (std::int64_t k = 0; k < 3; ++k) {
        CAPTURE(at);
        CHECK(std::fabs(y[static_cast<std::size_t>((at * kBatch + row) * 3 + k)] - alone[static_cast<std::size_t>((at * kBatch + row) * 3 + k)]) <= 1e-6f);
      }
  }
}

TEST_CASE("errors about operands name the node, wherever they were found") {
  const auto refusal = [](OnnxBuilder& m, const std::vector<Tensor>& inputs) {
    File file("named.onnx");
    try {
      eval(Model::load(m.save(file.path))(inputs));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  OnnxBuilder types;
  types.input("x", {2, 4}).input("i", {4, 4}, 7).output("y").node("MatMul", {"x", "i"}, {"y"});
  const std::string mixed = refusal(types, {random_tensor({2, 4}), zeros({4, 4}, DType::int64)});
  CHECK(mixed.find("'MatMul1'") != std::string::npos);
  CHECK(mixed.find("float32 and int64") != std::string::npos);
  OnnxBuilder bias;
  bias.input("x", {3, 2, 4}).output("y").constant("w", {1, 12, 4}, floats(48)).constant("r", {1, 12, 4}, floats(48)).constant("b", {1, 20}, floats(20));
  bias.node("GRU", {"x", "w", "r", "b"}, {"y"}, {{"hidden_size", 4}});
  const std::string short_bias = refusal(bias, {random_tensor({3, 2, 4})});
  CHECK(short_bias.find("named.onnx") != std::string::npos);
  CHECK(short_bias.find("'GRU1'") != std::string::npos);
  CHECK(short_bias.find("operators_recurrent") == std::string::npos);
}

TEST_CASE("float64: a model of float32 is computed in float64 and rounded once") {
  const std::vector<float> x = floats(4 * 300, -1, 1), w = floats(300 * 8, -1, 1), b = floats(8, -1, 1);
  OnnxBuilder m;
  m.input("x", {-1, 300}).output("y").constant("w", {300, 8}, w).constant("b", {8}, b);
  m.node("MatMul", {"x", "w"}, {"product"}).node("Add", {"product", "b"}, {"sum"}).node("Tanh", {"sum"}, {"y"});
  File file("double.onnx");
  const Tensor y = Model::load(m.save(file.path), {.precision = DType::float64})({from_span(x, {4, 300})})[0];
  REQUIRE(y.dtype() == DType::float32);
  const std::vector<float> got = y.to_vector<float>();
  for (std::size_t row = 0; row < 4; ++row)
    for (std::size_t column = 0; column < 8; ++column) {
      double sum = b[column];
      for (std::size_t k = 0; k < 300; ++k) sum += static_cast<double>(x[row * 300 + k]) * static_cast<double>(w[k * 8 + column]);
      const double exact = std::tanh(sum);
      CHECK(std::fabs(got[row * 8 + column] - exact) <= 0x1.00001p-24 * std::fabs(exact) + 1e-12);
    }
}

TEST_CASE("half precision: values and weights have 16 bits, inputs and outputs have the model's types") {
  OnnxBuilder m;
  m.input("x", {-1, 16})
      .input("n", {-1}, 7)
      .output("y")
      .output("count", {}, 7)
      .output("s")
      .constant("w", {16, 8}, floats(128))
      .constant("b", {8}, floats(8))
      .constant("low", {}, {-3e38f});
  m.node("Gemm", {"x", "w", "b"}, {"g"}).node("Gelu", {"g"}, {"a"}, {{"approximate", "tanh"}}).constant("gain", {8}, floats(8, 0.5, 1.5));
  m.node("LayerNormalization", {"a", "gain"}, {"l"}).node("Softmax", {"l"}, {"s"}).node("Add", {"n", "n"}, {"count"});
  m.node("Greater", {"s", "cut"}, {"some"})
      .constant("cut", {}, {0.1f})
      .node("Where", {"some", "l", "low"}, {"z"})
      .node("Max", {"z", "floor"}, {"y"})
      .constant("floor", {}, {-2});
  File file("half.onnx");
  const std::string path = m.save(file.path);
  const Tensor x = random_tensor({5, 16}), n = from_span(std::vector<std::int64_t>{1, 2, 3, 4, 5});
  const auto exact = Model::load(path)({x, n});
  for (const auto& [precision, tolerance] : {std::pair{DType::float16, 0.02}, {DType::bfloat16, 0.15}}) {
    const auto got = Model::load(path, {.precision = precision})({x, n});
    CHECK(got[0].dtype() == DType::float32);
    CHECK(got[1].to_vector<std::int64_t>() == exact[1].to_vector<std::int64_t>());
    const auto a = got[0].to_vector<float>(), b = exact[0].to_vector<float>(), s = exact[2].to_vector<float>();
    double sum = 0;
    bool differs = false, rounded = true;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (std::fabs(s[i] - 0.1) > 0.5 * tolerance) sum += std::fabs(a[i] - b[i]);  // closer to the threshold, 16-bit values may be on the other side
      differs |= a[i] != b[i];
      rounded &= precision != DType::float16 || static_cast<float>(half(a[i])) == a[i];
    }
    CHECK(sum / static_cast<double>(a.size()) < tolerance);
    CHECK(differs);
    CHECK(rounded);
  }
  CHECK_THROWS_WITH_AS(Model::load(path, {.precision = DType::int8}), doctest::Contains("float32, float64, float16 or bfloat16, not int8"), ValueError);
}

TEST_CASE("an index that is out of range in the evaluation is an error that names the node") {
  OnnxBuilder m;
  m.input("x", {1, 1, 2, 2})
      .input("places", {1, 1, 2, 2}, 7)
      .output("y")
      .node("MaxUnpool", {"x", "places"}, {"y"}, {{"kernel_shape", {2, 2}}, {"strides", {2, 2}}});
  File file("unpool.onnx");
  const Model model = Model::load(m.save(file.path));
  const Tensor x = random_tensor({1, 1, 2, 2});
  CHECK(model({x, from_span(std::vector<std::int64_t>{0, 5, 10, 15}, {1, 1, 2, 2})})[0].size() == 16);
  const auto wrong = [&] { model({x, from_span(std::vector<std::int64_t>{0, 5, 10, 16}, {1, 1, 2, 2})})[0].to_vector<float>(); };
  CHECK_THROWS_WITH_AS(wrong(), doctest::Contains("MaxUnpool"), IndexError);
}

TEST_CASE("nodes without inputs, or without outputs") {
  for (const char* const op : {"Transpose", "Cast", "Reshape", "MaxPool", "Conv", "MatMul", "Identity", "BatchNormalization", "Pad"}) {
    CAPTURE(op);
    OnnxBuilder m;
    m.input("x", {2, 3})
        .output("y")
        .node("Transpose", {}, {"t"}, {{"perm", {1, 0}}})
        .node(op, {}, {"a"}, {{"to", 1}, {"perm", {1, 0}}})
        .node(op, {"a"}, {"b"}, {{"to", 1}, {"perm", {1, 0}}});
    m.node("Add", {"b", "t"}, {"y"});
    File file("empty.onnx");
    CHECK_THROWS_AS(Model::load(m.save(file.path))({random_tensor({2, 3})}), Error);
    OnnxBuilder nothing;
    nothing.input("x", {2, 3}).output("y").node(op, {"x"}, {}).node("Exp", {"x"}, {"y"});
    CHECK_THROWS_WITH_AS(Model::load(nothing.save(file.path)), doctest::Contains("has no output"), ModelError);
  }
}

TEST_CASE("a file with changed bytes is refused, or is another model") {
  if (testing::on_gpu()) return;  // reading a model does not depend on the device, and an emulated device needs more memory than the children may use
  OnnxBuilder m;
  m.input("x", {-1, 4}).output("y").constant("w", {4, 6}, floats(24)).integers("shape", {0, 2, 3}).integers("axes", {1}).constant("k", {3}, floats(3));
  m.node("MatMul", {"x", "w"}, {"p"})
      .node("Reshape", {"p", "shape"}, {"r"})
      .node("Add", {"r", "k"}, {"a"})
      .node("Transpose", {"a"}, {"t"}, {{"perm", {0, 2, 1}}});
  m.node("ReduceMean", {"t"}, {"n"}, {{"axes", std::vector<std::int64_t>{1}}, {"keepdims", 0}})
      .node("Softmax", {"n"}, {"s"}, {{"axis", -1}})
      .node("Unsqueeze", {"s", "axes"}, {"y"});
  const std::string whole = m.bytes();
  File file("changed.onnx");
  const Tensor x = random_tensor({3, 4});
  const auto outcomes =
      testing::try_mutations(testing::mutations_or(600), std::uniform_int_distribution<unsigned>()(testing::numbers()), [&](std::uint64_t mutation) {
        std::mt19937_64 draw(mutation);
        std::string bytes = whole;
        for (std::size_t changes = 1 + draw() % 3; changes > 0; --changes) bytes[draw() % bytes.size()] ^= static_cast<char>(1 << draw() % 8);
        if (draw() % 16 == 0) bytes.resize(draw() % bytes.size());
        std::ofstream(file.path, std::ios::binary) << bytes;
        for (const bool rewrite : {true, false}) {
          const Model model = Model::load(file.path, {.rewrite = rewrite});
          for (const Tensor& result : model({x}))
            if (result.size() <= 1 << 20) eval(result);
        }
      });
  CHECK(outcomes.refused > 0);
}

TEST_CASE("impossible sizes in a broken node are refused immediately, and the error names the node") {
  constexpr std::int64_t k32 = std::int64_t{1} << 32, kMaxInt = std::numeric_limits<std::int64_t>::max();
  struct Broken {
    const char* what;
    OnnxBuilder model;
  };
  std::vector<Broken> broken;
  const auto add = [&](const char* what) -> OnnxBuilder& {
    broken.push_back({what, OnnxBuilder()});
    return broken.back().model.input("x", {1, 4, 4, 4}).output("y");
  };
  OnnxBuilder branch, body;
  branch.output("b").node("Neg", {"x"}, {"b"});
  body.input("n", {}, 7)
      .input("going", {}, 9)
      .input("s", {1, 4, 4, 4})
      .output("going2", {}, 9)
      .output("s2")
      .node("Identity", {"going"}, {"going2"})
      .node("Neg", {"s"}, {"s2"});
  const std::vector<OnnxBuilder::Attribute> branches{{"then_branch", branch.model.graph()}, {"else_branch", branch.model.graph()}};
  add("If without a condition").node("If", {}, {"y"}, branches);
  add("If with two").node("If", {"x", "x"}, {"y"}, branches);
  add("If without a branch").whole("c", {}, {1}, 9).node("If", {"c"}, {"y"}, {{"then_branch", branch.model.graph()}});
  add("If whose branch has inputs")
      .whole("c", {}, {1}, 9)
      .node("If", {"c"}, {"y"}, {{"then_branch", branch.model.graph()}, {"else_branch", body.model.graph()}});
  add("Loop without an end").node("Loop", {"", "", "x"}, {"y"}, {{"body", body.model.graph()}});
  add("Loop of 2^63 - 1 rounds").integers("n", {kMaxInt}).node("Loop", {"n", "", "x"}, {"y"}, {{"body", body.model.graph()}});
  for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{-1}, k32, kMaxInt}) {
    add("DepthToSpace").node("DepthToSpace", {"x"}, {"y"}, {{"blocksize", bad}});
    add("SpaceToDepth").node("SpaceToDepth", {"x"}, {"y"}, {{"blocksize", bad}});
    add("Col2Im windows")
        .integers("to", {3, 1})
        .node("Reshape", {"x", "three"}, {"r"})
        .integers("three", {1, 16, 4})
        .integers("window", {bad, 1})
        .node("Col2Im", {"r", "to", "window"}, {"y"});
    add("Col2Im strides")
        .integers("to", {3, 1})
        .node("Reshape", {"x", "three"}, {"r"})
        .integers("three", {1, 16, 4})
        .integers("window", {1, 1})
        .node("Col2Im", {"r", "to", "window"}, {"y"}, {{"strides", {1, bad}}});
    add("AveragePool").node("AveragePool", {"x"}, {"y"}, {{"kernel_shape", {bad, 2}}, {"auto_pad", "SAME_UPPER"}});
    add("MaxPool").node("MaxPool", {"x"}, {"y"}, {{"kernel_shape", {2, 2}}, {"strides", {bad, bad}}, {"dilations", {1, bad}}});
    add("Conv").constant("w", {2, 4, 1, 1}, std::vector<float>(8, 1)).node("Conv", {"x", "w"}, {"y"}, {{"group", bad}});
    add("GroupNormalization").constant("g", {4}, {1, 1, 1, 1}).node("GroupNormalization", {"x", "g", "g"}, {"y"}, {{"num_groups", bad}});
    if (bad != 0) add("Split").node("Split", {"x"}, {"y"}, {{"num_outputs", bad}});
    if (bad != 0) add("Resize").integers("sizes", {1, 4, bad, 4}).node("Resize", {"x", "", "", "sizes"}, {"y"});
    if (bad != 0) add("Tile").integers("times", {1, bad, 1, bad}).node("Tile", {"x", "times"}, {"y"});
    if (bad != 0) add("Expand").integers("sizes", {bad, 4, 4, 4}).node("Expand", {"x", "sizes"}, {"y"});
  }
  add("AveragePool of 2^31 - 1")
      .node("AveragePool", {"x"}, {"y"}, {{"kernel_shape", {(std::int64_t{1} << 31) - 1, (std::int64_t{1} << 31) - 1}}, {"auto_pad", "SAME_UPPER"}});
  add("LRN").node("LRN", {"x"}, {"y"}, {{"size", k32}});
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 3e38f, -3e38f}) {
    add("Resize by scales").constant("scales", {4}, {1, 1, bad, 1}).node("Resize", {"x", "", "scales"}, {"y"});
    add("Range").constant("from", {}, {0}).constant("to", {}, {bad}).constant("by", {}, {bad < 0 ? -1.f : 1.f}).node("Range", {"from", "to", "by"}, {"y"});
  }
  add("Range of no number").integers("none", {}).node("Range", {"none", "none", "none"}, {"y"});
  add("ReverseSequence").integers("lengths", {1}).node("ReverseSequence", {"x", "lengths"}, {"y"}, {{"batch_axis", kMaxInt}, {"time_axis", -kMaxInt + 1}});
  add("activations of another type")
      .constant("w", {1, 4, 4}, std::vector<float>(16))
      .node("Reshape", {"x", "three"}, {"r"})
      .integers("three", {4, 4, 4})
      .node("RNN", {"r", "w", "w"}, {"y"}, {{"activations", "Tanh"}});
  add("a node of the library's own").node("QuantizedConv", {"x", "x", "x", "x", "x", "x"}, {"y"}, {}, "sinter");
  add("too many inputs").node("Neg", {"x", "x"}, {"y"});
  File file("broken.onnx");
  for (const Broken& each : broken) {
    const std::string& op = each.model.model.graph().node(each.model.model.graph().node_size() - 1).op_type();
    for (const bool rewrite : {true, false}) {
      const std::string what = each.what;
      CAPTURE(what);
      CAPTURE(rewrite);
      std::string said;
      try {
        eval(Model::load(each.model.save(file.path), {.rewrite = rewrite, .max_unrolled = 2000})({random_tensor({1, 4, 4, 4})}));
      } catch (const InternalError& error) {
        FAIL(error.what());
      } catch (const Error& error) {
        said = error.what();
      }
      CAPTURE(said);
      CHECK(said.find(op) != std::string::npos);
      CHECK(said.find("broken.onnx") != std::string::npos);
    }
  }
}

TEST_CASE("a model's values have no more elements than the options say") {
  OnnxBuilder m;
  m.input("x", {4}).output("y").integers("times", {1000}).node("Tile", {"x", "times"}, {"t"}).node("ReduceSum", {"t"}, {"y"}, {{"keepdims", 0}});
  File file("most.onnx");
  const std::string path = m.save(file.path);
  const Tensor x = Tensor{1.f, 1.f, 1.f, 1.f};
  CHECK(Model::load(path)({x})[0].item<float>() == 4000);
  CHECK(Model::load(path, {.max_elements = 4000})({x})[0].item<float>() == 4000);
  CHECK_THROWS_WITH_AS(Model::load(path, {.max_elements = 3999})({x}), doctest::Contains("max_elements"), ModelError);
  CHECK_THROWS_AS(Model::load(path, {.max_elements = 0}), ValueError);
}

TEST_CASE("missing names, a pipe in place of external data, and functions that expand too far are errors") {
  File file("missing.onnx");
  OnnxBuilder nameless;
  nameless.input("", {2}).input("x", {2}).output("y").node("Neg", {"x"}, {"y"});
  CHECK_THROWS_WITH_AS(Model::load(nameless.save(file.path)), doctest::Contains("an input has no name"), ModelError);
  OnnxBuilder unnamed;
  unnamed.input("x", {2}).output("").node("Neg", {"x"}, {""});
  CHECK_THROWS_WITH_AS(Model::load(unnamed.save(file.path)), doctest::Contains("an output has no name"), ModelError);
  REQUIRE(::mkfifo((file.folder / "pipe").c_str(), 0600) == 0);
  OnnxBuilder outside;
  outside.input("x", {2}).output("y").constant("w", {2}, {1, 2}).node("Add", {"x", "w"}, {"y"});
  onnx::format::Tensor* weight = outside.model.mutable_graph()->mutable_initializer(0);
  weight->clear_raw_data();
  weight->set_data_location(1);
  onnx::format::Entry* entry = weight->add_external_data();
  entry->set_key("location"), entry->set_value("pipe");
  CHECK_THROWS_WITH_AS(Model::load(outside.save(file.path)), doctest::Contains("not a file"), IoError);
  OnnxBuilder large;  // 20 functions, each of which calls the next one twice; the last one contains a constant of 64 KiB
  large.input("x", {2}).output("y").node("f0", {"x"}, {"y"});
  for (int k = 0; k < 20; ++k) {
    onnx::format::Function* function = large.model.add_functions();
    function->set_name("f" + std::to_string(k));
    function->add_input("a"), function->add_output("c");
    for (const auto& [from, to] : {std::pair("a", "b"), std::pair("b", "c")}) {
      onnx::format::Node* node = function->add_node();
      node->set_op_type(k < 19 ? "f" + std::to_string(k + 1) : "Neg");
      node->add_input(from), node->add_output(to);
      if (k == 19) *node->add_attribute() = OnnxBuilder::Attribute("ballast", std::string(1 << 16, 'a').c_str()).message;
    }
  }
  CHECK_THROWS_WITH_AS(Model::load(large.save(file.path)), doctest::Contains("bytes"), ModelError);
}

TEST_CASE("If runs the selected branch, and a branch reads outer values") {
  OnnxBuilder then, otherwise, m;
  then.output("t").node("Add", {"x", "one"}, {"t"});
  otherwise.output("e").constant("two", {1}, {2}).node("Mul", {"x", "two"}, {"e"});
  m.input("x", {-1}).input("c", {1}, 9).output("y").constant("one", {1}, {1});
  m.node("If", {"c"}, {"y0"}, {{"then_branch", then.model.graph()}, {"else_branch", otherwise.model.graph()}}).node("Neg", {"y0"}, {"y"});
  File file("if.onnx");
  const Model model = Model::load(m.save(file.path));
  const Tensor x = Tensor{1.f, 5.f};
  CHECK(model({x, Tensor{true}})[0].to_vector<float>() == std::vector<float>{-2, -6});
  CHECK(model({x, Tensor{false}})[0].to_vector<float>() == std::vector<float>{-2, -10});
}

TEST_CASE("an If that an input decides: a call chooses between the plans of both branches, or the input is fixed") {
  const auto model_of = [](bool longer) {
    OnnxBuilder then, otherwise, m;
    then.output("t").node("Add", {"x", "one"}, {"t"});
    otherwise.output("e").constant("two", {1}, {2});
    if (longer) otherwise.node("Concat", {"x", "two"}, {"e"}, {{"axis", 0}});
    else otherwise.node("Mul", {"x", "two"}, {"e"});
    m.input("x", {-1}).input("rate", {1}, 7).output("y").constant("one", {1}, {1}).node("Cast", {"rate"}, {"c"}, {{"to", 9}});
    m.node("If", {"c"}, {"y0"}, {{"then_branch", then.model.graph()}, {"else_branch", otherwise.model.graph()}}).node("Neg", {"y0"}, {"y"});
    return m;
  };
  const Tensor x = Tensor{1.f, 5.f, -3.f}, yes = Tensor{std::int64_t{16}}, no = Tensor{std::int64_t{0}};
  File file("if_rate.onnx"), plan("if_rate.plan");
  const std::string path = model_of(false).save(file.path);
  freeze(Model::load(path), {{"N", {3}}}).save(plan.path);
  const Function loaded = Function::load(plan.path);
  CHECK(loaded({x, yes})[0].to_vector<float>() == std::vector<float>{-2, -6, 2});
  CHECK(loaded({x, no})[0].to_vector<float>() == std::vector<float>{-2, -10, 6});
  for (const int rate : {16, 0}) {
    const Model fixed = Model::load(path, {.fixed = {{"rate", Tensor(rate)}}});
    CHECK(fixed.inputs().size() == 1);
    CHECK(fired(fixed, "take_branches") == 1);
    CHECK(freeze(fixed)({x})[0].to_vector<float>() == (rate ? std::vector<float>{-2, -6, 2} : std::vector<float>{-2, -10, 6}));
  }
  CHECK_THROWS_WITH_AS(Model::load(path, {.fixed = {{"speed", Tensor(1)}}}), doctest::Contains("rate: int64[1]"), ValueError);
  CHECK_THROWS_WITH_AS(Model::load(path, {.fixed = {{"x", Tensor(1)}}}), doctest::Contains("x: float32[N]"), ShapeError);
  const Model other = Model::load(model_of(true).save(file.path));
  CHECK(other({x, no})[0].size() == 4);
  freeze(other, {{"N", {3}}}).save(plan.path);
  const Function chooses = Function::load(plan.path);
  CHECK(chooses({x, yes})[0].to_vector<float>() == std::vector<float>{-2, -6, 2});
  CHECK(chooses({x, no})[0].to_vector<float>() == std::vector<float>{-1, -5, 3, -2});
  CHECK(chooses.serves()[1].find(" is true: N") != std::string::npos);
  CHECK_THROWS_WITH_AS(other.run({}), doctest::Contains("x: float32[N], rate: int64[1]"), ValueError);
}

TEST_CASE("a Constant node of any size is an initialiser") {
  OnnxBuilder m;
  m.input("x", {1, 32, 4, 4}).output("y").integers("shape", {32, 32, 3, 3});
  m.node("Constant", {}, {"flat"}, {OnnxBuilder::Attribute::floats("value_floats", floats(32 * 32 * 9))}).node("Reshape", {"flat", "shape"}, {"w"});
  m.constant("one", {32}, std::vector<float>(32, 1.f)).constant("half", {32}, std::vector<float>(32, 0.5f));
  m.node("Conv", {"x", "w"}, {"c"}).node("BatchNormalization", {"c", "half", "one", "half", "one"}, {"y"});
  File file("constant.onnx");
  const Model model = Model::load(m.save(file.path)), as_it_is = Model::load(m.save(file.path), {.rewrite = false});
  CHECK(model.nodes() == 2);
  const Tensor x = random_tensor({1, 32, 4, 4});
  check_close(model({x})[0], as_it_is({x})[0]);
}

TEST_CASE("an If on the product of two sizes: a plan in a file serves the sizes that take its branch, and refuses others") {
  OnnxBuilder then, otherwise, m;
  then.output("t").constant("two", {1}, {2}).node("Mul", {"x", "two"}, {"t"});
  otherwise.output("e").constant("one", {1}, {1}).node("Add", {"x", "one"}, {"e"});
  m.input("x", {-1, -1}).output("y").integers("ten", {10}).node("Shape", {"x"}, {"shape"}).node("ReduceProd", {"shape"}, {"size"}, {{"keepdims", 1}});
  m.node("Greater", {"size", "ten"}, {"c"}).node("If", {"c"}, {"y"}, {{"then_branch", then.model.graph()}, {"else_branch", otherwise.model.graph()}});
  m.model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_dim_param("M");
  File file("product.onnx"), plan("product.plan");
  const Model model = Model::load(m.save(file.path));
  freeze(model, {{"N", {40}}, {"M", {128}}}).save(plan.path);
  const Function loaded = Function::load(plan.path);
  int served = 0;
  for (std::int64_t rows = 2; rows < 13; ++rows)
    for (std::int64_t columns = 2; columns < 13; ++columns) {
      const Tensor x = random_tensor({rows, columns});
      INFO(rows, " x ", columns, ": ", loaded.serves()[0]);
      try {
        check_close(loaded({x})[0], rows * columns > 10 ? x * 2.f : x + 1.f);
        ++served;
      } catch (const ShapeError&) {  // the plan does not serve these sizes
      }
    }
  CHECK(served > (sinter::testing::on_gpu() ? 20 : 60));  // on a GPU a plan serves fewer sizes
}

TEST_CASE("operators that select elements and that write at indices") {
  OnnxBuilder m;
  m.input("x", {3, 4}).input("at", {2, 2}, 7).input("to", {2}).output("top").output("where").output("written").output("added").output("found").output("values");
  m.integers("k", {2}).node("TopK", {"x", "k"}, {"top", "where0"}, {{"largest", 0}}).node("Identity", {"where0"}, {"where"});
  m.node("ScatterND", {"x", "at", "to"}, {"written"}).node("ScatterND", {"x", "at", "to"}, {"added"}, {{"reduction", "add"}});
  m.constant("zero", {1}, {0}).node("Greater", {"x", "zero"}, {"positive"}).node("NonZero", {"positive"}, {"found"}).node("Unique", {"to"}, {"values"});
  File file("places.onnx");
  const Model model = Model::load(m.save(file.path));
  const std::vector<float> x = floats(12);
  const std::vector<Tensor> results =
      model({from_span(x, {3, 4}), Tensor{{std::int64_t{2}, std::int64_t{1}}, {std::int64_t{2}, std::int64_t{1}}}, Tensor{7.f, 5.f}});
  eval(results);
  std::vector<float> lowest;
  std::vector<std::int64_t> places, rows, columns;
  for (std::int64_t i = 0; i < 3; ++i) {
    std::vector<std::int64_t> order{0, 1, 2, 3};
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return x[static_cast<std::size_t>(i * 4 + a)] < x[static_cast<std::size_t>(i * 4 + b)]; });
    for (std::size_t k = 0; k < 2; ++k) places.push_back(order[k]), lowest.push_back(x[static_cast<std::size_t>(i * 4 + order[k])]);
    for (std::int64_t j = 0; j < 4; ++j)
      if (x[static_cast<std::size_t>(i * 4 + j)] > 0) rows.push_back(i), columns.push_back(j);
  }
  rows.insert(rows.end(), columns.begin(), columns.end());
  std::vector<float> written = x, added = x;
  written[9] = 5, added[9] = added[9] + 7 + 5;  // the last value for an index is stored
  CHECK(results[0].to_vector<float>() == lowest);
  CHECK(results[1].to_vector<std::int64_t>() == places);
  CHECK(results[2].to_vector<float>() == written);
  const std::vector<float> sums = results[3].to_vector<float>();  // a GPU computes 7 + 5 first
  for (std::size_t i = 0; i < added.size(); ++i) CHECK(sums.at(i) == doctest::Approx(added[i]).epsilon(1e-6));
  CHECK(results[4].to_vector<std::int64_t>() == rows);
  CHECK(results[5].to_vector<float>() == std::vector<float>{5, 7});
}

TEST_CASE("tensors in external data files, and a truncated file") {
  const testing::TemporaryFolder folder;
  const std::vector<float> w = floats(6);
  const auto with = [&](const char* offset, const char* length, const std::string& location) {
    OnnxBuilder m;
    m.input("x", {2, 3}).output("y").node("Add", {"x", "w"}, {"y"});
    onnx::format::Tensor* tensor = m.model.mutable_graph()->add_initializer();
    tensor->set_name("w"), tensor->set_data_type(1), tensor->add_dims(2), tensor->add_dims(3), tensor->set_data_location(1);
    for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{{"location", location}, {"offset", offset}, {"length", length}}) {
      onnx::format::Entry* entry = tensor->add_external_data();
      entry->set_key(key), entry->set_value(value);
    }
    return Model::load(m.save(folder.path / "external.onnx"));
  };
  {
    std::ofstream out(folder / "weights.bin", std::ios::binary);
    out << "head";
    out.write(reinterpret_cast<const char*>(w.data()), 24);
  }
  const std::string beside = "weights.bin";
  CHECK(with("4", "24", beside)({zeros({2, 3}, DType::float32)})[0].to_vector<float>() == w);
  CHECK_THROWS_WITH_AS(with("8", "24", beside), doctest::Contains("initializer 'w' ends at byte 32"), ModelError);
  CHECK_THROWS_WITH_AS(with("18446744073709551615", "24", beside), doctest::Contains("initializer 'w'"), ModelError);
  CHECK_THROWS_WITH_AS(with("4", "20", beside), doctest::Contains("20 bytes"), ModelError);
  CHECK_THROWS_WITH_AS(with("0", "24", "../" + beside), doctest::Contains("not in the model's folder"), ModelError);
  CHECK_THROWS_WITH_AS(with("0", "24", "/etc/passwd"), doctest::Contains("not in the model's folder"), ModelError);
  CHECK_THROWS_AS(with("0", "24", "absent.bin"), IoError);
}

TEST_CASE("meaningless files are refused") {
  File file("bad.onnx");
  const auto load = [&](const OnnxBuilder& m) { return Model::load(m.save(file.path)); };
  CHECK_THROWS_AS(Model::load("/nowhere/model.onnx"), IoError);
  std::ofstream(file.path, std::ios::binary) << "this is no model";
  CHECK_THROWS_AS(Model::load(file.path), ModelError);
  std::ofstream(file.path, std::ios::binary).flush();
  CHECK_THROWS_AS(Model::load(file.path), ModelError);

  OnnxBuilder good;
  good.input("x", {-1, 3, 8, 8}).output("b").constant("w", {4, 3, 3, 3}, floats(108)).node("Conv", {"x", "w"}, {"c"});
  batch_norm_of(good, "c", "b", 4);
  const std::string whole = good.bytes();
  for (std::size_t cut = 0; cut < whole.size(); cut += 1 + testing::numbers()() % 7) {  // the file is truncated anywhere, or one bit is flipped
    std::ofstream(file.path, std::ios::binary) << whole.substr(0, cut);
    try {
      Model::load(file.path);
    } catch (const Error&) {
    }
    std::string damaged = whole;
    damaged[cut] = static_cast<char>(damaged[cut] ^ (1 << testing::numbers()() % 8));
    std::ofstream(file.path, std::ios::binary) << damaged;
    try {
      Model::load(file.path)({random_tensor({1, 3, 8, 8})});
    } catch (const Error&) {
    }
  }

  OnnxBuilder cycle;
  cycle.input("x", {2}).output("a").node("Add", {"x", "b"}, {"a"}).node("Neg", {"a"}, {"b"});
  CHECK_THROWS_WITH_AS(load(cycle), doctest::Contains("a cycle"), ModelError);
  OnnxBuilder unknown;
  unknown.input("x", {2}).output("y").node("Add", {"x", "u"}, {"y"});
  CHECK_THROWS_WITH_AS(load(unknown), doctest::Contains("'Add1' (Add, number 0) reads 'u', which no node computes"), ModelError);
  OnnxBuilder twice;
  twice.input("x", {2}).output("y").node("Neg", {"x"}, {"y"}).node("Exp", {"x"}, {"y"});
  CHECK_THROWS_WITH_AS(load(twice), doctest::Contains("'y', which another node computes already"), ModelError);
  OnnxBuilder no_giver;
  no_giver.input("x", {2}).output("z").node("Neg", {"x"}, {"y"});
  CHECK_THROWS_WITH_AS(load(no_giver), doctest::Contains("output 'z'"), ModelError);
  OnnxBuilder sizes;
  sizes.input("x", {2}).output("x").constant("w", {4611686018427387904, 4}, {});
  CHECK_THROWS_WITH_AS(load(sizes), doctest::Contains("impossible size"), ModelError);
  OnnxBuilder few;
  few.input("x", {2}).output("x").constant("w", {3}, {1, 2});
  CHECK_THROWS_WITH_AS(load(few), doctest::Contains("8 bytes, but its shape and type need 12"), ModelError);
  OnnxBuilder text;
  text.input("x", {2}, 8).output("x");
  CHECK_THROWS_WITH_AS(load(text), doctest::Contains("input 'x' is of string"), ModelError);
}

TEST_CASE("an unsupported operator is reported with its node; the other nodes can be inspected") {
  OnnxBuilder m;
  m.input("x", {2})
      .output("y")
      .node("Sqrt", {"x"}, {"a"})
      .node("Frobnicate", {"a"}, {"b"}, {}, "org.example")
      .node("Frobnicate", {"b"}, {"y"}, {}, "org.example");
  File file("missing.onnx");
  const Model model = Model::load(m.save(file.path));
  REQUIRE(model.missing().size() == 1);
  CHECK(model.missing()[0].op == "org.example.Frobnicate");
  CHECK(model.missing()[0].nodes == 2);
  CHECK_THROWS_WITH_AS(model({Tensor{1.f, 2.f}}), doctest::Contains("node 'Frobnicate2' (org.example.Frobnicate, number 1): sinter has no operator"),
                       ModelError);
}

TEST_CASE("unnamed axes and axes named ? are separate sizes, and so is a name that one input uses for two sizes") {
  OnnxBuilder m;
  m.input("x", {-1, 3, -1, -1}).output("y").node("Relu", {"x"}, {"y"});
  auto* const shape = m.model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  const Tensor x = random_tensor({2, 3, 48, 192});
  for (const char* word : {"?", "", "any"}) {
    CAPTURE(std::string(word));
    for (const int axis : {0, 2, 3}) shape->mutable_dim(axis)->set_dim_param(word);
    File file("axes.onnx"), plan("axes.plan");
    const Model model = Model::load(m.save(file.path));
    CHECK(to_string(model.inputs()[0]) == (*word == 'a' ? "x: float32[any, 3, any, any]" : "x: float32[x.0, 3, x.2, x.3]"));
    CHECK(model({x})[0].to_vector<float>() == relu(x).to_vector<float>());
    const std::string first = *word == 'a' ? "any" : "x.0";
    freeze(model, {{first, {2}}, {"x.2", {32}}, {"x.3", {64}}}).save(plan.path);
    CHECK(Function::load(plan.path)({x})[0].to_vector<float>() == relu(x).to_vector<float>());
    if (*word == 'a') freeze(model, {{"any", {5}}})({random_tensor({5, 3, 5, 5})});  // the others are planned alike
    CHECK_THROWS_WITH_AS(freeze(model, {{"x.1", {2}}, {"y", {3}}}),
                         doctest::Contains(("no input has a size called 'x.1' or 'y'; the sizes are '" + first + "', 'x.2', 'x.3'").c_str()), ValueError);
  }
}

TEST_CASE("calls with wrong inputs are errors") {
  OnnxBuilder m;
  m.input("x", {-1, 3}).input("y", {-1, 3}).output("z").node("Add", {"x", "y"}, {"z"});
  File file("calls.onnx");
  const Model model = Model::load(m.save(file.path));
  const Tensor x = random_tensor({2, 3});
  CHECK_THROWS_WITH_AS(model({x}), doctest::Contains("takes 2 inputs, not 1"), ValueError);
  CHECK_THROWS_WITH_AS(model({x, x.astype(DType::float64)}), doctest::Contains("y: float32[N, 3] is given as float64 at "), DTypeError);
  CHECK_THROWS_WITH_AS(model({x, random_tensor({2, 4})}), doctest::Contains("is given with the shape (2, 4)"), ShapeError);
  CHECK_THROWS_WITH_AS(model({x, random_tensor({5, 3})}), doctest::Contains("with N = 5, and x with 2"), ShapeError);
  CHECK_THROWS_WITH_AS(model.run({{"x", x}}), doctest::Contains("the input y: float32[N, 3] is not given"), ValueError);
  CHECK_THROWS_WITH_AS(model.run({{"x", x}, {"y", x}, {"q", x}}), doctest::Contains("has no input 'q'"), ValueError);
  CHECK_THROWS_WITH_AS(model.run({{"x", x}, {"q", x}}), doctest::Contains("has no input 'q'; its inputs are x: float32[N, 3], y: "), ValueError);
  OnnxBuilder inside;
  inside.input("x", {-1, 3}).output("y").constant("w", {4, 2}, floats(8)).node("MatMul", {"x", "w"}, {"y"});
  const Model wrong = Model::load(inside.save(file.path), {.rewrite = false});
  CHECK_THROWS_WITH_AS(wrong({x}), doctest::Contains("MatMul 'MatMul1'"), ShapeError);
}

TEST_CASE("one model, several threads") {
  File file("threads.onnx");
  const Model model = Model::load(three_convolutions([](OnnxBuilder& m) { batch_norm_of(m, "c", "b", 16); }).save(file.path));
  const Tensor x = random_tensor({2, 32, 8, 8});
  const auto expected = model({x})[0].to_vector<float>();
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int k = 0; k < 5; ++k) wrong += model({x})[0].to_vector<float>() != expected;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("Loop runs its body and collects the scan outputs until its condition is false") {
  OnnxBuilder body, m;
  // s = s * x + k, where k is a value of the outer graph. Each iteration outputs s, and the loop continues while s[0] < 50.
  body.input("i", {}, 7).input("go", {}, 9).input("s", {2}).output("on", {}, 9).output("next").output("each");
  body.constant("fifty", {}, {50}).integers("first", {0});
  body.node("Mul", {"s", "x"}, {"p"}).node("Add", {"p", "k"}, {"next"}).node("Identity", {"next"}, {"each"});
  body.node("Gather", {"next", "first"}, {"n0"}).node("Less", {"n0", "fifty"}, {"on"});
  m.input("x", {2}).input("n", {1}, 7).output("last").output("all").constant("k", {2}, {1, 2});
  m.node("Identity", {"x"}, {"start"}).node("Loop", {"n", "", "start"}, {"last", "all"}, {{"body", body.model.graph()}});
  File file("loop.onnx");
  const Model model = Model::load(m.save(file.path));
  CHECK(model.missing().empty());
  const auto reference = [](double x, double k, int rounds) {
    std::vector<float> list;
    double s = x;
    for (int i = 0; i < rounds; ++i) list.push_back(static_cast<float>(s = s * x + k));
    return list;
  };
  File plan("loop.plan");
  freeze(model).save(plan.path);
  const Function loaded = Function::load(plan.path);
  CHECK(loaded.plans() <= 6);                        // one of them for a round
  for (const std::int64_t asked : {0, 1, 2, 3, 50})  // s[0] is 2, 5, 11, 23, 47, and 95 ends the loop
    for (const bool planned : {false, true}) {
      const std::vector<Tensor> inputs{Tensor{2.f, 3.f}, full({1}, asked, DType::int64)};
      const auto results = planned ? loaded(inputs) : model(inputs);
      const int ran = static_cast<int>(std::min<std::int64_t>(asked, 5));
      const auto a = reference(2, 1, ran), b = reference(3, 2, ran);
      CHECK(results[0].to_vector<float>() == std::vector<float>{ran ? a.back() : 2, ran ? b.back() : 3});
      REQUIRE(results[1].shape() == Shape{ran, 2});
      const auto all = results[1].to_vector<float>();
      for (std::size_t i = 0; i < a.size(); ++i) {
        CHECK(all[2 * i] == a[i]);
        CHECK(all[2 * i + 1] == b[i]);
      }
    }
}

TEST_CASE("many Ifs in a row: from the fifth on a plan computes both branches, if they give equal shapes") {
  OnnxBuilder m;
  m.input("x", {-1}).input("bits", {8}, 9).output("v8");
  for (int k = 0; k < 8; ++k) {
    OnnxBuilder then, otherwise;
    const std::string from = k == 0 ? "x" : fmt::format("v{}", k), bit = fmt::format("bit{}", k);
    then.output("t").constant("two", {1}, {2}).node("Mul", {from, "two"}, {"t"});
    otherwise.output("e").constant("one", {1}, {static_cast<float>(k)}).node("Add", {from, "one"}, {"e"});
    m.integers(bit + "at", {k}).node("Gather", {"bits", bit + "at"}, {bit});
    m.node("If", {bit}, {fmt::format("v{}", k + 1)}, {{"then_branch", then.model.graph()}, {"else_branch", otherwise.model.graph()}});
  }
  File file("ifs.onnx"), plan("ifs.plan");
  const Model model = Model::load(m.save(file.path));
  freeze(model).save(plan.path);
  const Function loaded = Function::load(plan.path);
  CHECK(loaded.missing().empty());
  CHECK(loaded.plans() == 31);
  for (const int bits : {0, 255, 0b10110010, 0b01001101, 0b11110000}) {
    const bool list[] = {(bits & 1) != 0,  (bits & 2) != 0,  (bits & 4) != 0,  (bits & 8) != 0,
                         (bits & 16) != 0, (bits & 32) != 0, (bits & 64) != 0, (bits & 128) != 0};
    const std::vector<Tensor> inputs{random_tensor({5}), from_span(list, {8})};
    check_close(loaded(inputs)[0], model(inputs)[0]);
  }
}

TEST_CASE("a Loop with an If within, whose state no iteration may change in shape: planned on its condition alone") {
  OnnxBuilder then, otherwise, body, m;
  then.output("t").node("Mul", {"s", "two"}, {"t"});
  otherwise.output("e").node("Sub", {"s", "one"}, {"e"});
  body.input("i", {}, 7).input("go", {}, 9).input("s", {-1}).output("on", {}, 9).output("next");
  body.constant("two", {}, {2}).constant("one", {}, {1}).constant("few", {}, {10}).constant("many", {}, {100});
  body.node("ReduceSum", {"s"}, {"sum"}, {{"keepdims", 0}}).node("Less", {"sum", "few"}, {"small"});
  body.node("If", {"small"}, {"next"}, {{"then_branch", then.model.graph()}, {"else_branch", otherwise.model.graph()}});
  body.node("ReduceSum", {"next"}, {"after"}, {{"keepdims", 0}}).node("Abs", {"after"}, {"size"}).node("Less", {"after", "few"}, {"on"});
  m.input("x", {-1}).input("start", {1}, 9).output("y").node("Loop", {"", "start", "x"}, {"y0"}, {{"body", body.model.graph()}}).node("Neg", {"y0"}, {"y"});
  File file("loop_if.onnx"), plan("loop_if.plan");
  const Model model = Model::load(m.save(file.path));
  const Function frozen = freeze(model);
  const std::int64_t sizes[] = {3, 8};
  for (const std::int64_t size : sizes) frozen.prepare({{frozen.inputs()[0].shape[0].name, size}});  // on a GPU a plan serves few sizes
  frozen.save(plan.path);
  const Function loaded = Function::load(plan.path);
  for (const float first : {0.125f, 1.f, 3.f, 50.f})
    for (const bool start : {true, false})
      for (const std::int64_t size : sizes) {
        const std::vector<Tensor> inputs{full({size}, first), full({1}, start)};
        check_close(loaded(inputs)[0], model(inputs)[0]);
      }
}

TEST_CASE("Scan runs along an axis, forwards and backwards") {
  const auto at = [](std::int64_t a, std::int64_t b) { return std::vector<std::int64_t>{a, b}; };
  OnnxBuilder body, m;
  body.input("sum", {3}).input("a", {3}).input("b", {3}).output("now").output("out").output("product");
  body.node("Mul", {"a", "b"}, {"product"}).node("Add", {"sum", "product"}, {"now"}).node("Identity", {"now"}, {"out"});
  m.input("zero", {3}).input("x", {4, 3}).input("y", {3, 4}).output("last").output("sums").output("products");
  m.node("Scan", {"zero", "x", "y"}, {"last", "sums", "products"},
         {{"body", body.model.graph()},
          {"num_scan_inputs", 2},
          {"scan_input_axes", at(0, 1)},
          {"scan_input_directions", at(0, 1)},
          {"scan_output_axes", at(0, -1)},
          {"scan_output_directions", at(1, 0)}});
  File file("scan.onnx");
  const Model model = Model::load(m.save(file.path));
  const std::vector<float> x = floats(12), y = floats(12);
  const auto results = model({zeros({3}, DType::float32), from_span(x, {4, 3}), from_span(y, {3, 4})});
  REQUIRE(results[1].shape() == Shape{4, 3});
  REQUIRE(results[2].shape() == Shape{3, 4});
  const auto last = results[0].to_vector<float>(), sums = results[1].to_vector<float>(), products = results[2].to_vector<float>();
  for (std::size_t j = 0; j < 3; ++j) {
    double sum = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const double product = static_cast<double>(x[3 * i + j]) * static_cast<double>(y[4 * j + 3 - i]);
      sum += product;
      CHECK(std::fabs(static_cast<double>(products[4 * j + i]) - product) < 1e-6);
      CHECK(std::fabs(static_cast<double>(sums[3 * (3 - i) + j]) - sum) < 1e-6);
    }
    CHECK(std::fabs(static_cast<double>(last[j]) - sum) < 1e-6);
  }
}
