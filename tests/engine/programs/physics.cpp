// Simulations of particles, fields and maps, and loops over coupled values.
#include "programs.hpp"

namespace sinter::testing {
namespace {

void heat_2d(Desk& d) {
  int h = 12, w = 9;
  auto [u, uv] = d.random({h, w});
  const Slice in{1, -1}, before{{}, -2}, after{2, {}};
  for (int t = 0; t < 3; ++t, h -= 2, w -= 2) {
    u = u(in, in) + 0.1 * (u(before, in) + u(after, in) + u(in, before) + u(in, after) - 4 * u(in, in));
    d.step(u);
    Numbers next;
    for (int i = 1; i + 1 < h; ++i)
      for (int j = 1; j + 1 < w; ++j)
        next.push_back(uv[i * w + j] + 0.1 * (uv[(i - 1) * w + j] + uv[(i + 1) * w + j] + uv[i * w + j - 1] + uv[i * w + j + 1] - 4 * uv[i * w + j]));
    uv = next;
  }
  d.expect(u, uv);
}

void heat_matrix(Desk& d) {
  const int n = 10;
  auto [u, uv] = d.random({n});
  const Tensor i = arange(n)(kAll, newaxis), j = arange(n);
  const Tensor step = where(i == j, 0.6, where(abs(i - j) == 1, 0.2, 0.0)).astype(d.real);
  for (int t = 0; t < 10; ++t) {
    u = matmul(step, u);
    d.step(u);
    Numbers next(n);
    for (int k = 0; k < n; ++k) next[k] = 0.6 * uv[k] + 0.2 * ((k > 0 ? uv[k - 1] : 0) + (k + 1 < n ? uv[k + 1] : 0));
    uv = next;
  }
  d.expect(u, uv, 3);
}

void pendulum(Desk& d) {
  auto [angle, av] = d.random({9}, -1, 1);
  Tensor speed = zeros({9}, d.real);
  Numbers sv(9);
  for (int t = 0; t < 25; ++t) {
    speed -= 0.05 * sin(angle);
    angle += 0.05 * speed;
    d.step(angle, speed);
    for (int i = 0; i < 9; ++i) sv[i] -= 0.05 * std::sin(av[i]), av[i] += 0.05 * sv[i];
  }
  d.expect(angle, av, 10), d.expect(speed, sv, 10);
}

void logistic_map(Desk& d) {
  auto [x, xv] = d.random({20}, 0.1, 0.9);
  for (int t = 0; t < 30; ++t) {
    x = 2.8 * x * (1 - x);
    d.step(x);
    for (double& v : xv) v = 2.8 * v * (1 - v);
  }
  d.expect(x, xv, 5);
}

void long_recording(Desk& d) {  // thousands of operations, which one of the modes never evaluates
  auto [b, bv] = d.random({13});
  for (int t = 0; t < 2500; ++t) b = b + 0.02f;
  d.step(b);
  for (double& v : bv)
    for (int t = 0; t < 2500; ++t) v += static_cast<double>(0.02f);
  d.expect(b, bv, 100);
}

void coupled_long(Desk& d) {
  auto [a, av] = d.random({8}, 0, 1);
  auto [b, bv] = d.random({8}, 0, 1);
  auto [c, cv] = d.random({8}, 0, 1);
  for (int t = 0; t < 400; ++t) {
    const Tensor next = 0.5 * a + 0.3 * b;
    b = 0.6 * b + 0.2 * c;
    c = 0.9 * c + 0.05 * a;
    a = next;
    if (t % 50 == 0) d.step(a, b, c);
    for (int i = 0; i < 8; ++i) {
      const double n = 0.5 * av[i] + 0.3 * bv[i];
      bv[i] = 0.6 * bv[i] + 0.2 * cv[i], cv[i] = 0.9 * cv[i] + 0.05 * av[i], av[i] = n;
    }
  }
  d.expect(a, av), d.expect(b, bv), d.expect(c, cv);
}

void convergence(Desk& d) {  // the loop reads only a norm of the state
  auto [x, xv] = d.random({6}, 1, 3);
  int steps = 0;
  for (; steps < 50; ++steps) {
    const Tensor next = 0.5 * (x + 2 / x);
    const double change = values(max(abs(next - x)))[0];
    x = next;
    for (double& v : xv) v = 0.5 * (v + 2 / v);
    if (change < 1e-6) break;
  }
  CHECK(steps < 10);
  d.expect(x, xv, 3);
}

void jacobi(Desk& d) {
  const int n = 6;
  const auto [m, mv] = d.random({n, n}, -0.1, 0.1);
  const auto [b, bv] = d.random({n});
  const Tensor i = arange(n), off = where(i(kAll, newaxis) == i, 0, m);
  Tensor x = zeros({n}, d.real);
  Numbers xv(n);
  for (int t = 0; t < 12; ++t) {
    x = b - matmul(off, x);
    d.step(x);
    Numbers next = bv;
    for (int r = 0; r < n; ++r)
      for (int c = 0; c < n; ++c)
        if (r != c) next[r] -= mv[r * n + c] * xv[c];
    xv = next;
  }
  d.expect(x, xv, 3);
}

void energy(Desk& d) {
  const auto [s, sv] = d.integers({6, 8}, 0, 2, DType::int32);
  const Tensor spin = 2 * s - 1;
  const Tensor right = spin(kAll, Slice{1, {}}) * spin(kAll, Slice{{}, -1}), down = spin(Slice{1, {}}) * spin(Slice{{}, -1});
  const Tensor total = -(sum(right) + sum(down)), magnet = sum(spin);
  d.step(total, magnet, right);
  double e = 0, m = 0;
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 8; ++j) {
      const auto at = [&](int r, int c) { return 2 * sv[r * 8 + c] - 1; };
      m += at(i, j);
      if (j + 1 < 8) e -= at(i, j) * at(i, j + 1);
      if (i + 1 < 6) e -= at(i, j) * at(i + 1, j);
    }
  d.expect(total, e), d.expect(magnet, m);
}

void projectile(Desk& d) {  // stops at the ground
  auto [y, yv] = d.random({10}, 0, 2);
  auto [v, vv] = d.random({10}, -1, 3);
  for (int t = 0; t < 20; ++t) {
    const Tensor flying = y > 0;
    v = where(flying, v - 0.1 * 9.81, 0), y = where(flying, y + 0.1 * v, 0);
    d.step(y, v);
    for (int i = 0; i < 10; ++i) {
      const bool up = yv[i] > 0;
      vv[i] = up ? vv[i] - 0.1 * 9.81 : 0, yv[i] = up ? yv[i] + 0.1 * vv[i] : 0;
    }
  }
  d.expect(y, yv, 10);
}

void charge_field(Desk& d) {
  const auto [q, qv] = d.random({4});
  const auto [p, pv] = d.random({4, 2});
  const Tensor gx = linspace(-3, 3, 7).astype(d.real)(newaxis, kAll, newaxis), gy = linspace(-3.3, 2.7, 5).astype(d.real)(kAll, newaxis, newaxis);
  const Tensor potential = sum(q / sqrt(square(gx - p(kAll, 0)) + square(gy - p(kAll, 1)) + 0.01), -1);
  const Tensor ex = potential(kAll, Slice{{}, -2}) - potential(kAll, Slice{2, {}}), row = potential(0);
  d.step(potential, ex, row);
  Numbers w(35), we, wr;
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 7; ++j)
      for (int k = 0; k < 4; ++k) w[i * 7 + j] += qv[k] / std::sqrt(std::pow(-3 + j - pv[2 * k], 2) + std::pow(-3.3 + 1.5 * i - pv[2 * k + 1], 2) + 0.01);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 5; ++j) we.push_back(w[i * 7 + j] - w[i * 7 + j + 2]);
  wr.assign(w.begin(), w.begin() + 7);
  d.expect(potential, w, 5), d.expect(ex, we, 10), d.expect(row, wr, 5);
}

}  // namespace

std::vector<Program> physics_programs() {
  return {{"heat in two dimensions", heat_2d},
          {"heat by a matrix", heat_matrix},
          {"pendulum", pendulum},
          {"logistic map", logistic_map},
          {"long recording", long_recording},
          {"three coupled values", coupled_long},
          {"convergence", convergence},
          {"Jacobi", jacobi},
          {"Ising energy", energy},
          {"projectile", projectile},
          {"field of charges", charge_field}};
}

}  // namespace sinter::testing
