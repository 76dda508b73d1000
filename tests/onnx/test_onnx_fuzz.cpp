// Broken ONNX models: each is refused with an error of this library that names the file, or is another valid model. None causes a signal, an endless run or
// another exception. SINTER_ONNX_NODE_TESTS: the folder of ONNX's node tests, which are mutated, too; SINTER_TEST_MUTATIONS: the number of mutations;
// SINTER_TEST_SEED repeats a run.
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>

#include "mutations.hpp"
#include "onnx_builder.hpp"
#include "onnx_mutations.hpp"
#include "program.hpp"
#include "seed.hpp"
#include "sinter/freeze_model.hpp"
#include "sinter/model.hpp"

using namespace sinter;
using testing::OnnxBuilder;
using testing::OnnxMutator;
using testing::OnnxSample;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kMaxElements = 1 << 16;  // maximum number of elements of an input, and of a result that is computed

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<OnnxSample> node_tests(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<OnnxSample> samples;
  for (const fs::path& path : paths) {
    OnnxSample sample{path.filename().string(), {}, {}};
    if (!sample.model.ParseFromString(bytes_of(path / "model.onnx"))) continue;
    for (int k = 0; k < sample.model.graph().input_size(); ++k) {
      onnx::format::Tensor input;
      const fs::path data = path / "test_data_set_0" / ("input_" + std::to_string(k) + ".pb");
      if (!fs::exists(data) || !input.ParseFromString(bytes_of(data)) || input.raw_data().size() > 1 << 20) continue;
      input.set_name(sample.model.graph().input(k).name());
      sample.inputs.push_back(std::move(input));
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

/// Returns small models of several operators, for machines without ONNX's node tests.
std::vector<OnnxSample> own_samples() {
  std::vector<OnnxSample> samples;
  const auto add = [&](const char* name, const OnnxBuilder& m) { samples.push_back({name, m.model, {}}); };
  const std::vector<float> numbers(200, 0.25f);
  OnnxBuilder conv;
  conv.input("x", {1, 2, 6, 6}).output("y").constant("w", {4, 2, 3, 3}, std::vector<float>(72, 0.5f));
  conv.node("Conv", {"x", "w"}, {"c"}, {{"pads", {1, 1, 1, 1}}, {"strides", {1, 1}}}).node("Relu", {"c"}, {"r"});
  conv.node("AveragePool", {"r"}, {"a"}, {{"kernel_shape", {2, 2}}, {"auto_pad", "SAME_UPPER"}}).node("DepthToSpace", {"a"}, {"y"}, {{"blocksize", 2}});
  add("convolution", conv);
  OnnxBuilder shapes;
  shapes.input("x", {-1, 4})
      .output("y")
      .constant("w", {4, 6}, std::vector<float>(24, 1))
      .integers("shape", {0, 2, 3})
      .integers("axes", {1})
      .integers("split", {1, 2})
      .integers("pads", {0, 0, 0, 1, 1, 1});
  shapes.node("MatMul", {"x", "w"}, {"p"})
      .node("Reshape", {"p", "shape"}, {"r"})
      .node("Split", {"r", "split"}, {"s0", "s1"}, {{"axis", 2}})
      .node("Pad", {"s1", "pads"}, {"q"});
  shapes.node("Softmax", {"q"}, {"s"})
      .node("Unsqueeze", {"s", "axes"}, {"u"})
      .node("Tile", {"u", "tiles"}, {"t"})
      .integers("tiles", {1, 2, 1, 1})
      .node("Expand", {"t", "wide"}, {"y"})
      .integers("wide", {1, 1, 1, 1, 1});
  add("shapes", shapes);
  OnnxBuilder resize;
  resize.input("x", {1, 1, 2, 3}).output("y").integers("sizes", {1, 1, 4, 6}).node("Resize", {"x", "", "", "sizes"}, {"r"}, {{"mode", "linear"}});
  resize.integers("block", {2, 2})
      .integers("image", {5, 5})
      .node("Reshape", {"r", "to"}, {"z"})
      .integers("to", {1, 4, 6})
      .node("GlobalAveragePool", {"r"}, {"y"});
  add("resize", resize);
  OnnxBuilder columns;
  columns.input("x", {1, 5, 5})
      .output("y")
      .integers("image", {5, 5})
      .integers("block", {1, 5})
      .node("Col2Im", {"x", "image", "block"}, {"y"}, {{"strides", {1, 1}}});
  add("columns", columns);
  OnnxBuilder then, otherwise, branches;
  then.output("t").node("Add", {"x", "one"}, {"t"});
  otherwise.output("e").constant("two", {1}, {2}).node("Mul", {"x", "two"}, {"e"});
  branches.input("x", {3}).output("y").constant("one", {1}, {1}).whole("c", {1}, {1}, 9);
  branches.node("If", {"c"}, {"i"}, {{"then_branch", then.model.graph()}, {"else_branch", otherwise.model.graph()}})
      .node("TopK", {"i", "k"}, {"v", "places"})
      .integers("k", {2})
      .node("Gather", {"i", "places"}, {"y"});
  add("branches", branches);
  OnnxBuilder body, loop;
  body.input("n", {}, 7)
      .input("going", {}, 9)
      .input("s", {2})
      .output("going2", {}, 9)
      .output("s2")
      .output("each")
      .node("Identity", {"going"}, {"going2"})
      .node("Add", {"s", "one"}, {"s2"})
      .node("Identity", {"s2"}, {"each"});
  loop.input("x", {2})
      .output("y")
      .output("all")
      .constant("one", {1}, {1})
      .integers("rounds", {3})
      .node("Loop", {"rounds", "", "x"}, {"y", "all"}, {{"body", body.model.graph()}});
  add("loop", loop);
  OnnxBuilder recurrent;
  recurrent.input("x", {3, 2, 4})
      .output("y")
      .constant("w", {1, 12, 4}, std::vector<float>(48, 0.1f))
      .constant("r", {1, 12, 4}, std::vector<float>(48, 0.1f))
      .constant("b", {1, 24}, std::vector<float>(24, 0.f));
  recurrent.node("GRU", {"x", "w", "r", "b"}, {"g"}, {{"hidden_size", 4}, {"activations", "Tanh"}})
      .node("LayerNormalization", {"g", "gain"}, {"l"})
      .constant("gain", {4}, std::vector<float>(4, 1.f));
  recurrent.node("ReduceSum", {"l", "axes"}, {"y"}, {{"keepdims", 0}}).integers("axes", {1});
  recurrent.model.mutable_graph()->mutable_node(0)->mutable_attribute()->RemoveLast();
  add("recurrent", recurrent);
  OnnxBuilder bytes;
  bytes.input("x", {2, 4})
      .output("y")
      .constant("scale", {}, {0.1f})
      .whole("zero", {}, {3}, 2)
      .whole("w", {4, 3}, std::vector<int>(12, 5), 2)
      .node("QuantizeLinear", {"x", "scale", "zero"}, {"q"});
  bytes.node("QLinearMatMul", {"q", "scale", "zero", "w", "scale", "zero", "scale", "zero"}, {"p"}).node("DequantizeLinear", {"p", "scale", "zero"}, {"y"});
  add("bytes", bytes);
  return samples;
}

/// Returns a value for a declared input of a broken model: the test's numbers if their count fits, else random ones.
Tensor value_for(const ModelValue& input, const OnnxSample& sample, OnnxMutator& draw) {
  Shape shape;
  for (const ModelSize& size : input.shape.value_or(std::vector<ModelSize>(draw.below(4))))
    shape.push_back(size.size ? *size.size : static_cast<std::int64_t>(1 + draw.below(4)));
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size > kMaxElements || (count *= size) > kMaxElements) throw ShapeError("an input is too large to be tried");
  }
  for (const onnx::format::Tensor& known : sample.inputs)
    if (known.name() == input.name && known.raw_data().size() == static_cast<std::size_t>(count) * itemsize(input.dtype) && input.dtype != DType::bool_)
      return from_pointer(known.raw_data().data(), input.dtype, shape);
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& number : numbers) number = draw.one_in(16) ? draw.nasty_float() : static_cast<float>(draw.below(9)) - 2;
  return astype(from_pointer(numbers.data(), DType::float32, shape), input.dtype);
}

/// Calls f(); every error has to name the file.
template <class F> auto naming(const fs::path& path, F f) {
  try {
    return f();
  } catch (const Error& error) {
    if (std::string(error.what()).find(path.filename().string()) == std::string::npos)
      throw std::logic_error(std::string("an error that names no file: ") + error.what());
    throw;
  }
}

/// Loads the file, calls the model, and computes small results.
void try_model(const fs::path& path, const OnnxSample& sample, OnnxMutator& draw) {
  ModelOptions how;
  how.max_elements = 1 << 20, how.max_unrolled = 5000;
  how.rewrite = !draw.one_in(4);
  if (draw.one_in(8)) how.precision = draw.one_in(2) ? DType::float16 : DType::float64;
  const Model model = naming(path, [&] { return Model::load(path.string(), how); });
  std::vector<Tensor> inputs;
  for (const ModelValue& input : model.inputs()) inputs.push_back(value_for(input, sample, draw));
  if (draw.one_in(32)) {
    static_cast<void>(freeze(model));
    return;
  }
  for (const Tensor& result : naming(path, [&] { return model(inputs); }))
    if (result.size() <= kMaxElements) eval(result);
}

/// SINTER_TEST_MUTATION=n runs only mutation n, in this process, for a debugger.
void break_models(const std::vector<OnnxSample>& samples, long count) {
  const char* const asked = std::getenv("SINTER_TEST_FAULTS");
  const int faults = asked ? std::atoi(asked) : 20;
  const fs::path path = fs::temp_directory_path() / ("sinter_broken_" + std::to_string(::getpid()) + ".onnx");
  const auto attempt = [&](std::uint64_t mutation) {
    OnnxMutator draw(samples, mutation);
    const OnnxSample& sample = samples[draw.below(samples.size())];
    testing::say_mutation(sample.name);
    { std::ofstream(path, std::ios::binary) << draw.broken(sample); }
    try_model(path, sample, draw);
  };
  if (const char* one = std::getenv("SINTER_TEST_MUTATION")) return attempt(std::strtoull(one, nullptr, 10));
  const auto outcomes =
      testing::try_mutations(count, std::uint64_t{testing::fresh_seed()} << 32, attempt, {.seconds = 30, .bytes = std::uint64_t{4} << 30, .faults = faults});
  fs::remove(path);
  CHECK(outcomes.refused > 0);
  CHECK(outcomes.ran > 0);
}

/// Gives one input of a model another rank. The number of the mutation determines the model, the input and the rank, so that a full run tries every
/// combination. The combinations are mixed, always in the same way, because neighbours are alike: a short run must not meet only models of one kind, all
/// refused.
void change_ranks(const std::vector<OnnxSample>& samples, long count) {
  struct Case {
    const OnnxSample* sample;
    int input, rank;
  };
  std::vector<Case> cases;
  for (const OnnxSample& sample : samples)
    for (int input = 0; input < sample.model.graph().input_size(); ++input)
      for (const int rank : {0, 1, 2, 3, 5}) cases.push_back({&sample, input, rank});
  std::shuffle(cases.begin(), cases.end(), std::mt19937(1));
  const fs::path path = fs::temp_directory_path() / ("sinter_ranks_" + std::to_string(::getpid()) + ".onnx");
  const auto attempt = [&](std::uint64_t mutation) {
    const Case& now = cases[mutation % cases.size()];
    OnnxMutator draw(samples, mutation);
    testing::say_mutation(now.sample->name);
    auto model = now.sample->model;
    auto* const shape = model.mutable_graph()->mutable_input(now.input)->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape->clear_dim();
    for (int axis = 0; axis < now.rank; ++axis) shape->add_dim()->set_dim_value(static_cast<std::int64_t>(1 + draw.below(3)));
    { std::ofstream(path, std::ios::binary) << model.SerializeAsString(); }
    try_model(path, *now.sample, draw);
  };
  if (const char* one = std::getenv("SINTER_TEST_MUTATION")) return attempt(std::strtoull(one, nullptr, 10));
  const auto outcomes = testing::try_mutations(std::min(count, static_cast<long>(cases.size())), testing::fresh_seed(), attempt, {.seconds = 30});
  fs::remove(path);
  if (!testing::is_sample()) CHECK(outcomes.refused > 0);  // a few models may all be taken
  CHECK(outcomes.ran > 0);
}

}  // namespace

TEST_CASE("broken models are refused, or are other models") { break_models(own_samples(), testing::mutations_or(1500)); }

TEST_CASE("broken node tests of ONNX, and those whose inputs have other ranks, are refused, or are other models") {
  const char* const folder = std::getenv("SINTER_ONNX_NODE_TESTS");
  if (!folder || !fs::is_directory(folder)) {
    MESSAGE("not run: SINTER_ONNX_NODE_TESTS names no folder");
    return;
  }
  const std::vector<OnnxSample> samples = node_tests(folder);
  REQUIRE(samples.size() > 100);
  SUBCASE("broken") { break_models(samples, testing::mutations_or(300)); }
  SUBCASE("ranks") { change_ranks(samples, testing::mutations_or(300)); }
}
