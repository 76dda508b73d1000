// Simulations: particles, fields, maps, and loops of coupled values.
#include "programs.hpp"

namespace sinter::testing {
namespace {

void n_body(Desk& d) {
  const int n = 7;
  auto [x, xv] = d.random({n, 2});
  auto [v, vv] = d.random({n, 2}, -0.1, 0.1);
  const auto [mass, mv] = d.random({n}, 0.5, 1);
  for (int t = 0; t < 3; ++t) {
    const Tensor apart = x(newaxis) - x(kAll, newaxis);  // from i to j
    const Tensor r2 = sum(square(apart), -1) + 0.1, pull = mass / (r2 * sqrt(r2));
    v += 0.01 * sum(apart * pull(ellipsis, newaxis), 1);
    x += 0.01 * v;
    d.step(x, v);
    Numbers a(2 * n);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        const double dx = xv[2 * j] - xv[2 * i], dy = xv[2 * j + 1] - xv[2 * i + 1], r = dx * dx + dy * dy + 0.1, p = mv[j] / (r * std::sqrt(r));
        a[2 * i] += dx * p, a[2 * i + 1] += dy * p;
      }
    for (int i = 0; i < 2 * n; ++i) vv[i] += 0.01 * a[i], xv[i] += 0.01 * vv[i];
  }
  d.expect(x, xv, 5);
  d.expect(v, vv, 5);
}

void mandelbrot(Desk& d) {
  const int h = 9, w = 11;
  const Tensor ci = linspace(-1.25, 1.25, h)(kAll, newaxis), cr = linspace(-2, 0.5, w);
  Tensor zr = zeros({h, w}), zi = zeros({h, w}), count = zeros({h, w}, DType::int64);
  for (int k = 0; k < 16; ++k) {
    const Tensor next = zr * zr - zi * zi + cr;
    zi = 2 * zr * zi + ci;
    zr = next;
    const Tensor inside = zr * zr + zi * zi <= 4;
    zr = where(inside, zr, 3.0), zi = where(inside, zi, 0.0);  // stays outside
    count += inside;
    d.step(zr, zi, count);
  }
  Numbers want(h * w);
  for (int i = 0; i < h; ++i)
    for (int j = 0; j < w; ++j) {
      double a = 0, b = 0;
      for (int k = 0; k < 16; ++k) {
        const double next = a * a - b * b + (-2 + 2.5 * j / (w - 1));
        b = 2 * a * b + (-1.25 + 2.5 * i / (h - 1)), a = next;
        if (!(a * a + b * b <= 4)) a = 3, b = 0;
        else want[i * w + j] += 1;
      }
    }
  // A point on the border may fall to either side in the last bit: few, and by one step.
  const auto got = count.to_vector<std::int64_t>();
  int off = 0;
  for (int k = 0; k < h * w; ++k) off += static_cast<double>(got[static_cast<std::size_t>(k)]) != want[k];
  CHECK(off <= 1);
}

void lorenz(Desk& d) {
  const int n = 5;
  auto [x, xv] = d.random({n});
  auto [y, yv] = d.random({n});
  auto [z, zv] = d.random({n}, 10, 20);
  for (int t = 0; t < 40; ++t) {
    const Tensor dx = 10 * (y - x), dy = x * (28 - z) - y, dz = x * y - 8.0 / 3 * z;
    x += 0.005 * dx, y += 0.005 * dy, z += 0.005 * dz;
    d.step(x, y, z);
    for (int i = 0; i < n; ++i) {
      const double a = 10 * (yv[i] - xv[i]), b = xv[i] * (28 - zv[i]) - yv[i], c = xv[i] * yv[i] - 8.0 / 3 * zv[i];
      xv[i] += 0.005 * a, yv[i] += 0.005 * b, zv[i] += 0.005 * c;
    }
  }
  d.expect(x, xv, 500), d.expect(y, yv, 500), d.expect(z, zv, 500);
}

void heat_slices(Desk& d) {
  auto [u, uv] = d.random({30});
  for (int t = 0; t < 6; ++t) {  // the border is lost at each step
    u = u(Slice{1, -1}) + 0.2 * (u(Slice{{}, -2}) - 2 * u(Slice{1, -1}) + u(Slice{2, {}}));
    d.step(u);
    Numbers next;
    for (std::size_t i = 1; i + 1 < uv.size(); ++i) next.push_back(uv[i] + 0.2 * (uv[i - 1] - 2 * uv[i] + uv[i + 1]));
    uv = next;
  }
  d.expect(u, uv);
}

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

void wave(Desk& d) {
  const int n = 16;
  auto [now, nv] = d.random({n});
  Tensor old = now * 1;
  Numbers ov = nv;
  const Tensor i = arange(n)(kAll, newaxis), j = arange(n);
  const Tensor left = astype((i + n - 1) % n == j, d.real), right = astype((i + 1) % n == j, d.real);
  for (int t = 0; t < 8; ++t) {
    const Tensor next = 2 * now - old + 0.25 * (matmul(left, now) + matmul(right, now) - 2 * now);
    old = now, now = next;
    d.step(now, old);
    Numbers x(n);
    for (int k = 0; k < n; ++k) x[k] = 2 * nv[k] - ov[k] + 0.25 * (nv[(k + n - 1) % n] + nv[(k + 1) % n] - 2 * nv[k]);
    ov = nv, nv = x;
  }
  d.expect(now, nv, 10), d.expect(old, ov, 10);
}

void predator_prey(Desk& d) {
  auto [a, av] = d.random({6}, 0.5, 2);
  auto [b, bv] = d.random({6}, 0.5, 2);
  const auto rate_a = [](const auto& x, const auto& y) { return x * (1.1 - 0.4 * y); };
  const auto rate_b = [](const auto& x, const auto& y) { return y * (0.1 * x - 0.4); };
  const double h = 0.05;
  const auto advance = [&](auto& x, auto& y) {  // Runge-Kutta of fourth order
    const auto k1 = rate_a(x, y), l1 = rate_b(x, y);
    const auto k2 = rate_a(x + h / 2 * k1, y + h / 2 * l1), l2 = rate_b(x + h / 2 * k1, y + h / 2 * l1);
    const auto k3 = rate_a(x + h / 2 * k2, y + h / 2 * l2), l3 = rate_b(x + h / 2 * k2, y + h / 2 * l2);
    const auto k4 = rate_a(x + h * k3, y + h * l3), l4 = rate_b(x + h * k3, y + h * l3);
    x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
    y = y + h / 6 * (l1 + 2 * l2 + 2 * l3 + l4);
  };
  for (int t = 0; t < 6; ++t) {
    advance(a, b);
    d.step(a, b);
    for (int i = 0; i < 6; ++i) advance(av[i], bv[i]);
  }
  d.expect(a, av, 5), d.expect(b, bv, 5);
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

void long_recording(Desk& d) {  // thousands of operations, never evaluated in one of the modes
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

void convergence(Desk& d) {  // reads a norm of the state alone
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
  return {{"n-body", n_body},
          {"Mandelbrot", mandelbrot},
          {"Lorenz", lorenz},
          {"heat with slices", heat_slices},
          {"heat in two dimensions", heat_2d},
          {"heat by a matrix", heat_matrix},
          {"wave", wave},
          {"predator and prey", predator_prey},
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
