// Small networks, as people write them down, with random weights.
#include <algorithm>
#include <functional>

#include "programs.hpp"

namespace sinter::testing {
namespace {

/// An image: channels, rows and columns.
struct Map {
  int c = 0, h = 0, w = 0;
  Numbers v;
  double& at(int k, int y, int x) { return v[static_cast<std::size_t>((k * h + y) * w + x)]; }
  double at(int k, int y, int x) const { return y < 0 || x < 0 || y >= h || x >= w ? 0 : v[static_cast<std::size_t>((k * h + y) * w + x)]; }
};
Map blank(int c, int h, int w) { return {c, h, w, Numbers(static_cast<std::size_t>(c * h * w))}; }
double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
double relu_of(double x) { return std::max(x, 0.0); }
Map map(Map m, const std::function<double(double)>& f) {
  for (double& v : m.v) v = f(v);
  return m;
}
Map sum_of(Map a, const Map& b) {
  for (std::size_t k = 0; k < a.v.size(); ++k) a.v[k] += b.v[k];
  return a;
}

Map conv_of(const Map& in, const Numbers& weight, const Numbers& bias, int filters, int taps, int stride = 1, int pad = 0, int groups = 1) {
  Map out = blank(filters, (in.h + 2 * pad - taps) / stride + 1, (in.w + 2 * pad - taps) / stride + 1);
  const int each = in.c / groups;
  for (int f = 0; f < filters; ++f)
    for (int y = 0; y < out.h; ++y)
      for (int x = 0; x < out.w; ++x) {
        double sum = bias.empty() ? 0 : bias[f];
        for (int k = 0; k < each; ++k)
          for (int i = 0; i < taps; ++i)
            for (int j = 0; j < taps; ++j)
              sum += in.at(f / (filters / groups) * each + k, y * stride + i - pad, x * stride + j - pad) * weight[((f * each + k) * taps + i) * taps + j];
        out.at(f, y, x) = sum;
      }
  return out;
}
Map max_pool_of(const Map& in, int taps) {
  Map out = blank(in.c, in.h / taps, in.w / taps);
  for (int k = 0; k < in.c; ++k)
    for (int y = 0; y < out.h; ++y)
      for (int x = 0; x < out.w; ++x) {
        double largest = -1e300;
        for (int i = 0; i < taps; ++i)
          for (int j = 0; j < taps; ++j) largest = std::max(largest, in.at(k, y * taps + i, x * taps + j));
        out.at(k, y, x) = largest;
      }
  return out;
}
Map per_channel(Map m, const Numbers& scale, const Numbers& shift) {
  for (int k = 0; k < m.c; ++k)
    for (int p = 0; p < m.h * m.w; ++p) m.v[k * m.h * m.w + p] = m.v[k * m.h * m.w + p] * scale[k] + shift[k];
  return m;
}
/// x (rows, in) times weight (in, out).
Numbers product_of(const Numbers& x, const Numbers& weight, int in, int out) {
  Numbers y(x.size() / in * out);
  for (std::size_t r = 0; r < x.size() / in; ++r)
    for (int k = 0; k < in; ++k)
      for (int j = 0; j < out; ++j) y[r * out + j] += x[r * in + k] * weight[k * out + j];
  return y;
}
Numbers norm_of(Numbers x, int n, const Numbers& weight, const Numbers& bias) {
  for (std::size_t r = 0; r < x.size() / n; ++r) {
    double mean = 0, var = 0;
    for (int k = 0; k < n; ++k) mean += x[r * n + k] / n;
    for (int k = 0; k < n; ++k) var += std::pow(x[r * n + k] - mean, 2) / n;
    for (int k = 0; k < n; ++k) x[r * n + k] = (x[r * n + k] - mean) / std::sqrt(var + 1e-5) * weight[k] + bias[k];
  }
  return x;
}
double gelu_of(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2)); }
/// Attention of the rows of q over the rows of k and v. All have the shape (length, n), with the heads side by side. Row i uses the keys before `seen(i)`.
Numbers attention_of(const Numbers& q, const Numbers& k, const Numbers& v, int n, int heads, const std::function<int(int)>& seen) {
  const int rows = static_cast<int>(q.size()) / n, d = n / heads;
  Numbers out(q.size());
  for (int h = 0; h < heads; ++h)
    for (int i = 0; i < rows; ++i) {
      Numbers e(seen(i));
      double total = 0;
      for (int j = 0; j < seen(i); ++j) {
        double s = 0;
        for (int f = 0; f < d; ++f) s += q[i * n + h * d + f] * k[j * n + h * d + f];
        total += e[j] = std::exp(s / std::sqrt(d));
      }
      for (int j = 0; j < seen(i); ++j)
        for (int f = 0; f < d; ++f) out[i * n + h * d + f] += e[j] / total * v[j * n + h * d + f];
    }
  return out;
}

/// LeNet: LeCun's network of five layers for digits.
void lenet(Desk& d) {
  const auto [x, xv] = d.random({1, 1, 20, 20}, -1, 1);
  const auto [w1, w1v] = d.random({4, 1, 5, 5}, -0.4, 0.4);
  const auto [b1, b1v] = d.random({4}, -0.2, 0.2);
  const auto [w2, w2v] = d.random({8, 4, 5, 5}, -0.2, 0.2);
  const auto [b2, b2v] = d.random({8}, -0.2, 0.2);
  const auto [w3, w3v] = d.random({10, 32}, -0.3, 0.3);
  const auto [b3, b3v] = d.random({10}, -0.2, 0.2);
  const Tensor h1 = max_pool2d(relu(conv2d(x, w1, b1)), 2);
  const Tensor h2 = max_pool2d(relu(conv2d(h1, w2, b2)), 2);
  d.step(h1, h2);
  const Tensor y = softmax(linear(h2.reshape({1, -1}), w3, b3));
  const Map m1 = max_pool_of(map(conv_of({1, 20, 20, xv}, w1v, b1v, 4, 5), relu_of), 2);
  const Map m2 = max_pool_of(map(conv_of(m1, w2v, b2v, 8, 5), relu_of), 2);
  Numbers scores(10);
  double total = 0;
  for (int j = 0; j < 10; ++j) {
    for (int k = 0; k < 32; ++k) scores[j] += m2.v[k] * w3v[j * 32 + k];
    total += scores[j] = std::exp(scores[j] + b3v[j]);
  }
  for (double& s : scores) s /= total;
  d.expect(h2, m2.v, 5);
  d.expect(y, scores, 5);
}

void resnet_block(Desk& d) {
  const int c = 6, n = 9;
  const auto [x, xv] = d.random({1, c, n, n}, -1, 1);
  const auto [w1, w1v] = d.random({c, c, 3, 3}, -0.3, 0.3);
  const auto [w2, w2v] = d.random({c, c, 3, 3}, -0.3, 0.3);
  const auto [mean, mv] = d.random({c}, -0.3, 0.3);
  const auto [var, vv] = d.random({c}, 0.5, 2);
  const auto [weight, gv] = d.random({c}, 0.5, 1.5);
  const auto [bias, bv] = d.random({c}, -0.5, 0.5);
  const Tensor h = relu(batch_norm(conv2d(x, w1, {}, {.padding = 1}), mean, var, weight, bias));
  d.step(h);
  const Tensor y = relu(batch_norm(conv2d(h, w2, {}, {.padding = 1}), mean, var, weight, bias) + x);
  Numbers scale(c), shift(c);
  for (int k = 0; k < c; ++k) scale[k] = gv[k] / std::sqrt(vv[k] + 1e-5), shift[k] = bv[k] - mv[k] * scale[k];
  const Map in{c, n, n, xv};
  const Map m = map(per_channel(conv_of(in, w1v, {}, c, 3, 1, 1), scale, shift), relu_of);
  d.expect(y, map(sum_of(per_channel(conv_of(m, w2v, {}, c, 3, 1, 1), scale, shift), in), relu_of).v, 5);
}

/// A block of MobileNet: expansion, depthwise convolution, squeeze and excitation, projection, residual.
void mobilenet_block(Desk& d) {
  const int c = 4, wide = 12, n = 8;
  const auto [x, xv] = d.random({1, c, n, n}, -1, 1);
  const auto [up, upv] = d.random({wide, c, 1, 1}, -0.6, 0.6);
  const auto [deep, deepv] = d.random({wide, 1, 3, 3}, -0.5, 0.5);
  const auto [down, downv] = d.random({c, wide, 1, 1}, -0.4, 0.4);
  const auto [b, bv] = d.random({wide}, -0.3, 0.3);
  const Tensor e = relu6(conv2d(x, up, b));
  const Tensor s = hard_swish(conv2d(e, deep, b, {.padding = 1, .groups = wide}));
  d.step(s);
  const Tensor y = conv2d(s, down) + x;
  const Map in{c, n, n, xv};
  const Map me = map(conv_of(in, upv, bv, wide, 1), [](double v) { return std::clamp(v, 0.0, 6.0); });
  const Map ms = map(conv_of(me, deepv, bv, wide, 3, 1, 1, wide), [](double v) { return v * std::clamp(v + 3, 0.0, 6.0) / 6; });
  d.expect(s, ms.v, 5);
  d.expect(y, sum_of(conv_of(ms, downv, {}, c, 1), in).v, 5);
}

void squeeze_excite(Desk& d) {
  const int c = 8, n = 7;
  const auto [x, xv] = d.random({1, c, n, n}, -1, 1);
  const auto [down, dv] = d.random({2, c, 1, 1}, -1, 1);
  const auto [up, uv] = d.random({c, 2, 1, 1}, -1, 1);
  const Tensor gate = sigmoid(conv2d(relu(conv2d(global_avg_pool(x), down)), up));
  d.step(gate);
  const Tensor y = x * gate;
  Map mean = blank(c, 1, 1);
  for (int k = 0; k < c * n * n; ++k) mean.v[k / (n * n)] += xv[k] / (n * n);
  const Map g = map(conv_of(map(conv_of(mean, dv, {}, 2, 1), relu_of), uv, {}, c, 1), sigmoid_of);
  d.expect(y, per_channel({c, n, n, xv}, g.v, Numbers(c)).v, 5);
}

/// A U-Net of one level: halves the image, doubles it by a transposed convolution, and concatenates the result with the input.
void unet_block(Desk& d) {
  const int n = 8;
  const auto [x, xv] = d.random({1, 2, n, n}, -1, 1);
  const auto [w1, w1v] = d.random({4, 2, 3, 3}, -0.4, 0.4);
  const auto [w2, w2v] = d.random({6, 4, 3, 3}, -0.3, 0.3);
  const auto [up, uv] = d.random({6, 4, 2, 2}, -0.4, 0.4);
  const auto [w3, w3v] = d.random({2, 8, 3, 3}, -0.3, 0.3);
  const Tensor a = relu(conv2d(x, w1, {}, {.padding = 1}));
  const Tensor b = relu(conv2d(max_pool2d(a, 2), w2, {}, {.padding = 1}));
  const Tensor u = conv_transpose2d(b, up, {}, {.stride = 2});
  d.step(a, u);
  const Tensor y = sigmoid(conv2d(concatenate({u, a}, 1), w3, {}, {.padding = 1}));
  const Map ma = map(conv_of({2, n, n, xv}, w1v, {}, 4, 3, 1, 1), relu_of);
  const Map mb = map(conv_of(max_pool_of(ma, 2), w2v, {}, 6, 3, 1, 1), relu_of);
  Map both = blank(8, n, n);
  for (int f = 0; f < 4; ++f)
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        for (int k = 0; k < 6; ++k) both.at(f, i, j) += mb.at(k, i / 2, j / 2) * uv[((k * 4 + f) * 2 + i % 2) * 2 + j % 2];
        both.at(4 + f, i, j) = ma.at(f, i, j);
      }
  d.expect(y, map(conv_of(both, w3v, {}, 2, 3, 1, 1), sigmoid_of).v, 5);
}

/// A vision transformer: a convolution turns each patch into a row; then attention and a perceptron follow, each with a norm.
void vit_block(Desk& d) {
  const int patch = 4, side = 3, n = 12, rows = side * side, heads = 3;
  const auto [x, xv] = d.random({1, 3, patch * side, patch * side}, -1, 1);
  const auto [w, wv] = d.random({n, 3, patch, patch}, -0.2, 0.2);
  const auto [place, pv] = d.random({rows, n}, -0.3, 0.3);
  const auto [qkv, qkvv] = d.random({n, 3 * n}, -0.4, 0.4);
  const auto [out, ov] = d.random({n, n}, -0.4, 0.4);
  const auto [up, upv] = d.random({n, 2 * n}, -0.4, 0.4);
  const auto [down, downv] = d.random({2 * n, n}, -0.4, 0.4);
  const auto [g, gv] = d.random({n}, 0.5, 1.5);
  const auto [b, bv] = d.random({n}, -0.5, 0.5);
  const Tensor t = conv2d(x, w, {}, {.stride = patch}).reshape({n, rows}).T() + place;
  const Tensor three = matmul(layer_norm(t, g, b), qkv).reshape({rows, 3, heads, n / heads});
  const Tensor turned = permute(three, {1, 2, 0, 3});
  const Tensor mixed = scaled_dot_product_attention(turned(0), turned(1), turned(2));
  const Tensor h = t + matmul(permute(mixed, {1, 0, 2}).reshape({rows, n}), out);
  d.step(h);
  const Tensor y = h + matmul(gelu(matmul(layer_norm(h, g, b), up)), down);
  const Map m = conv_of({3, patch * side, patch * side, xv}, wv, {}, n, patch, patch);
  Numbers tv(rows * n);
  for (int r = 0; r < rows; ++r)
    for (int k = 0; k < n; ++k) tv[r * n + k] = m.v[k * rows + r] + pv[r * n + k];
  const Numbers all = product_of(norm_of(tv, n, gv, bv), qkvv, n, 3 * n);
  Numbers part[3];
  for (auto& p : part) p.resize(rows * n);
  for (int r = 0; r < rows; ++r)
    for (int k = 0; k < 3 * n; ++k) part[k / n][r * n + k % n] = all[r * 3 * n + k];
  Numbers hv = product_of(attention_of(part[0], part[1], part[2], n, heads, [&](int) { return rows; }), ov, n, n);
  for (std::size_t k = 0; k < hv.size(); ++k) hv[k] += tv[k];
  Numbers inner = product_of(norm_of(hv, n, gv, bv), upv, n, 2 * n);
  for (double& v : inner) v = gelu_of(v);
  Numbers want = product_of(inner, downv, 2 * n, n);
  for (std::size_t k = 0; k < want.size(); ++k) want[k] += hv[k];
  d.expect(y, want, 20);
}

/// Generates token by token; the keys and values of earlier tokens are stored.
void gpt_cache(Desk& d) {
  const int n = 8, heads = 2, words = 11, steps = 5;
  const auto [table, tv] = d.random({words, n}, -1, 1);
  const auto [wq, qv] = d.random({n, n}, -0.6, 0.6);
  const auto [wk, kv] = d.random({n, n}, -0.6, 0.6);
  const auto [wv, vv] = d.random({n, n}, -0.6, 0.6);
  const auto [g, gv] = d.random({n}, 0.5, 1.5);
  const auto [b, bv] = d.random({n}, -0.5, 0.5);
  const auto [tokens, chosen] = d.integers({steps}, 0, words);
  Tensor keys = zeros({heads, 0, n / heads}, d.real), values = keys, y;
  Numbers all_keys, all_values, want;
  for (int t = 0; t < steps; ++t) {
    const Tensor x = embedding(tokens(Slice{t, t + 1}), table), h = layer_norm(x, g, b);
    const auto split = [&](const Tensor& m) { return permute(m.reshape({1, heads, n / heads}), {1, 0, 2}); };
    keys = concatenate({keys, split(matmul(h, wk))}, 1);
    values = concatenate({values, split(matmul(h, wv))}, 1);
    const Tensor mixed = scaled_dot_product_attention(split(matmul(h, wq)), keys, values);
    y = matmul(x + permute(mixed, {1, 0, 2}).reshape({1, n}), table.T());
    d.step(keys, values, y);
    const auto row = static_cast<std::size_t>(chosen[t]) * n;
    const Numbers xv(tv.begin() + static_cast<long>(row), tv.begin() + static_cast<long>(row) + n), hv = norm_of(xv, n, gv, bv);
    for (double v : product_of(hv, kv, n, n)) all_keys.push_back(v);
    for (double v : product_of(hv, vv, n, n)) all_values.push_back(v);
    Numbers sum = attention_of(product_of(hv, qv, n, n), all_keys, all_values, n, heads, [&](int) { return t + 1; });
    for (int k = 0; k < n; ++k) sum[k] += xv[k];
    want.assign(words, 0);
    for (int w = 0; w < words; ++w)
      for (int k = 0; k < n; ++k) want[w] += sum[k] * tv[w * n + k];
  }
  d.expect(y, want, 20);
}

/// Decodes the boxes of a grid's cells as YOLO does: sigmoids give the centres, and exponentials times the anchors give the sizes.
void detection_head(Desk& d) {
  const int c = 5, n = 4, anchors = 2, classes = 3, fields = 5 + classes;
  const auto [x, xv] = d.random({1, c, n, n}, -1, 1);
  const auto [w, wv] = d.random({anchors * fields, c, 1, 1}, -0.5, 0.5);
  const auto [b, bv] = d.random({anchors * fields}, -0.5, 0.5);
  const auto [sizes, sv] = d.random({anchors, 2}, 1, 4);
  const Tensor raw = permute(conv2d(x, w, b).reshape({anchors, fields, n, n}), {0, 2, 3, 1});
  const auto grid = meshgrid({arange(n), arange(n)});
  const Tensor centre = (sigmoid(raw(ellipsis, Slice{0, 2})) + astype(stack(grid, -1), d.real)) * 8;
  const Tensor extent = exp(raw(ellipsis, Slice{2, 4})) * sizes.reshape({anchors, 1, 1, 2});
  const Tensor scores = sigmoid(raw(ellipsis, Slice{4, 5})) * softmax(raw(ellipsis, Slice{5, fields}));
  d.step(centre, extent, scores);
  const Tensor boxes = concatenate({centre - extent / 2, centre + extent / 2, scores}, -1).reshape({-1, 4 + classes});
  const Map m = conv_of({c, n, n, xv}, wv, bv, anchors * fields, 1);
  Numbers want;
  for (int a = 0; a < anchors; ++a)
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        const auto field = [&](int f) { return m.at(a * fields + f, i, j); };
        const double cx = (sigmoid_of(field(0)) + j) * 8, cy = (sigmoid_of(field(1)) + i) * 8;
        const double w2 = std::exp(field(2)) * sv[a * 2] / 2, h2 = std::exp(field(3)) * sv[a * 2 + 1] / 2;
        want.insert(want.end(), {cx - w2, cy - h2, cx + w2, cy + h2});
        double total = 0;
        for (int k = 0; k < classes; ++k) total += std::exp(field(5 + k));
        for (int k = 0; k < classes; ++k) want.push_back(sigmoid_of(field(4)) * std::exp(field(5 + k)) / total);
      }
  d.expect(boxes, want, 10);
}

/// A decoder from a code to an image: it doubles the size by nearest neighbours, and again by a transposed convolution with stride 2, padding 1 and 4 taps.
void vae_decoder(Desk& d) {
  const int n = 4;
  const auto [z, zv] = d.random({1, 3, n, n}, -1, 1);
  const auto [w1, w1v] = d.random({4, 3, 3, 3}, -0.4, 0.4);
  const auto [up, uv] = d.random({4, 2, 4, 4}, -0.4, 0.4);
  const auto [b, bv] = d.random({2}, -0.3, 0.3);
  const Tensor a = silu(group_norm(conv2d(interpolate(z, {.scale_factor = {2}}), w1, {}, {.padding = 1}), 2));
  d.step(a);
  const Tensor y = tanh(conv_transpose2d(a, up, b, {.stride = 2, .padding = 1}));
  Map wide = blank(3, 2 * n, 2 * n);
  for (int k = 0; k < 3; ++k)
    for (int i = 0; i < 2 * n; ++i)
      for (int j = 0; j < 2 * n; ++j) wide.at(k, i, j) = zv[(k * n + i / 2) * n + j / 2];
  Map m = conv_of(wide, w1v, {}, 4, 3, 1, 1);
  m.v = norm_of(m.v, 2 * m.h * m.w, Numbers(2 * m.h * m.w, 1), Numbers(2 * m.h * m.w, 0));
  m = map(m, [](double v) { return v * sigmoid_of(v); });
  Map out = blank(2, 4 * n, 4 * n);
  for (int f = 0; f < 2; ++f)
    for (int i = 0; i < 4 * n; ++i)
      for (int j = 0; j < 4 * n; ++j) out.at(f, i, j) = bv[f];
  for (int k = 0; k < 4; ++k)
    for (int i = 0; i < m.h; ++i)
      for (int j = 0; j < m.w; ++j)
        for (int f = 0; f < 2; ++f)
          for (int p = 0; p < 4; ++p)
            for (int q = 0; q < 4; ++q) {
              const int row = 2 * i + p - 1, column = 2 * j + q - 1;
              if (row >= 0 && row < out.h && column >= 0 && column < out.w) out.at(f, row, column) += m.at(k, i, j) * uv[((k * 2 + f) * 4 + p) * 4 + q];
            }
  d.expect(a, m.v, 10);
  d.expect(y, map(out, [](double v) { return std::tanh(v); }).v, 10);
}

}  // namespace

std::vector<Program> network_programs() {
  return {{"lenet", lenet},
          {"resnet_block", resnet_block},
          {"mobilenet_block", mobilenet_block},
          {"squeeze_excite", squeeze_excite},
          {"unet_block", unet_block},
          {"vit_block", vit_block},
          {"gpt_cache", gpt_cache},
          {"detection_head", detection_head},
          {"vae_decoder", vae_decoder}};
}

}  // namespace sinter::testing
