// Programs of machine learning: losses, optimisers, cells, norms and their gradients.
#include "programs.hpp"

namespace sinter::testing {
namespace {

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

void momentum(Desk& d) {
  auto [p, pv] = d.random({7, 5});
  Tensor speed = zeros({7, 5}, d.real);
  Numbers sv(35);
  for (int t = 0; t < 15; ++t) {
    speed = 0.9 * speed - 0.02 * p;
    p = p + speed;
    d.step(p, speed);
    for (int i = 0; i < 35; ++i) sv[i] = 0.9 * sv[i] - 0.02 * pv[i], pv[i] += sv[i];
  }
  d.expect(p, pv, 20);
  d.expect(speed, sv, 20);
}

void gru(Desk& d) {
  const int b = 3, h = 4;
  const auto [x, xv] = d.random({b, 3 * h});
  const auto [u, uv] = d.random({h, 3 * h}, -1, 1);
  const auto [s, sv] = d.random({b, h});
  const Tensor su = matmul(s, u);
  const auto part = [&](const Tensor& t, int k) { return t(kAll, Slice{k * h, (k + 1) * h}); };
  const Tensor r = sigmoid(part(x, 0) + part(su, 0)), z = sigmoid(part(x, 1) + part(su, 1));
  const Tensor n = tanh(part(x, 2) + r * part(su, 2)), next = (1 - z) * n + z * s;
  d.step(next, r);
  Numbers want(b * h), wr(b * h);
  for (int i = 0; i < b; ++i)
    for (int a = 0; a < h; ++a) {
      double p[3] = {};
      for (int k = 0; k < 3; ++k)
        for (int j = 0; j < h; ++j) p[k] += sv[i * h + j] * uv[j * 3 * h + k * h + a];
      const double* xi = &xv[i * 3 * h];
      const double rr = sigmoid_of(xi[a] + p[0]), zz = sigmoid_of(xi[h + a] + p[1]), nn = std::tanh(xi[2 * h + a] + rr * p[2]);
      want[i * h + a] = (1 - zz) * nn + zz * sv[i * h + a];
      wr[i * h + a] = rr;
    }
  d.expect(next, want, 5);
  d.expect(r, wr, 5);
}

/// Computes softmax(q k^T / sqrt(d)) v with plain loops. With `causal`, row i uses the columns up to i.
Numbers attention_of(const double* q, const double* k, const double* v, int n, int dim, bool causal, int stride) {
  Numbers out(n * dim);
  for (int i = 0; i < n; ++i) {
    Numbers w(n, 0);
    double top = -1e300, total = 0;
    for (int j = 0; j < n; ++j) {
      for (int a = 0; a < dim; ++a) w[j] += q[i * stride + a] * k[j * stride + a];
      w[j] /= std::sqrt(dim);
      if (causal && j > i) w[j] = -1e9;
      top = std::max(top, w[j]);
    }
    for (double& e : w) total += e = std::exp(e - top);
    for (int j = 0; j < n; ++j)
      for (int a = 0; a < dim; ++a) out[i * dim + a] += w[j] / total * v[j * stride + a];
  }
  return out;
}

void causal_attention(Desk& d) {
  const int n = 7, dim = 3;
  const auto [q, qv] = d.random({n, dim});
  const auto [k, kv] = d.random({n, dim});
  const auto [v, vv] = d.random({n, dim});
  const Tensor i = arange(n)(kAll, newaxis), j = arange(n);
  const Tensor scores = where(j > i, -1e9, matmul(q, k.T()) / std::sqrt(dim));
  d.expect(matmul(softmax(scores), v), attention_of(qv.data(), kv.data(), vv.data(), n, dim, true, dim), 5);
}

void multi_head_attention(Desk& d) {
  const int n = 5, heads = 2, dim = 3;
  const auto [qkv, x] = d.random({n, 3 * heads * dim});
  const Tensor split = permute(qkv.reshape({n, 3, heads, dim}), {1, 2, 0, 3});
  const Tensor weights = softmax(matmul(split(0), permute(split(1), {0, 2, 1})) / std::sqrt(dim));
  const Tensor y = permute(matmul(weights, split(2)), {1, 0, 2}).reshape({n, heads * dim});
  d.step(weights, y);
  Numbers want(n * heads * dim);
  for (int h = 0; h < heads; ++h) {
    const Numbers one = attention_of(&x[h * dim], &x[(heads + h) * dim], &x[(2 * heads + h) * dim], n, dim, false, 3 * heads * dim);
    for (int i = 0; i < n; ++i)
      for (int a = 0; a < dim; ++a) want[i * heads * dim + h * dim + a] = one[i * dim + a];
  }
  d.expect(y, want, 5);
}

void cross_entropy(Desk& d) {
  const int n = 11, k = 5;
  const auto [logits, lv] = d.random({n, k}, -3, 3);
  const auto [label, yv] = d.integers({n}, 0, k);
  const Tensor hot = label(kAll, newaxis) == arange(k);
  const Tensor loss = -mean(sum(where(hot, log_softmax(logits), 0), 1));
  const Tensor gradient = (softmax(logits) - astype(hot, d.real)) / n;
  const Tensor right = mean(astype(sum(where(hot, logits, 0), 1) >= max(logits, 1), d.real));
  d.step(loss, gradient, right);
  double total = 0, hits = 0;
  Numbers g(n * k);
  for (int i = 0; i < n; ++i) {
    double sum_exp = 0, top = -1e300;
    for (int j = 0; j < k; ++j) top = std::max(top, lv[i * k + j]);
    for (int j = 0; j < k; ++j) sum_exp += std::exp(lv[i * k + j] - top);
    const int y = static_cast<int>(yv[i]);
    total -= lv[i * k + y] - top - std::log(sum_exp);
    hits += lv[i * k + y] == top;
    for (int j = 0; j < k; ++j) g[i * k + j] = (std::exp(lv[i * k + j] - top) / sum_exp - (j == y)) / n;
  }
  d.expect(loss, total / n, 5);
  d.expect(gradient, g);
  d.expect(right, hits / n);
}

void layer_norm_backward(Desk& d) {
  const int n = 8, k = 12;
  const auto [x, xv] = d.random({n, k});
  const auto [w, wv] = d.random({k});
  const auto [dy, gv] = d.random({n, k});
  const Tensor centred = x - mean(x, 1, true), inverse = rsqrt(mean(square(centred), 1, true) + 1e-5), hat = centred * inverse;
  const Tensor g = dy * w;
  const Tensor dx = (g - mean(g, 1, true) - hat * mean(g * hat, 1, true)) * inverse, dw = sum(dy * hat, 0), db = sum(dy, 0);
  d.step(dx, dw, db);
  Numbers wx(n * k), ww(k), wb(k);
  for (int i = 0; i < n; ++i) {
    double m = 0, v = 0, a = 0, b = 0;
    for (int j = 0; j < k; ++j) m += xv[i * k + j] / k;
    for (int j = 0; j < k; ++j) v += std::pow(xv[i * k + j] - m, 2) / k;
    const double s = 1 / std::sqrt(v + 1e-5);
    for (int j = 0; j < k; ++j) {
      const double h = (xv[i * k + j] - m) * s, gg = gv[i * k + j] * wv[j];
      a += gg / k, b += gg * h / k;
      ww[j] += gv[i * k + j] * h, wb[j] += gv[i * k + j];
    }
    for (int j = 0; j < k; ++j) wx[i * k + j] = (gv[i * k + j] * wv[j] - a - (xv[i * k + j] - m) * s * b) * s;
  }
  d.expect(dx, wx, 5);
  d.expect(dw, ww, 5);
  d.expect(db, wb, 5);
}

void batch_norm_inference(Desk& d) {
  const auto [x, xv] = d.random({2, 3, 4, 5});
  const auto [m, mv] = d.random({3});
  const auto [v, vv] = d.random({3}, 0.5, 2);
  const auto [w, wv] = d.random({3});
  const auto wide = [](const Tensor& t) { return t(kAll, newaxis, newaxis); };
  const Tensor y = relu((x - wide(m)) * (1 / sqrt(wide(v) + 1e-5)) * wide(w));
  d.step(y);
  Numbers want(xv.size());
  for (std::size_t i = 0; i < xv.size(); ++i) {
    const std::size_t c = i / 20 % 3;
    want[i] = std::max(0.0, (xv[i] - mv[c]) / std::sqrt(vv[c] + 1e-5) * wv[c]);
  }
  d.expect(y, want, 5);
}

void batch_norm_training(Desk& d) {
  const auto [x, xv] = d.random({4, 3, 5});
  const Tensor m = mean(x, {0, 2}), v = var(x, {0, 2});
  const Tensor y = (x - m(kAll, newaxis)) / sqrt(v(kAll, newaxis) + 1e-5);
  const Tensor running = 0.9 * ones({3}, d.real) + 0.1 * v;
  d.step(y, running, m);
  Numbers wm(3), wv(3), want(60), wr(3);
  for (int i = 0; i < 60; ++i) wm[i / 5 % 3] += xv[i] / 20;
  for (int i = 0; i < 60; ++i) wv[i / 5 % 3] += std::pow(xv[i] - wm[i / 5 % 3], 2) / 20;
  for (int i = 0; i < 60; ++i) want[i] = (xv[i] - wm[i / 5 % 3]) / std::sqrt(wv[i / 5 % 3] + 1e-5);
  for (int c = 0; c < 3; ++c) wr[c] = 0.9 + 0.1 * wv[c];
  d.expect(y, want, 5);
  d.expect(running, wr);
  d.expect(m, wm);
}

void group_norm(Desk& d) {
  const int n = 2, groups = 3, each = 8;
  const auto [x, xv] = d.random({n, groups * 2, 4});
  const Tensor g = x.reshape({n, groups, each});
  const Tensor y = ((g - mean(g, -1, true)) / stddev(g, -1, true)).reshape({n, groups * 2, 4});
  d.step(y);
  Numbers want(xv.size());
  for (int i = 0; i < n * groups; ++i) {
    double m = 0, v = 0;
    for (int j = 0; j < each; ++j) m += xv[i * each + j] / each;
    for (int j = 0; j < each; ++j) v += std::pow(xv[i * each + j] - m, 2) / each;
    for (int j = 0; j < each; ++j) want[i * each + j] = (xv[i * each + j] - m) / std::sqrt(v);
  }
  d.expect(y, want, 10);
}

void softmax_backward(Desk& d) {
  const int n = 6, k = 7;
  const auto [x, xv] = d.random({n, k});
  const auto [g, gv] = d.random({n, k});
  const Tensor s = softmax(x), dx = s * (g - sum(g * s, -1, true));
  d.step(s, dx);
  Numbers want(n * k), ws(n * k);
  for (int i = 0; i < n; ++i) {
    double total = 0, dot = 0;
    for (int j = 0; j < k; ++j) total += std::exp(xv[i * k + j]);
    for (int j = 0; j < k; ++j) ws[i * k + j] = std::exp(xv[i * k + j]) / total, dot += ws[i * k + j] * gv[i * k + j];
    for (int j = 0; j < k; ++j) want[i * k + j] = ws[i * k + j] * (gv[i * k + j] - dot);
  }
  d.expect(dx, want);
  d.expect(s, ws);
}

void dropout(Desk& d) {
  const auto [x, xv] = d.random({40});
  const auto [u, uv] = d.random({40}, 0, 1);
  const Tensor kept = u < 0.7, y = where(kept, x / 0.7, 0), count = sum(kept);
  d.step(y, count);
  Numbers want(40);
  double n = 0;
  for (int i = 0; i < 40; ++i) {
    const bool keep = d.real == DType::float32 ? static_cast<float>(uv[i]) < 0.7f : uv[i] < 0.7;
    want[i] = keep ? xv[i] / 0.7 : 0, n += keep;
  }
  d.expect(y, want);
  d.expect(count, n);
}

void clip_by_norm(Desk& d) {
  const auto [a, av] = d.random({30});
  const auto [b, bv] = d.random({4, 5});
  const Tensor norm = sqrt(sum(square(a)) + sum(square(b))), scale = minimum(1.0 / (norm + 1e-6), 1.0);
  const Tensor x = a * scale, y = b * scale;
  d.step(x, y, norm);
  double n = 0;
  for (double v : av) n += v * v;
  for (double v : bv) n += v * v;
  n = std::sqrt(n);
  const double s = std::min(1 / (n + 1e-6), 1.0);
  Numbers wx = av, wy = bv;
  for (double& v : wx) v *= s;
  for (double& v : wy) v *= s;
  d.expect(x, wx);
  d.expect(y, wy);
  d.expect(norm, n);
}

void losses(Desk& d) {
  const auto [p, pv] = d.random({25});
  const auto [t, tv] = d.random({25});
  const Tensor e = p - t, a = abs(e);
  const Tensor mse = mean(e * e), mae = mean(a), huber = mean(where(a < 1, 0.5 * e * e, a - 0.5)), hinge = mean(maximum(0, 1 - p * sign(t)));
  d.step(mse, mae, huber, hinge);
  double w[4] = {};
  for (int i = 0; i < 25; ++i) {
    const double x = pv[i] - tv[i], b = std::abs(x);
    w[0] += x * x / 25, w[1] += b / 25, w[2] += (b < 1 ? 0.5 * x * x : b - 0.5) / 25, w[3] += std::max(0.0, 1 - pv[i] * ((tv[i] > 0) - (tv[i] < 0))) / 25;
  }
  d.expect(mse, w[0]), d.expect(mae, w[1]), d.expect(huber, w[2]), d.expect(hinge, w[3]);
}

void activations(Desk& d) {
  const auto [x, xv] = d.random({33}, -4, 4);
  const Tensor list[] = {
      relu(x), silu(x), gelu(x), gelu(x, Approximate::tanh), where(x > 0, x, expm1(x)), log1p(exp(-abs(x))) + maximum(x, 0), clip(x / 6 + 0.5, 0, 1)};
  eval(std::vector<Tensor>(std::begin(list), std::end(list)));
  const auto each = [&](double (*f)(double)) {
    Numbers out;
    for (double v : xv) out.push_back(f(v));
    return out;
  };
  d.expect(list[0], each([](double v) { return v > 0 ? v : 0; }));
  d.expect(list[1], each([](double v) { return v * sigmoid_of(v); }));
  d.expect(list[2], each([](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); }));
  d.expect(list[3], each([](double v) { return 0.5 * v * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (v + 0.044715 * v * v * v))); }));
  d.expect(list[4], each([](double v) { return v > 0 ? v : std::expm1(v); }));
  d.expect(list[5], each([](double v) { return std::log1p(std::exp(v)); }));
  d.expect(list[6], each([](double v) { return std::min(1.0, std::max(0.0, v / 6 + 0.5)); }));
}

void argmin_by_where(Desk& d) {
  const int n = 9, k = 13;
  const auto [x, xv] = d.integers({n, k}, 0, 6, DType::int32);
  const Tensor smallest = min(x, 1, true), at = min(where(x == smallest, arange(k), k), 1), total = sum(smallest);
  d.step(at, total);
  Numbers want(n);
  double sum_smallest = 0;
  for (int i = 0; i < n; ++i) {
    int best = 0;
    for (int j = 1; j < k; ++j)
      if (xv[i * k + j] < xv[i * k + best]) best = j;
    want[i] = best, sum_smallest += xv[i * k + best];
  }
  d.expect(at, want);
  d.expect(total, sum_smallest);
}

void contrastive(Desk& d) {
  const int n = 5, k = 4;
  const auto [a, av] = d.random({n, k}, 0.5, 2);
  const auto [b, bv] = d.random({n, k}, 0.5, 2);
  const auto unit = [](const Tensor& t) { return t / sqrt(sum(t * t, 1, true)); };
  const Tensor s = matmul(unit(a), unit(b).T()) * 10;
  const Tensor diagonal = sum(where(arange(n)(kAll, newaxis) == arange(n), s, 0), 1);
  const Tensor loss = mean(logsumexp(s, 1) - diagonal) + mean(logsumexp(s, 0) - diagonal);
  d.step(loss, s);
  Numbers sv(n * n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      double dot = 0, x = 0, y = 0;
      for (int c = 0; c < k; ++c) dot += av[i * k + c] * bv[j * k + c], x += av[i * k + c] * av[i * k + c], y += bv[j * k + c] * bv[j * k + c];
      sv[i * n + j] = 10 * dot / std::sqrt(x * y);
    }
  double total = 0;
  for (int i = 0; i < n; ++i) {
    double r = 0, c = 0;
    for (int j = 0; j < n; ++j) r += std::exp(sv[i * n + j]), c += std::exp(sv[j * n + i]);
    total += (std::log(r) + std::log(c) - 2 * sv[i * n + i]) / n;
  }
  d.expect(s, sv, 5);
  d.expect(loss, total, 50);
}

void rms_norm_rope(Desk& d) {
  const int n = 6, k = 8;
  const auto [x, xv] = d.random({n, k});
  const auto [w, wv] = d.random({k});
  const Tensor y = rms_norm(x, w), pairs = y.reshape({n, k / 2, 2});
  const Tensor angle = astype(arange(n), d.real)(kAll, newaxis) * exp(astype(arange(k / 2), d.real) * (-2.0 / k * std::log(100.0)));
  const Tensor even = pairs(ellipsis, 0), odd = pairs(ellipsis, 1);
  const Tensor left = even * cos(angle) - odd * sin(angle), right = even * sin(angle) + odd * cos(angle);
  d.step(left, right);
  Numbers wl, wr;
  for (int i = 0; i < n; ++i) {
    double s = 0;
    for (int j = 0; j < k; ++j) s += xv[i * k + j] * xv[i * k + j] / k;
    for (int p = 0; p < k / 2; ++p) {
      const double a = xv[i * k + 2 * p] / std::sqrt(s + 1e-6) * wv[2 * p], b = xv[i * k + 2 * p + 1] / std::sqrt(s + 1e-6) * wv[2 * p + 1];
      const double t = i * std::exp(p * (-2.0 / k * std::log(100.0)));
      wl.push_back(a * std::cos(t) - b * std::sin(t)), wr.push_back(a * std::sin(t) + b * std::cos(t));
    }
  }
  d.expect(left, wl, 5);
  d.expect(right, wr, 5);
}

}  // namespace

std::vector<Program> learning_programs() {
  return {{"momentum", momentum},
          {"GRU", gru},
          {"causal attention", causal_attention},
          {"multi-head attention", multi_head_attention},
          {"cross entropy", cross_entropy},
          {"layer norm backward", layer_norm_backward},
          {"batch norm inference", batch_norm_inference},
          {"batch norm training", batch_norm_training},
          {"group norm", group_norm},
          {"softmax backward", softmax_backward},
          {"dropout", dropout},
          {"clip by norm", clip_by_norm},
          {"losses", losses},
          {"activations", activations},
          {"argmin by where", argmin_by_where},
          {"contrastive loss", contrastive},
          {"RMS norm and rotary", rms_norm_rope}};
}

}  // namespace sinter::testing
