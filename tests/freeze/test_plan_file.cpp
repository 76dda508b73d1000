// Frozen functions in files: they give the same results at the sizes for which a plan is valid, in a process without a compiler, and broken files are refused.
#include <doctest/doctest.h>
#define XXH_INLINE_ALL
#include <unistd.h>
#include <xxhash.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <typeinfo>

#include "called.hpp"
#include "draws.hpp"
#include "mutations.hpp"
#include "ops/blocked.hpp"
#include "program.hpp"
#include "run_command.hpp"
#include "sinter/freeze.hpp"
#include "sinter/recurrent.hpp"
#include "temporary_folder.hpp"

using namespace sinter;
using testing::called;
using testing::random_tensor;
using File = testing::TemporaryFile;
using testing::Ran;
using testing::run_command;
namespace fs = std::filesystem;

namespace {

std::string self;

void check_near(const Tensor& got, const Tensor& want) {
  REQUIRE(got.shape() == want.shape());
  REQUIRE(got.dtype() == want.dtype());
  const auto a = got.astype(DType::float64).to_vector<double>(), b = want.astype(DType::float64).to_vector<double>();
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::isnan(a[i]) ? 1e300 : std::fabs(a[i] - b[i]) / (1 + std::fabs(b[i])));
  CHECK(worst <= 1e-4);
}

Function saved_and_loaded(const Function& function, const File& file) {
  function.save(file.path);
  return Function::load(file.path);
}

/// The arguments with which the other process calls the function. They are data, so nothing has to be computed for them.
Tensor steps() {
  std::vector<float> list(30);
  for (std::size_t k = 0; k < list.size(); ++k) list[k] = 0.1f * static_cast<float>(k);
  return from_span(list, {5, 6});
}

/// Runs this program in a separate process, which loads a plan and calls it, or saves a plan.
Ran run_child(const std::string& plan, const std::string& environment, const std::string& what = "--load=") {
  return run_command("env " + environment + " " + self + " " + what + plan);
}
constexpr const char* kNoCompiler = "SINTER_CACHE_SIZE=0 SINTER_LLVM=/nowhere SINTER_NVRTC=/nowhere";

int child(const std::string& plan) {
  try {
    const Function f = Function::load(plan);
    double sum = 0;
    for (const float v : f(steps())[0].to_vector<float>()) sum += v;
    bool compiler = false;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) compiler |= line.find("libLLVM") != std::string::npos || line.find("nvrtc") != std::string::npos;
    const Counters c = counters();
    std::printf("sum=%.9g compiled=%d generated=%d planned=%d fallbacks=%d mapped=%d library_calls=%d host_calls=%d\n", sum, int(c.kernels_compiled),
                int(c.sources_generated), int(c.plans_made), int(c.fallbacks), int(compiler), int(c.library_calls), int(c.host_calls));
    return 0;
  } catch (const Error& error) {
    std::printf("refused: %s\n", error.what());
    return 3;
  }
}

/// The function that child() calls.
Tensor formula(const Tensor& x) {
  Tensor w = reshape(cos(arange(24).astype(DType::float32)), {6, 4});
  eval(w);
  return softmax(tanh(matmul(x, w)) + x(ellipsis, Slice{0, 4}), -1) * mean(x);
}

/// The same for many elements, which a GPU sorts and scatters by kernels of its own.
Tensor sorting(const Tensor& x) {
  const Tensor many = reshape(expand_dims(x, 2) * cos(arange(1400).astype(DType::float32)), {-1}), order = argsort(many);
  const Tensor placed = add_at(zeros({many.size(0)}, DType::float32), Index(order), sort(many));
  return sum(placed * sort(sin(many)));
}

int save(const std::string& plan) {
  freeze(formula, {{DType::float32, {{"n", 5}, 6}}}).save(plan);
  return 0;
}

void sign(std::string& file) {
  const XXH128_hash_t sum = XXH3_128bits(file.data(), file.size() - sizeof(XXH128_hash_t));
  std::memcpy(file.data() + file.size() - sizeof sum, &sum, sizeof sum);
}

bool has_machine_code() { return !testing::on_gpu() && options().backend == "llvm"; }

}  // namespace

int main(int argc, char** argv) {
  self = fs::read_symlink("/proc/self/exe").string();
  for (int k = 1; k < argc; ++k)
    if (const std::string argument = argv[k]; argument.starts_with("--load=")) return child(argument.substr(7));
    else if (argument.starts_with("--save=")) return save(argument.substr(7));
  return testing::run_tests(argc, argv);
}

TEST_CASE("a loaded function agrees with the formula at all sizes for which its plans are valid") {
  const Tensor w = random_tensor({8, 8}), table = random_tensor({64, 8}), fixed = random_tensor({3, 8});
  const auto body = [=](const std::vector<Tensor>& in) {
    const std::int64_t batch = in[0].size(0), seq = in[0].size(1);
    const Tensor x = in[0] + exp(table)(Slice{0, seq});                           // a part that is constant for each size
    const Tensor h = relu(matmul(reshape(x, {batch * seq, 8}), softmax(w, -1)));  // a part that is constant
    const Tensor s = softmax(matmul(x, swapaxes(x, 1, 2)) * 0.1f, -1);            // only small numbers, because the errors of large ones exceed the tolerance
    const Tensor n = (x - mean(x, {0, 1})) * 2.f + fixed(1);                      // a literal that is a product of sizes
    return std::vector<Tensor>{
        reshape(h, {batch, seq, 8}) + matmul(s, x), n, x(Slice{}, Slice{1, {}}), in[0], full({seq, batch}, 2.f), reshape(x, {seq * batch * 8})};
  };
  File file("sizes.plan");
  const Function f = freeze(body, {{DType::float32, {{"batch", 6}, {"seq", 20}, 8}, "x"}}, {"a", "b", "c", "d", "e", "f"});
  f.prepare({{"batch", 1}});
  const Function g = saved_and_loaded(f, file);
  CHECK(g.plans() == f.plans());
  CHECK(g.outputs() == f.outputs());
  CHECK(to_string(g.inputs()[0]) == "x: float32[batch, seq, 8]");
  const auto made = counters().plans_made;
  int held = 0;
  for (const auto& [batch, seq] :
       {std::pair<std::int64_t, std::int64_t>{6, 20}, {1, 20}, {7, 20}, {6, 22}, {5, 26}, {14, 18}, {6, 21}, {12, 30}, {3, 40}, {1, 30}, {16, 64}}) {
    const std::vector<Tensor> in{random_tensor({batch, seq, 8})};
    std::vector<Tensor> got;
    try {
      got = g(in);
    } catch (const ShapeError& error) {  // no plan is valid for these sizes
      CHECK(std::string(error.what()).find("the file has no plan for batch") != std::string::npos);
      continue;
    }
    ++held;
    const auto want = body(in);
    REQUIRE(got.size() == want.size());
    for (std::size_t k = 0; k < got.size(); ++k) check_near(got[k], want[k]);
  }
  CHECK(counters().plans_made > made);  // the plan for the formula's own sizes
  CHECK(held >= 2);                     // the plans that were prepared
  CHECK_THROWS_WITH_AS(g(random_tensor({6, 0, 8})), doctest::Contains("seq = 0"), ShapeError);
  CHECK_THROWS_AS(g(random_tensor({6, 20, 7})), ShapeError);
  CHECK_THROWS_AS(g.save(file.path), ValueError);
  CHECK(g.explain().find("live at once") != std::string::npos);
}

TEST_CASE("a formula that records differently at some sizes is served in steps, or at one size") {
  // The formulas use half of a size, which is no sum of products; branch on odd sizes; and use a third of a size.
  const auto halves = [](const std::vector<Tensor>& in) { return std::vector<Tensor>{in[0](Slice{0, in[0].size(0) / 2}) * 2.f}; };
  const auto odd = [](const std::vector<Tensor>& in) { return std::vector<Tensor>{in[0].size(0) % 2 ? exp(in[0]) : in[0] + 1.f}; };
  const auto thirds = [](const std::vector<Tensor>& in) { return std::vector<Tensor>{in[0](Slice{0, in[0].size(0) / 3}) * 2.f}; };
  for (const auto& body : {Function::Formula(halves), Function::Formula(odd), Function::Formula(thirds)}) {
    const bool held = body.target_type() == typeid(thirds);
    File file("held.plan");
    const Function f = freeze(body, {{DType::float32, {{"n", 10}, 3}}});
    const Function g = saved_and_loaded(f, file);
    const std::vector<Tensor> ten{random_tensor({10, 3})}, eleven{random_tensor({11, 3})};
    check_near(g(ten)[0], body(ten)[0]);
    CHECK_THROWS_WITH_AS(g(eleven), doctest::Contains(held ? "n = 10" : "every 2nd size"), ShapeError);
    check_near(f(eleven)[0], body(eleven)[0]);  // f still has the formula and can record other sizes
    for (const std::int64_t n : {4, 12, 26, 300}) {
      const std::vector<Tensor> in{random_tensor({n, 3})};
      const auto got = called(g, in);
      if (held) CHECK(got.empty());
      else if (!got.empty() || !testing::on_gpu()) check_near(got.at(0), body(in)[0]);
    }
  }
}

TEST_CASE("indices, library calls with epilogues and several results are saved and loaded") {
  const Tensor k = random_tensor({4, 3, 3, 3});
  File file("more.plan");
  const auto body = [=](const std::vector<Tensor>& in) {
    const Tensor y = relu(conv(in[0], k, {}, {.padding = 1}) + 1.f);
    return std::vector<Tensor>{max_pool(y, 2), take(sum(y, {2, 3}), in[1], 0), cumsum(in[0], 3), argmax(y, 1),
                               sort(reshape(in[0], {in[0].size(0), 90 * 3}), 1)};
  };
  const Function g = saved_and_loaded(freeze(body, {{DType::float32, {{"n", 13}, 3, 9, 10}}, {DType::int64, {2}}}), file);
  for (const std::int64_t n : {13, 14}) {
    const std::vector<Tensor> in{random_tensor({n, 3, 9, 10}), from_span(std::vector<std::int64_t>{4, -2})};
    const auto got = g(in), want = body(in);
    for (std::size_t r = 0; r < got.size(); ++r) check_near(got[r], want[r]);
    CHECK_THROWS_WITH_AS(g({in[0], from_span(std::vector<std::int64_t>{0, n})}), doctest::Contains(std::to_string(n).c_str()), IndexError);
  }
}

TEST_CASE("another process plans, generates and compiles nothing, and maps no compiler") {
  File file("child.plan");
  const Function f = freeze(formula, {{DType::float32, {{"n", 5}, 6}}});
  f.save(file.path);
  const Ran ran = run_child(file.path, kNoCompiler);
  INFO(ran.out);
  REQUIRE(ran.status == 0);
  REQUIRE(ran.out.find("sum=") != std::string::npos);
  double sum = 0;
  for (const float v : f(steps())[0].to_vector<float>()) sum += v;
  CHECK(std::atof(ran.out.c_str() + ran.out.find("sum=") + 4) == doctest::Approx(sum).epsilon(1e-6));
  CHECK(ran.out.find("compiled=0 ") != std::string::npos);
  CHECK(ran.out.find("planned=0 fallbacks=0 ") != std::string::npos);
  if (!sinter::options().device.starts_with("opencl")) CHECK(ran.out.find("mapped=0") != std::string::npos);  // OpenCL on a CPU maps LLVM itself
  if (testing::on_gpu()) {
    const Ran elsewhere = run_child(file.path, "SINTER_DEVICE=cpu");
    INFO(elsewhere.out);
    CHECK(elsewhere.out.find("the device is cpu") != std::string::npos);
  }
}

TEST_CASE("the kernels of sorts and scatters are in the file") {
  const bool by_host = testing::on_gpu() && !testing::on_cuda();  // with OpenCL the host computes these calls
  File file("sorting.plan");
  const Function f = freeze(sorting, {{DType::float32, {5, 6}}});
  f.save(file.path);
  const Counters before = counters();
  const float wanted = f(steps())[0].item<float>();
  const Counters after = counters();
  CHECK((after.host_calls > before.host_calls) == by_host);
  CHECK(after.library_calls >= before.library_calls + 3);  // three sorts and a scatter
  if (testing::on_cuda()) CHECK(after.kernels_launched > before.kernels_launched + 50);
  const Ran ran = run_child(file.path, kNoCompiler);
  INFO(ran.out);
  REQUIRE(ran.status == 0);
  REQUIRE(ran.out.find("sum=") != std::string::npos);
  CHECK(std::atof(ran.out.c_str() + ran.out.find("sum=") + 4) == doctest::Approx(wanted).epsilon(1e-6));
  CHECK(ran.out.find("compiled=0 ") != std::string::npos);
  CHECK(ran.out.find("planned=0 fallbacks=0 ") != std::string::npos);
  CHECK((ran.out.find("mapped=0") == std::string::npos) == by_host);
  CHECK((ran.out.find("host_calls=0") == std::string::npos) == by_host);
}

TEST_CASE("a plan with a library's products is refused with a remedy if the library is missing or has no algorithm") {
  const char* driver = std::getenv("SINTER_CUDA_DRIVER");
  if (!testing::on_gpu() || !driver || std::string(driver).find("libcuda_emulator") == std::string::npos || options().fuse == false) return;
  const std::string library = " SINTER_CUBLASLT=" + (fs::path(driver).parent_path() / "libcublaslt_emulator.so").string();
  File file("products.plan");
  const Ran saved = run_child(file.path, library, "--save=");
  INFO(saved.out);
  REQUIRE(saved.status == 0);
  const Ran ran = run_child(file.path, library);
  INFO(ran.out);
  CHECK(ran.status == 0);
  CHECK(ran.out.find("library_calls=1 host_calls=0") != std::string::npos);
  for (const std::string& lacking : {library + " SINTER_EMULATOR_PRODUCTS=0", std::string(" SINTER_CUBLASLT=off")}) {
    const Ran refused = run_child(file.path, lacking);
    INFO(refused.out);
    CHECK(refused.status != 0);
    CHECK(refused.out.find("refused: ") != std::string::npos);
    CHECK(refused.out.find("save it again on this device, or anywhere with SINTER_CUBLASLT=off") != std::string::npos);
  }
}

TEST_CASE("code for another machine is compiled again, or refused if there is no compiler") {
  if (!has_machine_code()) return;
  File file("other.plan");
  const Function f = freeze(formula, {{DType::float32, {{"n", 5}, 6}}});
  f.save(file.path);
  // Each kernel's entry names another processor, and the checksums are correct.
  std::string bytes = file.bytes();
  int changed = 0;
  for (std::size_t at = bytes.find("sinter\r\n"); at != std::string::npos; at = bytes.find("sinter\r\n", at + 1)) {
    std::uint64_t lengths[3];
    std::memcpy(lengths, bytes.data() + at + 16, sizeof lengths);
    const std::size_t end = 40 + lengths[0] + lengths[1] + lengths[2];
    const std::size_t target = bytes.find("cpu:x86-64", at);
    REQUIRE(target < at + end);
    bytes[target + 9] = '5';
    std::string entry = bytes.substr(at, end + sizeof(XXH128_hash_t));
    sign(entry);
    bytes.replace(at, entry.size(), entry);
    ++changed;
  }
  REQUIRE(changed > 0);
  sign(bytes);
  file.write(bytes);
  const Ran refused = run_child(file.path, kNoCompiler);
  INFO(refused.out);
  CHECK(refused.out.find("were compiled for cpu:x86-65") != std::string::npos);
  const auto made = [] {  // from the plan's nests, not from the file
    const Counters all = counters();
    return all.kernels_compiled + all.kernels_from_disk + all.kernels_from_memory;
  };
  const auto before = made();
  const Function g = Function::load(file.path);
  CHECK(made() > before);
  const Tensor x = random_tensor({5, 6});
  check_near(g(x)[0], formula(x));
}

TEST_CASE("truncated, changed and foreign files are refused") {
  File file("whole.plan"), damaged("damaged.plan");
  freeze(formula, {{DType::float32, {{"n", 5}, 6}, "x"}}).save(file.path);
  const std::string whole = file.bytes();
  REQUIRE(whole.size() > 8192);
  CHECK_NOTHROW(Function::load(file.path));
  CHECK_THROWS_AS(Function::load(damaged.path), IoError);  // there is no compiler
  CHECK_THROWS_AS(Function::load(fs::temp_directory_path().string()), IoError);
  for (const std::string& other : {std::string(), std::string("x"), std::string(100000, '\0'), std::string(100000, 'x')}) {
    damaged.write(other);
    CHECK_THROWS_AS(Function::load(damaged.path), IoError);
  }
  const auto pick = [&](std::size_t low, std::size_t high) { return std::uniform_int_distribution<std::size_t>(low, high)(testing::numbers()); };
  for (std::size_t length = 0; length < whole.size(); length += length < 256 ? 1 : 97) {
    damaged.write(whole.substr(0, length));
    CHECK_THROWS_AS(Function::load(damaged.path), IoError);
  }
  damaged.write(whole + "x");
  CHECK_THROWS_AS(Function::load(damaged.path), IoError);
  for (int round = 0; round < 300; ++round) {
    std::string changed = whole;
    changed[pick(0, whole.size() - 1)] ^= static_cast<char>(1 << pick(0, 7));
    damaged.write(changed);
    CHECK_THROWS_AS(Function::load(damaged.path), IoError);
  }
}

TEST_CASE("one plan serves sizes far from its own, and says where its range ends and why") {
  const Tensor table = random_tensor({100, 24}), w = random_tensor({24, 24}) * 0.2f, up = random_tensor({24, 48}) * 0.2f, down = random_tensor({48, 24}) * 0.2f;
  eval(std::vector<Tensor>{w, up, down});
  // A layer of a transformer: heads, a mask, two normalizations, an activation.
  const auto body = [=](const std::vector<Tensor>& in) {
    const std::int64_t batch = in[0].size(0), seq = in[0].size(1);
    const Tensor x = in[0] + table(Slice{0, seq});
    const auto heads = [&](const Tensor& y) { return transpose(reshape(y, {batch, seq, 3, 8}), {0, 2, 1, 3}); };
    const Tensor h = layer_norm(x), q = heads(matmul(h, w));
    const Tensor scores = matmul(q, swapaxes(q, 2, 3)) * 0.35f + reshape(in[1], {batch, 1, 1, seq});
    const Tensor mixed = reshape(transpose(matmul(softmax(scores, -1), q), {0, 2, 1, 3}), {batch, seq, 24}) + x;
    return std::vector<Tensor>{mixed + matmul(gelu(matmul(layer_norm(mixed), up)), down), mean(mixed, {1})};
  };
  File file("wide.plan");
  freeze(body, {{DType::float32, {{"batch", 4}, {"seq", 16}, 24}, "x"}, {DType::float32, {{"batch", 4}, {"seq", 16}}, "mask"}}, {"y", "pooled"})
      .save(file.path);
  const Function f = Function::load(file.path);
  REQUIRE(f.plans() == 1);
  INFO(f.serves()[0], "\n", f.limits()[0]);
  for (const std::int64_t batch : {2, 3, 4, 8, 24, 33, 64})
    for (const std::int64_t seq : {2, 3, 8, 16, 24, 31, 48, 64, 99, 100}) {
      INFO("batch = ", batch, ", seq = ", seq);
      const std::vector<Tensor> in{random_tensor({batch, seq, 24}), random_tensor({batch, seq})};
      const auto got = called(f, in);
      CHECK((!got.empty() || testing::on_gpu()));
      if (got.empty()) continue;
      const auto want = body(in);
      for (std::size_t k = 0; k < got.size(); ++k) check_near(got[k], want[k]);
    }
  if (testing::on_gpu()) return;                                   // vectors and blocks of a GPU ask for more of the sizes
  CHECK(f.serves()[0].find("seq 2 to 100") != std::string::npos);  // all of the table too
  CHECK(f.limits()[0].find("not 101: ") != std::string::npos);
  CHECK_THROWS_WITH_AS(f({random_tensor({2, 101, 24}), random_tensor({2, 101})}), doctest::Contains("beyond the end of its operand"), ShapeError);
  CHECK_THROWS_WITH_AS(f({random_tensor({1, 16, 24}), random_tensor({1, 16})}), doctest::Contains("0 or 1"), ShapeError);
}

TEST_CASE("sizes that are halved and rounded are served in steps") {
  if (testing::on_gpu()) return;  // on a GPU, vectors and blocks restrict the sizes
  const Tensor w = random_tensor({6, 3, 3, 3}), v = random_tensor({6, 6, 3, 3});
  eval({w, v});
  const auto body = [=](const std::vector<Tensor>& in) {
    const Tensor half = conv2d(in[0], w, {}, {.stride = 2, .padding = 1}), quarter = conv2d(relu(half), v, {}, {.stride = 2, .padding = 1});
    const Shape& small = half.shape();
    const Tensor twice = broadcast_to(reshape(half, {small[0], 6, small[2], 1, small[3], 1}), {small[0], 6, small[2], 2, small[3], 2});
    return std::vector<Tensor>{quarter, mean(half, {2, 3}), concatenate({in[0], reshape(twice, {small[0], 6, small[2] * 2, small[3] * 2})}, 1)};
  };
  // Two equal sides are one size symbol. So a plan for nearby different sides is made, which serves equal sides, too.
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{40, 56}, {64, 64}}) {
    File file("steps.plan");
    freeze(body, {{DType::float32, {{"batch", 2}, 3, {"h", rows}, {"w", columns}}}}).save(file.path);
    const Function f = Function::load(file.path);
    int served = 0;
    for (const auto& [height, width] : {std::pair<std::int64_t, std::int64_t>{rows, columns}, {80, 40}, {96, 160}, {32, 64}, {128, 128}, {24, 48}, {192, 8}}) {
      INFO("planned for ", rows, " x ", columns, ", called with ", height, " x ", width, ": ", f.serves()[0], "; ", f.serves().back());
      const std::vector<Tensor> in{random_tensor({3, 3, height, width})};
      const auto got = called(f, in);
      if (got.empty()) continue;
      ++served;
      const auto want = body(in);
      for (std::size_t k = 0; k < got.size(); ++k) check_near(got[k], want[k]);
    }
    INFO(f.serves()[0], "; ", f.serves().back(), "\n", f.limits().back());
    CHECK(served >= 4);
    CHECK(f.serves().back().find(" by ") != std::string::npos);
    CHECK_THROWS_WITH_AS(f({random_tensor({2, 3, rows + 1, columns})}), doctest::Contains(rows == columns ? "no plan" : "th size"), ShapeError);
  }
}

TEST_CASE("axes whose sizes may become equal are dynamic together") {
  const auto body = [](const std::vector<Tensor>& in) { return std::vector<Tensor>{softmax(in[0] * reshape(in[1], {-1, 1, 1}) + in[2], -1)}; };
  File file("apart.plan");
  freeze(body, {{DType::float32, {{"a", 41}, {"b", 43}, {"c", 47}}}, {DType::float32, {{"a", 41}}}, {DType::float32, {{"b", 43}, {"c", 47}}}}).save(file.path);
  const Function f = Function::load(file.path);
  CHECK(f.plans() == 1);
  for (const auto& [a, b, c] : {std::tuple<std::int64_t, std::int64_t, std::int64_t>{41, 43, 47}, {50, 44, 45}, {30, 60, 33}}) {
    const std::vector<Tensor> in{random_tensor({a, b, c}), random_tensor({a}), random_tensor({b, c})};
    const auto got = called(f, in);
    CHECK((!got.empty() || testing::on_gpu()));
    if (!got.empty()) check_near(got[0], body(in)[0]);
  }
}

TEST_CASE("saving records the formula once for each size that it tries, for any number of plans") {
  const Tensor table = random_tensor({64, 8});
  std::map<std::pair<std::int64_t, std::int64_t>, int> calls;
  const auto body = [&](const std::vector<Tensor>& in) {
    ++calls[{in[0].size(0), in[0].size(1)}];
    return std::vector<Tensor>{softmax(in[0] + table(Slice{0, in[0].size(1)}), -1)};
  };
  File file("once.plan");
  const Function made = freeze(body, {{DType::float32, {{"batch", 4}, {"seq", 8}, 8}}});  // the formula contains the number 8, too
  made.prepare({{"batch", 8}, {"seq", 16}});
  calls.clear();
  made.save(file.path);
  int all = 0;
  for (const auto& [sizes, count] : calls) {
    INFO("batch = ", sizes.first, ", seq = ", sizes.second);
    CHECK(count <= 2);  // sizes near a plan that is not general
    all += count;
  }
  MESSAGE(calls.size(), " sizes, recorded ", all, " times");
  CHECK(all < static_cast<int>(calls.size()) + 8);
}

TEST_CASE("of several plans that are valid for a size, the one made for it is used, else the nearest") {
  // A sum of few long rows is split into pieces, a sum of many short rows is not. An estimate decides, so these are different plans.
  const auto body = [](const std::vector<Tensor>& in) { return std::vector<Tensor>{sum(exp(in[0]), 1)}; };
  File file("nearest.plan");
  const Function made = freeze(body, {{DType::float32, {{"rows", 2}, {"long", 40}}}});
  made.prepare({{"long", 300000}});
  CHECK(made.plans() == 2);
  made.save(file.path);
  const Function f = Function::load(file.path);
  for (const auto& [rows, length] : {std::pair<std::int64_t, std::int64_t>{2, 40}, {2, 300000}, {3, 7}, {2, 5000}, {700, 300}, {5, 200000}}) {
    INFO("rows = ", rows, ", long = ", length);
    const std::vector<Tensor> in{random_tensor({rows, length})};
    const auto got = called(f, in);
    CHECK((!got.empty() || testing::on_gpu()));
    if (!got.empty()) check_near(got[0], body(in)[0]);
  }
}

TEST_CASE("a formula that branches on a size serves the sizes with the same branch") {
  using List = std::vector<Tensor>;
  const auto decides = [](const List& in) {
    const Tensor& x = in[0];
    const std::int64_t rows = x.size(0), length = x.size(1);
    const Tensor turned = length > 9 ? x * x : -x;                                       // other operations
    return List{rows * length > 700 ? turned + 1.f : turned, x(Slice{}, Slice{-3, 8})};  // depends on both axes; the slice is empty from 11 on
  };
  for (const std::int64_t length : {7, 8, 16, 40}) {
    File file("decides.plan");
    freeze(decides, {{DType::float32, {{"rows", 4}, {"length", length}}}}).save(file.path);
    const Function f = Function::load(file.path);
    INFO("made for ", length, ": ", f.serves()[0], "\n", f.limits()[0]);
    CHECK_FALSE(called(f, {random_tensor({4, length})}).empty());
    for (const std::int64_t rows : {2, 3, 4, 5, 11, 40, 64, 200})
      for (const std::int64_t other : {2, 3, 5, 8, 9, 10, 11, 12, 16, 31, 64, 100, 300}) {
        INFO(rows, " x ", other);
        const List in{random_tensor({rows, other})};
        const List got = called(f, in);
        if (got.empty()) continue;
        const List want = decides(in);
        for (std::size_t k = 0; k < got.size(); ++k) check_near(got[k], want[k]);
      }
  }
}

TEST_CASE("a plan of a random formula is right at every size that it serves, however far from its own") {
  const char* asked = std::getenv("SINTER_TEST_FORMULAS");
  const int formulas = asked ? std::atoi(asked) : testing::on_gpu() ? 3 : 12;
  int served = 0;
  int round = 0;
  for (int drawn = 0; round < formulas && drawn < 4 * formulas && !(round > 0 && testing::time_is_over()); ++round, ++drawn) {
    std::vector<unsigned> program;
    for (int k = 0; k < 7; ++k) program.push_back(std::uniform_int_distribution<unsigned>()(testing::numbers()));
    std::string text;
    const auto body = [&](const std::vector<Tensor>& in) {
      Tensor x = in[0];
      text.clear();
      int squares = 0, doubled = 0;
      for (const unsigned step : program) {
        const int axis = static_cast<int>(step >> 8) % x.ndim(), last = x.ndim() - 1;
        const auto say = [&](const char* what) { text += std::string(what) + "(" + std::to_string(axis) + ") "; };
        switch (step % 14) {
          case 0: say("tanh"), x = tanh(x) * 1.5f + 0.25f; break;
          case 1: say("centre"), x = x - mean(x, {axis}, true); break;
          case 2: say("softmax"), x = softmax(x * 2.f, axis); break;
          case 3: say("turn"), x = swapaxes(x, axis, last); break;
          case 4: say("join"), x = x.ndim() == 3 ? reshape(x, {x.size(0) * x.size(1), x.size(2)}) : reshape(x, {x.size(0), 1, x.size(1)}); break;
          case 5:
            if (doubled++ < 2) say("twice"), x = concatenate({x, x * 0.5f}, axis);
            break;
          case 6: say("pad"), x = pad(x, std::vector<std::pair<std::int64_t, std::int64_t>>(static_cast<std::size_t>(x.ndim()), {1, 0})); break;
          case 7: say("cumsum"), x = cumsum(x, axis) * 0.1f; break;
          case 8:
            if (squares++ == 0) say("square"), x = matmul(x, swapaxes(x, -1, -2)) * 0.05f;
            break;
          case 9: say("sum"), x = x + sum(x, {axis}, true) * 0.01f; break;
          case 10: say("largest"), x = x * 0.5f + max(x, {axis}, true); break;
          case 11: say("flip"), x = flip(x, {axis}) + x; break;
          case 12: say("windows"), x = max(sliding_window_view(x, {2}, {axis}), {-1}); break;
          // (Of a row whose elements are equal but for rounding, an eps of 1e-5 would make that rounding 300 times as large.)
          default: say("fewer"), x = x.ndim() == 3 ? sum(x, {axis}) * 0.1f : layer_norm(x, {}, {}, 1); break;
        }
      }
      return std::vector<Tensor>{x, mean(x)};
    };
    File file("formula.plan");
    Function f;
    try {
      f = freeze(body, {{DType::float32, {{"a", 6}, {"b", 20}, 5}}});
    } catch (const ShapeError&) {  // a window over an axis of one element
      --round;
      continue;
    }
    const Function g = saved_and_loaded(f, file);
    for (const auto& [a, b] : {std::pair<std::int64_t, std::int64_t>{6, 20}, {2, 2}, {3, 7}, {7, 3}, {20, 6}, {33, 2}, {2, 65}, {17, 31}, {5, 5}, {40, 20}}) {
      INFO("formula ", round, ": ", text, " at a = ", a, ", b = ", b, "\n", g.serves()[0]);
      const std::vector<Tensor> in{random_tensor({a, b, 5})};
      const auto got = called(g, in);
      if (got.empty()) continue;
      ++served;
      const auto want = body(in);
      for (std::size_t k = 0; k < got.size(); ++k) check_near(got[k], want[k]);
    }
  }
  CHECK((served > round || testing::on_gpu() || round < 3));  // not only the sizes that they were made for
}

namespace {

/// Returns the file with a few changed bytes in its description, and with a correct checksum.
std::string forged(const std::string& whole, std::mt19937_64& numbers) {
  std::uint64_t description = 0;
  std::memcpy(&description, whole.data() + 16, sizeof description);
  std::string file = whole;
  const auto place = [&](std::size_t bytes) { return 40 + numbers() % (description - bytes); };
  for (std::size_t changes = 1 + numbers() % 2; changes > 0; --changes) {
    static constexpr std::int64_t kExtreme[] = {0, 1, -1, 2, 3, 255, 1 << 20, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, std::int64_t{1} << 40};
    const std::int64_t number = kExtreme[numbers() % std::size(kExtreme)];
    switch (numbers() % 4) {
      case 0:
      case 1: file[place(1)] ^= static_cast<char>(1 << numbers() % 8); break;
      case 2: std::memcpy(file.data() + place(4), &number, 4); break;
      default: std::memcpy(file.data() + place(8), &number, 8);
    }
  }
  sign(file);
  return file;
}

}  // namespace

namespace {

/// Saves the formula's plan, checks that it runs, and changes it many times: each is refused or runs.
void check_forgeries(const Function::Formula& body, const std::vector<InputSpec>& specs, const std::vector<Tensor>& in, const std::string& name,
                     int mutations) {
  File file(name + ".plan");
  freeze(body, specs).save(file.path);
  const std::string whole = file.bytes();
  eval(in);
  CHECK(Function::load(file.path)(in).size() == body(in).size());
  File mine(name + "_mutation.plan");
  const auto outcomes =
      testing::try_mutations(testing::mutations_or(mutations), std::uniform_int_distribution<unsigned>()(testing::numbers()), [&](std::uint64_t mutation) {
        std::mt19937_64 numbers(mutation);
        mine.write(forged(whole, numbers));
        const std::vector<Tensor> got = Function::load(mine.path)(in);
        for (std::size_t r = 0; r < got.size(); ++r)
          if (got[r].size() <= 1 << 20) (void)got[r].astype(DType::float64).to_vector<double>();
      });
  CHECK(outcomes.refused > 0);
}

}  // namespace

TEST_CASE("a forged file with a correct checksum is refused, or gives results of the right shapes") {
  if (testing::on_gpu()) return;  // on a GPU nothing checks the accesses of kernels
  const Tensor w = random_tensor({6, 4});
  eval(w);
  const auto body = [=](const std::vector<Tensor>& in) {
    const Tensor x = in[0], h = tanh(matmul(x, w)) + 1.f;
    // The formula has no guarded reads and no gathers, because a kernel's code keeps these within their buffers, and not the numbers in the file.
    return std::vector<Tensor>{softmax(h, -1) + x(ellipsis, Slice{0, 4}), cumsum(swapaxes(x, 0, 1), 1), relu(max(x, {0})), sort(x, 1),
                               flip(x * 2.f, {1}) - in[1]};
  };
  check_forgeries(body, {{DType::float32, {{"n", 5}, 6}}, {DType::int64, {6}}},
                  {random_tensor({5, 6}), from_span(std::vector<std::int64_t>{4, 0, 2, 1, -3, 7})}, "forged", 2000);
}

TEST_CASE("a forged file with library calls that have special layouts is refused, or gives results of the right shapes") {
  if (testing::on_gpu()) return;
  const Tensor planes = random_tensor({2, 3, 3, 3, 16}), depthwise = random_tensor({2, 3, 3, 16}), blocked = random_tensor({1, 2, 1, 1, 16, 16}),
               tiles = random_tensor({16, 1, 2, 16, 16});
  const Tensor by = random_tensor({5, 16}), by_inputs = random_tensor({22, 16}), start = random_tensor({2, 3, 4});
  const Tensor panels = (random_tensor({2, 3, 16, 4}) * 50.f).astype(DType::int8), rows = (abs(random_tensor({7, 10})) * 50.f).astype(DType::uint8);
  eval({planes, depthwise, blocked, tiles, by, by_inputs, start, panels, rows});
  const auto body = [=](const std::vector<Tensor>& in) {
    const Tensor first = conv2d_blocked(in[0], planes, {}), second = conv2d_blocked(first, depthwise, {});
    return std::vector<Tensor>{conv2d_blocked(second, blocked, {}),
                               conv2d_blocked(second, tiles, {}),
                               recurrence(Cell::lstm, in[1], by, start),
                               recurrence(Cell::lstm, in[1], by, start, true, in[3]),
                               recurrence(Cell::lstm, in[1], by_inputs, start, true, in[3]),
                               matmul_panels(in[2], panels, 20)};
  };
  check_forgeries(body, {{DType::float32, {{"n", 2}, 3, 9, 8}}, {DType::float32, {{"t", 6}, 3, 16}}, {DType::uint8, {{"m", 7}, 10}}, {DType::int64, {3}}},
                  {random_tensor({2, 3, 9, 8}), random_tensor({6, 3, 16}), rows, from_span(std::vector<std::int64_t>{4, 9, -2})}, "forged_calls", 2000);
}
