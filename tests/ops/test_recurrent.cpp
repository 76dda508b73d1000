// Recurrent layers as library calls, compared with loops in float64: every cell, both directions, states and batches of any size, any number of threads, and
// layers that are frozen at one length and called with others.
#include <unistd.h>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>

#include "draws.hpp"
#include "program.hpp"
#include "sinter/freeze.hpp"
#include "sinter/recurrent.hpp"

using namespace sinter;

namespace {

using testing::floats;
using testing::pick;

constexpr Cell kCells[] = {Cell::rnn_tanh, Cell::rnn_relu, Cell::gru, Cell::gru_reset_after, Cell::lstm};

std::int64_t gates(Cell cell) { return cell == Cell::lstm ? 4 : cell == Cell::gru || cell == Cell::gru_reset_after ? 3 : 1; }
std::int64_t states(Cell cell) { return cell == Cell::lstm ? 2 : 1; }

struct Case {
  Cell cell;
  std::int64_t steps, batch, size;
  bool backwards;
  std::vector<float> x, weights, start;
  std::vector<std::int64_t> lengths;  // empty: every sequence has all steps

  Case(Cell of, std::int64_t t, std::int64_t b, std::int64_t n, bool back) : cell(of), steps(t), batch(b), size(n), backwards(back) {
    x = floats(t * b * gates(of) * n, -2, 2);
    const float largest = 1 / std::sqrt(static_cast<float>(n));
    weights = floats((n + 1) * gates(of) * n, -largest, largest);
    start = floats(states(of) * b * n);
  }
  Tensor x_tensor() const { return from_span(x, {steps, batch, gates(cell) * size}); }
  Tensor weights_tensor() const { return from_span(weights, {size + 1, gates(cell) * size}); }
  Tensor start_tensor() const { return from_span(start, {states(cell), batch, size}); }
  Tensor computed() const {
    return recurrence(cell, x_tensor(), weights_tensor(), start_tensor(), backwards, lengths.empty() ? Tensor() : from_span(lengths, {batch}));
  }
  bool has(std::int64_t t, std::int64_t b) const { return lengths.empty() || t < lengths[static_cast<std::size_t>(b)]; }
  std::string text() const {
    return fmt::format("cell {}, {} steps, batch {}, size {}{}", static_cast<int>(cell), steps, batch, size, backwards ? ", backwards" : "");
  }
};

double sigmoid_of(double z) { return 1 / (1 + std::exp(-z)); }

std::vector<double> expected(const Case& c) {
  const std::int64_t n = c.size, state = c.batch * n, width = gates(c.cell) * n;
  std::vector<double> all(static_cast<std::size_t>((c.steps + states(c.cell)) * state));
  std::vector<double> h(c.start.begin(), c.start.begin() + state), cell(c.start.end() - state, c.start.end());
  for (std::int64_t k = 0; k < c.steps; ++k) {
    const std::int64_t t = c.backwards ? c.steps - 1 - k : k;
    std::vector<double> next(h.size());
    for (std::int64_t b = 0; b < c.batch; ++b) {
      const auto input = [&](std::int64_t j) { return static_cast<double>(c.x[static_cast<std::size_t>((t * c.batch + b) * width + j)]); };
      const auto bias = [&](std::int64_t j) { return static_cast<double>(c.weights[static_cast<std::size_t>(n * width + j)]); };
      const auto product = [&](std::int64_t j, auto&& of) {
        double sum = 0;
        for (std::int64_t i = 0; i < n; ++i) sum += of(i) * c.weights[static_cast<std::size_t>(i * width + j)];
        return sum;
      };
      const auto old = [&](std::int64_t i) { return h[static_cast<std::size_t>(b * n + i)]; };
      const auto z = [&](std::int64_t j) { return input(j) + bias(j) + product(j, old); };
      for (std::int64_t j = 0; j < n; ++j) {
        double& to = next[static_cast<std::size_t>(b * n + j)];
        if (!c.has(t, b)) {
          to = old(j);
          continue;
        }
        if (c.cell == Cell::rnn_tanh) to = std::tanh(z(j));
        if (c.cell == Cell::rnn_relu) to = std::max(z(j), 0.0);
        if (gates(c.cell) == 3) {
          const double update = sigmoid_of(z(j));
          const double fresh =
              c.cell == Cell::gru
                  ? std::tanh(input(2 * n + j) + bias(2 * n + j) + product(2 * n + j, [&](std::int64_t i) { return sigmoid_of(z(n + i)) * old(i); }))
                  : std::tanh(input(2 * n + j) + sigmoid_of(z(n + j)) * (bias(2 * n + j) + product(2 * n + j, old)));
          to = (1 - update) * fresh + update * old(j);
        }
        if (c.cell == Cell::lstm) {
          double& kept = cell[static_cast<std::size_t>(b * n + j)];
          kept = sigmoid_of(z(2 * n + j)) * kept + sigmoid_of(z(j)) * std::tanh(z(3 * n + j));
          to = sigmoid_of(z(n + j)) * std::tanh(kept);
        }
      }
    }
    h = next;
    for (std::int64_t b = 0; b < c.batch; ++b)
      if (c.has(t, b)) std::copy_n(h.begin() + b * n, n, all.begin() + t * state + b * n);
  }
  std::copy(h.begin(), h.end(), all.begin() + c.steps * state);
  if (c.cell == Cell::lstm) std::copy(cell.begin(), cell.end(), all.begin() + (c.steps + 1) * state);
  return all;
}

/// Each step rounds sums of size + 2 terms of at most about 3. The next step multiplies the error by at most the weights' row sums (below sqrt(size)) and the
/// gates' slopes (a quarter). relu is unbounded; its values grow as fast as its errors.
void check_close(const Tensor& result, const std::vector<double>& wanted, const std::string& text) {
  REQUIRE(static_cast<std::size_t>(result.size()) == wanted.size());
  const std::vector<float> values = result.to_vector<float>();
  double largest = 1;
  for (const double w : wanted) largest = std::max(largest, std::abs(w));
  double worst = 0;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const double off = std::abs(values[k] - wanted[k]);
    worst = std::isnan(off) ? INFINITY : std::max(worst, off);
  }
  INFO(text, ": ", worst, " of ", largest);
  CHECK(worst <= 5e-5 * largest);
}

}  // namespace

TEST_CASE("every cell in both directions agrees with loops in float64") {
  for (const Cell cell : kCells)
    for (const bool backwards : {false, true})
      for (int round = 0; round < (testing::on_gpu() ? 1 : 4); ++round) {
        const Case c(cell, pick(1, 12), pick(1, 9), pick(1, 40), backwards);
        check_close(c.computed(), expected(c), c.text());
      }
}

TEST_CASE("weights of 8 bits, with zero points or without, few rows or many") {
  for (const Cell cell : kCells)
    for (const DType dtype : {DType::int8, DType::uint8})
      for (int round = 0; round < (testing::on_gpu() ? 1 : 6); ++round) {
        Case c(cell, pick(1, 8), round == 0 ? pick(13, 20) : pick(1, 9), pick(1, 60), pick(0, 1) == 1);
        const std::int64_t width = gates(cell) * c.size, low = dtype == DType::int8 ? -128 : 0;
        const float largest = 1 / std::sqrt(static_cast<float>(c.size));
        std::vector<std::int32_t> numbers;
        for (std::int64_t k = 0; k < c.size * width; ++k) numbers.push_back(static_cast<std::int32_t>(low + pick(0, 255)));
        std::vector<float> factor = floats(width, largest / 256, largest / 128), zero(static_cast<std::size_t>(width));
        for (float& one : zero) one = round == 1 ? 0 : static_cast<float>(low + pick(100, 150));
        if (round == 1 && dtype == DType::uint8)
          for (float& one : factor) one /= 2;
        for (std::size_t at = 0; at < numbers.size(); ++at)  // at the end of the weights is the bias
          c.weights[at] = (static_cast<float>(numbers[at]) - zero[at % zero.size()]) * factor[at % zero.size()];
        const ByteWeights weights{astype(from_span(numbers, {c.size, width}), dtype), from_span(factor, {width}), from_span(zero, {width}),
                                  from_span(std::vector<float>(c.weights.end() - width, c.weights.end()), {width})};
        check_close(recurrence(cell, c.x_tensor(), weights, c.start_tensor(), c.backwards), expected(c), c.text() + ", bytes");
      }
}

TEST_CASE("sequences of several lengths: what is behind a sequence's end is not read") {
  for (const Cell cell : kCells)
    for (const bool backwards : {false, true})
      for (int round = 0; round < (testing::on_gpu() ? 1 : 4); ++round) {
        Case c(cell, pick(1, 12), pick(1, 9), pick(1, 40), backwards);
        for (std::int64_t b = 0; b < c.batch; ++b) c.lengths.push_back(pick(round == 0 ? 0 : -2, round == 0 ? 0 : c.steps + 2));
        const std::int64_t width = gates(cell) * c.size;
        for (std::int64_t t = 0; t < c.steps; ++t)
          for (std::int64_t b = 0; b < c.batch; ++b)
            if (!c.has(t, b)) std::fill_n(c.x.begin() + (t * c.batch + b) * width, width, NAN);
        check_close(c.computed(), expected(c), c.text() + ", lengths");
      }
}

TEST_CASE("the inputs' weights are part of the call if sequences have lengths") {
  for (const Cell cell : kCells)
    for (const bool backwards : {false, true})
      for (int round = 0; round < (testing::on_gpu() ? 1 : 4); ++round) {
        Case c(cell, testing::on_gpu() ? pick(1, 6) : pick(1, 200), pick(1, 9), pick(1, 20), backwards);
        const std::int64_t inputs = round == 1 ? 0 : pick(1, 40), width = gates(cell) * c.size;
        for (std::int64_t b = 0; b < c.batch; ++b) c.lengths.push_back(pick(0, round == 0 ? c.steps : c.steps / 2));
        std::vector<float> x = floats(c.steps * c.batch * inputs, -1, 1);
        const float largest = 1 / std::sqrt(static_cast<float>(inputs + 1));
        std::vector<float> by = floats((inputs + 1) * width, -largest, largest);
        const auto element = [&](const std::vector<float>& rows, std::int64_t row, std::int64_t columns, std::int64_t column) {
          return static_cast<double>(rows[static_cast<std::size_t>(row * columns + column)]);
        };
        for (std::int64_t row = 0; row < c.steps * c.batch; ++row) {
          const bool runs = c.has(row / c.batch, row % c.batch);
          if (!runs) std::fill_n(x.begin() + row * inputs, inputs, NAN);
          for (std::int64_t j = 0; j < width; ++j) {
            double sum = element(by, inputs, width, j);
            for (std::int64_t i = 0; i < inputs; ++i) sum += element(x, row, inputs, i) * element(by, i, width, j);
            c.x[static_cast<std::size_t>(row * width + j)] = static_cast<float>(sum);
          }
        }
        const std::vector<double> wanted = expected(c);
        by.insert(by.end(), c.weights.begin(), c.weights.end());
        std::vector<float> first;
        for (const int threads : {1, 3}) {
          const auto scope = testing::with_threads(threads);
          const Tensor result = recurrence(cell, from_span(x, {c.steps, c.batch, inputs}), from_span(by, {inputs + c.size + 2, width}), c.start_tensor(),
                                           backwards, from_span(c.lengths, {c.batch}));
          check_close(result, wanted, c.text() + fmt::format(", {} inputs", inputs));
          const std::vector<float> values = result.to_vector<float>();
          if (first.empty()) first = values;
          CHECK(std::memcmp(values.data(), first.data(), first.size() * sizeof(float)) == 0);
        }
      }
}

TEST_CASE("many rows, which are several tasks, give the same bits on any number of threads") {
  for (const Cell cell : kCells) {
    const Case c(cell, 3, 300, 37, false);
    std::vector<float> first;
    for (const int threads : {1, 2, 5}) {
      const auto scope = testing::with_threads(threads);
      const std::vector<float> values = c.computed().to_vector<float>();
      if (first.empty()) first = values;
      CHECK(std::memcmp(values.data(), first.data(), first.size() * sizeof(float)) == 0);
    }
    check_close(from_span(first, {3 + states(cell), 300, 37}), expected(c), c.text());
  }
}

TEST_CASE("operands may be views, and other operations use the results") {
  const Case c(Cell::lstm, 7, 3, 10, true);
  const Tensor across = swapaxes(from_span(floats(3 * 7 * 40), {3, 7, 40}), 0, 1);
  Case same = c;
  same.x = (contiguous(across) * 2 + 1).to_vector<float>();
  const Tensor all = recurrence(Cell::lstm, across * 2 + 1, c.weights_tensor(), c.start_tensor(), true);
  check_close(all, expected(same), "a view");
  const Tensor twice = recurrence(Cell::lstm, matmul(reshape(all.at({Slice{0, 7}}), {21, 10}), ones({10, 40}, DType::float32)).reshape({7, 3, 40}),
                                  c.weights_tensor(), c.start_tensor());
  Case second = c;
  second.backwards = false;
  const std::vector<float> states = all.to_vector<float>();
  for (std::size_t k = 0; k < second.x.size(); ++k) {
    double sum = 0;
    for (std::size_t j = 0; j < 10; ++j) sum += states[k / 40 * 10 + j];
    second.x[k] = static_cast<float>(sum);
  }
  check_close(twice, expected(second), "a second layer");
}

TEST_CASE("without steps the result is the initial state, without rows it is empty") {
  const Case none(Cell::gru, 0, 2, 5, false);
  CHECK(none.computed().to_vector<float>() == none.start);
  CHECK(recurrence(Cell::lstm, zeros({4, 0, 20}, DType::float32), zeros({6, 20}, DType::float32), zeros({2, 0, 5}, DType::float32)).shape() == Shape{6, 0, 5});
}

TEST_CASE("a NaN affects only its row") {
  for (const Cell cell : kCells) {
    Case c(cell, 4, 2, 6, false);
    c.x[0] = NAN;
    const std::vector<float> values = c.computed().to_vector<float>();
    for (std::int64_t t = 0; t < 4; ++t)
      for (std::int64_t j = 0; j < 6; ++j) CHECK(!std::isnan(values[static_cast<std::size_t>((t * 2 + 1) * 6 + j)]));
    CHECK(std::isnan(values[0]));
    CHECK(std::isnan(values[static_cast<std::size_t>(3 * 12)]));
  }
}

TEST_CASE("wrong shapes and types are errors") {
  const Case c(Cell::lstm, 3, 2, 4, false);
  CHECK_THROWS_AS(recurrence(Cell::gru, c.x_tensor(), c.weights_tensor(), c.start_tensor()), ShapeError);
  CHECK_THROWS_AS(recurrence(Cell::lstm, c.x_tensor(), c.weights_tensor(), zeros({1, 2, 4}, DType::float32)), ShapeError);
  CHECK_THROWS_AS(recurrence(Cell::lstm, c.x_tensor(), zeros({4, 16}, DType::float32), c.start_tensor()), ShapeError);
  CHECK_THROWS_AS(recurrence(Cell::lstm, astype(c.x_tensor(), DType::float64), c.weights_tensor(), c.start_tensor()), DTypeError);
  const auto with_lengths = [&](const Tensor& lengths) { return recurrence(Cell::lstm, c.x_tensor(), c.weights_tensor(), c.start_tensor(), false, lengths); };
  CHECK_THROWS_AS(with_lengths(zeros({3}, DType::int64)), ShapeError);
  const auto of_inputs = [&](std::int64_t rows, const Tensor& lengths) {
    return recurrence(Cell::lstm, zeros({3, 2, 7}, DType::float32), zeros({rows, 16}, DType::float32), c.start_tensor(), false, lengths);
  };
  CHECK(of_inputs(13, zeros({2}, DType::int64)).shape() == Shape{5, 2, 4});
  for (const std::int64_t rows : {12, 14, 5, 0}) CHECK_THROWS_AS(of_inputs(rows, zeros({2}, DType::int64)), ShapeError);
  CHECK_THROWS_AS(of_inputs(13, {}), ShapeError);
  CHECK_THROWS_AS(with_lengths(zeros({2}, DType::int32)), DTypeError);
  const auto of_bytes = [&](const Tensor& numbers, const Tensor& factor) {
    const Tensor zero = zeros({16}, DType::float32);
    return recurrence(Cell::lstm, c.x_tensor(), ByteWeights{numbers, factor, zero, zero}, c.start_tensor());
  };
  const Tensor factor = ones({16}, DType::float32);
  CHECK(of_bytes(zeros({4, 16}, DType::uint8), factor).shape() == Shape{5, 2, 4});
  CHECK_THROWS_AS(of_bytes(zeros({5, 16}, DType::uint8), factor), ShapeError);
  CHECK_THROWS_AS(of_bytes(zeros({4, 12}, DType::int8), factor), ShapeError);
  CHECK_THROWS_AS(of_bytes(zeros({4, 16}, DType::int16), factor), DTypeError);
  CHECK_THROWS_AS(of_bytes(zeros({4, 16}, DType::int8), ones({16}, DType::float64)), DTypeError);
  CHECK_THROWS_AS(of_bytes(zeros({4, 16}, DType::int8), ones({15}, DType::float32)), ShapeError);
}

TEST_CASE("one plan serves every length") {
  const Case weights(Cell::lstm, 1, 1, 12, false);
  const auto formula = [&](const std::vector<Tensor>& given) {
    const std::int64_t steps = given[0].size(0), batch = given[0].size(1);
    const Tensor forwards = recurrence(Cell::lstm, given[0], weights.weights_tensor(), zeros({2, batch, 12}, DType::float32));
    const Tensor back = recurrence(Cell::lstm, given[0], weights.weights_tensor(), zeros({2, batch, 12}, DType::float32), true);
    const Tensor& f = forwards;
    const Tensor& g = back;
    return std::vector<Tensor>{concatenate({f.at({Slice{0, steps}}), g.at({Slice{0, steps}})}, -1), f(steps), f(steps + 1)};
  };
  const Function frozen = freeze(formula, {{DType::float32, {{"t", 19}, {"b", 5}, 48}, "x"}});
  const auto check = [&](const Function& f) {
    for (const std::int64_t steps : {19, 2, 3, 57, 300}) {
      Case c(Cell::lstm, steps, 6, 12, false);
      c.weights = weights.weights;
      std::fill(c.start.begin(), c.start.end(), 0.f);
      const std::vector<Tensor> results = f({c.x_tensor()});
      const std::vector<double> forwards = expected(c);
      c.backwards = true;
      const std::vector<double> back = expected(c);
      const std::size_t state = 6 * 12;
      std::vector<double> both;
      for (std::size_t row = 0; row < static_cast<std::size_t>(steps) * 6; ++row)
        for (const auto* one : {&forwards, &back})
          both.insert(both.end(), one->begin() + static_cast<std::ptrdiff_t>(row * 12), one->begin() + static_cast<std::ptrdiff_t>(row * 12 + 12));
      check_close(results[0], both, fmt::format("{} steps", steps));
      check_close(results[1], {forwards.end() - 2 * state, forwards.end() - state}, "the state");
      check_close(results[2], {forwards.end() - state, forwards.end()}, "the cell");
    }
  };
  check(frozen);
  const std::string path = (std::filesystem::temp_directory_path() / fmt::format("sinter-recurrent-{}.plan", ::getpid())).string();
  frozen.save(path);
  check(Function::load(path));
  std::filesystem::remove(path);
}
