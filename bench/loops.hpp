// Loops that never call eval, beside the same loops that do. bench/loops.cpp times them; tests/trace/test_loops.cpp counts their compiles.
#pragma once
#include <cstdint>
#include <functional>
#include <sinter/sinter.hpp>
#include <string>
#include <vector>

namespace sinter::loops {

/// Runs its steps; with `evaluating` it calls eval once a step. Returns a number that depends on every step.
using Run = std::function<double(int steps, bool evaluating)>;
struct Loop {
  std::string name;
  int steps;
  Run run;
};

inline Tensor ramp(const Shape& shape) {
  std::int64_t count = 1;
  for (auto size : shape) count *= size;
  return (astype(arange(count), DType::float32) * (1.f / static_cast<float>(count))).reshape(shape);
}

inline double total(const Tensor& x) { return static_cast<double>(sum(x).item<float>()); }

inline double add_a_little(int steps, bool evaluating, std::int64_t n) {
  Tensor b = ramp({n});
  eval(b);
  for (int k = 0; k < steps; ++k) {
    b = b + 0.02f;
    if (evaluating) eval(b);
  }
  return total(b);
}

inline double adam(int steps, bool evaluating, std::int64_t n) {
  const Tensor target = ramp({n});
  Tensor p = target * 0.f + 1.f, m = target * 0.f, v = target * 0.f;
  eval(target, p, m, v);
  for (int k = 0; k < steps; ++k) {
    const Tensor g = (p - target) * 2.f;
    m = m * 0.9f + g * 0.1f;
    v = v * 0.999f + g * g * 0.001f;
    p = p - 0.01f * m / (sqrt(v) + 1e-8f);
    if (evaluating) eval(p, m, v);
  }
  return total(p) + total(m) + total(v);
}

inline double mandelbrot(int steps, bool evaluating, std::int64_t n) {
  const Tensor cr = broadcast_to(ramp({1, n}) * 3.f - 2.f, {n, n}), ci = broadcast_to(ramp({n, 1}) * 2.f - 1.f, {n, n});
  Tensor zr = cr * 0.f, zi = ci * 0.f;
  eval(zr, zi);
  for (int k = 0; k < steps; ++k) {
    const Tensor next = clip(zr * zr - zi * zi + cr, -4.f, 4.f);
    zi = clip(2.f * zr * zi + ci, -4.f, 4.f);
    zr = next;
    if (evaluating) eval(zr, zi);
  }
  return total(zr) + total(zi);
}

inline double heat(int steps, bool evaluating, std::int64_t n) {
  Tensor u = ramp({n + 2 * steps, n + 2 * steps});
  eval(u);
  const Slice inner{1, -1}, before{0, -2}, after{2, {}};
  for (int k = 0; k < steps; ++k) {
    u = 0.25f * (u(before, inner) + u(after, inner) + u(inner, before) + u(inner, after));
    if (evaluating) eval(u);
  }
  return total(u);
}

inline double convergence(int steps, bool evaluating, std::int64_t n) {
  Tensor x = ramp({n}) + 1.f;
  eval(x);
  double change = 0;
  for (int k = 0; k < steps; ++k) {
    const Tensor next = 0.5f * (x + 2.f / x);
    if (evaluating) eval(next);
    change += static_cast<double>(max(abs(next - x)).item<float>());
    x = next;
  }
  return change;
}

inline double lorenz(int steps, bool evaluating, std::int64_t n) {
  Tensor x = ramp({n}), y = x + 1.f, z = x + 2.f;
  eval(x, y, z);
  for (int k = 0; k < steps; ++k) {
    const Tensor dx = 10.f * (y - x), dy = x * (28.f - z) - y, dz = x * y - z * (8.f / 3.f);
    x = x + 0.001f * dx;
    y = y + 0.001f * dy;
    z = z + 0.001f * dz;
    if (evaluating) eval(x, y, z);
  }
  return total(x) + total(y) + total(z);
}

// Assignments to parts of a small tensor, in place. The size does not matter here, because planning dominates.

inline double shifted_parts(int steps, bool evaluating) {
  Tensor x = ramp({50});
  for (int k = 0; k < steps; ++k) {
    x(Slice{0, 49}) = x(Slice{1, 50});
    if (evaluating) eval(x);
  }
  return total(x);
}

inline double heat_in_place(int steps, bool evaluating) {
  Tensor u = ramp({40, 40});
  const Slice inner{1, -1}, before{0, -2}, after{2, {}};
  for (int k = 0; k < steps; ++k) {
    u(inner, inner) += 0.1f * (u(before, inner) + u(after, inner) + u(inner, before) + u(inner, after) - 4.f * u(inner, inner));
    if (evaluating) eval(u);
  }
  return total(u);
}

inline double rolled(int steps, bool evaluating) {
  Tensor x = ramp({50});
  for (int k = 0; k < steps; ++k) {
    x = concatenate({x(Slice{1, {}}), x(Slice{0, 1})}, 0);
    if (evaluating) eval(x);
  }
  return static_cast<double>(sum(x * ramp({50})).item<float>());
}

inline double counted(int steps, bool evaluating) {
  Tensor q = ramp({50});
  for (int k = 0; k < steps; ++k) {
    q(k * 3 % 50) += static_cast<float>(k);
    if (evaluating) eval(q);
  }
  return total(q);
}

// Lines that occur several times in an iteration, values that are read in two orders, a state that the user evaluates now and then.

inline double wave(int steps, bool evaluating, std::int64_t n) {
  Tensor u = ramp({n}), v = u * 0.f;
  eval(u, v);
  const auto curvature = [](const Tensor& x) { return roll(x, {1}) + roll(x, {-1}) - 2.f * x; };
  for (int k = 0; k < steps; ++k) {
    v = v + 0.1f * curvature(u), u = u + 0.1f * (v + 0.01f * curvature(v));
    if (evaluating) eval(u, v);
  }
  return static_cast<double>(sum(u * ramp({n})).item<float>()) + total(v * v);
}

inline double exchanged(int steps, bool evaluating) {
  Tensor x = sin(ramp({64}) * 100.f);
  for (int k = 0; k < steps; ++k) {
    const std::int64_t distance = std::int64_t{1} << k % 6;
    const Tensor other = flip(x.reshape({32 / distance, 2, distance}), {1}).reshape({64});
    x = where((arange(64) & distance) == 0, minimum(x, other), maximum(x, other));
    if (evaluating) eval(x);
  }
  return static_cast<double>(sum(x * ramp({64})).item<float>());
}

inline double lstm(int steps, bool evaluating) {
  constexpr std::int64_t size = 16;
  const Tensor input = sin(ramp({50, 4 * size}) * 500.f), weights = sin(ramp({size, 4 * size}) * 700.f) * 0.3f;
  Tensor h = ramp({size}), c = h * 0.f;
  eval(input, weights, h, c);
  const auto part = [](const Tensor& gates, std::int64_t k) { return gates(Slice{k * size, (k + 1) * size}); };
  for (int k = 0; k < steps; ++k) {
    const Tensor gates = input(k % 50) + matmul(h, weights);
    c = sigmoid(part(gates, 0)) * c + sigmoid(part(gates, 1)) * tanh(part(gates, 2));
    h = sigmoid(part(gates, 3)) * tanh(c);
    if (evaluating) eval(h, c);
  }
  return total(h) + total(c);
}

inline double asked_now_and_then(int steps, bool evaluating, std::int64_t n) {
  Tensor x = ramp({n}) + 1.f;
  eval(x);
  double change = 0;
  for (int k = 0; k < steps; ++k) {
    const Tensor next = 0.9f * x + 0.1f / x;
    if (evaluating) eval(next);
    if (k % 10 == 9) change += static_cast<double>(max(abs(next - x)).item<float>());
    x = next;
  }
  return change + total(x);
}

// Programs of small tensors, as people write them: they measure the cost of a step besides its arithmetic.

inline double shifted_round(int steps, bool evaluating, std::int64_t n) {
  Tensor x = sin(ramp({n}) * 100.f);
  for (int k = 0; k < steps; ++k) {
    x = roll(x, {1});
    if (evaluating) eval(x);
  }
  return static_cast<double>(sum(x * ramp({n})).item<float>());
}

inline double gauss(int steps, bool evaluating) {
  const std::int64_t n = steps;
  Tensor a = sin(ramp({n, n}) * 1000.f) + 5.f * astype(eye(n), DType::float32);
  const Tensor rows = arange(n).reshape({n, 1});
  eval(a, rows);
  for (std::int64_t k = 0; k < n; ++k) {
    const Tensor factor = where(rows > k, a(Slice{}, Slice{k, k + 1}) / a(k, k), 0.f);
    a = a - factor * a(Slice{k, k + 1});
    if (evaluating) eval(a);
  }
  return total(a);
}

inline double filtered(int steps, bool evaluating) {
  const Tensor taps = sin(ramp({16}) * 7.f), input = sin(ramp({500}) * 300.f);
  Tensor history = zeros({16}, DType::float32), sum_of_squares = zeros({}, DType::float32);
  eval(taps, input, history, sum_of_squares);
  for (std::int64_t k = 0; k < steps; ++k) {
    history = concatenate({input(Slice{k % 500, k % 500 + 1}), history(Slice{0, -1})}, 0);
    const Tensor out = sum(history * taps);
    sum_of_squares = sum_of_squares + out * out;
    if (evaluating) eval(history, sum_of_squares);
  }
  return static_cast<double>(sum_of_squares.item<float>());
}

inline double heat_until_still(int steps, bool evaluating) {
  Tensor u = sin(ramp({100}) * 30.f);
  eval(u);
  double change = 0;
  const Slice inner{1, -1}, before{0, -2}, after{2, {}};
  for (int k = 0; k < steps; ++k) {
    Tensor next = u;
    next(inner) = u(inner) + 0.25f * (u(before) - 2.f * u(inner) + u(after));
    if (evaluating) eval(next);
    change = static_cast<double>(sqrt(sum((next - u) * (next - u))).item<float>());
    u = next;
  }
  return change + total(u);
}

inline double random_walk(int steps, bool evaluating, std::int64_t n) {
  const random::Key key(7);
  Tensor x = ramp({n});
  for (int k = 0; k < steps; ++k) {
    x = x + 0.1f * random::normal(key.fold_in(static_cast<std::uint64_t>(k)), {n}, 0, 1, DType::float32);
    if (evaluating) eval(x);
  }
  return total(x);
}

inline double bubble_sort(int steps, bool evaluating) {
  const std::int64_t n = 24;
  Tensor a = sin(ramp({n}) * 100.f);
  std::int64_t at = 0;
  for (int k = 0; k < steps; ++k, at = (at + 1) % (n - 1)) {
    const Tensor left = a(at), right = a(at + 1);
    const Tensor low = minimum(left, right), high = maximum(left, right);
    a(at) = low;
    a(at + 1) = high;
    if (evaluating) eval(a);
  }
  return static_cast<double>(sum(a * ramp({n})).item<float>());
}

inline double growing(int steps, bool evaluating) {
  const Tensor input = sin(ramp({64}) * 30.f);
  Tensor all = input(Slice{0, 1});
  eval(input, all);
  for (std::int64_t k = 1; k < steps; ++k) {
    all = concatenate({all, input(Slice{k % 64, k % 64 + 1}) * 2.f}, 0);
    if (evaluating) eval(all);
  }
  return total(all);
}

/// Returns all of them, over about `n` elements.
inline std::vector<Loop> all(std::int64_t n) {
  std::int64_t side = 1;
  while (side * side < n) ++side;
  const auto over = [](auto run, std::int64_t size) { return [=](int steps, bool evaluating) { return run(steps, evaluating, size); }; };
  return {{"b = b + 0.02", 1000, over(add_a_little, n)},
          {"Adam", 100, over(adam, n)},
          {"Mandelbrot", 200, over(mandelbrot, side)},
          {"heat", 200, over(heat, side)},
          {"convergence", 100, over(convergence, n)},
          {"Lorenz", 100, over(lorenz, n)},
          {"shifted parts", 400, shifted_parts},
          {"heat in place", 200, heat_in_place},
          {"rolled", 1000, rolled},
          {"counted", 2000, counted},
          {"wave", 200, over(wave, n)},
          {"exchanged", 300, exchanged},
          {"LSTM", 200, lstm},
          {"asked now and then", 100, over(asked_now_and_then, n)},
          {"roll", 500, over(shifted_round, n)},
          {"Gauss", 60, gauss},
          {"filter", 300, filtered},
          {"heat until still", 200, heat_until_still},
          {"random walk", 200, over(random_walk, n)},
          {"bubble sort", 300, bubble_sort},
          {"growing", 300, growing}};
}

}  // namespace sinter::loops
