// Two small networks from ONNX files in the form that exporters write, on every device: a convolutional network and a transformer of two layers. Recorded,
// frozen and loaded from a plan file, they are compared with plain loops in float64.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <random>

#include "draws.hpp"
#include "onnx_builder.hpp"
#include "program.hpp"
#include "sinter/freeze_model.hpp"
#include "sinter/model.hpp"
#include "temporary_folder.hpp"

using namespace sinter;
using testing::floats;
using testing::OnnxBuilder;
using File = testing::TemporaryFile;
namespace fs = std::filesystem;

namespace {

using Doubles = std::vector<double>;

/// A network that is being written: its file, and its weights for the loops.
struct Network {
  OnnxBuilder file;
  std::map<std::string, Doubles> weights;

  void weight(const std::string& name, const std::vector<std::int64_t>& shape, float low, float high) {
    std::size_t count = 1;
    for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
    const std::vector<float> list = floats(count, low, high);
    weights[name] = Doubles(list.begin(), list.end());
    file.constant(name, shape, list);
  }
};

double difference(const Tensor& got, const Doubles& want) {
  const Doubles list = got.astype(DType::float64).to_vector<double>();
  REQUIRE(list.size() == want.size());
  double worst = 0;
  for (std::size_t i = 0; i < list.size(); ++i) worst = std::max(worst, std::isnan(list[i]) ? 1e300 : std::fabs(list[i] - want[i]) / (1 + std::fabs(want[i])));
  return worst;
}

/// Compares the recorded, the frozen and the loaded model with the expected values. SINTER_TEST_KEEP: a folder in which the model is stored under this name, to
/// be timed.
void check_all_ways(const char* name, const Network& network, const std::vector<Tensor>& inputs, const Doubles& want) {
  if (const char* folder = std::getenv("SINTER_TEST_KEEP")) network.file.save(fs::path(folder) / (std::string(name) + ".onnx"));
  File onnx("network.onnx"), plan("network.plan");
  const Model model = Model::load(network.file.save(onnx.path)), plain = Model::load(onnx.path, {.rewrite = false});
  CHECK(difference(model(inputs)[0], want) < 2e-5);
  CHECK(difference(plain(inputs)[0], want) < 2e-5);
  const Function frozen = freeze(model, {{"N", {inputs[0].size(0)}}});
  CHECK(difference(frozen(inputs)[0], want) < 2e-5);
  frozen.save(plan.path);
  CHECK(difference(Function::load(plan.path)(inputs)[0], want) < 2e-5);
}

// ---- plain loops

struct Image {
  std::size_t batch, channels, rows, columns;
  Doubles at;
  double& operator()(std::size_t n, std::size_t c, std::size_t y, std::size_t x) { return at[((n * channels + c) * rows + y) * columns + x]; }
  double padded(std::size_t n, std::size_t c, long y, long x) const {
    if (y < 0 || x < 0 || y >= static_cast<long>(rows) || x >= static_cast<long>(columns)) return 0;
    return at[((n * channels + c) * rows + static_cast<std::size_t>(y)) * columns + static_cast<std::size_t>(x)];
  }
};

Image convolved(const Image& in, const Doubles& weight, const Doubles& bias, std::size_t filters, std::size_t stride, std::size_t groups = 1) {
  Image out{in.batch, filters, (in.rows - 1) / stride + 1, (in.columns - 1) / stride + 1, {}};
  out.at.resize(out.batch * filters * out.rows * out.columns);
  const std::size_t each = in.channels / groups;
  for (std::size_t n = 0; n < out.batch; ++n)
    for (std::size_t f = 0; f < filters; ++f)
      for (std::size_t y = 0; y < out.rows; ++y)
        for (std::size_t x = 0; x < out.columns; ++x) {
          double sum = bias.empty() ? 0 : bias[f];
          for (std::size_t c = 0; c < each; ++c)
            for (std::size_t i = 0; i < 3; ++i)
              for (std::size_t j = 0; j < 3; ++j)
                sum += weight[((f * each + c) * 3 + i) * 3 + j] *
                       in.padded(n, f / (filters / groups) * each + c, static_cast<long>(y * stride + i) - 1, static_cast<long>(x * stride + j) - 1);
          out(n, f, y, x) = sum;
        }
  return out;
}

/// (rows, in) x (in, out)
Doubles multiplied(const Doubles& a, const Doubles& b, std::size_t rows, std::size_t in, std::size_t out) {
  Doubles result(rows * out);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t k = 0; k < in; ++k)
      for (std::size_t c = 0; c < out; ++c) result[r * out + c] += a[r * in + k] * b[k * out + c];
  return result;
}

void add_to_rows(Doubles& x, const Doubles& bias) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += bias[i % bias.size()];
}

void soften(double* row, std::size_t length) {
  const double largest = *std::max_element(row, row + length);
  double sum = 0;
  for (std::size_t i = 0; i < length; ++i) sum += row[i] = std::exp(row[i] - largest);
  for (std::size_t i = 0; i < length; ++i) row[i] /= sum;
}

void normalize(Doubles& x, std::size_t length, const Doubles& gain, const Doubles& shift) {
  for (std::size_t r = 0; r < x.size(); r += length) {
    double mean = 0, square = 0;
    for (std::size_t i = 0; i < length; ++i) mean += x[r + i] / static_cast<double>(length);
    for (std::size_t i = 0; i < length; ++i) square += (x[r + i] - mean) * (x[r + i] - mean) / static_cast<double>(length);
    for (std::size_t i = 0; i < length; ++i) x[r + i] = (x[r + i] - mean) / std::sqrt(square + 1e-5) * gain[i] + shift[i];
  }
}

}  // namespace

TEST_CASE("a small convolutional network: batch norms, a depthwise convolution, a residual, pools, a classifier") {
  Network n;
  OnnxBuilder& m = n.file;
  m.input("x", {-1, 3, 12, 12}).output("y");
  n.weight("w1", {16, 3, 3, 3}, -0.4f, 0.4f);
  for (const char* name : {"gain", "shift", "mean"}) n.weight(name, {16}, 0.5f, 1.5f);
  n.weight("variance", {16}, 0.5f, 2);
  n.weight("w2", {16, 1, 3, 3}, -0.5f, 0.5f);
  n.weight("b2", {16}, -1, 1);
  n.weight("w3", {32, 16, 3, 3}, -0.2f, 0.2f);
  n.weight("b3", {32}, -1, 1);
  n.weight("w4", {5, 32}, -0.5f, 0.5f);
  n.weight("b4", {5}, -1, 1);
  const OnnxBuilder::Attribute pads{"pads", std::vector<std::int64_t>{1, 1, 1, 1}};
  m.node("Conv", {"x", "w1"}, {"c1"}, {pads}).node("BatchNormalization", {"c1", "gain", "shift", "mean", "variance"}, {"n1"}).node("Relu", {"n1"}, {"a1"});
  m.node("MaxPool", {"a1"}, {"p1"}, {{"kernel_shape", {2, 2}}, {"strides", {2, 2}}});
  m.node("Conv", {"p1", "w2"}, {"c2"}, {pads, {"group", 16}})
      .integers("shape", {1, 16, 1, 1})
      .node("Reshape", {"b2", "shape"}, {"b2r"})
      .node("Add", {"c2", "b2r"}, {"d2"});
  m.node("Add", {"d2", "p1"}, {"s2"}).node("Sigmoid", {"s2"}, {"g2"}).node("Mul", {"s2", "g2"}, {"a2"});
  m.node("Conv", {"a2", "w3", "b3"}, {"c3"}, {pads, {"strides", {2, 2}}})
      .constant("zero", {}, {0})
      .constant("six", {}, {6})
      .node("Clip", {"c3", "zero", "six"}, {"a3"});
  m.node("GlobalAveragePool", {"a3"}, {"p3"})
      .node("Flatten", {"p3"}, {"f3"})
      .node("Gemm", {"f3", "w4", "b4"}, {"g4"}, {{"transB", 1}})
      .node("Softmax", {"g4"}, {"y"}, {{"axis", 1}});

  const std::size_t batch = 2;
  const std::vector<float> x = floats(batch * 3 * 144);
  const auto& w = n.weights;
  Image image = convolved({batch, 3, 12, 12, Doubles(x.begin(), x.end())}, w.at("w1"), {}, 16, 1);
  Image pooled{batch, 16, 6, 6, Doubles(batch * 16 * 36, 0)};
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t c = 0; c < 16; ++c)
      for (std::size_t i = 0; i < 12; ++i)
        for (std::size_t j = 0; j < 12; ++j) {
          const double normal = (image(b, c, i, j) - w.at("mean")[c]) / std::sqrt(w.at("variance")[c] + 1e-5) * w.at("gain")[c] + w.at("shift")[c];
          pooled(b, c, i / 2, j / 2) = std::max(pooled(b, c, i / 2, j / 2), normal);  // and 0, because Relu follows
        }
  Image second = convolved(pooled, w.at("w2"), w.at("b2"), 16, 1, 16);
  for (std::size_t i = 0; i < second.at.size(); ++i) {
    const double sum = second.at[i] + pooled.at[i];
    second.at[i] = sum / (1 + std::exp(-sum));
  }
  Image third = convolved(second, w.at("w3"), w.at("b3"), 32, 2);
  Doubles means(batch * 32);
  for (std::size_t i = 0; i < third.at.size(); ++i) means[i / 9] += std::clamp(third.at[i], 0.0, 6.0) / 9;
  Doubles want(batch * 5);
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t k = 0; k < 5; ++k) {
      want[b * 5 + k] = w.at("b4")[k];
      for (std::size_t c = 0; c < 32; ++c) want[b * 5 + k] += means[b * 32 + c] * w.at("w4")[k * 32 + c];
    }
    soften(&want[b * 5], 5);
  }
  check_all_ways("convolutions", n, {from_span(x, {static_cast<std::int64_t>(batch), 3, 12, 12})}, want);
}

TEST_CASE("a transformer of two layers in primitive operators: masked attention, layer norms, gelu") {
  constexpr std::size_t kBatch = 2, kSteps = 7, kHeads = 2, kSize = 8, kWidth = kHeads * kSize, kInner = 32, kRows = kBatch * kSteps;
  Network n;
  OnnxBuilder& m = n.file;
  m.input("x", {-1, kSteps, kWidth}).input("mask", {-1, 1, 1, kSteps}).output("y");
  m.integers("apart", {0, 0, kHeads, kSize}).integers("together", {0, 0, kWidth}).integers("last", {-1});
  m.constant("root", {}, {std::sqrt(static_cast<float>(kSize))})
      .constant("two", {}, {2})
      .constant("epsilon", {}, {1e-5f})
      .constant("half", {}, {0.5f})
      .constant("one", {}, {1});
  m.constant("root2", {}, {std::sqrt(2.f)});
  std::string at = "x";
  const auto norm = [&](const std::string& name, const std::string& in) {
    m.node("ReduceMean", {in}, {name + "m"}, {{"axes", std::vector<std::int64_t>{-1}}})
        .node("Sub", {in, name + "m"}, {name + "d"})
        .node("Pow", {name + "d", "two"}, {name + "q"});
    m.node("ReduceMean", {name + "q"}, {name + "v"}, {{"axes", std::vector<std::int64_t>{-1}}})
        .node("Add", {name + "v", "epsilon"}, {name + "e"})
        .node("Sqrt", {name + "e"}, {name + "s"});
    n.weight(name + "gain", {kWidth}, 0.5f, 1.5f);
    n.weight(name + "shift", {kWidth}, -0.5f, 0.5f);
    m.node("Div", {name + "d", name + "s"}, {name + "n"})
        .node("Mul", {name + "n", name + "gain"}, {name + "g"})
        .node("Add", {name + "g", name + "shift"}, {name});
    return name;
  };
  const auto linear = [&](const std::string& name, const std::string& in, std::int64_t from, std::int64_t to) {
    n.weight(name + "w", {from, to}, -0.3f, 0.3f);
    n.weight(name + "b", {to}, -0.3f, 0.3f);
    m.node("MatMul", {in, name + "w"}, {name + "p"}).node("Add", {name + "b", name + "p"}, {name});
    return name;
  };
  for (const std::string l : {"l0_", "l1_"}) {
    const std::string first = norm(l + "n1", at);
    for (const std::string part : {"q", "k", "v"}) {
      linear(l + part, first, kWidth, kWidth);
      m.node("Reshape", {l + part, "apart"}, {l + part + "r"});
      m.node("Transpose", {l + part + "r"}, {l + part + "t"},
             {{"perm", part == "k" ? std::vector<std::int64_t>{0, 2, 3, 1} : std::vector<std::int64_t>{0, 2, 1, 3}}});
    }
    m.node("MatMul", {l + "qt", l + "kt"}, {l + "scores"})
        .node("Div", {l + "scores", "root"}, {l + "scaled"})
        .node("Add", {l + "scaled", "mask"}, {l + "masked"});
    m.node("Softmax", {l + "masked"}, {l + "soft"}, {{"axis", -1}}).node("MatMul", {l + "soft", l + "vt"}, {l + "mixed"});
    m.node("Transpose", {l + "mixed"}, {l + "back"}, {{"perm", {0, 2, 1, 3}}}).node("Reshape", {l + "back", "together"}, {l + "joined"});
    linear(l + "o", l + "joined", kWidth, kWidth);
    m.node("Add", {at, l + "o"}, {l + "r1"});
    linear(l + "up", norm(l + "n2", l + "r1"), kWidth, kInner);
    m.node("Div", {l + "up", "root2"}, {l + "e0"})
        .node("Erf", {l + "e0"}, {l + "e1"})
        .node("Add", {l + "e1", "one"}, {l + "e2"})
        .node("Mul", {l + "up", l + "e2"}, {l + "e3"});
    m.node("Mul", {l + "e3", "half"}, {l + "gelu"});
    linear(l + "down", l + "gelu", kInner, kWidth);
    const bool end = l == "l1_";
    m.node("Add", {l + "r1", l + "down"}, {end ? "y" : l + "r2"});
    at = l + "r2";
  }

  const std::vector<float> x = floats(kRows * kWidth);
  std::vector<float> mask(kBatch * kSteps, 0.f);
  mask[kSteps - 1] = mask[2 * kSteps - 2] = -10000.f;
  Doubles h(x.begin(), x.end());
  const auto& w = n.weights;
  const auto times = [&](const Doubles& in, const std::string& name, std::size_t from, std::size_t to) {
    Doubles out = multiplied(in, w.at(name + "w"), kRows, from, to);
    add_to_rows(out, w.at(name + "b"));
    return out;
  };
  for (const std::string l : {"l0_", "l1_"}) {
    Doubles normal = h;
    normalize(normal, kWidth, w.at(l + "n1gain"), w.at(l + "n1shift"));
    const Doubles q = times(normal, l + "q", kWidth, kWidth), k = times(normal, l + "k", kWidth, kWidth), v = times(normal, l + "v", kWidth, kWidth);
    Doubles joined(kRows * kWidth);
    for (std::size_t b = 0; b < kBatch; ++b)
      for (std::size_t head = 0; head < kHeads; ++head)
        for (std::size_t i = 0; i < kSteps; ++i) {
          double row[kSteps];
          const auto place = [&](std::size_t step, std::size_t c) { return ((b * kSteps + step) * kHeads + head) * kSize + c; };
          for (std::size_t j = 0; j < kSteps; ++j) {
            row[j] = 0;
            for (std::size_t c = 0; c < kSize; ++c) row[j] += q[place(i, c)] * k[place(j, c)];
            row[j] = row[j] / std::sqrt(static_cast<double>(kSize)) + mask[b * kSteps + j];
          }
          soften(row, kSteps);
          for (std::size_t j = 0; j < kSteps; ++j)
            for (std::size_t c = 0; c < kSize; ++c) joined[place(i, c)] += row[j] * v[place(j, c)];
        }
    const Doubles o = times(joined, l + "o", kWidth, kWidth);
    for (std::size_t i = 0; i < h.size(); ++i) h[i] += o[i];
    normal = h;
    normalize(normal, kWidth, w.at(l + "n2gain"), w.at(l + "n2shift"));
    Doubles up = times(normal, l + "up", kWidth, kInner);
    for (double& value : up) value = 0.5 * value * (1 + std::erf(value / std::sqrt(2.0)));
    const Doubles down = times(up, l + "down", kInner, kWidth);
    for (std::size_t i = 0; i < h.size(); ++i) h[i] += down[i];
  }
  const std::vector<Tensor> inputs{from_span(x, {kBatch, kSteps, kWidth}), from_span(mask, {kBatch, 1, 1, kSteps})};
  check_all_ways("transformer", n, inputs, h);

  // All operations between two products are one kernel: scale, mask and softmax; addition and layer norm; bias and gelu.
  if (testing::on_gpu() || !options().fuse) return;
  File onnx("transformer.onnx");
  const Model model = Model::load(n.file.save(onnx.path));
  const Function frozen = freeze(model, {{"N", {static_cast<std::int64_t>(kBatch)}}});
  for (const Rewrite& rewrite : model.rewrites())
    if (rewrite.name == "merge_products") CHECK(rewrite.count == 4);  // Q, K and V of each layer
  const FrozenFigures figures = frozen.figures()[0];
  INFO(frozen.explain());
  CHECK(figures.library_calls == 2 * 6);  // Q with K and V, scores, weighted values, output, up, down
  CHECK(figures.kernels <= 1 + 2 * 6);    // the first norm, and one kernel after each product
  CHECK(figures.operations >= 2 * 40);
  CHECK(figures.bytes_unfused > 2 * figures.bytes_moved);
}
