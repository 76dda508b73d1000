#include "kernels/recurrence.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "base/threads.hpp"
#include "kernels/primitives/interpreter_functions.hpp"
#include "kernels/products/matmul.hpp"
#include "sinter/errors.hpp"
#include "trace/library.hpp"

namespace sinter::kernels {
namespace {

/// The minimum number of sums of a task, such that their functions take longer than starting the task.
constexpr std::int64_t kTaskSums = 8192;

/// The same math functions as in compiled kernels, applied in place.
class Functions {
 public:
  void sigmoid(float* x, std::int64_t n) const { apply(sigmoid_, x, n); }
  void tanh(float* x, std::int64_t n) const { apply(tanh_, x, n); }

 private:
  static void apply(TileFn function, float* x, std::int64_t n) {
    const void* const args[] = {x, nullptr, nullptr};
    function(n, args, x);
  }
  TileFn sigmoid_ = function_kernel(Op::sigmoid, DType::float32), tanh_ = function_kernel(Op::tanh, DType::float32);
};

/// The maximum number of rows of states that are multiplied by weights of 8 bits, which are converted for every four rows. For more rows the weights become
/// floats once.
constexpr std::int64_t kByteRows = 12;

/// Weights of 8 bits: (numbers - zero) * factor.
struct Bytes {
  const void* numbers = nullptr;  // null for weights of floats
  bool is_signed = false;
  const float *factor = nullptr, *zero = nullptr;
};

struct Layer {
  trace::Recurrence how;
  std::int64_t batch, size, sums;
  const float *weights, *bias;
  Bytes bytes;
  Functions functions;
  int threads;

  /// Multiplies `rows`, the states, by some columns of the weights.
  void multiply(const float* rows, std::int64_t first, std::int64_t columns, float* to) const {
    if (bytes.numbers) return multiply_bytes(rows, first, columns, to);
    MatmulOperand a, b;
    a.data = rows, a.leading = size;
    b.data = weights + first, b.leading = sums;
    matmul(DType::float32, a, b, to, {}, batch, columns, size, threads);
  }

  /// The same for weights of 8 bits: factor * (rows @ numbers - zero * the sum of a row).
  void multiply_bytes(const float* rows, std::int64_t first, std::int64_t columns, float* to) const {
    std::array<float, kByteRows> sums_of_rows{};
    for (std::int64_t b = 0; b < batch; ++b) {
      double sum = 0;
      for (std::int64_t k = 0; k < size; ++k) sum += rows[b * size + k];
      sums_of_rows[static_cast<std::size_t>(b)] = static_cast<float>(sum);
    }
    const auto some = [&](std::int64_t begin, std::int64_t end) {
      host_blocks().multiply_byte_weights(
          {rows, static_cast<const std::int8_t*>(bytes.numbers) + first + begin, to + begin, batch, size, end - begin, sums, columns, bytes.is_signed});
      for (std::int64_t b = 0; b < batch; ++b) {
        const float of_row = sums_of_rows[static_cast<std::size_t>(b)];
        for (std::int64_t j = begin; j < end; ++j) to[b * columns + j] = bytes.factor[first + j] * (to[b * columns + j] - bytes.zero[first + j] * of_row);
      }
    };
    constexpr std::int64_t kTaskColumns = 512, kTaskProducts = 65536;
    if (batch * size * kTaskColumns < kTaskProducts) return some(0, columns);
    run_tasks(thread_count(threads), (columns + kTaskColumns - 1) / kTaskColumns,
              [&](std::int64_t task) { some(task * kTaskColumns, std::min(columns, (task + 1) * kTaskColumns)); });
  }

  template <class Row> void each_row(const Row& row) const {
    const std::int64_t together = std::max<std::int64_t>(1, kTaskSums / sums), tasks = (batch + together - 1) / together;
    const auto some = [&](std::int64_t task) {
      for (std::int64_t b = task * together; b < std::min(batch, (task + 1) * together); ++b) row(b);
    };
    if (tasks == 1) some(0);
    else run_tasks(thread_count(threads), tasks, some);
  }

  /// Adds the inputs' part and the bias to n sums, which begin at sum `first` of a row.
  void add(float* z, const float* row, std::int64_t first, std::int64_t n) const {
    for (std::int64_t j = 0; j < n; ++j) z[j] += bias[first + j] + row[first + j];
  }
};

void simple_step(const Layer& l, const float* x, const float* before, float* after, float*) {
  l.multiply(before, 0, l.size, after);
  l.each_row([&](std::int64_t b) {
    float* const h = after + b * l.size;
    l.add(h, x + b * l.sums, 0, l.size);
    if (l.how.cell == Cell::rnn_tanh) return l.functions.tanh(h, l.size);
    for (std::int64_t j = 0; j < l.size; ++j) h[j] = h[j] < 0 ? 0 : h[j];  // a NaN is unchanged
  });
}

/// `z`: (batch, 3 * size) if the reset gate is applied after the product; else (batch, 2 * size), and then the states times the reset gate, (batch, size).
void gru_step(const Layer& l, const float* x, const float* before, float* after, float* z) {
  const std::int64_t n = l.size;
  const bool reset_after = l.how.cell == Cell::gru_reset_after;
  const std::int64_t width = reset_after ? 3 * n : 2 * n;
  float* const left = z + l.batch * width;
  l.multiply(before, 0, width, z);
  l.each_row([&](std::int64_t b) {
    float *const gates = z + b * width, *const h = after + b * n;
    const float *const row = x + b * l.sums, *const old = before + b * n;
    l.add(gates, row, 0, 2 * n);
    l.functions.sigmoid(gates, 2 * n);
    const float* const reset = gates + n;
    if (reset_after)
      for (std::int64_t j = 0; j < n; ++j) h[j] = row[2 * n + j] + reset[j] * (gates[2 * n + j] + l.bias[2 * n + j]);
    else
      for (std::int64_t j = 0; j < n; ++j) left[b * n + j] = reset[j] * old[j];
  });
  if (!reset_after) l.multiply(left, 2 * n, n, after);
  l.each_row([&](std::int64_t b) {
    const float *const update = z + b * width, *const old = before + b * n;
    float* const h = after + b * n;
    if (!reset_after) l.add(h, x + b * l.sums, 2 * n, n);
    l.functions.tanh(h, n);
    for (std::int64_t j = 0; j < n; ++j) h[j] = (1 - update[j]) * h[j] + update[j] * old[j];
  });
}

/// Changes `cell` in place. `z`: (batch, 4 * size).
void lstm_step(const Layer& l, const float* x, const float* before, float* after, float* cell, float* z) {
  const std::int64_t n = l.size;
  l.multiply(before, 0, l.sums, z);
  l.each_row([&](std::int64_t b) {
    float *const gates = z + b * l.sums, *const h = after + b * n, *const c = cell + b * n;
    l.add(gates, x + b * l.sums, 0, l.sums);
    l.functions.sigmoid(gates, 3 * n);
    const float *const in = gates, *const out = gates + n, *const forget = gates + 2 * n;
    float* const fresh = gates + 3 * n;
    l.functions.tanh(fresh, n);
    for (std::int64_t j = 0; j < n; ++j) h[j] = c[j] = forget[j] * c[j] + in[j] * fresh[j];
    l.functions.tanh(h, n);
    for (std::int64_t j = 0; j < n; ++j) h[j] *= out[j];
  });
}

/// Sums of the inputs: multiplied for some steps at a time, when they are needed.
struct InputSums {
  const float *x, *by;  // null: x has the sums
  std::int64_t batch, inputs, sums, together;
  bool backwards;
  int threads;
  std::unique_ptr<float[]> some = {};
  std::int64_t first = 0, end = 0;  // the steps in `some`

  /// Returns the sums of step t; the steps from t on, in their direction, are at most `left`.
  const float* of_step(std::int64_t t, std::int64_t left) {
    if (!by) return x + t * batch * sums;
    if (t < first || t >= end) {
      const std::int64_t count = std::min(together, left);
      first = backwards ? t - count + 1 : t, end = first + count;
      if (!some) some = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(together * batch * sums));
      MatmulOperand a, b;
      a.data = x + first * batch * inputs, a.leading = inputs;
      b.data = by, b.leading = sums;
      matmul(DType::float32, a, b, some.get(), {}, count * batch, sums, inputs, threads);
      const float* const bias = by + inputs * sums;
      for (std::int64_t row = 0; row < count * batch; ++row)
        for (std::int64_t j = 0; j < sums; ++j) some[static_cast<std::size_t>(row * sums + j)] += bias[j];
    }
    return some.get() + (t - first) * batch * sums;
  }
};

}  // namespace

void recur(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads) {
  if (element_count(call.shape) == 0) return;
  const auto how = trace::Recurrence::of(call.ints);
  if (!how || call.dtype != DType::float32) throw InternalError("cpu: no such recurrent layer");
  const auto operand = [&](std::size_t k) { return static_cast<const float*>(pointers[k]) + call.operands[k].offset; };
  const Shape &x = call.operands[0].shape, &start = call.operands[2].shape;
  const std::int64_t steps = x[0], batch = x[1], size = start[2], sums = how->gates() * size, state = batch * size;
  const bool of_bytes = call.op == trace::Op::byte_recurrence;
  const std::int64_t of_inputs = of_bytes ? 0 : trace::Recurrence::rows_of_inputs(call.operands[1].shape, start);
  const float* const weights = operand(1) + of_inputs * sums;
  Layer layer{*how, batch, size, sums, weights, weights + (of_bytes ? 2 : size) * sums, {}, {}, threads};
  std::unique_ptr<float[]> floats;
  if (of_bytes && batch > kByteRows) {
    floats = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(size * sums));
    const auto convert = [&]<class Byte>(const Byte* numbers) {
      for (std::int64_t k = 0; k < size; ++k)
        for (std::int64_t j = 0; j < sums; ++j)
          floats[static_cast<std::size_t>(k * sums + j)] = (static_cast<float>(numbers[k * sums + j]) - weights[sums + j]) * weights[j];
    };
    const auto* const numbers = static_cast<const std::uint8_t*>(pointers[3]) + call.operands[3].offset;
    if (call.operands[3].dtype == DType::int8) convert(reinterpret_cast<const std::int8_t*>(numbers));
    else convert(numbers);
    layer.weights = floats.get();
  } else if (of_bytes) {
    layer.bytes = {static_cast<const std::int8_t*>(pointers[3]) + call.operands[3].offset, call.operands[3].dtype == DType::int8, weights, weights + sums};
  }
  const bool ragged = call.op == trace::Op::ragged_recurrence;
  const auto* const lengths = ragged ? static_cast<const std::int64_t*>(pointers[3]) + call.operands[3].offset : nullptr;
  const auto length = [&](std::int64_t b) { return lengths ? std::clamp<std::int64_t>(lengths[b], 0, steps) : steps; };
  std::int64_t shortest = steps, longest = 0;
  for (std::int64_t b = 0; b < batch; ++b) shortest = std::min(shortest, length(b)), longest = std::max(longest, length(b));
  auto* const result = static_cast<float*>(pointers.back());
  float* const last = result + steps * state;  // the final states; an LSTM's cell is there from the start
  std::copy_n(operand(2), how->states() * state, last);
  const auto sums_of_step = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(batch * sums));
  constexpr std::int64_t kRowsTogether = 64;  // of x: enough for a product at full speed
  const std::int64_t together = std::min(longest, (kRowsTogether + batch - 1) / std::max<std::int64_t>(batch, 1));
  InputSums inputs{operand(0), of_inputs > 0 ? operand(1) : nullptr, batch, x[2], sums, together, how->backwards, threads};
  std::vector<float> cells;  // before a step that not all sequences have
  const float* before = last;
  for (std::int64_t k = 0; k < longest; ++k) {
    const std::int64_t t = how->backwards ? longest - 1 - k : k;
    const float* const of_step = inputs.of_step(t, longest - k);
    float* const after = result + t * state;
    const bool all_run = t < shortest;
    if (!all_run && how->cell == Cell::lstm) cells.assign(last + state, last + 2 * state);
    if (how->cell == Cell::lstm) lstm_step(layer, of_step, before, after, last + state, sums_of_step.get());
    else (how->gates() == 3 ? gru_step : simple_step)(layer, of_step, before, after, sums_of_step.get());
    for (std::int64_t b = 0; !all_run && b < batch; ++b) {
      if (t < length(b)) continue;
      std::copy_n(before + b * size, size, after + b * size);
      if (!cells.empty()) std::copy_n(cells.data() + b * size, size, last + state + b * size);
    }
    before = after;
  }
  if (longest > 0) std::copy_n(before, state, last);
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t t = length(b); t < steps; ++t) std::fill_n(result + t * state + b * size, size, 0.f);
}

}  // namespace sinter::kernels
