// Programs over sharded tensors, on 1, 2, 4 and 8 ranks that are threads: the same bits on every number of ranks and on every rank, and close to the same
// program without shards.
#include <doctest/doctest.h>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <mutex>
#include <random>
#include <sinter/decompositions.hpp>
#include <sinter/fft.hpp>
#include <sinter/freeze.hpp>
#include <sinter/nn.hpp>
#include <sinter/random.hpp>
#include <sinter/ranks.hpp>
#include <sinter/safetensors.hpp>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "bytes_of.hpp"
#include "draws.hpp"
#include "program.hpp"
#include "ranks/partition.hpp"
#include "seed.hpp"

namespace ranks = sinter::ranks;
using namespace sinter::testing;

namespace {

/// Shards a tensor along the names, or returns it unchanged if the program runs without ranks.
using Put = std::function<Tensor(const Tensor&, const std::vector<std::string>&)>;
using Program = std::function<std::vector<Tensor>(const Put&)>;

void check_close(const Tensor& a, const Tensor& b, double tolerance) {
  REQUIRE(a.shape() == b.shape());
  REQUIRE(a.dtype() == b.dtype());
  const auto x = a.astype(DType::float64).to_vector<double>(), y = b.astype(DType::float64).to_vector<double>();
  double largest = 1;
  for (const double value : y)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (x[k] == y[k] || (std::isnan(x[k]) && std::isnan(y[k]))) continue;
    CHECK_MESSAGE(std::abs(x[k] - y[k]) <= tolerance * largest, "element " << k << ": " << x[k] << " and " << y[k]);
  }
}

/// Runs the program on 1, 2, 4 and 8 ranks along one mesh axis; in a sample, on 1 and on one of the others.
void same_on_any_ranks(const Program& program, double tolerance = 1e-5) {
  const std::vector<Tensor> expected = program([](const Tensor& x, const auto&) { return x; });
  std::vector<std::vector<std::byte>> bits;
  for (const int count : is_sample() ? std::vector{1, 1 << pick(1, 3)} : std::vector{1, 2, 4, 8}) {
    std::mutex mutex;
    ranks::run(count, [&](ranks::World world) {
      const ranks::Mesh mesh(world, {{"data", count}});
      const std::vector<Tensor> results = program([&](const Tensor& x, const auto& names) { return ranks::shard(x, mesh, names); });
      sn::eval(results);
      std::vector<std::vector<std::byte>> mine;
      for (const Tensor& result : results) mine.push_back(bytes_of(result));
      const std::lock_guard lock(mutex);
      if (bits.empty()) {
        bits = mine;
        for (std::size_t k = 0; k < results.size(); ++k) check_close(results[k], expected[k], tolerance);
      }
      for (std::size_t k = 0; k < mine.size(); ++k)
        CHECK_MESSAGE(mine[k] == bits[k], "result " << k << ", " << ranks::describe(results[k]) << ", on rank " << world.rank() << " of " << count);
    });
  }
}

/// Checks that the call throws an exception whose message contains this text and ends with a line of this file.
template <class E> void tells(const std::function<void()>& call, const std::string& what) {
  std::string text = "nothing was thrown";
  try {
    call();
  } catch (const E& error) {
    text = error.what();
  }
  CAPTURE(text);
  CHECK(text.find(what) != std::string::npos);
  CHECK(text.find(std::string(" at ") + __FILE__) != std::string::npos);
}

/// Returns evaluated tensors, so that every rank reads the same elements.
Tensor numbers(const Shape& shape, std::uint64_t key, DType dtype = DType::float32) {
  Tensor made = sn::random::normal(sn::random::Key(key), shape).astype(dtype);
  sn::eval(made);
  return made;
}

}  // namespace

TEST_CASE("elementwise, reductions and views") {
  for (const std::int64_t n : sampled({1, 5, 8, 61, 1000})) {
    CAPTURE(n);
    const Tensor x0 = numbers({n, 37}, 1), w = numbers({37}, 2);
    same_on_any_ranks([&](const Put& put) {
      const Tensor x = put(x0, {"data", ""});
      const Tensor y = sn::exp(x * w) + 1;
      return std::vector<Tensor>{y,
                                 sn::sum(y, 0),
                                 sn::sum(y, 1),
                                 sn::sum(y),
                                 sn::mean(y, 0),
                                 sn::max(y, 0),
                                 sn::min(y),
                                 sn::argmax(y, 1),
                                 sn::var(y, 0),
                                 sn::softmax(y, -1),
                                 sn::softmax(y, 0),
                                 sn::transpose(y) + 1.0f,
                                 sn::prod(sn::tanh(x), 0),
                                 sn::any(x > 0, 0),
                                 sn::argmin(y, 0),
                                 sn::norm(y)};
    });
  }
}

TEST_CASE("every element type") {
  for (const std::int64_t number : sampled(integers(0, sn::kDTypeCount - 1))) {
    const auto dtype = static_cast<DType>(number);
    CAPTURE(sn::name(dtype));
    const Tensor x0 = (numbers({19, 6}, 3, DType::float64) * 2).astype(dtype);
    sn::eval(x0);
    same_on_any_ranks(
        [&](const Put& put) {
          const Tensor x = put(x0, {"data", ""});
          return std::vector<Tensor>{x + x, sn::sum(x, 0), sn::max(x, 0), sn::cumsum(x, 0), sn::all(x, 0), x(sn::Slice{1, 12})};
        },
        sn::itemsize(dtype) == 1 ? 0.3 : 0.02);
  }
}

TEST_CASE("slices, pads and windows bring halos") {
  for (const std::int64_t n : sampled({3, 9, 64, 201})) {
    CAPTURE(n);
    const Tensor x0 = numbers({n, 5}, 4);
    same_on_any_ranks([&](const Put& put) {
      const Tensor x = put(x0, {"data", ""}) * 2;
      const sn::Slice all;
      Tensor written = x + 0.5f;
      written(sn::Slice{1, 3}) = -1;
      return std::vector<Tensor>{x(sn::Slice{0, -2}) + x(sn::Slice{2, {}}) - 2 * x(sn::Slice{1, -1}),
                                 sn::diff(x, 1, 0),
                                 sn::flip(x, 0),
                                 sn::roll(x, 1, 0),
                                 x(sn::Slice{{}, {}, 2}),
                                 x(sn::Slice{{}, {}, -3}),
                                 x(n - 1),
                                 x(1) + x,
                                 sn::concatenate({x, x + 1}, 0),
                                 sn::pad(x, {{2, 1}, {0, 3}}),
                                 written,
                                 sn::stack({x, -x}),
                                 x(all, 2),
                                 sn::sliding_window_view(x, {3}, {0}).sum(-1),
                                 sn::cumsum(x, 0),
                                 sn::cumprod(x / 4, 0),
                                 sn::cumsum(x, 1)};
    });
  }
}

TEST_CASE("products, convolutions and library calls") {
  const Tensor x0 = numbers({33, 20}, 5), w0 = numbers({20, 12}, 6), images = numbers({10, 3, 14, 9}, 7), filters = numbers({4, 3, 3, 3}, 8);
  const Tensor squares = numbers({9, 4, 4}, 9);
  same_on_any_ranks([&](const Put& put) {
    const Tensor x = put(x0, {"data", ""}), across = put(x0, {"", "data"}), w = put(w0, {"data", ""}), wide = put(w0, {"", "data"});
    const Tensor batch = put(images, {"data", "", "", ""}), rows = put(images, {"", "", "data", ""}), matrices = put(squares, {"data", "", ""});
    return std::vector<Tensor>{sn::matmul(x, w0) + 1,
                               sn::matmul(x0, w),
                               sn::matmul(across, w),
                               sn::matmul(across, w0),
                               sn::matmul(x0, wide),
                               sn::matmul(sn::transpose(x), x),
                               sn::sort(x, 1),
                               sn::argsort(x, 1),
                               sn::conv2d(batch, filters),
                               sn::conv2d(rows, filters, {}, {.stride = {2, 1}, .padding = {1, 1}}),
                               sn::inv(matrices),
                               sn::solve(matrices, matrices + 1),
                               sn::take(x0, sn::abs(x * 3).astype(DType::int64), 0),
                               sn::where(x > 0, x, 0.f)};
  });
}

TEST_CASE("random numbers are the same on any number of ranks") {
  same_on_any_ranks([](const Put& put) {
    const Tensor x = put(sn::random::normal(sn::random::Key(1), {57, 4}), {"data", ""});
    const Tensor place = put(sn::arange(57.0), {"data"});
    return std::vector<Tensor>{x, sn::sum(x * sn::reshape(place, {57, 1}), 0), sn::reshape(x, {57, 2, 2})};
  });
}

TEST_CASE("loops without an evaluation") {
  const Tensor x0 = numbers({130}, 10, DType::float64);
  same_on_any_ranks([&](const Put& put) {
    Tensor x = put(x0, {"data"});
    for (int step = 0; step < 300; ++step) x = x + 0.1 * (sn::roll(x, 1, 0) + sn::roll(x, -1, 0) - 2 * x);
    Tensor w = sn::zeros({4});
    for (int step = 0; step < 40; ++step) w = w - 0.01 * sn::sum(x) * w + 0.1;
    return std::vector<Tensor>{x, w};
  });
}

TEST_CASE("frozen functions exchange") {
  const Tensor captured = numbers({40}, 30);
  const auto formula = [&](const Tensor& x, const Tensor& w) {
    const Tensor y = sn::tanh(sn::matmul(x, w)) + sn::sum(w) * 0.1f, s = sn::sum(y, 0);
    return std::vector<Tensor>{
        y, s, sn::roll(y, 1, 0) - y, sn::cumsum(y, 0) / 10, sn::softmax(y, 0), y - sn::mean(y) + sn::sum(captured), sn::matmul(y.T(), y), sn::sum(y), w * 2};
  };
  for (const std::int64_t n : {1, 7, 200}) {
    CAPTURE(n);
    const Tensor x0 = numbers({n, 6}, 31), w0 = numbers({6, 5}, 32);
    same_on_any_ranks([&](const Put& put) {
      const sn::Function f = sn::freeze(formula, {{DType::float32, {"n", 6}, "x"}, {DType::float32, {6, 5}, "w"}});
      std::vector<Tensor> results = f(put(x0, {"data", ""}), w0);
      const std::vector<Tensor> more = f(put(x0, {"data", ""}) * 2, w0 + 1), across = f(put(x0, {"", "data"}), put(w0, {"data", ""}));
      results.insert(results.end(), more.begin(), more.end());
      results.insert(results.end(), across.begin(), across.end());
      const std::vector<Tensor> chained = f(results[0](sn::Slice{}, sn::newaxis, 0) * sn::ones({6}, DType::float32), w0);
      results.insert(results.end(), chained.begin(), chained.end());
      results.push_back(f(x0, w0)[0]);  // values without shards work as usual
      const sn::Function inside =
          sn::freeze([&](const Tensor& x) { return sn::sum(put(x, {"data", ""}) * put(sn::random::normal(sn::random::Key(3), {n, 6}), {"data", ""}), 0); },
                     {{DType::float32, {n, 6}, "x"}});
      results.push_back(inside(x0)[0]);
      results.push_back(inside(x0 + 1)[0]);
      return results;
    });
  }
  ranks::run(1, [&](ranks::World world) {
    const ranks::Mesh mesh(world, {{"data", 1, 2}});
    const Tensor x = ranks::shard(numbers({8, 6}, 33), mesh, {"data", ""}), w = numbers({6, 5}, 34);
    const sn::Function f = sn::freeze(formula, {{DType::float32, {8, 6}, "x"}, {DType::float32, {6, 5}, "w"}});
    CHECK(ranks::describe(f(x, w)[0]) == "float32 (8@data, 5)");
    CHECK(f.explain().find("send_part") != std::string::npos);
    f(x + 1, w);
    const auto before = sn::counters();
    for (int call = 2; call < 6; ++call) f(x + call, w);
    CHECK(sn::counters().plans_made == before.plans_made);
    const sn::Function inside = sn::freeze([&](const Tensor& y) { return ranks::shard(y, mesh, {"data", ""}) * 2; }, {{DType::float32, {8, 6}, "x"}});
    tells<sn::ShardingError>([&] { inside.save("/nowhere"); }, "the formula shards its values");
    tells<sn::ShapeError>([&] { f(ranks::shard(sn::ones({9, 6}, DType::float32), mesh, {"data", ""}), w); }, "x: float32[8, 6] is given the shape (9, 6)");
  });
}

// One line evaluates many formulas of one structure. Each must give the same result as alone, for any combination of operands: equal tensors, unsharded or
// evaluated tensors, tensors that the user holds, local parts of others, or other literals.
TEST_CASE("a formula that is evaluated again has the same bits") {
  const Tensor a0 = numbers({24, 8}, 41), b0 = numbers({24, 8}, 42), c0 = numbers({24, 8}, 43);
  const auto formula = [](const Tensor& x, const Tensor& y, float by) {
    const Tensor z = sn::tanh(x) * y + by;
    return std::vector<Tensor>{z - sn::sum(z * x, 0), sn::roll(z, 1, 0) + y, sn::cumsum(z, 0), x};
  };
  const auto all = [&](const Put& put) {
    const Tensor a = put(a0, {"data", ""}), b = put(b0, {"data", ""}), c = c0 * 2, across = put(a0, {"", "data"});
    std::vector<Tensor> results;
    for (int round = 0; round < 3; ++round)
      for (const auto& [x, y, by] : std::vector<std::tuple<Tensor, Tensor, float>>{
               {a, b, 1}, {b, a, 1}, {a, a, 1}, {a, b, 2}, {a, c, 1}, {a, c0, 1}, {a, c0 + 1, 1}, {across, across + 1, 1}, {across, c, 1}, {a, b * 1.5f, 0}}) {
        const std::vector<Tensor> made = formula(x, y, by);
        sn::eval(made);
        results.insert(results.end(), made.begin(), made.end());
      }
    // In the first iteration some operands are not evaluated yet, and a kernel that computes them may add in another order.
    const std::size_t round = results.size() / 3;
    for (std::size_t k = round; k < 2 * round; ++k) CHECK(bytes_of(results[k + round]) == bytes_of(results[k]));
    return results;
  };
  same_on_any_ranks(all);
  ranks::run(1, [&](ranks::World world) {
    const ranks::Mesh mesh(world, {{"data", 1, 2}});
    const Tensor x = ranks::shard(a0, mesh, {"data", ""}) * 1, mine = ranks::local(x);
    std::vector<std::vector<std::byte>> bits;
    for (const Tensor& other : {mine, b0, mine, b0 * 1.0f, mine * 2.0f}) {
      const Tensor sum = x + other;
      bits.push_back(bytes_of(sum));
    }
    CHECK(bits[0] == bytes_of(a0 + a0));
    CHECK(bits[2] == bits[0]);
    CHECK(bits[1] == bytes_of(a0 + b0));
    CHECK(bits[3] == bits[1]);
    CHECK(bits[4] == bytes_of(a0 + a0 * 2.0f));
  });
}

TEST_CASE("a loop partitions its formula once") {
  for (const int count : {1, 2}) {
    std::atomic<std::size_t> more = 0;
    ranks::run(count, [&](ranks::World world) {
      const ranks::Mesh mesh(world, {{"data", count, 4}});
      Tensor x = ranks::shard(numbers({16, 3}, 44), mesh, {"data", ""}), w = numbers({3}, 45);
      std::size_t before = 0;
      for (int step = 0; step < 20; ++step) {
        if (step == 4) before = ranks::partitions_made(*mesh.state());
        x = sn::roll(x, 1, 0) * 0.5f + w;
        w = w + sn::sum(x, 0) * 0.01f;
        sn::eval(x, w);
      }
      more += ranks::partitions_made(*mesh.state()) - before;
    });
    CHECK(more == 0);
  }
}

TEST_CASE("ranks may hold different intermediate values") {
  std::mutex mutex;
  std::vector<std::vector<std::byte>> bits;
  for (const int holder : {-1, 0, 1})
    ranks::run(2, [&](ranks::World world) {
      const ranks::Mesh mesh(world, {{"data", 2, 4}});
      const Tensor x = ranks::shard(numbers({20, 6}, 48), mesh, {"data", ""});
      Tensor held = sn::exp(x) + 1;
      Tensor a = sn::roll(held, 1, 0) * held;
      sn::eval(a);
      Tensor b = sn::roll(held, 2, 0) + sn::sum(held, 0);
      if (world.rank() != holder) held = a;
      sn::eval(b);
      const std::vector<std::byte> mine = bytes_of(b);
      const std::lock_guard lock(mutex);
      bits.push_back(mine);
    });
  for (const auto& other : bits) CHECK(other == bits[0]);
}

TEST_CASE("one rank alone may read a whole value") {
  std::mutex mutex;
  std::vector<std::vector<std::byte>> bits;
  for (const int reader : {-1, 0, 2})
    ranks::run(3, [&](ranks::World world) {
      const ranks::Mesh mesh(world, {{"data", 3, 6}});
      const Tensor w = numbers({6}, 46) * 2, scale = sn::exp(w) + w;
      if (world.rank() == reader) CHECK(scale.to_vector<float>().size() == 6);
      const Tensor x = ranks::shard(numbers({20, 6}, 47), mesh, {"data", ""}) * scale;
      const std::vector<std::byte> mine = bytes_of(sn::max(x, 0) + scale);
      const std::lock_guard lock(mutex);
      bits.push_back(mine);
    });
  for (const auto& other : bits) CHECK(other == bits[0]);
}

TEST_CASE("random programs") {
  std::mt19937 random(fresh_seed());
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < (sn::options().backend == "interpreter" ? 20 : 5) && !time_is_over(); ++round) {
    const std::int64_t n = 1 + pick(90);
    CAPTURE(n);
    const Tensor x0 = numbers({n, 4}, random()), w0 = numbers({n, 4}, random()), m0 = numbers({4, 4}, random());
    struct Step {
      int op, a, b, amount;
    };
    std::vector<Step> steps;
    for (int k = 0; k < 12; ++k) steps.push_back({pick(14), pick(k + 2), pick(k + 2), pick(7)});
    same_on_any_ranks(
        [&](const Put& put) {
          std::vector<Tensor> all{put(x0, {"data", ""}), w0};
          for (const Step& step : steps) {
            const Tensor a = all[static_cast<std::size_t>(step.a)], b = all[static_cast<std::size_t>(step.b)];
            const std::int64_t some = std::min<std::int64_t>(step.amount, n - 1);
            const auto made = [&]() -> Tensor {
              switch (step.op) {
                case 0: return a + b;
                case 1: return a * b;
                case 2: return sn::tanh(a);
                case 3: return sn::softmax(a, step.amount % 2);
                case 4: return a - sn::mean(a, 0);
                case 5: return sn::tanh(sn::cumsum(a, step.amount % 2));
                case 6: return sn::roll(a, step.amount, 0);
                case 7: return sn::pad(a(sn::Slice{some, {}}), {{0, some}, {0, 0}});
                case 8: return sn::matmul(a, m0);
                case 9: return sn::where(a > b, a, sn::flip(b, 0));
                case 10: return sn::sort(a, 1);
                case 11: return sn::maximum(a, sn::sum(b, 0));
                case 12: return sn::matmul(a, sn::matmul(a.T(), b) / static_cast<float>(n));
                default: return sn::concatenate({b(sn::Slice{n - some, {}}), a(sn::Slice{0, n - some})});
              }
            };
            all.push_back(made());
          }
          std::vector<Tensor> results;
          for (std::size_t k = all.size() - 3; k < all.size(); ++k) results.push_back(all[k] + all[0]);
          results.push_back(sn::sum(results.back()));
          return results;
        },
        1e-3);
  }
}

TEST_CASE("a mesh of two axes") {
  const Tensor x0 = numbers({24, 16}, 11), w0 = numbers({16, 20}, 12);
  std::vector<std::vector<std::byte>> bits;
  for (const auto& [rows, columns] : {std::pair{1, 1}, {2, 1}, {1, 4}, {2, 2}, {4, 2}}) {
    std::mutex mutex;
    ranks::run(rows * columns, [&, rows = rows, columns = columns](ranks::World world) {
      const ranks::Mesh mesh(world, {{"data", rows}, {"model", columns}});
      const Tensor x = ranks::shard(x0, mesh, {"data", ""}), w = ranks::shard(w0, mesh, {"", "model"});
      const Tensor y = sn::tanh(sn::matmul(x, w)), inner = sn::matmul(ranks::shard(x0, mesh, {"data", "model"}), ranks::shard(w0, mesh, {"model", ""}));
      CHECK(ranks::describe(y) == "float32 (24@data, 20@model)");
      const std::vector<Tensor> results{
          y, inner, sn::sum(y, 0), sn::sum(y, 1), sn::sum(y), ranks::shard(y, mesh, {"model", "data"}), ranks::shard(y, mesh, {"", "data"})};
      sn::eval(results);
      std::vector<std::vector<std::byte>> mine;
      for (const Tensor& result : results) mine.push_back(bytes_of(result));
      check_close(results[0], sn::tanh(sn::matmul(x0, w0)), 1e-5);
      check_close(results[1], sn::matmul(x0, w0), 1e-5);
      check_close(results[4], sn::sum(sn::tanh(sn::matmul(x0, w0))), 1e-5);
      CHECK(mine[5] == mine[0]);
      CHECK(mine[6] == mine[0]);
      const std::lock_guard lock(mutex);
      if (bits.empty()) bits = mine;
      for (std::size_t k = 0; k < mine.size(); ++k) CHECK_MESSAGE(mine[k] == bits[k], "result " << k << " on " << rows << " x " << columns);
    });
  }
}

TEST_CASE("local parts, and files from all ranks") {
  const Tensor x0 = numbers({21, 5}, 13);
  const std::string path = std::string(std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "/tmp") + "/sinter_ranks_" + std::to_string(getpid()) + ".npy";
  ranks::run(4, [&](ranks::World world) {
    const ranks::Mesh mesh(world, {{"data", 4}});
    const Tensor x = ranks::shard(x0, mesh, {"data", ""}) * 2;
    const Tensor mine = ranks::local(x);
    const std::int64_t begin = std::min<std::int64_t>(21, 6 * world.rank()), end = std::min<std::int64_t>(21, 6 * world.rank() + 6);
    CHECK(bytes_of(mine) == bytes_of(x0(sn::Slice{begin, end}) * 2));
    ranks::save_npy(path, x);
    CHECK(bytes_of(sn::load_npy(path)) == bytes_of(x0 * 2));
    const Tensor again = ranks::load_npy(path, mesh, {"data", ""});
    CHECK(ranks::sharding(again) == std::vector<std::string>{"data", ""});
    CHECK(bytes_of(again + 0) == bytes_of(x0 * 2));
    tells<sn::IoError>([&] { ranks::save_npy("/nowhere/x.npy", x); }, "No such file");
  });
  std::remove(path.c_str());
}

TEST_CASE("safetensors files from all ranks") {
  const Tensor a0 = numbers({21, 5}, 13), b0 = numbers({7, 24}, 14, DType::float64), flags0 = a0 > 0, whole0 = numbers({3}, 15), none0 = sn::zeros({0, 4});
  sn::eval(flags0, none0);
  const std::string path = std::string(std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "/tmp") + "/sinter_ranks_" + std::to_string(getpid()) + ".safetensors";
  std::vector<std::byte> file;
  for (const int count : {1, 2, 4}) {
    ranks::run(count, [&](ranks::World world) {
      const ranks::Mesh mesh(world, {{"data", count}});
      ranks::save_safetensors(path, {{"a", ranks::shard(a0, mesh, {"data", ""}) * 2},
                                     {"b", ranks::shard(b0, mesh, {"", "data"})},
                                     {"flags", ranks::shard(flags0, mesh, {"data", ""})},
                                     {"none", ranks::shard(none0, mesh, {"data", ""})},
                                     {"whole", whole0 + 1}});
      const sn::NamedTensors plain = sn::load_safetensors(path);
      REQUIRE(plain.size() == 5);
      // The tensor is read with another sharding than it was written with.
      const auto loaded = ranks::load_safetensors(path, mesh, {{"a", {"", "data"}}, {"b", {"", "data"}}, {"flags", {"data", ""}}, {"none", {"data", ""}}});
      REQUIRE(loaded.size() == 5);
      for (std::size_t k = 0; k < 5; ++k) {
        const auto& [name, tensor] = loaded[k];
        CAPTURE(name);
        CHECK(plain[k].first == name);
        const Tensor expected = name == "a" ? a0 * 2 : name == "b" ? b0 : name == "flags" ? flags0 : name == "none" ? none0 : whole0 + 1;
        CHECK(bytes_of(plain[k].second) == bytes_of(expected));
        CHECK(bytes_of(tensor) == bytes_of(expected));
        CHECK(ranks::sharding(tensor).back() == (name == "a" || name == "b" ? "data" : ""));
        CHECK(bytes_of(tensor.astype(DType::float32) + 1) == bytes_of(expected.astype(DType::float32) + 1));
      }
      if (world.rank() == 0) CHECK(ranks::local(loaded[0].second).size() > 0);
      tells<sn::ValueError>([&] { ranks::load_safetensors(path, mesh, {{"c", {"data"}}}); }, "has no tensor 'c'");
      tells<sn::ShardingError>([&] { ranks::load_safetensors(path, mesh, {{"a", {"data"}}}); }, "has 2 axes, and 1 names are given");
      tells<sn::IoError>([&] { ranks::load_safetensors("/nowhere/x.safetensors", mesh, {}); }, "No such file");
      tells<sn::IoError>([&] { ranks::save_safetensors("/nowhere/x.safetensors", {{"a", ranks::shard(a0, mesh, {"data", ""})}}); }, "No such file");
      tells<sn::ValueError>(
          [&] {
            const Tensor x = ranks::shard(a0, mesh, {"data", ""});
            ranks::save_safetensors(path, {{"a", x}, {"a", x}});
          },
          "the name 'a' is given twice");
    });
    std::ifstream stream(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    std::vector<std::byte> now(text.size());
    std::memcpy(now.data(), text.data(), text.size());
    if (file.empty()) file = now;
    CHECK(now == file);
  }
  std::remove(path.c_str());
}

TEST_CASE("each rank in a thread has its own GPU") {
  if (sn::options().device != "cuda" || !std::getenv("SINTER_EMULATOR_DEVICES")) return;
  const int devices = std::atoi(std::getenv("SINTER_EMULATOR_DEVICES"));
  const Tensor x0 = numbers({40, 6}, 21);
  ranks::run(4, [&](ranks::World world) {
    const ranks::Mesh mesh(world, {{"data", 4}});
    const Tensor x = ranks::shard(x0, mesh, {"data", ""}), y = sn::exp(x) + sn::roll(x, 1, 0), s = sn::sum(y, 0);
    sn::eval(y, s);
    CHECK(sn::explain(y).find("on cuda:" + std::to_string(world.rank() % devices) + ",") != std::string::npos);
    check_close(y, sn::exp(x0) + sn::roll(x0, 1, 0), 1e-5);
    check_close(s, sn::sum(sn::exp(x0) + sn::roll(x0, 1, 0), 0), 1e-5);
  });
}

TEST_CASE("an interrupt ends the waiting for a rank") {
  std::atomic<bool> over = false;
  std::string text = "nothing was thrown";
  try {
    ranks::run(2, [&](ranks::World world) {
      const Tensor x = ranks::shard(sn::ones({16}), ranks::Mesh(world, {{"data", 2}}), {"data"});
      if (world.rank() == 1) {
        while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return;
      }
      std::thread signal([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        sn::interrupt();
      });
      try {
        sn::sum(x).item<double>();
      } catch (const sn::Interrupted& error) {
        text = error.what();
      }
      signal.join();
      over = true;
    });
  } catch (const std::exception&) {
  }
  CHECK(text.find("the evaluation was interrupted") != std::string::npos);
  ranks::run(2, [](ranks::World world) { CHECK(sn::sum(ranks::shard(sn::ones({16}), ranks::Mesh(world, {{"data", 2}}), {"data"})).item<double>() == 16); });
}

TEST_CASE("an unsupported sharding is an error with a remedy") {
  ranks::run(1, [&](ranks::World world) {
    const ranks::Mesh mesh(world, {{"data", 1}, {"model", 1}});
    const Tensor x = ranks::shard(sn::ones({8, 6}), mesh, {"data", ""}), y = ranks::shard(sn::ones({8, 6}), mesh, {"model", ""});
    tells<sn::ShardingError>([&] { x + y; }, "add: float64 (8@data, 6) and float64 (8@model, 6): axis 0 is sharded along data here and along model there");
    tells<sn::ShardingError>([&] { sn::sort(x, 0); }, "call ranks::unshard on it first");
    tells<sn::ShardingError>([&] { sn::matmul(x, sn::transpose(x)); }, "two axes of the result would be sharded along data");
    tells<sn::ShardingError>([&] { sn::reshape(x, {3, 16}); }, "moves elements of axis 0, sharded along data, between ranks");
    tells<sn::ShardingError>([&] { sn::take(x, sn::arange(2), 0); }, "the table of a gather must be whole");
    tells<sn::ShardingError>([&] { ranks::shard(x, mesh, {"data"}); }, "has 2 axes, and 1 names are given");
    tells<sn::ShardingError>([&] { ranks::shard(x, mesh, {"rows", ""}); }, "the mesh has no axis rows");
    tells<sn::ShardingError>([&] { sn::inv(ranks::shard(sn::ones({4, 4}), mesh, {"", "data"})); }, "each matrix must be whole");
    const ranks::Mesh other(world, {{"data", 1}});
    tells<sn::ShardingError>([&] { x + ranks::shard(sn::ones({8, 6}), other, {"data", ""}); }, "two meshes");
    tells<sn::ValueError>([&] { ranks::Mesh(world, {{"data", 1, (1 << 20) + 1}}); }, "axis data has 1048577 pieces, more than 1048576");
    tells<sn::ValueError>([&] { ranks::Mesh(world, {{"data", 1, -3}}); }, "axis data has -3 pieces, which is not a multiple of its 1 ranks");
    tells<sn::ValueError>([&] { ranks::Mesh(world, {{"data", 2}}); }, "the axes have 2 ranks together, but the program runs on 1");
  });
}

TEST_CASE("faults of one rank are reported on all ranks") {
  setenv("SINTER_RANKS_TIMEOUT", "0.5", 1);
  const auto report = [](const std::function<void(const Tensor&, int)>& program) {
    std::vector<std::string> texts(4);
    try {
      ranks::run(4, [&](ranks::World world) {
        const ranks::Mesh mesh(world, {{"data", 4}});
        const Tensor x = ranks::shard(sn::ones({16, 3}), mesh, {"data", ""});
        try {
          program(x, world.rank());
        } catch (const sn::Error& error) {
          texts[static_cast<std::size_t>(world.rank())] = error.what();
          throw;
        }
      });
    } catch (const std::exception&) {
    }
    return texts;
  };
  for (const std::string& text : report([](const Tensor& x, int rank) { sn::eval(rank == 2 ? sn::max(x) : sn::sum(x)); })) {
    INFO(text);
    CHECK(text.find("rank 0 evaluates sum (") != std::string::npos);
    CHECK(text.find("rank 2 evaluates max (") != std::string::npos);
  }
  // The ranks' recordings have equal lengths at one line, so the first operation that differs is reported.
  const auto differ = [&](const std::string& a, const std::string& b, const std::function<Tensor(const Tensor&, bool)>& formula) {
    for (const std::string& text : report([&](const Tensor& x, int rank) { sn::eval(sn::sum(formula(x, rank == 3))); })) {
      INFO(text);
      CHECK(text.find("The first difference: " + a) != std::string::npos);
      CHECK(text.find(" and " + b) != std::string::npos);
    }
  };
  differ("multiply with 2 to float64 (16@data, 3) at ", "multiply with 3 to float64 (16@data, 3) at ",
         [](const Tensor& x, bool other) { return sn::exp(sn::exp(x) * (other ? 3.0 : 2.0)) + 1; });
  differ("index to float64 (7@data, 3) at ", "index to float64 (8@data, 3) at ",
         [](const Tensor& x, bool other) { return sn::exp(x(sn::Slice{0, other ? 8 : 7})); });
  differ("exp to float64 (16@data, 3) at ", "sin to float64 (16@data, 3) at ",
         [](const Tensor& x, bool other) { return (other ? sn::sin(x) : sn::exp(x)) + 1; });
  differ("a mesh of data in 8 pieces", "a mesh of data in 4 pieces.",
         [](const Tensor&, bool other) { return ranks::shard(sn::ones({16, 3}), ranks::Mesh(ranks::init(), {{"data", 4, other ? 4 : 8}}), {"data", ""}); });
  {
    const auto texts = report([](const Tensor& x, int rank) {
      if (rank == 1) throw std::runtime_error("the disk is full");
      sn::eval(sn::sum(x));
    });
    for (const int rank : {0, 2, 3})
      CHECK_MESSAGE(texts[static_cast<std::size_t>(rank)].find("rank 1 ended by an exception: the disk is full") != std::string::npos,
                    texts[static_cast<std::size_t>(rank)]);
  }
  {
    const auto texts = report([](const Tensor& x, int rank) {
      if (rank != 3) sn::eval(sn::sum(x));
    });
    CHECK_MESSAGE(texts[2].find("it has ended without taking part") != std::string::npos, texts[2]);
  }
  {  // one rank reads alone; the others continue without reading
    std::atomic<bool> over = false;
    const auto texts = report([&](const Tensor& x, int rank) {
      if (rank == 0) {
        try {
          sn::sum(x).item<double>();
        } catch (...) {
          over = true;
          throw;
        }
      }
      while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    CHECK_MESSAGE(texts[0].find("rank 0 has waited 0.5 s for rank") != std::string::npos, texts[0]);
    CHECK_MESSAGE(texts[0].find("sum (") != std::string::npos, texts[0]);
  }
  {  // two threads of one rank
    std::atomic<bool> over = false;
    std::string text;
    for (const std::string& other : report([&](const Tensor& x, int rank) {
           std::thread second;
           if (rank == 1)
             second = std::thread([&] {
               std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the other thread waits for rank 0 by then
               try {
                 sn::eval(sn::max(x));
               } catch (const sn::RankError& error) {
                 text = error.what();
               }
               over = true;
             });
           while (rank == 0 && !over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
           CHECK(sn::sum(x).item<double>() == 48);
           if (second.joinable()) second.join();
         }))
      CHECK(other.empty());
    CHECK_MESSAGE(text.find("two threads of rank 1 exchange elements") != std::string::npos, text);
    CHECK_MESSAGE(text.find("in max (") != std::string::npos, text);
  }
  for (const std::string& text : report([](const Tensor& x, int rank) {  // a slow rank
         if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
         CHECK(sn::sum(x).item<double>() == 48);
       }))
    CHECK(text.empty());
  unsetenv("SINTER_RANKS_TIMEOUT");
}
