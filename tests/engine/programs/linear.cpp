// Programs that compute with matrices, graphs and signals.
#include "programs.hpp"

namespace sinter::testing {
namespace {

Numbers product(const Numbers& a, const Numbers& b, int m, int k, int n) {
  Numbers c(static_cast<std::size_t>(m * n));
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      for (int l = 0; l < k; ++l) c[i * n + j] += a[i * k + l] * b[l * n + j];
  return c;
}
Numbers turned(const Numbers& a, int m, int n) {
  Numbers t(a.size());
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) t[j * m + i] = a[i * n + j];
  return t;
}
Tensor identity(int n, DType dtype) { return astype(arange(n)(kAll, newaxis) == arange(n), dtype); }

void power_iteration(Desk& d) {
  const int n = 5;
  const auto [a, av] = d.random({n, n}, 0.1, 1);
  Tensor x = ones({n}, d.real), value = ones({}, d.real);
  Numbers xv(n, 1);
  double length = 1;
  for (int t = 0; t < 10; ++t) {
    const Tensor y = matmul(a, x);
    value = sqrt(sum(y * y)), x = y / value;
    d.step(x, value);
    xv = product(av, xv, n, n, 1);
    length = 0;
    for (double v : xv) length += v * v;
    length = std::sqrt(length);
    for (double& v : xv) v /= length;
  }
  d.expect(x, xv, 3), d.expect(value, length, 3);
}

void gram_schmidt(Desk& d) {
  const int n = 6, k = 3;
  const auto [a, av] = d.random({k, n});
  std::vector<Tensor> q;
  std::vector<Numbers> w;
  for (int i = 0; i < k; ++i) {
    Tensor v = a(i);
    Numbers x(av.begin() + i * n, av.begin() + (i + 1) * n);
    for (int j = 0; j < i; ++j) {
      v = v - sum(v * q[j]) * q[j];
      double dot = 0;
      for (int c = 0; c < n; ++c) dot += x[c] * w[j][c];
      for (int c = 0; c < n; ++c) x[c] -= dot * w[j][c];
    }
    q.push_back(v / sqrt(sum(v * v)));
    double s = 0;
    for (double c : x) s += c * c;
    for (double& c : x) c /= std::sqrt(s);
    w.push_back(x);
    d.step(q.back());
  }
  eval(q);
  for (int i = 0; i < k; ++i) d.expect(q[i], w[i], 50);
}

void newton_inverse(Desk& d) {
  const int n = 4;
  const auto [r, rv] = d.random({n, n}, -0.2, 0.2);
  const Tensor i = identity(n, d.real), a = i + r;
  Tensor x = i;
  for (int t = 0; t < 7; ++t) {
    x = matmul(x, 2 * i - matmul(a, x));
    d.step(x);
  }
  Numbers one(n * n);
  for (int k = 0; k < n; ++k) one[k * n + k] = 1;
  d.expect(matmul(a, x), one, 5);
}

void matrix_exponential(Desk& d) {
  const int n = 4;
  const auto [a, av] = d.random({n, n}, -0.5, 0.5);
  Tensor term = identity(n, d.real), total = term;
  Numbers tv(n * n), sv;
  for (int k = 0; k < n; ++k) tv[k * n + k] = 1;
  sv = tv;
  for (int k = 1; k <= 8; ++k) {
    term = matmul(term, a) / k, total += term;
    d.step(term, total);
    tv = product(tv, av, n, n, n);
    for (double& v : tv) v /= k;
    for (int i = 0; i < n * n; ++i) sv[i] += tv[i];
  }
  const Tensor trace_of = sum(where(identity(n, DType::bool_), total, 0));
  double trace = 0;
  for (int k = 0; k < n; ++k) trace += sv[k * n + k];
  d.expect(total, sv, 3), d.expect(trace_of, trace, 3);
}

void fibonacci_matrix(Desk& d) {
  Tensor m = Tensor{{1, 1}, {1, 0}}.astype(DType::int64), y = identity(2, DType::int64);
  for (int bit = 45; bit > 0; bit >>= 1) {
    if (bit & 1) y = matmul(y, m);
    m = matmul(m, m);
    d.step(m, y);
  }
  d.expect(y(0, 1), 1134903170);
}

void floyd_warshall(Desk& d) {
  const int n = 7;
  const auto [w, wv] = d.integers({n, n}, 1, 30);
  Tensor x = where(identity(n, DType::bool_), 0, w);
  Numbers v = wv;
  for (int i = 0; i < n; ++i) v[i * n + i] = 0;
  for (int k = 0; k < n; ++k) {
    x = minimum(x, x(kAll, Slice{k, k + 1}) + x(Slice{k, k + 1}));
    d.step(x);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) v[i * n + j] = std::min(v[i * n + j], v[i * n + k] + v[k * n + j]);
  }
  const Tensor far = max(x, 1), radius = min(far);
  d.step(far, radius, x);
  Numbers wf(n);
  for (int i = 0; i < n * n; ++i) wf[i / n] = std::max(wf[i / n], v[i]);
  d.expect(x, v), d.expect(far, wf), d.expect(radius, *std::min_element(wf.begin(), wf.end()));
}

void reachability(Desk& d) {
  const int n = 8;
  const auto [e, ev] = d.integers({n, n}, 0, 6);
  Tensor reach = (e == 0) | identity(n, DType::bool_);
  std::vector<char> v(n * n);
  for (int i = 0; i < n * n; ++i) v[i] = ev[i] == 0 || i / n == i % n;
  for (int t = 0; t < 3; ++t) {
    reach = matmul(reach, reach);
    d.step(reach);
  }
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) v[i * n + j] |= v[i * n + k] && v[k * n + j];
  CHECK(reach.dtype() == DType::bool_);
  d.expect(reach, Numbers(v.begin(), v.end()));
}

void viterbi(Desk& d) {
  const int n = 4, steps = 6;
  const auto [move, mv] = d.random({n, n});
  const auto [seen, sv] = d.random({steps, n});
  Tensor best = seen(0), chance = seen(0);
  Numbers bv(sv.begin(), sv.begin() + n), cv = bv;
  for (int t = 1; t < steps; ++t) {
    best = max(best(kAll, newaxis) + move, 0) + seen(t);
    chance = logsumexp(chance(kAll, newaxis) + move, 0) + seen(t);
    d.step(best, chance);
    Numbers nb(n, -1e300), nc(n);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) nb[j] = std::max(nb[j], bv[i] + mv[i * n + j]), nc[j] += std::exp(cv[i] + mv[i * n + j]);
    for (int j = 0; j < n; ++j) bv[j] = nb[j] + sv[t * n + j], cv[j] = std::log(nc[j]) + sv[t * n + j];
  }
  d.expect(best, bv), d.expect(chance, cv, 3), d.expect(max(best), *std::max_element(bv.begin(), bv.end()));
}

void butterflies(Desk& d) {  // the Walsh-Hadamard transform: a small matrix times the two halves of each block, which reshapes select
  const int n = 16;
  auto [x, v] = d.random({n});
  const Tensor h = Tensor{{1., 1.}, {1., -1.}}.astype(d.real);
  for (int s = 1; s < n; s *= 2) {
    x = matmul(h, x.reshape({n / (2 * s), 2, s})).reshape({n});
    d.step(x);
    for (int i = 0; i < n; ++i)
      if (!(i & s)) {
        const double a = v[i], b = v[i + s];
        v[i] = a + b, v[i + s] = a - b;
      }
  }
  d.expect(x, v, 3);
}

void convolution(Desk& d) {  // a product with a Toeplitz matrix that is built with where
  const int n = 12, k = 4;
  const auto [x, v] = d.random({n});
  const auto [f, fv] = d.random({k});
  Tensor toeplitz = zeros({n + k - 1, n}, d.real);
  const Tensor shift = arange(n + k - 1)(kAll, newaxis) - arange(n);
  for (int t = 0; t < k; ++t) toeplitz = where(shift == t, f(t), toeplitz);
  const Tensor y = matmul(toeplitz, x), valid = y(Slice{k - 1, n});
  d.step(y, valid);
  Numbers w(n + k - 1);
  for (int i = 0; i < n; ++i)
    for (int t = 0; t < k; ++t) w[i + t] += v[i] * fv[t];
  d.expect(y, w), d.expect(valid, Numbers(w.begin() + k - 1, w.begin() + n));
}

void kernels_and_distances(Desk& d) {
  const int n = 7, k = 3;
  const auto [a, av] = d.random({n, k});
  const Tensor gap = a(kAll, newaxis) - a, square_of = sum(gap * gap, -1), rbf = exp(-0.5 * square_of), manhattan = sum(abs(gap), -1),
               largest = max(abs(gap), -1);
  const Tensor row = rbf(2), degree = sum(rbf, 1), laplacian = where(identity(n, DType::bool_), degree(kAll, newaxis), 0) - rbf;
  d.step(rbf, manhattan, largest, row, laplacian);
  Numbers wr(n * n), wm(n * n), wx(n * n), wl(n * n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      double s = 0;
      for (int c = 0; c < k; ++c) {
        const double g = std::abs(av[i * k + c] - av[j * k + c]);
        s += g * g, wm[i * n + j] += g, wx[i * n + j] = std::max(wx[i * n + j], g);
      }
      wr[i * n + j] = std::exp(-0.5 * s);
    }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) wl[i * n + j] -= wr[i * n + j], wl[i * n + i] += wr[i * n + j];
  d.expect(rbf, wr), d.expect(manhattan, wm), d.expect(largest, wx), d.expect(laplacian, wl, 3), d.expect(row, Numbers(wr.begin() + 2 * n, wr.begin() + 3 * n));
}

void batched_products(Desk& d) {
  const int b = 3, m = 2, k = 4, n = 5;
  const auto [x, xv] = d.random({b, m, k});
  const auto [y, yv] = d.random({k, n});
  const auto [z, zv] = d.random({b, n, m});
  const Tensor xy = matmul(x, y), loops = matmul(xy, z), turned_product = matmul(permute(z, {0, 2, 1}), permute(xy, {0, 2, 1})), one = xy(1);
  d.step(xy, loops, turned_product, one);
  Numbers wa, wb, wc;
  for (int i = 0; i < b; ++i) {
    const Numbers p = product(Numbers(xv.begin() + i * m * k, xv.begin() + (i + 1) * m * k), yv, m, k, n);
    const Numbers q = product(p, Numbers(zv.begin() + i * n * m, zv.begin() + (i + 1) * n * m), m, n, m), r = turned(q, m, m);
    wa.insert(wa.end(), p.begin(), p.end()), wb.insert(wb.end(), q.begin(), q.end()), wc.insert(wc.end(), r.begin(), r.end());
  }
  d.expect(xy, wa, 3), d.expect(loops, wb, 5), d.expect(turned_product, wc, 5), d.expect(one, Numbers(wa.begin() + m * n, wa.begin() + 2 * m * n), 3);
}

void cofactors(Desk& d) {  // 3x3 determinants and inverses, from slices
  const int n = 5;
  const auto [m, v] = d.random({n, 3, 3});
  const auto e = [&, &t = m](int i, int j) { return t(kAll, i % 3, j % 3); };
  Tensor det = zeros({n}, d.real), inverse = zeros({n, 3, 3}, d.real);
  for (int j = 0; j < 3; ++j) det += e(0, j) * (e(1, j + 1) * e(2, j + 2) - e(1, j + 2) * e(2, j + 1));
  const Tensor row = arange(3)(kAll, newaxis), column = arange(3);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const Tensor c = (e(i + 1, j + 1) * e(i + 2, j + 2) - e(i + 1, j + 2) * e(i + 2, j + 1)) / det;
      inverse = where((row == j) & (column == i), c(kAll, newaxis, newaxis), inverse);
    }
  const Tensor one = matmul(m, inverse) * det(kAll, newaxis, newaxis);
  d.step(det, inverse, one);
  Numbers wd, want;
  for (int b = 0; b < n; ++b) {
    const double* a = &v[b * 9];
    wd.push_back(a[0] * (a[4] * a[8] - a[5] * a[7]) - a[1] * (a[3] * a[8] - a[5] * a[6]) + a[2] * (a[3] * a[7] - a[4] * a[6]));
    for (int k = 0; k < 9; ++k) want.push_back(k % 4 == 0 ? wd.back() : 0);
  }
  d.expect(det, wd, 3), d.expect(one, want, 50);
}

}  // namespace

std::vector<Program> linear_programs() {
  return {{"power iteration", power_iteration},
          {"Gram-Schmidt", gram_schmidt},
          {"inverse by Newton", newton_inverse},
          {"matrix exponential", matrix_exponential},
          {"Fibonacci by matrices", fibonacci_matrix},
          {"Floyd-Warshall", floyd_warshall},
          {"reachability", reachability},
          {"Viterbi", viterbi},
          {"Walsh-Hadamard", butterflies},
          {"convolution", convolution},
          {"kernels and distances", kernels_and_distances},
          {"batched products", batched_products},
          {"cofactors", cofactors}};
}

}  // namespace sinter::testing
