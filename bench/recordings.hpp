// Whole programs for bench_planning, recorded as a user writes them and never evaluated.
#pragma once
#include <cmath>
#include <functional>
#include <sinter/sinter.hpp>
#include <string>
#include <utility>
#include <vector>

namespace sinter::recordings {

struct Recording {
  std::string name;
  std::function<std::vector<Tensor>()> record;  // returns the wanted values
};

inline Tensor input(const Shape& shape) { return placeholder(shape, DType::float32); }

// ---- stencils of stencils: every step reads the last at several offsets ------------------------------------------------------

inline std::vector<Tensor> products(int steps) {
  Tensor x = input({512, 512});
  for (int k = 0; k < steps; ++k) x = x(Slice{1}, Slice{1}) - x(Slice{1}, Slice{{}, -1}) * x(Slice{{}, -1}, Slice{1}) * 0.01f;
  return {x};
}

inline std::vector<Tensor> star(int steps) {
  Tensor u = input({512, 512});
  const Slice inner{1, -1}, before{{}, -2}, after{2};
  for (int k = 0; k < steps; ++k)
    u = u(inner, inner) + 0.1f * (u(before, inner) + u(after, inner) + u(inner, before) + u(inner, after) - 4.f * u(inner, inner));
  return {u};
}

inline std::vector<Tensor> three_points(int steps) {
  Tensor u = input({100000});
  for (int k = 0; k < steps; ++k) u = 0.25f * u(Slice{{}, -2}) + 0.5f * u(Slice{1, -1}) + 0.25f * u(Slice{2});
  return {u};
}

inline std::vector<Tensor> life(int generations) {
  Tensor alive = input({256, 256});
  for (int k = 0; k < generations; ++k) {
    Tensor around;
    for (int dy : {-1, 0, 1})
      for (int dx : {-1, 0, 1}) {
        if (dy == 0 && dx == 0) continue;
        const Tensor neighbour = roll(alive, {dy, dx}, {0, 1});
        around = dy == -1 && dx == -1 ? neighbour : around + neighbour;
      }
    alive = where((around == 3.f) | ((alive == 1.f) & (around == 2.f)), 1.f, 0.f);
  }
  return {alive};
}

inline std::vector<Tensor> pieces(int count) {
  std::vector<Tensor> parts;
  for (int k = 0; k < count; ++k) parts.push_back(input({64, 32}) * 2.f);
  return {concatenate(parts, 0) + 1.f};
}

// ---- networks ---------------------------------------------------------------------------------------------------------------

inline std::vector<Tensor> transformer(int layers) {
  const std::int64_t batch = 4, length = 256, width = 768, heads = 12, size = width / heads;
  Tensor x = input({batch, length, width});
  const auto linear = [](const Tensor& of, std::int64_t in, std::int64_t out) { return matmul(of, input({in, out})) + input({out}); };
  const auto split = [&](const Tensor& of) { return transpose(of.reshape({batch, length, heads, size}), {0, 2, 1, 3}); };
  for (int k = 0; k < layers; ++k) {
    const Tensor h = layer_norm(x, input({width}), input({width}));
    const Tensor q = split(linear(h, width, width)), key = split(linear(h, width, width)), v = split(linear(h, width, width));
    const Tensor scores = matmul(q, transpose(key, {0, 1, 3, 2})) * (1.f / std::sqrt(static_cast<float>(size)));
    const Tensor places = arange(length);
    const Tensor causal = where(places.reshape({length, 1}) >= places, scores, -1e9f);
    const Tensor mixed = transpose(matmul(softmax(causal), v), {0, 2, 1, 3}).reshape({batch, length, width});
    x = x + linear(mixed, width, width);
    x = x + linear(gelu(linear(layer_norm(x, input({width}), input({width})), width, 4 * width)), 4 * width, width);
  }
  return {layer_norm(x, input({width}), input({width}))};
}

// A convolution as a product over the nine neighbours, concatenated.
inline Tensor convolution(const Tensor& x, std::int64_t out) {
  const Shape shape = x.shape();  // batch, channels, height, width
  const Tensor padded = pad(x, {{0, 0}, {0, 0}, {1, 1}, {1, 1}});
  std::vector<Tensor> neighbours;
  for (std::int64_t dy = 0; dy < 3; ++dy)
    for (std::int64_t dx = 0; dx < 3; ++dx) neighbours.push_back(padded(Slice{}, Slice{}, Slice{dy, dy + shape[2]}, Slice{dx, dx + shape[3]}));
  const Tensor columns = concatenate(neighbours, 1).reshape({shape[0], 9 * shape[1], shape[2] * shape[3]});
  return matmul(input({out, 9 * shape[1]}), columns).reshape({shape[0], out, shape[2], shape[3]});
}

inline Tensor normed(const Tensor& x) {
  const Shape each{x.shape()[1], 1, 1};
  return (x - input(each)) / sqrt(input(each) + 1e-5f) * input(each) + input(each);
}

inline std::vector<Tensor> residual_network(int blocks) {
  Tensor x = relu(normed(convolution(input({2, 3, 32, 32}), 64)));
  for (int k = 0; k < blocks; ++k) {
    const Tensor h = relu(normed(convolution(x, 64)));
    x = relu(normed(convolution(h, 64)) + x);
  }
  return {matmul(mean(x, {2, 3}), input({64, 10}))};
}

inline std::vector<Tensor> lstm(int steps) {
  const std::int64_t batch = 16, width = 128;
  const Tensor xw = input({steps, batch, 4 * width}), weights = input({width, 4 * width});
  Tensor h = input({batch, width}), c = input({batch, width});
  for (int k = 0; k < steps; ++k) {
    const Tensor gates = xw(k) + matmul(h, weights);
    const auto gate = [&](std::int64_t g) { return gates(Slice{}, Slice{g * width, (g + 1) * width}); };
    c = sigmoid(gate(1)) * c + sigmoid(gate(0)) * tanh(gate(2));
    h = sigmoid(gate(3)) * tanh(c);
  }
  return {h, c};
}

inline std::vector<Tensor> adam(int tensors) {
  std::vector<Tensor> wanted;
  const Tensor step = input({});
  const Tensor first = 1.f - power(0.9f, step), second = 1.f - power(0.999f, step);
  for (int k = 0; k < tensors; ++k) {
    const Shape shape{64 + k, 128};
    const Tensor p = input(shape), g = input(shape), m = 0.9f * input(shape) + 0.1f * g, v = 0.999f * input(shape) + 0.001f * g * g;
    wanted.insert(wanted.end(), {p - 1e-3f * (m / first) / (sqrt(v / second) + 1e-8f), m, v});
  }
  return wanted;
}

inline std::vector<Recording> all() {
  const auto of = [](auto record, int count) { return [=] { return record(count); }; };
  return {{"products, 20 steps", of(products, 20)},
          {"star, 15 steps", of(star, 15)},
          {"three points, 200 steps", of(three_points, 200)},
          {"life, 50 generations", of(life, 50)},
          {"256 pieces", of(pieces, 256)},
          {"1000 pieces", of(pieces, 1000)},
          {"transformer, 12 layers", of(transformer, 12)},
          {"residual network, 16 blocks", of(residual_network, 16)},
          {"LSTM, 100 steps", of(lstm, 100)},
          {"Adam, 200 tensors", of(adam, 200)}};
}

}  // namespace sinter::recordings
