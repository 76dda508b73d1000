// The host device: memory, launches over threads, matrix products.
#include "runtime/host/host_device.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/guarded_memory.hpp"
#include "base/threads.hpp"
#include "host_data_stub.hpp"
#include "kernels/products/matmul.hpp"
#include "nest_builder.hpp"
#include "runtime/host/partition.hpp"
#include "seed.hpp"
#include "sinter/errors.hpp"

using namespace sinter;
using testing::NestBuilder;
using testing::Op;

namespace {

template <class T> std::vector<T> random_values(std::int64_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(static_cast<std::size_t>(n));
  for (auto& value : values) {
    if constexpr (std::is_floating_point_v<T>) value = std::uniform_real_distribution<T>(-1, 1)(random);
    else value = static_cast<T>(random());
  }
  return values;
}

/// Returns a nest with row sums times a scale per column: some values are reduced, some are divided among threads.
jit::LoopNest sum_rows(std::int64_t points, std::int64_t rows, bool lanes_are_rows) {
  NestBuilder b({points}, {rows}, lanes_are_rows);
  b.stage(true);
  const int x = b.load(DType::float32, lanes_are_rows ? b.affine({rows, 1}) : b.affine({1, points}));
  const int buffer = b.keep(b.op(Op::exp, {x}));
  const int sum = b.reduce(Op::reduce_sum, x);
  b.stage(true);
  const int again = b.reduce(Op::reduce_sum, b.op(Op::multiply, {b.persistent(buffer), sum}));
  b.stage(false);
  b.store(again, b.affine({1}));
  return b.nest;
}

std::vector<float> launch(int threads, const jit::LoopNest& nest, std::vector<float>& in, std::int64_t outputs) {
  auto device = runtime::open_host(threads);
  auto kernel = device->load(nest, {});
  std::vector<float> out(static_cast<std::size_t>(outputs), std::numeric_limits<float>::quiet_NaN());
  void* pointers[] = {in.data(), out.data()};
  device->launch(*kernel, nest, {pointers, nest.ints, {}});
  device->synchronize();
  return out;
}

}  // namespace

TEST_CASE("memory is aligned, counted by its requested size, reused and released") {
  auto device = runtime::open_host(1);
  CHECK(device->name() == "cpu");
  CHECK(device->memory().now == 0);
  void* first = nullptr;
  for (std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{64}, std::size_t{65}, std::size_t{1000}, std::size_t{5} << 20}) {
    auto buffer = device->allocate(bytes);
    REQUIRE(buffer->data());
    CHECK(buffer->bytes() == bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(buffer->data()) % 64 == 0);
    std::memset(buffer->data(), 0x5a, bytes);
    CHECK(device->memory().now == bytes);
    first = buffer->data();
    buffer.reset();
    CHECK(device->memory().now == 0);
    CHECK(device->allocate(bytes)->data() == first);  // the same block is reused
  }
  CHECK(device->memory().peak == std::size_t{5} << 20);
  {
    auto a = device->allocate(1000), b = device->allocate(3000);
    CHECK(a->data() != b->data());
    CHECK(device->memory().now == 4000);
  }
  CHECK(device->memory().peak == std::size_t{5} << 20);
  device->reset_peak();
  CHECK(device->memory().peak == 0);
  device->trim();
  auto late = device->allocate(100);
  device.reset();  // a buffer outlives its device
  std::memset(late->data(), 1, 100);
}

TEST_CASE("a failed allocation is an error that names the size") {
  auto device = runtime::open_host(1);
  auto kept = device->allocate(128);
  for (std::size_t bytes : {std::size_t{1} << 60, std::numeric_limits<std::size_t>::max()}) {
    std::string message;
    try {
      device->allocate(bytes);
    } catch (const DeviceError& error) {
      message = error.what();
    }
    CHECK(message.find(std::to_string(bytes)) != std::string::npos);
    CHECK(message.find("(128 in use)") != std::string::npos);
  }
  CHECK(device->memory().now == 128);
}

TEST_CASE("memory: every size gets a block that holds it") {
  auto device = runtime::open_host(1);
  std::vector<runtime::BufferPtr> held;
  for (std::size_t power = 6; power < 23; ++power)
    for (std::size_t extra : {std::size_t{0}, std::size_t{1}, (std::size_t{1} << power) / 3}) {
      held.push_back(device->allocate((std::size_t{1} << power) + extra));
      std::memset(held.back()->data(), static_cast<int>(held.size()), held.back()->bytes());
    }
  for (std::size_t k = 0; k < held.size(); ++k) {  // none overlaps another
    const auto* data = static_cast<const unsigned char*>(held[k]->data());
    CHECK(data[0] == static_cast<unsigned char>(k + 1));
    CHECK(data[held[k]->bytes() - 1] == static_cast<unsigned char>(k + 1));
  }
}

TEST_CASE("a buffer becomes host memory without a copy") {
  auto device = runtime::open_host(1);
  auto pooled = device->allocate(64);
  auto shared = device->host_memory(pooled);
  CHECK(shared.get() == pooled->data());
  pooled.reset();
  CHECK(device->memory().now == 64);  // held by `shared`
  shared.reset();
  CHECK(device->memory().now == 0);

  const std::vector<float> threes(16, 3.f);
  auto first = device->allocate(64), other = device->allocate(64);
  device->upload(*first, threes.data(), 64);
  device->copy(*other, *first, 64);
  float back[16] = {};
  device->download(back, *other, 64);
  CHECK(back[15] == 3.f);
  back[0] = 7;
  device->upload(*other, back, 64);
  CHECK(static_cast<float*>(other->data())[0] == 7);
  CHECK_THROWS_AS(device->upload(*other, back, 65), InternalError);
}

TEST_CASE("a partition covers every point once, with boundaries at multiples of the unit") {
  std::mt19937_64 random(sinter::testing::fresh_seed());
  for (int round = 0; round < 300; ++round) {
    const std::int64_t outer = random() % 50, inner = random() % 2 ? random() % 100 : random() % 100'000;
    const int threads = 1 + static_cast<int>(random() % 16);
    NestBuilder b({outer, inner});
    b.stage(false);
    b.store(b.op(Op::exp, {b.load(DType::float32, b.affine({inner, 1}))}), b.affine({inner, 1}));
    const auto p = runtime::partition(b.nest, b.nest.ints, threads);
    INFO("outer ", outer, " inner ", inner, " threads ", threads);
    std::int64_t points = 0;
    for (std::int64_t piece = 0; piece < p.pieces(); ++piece) {
      const std::int64_t o = piece / p.inner_pieces * p.outer_step, i = piece % p.inner_pieces * p.inner_step;
      REQUIRE(o < outer);
      REQUIRE(i < inner);
      CHECK(i % runtime::kInnerUnit == 0);
      points += (std::min(o + p.outer_step, outer) - o) * (std::min(i + p.inner_step, inner) - i);
    }
    CHECK(points == outer * inner);
    if (threads == 1 || outer * inner < 1000) CHECK(p.pieces() <= 1);
    if (threads > 1 && outer * inner > 200'000 && inner > 2 * runtime::kInnerUnit) CHECK(p.pieces() > 1);
  }
}

TEST_CASE("a partition divides a few long columns among threads, in whole vectors") {
  for (const std::int64_t columns : {128, 500, 2000}) {
    NestBuilder b({columns}, {100'000});
    b.stage(true);
    const int sum = b.reduce(Op::reduce_sum, b.load(DType::float32, b.affine({1, columns})));
    b.stage(false);
    b.store(sum, b.affine({1, 0}));
    const auto p = runtime::partition(b.nest, b.nest.ints, 2);
    CHECK(p.pieces() > 1);
    CHECK(p.inner_step % runtime::kColumnUnit == 0);
    CHECK(p.inner_step * (p.pieces() - 1) < columns);
  }
}

TEST_CASE("a launch gives the same bits on any number of threads") {
  for (bool lanes_are_rows : {true, false})
    for (std::int64_t points : {1, 3, 1025, 5000}) {
      const std::int64_t rows = 200'000 / points;
      const auto seed = sinter::testing::fresh_seed();
      INFO("points ", points, " seed ", seed);
      const auto nest = sum_rows(points, rows, lanes_are_rows);
      auto in = random_values<float>(points * rows, seed);
      const auto one = launch(1, nest, in, points);
      for (float value : one) CHECK(!std::isnan(value));
      for (int threads : {2, 4, 7}) CHECK(launch(threads, nest, in, points) == one);
    }
}

TEST_CASE("each task runs once, and exceptions reach the caller") {
  for (int threads : {1, 4}) {
    std::vector<std::atomic<int>> count(500);
    run_tasks(threads, 500, [&](std::int64_t k) { ++count[k]; });
    for (const auto& c : count) CHECK(c == 1);
    CHECK_THROWS_AS(run_tasks(threads, 100,
                              [](std::int64_t k) {
                                if (k == 57) throw DeviceError("task 57");
                              }),
                    DeviceError);
  }
  CHECK(thread_count(3) == 3);
  CHECK(thread_count(0) >= 1);
  CHECK(thread_count(2147483647) <= 1024);
}

TEST_CASE("launches follow each other or come from several callers at once, and some fail") {
  std::vector<std::thread> callers;
  std::atomic<int> wrong = 0;
  for (int caller = 0; caller < 3; ++caller)
    callers.emplace_back([&, caller] {
      for (int launch = 0; launch < 400; ++launch) {
        const int tasks = 1 + (launch * 7 + caller) % 23, threads = 1 + launch % 4;
        const bool fails = launch % 5 == caller;
        std::vector<std::atomic<int>> count(static_cast<std::size_t>(tasks));
        bool failed = false;
        try {
          run_tasks(threads, tasks, [&](std::int64_t k) {
            ++count[static_cast<std::size_t>(k)];
            if (fails && k == tasks / 2) throw DeviceError("as asked");
          });
        } catch (const DeviceError&) {
          failed = true;
        }
        wrong += failed != fails;
        for (const auto& c : count) wrong += fails ? c > 1 : c != 1;
        if (launch % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // long enough for workers to fall asleep
      }
    });
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
}

TEST_CASE("a kernel of another device, or broken machine code, is refused") {
  auto device = runtime::open_host(1);
  struct Foreign : runtime::Kernel {
  } foreign;
  NestBuilder b({4});
  b.stage(false);
  b.store(b.load(DType::float32, b.affine({1})), b.affine({1}));
  CHECK_THROWS_AS(device->launch(foreign, b.nest, {{}, b.nest.ints, {}}), InternalError);
  jit::Binary broken;
  broken.image = {1, 2, 3};
  CHECK_THROWS_AS(device->load(b.nest, broken), CompileError);
}

// ---- matmul

namespace {

/// Random operands in every layout, with gaps between rows and between matrices, against long double or wrapped sums.
template <class T> void check_matmul(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, bool a_t, bool b_t, bool shared_b) {
  const auto seed = sinter::testing::fresh_seed();
  INFO(name(dtype_of<T>), " ", batch, "x", m, "x", n, "x", k, " transposed ", a_t, b_t, " shared ", shared_b, " seed ", seed);
  const std::int64_t a_leading = (a_t ? m : k) + 3, b_leading = (b_t ? k : n) + 1;
  const std::int64_t a_stride = (a_t ? k : m) * a_leading + 5, b_stride = shared_b ? 0 : (b_t ? n : k) * b_leading + 2;
  using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
  auto a = random_values<Stored>(batch * a_stride + 1, seed),
       b = random_values<Stored>((shared_b ? (b_t ? n : k) * b_leading : batch * b_stride) + 1, seed + 1);
  if (std::is_same_v<T, bool>) {
    for (auto& v : a) v = static_cast<std::uint64_t>(v) % 8 == 0;
    for (auto& v : b) v = static_cast<std::uint64_t>(v) % 8 == 0;
  }
  std::vector<Stored> c(static_cast<std::size_t>(batch * m * n), static_cast<Stored>(77)), again(c);
  const kernels::MatmulOperand left{a.data(), a_leading, {a_stride}, a_t}, right{b.data(), b_leading, {b_stride}, b_t};
  kernels::matmul(dtype_of<T>, left, right, c.data(), {batch}, m, n, k, 1);
  kernels::matmul(dtype_of<T>, left, right, again.data(), {batch}, m, n, k, 4);
  CHECK((c == again));
  double worst = 0;
  for (std::int64_t s = 0; s < batch; ++s)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        long double sum = 0;
        std::uint64_t wrapped = 0, any = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          const Stored x = a[s * a_stride + (a_t ? l * a_leading + i : i * a_leading + l)];
          const Stored y = b[s * b_stride + (b_t ? j * b_leading + l : l * b_leading + j)];
          sum += static_cast<long double>(x) * y;
          wrapped += static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y);
          any |= x && y;
        }
        const Stored got = c[(s * m + i) * n + j];
        if constexpr (std::is_floating_point_v<T>) worst = std::max<double>(worst, std::fabs(static_cast<double>(got - sum)));
        else if constexpr (std::is_same_v<T, bool>) worst += got != any;
        else worst += got != static_cast<Stored>(wrapped);
      }
  CHECK(worst <=
        (std::is_floating_point_v<T> ? std::numeric_limits<double>::epsilon() * (sizeof(T) == 4 ? std::ldexp(1, 29) : 1) * static_cast<double>(k) : 0));
}

template <class T> void check_matmul_layouts() {
  for (bool a_t : {false, true})
    for (bool b_t : {false, true}) {
      check_matmul<T>(1, 1, 1, 1, a_t, b_t, false);
      check_matmul<T>(1, 1, 400, 70, a_t, b_t, false);
      check_matmul<T>(1, 400, 1, 70, a_t, b_t, false);
      for (const std::int64_t rows : {2, 3, 4}) check_matmul<T>(2, rows, 1301, 45, a_t, b_t, rows == 3);  // with few rows, b is read in its own layout
      check_matmul<T>(3, 17, 23, 31, a_t, b_t, false);
      check_matmul<T>(2, 5, 9, 300, a_t, b_t, true);
      check_matmul<T>(1, 193, 385, 50, a_t, b_t, false);  // one more than a block
      check_matmul<T>(2, 3, 4, 0, a_t, b_t, false);
      check_matmul<T>(3, 500, 3, 3, a_t, b_t, false);  // narrow right matrices, in several blocks
      check_matmul<T>(3, 8, 8, 8, a_t, b_t, true);
      check_matmul<T>(1, 300, 1, 3, a_t, b_t, false);
      check_matmul<T>(1, 1000, 33, 9, a_t, b_t, false);
    }
}

}  // namespace

TEST_CASE("matmul: every type and layout") {
  MESSAGE("matmul runs on ", std::string(kernels::host_blocks().instruction_set));
  check_matmul_layouts<float>();
  check_matmul_layouts<double>();
  check_matmul_layouts<std::int32_t>();
  check_matmul_layouts<std::int64_t>();
  check_matmul_layouts<bool>();
  CHECK_THROWS_AS(kernels::matmul(DType::float16, {}, {}, nullptr, {1}, 1, 1, 1, 1), DTypeError);
}

namespace {

/// A matrix that ends at an unmapped page. The gaps between its rows hold NaN, or the largest integer.
template <class T> class AtThePagesEnd {
 public:
  AtThePagesEnd(std::int64_t rows, std::int64_t columns, std::int64_t gap, std::uint64_t seed)
      : leading(columns + gap),
        count_((rows - 1) * leading + columns),
        bytes_((static_cast<std::size_t>(count_) * sizeof(T) + 63) / 64 * 64),
        memory_(allocate_guarded(bytes_, Guard::end), [bytes = bytes_](void* memory) { free_guarded(memory, bytes, Guard::end); }) {
    const auto values = random_values<T>(rows * columns, seed);
    std::fill_n(elements(), count_, std::is_floating_point_v<T> ? std::numeric_limits<T>::quiet_NaN() : std::numeric_limits<T>::max());
    for (std::int64_t i = 0; i < rows; ++i) std::copy_n(values.data() + i * columns, columns, elements() + i * leading);
  }
  T* elements() const { return static_cast<T*>(memory_.get()) + bytes_ / sizeof(T) - count_; }
  T at(std::int64_t i, std::int64_t j) const { return elements()[i * leading + j]; }
  const std::int64_t leading;

 private:
  std::int64_t count_;
  std::size_t bytes_;
  std::shared_ptr<void> memory_;
};

/// The functions of one instruction set.
struct InstructionSet {
  kernels::MatmulBlockFn thin, narrow;
  kernels::RowsTimesBytesFn bytes;
};
/// Returns those of the oldest set, of the one that this processor uses, and of AVX2.
std::vector<InstructionSet> instruction_sets() {
  const kernels::HostBlocks& host = kernels::host_blocks();
  std::vector<InstructionSet> sets{{&kernels::thin_product_baseline, &kernels::narrow_product_baseline, &kernels::multiply_byte_weights_baseline},
                                   {host.multiply_thin, host.multiply_narrow, host.multiply_byte_weights}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    sets.push_back({&kernels::thin_product_avx2, &kernels::narrow_product_avx2, &kernels::multiply_byte_weights_avx2});
#endif
  return sets;
}

}  // namespace

TEST_CASE_TEMPLATE("thin products: any number of rows, for each instruction set, writes its columns alone", T, float, double) {
  std::mt19937 rng(sinter::testing::fresh_seed());
  const auto pick = [&](std::int64_t low, std::int64_t high) { return std::uniform_int_distribution(low, high)(rng); };
  for (const auto [multiply, narrow, bytes] : instruction_sets())
    for (std::int64_t rows = 1; rows <= kernels::kManyThinRows; ++rows) {
      const std::int64_t columns = pick(1, 200), depth = pick(1, 90);
      const bool b_t = pick(0, 1) == 1, a_t = !b_t && pick(0, 1) == 1;
      INFO(rows, " x ", depth, " x ", columns, ", a transposed ", a_t, ", b transposed ", b_t);
      const std::int64_t a_leading = (a_t ? rows : depth) + 1, b_leading = (b_t ? depth : columns) + 1, c_leading = columns + 2;
      const auto a = random_values<T>((a_t ? depth : rows) * a_leading, rng()), b = random_values<T>((b_t ? columns : depth) * b_leading, rng());
      std::vector<T> c(static_cast<std::size_t>(rows * c_leading), 77);
      const std::int64_t left = columns < 2 * kernels::kThinColumns ? columns : kernels::kThinColumns;  // two calls give the columns the bits of one
      for (const auto& [first, count] : {std::pair{std::int64_t{0}, left}, std::pair{left, columns - left}})
        REQUIRE(multiply(dtype_of<T>, {a.data(), b.data() + first * (b_t ? b_leading : 1), c.data() + first, rows, count, depth, a_leading, b_leading,
                                       c_leading, a_t, b_t}));
      std::vector<T> whole(c);
      REQUIRE(multiply(dtype_of<T>, {a.data(), b.data(), whole.data(), rows, columns, depth, a_leading, b_leading, c_leading, a_t, b_t}));
      CHECK(c == whole);
      double worst = 0;
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < c_leading; ++j) {
          long double sum = j < columns ? 0 : 77;
          for (std::int64_t l = 0; l < depth && j < columns; ++l)
            sum += static_cast<long double>(a[a_t ? l * a_leading + i : i * a_leading + l]) * b[b_t ? j * b_leading + l : l * b_leading + j];
          worst = std::max<double>(worst, std::fabs(static_cast<double>(c[i * c_leading + j] - sum)));
        }
      CHECK(worst <= std::numeric_limits<T>::epsilon() * static_cast<double>(depth));
    }
}

TEST_CASE_TEMPLATE("narrow products: any number of columns and little depth, for each instruction set, write their elements alone", T, float, double) {
  std::mt19937 rng(sinter::testing::fresh_seed());
  const auto pick = [&](std::int64_t low, std::int64_t high) { return std::uniform_int_distribution(low, high)(rng); };
  constexpr std::int64_t kWidest = kernels::kNarrowBytes / sizeof(T);
  for (const auto [thin, multiply, bytes] : instruction_sets())
    for (std::int64_t columns = 1; columns <= kWidest; ++columns) {
      const std::int64_t rows = pick(1, 40), depth = pick(1, kernels::kNarrowElements / kWidest), gap = pick(0, 1) * 2;
      const bool a_t = pick(0, 1) == 1, b_t = pick(0, 1) == 1;
      INFO(rows, " x ", depth, " x ", columns, ", a transposed ", a_t, ", b transposed ", b_t, ", gap ", gap);
      const std::int64_t a_leading = (a_t ? rows : depth) + 1, b_leading = (b_t ? depth : columns) + 1, c_leading = columns + gap;
      const auto a = random_values<T>((a_t ? depth : rows) * a_leading, rng()), b = random_values<T>((b_t ? columns : depth) * b_leading, rng());
      std::vector<T> c(static_cast<std::size_t>(rows * c_leading + kWidest), 77);
      REQUIRE(multiply(dtype_of<T>, {a.data(), b.data(), c.data(), rows, columns, depth, a_leading, b_leading, c_leading, a_t, b_t}));
      double worst = 0;
      for (std::int64_t i = 0; i * c_leading < static_cast<std::int64_t>(c.size()); ++i)
        for (std::int64_t j = 0; j < c_leading && i * c_leading + j < static_cast<std::int64_t>(c.size()); ++j) {
          long double sum = i < rows && j < columns ? 0 : 77;
          for (std::int64_t l = 0; l < depth && i < rows && j < columns; ++l)
            sum += static_cast<long double>(a[a_t ? l * a_leading + i : i * a_leading + l]) * b[b_t ? j * b_leading + l : l * b_leading + j];
          worst = std::max<double>(worst, std::fabs(static_cast<double>(c[i * c_leading + j] - sum)));
        }
      CHECK(worst <= std::numeric_limits<T>::epsilon() * static_cast<double>(depth));
    }
}

TEST_CASE_TEMPLATE("rows times contiguous columns of every depth read the matrices alone", T, float, double) {
  std::mt19937 rng(sinter::testing::fresh_seed());
  const auto pick = [&](std::int64_t low, std::int64_t high) { return std::uniform_int_distribution(low, high)(rng); };
  for (const InstructionSet& set : instruction_sets())
    for (std::int64_t depth = 1; depth <= 70; ++depth)
      for (const bool few_columns : {false, true}) {
        // a times b transposed; or b times a transposed, where a has few rows: this result is the transpose of the first one.
        const std::int64_t rows = few_columns ? pick(1, kernels::kFewColumns) : pick(1, 6), columns = pick(1, 40);
        INFO(name(dtype_of<T>), " ", rows, " x ", depth, " x ", columns, few_columns ? ", few columns" : "");
        const AtThePagesEnd<T> a(rows, depth, pick(0, 2), rng()), b(columns, depth, pick(0, 2), rng());
        std::vector<T> c(static_cast<std::size_t>(rows * columns), 77);
        if (few_columns)
          REQUIRE(set.narrow(dtype_of<T>, {b.elements(), a.elements(), c.data(), columns, rows, depth, b.leading, a.leading, rows, false, true}));
        else REQUIRE(set.thin(dtype_of<T>, {a.elements(), b.elements(), c.data(), rows, columns, depth, a.leading, b.leading, columns, false, true}));
        double worst = 0;
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < columns; ++j) {
            long double sum = 0;
            for (std::int64_t l = 0; l < depth; ++l) sum += static_cast<long double>(a.at(i, l)) * b.at(j, l);
            const auto difference = static_cast<double>(c[static_cast<std::size_t>(few_columns ? j * rows + i : i * columns + j)] - sum);
            worst = std::isnan(difference) ? difference : std::max(worst, std::fabs(difference));
          }
        CHECK(worst <= std::numeric_limits<T>::epsilon() * static_cast<double>(depth));
      }
}

TEST_CASE_TEMPLATE("rows times bytes, for each instruction set, write their sums alone", T, std::int8_t, std::uint8_t) {
  std::mt19937 rng(sinter::testing::fresh_seed());
  const auto pick = [&](std::int64_t low, std::int64_t high) { return std::uniform_int_distribution(low, high)(rng); };
  for (const InstructionSet& set : instruction_sets())
    for (std::int64_t count = 1; count <= 9; ++count) {
      const std::int64_t depth = pick(1, 80), columns = pick(1, 300), gap = pick(0, 3);
      INFO(count, " x ", depth, " x ", columns);
      const AtThePagesEnd<float> rows(count, depth, 0, rng());
      const AtThePagesEnd<T> weights(depth, columns, gap, rng());
      std::vector<float> sums(static_cast<std::size_t>(count * (columns + 1)), 77);
      set.bytes({rows.elements(), weights.elements(), sums.data(), count, depth, columns, weights.leading, columns + 1, std::is_signed_v<T>});
      double worst = 0;
      for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t j = 0; j <= columns; ++j) {
          double sum = j < columns ? 0 : 77;
          for (std::int64_t l = 0; l < depth && j < columns; ++l) sum += static_cast<double>(rows.at(i, l)) * weights.at(l, j);
          const double off = std::fabs(sum - sums[static_cast<std::size_t>(i * (columns + 1) + j)]);
          worst = std::isnan(off) ? off : std::max(worst, off);
        }
      CHECK(worst <= 256 * std::numeric_limits<float>::epsilon() * static_cast<double>(depth));
    }
}

TEST_CASE("matmul: a batch of stacked matrices times one matrix is one product") {
  const auto seed = sinter::testing::fresh_seed();
  INFO("seed ", seed);
  const std::int64_t n = 40, k = 33;
  const auto b = random_values<float>(k * n, seed + 1);
  struct Case {
    std::int64_t m, leading, step;
    std::vector<std::int64_t> batch_left;
    std::int64_t rows;
  };
  for (const Case& one :
       {Case{6, 35, 6 * 35, {}, 30}, Case{6, 35, 6 * 35 + 1, {5}, 6}, Case{1, 35, 50, {}, 5}, Case{1, 35, 20, {5}, 1}, Case{6, 35, 0, {5}, 6}}) {
    const auto x = random_values<float>(5 * (one.step + one.leading) + one.m * one.leading, seed);
    kernels::MatmulOperand left{x.data(), one.leading, {one.step}, false}, right{b.data(), n, {0}, false};
    std::vector<std::int64_t> batch{5};
    std::int64_t m = one.m;
    kernels::join_rows(left, right, batch, m, k);
    CHECK(batch == one.batch_left);
    CHECK(m == one.rows);
    std::vector<float> got(static_cast<std::size_t>(5 * one.m * n));
    kernels::matmul(DType::float32, left, right, got.data(), batch, m, n, k, 2);
    double worst = 0;
    for (std::int64_t s = 0; s < 5; ++s)
      for (std::int64_t i = 0; i < one.m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (std::int64_t l = 0; l < k; ++l)
            sum += static_cast<double>(x[static_cast<std::size_t>(s * one.step + i * one.leading + l)]) * b[static_cast<std::size_t>(l * n + j)];
          worst = std::max(worst, std::fabs(sum - got[static_cast<std::size_t>((s * one.m + i) * n + j)]));
        }
    CHECK(worst <= 1e-5 * static_cast<double>(k));
  }
}
