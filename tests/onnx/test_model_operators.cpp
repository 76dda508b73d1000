// Operators of models beside plain loops over the same numbers, where ONNX's node tests (onnx_conformance) do not reach: lists of tensors, functions that a
// model defines, and differences of ONNX from NumPy.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <limits>

#include "draws.hpp"
#include "onnx_builder.hpp"
#include "program.hpp"
#include "sinter/freeze_model.hpp"
#include "sinter/model.hpp"

using namespace sinter;
using testing::floats;
using testing::OnnxBuilder;
namespace fs = std::filesystem;

namespace {

using Numbers = std::vector<std::int64_t>;

Model loaded(const OnnxBuilder& builder) {
  const fs::path path = fs::temp_directory_path() / ("sinter_operators_" + std::to_string(::getpid()) + ".onnx");
  builder.save(path);
  Model model = Model::load(path.string());
  fs::remove(path);
  return model;
}

void check_close(const Tensor& result, const Shape& shape, const std::vector<double>& expected, double tolerance = 1e-5) {
  REQUIRE(result.shape() == shape);
  const auto got = result.astype(DType::float64).to_vector<double>();
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO("element ", i);
    CHECK(std::fabs(got[i] - expected[i]) <= tolerance * (1 + std::fabs(expected[i])));
  }
}

}  // namespace

TEST_CASE("float8: casts with and without saturation, quantization by a scale, and initialisers") {
  const auto constant = [](OnnxBuilder& m, const char* name, int type, int code) {  // the field int32_data contains the value
    onnx::format::Tensor* tensor = m.model.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(type);
    tensor->add_int32_data(code);
  };
  const std::vector<float> x = {0, 1.0625f, -1.1f, 448, 464, 465, -1e6f, 0x1p-10f, INFINITY, -INFINITY, 61441};
  const auto size = static_cast<std::int64_t>(x.size());
  for (const auto& [type, dtype, largest] : {std::tuple(17, DType::float8_e4m3fn, 448.), {19, DType::float8_e5m2, 57344.}}) {
    OnnxBuilder m(21);
    m.input("x", {-1}).output("s", {}, type).output("n", {}, type).output("q", {}, type).output("d").constant("scale", {}, {0.5f});
    constant(m, "zero", type, 0);
    constant(m, "half", type, type == 17 ? 0x30 : 0x38);
    m.node("Cast", {"x"}, {"s"}, {{"to", type}}).node("Cast", {"x"}, {"n"}, {{"to", type}, {"saturate", 0}});
    m.node("QuantizeLinear", {"x", "scale", "zero"}, {"q"}).node("DequantizeLinear", {"q", "scale", "zero"}, {"w"});
    m.node("Cast", {"half"}, {"h"}, {{"to", 1}}).node("Mul", {"w", "h"}, {"d"});
    const auto results = loaded(m)({from_span(x)});
    const Tensor wide = from_span(x).astype(DType::float64), held = clip(wide, -largest, largest).astype(dtype),
                 scaled = clip(wide * 2, -largest, largest).astype(dtype);
    CHECK(results[0].dtype() == dtype);
    check_close(results[0], {size}, held.to_vector<double>(), 0);
    CHECK(all(equal(results[1], wide.astype(dtype)) | (isnan(results[1]) & isnan(wide.astype(dtype)))).item<bool>());
    CHECK(all(isfinite(results[0])).item<bool>());
    CHECK(isfinite(results[1]).to_vector<bool>() == isfinite(wide.astype(dtype)).to_vector<bool>());
    check_close(results[2], {size}, scaled.to_vector<double>(), 0);
    check_close(results[3], {size}, (scaled.astype(DType::float32) * 0.25f).astype(DType::float64).to_vector<double>(), 0);
  }
}

TEST_CASE("sequences of tensors are split, indexed, changed and concatenated") {
  OnnxBuilder m;
  m.input("x", {-1, 4}).output("y").output("n", {}, 7).output("columns");
  m.integers("one", {1}).integers("last", {-1}).integers("parts", {2, 1, 3}).integers("axes", {0});
  m.node("Squeeze", {"one", "axes"}, {"at1"}).node("Squeeze", {"last", "axes"}, {"end"});
  m.node("SplitToSequence", {"x", "parts"}, {"s"}, {{"axis", 0}}).node("SequenceAt", {"s", "at1"}, {"row"});
  m.node("SequenceInsert", {"s", "row", "end"}, {"longer"}).node("SequenceErase", {"longer", "at1"}, {"shorter"});
  m.node("SequenceLength", {"shorter"}, {"n"}).node("ConcatFromSequence", {"shorter"}, {"y"}, {{"axis", 0}});
  m.node("SplitToSequence", {"x"}, {"c"}, {{"axis", 1}, {"keepdims", 0}}).node("SequenceAt", {"c", "end"}, {"c3"}).node("SequenceAt", {"c", "at1"}, {"c1"});
  m.node("SequenceConstruct", {"c3", "c1"}, {"pair"}).node("ConcatFromSequence", {"pair"}, {"columns"}, {{"axis", 1}, {"new_axis", 1}});
  const Model model = loaded(m);
  CHECK(model.missing().empty());
  const std::vector<float> x = floats(24);
  const auto results = model({from_span(x, {6, 4})});
  std::vector<double> rows, columns;  // rows 0 and 1, the third part again, then rows 3 to 5
  for (const std::size_t row : {0, 1, 2, 3, 4, 5})
    for (std::size_t k = 0; k < 4 && row != 2; ++k) rows.push_back(static_cast<double>(x[4 * row + k]));
  rows.insert(rows.begin() + 8, x.begin() + 8, x.begin() + 12);
  for (std::size_t row = 0; row < 6; ++row) columns.insert(columns.end(), {static_cast<double>(x[4 * row + 3]), static_cast<double>(x[4 * row + 1])});
  check_close(results[0], {6, 4}, rows, 0);
  CHECK(results[1].item<std::int64_t>() == 3);
  check_close(results[2], {6, 2}, columns, 0);
  CHECK_THROWS_AS(model({from_span(x, {4, 6})}), ShapeError);
  CHECK_THROWS_AS(model({from_span(floats(28), {7, 4})}), ModelError);  // the parts have six rows together
}

TEST_CASE("a Loop that appends to a sequence, evaluated and frozen") {
  OnnxBuilder body, m;
  body.input("i", {}, 7).input("go", {}, 9).output("on", {}, 9);
  for (auto* value : {body.model.mutable_graph()->add_input(), body.model.mutable_graph()->add_output()}) value->mutable_type()->mutable_sequence_type();
  body.model.mutable_graph()->mutable_input(2)->set_name("list");
  body.model.mutable_graph()->mutable_output(1)->set_name("more");
  body.node("Identity", {"go"}, {"on"})
      .node("Gather", {"x", "i"}, {"row"}, {{"axis", 0}})
      .node("Exp", {"row"}, {"e"})
      .node("SequenceInsert", {"list", "e"}, {"more"});
  m.input("x", {5, 3}).output("y").integers("three", {3});
  m.node("SequenceEmpty", {}, {"none"})
      .node("Loop", {"three", "", "none"}, {"all"}, {{"body", body.model.graph()}})
      .node("ConcatFromSequence", {"all"}, {"y"}, {{"axis", 0}, {"new_axis", 1}});
  const Model model = loaded(m);
  const std::vector<float> x = floats(15);
  std::vector<double> expected;
  for (std::size_t i = 0; i < 9; ++i) expected.push_back(std::exp(static_cast<double>(x[i])));
  check_close(model({from_span(x, {5, 3})})[0], {3, 3}, expected);
  check_close(freeze(model)({from_span(x, {5, 3})})[0], {3, 3}, expected);
}

TEST_CASE("a sequence in place of a tensor, or a tensor in place of a sequence, is an error that names the node") {
  const auto refused = [](OnnxBuilder& m, const char* what) {
    const Model model = loaded(m);
    try {
      model({from_span(floats(6), {2, 3})});
      FAIL("nothing was thrown");
    } catch (const ModelError& error) {
      INFO(error.what());
      CHECK(std::string(error.what()).find(what) != std::string::npos);
    }
  };
  OnnxBuilder tensor, list, output, place;
  tensor.input("x", {2, 3}).output("y").node("SequenceConstruct", {"x"}, {"s"}).node("Relu", {"s"}, {"y"});
  refused(tensor, "'Relu2' (Relu, number 1): a sequence is given where a tensor is needed");
  list.input("x", {2, 3}).output("y").node("ConcatFromSequence", {"x"}, {"y"}, {{"axis", 0}});
  refused(list, "input 0 has to be a sequence");
  output.input("x", {2, 3}).output("y").node("SequenceConstruct", {"x"}, {"y"});
  refused(output, "the output 'y' is a sequence");
  place.input("x", {2, 3}).output("y").integers("four", {4}).node("SequenceConstruct", {"x", "x"}, {"s"}).node("SequenceAt", {"s", "four"}, {"y"});
  refused(place, "index 4 is out of bounds for a sequence of 2");
}

namespace {

/// Adds a function to a model: the nodes of `body`, with these inputs, outputs and attributes.
onnx::format::Function* add_function(OnnxBuilder& m, const char* name, const OnnxBuilder& body, const std::vector<std::string>& inputs,
                                     const std::vector<std::string>& outputs) {
  onnx::format::Function* function = m.model.add_functions();
  function->set_name(name);
  function->set_domain("mine");
  for (const std::string& input : inputs) function->add_input(input);
  for (const std::string& output : outputs) function->add_output(output);
  *function->mutable_node() = body.model.graph().node();
  function->add_opset_import()->set_version(17);
  return function;
}

}  // namespace

TEST_CASE("functions that a model defines may be called twice, be nested, have attributes and contain an If") {
  OnnxBuilder leaky, twice, then, otherwise, m;
  leaky.node("Mul", {"a", "b"}, {"t"}).node("LeakyRelu", {"t"}, {"o"}, {{"alpha", 0.f}});
  leaky.model.mutable_graph()->mutable_node(1)->mutable_attribute(0)->set_ref_attr_name("slope");
  then.output("r").node("Add", {"u", "a"}, {"r"});
  otherwise.output("r").node("Sub", {"u", "a"}, {"r"});
  twice.node("Leaky", {"a", "a"}, {"u"}, {{"slope", 0.25f}}, "mine")
      .node("If", {"flag"}, {"o"}, {{"then_branch", then.model.graph()}, {"else_branch", otherwise.model.graph()}});
  m.input("x", {2, 3}).input("flag", {}, 9).output("y").output("z").output("same");
  m.node("Twice", {"x", "flag"}, {"p", "u1", "x1"}, {}, "mine")
      .node("Twice", {"p", "flag"}, {"y"}, {}, "mine")
      .node("Leaky", {"u1", "p"}, {"z"}, {}, "mine")
      .node("Neg", {"x1"}, {"same"});
  onnx::format::Function* first = add_function(m, "Leaky", leaky, {"a", "b"}, {"o"});
  *first->add_attribute_proto() = OnnxBuilder::Attribute("slope", 0.5f).message;  // the default; a call may give another value
  add_function(m, "Twice", twice, {"a", "flag"}, {"o", "u", "a"});
  const Model model = loaded(m);
  CHECK(model.missing().empty());
  const std::vector<float> x = floats(6);
  for (const bool flag : {false, true}) {
    const auto results = model({from_span(x, {2, 3}), Tensor(full({}, flag, DType::bool_))});
    std::vector<double> y, z, same;
    const auto leak = [](double t, double slope) { return t < 0 ? t * slope : t; };
    const auto doubled = [&](double a) { return leak(a * a, 0.25) + (flag ? a : -a); };
    for (const float number : x) {
      const double a = static_cast<double>(number);
      y.push_back(doubled(doubled(a)));
      z.push_back(leak(a * a * doubled(a), 0.5));
      same.push_back(-a);
    }
    check_close(results[0], {2, 3}, y);
    check_close(results[1], {2, 3}, z);
    check_close(results[2], {2, 3}, same);
  }
}

TEST_CASE("functions that cannot be inlined are refused by name") {
  const auto refused = [](const OnnxBuilder& m, const char* what) {
    try {
      loaded(m);
      FAIL("nothing was thrown");
    } catch (const ModelError& error) {
      INFO(error.what());
      CHECK(std::string(error.what()).find(what) != std::string::npos);
    }
  };
  const auto calls = [](const char* function, const std::vector<std::string>& inputs) {
    OnnxBuilder m;
    m.input("x", {2}).output("y").node(function, inputs, {"y"}, {}, "mine");
    return m;
  };
  OnnxBuilder itself = calls("Rec", {"x"}), body;
  body.node("Rec", {"a"}, {"o"}, {}, "mine");
  add_function(itself, "Rec", body, {"a"}, {"o"});
  refused(itself, "the function mine.Rec calls itself");
  OnnxBuilder many = calls("F0", {"x"});  // each function calls the next one twice, which would give 2^40 nodes
  for (int k = 0; k < 40; ++k) {
    OnnxBuilder pair;
    const std::string next = "F" + std::to_string(k + 1);
    pair.node(next, {"a"}, {"t"}, {}, "mine").node(next, {"t"}, {"o"}, {}, "mine");
    add_function(many, ("F" + std::to_string(k)).c_str(), pair, {"a"}, {"o"});
  }
  refused(many, "expand to more than");
  OnnxBuilder inputs = calls("G", {"x", "x"}), relu;
  relu.node("Relu", {"a"}, {"o"});
  add_function(inputs, "G", relu, {"a"}, {"o"});
  refused(inputs, "calls mine.G with 2 inputs and 1 output; it has 1 and 1");
  OnnxBuilder older = calls("G", {"x"});
  add_function(older, "G", relu, {"a"}, {"o"})->mutable_opset_import(0)->set_version(11);
  refused(older, "has opset 11 and the model has 17");
}

TEST_CASE("Slice with a negative step from before the first element gives the first, where NumPy gives nothing") {
  OnnxBuilder m;
  m.input("x", {5})
      .output("y")
      .output("z")
      .integers("before", {-9})
      .integers("far", {std::numeric_limits<std::int64_t>::min()})
      .integers("beyond", {9})
      .integers("axis", {0})
      .integers("back", {-2});
  m.node("Slice", {"x", "before", "far", "axis", "back"}, {"y"}).node("Slice", {"x", "beyond", "far", "axis", "back"}, {"z"});
  const std::vector<float> x = floats(5);
  const auto results = loaded(m)({from_span(x, {5})});
  CHECK(results[0].to_vector<float>() == std::vector<float>{x[0]});
  CHECK(results[1].to_vector<float>() == std::vector<float>{x[4], x[2], x[0]});
}

TEST_CASE("NonMaxSuppression keeps all boxes where the most is the largest number there is, as PyTorch writes it") {
  OnnxBuilder m;
  m.input("boxes", {1, 4, 4})
      .input("scores", {1, 1, 4})
      .output("y", {}, 7)
      .integers("most", {std::numeric_limits<std::int64_t>::max()})
      .constant("overlap", {1}, {0.5f});
  m.node("NonMaxSuppression", {"boxes", "scores", "most", "overlap"}, {"y"});
  const Tensor boxes = from_span(std::vector<float>{0, 0, 2, 2, 0, 0, 2, 1.9f, 5, 5, 6, 6, 9, 9, 8, 8}, {1, 4, 4});
  const Tensor result = loaded(m)({boxes, from_span(std::vector<float>{0.3f, 0.9f, 0.5f, 0.1f}, {1, 1, 4})})[0];
  CHECK(result.to_vector<std::int64_t>() == Numbers{0, 0, 1, 0, 0, 2, 0, 0, 3});
}

TEST_CASE("Pad with a negative width may remove elements that its other end added") {
  OnnxBuilder m;
  m.input("x", {1}).output("y").integers("widths", {3, -2}).node("Pad", {"x", "widths"}, {"y"});
  CHECK(loaded(m)({Tensor{5.f}})[0].to_vector<float>() == std::vector<float>{0, 0});
}

TEST_CASE("pools whose last window ends outside x, including a window longer than the axis") {
  for (const auto& [size, taps, stride, before, after] :
       {std::array<std::int64_t, 5>{2, 3, 2, 0, 0}, {5, 3, 2, 1, 1}, {6, 3, 2, 0, 0}, {3, 5, 4, 0, 0}, {7, 4, 3, 2, 1}, {1, 2, 2, 0, 0}}) {
    for (const bool include : {false, true}) {
      OnnxBuilder m;
      const Numbers pads{before, after};
      m.input("x", {1, 1, size}).output("most").output("mean");
      m.node("MaxPool", {"x"}, {"most"}, {{"kernel_shape", Numbers{taps}}, {"strides", Numbers{stride}}, {"pads", pads}, {"ceil_mode", 1}});
      m.node("AveragePool", {"x"}, {"mean"},
             {{"kernel_shape", Numbers{taps}}, {"strides", Numbers{stride}}, {"pads", pads}, {"ceil_mode", 1}, {"count_include_pad", include ? 1 : 0}});
      const std::vector<float> x = floats(static_cast<std::size_t>(size));
      std::vector<double> maxima, mean;
      const std::int64_t space = size + before + after - taps;
      for (std::int64_t i = 0, count = (space + stride - 1) / stride + 1; i < count; ++i) {
        const std::int64_t start = i * stride - before;
        if (start >= size) continue;  // the last window would begin after the end
        double largest = -1e30, sum = 0, counted = 0;
        for (std::int64_t k = start; k < start + taps; ++k) {
          const bool inside = k >= 0 && k < size;
          if (inside)
            largest = std::max(largest, static_cast<double>(x[static_cast<std::size_t>(k)])), sum += static_cast<double>(x[static_cast<std::size_t>(k)]);
          counted += inside || (include && k >= -before && k < size + after);
        }
        maxima.push_back(largest);
        mean.push_back(sum / counted);
      }
      INFO("size ", size, " taps ", taps, " stride ", stride, " padding ", before, " ", after);
      const auto results = loaded(m)({from_span(x, {1, 1, size})});
      const Shape shape{1, 1, static_cast<std::int64_t>(maxima.size())};
      check_close(results[0], shape, maxima, 0);
      check_close(results[1], shape, mean);
    }
  }
}

TEST_CASE("weights of 4 bits: dequantized in blocks, and ONNX Runtime's product with them") {
  const std::size_t rows = 32, columns = 3, block = 16;
  const std::vector<float> x = floats(2 * rows), scales = floats(rows / block * columns);
  std::vector<int> weights(rows * columns);  // row by row
  for (int& w : weights) w = static_cast<int>(testing::pick(-8, 7));
  std::vector<double> expected;
  for (std::size_t r = 0; r < 2; ++r)
    for (std::size_t c = 0; c < columns; ++c) {
      double sum = 0;
      for (std::size_t k = 0; k < rows; ++k)
        sum += static_cast<double>(x[r * rows + k]) * weights[k * columns + c] * static_cast<double>(scales[k / block * columns + c]);
      expected.push_back(sum);
    }
  const auto nibble = [&](std::size_t i) { return weights[i] & 15; };
  OnnxBuilder m(21);
  m.input("x", {2, 32}).output("y").constant("s", {2, 3}, scales);
  onnx::format::Tensor* packed = m.model.mutable_graph()->add_initializer();
  packed->set_name("w");
  packed->set_data_type(22);  // int4
  for (const std::size_t size : {rows, columns}) packed->add_dims(static_cast<std::int64_t>(size));
  std::string bytes;
  for (std::size_t i = 0; i < weights.size(); i += 2) bytes += static_cast<char>(nibble(i) | nibble(i + 1) << 4);
  packed->set_raw_data(bytes);
  m.node("DequantizeLinear", {"w", "s"}, {"d"}, {{"axis", 0}, {"block_size", 16}}).node("MatMul", {"x", "d"}, {"y"});
  check_close(loaded(m)({from_span(x, {2, 32})})[0], {2, 3}, expected);

  OnnxBuilder n;  // column by column, in blocks, with 8 added to each value
  std::vector<float> by_column;
  for (std::size_t c = 0; c < columns; ++c)
    for (std::size_t b = 0; b < rows / block; ++b) by_column.push_back(scales[b * columns + c]);
  n.input("x", {2, 32}).input("w", {3, 2, 8}, 2).output("y").constant("s", {6}, by_column);
  n.node("MatMulNBits", {"x", "w", "s"}, {"y"}, {{"K", 32}, {"N", 3}, {"bits", 4}, {"block_size", 16}}, "com.microsoft");
  std::vector<std::uint8_t> blocks;
  for (std::size_t c = 0; c < columns; ++c)
    for (std::size_t k = 0; k < rows; k += 2)
      blocks.push_back(static_cast<std::uint8_t>((weights[k * columns + c] + 8) | (weights[(k + 1) * columns + c] + 8) << 4));
  check_close(loaded(n)({from_span(x, {2, 32}), from_span(blocks, {3, 2, 8})})[0], {2, 3}, expected);
}

/// Returns x rounded to 8 bits between its extremes, as floats.
Tensor rounded_to_bytes(const Tensor& x) {
  const Tensor low = minimum(min(x), 0), scale = (maximum(max(x), 0) - low) / 255, zero = rint(negative(low) / scale);
  return (clip(rint(x / scale) + zero, 0, 255) - zero) * scale;
}

TEST_CASE("ONNX Runtime's product of a matrix that is rounded to 8 bits, with a bias, recorded and frozen") {
  OnnxBuilder m;
  m.input("x", {3, 2}).output("y").whole("w", {2, 2}, {3, 1, 4, 2}, 3).constant("s", {1}, {0.5f}).constant("b", {2}, {1, 2});
  m.node("DynamicQuantizeMatMul", {"x", "w", "s", "", "b"}, {"y"}, {}, "com.microsoft");
  const Tensor x = from_span(floats(6), {3, 2});
  const Tensor want = matmul(rounded_to_bytes(x), from_span(std::vector<float>{1.5f, 0.5f, 2, 1}, {2, 2})) + from_span(std::vector<float>{1, 2});
  check_close(loaded(m)({x})[0], {3, 2}, want.to_vector<double>());
  check_close(freeze(loaded(m))({x})[0], {3, 2}, want.to_vector<double>());
}

TEST_CASE("ONNX Runtime's LSTM with weights of 8 bits agrees with the LSTM of rounded inputs and dequantized weights") {
  constexpr std::int64_t kSize = 6, kInputs = 5;
  for (const int type : {2, 3}) {
    OnnxBuilder m, plain;
    for (OnnxBuilder* one : {&m, &plain}) one->input("x", {7, 3, kInputs}).output("y").output("h").output("c");
    const std::vector<float> bias = floats(2 * 8 * kSize), scales = {0.01f, 0.02f};
    const std::vector<int> zeros = {3, 7};
    for (const auto& [name, rows] : {std::pair{"w", kInputs}, std::pair{"r", kSize}}) {
      std::vector<int> numbers;
      for (std::int64_t k = 0; k < 2 * rows * 4 * kSize; ++k) numbers.push_back(std::uniform_int_distribution<int>(0, 100)(testing::numbers()));
      std::vector<float> turned;
      for (std::int64_t d = 0; d < 2; ++d)
        for (std::int64_t column = 0; column < 4 * kSize; ++column)
          for (std::int64_t row = 0; row < rows; ++row) {
            const auto side = static_cast<std::size_t>(d);
            turned.push_back(static_cast<float>(numbers[static_cast<std::size_t>((d * rows + row) * 4 * kSize + column)] - zeros[side]) * scales[side]);
          }
      m.whole(name, {2, rows, 4 * kSize}, numbers, type).constant(std::string(name) + "s", {2}, scales).whole(std::string(name) + "z", {2}, zeros, type);
      plain.constant(name, {2, 4 * kSize, rows}, turned);
    }
    for (OnnxBuilder* one : {&m, &plain}) one->constant("b", {2, 8 * kSize}, bias);
    const std::vector<OnnxBuilder::Attribute> how{{"hidden_size", kSize}, {"direction", "bidirectional"}};
    m.node("DynamicQuantizeLSTM", {"x", "w", "r", "b", "", "", "", "", "ws", "wz", "rs", "rz"}, {"y", "h", "c"}, how, "com.microsoft");
    plain.node("LSTM", {"x", "w", "r", "b"}, {"y", "h", "c"}, how);
    const Tensor x = from_span(floats(7 * 3 * kInputs), {7, 3, kInputs});
    const auto got = loaded(m)({x}), want = loaded(plain)({rounded_to_bytes(x)});
    for (std::size_t k = 0; k < 3; ++k) check_close(got[k], want[k].shape(), want[k].to_vector<double>());
  }
}

TEST_CASE("recurrent layers of no steps or of an empty batch: the state is the first one") {
  constexpr std::int64_t kSize = 4, kInputs = 3;
  for (const auto& [op, gates] : {std::pair{"RNN", 1}, std::pair{"GRU", 3}, std::pair{"LSTM", 4}})
    for (const auto& [steps, batch] : {std::pair<std::int64_t, std::int64_t>{0, 2}, {2, 0}})
      for (const bool usual : {true, false}) {  // a library call, or the steps' operations
        OnnxBuilder m;
        m.input("x", {steps, batch, kInputs}).input("h", {1, batch, kSize}).output("y").output("last");
        m.constant("w", {1, gates * kSize, kInputs}, floats(static_cast<std::size_t>(gates * kSize * kInputs)));
        m.constant("r", {1, gates * kSize, kSize}, floats(static_cast<std::size_t>(gates * kSize * kSize)));
        const std::vector<OnnxBuilder::Attribute> plain{{"hidden_size", kSize}}, clipped{{"hidden_size", kSize}, {"clip", 3.0f}};
        m.node(op, {"x", "w", "r", "", "", "h"}, {"y", "last"}, usual ? plain : clipped);
        const std::vector<float> state = floats(static_cast<std::size_t>(batch * kSize));
        const auto got = loaded(m)({zeros({steps, batch, kInputs}, float32), from_span(state, {1, batch, kSize})});
        CHECK(got[0].shape() == Shape{steps, 1, batch, kSize});
        check_close(got[1], {1, batch, kSize}, std::vector<double>(state.begin(), state.end()));
      }
}

TEST_CASE("ONNX Runtime's attention operators: heads, lengths, and packed tensors") {
  constexpr std::size_t kBatch = 2, kSteps = 5, kHeads = 3, kSize = 4, kAll = kHeads * kSize;
  const std::vector<float> qkv = floats(kBatch * kSteps * kHeads * 3 * kSize);  // [batch, steps, heads, 3, size]
  const std::vector<int> lengths{3, 5};
  std::vector<double> expected;
  const auto at = [&](std::size_t b, std::size_t s, std::size_t h, std::size_t which, std::size_t k) {
    return static_cast<double>(qkv[(((b * kSteps + s) * kHeads + h) * 3 + which) * kSize + k]);
  };
  for (std::size_t b = 0; b < kBatch; ++b)
    for (std::size_t s = 0; s < kSteps; ++s)
      for (std::size_t h = 0; h < kHeads; ++h) {
        std::vector<double> weights;
        double total = 0;
        for (std::size_t t = 0; t < static_cast<std::size_t>(lengths[b]); ++t) {
          double score = 0;
          for (std::size_t k = 0; k < kSize; ++k) score += at(b, s, h, 0, k) * at(b, t, h, 1, k);
          weights.push_back(std::exp(score / 2));
          total += weights.back();
        }
        for (std::size_t k = 0; k < kSize; ++k) {
          double sum = 0;
          for (std::size_t t = 0; t < weights.size(); ++t) sum += weights[t] / total * at(b, t, h, 2, k);
          expected.push_back(sum);
        }
      }
  const Shape shape{kBatch, kSteps, kAll};
  OnnxBuilder packed;
  packed.input("x", {kBatch, kSteps, kHeads, 3, kSize}).output("y").whole("lengths", {kBatch}, lengths, 6);
  packed.node("MultiHeadAttention", {"x", "", "", "", "lengths"}, {"y"}, {{"num_heads", static_cast<std::int64_t>(kHeads)}}, "com.microsoft");
  const Tensor x = from_span(qkv, {kBatch, kSteps, kHeads, 3, kSize});
  check_close(loaded(packed)({x})[0], shape, expected);
  // The same values through Attention, whose weights only copy the queries, keys and values.
  OnnxBuilder projected;
  std::vector<float> turned(3 * kAll * 3 * kAll);
  for (std::size_t h = 0; h < kHeads; ++h)
    for (std::size_t which = 0; which < 3; ++which)
      for (std::size_t k = 0; k < kSize; ++k) turned[((h * 3 + which) * kSize + k) * 3 * kAll + which * kAll + h * kSize + k] = 1;
  projected.input("x", {kBatch, kSteps, 3 * kAll}).output("y").constant("w", {3 * kAll, 3 * kAll}, turned).whole("lengths", {kBatch}, lengths, 6);
  projected.constant("b", {3 * kAll}, std::vector<float>(3 * kAll));
  projected.node("Attention", {"x", "w", "b", "lengths"}, {"y"}, {{"num_heads", static_cast<std::int64_t>(kHeads)}}, "com.microsoft");
  check_close(loaded(projected)({x.reshape(kBatch, kSteps, 3 * kAll)})[0], shape, expected);
}

TEST_CASE("an output that is a Shape is a number of the plan: any size is served") {
  OnnxBuilder m;
  m.input("x", {-1, 3}).output("y").output("sizes", {}, 7).node("Relu", {"x"}, {"y"}).node("Shape", {"x"}, {"sizes"});
  const fs::path path = fs::temp_directory_path() / ("sinter_shape_" + std::to_string(::getpid()) + ".plan");
  freeze(loaded(m), {{"N", {5}}}).save(path.string());
  const Function f = Function::load(path.string());
  fs::remove(path);
  for (const std::int64_t rows : {2, 5, 6})
    CHECK(f({from_span(floats(static_cast<std::size_t>(rows * 3)), {rows, 3})})[1].to_vector<std::int64_t>() == Numbers{rows, 3});
}
