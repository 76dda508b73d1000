// RNN, GRU and LSTM: one call for all steps (sinter/recurrent.hpp) or, if the layer has features that the call lacks, recorded operations for each step.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "onnx/call.hpp"
#include "onnx/quantized.hpp"
#include "sinter/counted.hpp"
#include "sinter/recurrent.hpp"
#include "sinter/sinter.hpp"

namespace sinter::onnx {
namespace {

using Activation = std::function<Tensor(const Tensor&)>;

std::string small_letters(std::string name) {
  for (char& letter : name) letter = static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter);
  return name;
}

Activation activation(const Call& c, const std::string& name, std::optional<double> alpha, std::optional<double> beta) {
  if (name == "sigmoid") return [](const Tensor& x) { return sigmoid(x); };
  if (name == "tanh") return [](const Tensor& x) { return tanh(x); };
  if (name == "relu") return [](const Tensor& x) { return relu(x); };
  if (name == "softsign") return [](const Tensor& x) { return x / (absolute(x) + 1); };
  if (name == "softplus") return [](const Tensor& x) { return softplus(x); };
  if (name == "affine") return [a = alpha.value_or(1), b = beta.value_or(0)](const Tensor& x) { return x * a + b; };
  if (name == "leakyrelu") return [a = alpha.value_or(0.01)](const Tensor& x) { return leaky_relu(x, a); };
  if (name == "thresholdedrelu") return [a = alpha.value_or(1)](const Tensor& x) { return where(x > a, x, 0); };
  if (name == "scaledtanh") return [a = alpha.value_or(1), b = beta.value_or(1)](const Tensor& x) { return tanh(x * b) * a; };
  if (name == "hardsigmoid") return [a = alpha.value_or(0.2), b = beta.value_or(0.5)](const Tensor& x) { return clip(x * a + b, 0, 1); };
  if (name == "elu") return [a = alpha.value_or(1)](const Tensor& x) { return elu(x, a); };
  c.refuse(fmt::format("the activation '{}'", name));
}

/// The common parts of the three operators: directions, layout, and sequences of several lengths.
struct Sequence {
  Tensor x;  // [steps, batch, inputs]
  std::int64_t steps, batch, hidden, directions;
  bool reverse, batch_first;
  Tensor lengths;  // [batch] int64, or empty
  std::optional<double> clip_at;
  std::vector<Activation> activations;  // the activations of all directions in order
  bool plain;  // the layer has only weights and states; if its activations are the usual ones too, a cell of sinter/recurrent.hpp computes it
  std::vector<std::string> names;  // names of the activations, in lower case
};

Sequence sequence(const Call& c, std::vector<std::string> defaults) {
  Sequence s;
  s.batch_first = c.integer("layout", 0) != 0;
  s.x = s.batch_first ? swapaxes(c[0], 0, 1) : c.tensor(0);
  if (s.x.ndim() != 3 || c.tensor(2).ndim() != 3) c.refuse(fmt::format("an input of shape {}", to_string(s.x.shape())));
  s.steps = s.x.size(0), s.batch = s.x.size(1), s.hidden = c.tensor(2).size(2), s.directions = c.tensor(2).size(0);
  const std::string direction = c.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") c.refuse(fmt::format("direction '{}'", direction));
  if (s.directions != (direction == "bidirectional" ? 2 : 1)) c.refuse(fmt::format("weights of {} directions do not fit '{}'", s.directions, direction));
  s.reverse = direction == "reverse";
  if (c.has(4)) s.lengths = astype(c[4], DType::int64);
  if (c.given("clip")) s.clip_at = c.number("clip");
  std::vector<std::string>& names = s.names;
  for (std::int64_t d = 0; d < s.directions; ++d) names.insert(names.end(), defaults.begin(), defaults.end());
  names = c.texts("activations", std::move(names));
  if (names.size() != defaults.size() * static_cast<std::size_t>(s.directions)) c.refuse(sinter::counted(names.size(), "activation"));
  for (std::string& name : names) name = small_letters(std::move(name));
  s.plain = s.x.dtype() != DType::float64 && !s.clip_at;
  const std::vector<float> alphas = c.numbers("activation_alpha", std::vector<float>{}), betas = c.numbers("activation_beta", std::vector<float>{});
  // The numbers of each list belong, in order, to the functions that have such a parameter.
  const auto next = [](const std::vector<float>& numbers, std::size_t& used, bool taken) {
    return taken && used < numbers.size() ? std::optional<double>(numbers[used++]) : std::nullopt;
  };
  std::size_t alphas_used = 0, betas_used = 0;
  for (const std::string& name : names) {
    const bool both = name == "affine" || name == "scaledtanh" || name == "hardsigmoid";
    const bool one = name == "leakyrelu" || name == "thresholdedrelu" || name == "elu";
    const auto alpha = next(alphas, alphas_used, both || one), beta = next(betas, betas_used, both);
    s.activations.push_back(activation(c, name, alpha, beta));
  }
  return s;
}

Tensor clipped(const Sequence& s, const Tensor& x) { return s.clip_at ? clip(x, -*s.clip_at, *s.clip_at) : x; }

/// Computes one direction. `step` maps x's part of the sums and the previous states to the next states, the first of which is the output.
using Step = std::function<std::vector<Tensor>(const Tensor& x, const std::vector<Tensor>& states)>;
struct Walked {
  Tensor outputs;              // [steps, batch, hidden]
  std::vector<Tensor> states;  // the final states
};
Walked walk(const Sequence& s, const Tensor& x, bool backwards, std::vector<Tensor> states, const Step& step) {
  constexpr std::int64_t kMaxSteps = 100'000;
  if (s.steps > kMaxSteps) throw ShapeError(fmt::format("{} consecutive steps; the limit is {}", s.steps, kMaxSteps));
  std::vector<Tensor> outputs(static_cast<std::size_t>(s.steps));
  for (std::int64_t k = 0; k < s.steps; ++k) {
    const std::int64_t t = backwards ? s.steps - 1 - k : k;
    std::vector<Tensor> next = step(std::as_const(x)(t), states);
    Tensor output = next[0];
    if (!s.lengths.empty_handle()) {  // beyond its end, a sequence keeps its state and gives zeros
      const Tensor runs = reshape(s.lengths > t, {-1, 1});
      for (std::size_t i = 0; i < next.size(); ++i) next[i] = where(runs, next[i], states[i]);
      output = where(runs, output, 0).astype(output.dtype());
    }
    outputs[static_cast<std::size_t>(t)] = output;
    states = std::move(next);
  }
  return {s.steps > 0 ? stack(outputs) : zeros({0, s.batch, s.hidden}, x.dtype()), std::move(states)};
}

/// Returns the initial state of a direction from an input [directions, batch, hidden].
Tensor initial(const Call& c, const Sequence& s, std::size_t input, std::int64_t direction) {
  if (!c.has(input)) return zeros({s.batch, s.hidden}, s.x.dtype(), c.where());
  const Tensor given = s.batch_first ? swapaxes(c[input], 0, 1) : c.tensor(input);
  return given(direction);
}

Results finished(const Sequence& s, std::vector<Walked> walked) {
  std::vector<Tensor> outputs;
  for (const Walked& w : walked) outputs.push_back(w.outputs);
  Tensor y = stack(outputs, 1);  // [steps, directions, batch, hidden]
  if (s.batch_first) y = transpose(y, {2, 0, 1, 3});
  Results results{y};
  for (std::size_t state = 0; state < walked[0].states.size(); ++state) {
    std::vector<Tensor> last;
    for (const Walked& w : walked) last.push_back(w.states[state]);
    const Tensor stacked = stack(last);
    results.push_back(s.batch_first ? swapaxes(stacked, 0, 1) : stacked);
  }
  return results;
}

/// Weights (inputs or size, gates * size) and the bias that is added to their product, or nothing.
struct Layer {
  Tensor weights, bias;
  ByteWeights bytes = {};  // the weights as bytes, or nothing
};

/// Returns whether a direction has these activations.
bool has(const Sequence& s, std::int64_t direction, std::initializer_list<std::string_view> names) {
  return std::equal(names.begin(), names.end(), s.names.begin() + direction * static_cast<std::int64_t>(names.size()));
}

/// Computes a direction by one call. x is the inputs' part of the sums. `of_inputs` has no weights if they are not those of a product of floats.
Walked called(const Sequence& s, Cell cell, const Tensor& x, const Layer& of_inputs, const Layer& of_state, const std::vector<Tensor>& states, bool backwards) {
  const auto exact = [](const Tensor& some) { return astype(some, DType::float32); };
  const auto rows = [&](const Layer& layer) {
    const Tensor bias = layer.bias.empty_handle() ? zeros({1, layer.weights.size(1)}, DType::float32) : reshape(exact(layer.bias), {1, -1});
    return concatenate({exact(layer.weights), bias});
  };
  const Tensor start = exact(stack(states));
  const auto walked_along = [&](const Tensor& all) {
    const auto given = [&](const Tensor& some) { return astype(some, s.x.dtype()); };
    Walked walked{given(all.at({Slice{0, s.steps}})), {}};
    for (std::size_t k = 0; k < states.size(); ++k) walked.states.push_back(given(all(s.steps + static_cast<std::int64_t>(k))));
    return walked;
  };
  if (!of_state.bytes.numbers.empty_handle() && s.lengths.empty_handle()) return walked_along(recurrence(cell, exact(x), of_state.bytes, start, backwards));
  const bool multiplies = !s.lengths.empty_handle() && !of_inputs.weights.empty_handle();
  const Tensor weights = multiplies ? concatenate({rows(of_inputs), rows(of_state)}) : rows(of_state);
  return walked_along(recurrence(cell, exact(multiplies ? s.x : x), weights, start, backwards, s.lengths));
}

Tensor with_bias(const Tensor& x, const Tensor& bias) { return bias.empty_handle() ? x : x + bias; }
/// Computes x's part of the sums for all steps at once.
Tensor projected(const Sequence& s, const Layer& of_inputs) {
  const Tensor rows = reshape(s.x, {s.steps * s.batch, s.x.shape()[2]});  // a size of -1 is unknown where there are no rows
  return with_bias(matmul(rows, of_inputs.weights).reshape({s.steps, s.batch, of_inputs.weights.shape()[1]}), of_inputs.bias);
}

Tensor gate(const Tensor& x, std::int64_t k, std::int64_t hidden) { return x.at({ellipsis, Slice{k * hidden, (k + 1) * hidden}}); }

/// Returns the weights of a direction, for the inputs (ONNX's W, input 1) or the states (R, input 2), and their part of the biases (B, input 3).
Layer layer(const Call& c, std::int64_t direction, bool of_state) {
  Layer found{matrix_transpose(std::as_const(c.tensor(of_state ? 2 : 1))(direction)), {}};
  if (c.has(3)) found.bias = gate(std::as_const(c.tensor(3))(direction), of_state, c.tensor(3).size(1) / 2);
  return found;
}

Results rnn(const Call& c) {
  const Sequence s = sequence(c, {"Tanh"});
  std::vector<Walked> walked;
  for (std::int64_t d = 0; d < s.directions; ++d) {
    const Layer of_inputs = layer(c, d, false), of_state = layer(c, d, true);
    Tensor x = projected(s, of_inputs);
    if (s.plain && (has(s, d, {"tanh"}) || has(s, d, {"relu"}))) {
      walked.push_back(called(s, has(s, d, {"tanh"}) ? Cell::rnn_tanh : Cell::rnn_relu, x, of_inputs, of_state, {initial(c, s, 5, d)}, s.reverse || d == 1));
      continue;
    }
    x = with_bias(x, of_state.bias);
    const Activation& f = s.activations[static_cast<std::size_t>(d)];
    walked.push_back(walk(s, x, s.reverse || d == 1, {initial(c, s, 5, d)}, [&](const Tensor& now, const std::vector<Tensor>& h) {
      return std::vector<Tensor>{f(clipped(s, now + matmul(h[0], of_state.weights)))};
    }));
  }
  return finished(s, std::move(walked));
}

Results gru(const Call& c) {
  const Sequence s = sequence(c, {"Sigmoid", "Tanh"});
  const bool reset_after = c.integer("linear_before_reset", 0) != 0;
  std::vector<Walked> walked;
  for (std::int64_t d = 0; d < s.directions; ++d) {
    const Layer of_inputs = layer(c, d, false), of_state = layer(c, d, true);  // gates: update, reset, new
    Tensor x = projected(s, of_inputs), late = zeros({s.hidden}, s.x.dtype());
    if (s.plain && has(s, d, {"sigmoid", "tanh"})) {
      walked.push_back(called(s, reset_after ? Cell::gru_reset_after : Cell::gru, x, of_inputs, of_state, {initial(c, s, 5, d)}, s.reverse || d == 1));
      continue;
    }
    const Tensor &r = of_state.weights, &bias = of_state.bias;
    if (!bias.empty_handle()) {
      late = gate(bias, 2, s.hidden);
      x = x + concatenate({gate(bias, 0, s.hidden), gate(bias, 1, s.hidden), reset_after ? zeros({s.hidden}, s.x.dtype()) : late});
    }
    const Activation &f = s.activations[static_cast<std::size_t>(2 * d)], &g = s.activations[static_cast<std::size_t>(2 * d + 1)];
    walked.push_back(walk(s, x, s.reverse || d == 1, {initial(c, s, 5, d)}, [&](const Tensor& now, const std::vector<Tensor>& before) {
      const Tensor& h = before[0];
      const Tensor gates = gate(now, 0, 2 * s.hidden) + matmul(h, gate(r, 0, 2 * s.hidden));
      const Tensor update = f(clipped(s, gate(gates, 0, s.hidden))), reset = f(clipped(s, gate(gates, 1, s.hidden)));
      const Tensor rn = gate(r, 2, s.hidden);
      const Tensor from_state = reset_after ? reset * (matmul(h, rn) + late) : matmul(reset * h, rn);
      const Tensor fresh = g(clipped(s, gate(now, 2, s.hidden) + from_state));
      return std::vector<Tensor>{(1 - update) * fresh + update * h};
    }));
  }
  return finished(s, std::move(walked));
}

/// Weights of bytes. `product` returns the product of x and the inputs' weights of a direction, (steps, batch, 4 * hidden), `of_state` the weights of the
/// states.
struct OfBytes {
  std::function<Tensor(const Sequence& s, std::int64_t direction)> product;
  std::function<ByteWeights(std::int64_t direction, const Tensor& bias)> of_state;
};
Results lstm(const Call& c, const OfBytes* bytes) {
  const Sequence s = sequence(c, {"Sigmoid", "Tanh", "Tanh"});
  const bool coupled = c.integer("input_forget", 0) != 0;
  std::vector<Walked> walked;
  for (std::int64_t d = 0; d < s.directions; ++d) {
    Layer of_inputs = layer(c, d, false);  // gates: input, output, forget, cell
    Layer of_state = layer(c, d, true);
    if (bytes) of_inputs.weights = {}, of_state.bytes = bytes->of_state(d, of_state.bias);
    Tensor x = bytes ? with_bias(bytes->product(s, d), of_inputs.bias) : projected(s, of_inputs);
    if (s.plain && !coupled && !c.has(7) && has(s, d, {"sigmoid", "tanh", "tanh"})) {
      walked.push_back(called(s, Cell::lstm, x, of_inputs, of_state, {initial(c, s, 5, d), initial(c, s, 6, d)}, s.reverse || d == 1));
      continue;
    }
    x = with_bias(x, of_state.bias);
    const Tensor peephole = c.has(7) ? std::as_const(c.tensor(7))(d) : Tensor();
    const auto peek = [&](const Tensor& gate_now, std::int64_t k, const Tensor& cell) {
      return peephole.empty_handle() ? gate_now : gate_now + gate(peephole, k, s.hidden) * cell;
    };
    const Activation *f = &s.activations[static_cast<std::size_t>(3 * d)], *g = f + 1, *h = f + 2;
    walked.push_back(walk(s, x, s.reverse || d == 1, {initial(c, s, 5, d), initial(c, s, 6, d)}, [&](const Tensor& now, const std::vector<Tensor>& before) {
      const Tensor gates = now + matmul(before[0], of_state.weights);
      const Tensor& cell = before[1];
      const Tensor in = (*f)(clipped(s, peek(gate(gates, 0, s.hidden), 0, cell)));
      const Tensor forget = coupled ? 1 - in : (*f)(clipped(s, peek(gate(gates, 2, s.hidden), 2, cell)));
      const Tensor next = forget * cell + in * (*g)(clipped(s, gate(gates, 3, s.hidden)));
      const Tensor out = (*f)(clipped(s, peek(gate(gates, 1, s.hidden), 1, next)));
      return std::vector<Tensor>{out * (*h)(next), next};
    }));
  }
  return finished(s, std::move(walked));
}

Results lstm(const Call& c) { return lstm(c, nullptr); }

/// ONNX Runtime's LSTM with weights of 8 bits, which are stored transposed. x is rounded to 8 bits. The states stay floats here; in ONNX Runtime each step
/// rounds them to 8 bits, too.
Results dynamic_quantize_lstm(const Call& c) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < 8; ++i) inputs.push_back(c.tensor_or_none(i));
  const auto beside = [&](std::size_t k) { return reshape(c[k], {c.tensor(k).size(0), 1, -1}); };
  Tensor numbers = astype(c[2], DType::float32);
  if (c.has(11)) numbers = subtract(c.at_node(numbers), astype(c.at_node(beside(11)), DType::float32));
  inputs[2] = matrix_transpose(multiply(c.at_node(numbers), beside(10)));
  const auto side = [&](std::size_t i, std::int64_t d) { return std::as_const(c.tensor(i))(d); };
  OfBytes bytes;
  bytes.product = [&](const Sequence& s, std::int64_t d) {
    if (s.x.size() == 0) return zeros({s.steps, s.batch, 4 * s.hidden}, DType::float32);
    const Tensor zero = c.has(9) && !c.is_constant_zero(9) ? side(9, d) : Tensor();
    return dynamic_quantize_matmul(c.with({reshape(s.x, {s.steps * s.batch, -1}), side(1, d), side(8, d), zero}))[0].reshape({s.steps, s.batch, -1});
  };
  bytes.of_state = [&](std::int64_t d, const Tensor& bias) {
    const Tensor weights = side(2, d), none = zeros({weights.size(1)}, DType::float32);
    const auto beside_sums = [&](const Tensor& some) { return broadcast_to(reshape(astype(c.at_node(some), DType::float32), {-1}), none.shape()); };
    return ByteWeights{weights, beside_sums(side(10, d)), c.has(11) ? beside_sums(side(11, d)) : none, bias.empty_handle() ? none : beside_sums(bias)};
  };
  return lstm(c.with(std::move(inputs)), &bytes);
}

const Operator kRecurrentRows[] = {
    {"GRU", {3, 6}, gru},
    {"LSTM", {3, 8}, lstm},
    {"RNN", {3, 6}, rnn},
    {"com.microsoft.DynamicQuantizeLSTM", {3, 12}, dynamic_quantize_lstm},
};

}  // namespace

std::span<const Operator> recurrent_operators() { return kRecurrentRows; }

}  // namespace sinter::onnx
