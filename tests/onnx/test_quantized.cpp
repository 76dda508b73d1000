// Models of 8-bit numbers in their three forms (operators between DequantizeLinear and QuantizeLinear, QLinearConv and similar operators, ConvInteger),
// compared with their formulas in float64. Checks in which cases bytes are multiplied, and in which they may not be.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "draws.hpp"
#include "onnx_builder.hpp"
#include "passes.hpp"
#include "program.hpp"
#include "sinter/freeze_model.hpp"
#include "sinter/model.hpp"
#include "temporary_folder.hpp"

using namespace sinter;
using testing::numbers;
using testing::OnnxBuilder;
using testing::pick;
using File = testing::TemporaryFile;

namespace {

constexpr int kUnsigned = 2, kSigned = 3, kInt32 = 6;
using List = std::vector<std::int64_t>;

float real(double low, double high) { return static_cast<float>(std::uniform_real_distribution<double>(low, high)(numbers())); }
std::vector<float> reals(std::int64_t count, double low, double high) {
  std::vector<float> list(static_cast<std::size_t>(count));
  for (float& x : list) x = real(low, high);
  return list;
}
std::vector<int> wholes(std::int64_t count, int type) {
  std::vector<int> list(static_cast<std::size_t>(count));
  for (int& x : list) x = static_cast<int>(type == kSigned ? pick(-128, 127) : pick(0, 255));
  return list;
}
Tensor bytes(const std::vector<int>& list, const Shape& shape, int type) {
  if (type == kSigned) return from_span(std::vector<std::int8_t>(list.begin(), list.end()), shape);
  return from_span(std::vector<std::uint8_t>(list.begin(), list.end()), shape);
}

int fired(const Model& model) {
  for (const Rewrite& rewrite : model.rewrites())
    if (rewrite.name == "keep_quantized") return rewrite.count;
  FAIL("there is no such rewrite");
  return 0;
}
Model load(const OnnxBuilder& m, bool rewrite = true) {
  File file("model.onnx");
  return Model::load(m.save(file.path), {.rewrite = rewrite});
}

/// Rounds to even and saturates to the type.
double rounded(double x, int zero, int type) { return std::clamp(std::nearbyint(x) + zero, type == kSigned ? -128.0 : 0.0, type == kSigned ? 127.0 : 255.0); }

/// Compares with numbers that were computed in float64. A float32 result has a few rounding errors of 6e-8 relative to at most some hundred units. So about one
/// in a thousand values is so close to a half that it may be rounded the other way.
void check_units(const Tensor& got, const std::vector<double>& want) {
  const auto values = got.astype(DType::float64).to_vector<double>();
  REQUIRE(values.size() == want.size());
  std::size_t other = 0;
  double worst = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    worst = std::max(worst, std::fabs(values[i] - want[i]));
    other += values[i] != want[i];
  }
  CHECK(worst <= 1);
  CHECK(other <= 3 + want.size() / 50);
}

struct Conv {
  std::int64_t batch = 1, channels, filters, groups, size[2], taps[2], stride, dilation, before, after;
  int x_type, w_type;
  bool line = false;        // written as a convolution along one axis: there is one row
  bool per_channel, zeros;  // scales of the weights
  int x_zero;
  float x_scale;
  std::vector<float> w_scale;
  std::vector<int> x, w, w_zero;

  std::int64_t each() const { return channels / groups; }
  std::int64_t places(int axis) const { return (size[axis] + (line && axis == 0 ? 0 : before + after) - (taps[axis] - 1) * dilation - 1) / stride + 1; }
  List shape(std::int64_t first, std::int64_t second, std::int64_t rows, std::int64_t columns) const {
    return line ? List{first, second, columns} : List{first, second, rows, columns};
  }
  List x_shape() const { return shape(batch, channels, size[0], size[1]); }
  std::vector<OnnxBuilder::Attribute> attributes() const {
    if (line) return {{"pads", List{before, after}}, {"strides", List{stride}}, {"dilations", List{dilation}}, {"group", groups}};
    return {{"pads", List{before, before, after, after}}, {"strides", List{stride, stride}}, {"dilations", List{dilation, dilation}}, {"group", groups}};
  }
  std::vector<double> sums() const {
    std::vector<double> y;
    for (std::int64_t n = 0; n < batch; ++n)
      for (std::int64_t f = 0; f < filters; ++f)
        for (std::int64_t i = 0; i < places(0); ++i)
          for (std::int64_t j = 0; j < places(1); ++j) {
            double sum = 0;
            for (std::int64_t k = 0; k < each(); ++k)
              for (std::int64_t a = 0; a < taps[0]; ++a)
                for (std::int64_t b = 0; b < taps[1]; ++b) {
                  const std::int64_t row = i * stride + a * dilation - (line ? 0 : before), column = j * stride + b * dilation - before,
                                     channel = f / (filters / groups) * each() + k;
                  if (row < 0 || row >= size[0] || column < 0 || column >= size[1]) continue;
                  sum += (x[static_cast<std::size_t>(((n * channels + channel) * size[0] + row) * size[1] + column)] - x_zero) *
                         (w[static_cast<std::size_t>(((f * each() + k) * taps[0] + a) * taps[1] + b)] - w_zero[static_cast<std::size_t>(per_channel ? f : 0)]);
                }
            y.push_back(sum);
          }
    return y;
  }
  std::size_t filter_of(std::size_t place) const { return place / static_cast<std::size_t>(places(0) * places(1)) % static_cast<std::size_t>(filters); }
  /// Scales such that the real values of sums are about -1 to 1.
  double unit(std::size_t place) const { return static_cast<double>(x_scale) * static_cast<double>(w_scale[per_channel ? filter_of(place) : 0]); }
};

enum class Kind { blocked, few, depthwise, groups };

/// With this number of channels and filters, blocks are full enough to be faster.
Conv random_conv(Kind kind) {
  constexpr std::int64_t kCounts[] = {12, 14, 16, 26, 32, 40};
  Conv c{};
  c.batch = pick(1, 2), c.channels = kind == Kind::few ? pick(1, 4) : kind == Kind::groups ? 2 * pick(1, 9) : kCounts[pick(0, 5)];
  c.groups = kind == Kind::depthwise ? c.channels : kind == Kind::groups ? 2 : 1;
  c.filters = kind == Kind::depthwise ? c.channels : kCounts[pick(0, 5)];
  for (int axis = 0; axis < 2; ++axis) c.taps[axis] = pick(1, 3), c.size[axis] = pick(7, 14);
  if ((c.line = pick(0, 2) == 0)) c.taps[0] = c.size[0] = 1;
  c.stride = pick(1, 2), c.dilation = pick(1, 2), c.before = pick(0, 2), c.after = pick(0, 2);
  c.x_type = pick(0, 1) ? kUnsigned : kSigned, c.w_type = pick(0, 2) ? kSigned : kUnsigned, c.per_channel = pick(0, 1), c.zeros = pick(0, 1);
  c.x = wholes(c.batch * c.channels * c.size[0] * c.size[1], c.x_type), c.w = wholes(c.filters * c.each() * c.taps[0] * c.taps[1], c.w_type);
  c.x_zero = wholes(1, c.x_type)[0], c.x_scale = real(0.005, 0.02);
  const std::int64_t count = c.per_channel ? c.filters : 1;
  const double largest = 1 / (static_cast<double>(c.x_scale) * 128 * 128 * std::sqrt(static_cast<double>(c.each() * c.taps[0] * c.taps[1])));
  c.w_scale = reals(count, 0.5 * largest, largest);
  c.w_zero = c.zeros ? wholes(count, c.w_type) : std::vector<int>(static_cast<std::size_t>(count), c.w_type == kSigned ? 0 : 128);
  return c;
}

/// Writes x and the weights with their DequantizeLinear nodes, whose results are "dx" and "dw".
void write_operands(OnnxBuilder& m, const Conv& c, bool x_is_bytes = true) {
  const std::int64_t count = static_cast<std::int64_t>(c.w_scale.size());
  const List one{}, many{count};
  if (x_is_bytes) m.input("x", c.x_shape(), c.x_type);
  m.constant("xs", {}, {c.x_scale}).whole("xz", {}, {c.x_zero}, c.x_type);
  m.whole("w", c.shape(c.filters, c.each(), c.taps[0], c.taps[1]), c.w, c.w_type)
      .constant("ws", c.per_channel ? many : one, c.w_scale)
      .whole("wz", c.per_channel ? many : one, c.w_zero, c.w_type);
}
void write_dequantized(OnnxBuilder& m) {
  m.node("DequantizeLinear", {"x", "xs", "xz"}, {"dx"}).node("DequantizeLinear", {"w", "ws", "wz"}, {"dw"}, {{"axis", 0}});
}

Tensor x_of(const Conv& c) { return bytes(c.x, c.x_shape(), c.x_type); }

bool in_blocks(const Tensor& y) { return explain(y).find("conv_bytes") != std::string::npos; }

}  // namespace

TEST_CASE("Conv between DequantizeLinear and QuantizeLinear: of every kind of bytes, with bias, activation, residual") {
  for ([[maybe_unused]] const std::int64_t round : testing::sampled(testing::integers(0, 15))) {
    const Conv c = random_conv(static_cast<Kind>(round % 4));
    const int y_type = pick(0, 1) ? kUnsigned : kSigned, y_zero = y_type == kSigned ? 3 : 120, bias = static_cast<int>(pick(0, 2));
    const bool relu = pick(0, 1), residual = pick(0, 1);
    const float y_scale = real(0.01, 0.02), r_scale = real(0.001, 0.01);
    const auto want_sums = c.sums();
    const Shape shape = c.shape(c.batch, c.filters, c.places(0), c.places(1));
    const auto rest = wholes(element_count(shape), kUnsigned);
    OnnxBuilder m;
    write_operands(m, c);
    write_dequantized(m);
    std::vector<float> added(static_cast<std::size_t>(c.filters));
    std::vector<std::string> reads{"dx", "dw"};
    if (bias == 1) {
      m.constant("b", {c.filters}, added = reals(c.filters, -0.5, 0.5));
      reads.push_back("b");
    } else if (bias == 2) {
      std::vector<float> scales;
      std::vector<int> list;
      for (std::int64_t f = 0; f < c.filters; ++f) {
        scales.push_back(c.x_scale * c.w_scale[c.per_channel ? static_cast<std::size_t>(f) : 0]);
        list.push_back(static_cast<int>(std::lround(real(-0.5, 0.5) / scales.back())));
        added[static_cast<std::size_t>(f)] = static_cast<float>(list.back()) * scales.back();
      }
      m.whole("b", {c.filters}, list, kInt32).constant("bs", {c.filters}, scales).node("DequantizeLinear", {"b", "bs"}, {"db"}, {{"axis", 0}});
      reads.push_back("db");
    }
    m.node("Conv", reads, {"y0"}, c.attributes());
    std::string last = "y0";
    if (residual) {
      m.input("r", shape, kUnsigned).constant("rs", {}, {r_scale}).whole("rz", {}, {100}, kUnsigned);
      m.node("DequantizeLinear", {"r", "rs", "rz"}, {"dr"}).node("Add", {last, "dr"}, {"y1"});
      last = "y1";
    }
    if (relu) m.node("Relu", {last}, {"y2"}), last = "y2";
    m.constant("ys", {}, {y_scale}).whole("yz", {}, {y_zero}, y_type).node("QuantizeLinear", {last, "ys", "yz"}, {"y"}).output("y", {}, y_type);
    std::vector<double> want;
    for (std::size_t i = 0; i < want_sums.size(); ++i) {
      double y = want_sums[i] * c.unit(i) + static_cast<double>(added[c.filter_of(i)]);
      if (residual) y += (rest[i] - 100) * static_cast<double>(r_scale);
      if (relu) y = std::max(y, 0.0);
      want.push_back(rounded(y / static_cast<double>(y_scale), y_zero, y_type));
    }
    std::vector<Tensor> inputs{x_of(c)};
    if (residual) inputs.push_back(bytes(rest, shape, kUnsigned));
    const Model model = load(m);
    CHECK(fired(model) == 1);
    const Tensor y = model(inputs)[0];
    CHECK(y.dtype() == (y_type == kSigned ? DType::int8 : DType::uint8));
    if (c.groups == 1) CHECK(in_blocks(y) == testing::convolves_in_blocks());
    check_units(y, want);
    check_units(load(m, false)(inputs)[0], want);  // in float32, like the model
  }
}

TEST_CASE("QLinearConv and ConvInteger in blocks: the bits of the generic convolution") {
  for ([[maybe_unused]] const std::int64_t round : testing::sampled(testing::integers(0, 15))) {
    Conv c = random_conv(static_cast<Kind>(round % 4));
    const bool quantized = pick(0, 1), dynamic = !quantized && pick(0, 1);
    const Shape shape = c.x_shape();
    OnnxBuilder m;
    if (dynamic) c.x_type = kUnsigned;
    write_operands(m, c, !dynamic);
    if (quantized) {
      std::vector<int> bias(static_cast<std::size_t>(c.filters));
      for (int& b : bias) b = static_cast<int>(pick(-5000, 5000));
      m.constant("ys", {}, {real(0.01, 0.02)}).whole("yz", {}, {7}, c.x_type).whole("b", {c.filters}, bias, kInt32).output("y", {}, c.x_type);
      m.node("QLinearConv", {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"}, {"y"}, c.attributes());
    } else if (dynamic) {
      m.input("f", c.x_shape()).node("DynamicQuantizeLinear", {"f"}, {"x", "fs", "fz"}).node("ConvInteger", {"x", "w", "fz", "wz"}, {"y0"}, c.attributes());
      m.node("Cast", {"y0"}, {"y1"}, {{"to", 1}}).node("Mul", {"y1", "fs"}, {"y"}).output("y");
    } else {
      m.node("ConvInteger", {"x", "w", "xz", "wz"}, {"y"}, c.attributes()).output("y", {}, kInt32);
    }
    const std::vector<Tensor> inputs{dynamic ? from_span(reals(element_count(shape), -1, 2), shape) : x_of(c)};
    const Tensor y = load(m)(inputs)[0];
    if (c.groups == 1) CHECK(in_blocks(y) == testing::convolves_in_blocks());
    CHECK(y.astype(DType::float64).to_vector<double>() == load(m, false)(inputs)[0].astype(DType::float64).to_vector<double>());
    if (!quantized && !dynamic) CHECK(y.astype(DType::float64).to_vector<double>() == c.sums());
  }
}

TEST_CASE("bytes stay in blocks from convolution to convolution, even in a plan file") {
  OnnxBuilder m;
  const auto quantize = [&](const std::string& from, const std::string& to) {
    m.node("QuantizeLinear", {from, "s", "z"}, {to + "q"}).node("DequantizeLinear", {to + "q", "s", "z"}, {to});
  };
  m.input("x", {-1, 3, 20, 20})
      .output("y")
      .constant("s", {}, {0.02f})
      .whole("z", {}, {128}, kUnsigned)
      .constant("ws", {}, {0.002f})
      .whole("wz", {}, {0}, kSigned);
  for (const auto& [name, shape] : std::vector<std::pair<std::string, List>>{{"w1", {32, 3, 3, 3}}, {"w2", {32, 1, 3, 3}}, {"w3", {32, 32, 1, 1}}})
    m.whole(name, shape, wholes(shape[0] * shape[1] * shape[2] * shape[3], kSigned), kSigned).node("DequantizeLinear", {name, "ws", "wz"}, {"d" + name});
  quantize("x", "x0");
  m.node("Conv", {"x0", "dw1"}, {"c1"}, {{"strides", {2, 2}}}).node("Relu", {"c1"}, {"r1"});
  quantize("r1", "x1");
  m.node("Conv", {"x1", "dw2"}, {"c2"}, {{"group", 32}, {"pads", {1, 1, 1, 1}}});
  quantize("c2", "x2");
  m.node("Conv", {"x2", "dw3"}, {"c3"});
  quantize("c3", "x3");
  m.node("Add", {"x3", "x1"}, {"a"});
  quantize("a", "x4");
  m.node("GlobalAveragePool", {"x4"}, {"g"});
  quantize("g", "x5");
  m.node("Flatten", {"x5"}, {"y"});
  const Model model = load(m);
  CHECK(fired(model) == 3);
  const Tensor x = from_span(reals(2 * 3 * 400, -2, 2), {2, 3, 20, 20});
  const Tensor y = model({x})[0];
  const std::string report = explain(y);
  const auto got = y.to_vector<float>(), want = testing::as_recorded([&] { return load(m, false)({x}); })[0].to_vector<float>();
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(std::fabs(got[i] - want[i]) <= 0.0201f);  // one unit
  if (!testing::convolves_in_blocks()) return;
  CHECK(report.find("conv_bytes") != std::string::npos);
  CHECK(report.find(" conv (") == std::string::npos);
  if (options().fuse) CHECK(report.find("ops     copy") == std::string::npos);
  File plan("chain.plan");
  freeze(model, {{"N", {2}}}).save(plan.path);
  CHECK(Function::load(plan.path)({x})[0].to_vector<float>() == got);
}

TEST_CASE("MatMul and Gemm of bytes: scales by column, zero points, both operands inputs, transposed weights and a row") {
  for ([[maybe_unused]] const std::int64_t round : testing::sampled(testing::integers(0, 15))) {
    const std::int64_t rows = pick(1, 12), depth = pick(1, 90), columns = pick(1, 40);
    const int a_type = pick(0, 1) ? kUnsigned : kSigned, b_type = pick(0, 2) ? kSigned : kUnsigned;
    const bool gemm = pick(0, 1), turned = gemm && pick(0, 1), input = !gemm && pick(0, 2) == 0, many = !input && pick(0, 1), row = gemm && pick(0, 1);
    const auto a = wholes(rows * depth, a_type), b = wholes(depth * columns, b_type), zeros = wholes(many ? columns : 1, b_type);
    const int a_zero = wholes(1, a_type)[0];
    const float a_scale = real(0.005, 0.02);
    const auto b_scale = reals(many ? columns : 1, 0.001, 0.01), c = reals(columns, -2, 2);
    OnnxBuilder m;
    m.input("a", {rows, depth}, a_type)
        .output("y")
        .constant("as", {}, {a_scale})
        .whole("az", {}, {a_zero}, a_type)
        .node("DequantizeLinear", {"a", "as", "az"}, {"da"});
    const List scales = many ? List{columns} : List{};
    if (input) m.input("b", {depth, columns}, b_type);
    else m.whole("b", turned ? List{columns, depth} : List{depth, columns}, b, b_type);
    m.constant("bs", scales, b_scale)
        .whole("bz", scales, zeros, b_type)
        .node("DequantizeLinear", {"b", "bs", "bz"}, {"db"}, {{"axis", turned ? 0 : 1}})
        .constant("c", {columns}, c);
    if (gemm) m.node("Gemm", row ? std::vector<std::string>{"da", "db", "c"} : std::vector<std::string>{"da", "db"}, {"y"}, {{"transB", turned ? 1 : 0}});
    else m.node("MatMul", {"da", "db"}, {"y"});
    const Model model = load(m);
    CHECK(fired(model) == 1);
    std::vector<Tensor> inputs{bytes(a, {rows, depth}, a_type)};
    if (input) inputs.push_back(bytes(b, {depth, columns}, b_type));
    const auto got = model(inputs)[0].to_vector<float>();
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        double sum = 0;
        const auto at = static_cast<std::size_t>(j);
        for (std::int64_t k = 0; k < depth; ++k)
          sum += (a[static_cast<std::size_t>(i * depth + k)] - a_zero) *
                 static_cast<double>(b[static_cast<std::size_t>(turned ? j * depth + k : k * columns + j)] - zeros[many ? at : 0]);
        const double product = sum * static_cast<double>(a_scale) * static_cast<double>(b_scale[many ? at : 0]),
                     want = product + (row ? static_cast<double>(c[at]) : 0);
        // The sum is exact. Its conversion, the scale and two operations round once each.
        CHECK(std::fabs(static_cast<double>(got[static_cast<std::size_t>(i * columns + j)]) - want) <= 3e-7 * (std::fabs(product) + std::fabs(want)));
      }
  }
}

TEST_CASE("a convolution whose operands do not fit is not computed in bytes") {
  const auto count = [](auto change) {
    const Conv c = [] {
      Conv made = random_conv(Kind::blocked);
      made.per_channel = false;
      made.w_scale.resize(1), made.w_zero.resize(1);
      return made;
    }();
    OnnxBuilder m;
    write_operands(m, c);
    const std::string weights = change(m, c);
    m.node("Conv", {"dx", weights}, {"y"}, c.attributes()).output("y");
    return fired(load(m));
  };
  const auto as_it_is = [](OnnxBuilder& m, const Conv&) {
    write_dequantized(m);
    return std::string("dw");
  };
  CHECK(count(as_it_is) == 1);
  CHECK(count([](OnnxBuilder& m, const Conv& c) {  // weights that are an input
          m.input("v", c.shape(c.filters, c.each(), c.taps[0], c.taps[1]), c.w_type)
              .node("DequantizeLinear", {"x", "xs", "xz"}, {"dx"})
              .node("DequantizeLinear", {"v", "ws", "wz"}, {"dw"});
          return std::string("dw");
        }) == 0);
  CHECK(count([](OnnxBuilder& m, const Conv&) {  // a scale that is an input
          m.input("s", {}).node("DequantizeLinear", {"x", "s", "xz"}, {"dx"}).node("DequantizeLinear", {"w", "ws", "wz"}, {"dw"});
          return std::string("dw");
        }) == 0);
  CHECK(count([](OnnxBuilder& m, const Conv& c) {  // a scale for each channel of x
          m.constant("s", {c.channels}, reals(c.channels, 0.01, 0.02))
              .whole("z", {c.channels}, std::vector<int>(static_cast<std::size_t>(c.channels), 1), c.x_type);
          m.node("DequantizeLinear", {"x", "s", "z"}, {"dx"}).node("DequantizeLinear", {"w", "ws", "wz"}, {"dw"});
          return std::string("dw");
        }) == 0);
  CHECK(count([](OnnxBuilder& m, const Conv& c) {  // scales along the channels that the filters read
          m.constant("s", {c.each()}, reals(c.each(), 0.01, 0.02))
              .node("DequantizeLinear", {"x", "xs", "xz"}, {"dx"})
              .node("DequantizeLinear", {"w", "s"}, {"dw"}, {{"axis", 1}});
          return std::string("dw");
        }) == 0);
  CHECK(count([](OnnxBuilder& m, const Conv& c) {  // weights of floats
          m.node("DequantizeLinear", {"x", "xs", "xz"}, {"dx"})
              .constant("f", c.shape(c.filters, c.each(), c.taps[0], c.taps[1]), reals(static_cast<std::int64_t>(c.w.size()), -1, 1));
          return std::string("f");
        }) == 0);
  CHECK(count([](OnnxBuilder& m, const Conv& c) {  // numbers of 32 bits
          m.input("n", c.x_shape(), kInt32).node("DequantizeLinear", {"n", "xs"}, {"dx"}).node("DequantizeLinear", {"w", "ws", "wz"}, {"dw"});
          return std::string("dw");
        }) == 0);
}

TEST_CASE("a dequantized value that other nodes or outputs need is still computed") {
  const Conv c = random_conv(Kind::blocked);
  OnnxBuilder m;
  write_operands(m, c);
  write_dequantized(m);
  m.node("Conv", {"dx", "dw"}, {"y"}, c.attributes()).node("Neg", {"dx"}, {"n"}).output("y").output("dx").output("n").output("dw");
  const Model model = load(m);
  CHECK(fired(model) == 1);
  const auto got = model({x_of(c)});
  const auto plain = load(m, false)({x_of(c)});
  for (const std::size_t k : {1, 2, 3}) CHECK(got[k].to_vector<float>() == plain[k].to_vector<float>());
  const auto y = got[0].to_vector<float>();
  const auto sums = c.sums();
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(std::fabs(static_cast<double>(y[i]) - sums[i] * c.unit(i)) <= 3e-7 * std::fabs(sums[i] * c.unit(i)));
}

TEST_CASE("bytes that are dequantized and quantized with equal parameters stay unchanged, even through a MaxPool") {
  const auto with = [](float scale, int zero, int type, const std::string& last, bool pool) {
    OnnxBuilder m;
    m.input("x", {2, 3, 7, 7}, kUnsigned).constant("s", {}, {0.013f}).whole("z", {}, {100}, kUnsigned).constant("t", {}, {scale}).whole("o", {}, {zero}, type);
    m.node("DequantizeLinear", {"x", "s", "z"}, {"d"});
    if (pool) m.node("MaxPool", {"d"}, {"p"}, {{"kernel_shape", {3, 3}}, {"strides", {2, 2}}, {"pads", {1, 1, 1, 1}}});
    m.node("QuantizeLinear", {pool ? "p" : "d", "t", "o"}, {"q"});
    if (last == "y") m.node("DequantizeLinear", {"q", "t", "o"}, {"y"});
    m.output(last, {}, last == "y" ? 1 : type);
    const Tensor x = bytes(wholes(2 * 3 * 49, kUnsigned), {2, 3, 7, 7}, kUnsigned);
    const Model model = load(m);
    CHECK(model({x})[0].astype(DType::float32).to_vector<float>() == load(m, false)({x})[0].astype(DType::float32).to_vector<float>());
    for (const Rewrite& rewrite : model.rewrites())
      if (rewrite.name == "cancel_quantized") return rewrite.count;
    return -1;
  };
  CHECK(with(0.013f, 100, kUnsigned, "y", false) == 1);
  CHECK(with(0.013f, 100, kUnsigned, "y", true) == 1);
  CHECK(with(0.013f, 100, kUnsigned, "q", false) == 0);  // it is an output
  CHECK(with(0.014f, 100, kUnsigned, "y", false) == 0);
  CHECK(with(0.013f, 101, kUnsigned, "y", true) == 0);
  CHECK(with(0.013f, 100, kSigned, "y", false) == 0);
}

TEST_CASE("nodes that only rearrange a dequantized value rearrange its bytes") {
  struct View {
    std::string op;
    std::vector<std::string> more;
    std::vector<OnnxBuilder::Attribute> attributes;
    int outputs = 1, fires = 1;
  };
  const std::vector<View> views{{"Reshape", {"sizes"}, {}},
                                {"Transpose", {}, {{"perm", {0, 2, 3, 1}}}},
                                {"Flatten", {}, {}},
                                {"Unsqueeze", {"axis"}, {}},
                                {"Slice", {"starts", "ends"}, {}},
                                {"Split", {"lengths"}, {{"axis", 1}}, 2},
                                {"SpaceToDepth", {}, {{"blocksize", 2}}},
                                {"DepthToSpace", {}, {{"blocksize", 2}}},
                                {"Resize", {"", "factors"}, {{"mode", "nearest"}}},
                                {"Resize", {"", "factors"}, {{"mode", "linear"}}, 1, 0},
                                {"Pad", {"widths"}, {}, 1, 0},  // with other parameters
                                {"Relu", {}, {}, 1, 0}};
  for (const View& view : views)
    for (const bool several : {false, true})
      for (const bool zero : {true, false}) {
        INFO(view.op << " of several scales " << several << " a zero point " << zero);
        OnnxBuilder m;
        const List count = several ? List{8} : List{};
        m.input("x", {2, 8, 4, 6}, kUnsigned)
            .constant("s", count, reals(several ? 8 : 1, 0.01, 0.02))
            .whole("z", count, wholes(several ? 8 : 1, kUnsigned), kUnsigned);
        m.integers("sizes", {16, 24})
            .integers("axis", {1})
            .integers("starts", {1, 2})
            .integers("ends", {2, 7})
            .integers("lengths", {3, 5})
            .integers("widths", {0, 0, 1, 0, 0, 0, 0, 2});
        m.constant("factors", {4}, {1, 1, 2, 2});
        m.node("DequantizeLinear", zero ? std::vector<std::string>{"x", "s", "z"} : std::vector<std::string>{"x", "s"}, {"d"});
        std::vector<std::string> inputs{"d"};
        inputs.insert(inputs.end(), view.more.begin(), view.more.end());
        m.node(view.op, inputs, view.outputs == 2 ? std::vector<std::string>{"v", "w"} : std::vector<std::string>{"v"}, view.attributes);
        if (several || !zero) {
          m.output("v", {}, 1);
        } else {  // with the same parameters, and with others
          m.node("QuantizeLinear", {"v", "s", "z"}, {"q"}).node("DequantizeLinear", {"q", "s", "z"}, {"y"}).output("y", {}, 1);
        }
        if (view.outputs == 2) m.output("w", {}, 1);
        m.node("Neg", {"d"}, {"also"}).output("also", {}, 1);  // the dequantized value is an output, too
        const Tensor x = bytes(wholes(2 * 8 * 24, kUnsigned), {2, 8, 4, 6}, kUnsigned);
        const Model model = load(m), plain = load(m, false);
        const std::vector<Tensor> got = model({x}), want = plain({x});
        REQUIRE(got.size() == want.size());
        for (std::size_t k = 0; k < got.size(); ++k) {
          CHECK(got[k].shape() == want[k].shape());
          CHECK(got[k].to_vector<float>() == want[k].to_vector<float>());
        }
        int arranged = 0, cancelled = 0;
        for (const Rewrite& rewrite : model.rewrites()) {
          if (rewrite.name == "arrange_quantized") arranged = rewrite.count;
          if (rewrite.name == "cancel_quantized") cancelled = rewrite.count;
        }
        CHECK(arranged == (several ? 0 : view.fires));
        if (!several && zero) CHECK(cancelled == view.fires);
      }
}

TEST_CASE("ONNX Runtime's operators on bytes agree with their formulas") {
  const auto a = wholes(2 * 16 * 9, kUnsigned), b = wholes(2 * 16 * 9, kUnsigned);
  const float sa = real(0.01, 0.02), sb = real(0.01, 0.02), sy = real(0.02, 0.04);
  const auto number = [](int q, int zero, float scale) { return (q - zero) * static_cast<double>(scale); };
  const auto run = [&](const std::string& op, const std::vector<std::string>& reads, const std::vector<OnnxBuilder::Attribute>& attributes = {}) {
    OnnxBuilder m;
    m.input("a", {2, 16, 3, 3}, kUnsigned).input("b", {2, 16, 3, 3}, kUnsigned).output("y", {}, kUnsigned);
    m.constant("sa", {}, {sa})
        .constant("sb", {}, {sb})
        .constant("sy", {}, {sy})
        .whole("za", {}, {100}, kUnsigned)
        .whole("zb", {}, {90}, kUnsigned)
        .whole("zy", {}, {128}, kUnsigned);
    m.node(op, reads, {"y"}, attributes, "com.microsoft");
    return load(m)({bytes(a, {2, 16, 3, 3}, kUnsigned), bytes(b, {2, 16, 3, 3}, kUnsigned)})[0];
  };
  const auto each = [&](auto function) {
    std::vector<double> want;
    for (std::size_t i = 0; i < a.size(); ++i)
      want.push_back(rounded(function(number(a[i], 100, sa), number(b[i], 90, sb)) / static_cast<double>(sy), 128, kUnsigned));
    return want;
  };
  check_units(run("QLinearAdd", {"a", "sa", "za", "b", "sb", "zb", "sy", "zy"}), each([](double x, double y) { return x + y; }));
  check_units(run("QLinearMul", {"a", "sa", "za", "b", "sb", "zb", "sy", "zy"}), each([](double x, double y) { return x * y; }));
  check_units(run("QLinearSigmoid", {"a", "sa", "za", "sy", "zy"}), each([](double x, double) { return 1 / (1 + std::exp(-x)); }));
  check_units(run("QLinearLeakyRelu", {"a", "sa", "za", "sy", "zy"}, {{"alpha", 0.25f}}), each([](double x, double) { return x < 0 ? 0.25 * x : x; }));
  std::vector<double> joined, means;
  for (std::size_t n = 0; n < 2; ++n)
    for (const auto* list : {&a, &b})
      for (std::size_t i = 0; i < 144; ++i)
        joined.push_back(rounded((list == &a ? number(a[n * 144 + i], 100, sa) : number(b[n * 144 + i], 90, sb)) / static_cast<double>(sy), 128, kUnsigned));
  check_units(run("QLinearConcat", {"sy", "zy", "a", "sa", "za", "b", "sb", "zb"}, {{"axis", 1}}), joined);
  for (std::size_t k = 0; k < 32; ++k) {
    double sum = 0;
    for (std::size_t i = 0; i < 9; ++i) sum += number(a[k * 9 + i], 100, sa);
    means.push_back(rounded(sum / 9 / static_cast<double>(sy), 128, kUnsigned));
  }
  check_units(run("QLinearGlobalAveragePool", {"a", "sa", "za", "sy", "zy"}), means);

  const auto w = wholes(7 * 9, kSigned), bias = wholes(7, kSigned);
  const auto scales = reals(7, 0.001, 0.002);
  const auto rows = wholes(5 * 9, kUnsigned);
  OnnxBuilder m;
  m.input("x", {5, 9}, kUnsigned)
      .output("y", {}, kUnsigned)
      .output("f")
      .constant("sx", {}, {sa})
      .whole("zx", {}, {100}, kUnsigned)
      .whole("w", {7, 9}, w, kSigned)
      .constant("sw", {7}, scales);
  m.whole("zw", {7}, std::vector<int>(7, 0), kSigned).whole("c", {7}, bias, kInt32).constant("sy", {}, {sy}).whole("zy", {}, {128}, kUnsigned);
  m.node("QGemm", {"x", "sx", "zx", "w", "sw", "zw", "c", "sy", "zy"}, {"y"}, {{"transB", 1}}, "com.microsoft")
      .node("QGemm", {"x", "sx", "zx", "w", "sw", "zw", "c"}, {"f"}, {{"transB", 1}}, "com.microsoft");
  std::vector<double> want;
  std::vector<double> floats;
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t j = 0; j < 7; ++j) {
      double sum = bias[j];
      for (std::size_t k = 0; k < 9; ++k) sum += (rows[i * 9 + k] - 100) * w[j * 9 + k];
      floats.push_back(sum * static_cast<double>(sa) * static_cast<double>(scales[j]));
      want.push_back(rounded(floats.back() / static_cast<double>(sy), 128, kUnsigned));
    }
  const auto got = load(m)({bytes(rows, {5, 9}, kUnsigned)});
  check_units(got[0], want);
  const auto values = got[1].to_vector<float>();
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(std::fabs(static_cast<double>(values[i]) - floats[i]) <= 3e-7 * std::fabs(floats[i]));
}
