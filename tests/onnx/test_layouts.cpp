// Random convolutional networks with and without blocked layouts: convolutions of every kind, operations between them that may or may not stay in blocks,
// several outputs.
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "onnx_builder.hpp"
#include "passes.hpp"
#include "program.hpp"
#include "seed.hpp"
#include "sinter/freeze_model.hpp"
#include "sinter/model.hpp"
#include "temporary_folder.hpp"

using namespace sinter;
using testing::OnnxBuilder;
using File = testing::TemporaryFile;

namespace {

using Numbers = std::vector<std::int64_t>;

/// Writes a random network node by node.
class Network {
 public:
  explicit Network(unsigned seed) : rng_(seed) {
    line_ = any(0, 2) == 0;
    const std::int64_t channels = pick({1, 3, 16, 20}), rows = line_ ? 1 : any(5, 12), columns = any(5, 12);
    inputs.push_back(random(with_places({2, channels}, {rows, columns})));
    builder.input("x", with_places({-1, channels}, {rows, columns}));
    values_.push_back({"x", channels, rows, columns});
    for (std::int64_t step = any(4, 12); step > 0; --step) grow();
    for (const std::size_t k : {values_.size() - 1, values_.size() / 2})
      if (values_[k].name != "x" && outputs_.insert(values_[k].name).second) builder.output(values_[k].name);
  }

  OnnxBuilder builder;
  std::vector<Tensor> inputs;
  std::string text;

 private:
  struct Value {
    std::string name;
    std::int64_t channels, rows, columns;
    bool same(const Value& other) const { return channels == other.channels && rows == other.rows && columns == other.columns; }
  };

  /// The sizes of the spatial axes: rows and columns, or only columns.
  Numbers with_places(Numbers list, const Numbers& two) const {
    list.insert(list.end(), two.begin() + (line_ ? 1 : 0), two.end());
    return list;
  }
  Numbers all(std::int64_t number) const { return Numbers(line_ ? 1 : 2, number); }

  std::int64_t any(std::int64_t low, std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(low, high)(rng_); }
  std::int64_t pick(const Numbers& list) { return list[static_cast<std::size_t>(any(0, static_cast<std::int64_t>(list.size()) - 1))]; }
  std::vector<float> numbers(std::int64_t count, float magnitude) {
    std::vector<float> list(static_cast<std::size_t>(count));
    for (float& x : list) x = std::uniform_real_distribution<float>(-magnitude, magnitude)(rng_);
    return list;
  }
  Tensor random(const Shape& shape) { return from_span(numbers(element_count(shape), 1), shape); }
  std::string fresh(const char* what) { return what + std::to_string(++count_); }
  std::string constant(const Numbers& shape, float magnitude) {
    const std::string name = fresh("k");
    std::int64_t size = 1;
    for (const std::int64_t axis : shape) size *= axis;
    builder.constant(name, shape, numbers(size, magnitude));
    return name;
  }
  Value add(const std::string& op, const std::vector<std::string>& in, Value like, const std::vector<OnnxBuilder::Attribute>& attributes = {}) {
    like.name = fresh("v");
    builder.node(op, in, {like.name}, attributes);
    text += op + " ";
    values_.push_back(like);
    return like;
  }
  Value conv(const Value& x, std::int64_t filters, std::int64_t groups, std::int64_t taps, std::int64_t stride, std::int64_t dilation) {
    const std::int64_t each = x.channels / groups, reach = (taps - 1) * dilation, before = any(0, reach), after = reach - before + any(0, 1);
    std::vector<std::string> in{x.name, constant(with_places({filters, each}, {taps, taps}), 1.5f / std::sqrt(static_cast<float>(each * taps * taps)))};
    if (any(0, 2) > 0) in.push_back(constant({filters}, 0.5f));
    const auto places = [&](std::int64_t size) { return (size + before + after - reach - 1) / stride + 1; };
    const Value like{"", filters, line_ ? 1 : places(x.rows), places(x.columns)};
    text += std::to_string(x.channels) + "->" + std::to_string(filters) + (groups > 1 ? "/" + std::to_string(groups) : "") + " ";
    Numbers pads = all(before);
    pads.insert(pads.end(), pads.size(), after);
    return add("Conv", in, like, {{"pads", pads}, {"strides", all(stride)}, {"dilations", all(dilation)}, {"group", groups}});
  }
  /// At most 40 positions along an axis.
  void conv_transpose(const Value& x, std::int64_t filters) {
    const std::int64_t taps = any(1, 4), stride = any(1, 2), dilation = any(1, 2), reach = (taps - 1) * dilation + 1,
                       more = any(0, std::max(stride, dilation) - 1);
    const std::int64_t smallest = (std::min(x.columns, line_ ? x.columns : x.rows) - 1) * stride + reach + more,
                       before = any(0, std::min<std::int64_t>(2, smallest - 1)), after = any(0, std::min<std::int64_t>(2, smallest - 1 - before));
    if (std::max(x.rows, x.columns) > 18) return;
    std::vector<std::string> in{x.name,
                                constant(with_places({x.channels, filters}, {taps, taps}), 1.5f / std::sqrt(static_cast<float>(x.channels * taps * taps)))};
    if (any(0, 2) > 0) in.push_back(constant({filters}, 0.5f));
    const auto places = [&](std::int64_t size) { return (size - 1) * stride + reach + more - before - after; };
    Numbers pads = all(before);
    pads.insert(pads.end(), pads.size(), after);
    text += std::to_string(x.channels) + "->" + std::to_string(filters) + " ";
    add("ConvTranspose", in, {"", filters, line_ ? 1 : places(x.rows), places(x.columns)},
        {{"pads", pads}, {"strides", all(stride)}, {"dilations", all(dilation)}, {"output_padding", all(more)}});
  }

  void grow() {
    const Value x = values_[static_cast<std::size_t>(
        any(std::max<std::int64_t>(0, static_cast<std::int64_t>(values_.size()) - 3), static_cast<std::int64_t>(values_.size()) - 1))];
    switch (any(0, 14)) {
      case 0:
      case 1:
      case 2:
      case 3: conv(x, pick({1, 8, 16, 24, 32, 40}), 1, pick({1, 1, 3, 5}), pick({1, 1, 2}), pick({1, 1, 2})); return;
      case 4: conv(x, x.channels, x.channels, pick({3, 5}), pick({1, 2}), 1); return;
      case 5: conv(x, 2 * x.channels, x.channels % 2 == 0 ? 2 : 1, 3, 1, 1); return;
      case 13: {  // groups of whole blocks, groups that together fill a block, and others
        const std::int64_t groups = pick({2, 4, 8});
        const Value wide = conv(x, groups * pick({4, 8, 12, 16, 24}), 1, 1, 1, 1);
        conv(wide, groups * pick({4, 8, 16, 32}), groups, pick({1, 3}), pick({1, 2}), 1);
        return;
      }
      case 14: conv_transpose(x, pick({3, 8, 16, 20, 32})); return;
      case 6: {
        static const char* const kOps[] = {"Relu", "Sigmoid", "HardSwish", "LeakyRelu", "Tanh", "Elu", "Softplus"};
        add(kOps[any(0, 6)], {x.name}, x);
        return;
      }
      case 7: add("Clip", {x.name, constant({}, 0.1f), ""}, x); return;
      case 8:
        for (const Value& other : std::vector<Value>(values_))
          if (other.name != x.name && other.same(x)) {
            add(any(0, 1) ? "Add" : "Mul", {other.name, x.name}, x);
            return;
          }
        switch (any(0, 3)) {
          case 0: add("Mul", {x.name, constant(with_places({x.channels}, {1, 1}), 1)}, x); return;
          case 1: add("Add", {constant(with_places({1, x.channels}, {1, 1}), 1), x.name}, x); return;
          case 2: add("Add", {x.name, constant(with_places({1, 1}, {x.rows, x.columns}), 1)}, x); return;
          default: add("Mul", {constant({}, 2), x.name}, x);
        }
        return;
      case 9: {  // squeeze and excite
        const Value pooled = any(0, 1) ? add("GlobalAveragePool", {x.name}, {"", x.channels, 1, 1})
                                       : add("ReduceMean", {x.name}, {"", x.channels, 1, 1},
                                             {{"axes", line_ ? Numbers{any(0, 1) ? 2 : -1} : Numbers{any(0, 1) ? 2 : -2, 3}}, {"keepdims", 1}});
        const Value gate = conv(pooled, x.channels, 1, 1, 1, 1);
        if (gate.rows == 1 && gate.columns == 1) add("Mul", {x.name, gate.name}, x);
        return;
      }
      case 10: {
        const std::int64_t size = std::min<std::int64_t>({2, line_ ? x.columns : x.rows, x.columns}), pad = any(0, size - 1);
        const Value like{"", x.channels, line_ ? 1 : (x.rows + 2 * pad - size) / 2 + 1, (x.columns + 2 * pad - size) / 2 + 1};
        const Numbers pads(line_ ? 2 : 4, pad);
        if (any(0, 1)) add("MaxPool", {x.name}, like, {{"kernel_shape", all(size)}, {"strides", all(2)}, {"pads", pads}});
        else add("AveragePool", {x.name}, like, {{"kernel_shape", all(size)}, {"strides", all(2)}, {"pads", pads}, {"count_include_pad", any(0, 1)}});
        return;
      }
      case 11:
        for (const Value& other : std::vector<Value>(values_))
          if (other.rows == x.rows && other.columns == x.columns && other.channels <= 64) {
            add("Concat", {other.name, x.name}, {"", other.channels + x.channels, x.rows, x.columns}, {{"axis", 1}});
            return;
          }
        return;
      default: {  // the Reshape and its inverse refer to the model's layout
        const Value turned = add("Transpose", {x.name}, {"", x.rows, x.columns, x.channels}, {{"perm", line_ ? Numbers{0, 2, 1} : Numbers{0, 2, 3, 1}}});
        values_.pop_back();
        const Value softened = add("Softmax", {turned.name}, turned, {{"axis", -1}});
        values_.pop_back();
        add("Transpose", {softened.name}, x, {{"perm", line_ ? Numbers{0, 2, 1} : Numbers{0, 3, 1, 2}}});
      }
    }
  }

  std::mt19937 rng_;
  bool line_ = false;  // one spatial axis
  std::vector<Value> values_;
  std::set<std::string> outputs_;
  int count_ = 0;
};

void check_near(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    REQUIRE(got[k].shape() == want[k].shape());
    REQUIRE(got[k].dtype() == want[k].dtype());
    if (got[k].size() == 0) continue;
    const auto a = got[k].to_vector<float>(), b = want[k].to_vector<float>();
    double worst = 0, largest = 1;
    for (std::size_t i = 0; i < a.size(); ++i) {
      largest = std::max(largest, std::fabs(static_cast<double>(b[i])));
      worst = std::max(worst, std::isfinite(a[i]) ? std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])) : 1e300);
    }
    CHECK(worst <= 1e-4 * largest);
  }
}

}  // namespace

TEST_CASE("a network with blocked layouts agrees with its nodes' definitions") {
  const unsigned seed = testing::test_seed();
  for (unsigned i = 0; i < 20; ++i) {
    const Network network(seed + i);
    INFO("SINTER_TEST_SEED=", seed, " network ", i, ": ", network.text);
    File file("random.onnx");
    network.builder.save(file.path);
    const Model laid_out = Model::load(file.path), plain = Model::load(file.path, {.rewrite = false});
    const std::vector<Tensor> want = testing::as_recorded([&] { return plain(network.inputs); });
    check_near(laid_out(network.inputs), want);
    if (i < 4) check_near(freeze(laid_out, {{"N", {2}}})(network.inputs), want);
  }
}

TEST_CASE("values stay in blocks from convolution to convolution, and other nodes get the model's layout") {
  OnnxBuilder m;
  const auto numbers = [](auto count) { return testing::floats(count, -0.1f, 0.1f); };
  m.input("x", {-1, 3, 20, 20}).output("y");
  m.constant("w1", {24, 3, 3, 3}, numbers(24 * 27))
      .constant("b1", {24}, numbers(24))
      .constant("w2", {24, 1, 3, 3}, numbers(216))
      .constant("w3", {24, 24, 1, 1}, numbers(576));
  m.node("Conv", {"x", "w1", "b1"}, {"c1"}, {{"strides", {2, 2}}})
      .node("Relu", {"c1"}, {"r1"})
      .node("Conv", {"r1", "w2"}, {"c2"}, {{"group", 24}, {"pads", {1, 1, 1, 1}}});
  m.node("Relu", {"c2"}, {"r2"})
      .node("Conv", {"r2", "w3"}, {"c3"})
      .node("Add", {"c3", "r1"}, {"s"})
      .node("GlobalAveragePool", {"s"}, {"g"})
      .node("Flatten", {"g"}, {"y"});
  File file("chain.onnx");
  const Model model = Model::load(m.save(file.path));
  const Tensor x = ones({1, 3, 20, 20}, DType::float32);
  const Tensor y = model({x})[0];
  const std::string report = explain(y);
  CHECK((report.find("conv_blocked") != std::string::npos) == testing::convolves_in_blocks());
  if (!testing::convolves_in_blocks()) return;
  CHECK(report.find(" conv (") == std::string::npos);
  if (options().fuse) CHECK(report.find("ops     copy") == std::string::npos);  // no separate kernel converts values to blocks or back

  // The filters are packed once.
  eval(y);
  const Counters before = counters();
  eval(model({x})[0]);
  CHECK(counters().library_calls - before.library_calls == 3);
  CHECK(counters().plans_made == before.plans_made);
}

TEST_CASE("several threads call one model, and the first one lays out the filters") {
  OnnxBuilder m;
  m.input("x", {-1, 16, 6, 6}).output("y");
  std::vector<float> list(16 * 16 * 9);
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = 0.01f * static_cast<float>(i % 19) - 0.09f;
  m.constant("w", {16, 16, 3, 3}, list).node("Conv", {"x", "w"}, {"c"}, {{"pads", {1, 1, 1, 1}}}).node("Relu", {"c"}, {"y"});
  File file("threads.onnx");
  const Model model = Model::load(m.save(file.path));
  const Tensor x = reshape(arange(2 * 16 * 36), {2, 16, 6, 6}).astype(DType::float32) * 0.01f;
  std::vector<std::vector<float>> results(4);
  {
    std::vector<std::jthread> threads;
    for (auto& result : results) threads.emplace_back([&model, &x, &result] { result = model({x})[0].to_vector<float>(); });
  }
  const auto want = testing::as_recorded([&] { return Model::load(file.path, {.rewrite = false})({x}); })[0].to_vector<float>();
  for (const auto& result : results) {
    CHECK(result == results[0]);
    REQUIRE(result.size() == want.size());
  }
  check_near({from_span(results[0])}, {from_span(want)});
}

TEST_CASE("a number that depends on the inputs' shapes is computed from the sizes in a plan file, too") {
  OnnxBuilder m;
  m.input("x", {-1, 6}).output("y");
  m.integers("k0", {0});
  m.node("Shape", {"x"}, {"s"})
      .node("Gather", {"s", "k0"}, {"n"})
      .node("Cast", {"n"}, {"f"}, {{"to", 1}})
      .node("Add", {"n", "n"}, {"q"})
      .node("Cast", {"q"}, {"g"}, {{"to", 1}});
  m.node("Div", {"x", "f"}, {"d"}).node("Add", {"d", "g"}, {"y"});
  File file("numbers.onnx"), plan("numbers.plan");
  const Model model = Model::load(m.save(file.path));
  freeze(model, {{"N", {10}}}).save(plan.path);
  const Function loaded = Function::load(plan.path);
  REQUIRE(loaded.serves().size() == 1);
  CHECK(loaded.serves()[0].starts_with("N "));
  try {
    loaded({zeros({0, 6}, DType::float32)});
    FAIL("no plan holds for nothing");
  } catch (const ShapeError& error) {
    CHECK(std::string(error.what()).find(loaded.serves()[0]) != std::string::npos);
  }
  for (const std::int64_t rows : {10, 9, 8}) {
    const Tensor x = reshape(arange(rows * 6), {rows, 6}).astype(DType::float32);
    const auto got = loaded({x})[0].to_vector<float>();
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double want = static_cast<double>(i) / static_cast<double>(rows) + static_cast<double>(2 * rows);
      REQUIRE(std::fabs(static_cast<double>(got[i]) - want) <= 1e-6 * want);
    }
  }
}

TEST_CASE("convolutions along one axis, in groups of whole blocks, and transposed ones run in blocks; others do not") {
  if (!testing::convolves_in_blocks()) return;
  const auto numbers = [](auto count) { return testing::floats(count, -0.1f, 0.1f); };
  struct Conv {
    const char* op;
    Numbers weight;
    std::int64_t channels, groups, axes;
    bool blocks;
  };
  for (const Conv& c :
       {Conv{"Conv", {40, 20, 5}, 20, 1, 1, true}, Conv{"Conv", {32, 1, 5}, 32, 32, 1, true}, Conv{"Conv", {64, 1, 9}, 1, 1, 1, true},
        Conv{"Conv", {64, 8, 3, 3}, 64, 8, 2, true}, Conv{"Conv", {128, 4, 3, 3}, 128, 32, 2, true}, Conv{"Conv", {64, 2, 3, 3}, 64, 32, 2, false},
        Conv{"Conv", {96, 24, 3, 3}, 96, 4, 2, true}, Conv{"Conv", {24, 8, 3, 3}, 24, 3, 2, false}, Conv{"ConvTranspose", {24, 32, 4, 4}, 24, 1, 2, true},
        Conv{"ConvTranspose", {24, 3, 4, 4}, 24, 1, 2, true}, Conv{"ConvTranspose", {24, 16, 4}, 24, 1, 1, true},
        Conv{"ConvTranspose", {24, 16, 4, 4}, 48, 2, 2, true}, Conv{"Conv", {16, 16, 3, 3, 3}, 16, 1, 3, false}}) {
    const bool transposed = c.op != std::string("Conv");
    Numbers weight = c.weight, shape{2, c.channels}, input{-1, c.channels};
    if (transposed && c.groups > 1) weight[0] = c.channels;
    shape.insert(shape.end(), static_cast<std::size_t>(c.axes), 9), input.insert(input.end(), static_cast<std::size_t>(c.axes), 9);
    OnnxBuilder m;
    m.input("x", input).output("y").constant("w", weight, numbers(element_count(Shape(weight.begin(), weight.end()))));
    m.node(c.op, {"x", "w"}, {"c"}, {{"group", c.groups}, {"strides", Numbers(static_cast<std::size_t>(c.axes), transposed ? 2 : 1)}})
        .node("Relu", {"c"}, {"r"});
    // The convolution behind it does not use blocks if it is alone, because most of each block would be zeros.
    const std::int64_t between = transposed ? weight[1] * c.groups : weight[0];
    Numbers after{between < 16 ? 16 : 8, between}, pads(static_cast<std::size_t>(2 * c.axes), 1);
    after.insert(after.end(), static_cast<std::size_t>(c.axes), 3);
    m.constant("after", after, numbers(element_count(Shape(after.begin(), after.end())))).node("Conv", {"r", "after"}, {"y"}, {{"pads", pads}});
    File file("kinds.onnx");
    m.save(file.path);
    const Model model = Model::load(file.path);
    const std::vector<Tensor> x{from_span(numbers(element_count(Shape(shape.begin(), shape.end()))), Shape(shape.begin(), shape.end()))};
    INFO(c.op, " ", to_string(Shape(weight.begin(), weight.end())), " groups ", c.groups);
    CHECK((explain(model(x)[0]).find("conv_blocked") != std::string::npos) == c.blocks);
    check_near(model(x), testing::as_recorded([&] { return Model::load(file.path, {.rewrite = false})(x); }));
  }
}

TEST_CASE("operands of blocked values: with more axes, or with functions that are not finite for the zeros that fill up a block") {
  const auto numbers = [](auto count) { return testing::floats(count, -0.1f, 0.1f); };
  for (const bool line : {true, false})
    for (std::int64_t axes = 0; axes < 8; ++axes)
      for (const bool constant : {true, false}) {
        OnnxBuilder m;
        const Numbers places(line ? 1 : 2, 6);
        Numbers input{-1, 20}, shape{2, 20}, weight{20, 20};
        input.insert(input.end(), places.begin(), places.end()), shape.insert(shape.end(), places.begin(), places.end()),
            weight.insert(weight.end(), places.size(), 1);
        m.input("x", input).output("y").constant("w", weight, numbers(400));
        const Numbers ones_(static_cast<std::size_t>(axes), 1);
        if (constant) m.constant("s", ones_, {0.5f});
        else m.input("s", ones_);
        m.node("Conv", {"x", "w"}, {"c"}).node("Add", {"c", "s"}, {"y"});
        File file("axes.onnx");
        m.save(file.path);
        std::vector<Tensor> in{from_span(numbers(element_count(Shape(shape.begin(), shape.end()))), Shape(shape.begin(), shape.end()))};
        if (!constant) in.push_back(full(Shape(ones_.begin(), ones_.end()), 0.5f));
        INFO(line, " ", axes, " ", constant);
        check_near(Model::load(file.path)(in), testing::as_recorded([&] { return Model::load(file.path, {.rewrite = false})(in); }));
      }
  OnnxBuilder m;
  m.input("x", {-1, 20, 9}).output("y").constant("w", {20, 20, 1}, numbers(400)).constant("v", {20, 20, 3}, numbers(1200));
  m.constant("tiny", {1, 20, 1}, std::vector<float>(20, 1e-35f))
      .constant("less", {}, {1e31f})
      .constant("more", {}, {1e20f})
      .constant("some", {1, 20, 1}, std::vector<float>(20, 1e31f));
  m.node("Conv", {"x", "w"}, {"c"})
      .node("Relu", {"c"}, {"r"})
      .node("Mul", {"r", "tiny"}, {"t"})
      .node("Sub", {"t", "less"}, {"s"})
      .node("Add", {"s", "some"}, {"a"});
  m.node("Mul", {"a", "more"}, {"p"}).node("Conv", {"p", "v"}, {"y"});
  File file("finite.onnx");
  m.save(file.path);
  const std::vector<Tensor> in{from_span(numbers(2 * 20 * 9), {2, 20, 9})};
  check_near(Model::load(file.path)(in), testing::as_recorded([&] { return Model::load(file.path, {.rewrite = false})(in); }));
}

TEST_CASE("wrong sizes are refused with the shapes of the model, in blocks or not") {
  const auto refused = [](const char* op, const Numbers& weight, const std::vector<OnnxBuilder::Attribute>& attributes, const char* says) {
    OnnxBuilder m;
    m.input("x", {-1, 16, 9})
        .output("y")
        .constant("w", weight, std::vector<float>(static_cast<std::size_t>(element_count(Shape(weight.begin(), weight.end()))), 0.1f));
    m.node(op, {"x", "w"}, {"y"}, attributes);
    File file("refused.onnx");
    m.save(file.path);
    const Model model = Model::load(file.path);
    CHECK_THROWS_WITH(model({ones({1, 16, 9}, DType::float32)}), doctest::Contains(says));
  };
  refused("Conv", {16, 16, 3}, {{"strides", Numbers{1, 1}}}, "strides (1, 1)");
  refused("Conv", {16, 16, 11}, {}, "(1, 16, 9)");
  refused("Conv", {16, 16, 3}, {{"kernel_shape", Numbers{5}}}, "kernel_shape (5,)");
  refused("ConvTranspose", {16, 16, 3}, {{"strides", Numbers{0}}}, "stride");
  refused("ConvTranspose", {16, 16, 3}, {{"pads", Numbers{30, 30}}}, "(1, 16, 9)");
}

TEST_CASE("3x3 convolutions of stride 1 with many positions and channels are computed in tiles, others are not") {
  if (!testing::convolves_in_blocks()) return;
  struct Conv {
    std::int64_t channels, filters, taps, stride, dilation, size;
    bool tiles;
  };
  for (const Conv& c : {Conv{32, 48, 3, 1, 1, 12, true}, Conv{32, 48, 3, 2, 1, 24, false}, Conv{32, 48, 3, 1, 2, 24, false}, Conv{32, 48, 5, 1, 1, 24, false},
                        Conv{24, 48, 3, 1, 1, 12, false}, Conv{32, 48, 3, 1, 1, 7, false}}) {
    const auto numbers = [](auto count) { return testing::floats(count, -0.1f, 0.1f); };
    OnnxBuilder m;
    m.input("x", {-1, c.channels, c.size, c.size})
        .output("y")
        .constant("w", {c.filters, c.channels, c.taps, c.taps}, numbers(c.filters * c.channels * c.taps * c.taps));
    const std::int64_t pad = (c.taps - 1) * c.dilation / 2;
    m.node("Conv", {"x", "w"}, {"c"}, {{"strides", Numbers{c.stride, c.stride}}, {"dilations", Numbers{c.dilation, c.dilation}}, {"pads", Numbers(4, pad)}})
        .node("Relu", {"c"}, {"r"});
    m.constant("after", {16, c.filters, 1, 1}, numbers(16 * c.filters)).node("Conv", {"r", "after"}, {"y"});
    File file("tiles.onnx");
    m.save(file.path);
    const Model model = Model::load(file.path);
    const std::vector<Tensor> x{from_span(numbers(2 * c.channels * c.size * c.size), {2, c.channels, c.size, c.size})};
    INFO(c.channels, " to ", c.filters, ", taps ", c.taps, " stride ", c.stride, " dilation ", c.dilation, " size ", c.size);
    CHECK((explain(model(x)[0]).find("tiles of 2x2 places") != std::string::npos) == c.tiles);
    check_near(model(x), testing::as_recorded([&] { return Model::load(file.path, {.rewrite = false})(x); }));
  }
}

namespace {

/// Returns the steps of a plan without source lines, names of values and origins of binaries.
std::vector<std::string> steps_of(const Function& function) {
  static const std::regex value("[a-z]+[0-9]+ \\([0-9, ]*\\)( of step [0-9]+)?");
  std::vector<std::string> steps;
  std::istringstream text(function.explain());
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("passes ")) continue;
    if (line.starts_with("   moves ")) {
      for (std::sregex_iterator at(line.begin(), line.end(), value), end; at != end; ++at) steps.push_back(at->str());
      continue;
    }
    steps.push_back(line.substr(0, std::min({line.find(", from "), line.find("; from "), line.find("; compiled in ")})));
  }
  return steps;
}

/// A network that is written in C++ and also read from a file.
struct Twice {
  std::string name;
  Function::Formula formula;
  OnnxBuilder file;
  Tensor x;
  const char* call;  // that both plans contain
};

}  // namespace

TEST_CASE("a convolution alone runs in blocks if it has many products for each element of its operand and its result") {
  if (!testing::convolves_in_blocks()) return;
  struct Conv {
    Shape weight;
    std::int64_t stride;
    bool blocks;
  };
  for (const Conv& c : {Conv{{64, 64, 5, 5}, 1, true}, Conv{{64, 64, 5, 5}, 3, true}, Conv{{64, 64, 5, 1}, 3, false}, Conv{{24, 24, 5, 5}, 1, true},
                        Conv{{24, 24, 3, 3}, 1, false}, Conv{{512, 512, 1, 1}, 1, false}, Conv{{128, 128, 7, 1}, 1, true}}) {
    const Tensor x = testing::random_tensor({1, c.weight[1], 20, c.weight[3]}), w = testing::random_tensor(c.weight);
    eval(x, w);
    const auto y = [&] { return relu(conv2d(x, w, {}, {.stride = c.stride})); };
    INFO(to_string(c.weight), " stride ", c.stride);
    CHECK((explain(y()).find("conv_blocked") != std::string::npos) == c.blocks);
    check_near({y()}, testing::as_recorded([&] { return std::vector<Tensor>{y()}; }));
  }
}

TEST_CASE("a network in C++ has the same plan as the network from a file") {
  std::vector<Twice> all;
  const auto constant = [&](OnnxBuilder& m, const std::string& name, const Tensor& tensor) {
    m.constant(name, Numbers(tensor.shape().begin(), tensor.shape().end()), tensor.to_vector<float>());
  };
  const auto draw = [&](const Shape& shape, float low = -0.2f, float high = 0.2f) { return testing::random_tensor(shape, low, high); };
  const ConvOptions same{.padding = 1};
  const Numbers pads{1, 1, 1, 1};

  {  // 20 channels do not fill their last block
    const Tensor w = draw({20, 3, 3, 3}), v = draw({40, 20, 3, 3}), mean = draw({20}), variance = draw({20}, 0.5f, 1.5f), weight = draw({20}),
                 bias = draw({20});
    OnnxBuilder m;
    m.input("x", {2, 3, 14, 14}).output("y");
    constant(m, "w", w), constant(m, "v", v), constant(m, "mean", mean), constant(m, "variance", variance), constant(m, "weight", weight),
        constant(m, "bias", bias);
    m.node("Conv", {"x", "w"}, {"c"}, {{"pads", pads}}).node("BatchNormalization", {"c", "weight", "bias", "mean", "variance"}, {"n"});
    m.node("Relu", {"n"}, {"r"}).node("Conv", {"r", "v"}, {"y"}, {{"pads", pads}});
    all.push_back({"conv, batch norm, relu, conv",
                   [=](const std::vector<Tensor>& in) {
                     const Tensor r = relu(batch_norm(conv2d(in[0], w, {}, same), mean, variance, weight, bias, 1e-5));
                     return std::vector<Tensor>{conv2d(r, v, {}, same)};
                   },
                   m, draw({2, 3, 14, 14}), "conv_blocked"});
  }
  {
    const Tensor w = draw({32, 32, 3, 3}), v = draw({32, 32, 3, 3}), b = draw({32}), before = draw({32, 4, 1, 1});
    OnnxBuilder m;
    m.input("x", {1, 4, 12, 12}).output("y");
    constant(m, "w", w), constant(m, "v", v), constant(m, "b", b), constant(m, "before", before);
    m.node("Conv", {"x", "before"}, {"h"}).node("Conv", {"h", "w", "b"}, {"c"}, {{"pads", pads}}).node("Relu", {"c"}, {"r"});
    m.node("Conv", {"r", "v", "b"}, {"d"}, {{"pads", pads}}).node("Add", {"d", "h"}, {"s"}).node("Relu", {"s"}, {"t"}).node("GlobalAveragePool", {"t"}, {"y"});
    all.push_back({"a residual block",
                   [=](const std::vector<Tensor>& in) {
                     const Tensor h = conv2d(in[0], before), r = relu(conv2d(h, w, b, same));
                     return std::vector<Tensor>{mean(relu(conv2d(r, v, b, same) + h), {2, 3}, true)};
                   },
                   m, draw({1, 4, 12, 12}), "conv_blocked"});
  }
  {
    const Tensor in = draw({48, 24, 1, 1}), each = draw({48, 1, 3, 3}), out = draw({24, 48, 1, 1}), b = draw({48});
    OnnxBuilder m;
    m.input("x", {1, 24, 10, 10}).output("y");
    constant(m, "in", in), constant(m, "each", each), constant(m, "out", out), constant(m, "b", b);
    m.node("Conv", {"x", "in", "b"}, {"c"}).node("Relu", {"c"}, {"r"}).node("Conv", {"r", "each", "b"}, {"d"}, {{"pads", pads}, {"group", 48}});
    m.node("Relu", {"d"}, {"s"}).node("Conv", {"s", "out"}, {"t"}).node("Add", {"t", "x"}, {"y"});
    all.push_back({"a depthwise block",
                   [=](const std::vector<Tensor>& given) {
                     const Tensor r = relu(conv2d(given[0], in, b)), s = relu(conv2d(r, each, b, {.padding = 1, .groups = 48}));
                     return std::vector<Tensor>{conv2d(s, out) + given[0]};
                   },
                   m, draw({1, 24, 10, 10}), "conv_blocked"});
  }
  {
    const Tensor w = draw({32, 16, 3, 3}, -90, 90).astype(DType::int8), x = draw({1, 16, 9, 9}, 0, 250).astype(DType::uint8);
    const Tensor scale = draw({32, 1, 1}, 0.001f, 0.01f), zero = full({}, 117, DType::uint8);
    eval({w, x, zero});
    OnnxBuilder m;
    m.input("x", {1, 16, 9, 9}, 2).output("y").whole("w", {32, 16, 3, 3}, w.astype(DType::int32).to_vector<int>(), 3).whole("z", {}, {117}, 2);
    constant(m, "scale", scale);
    m.node("ConvInteger", {"x", "w", "z"}, {"c"}, {{"pads", pads}}).node("Cast", {"c"}, {"f"}, {{"to", 1}}).node("Mul", {"f", "scale"}, {"s"});
    m.node("Relu", {"s"}, {"y"});
    all.push_back({"a convolution of bytes",
                   [=](const std::vector<Tensor>& in) {
                     const Tensor sums = conv2d(in[0].astype(DType::int32) - zero.astype(DType::int32), w.astype(DType::int32), {}, same);
                     return std::vector<Tensor>{relu(sums.astype(DType::float32) * scale)};
                   },
                   m, x, "conv_bytes_scaled"});
  }

  for (Twice& network : all) {
    CAPTURE(network.name);
    File file("twice.onnx");
    std::vector<AxisSize> sizes;
    for (const std::int64_t size : network.x.shape()) sizes.emplace_back(size);
    const Function written = freeze(network.formula, {{network.x.dtype(), sizes, "x"}}, {"y"}), read = freeze(Model::load(network.file.save(file.path)));
    const std::vector<std::string> steps = steps_of(written), others = steps_of(read);
    REQUIRE(steps.size() == others.size());
    for (std::size_t k = 0; k < steps.size(); ++k) CHECK(steps[k] == others[k]);
    check_near(written({network.x}), read({network.x}));
    if (!testing::convolves_in_blocks()) continue;
    CHECK(written.explain().find(network.call) != std::string::npos);
    CHECK(written.explain().find(" conv (") == std::string::npos);
    // An evaluation without a frozen function has the same convolutions. Without passes the results are the same.
    const std::vector<Tensor> evaluated = network.formula({network.x});
    CHECK(explain(evaluated[0]).find(network.call) != std::string::npos);
    check_near(evaluated, testing::as_recorded([&] { return network.formula({network.x}); }));
  }
}
