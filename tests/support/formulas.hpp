// Formulas whose kernels test_fusion counts: parts of real models and programs in which fusion once stopped for a wrong reason.
#pragma once
#include <functional>
#include <sinter/sinter.hpp>
#include <string>
#include <vector>

namespace sinter::fusion {

struct Formula {
  std::string name;
  int max_kernels;  // on a CPU and on sm_90
  std::function<std::vector<Tensor>()> record;
  int second_stages = 0;  // of column sums on sm_90, which has blocks to fill
};

inline Tensor f32(const Shape& shape) { return placeholder(shape, DType::float32); }
inline Tensor row_mean(const Tensor& x) { return mean(x, -1, true); }

struct Normed {
  Tensor mean, rstd, y;
};
inline Normed normed(const Tensor& x) {
  const std::int64_t n = x.size(-1);
  const Tensor m = row_mean(x), centred = x - m, rstd = rsqrt(row_mean(centred * centred) + 1e-5f);
  return {m, rstd, centred * rstd * f32({n}) + f32({n})};
}

inline std::vector<Tensor> mandelbrot(int steps) {
  const Shape shape{1000, 1000};
  const Tensor cr = f32(shape), ci = f32(shape);
  Tensor zr = cr, zi = ci, count = cr * 0.f;
  for (int k = 0; k < steps; ++k) {
    const Tensor rr = zr * zr, ii = zi * zi;
    count = where(rr + ii < 4.f, count + 1.f, count);
    zi = 2.f * zr * zi + ci;
    zr = rr - ii + cr;
  }
  return {zr, zi, count};
}

inline std::vector<Tensor> implied_volatility(int steps) {
  const Shape shape{1000000};
  const Tensor spot = f32(shape), strike = f32(shape), time = f32(shape), price = f32(shape);
  Tensor volatility = spot * 0.f + 0.2f;
  const auto normal = [](const Tensor& x) { return 0.5f * (1.f + erf(x * 0.70710678f)); };
  for (int k = 0; k < steps; ++k) {
    const Tensor root = sqrt(time), d1 = (log(spot / strike) + (0.02f + 0.5f * volatility * volatility) * time) / (volatility * root);
    const Tensor d2 = d1 - volatility * root;
    const Tensor call = spot * normal(d1) - strike * exp(-0.02f * time) * normal(d2);
    volatility = volatility - (call - price) / (spot * root * exp(-0.5f * d1 * d1) * 0.39894228f);
  }
  return {volatility};
}

inline Tensor blurred(const Tensor& x, int axis) {
  const float taps[] = {0.03f, 0.11f, 0.22f, 0.28f, 0.22f, 0.11f, 0.03f};
  Tensor sum;
  for (std::int64_t k = 0; k < 7; ++k) {
    const Slice part{k, x.size(axis) - 6 + k};
    const Tensor tap = (axis == 0 ? x(part) : x(Slice{}, part)) * taps[k];
    sum = k == 0 ? tap : sum + tap;
  }
  return sum;
}

inline std::vector<Formula> formulas() {
  const auto placed_minimum = [] {
    const Tensor x = f32({4096, 1000}), minimum = min(x, 1, true);
    return std::vector<Tensor>{min(where(x == minimum, arange(1000), std::int64_t{1000}), 1), sum(minimum)};
  };
  const auto backward = [] {
    const Tensor x = f32({4096, 768}), dy = f32({4096, 768}), centred = x - row_mean(x), rstd = rsqrt(row_mean(centred * centred) + 1e-5f);
    const Tensor xhat = centred * rstd, dxhat = dy * f32({768});
    return std::vector<Tensor>{(dxhat - row_mean(dxhat) - xhat * row_mean(dxhat * xhat)) * rstd, sum(dy * xhat, 0), sum(dy, 0)};
  };
  const auto dropped = [] {
    const Tensor h = f32({32, 128, 768}) + f32({32, 128, 768}) * astype(placeholder({32, 128, 768}, DType::bool_), DType::float32) * 1.1f;
    const Normed n = normed(h);
    return std::vector<Tensor>{h, n.mean, n.rstd, n.y};
  };
  const auto batch_norm = [](const Shape& shape) {
    return [shape] {
      const Shape channels{shape[1], 1, 1};
      return std::vector<Tensor>{(f32(shape) - f32(channels)) * (1.f / sqrt(f32(channels) + 1e-5f)) * f32(channels) + f32(channels)};
    };
  };
  const auto gamma = [](const Shape& shape) {
    return [shape] {
      const Tensor g = power(f32(shape), 0.45f);
      return std::vector<Tensor>{rint(g * 255.f), sum(g)};
    };
  };
  return {
      {"Mandelbrot, 8 steps, 3 results", 1, [] { return mandelbrot(8); }},
      {"Newton's implied volatility, 8 steps (175 ops)", 2, [] { return implied_volatility(8); }},
      {"g = power(x), rint(g*255), sum(g)", 2, gamma({2048, 2048})},
      {"the same, rows that do not divide a chunk", 2, gamma({1000, 3000})},
      {"argmin by where, and the sum of the minima", 2, placed_minimum},
      {"layer norm backward: dx, dw, db", 2, backward, 2},
      {"7-tap separable blur", 2, [] { return std::vector<Tensor>{blurred(blurred(f32({2048, 2048}), 0), 1)}; }},
      {"layer_norm(x, w, b)[:, 0:1]", 1, [] { return std::vector<Tensor>{layer_norm(f32({128, 197, 768}), f32({768}), f32({768}))(Slice{}, Slice{0, 1})}; }},
      {"softmax(x.reshape(64,12,64)).reshape(64,768)*w", 1,
       [] { return std::vector<Tensor>{softmax(f32({64, 768}).reshape({64, 12, 64})).reshape({64, 768}) * f32({768})}; }},
      {"layer norm: y and rsqrt(var+eps)/768", 1,
       [] {
         const Normed n = normed(f32({32, 128, 768}));
         return std::vector<Tensor>{n.y, n.rstd / 768.f};
       }},
      {"training layer norm: x + dropout, mean, rstd, y", 1, dropped},
      {"mean(relu(x)) and the mask relu(x) <= 0", 1,
       [] {
         const Tensor y = relu(f32({128, 512, 7, 7}));
         return std::vector<Tensor>{mean(y, {2, 3}), y <= 0.f};
       }},
      {"sigmoid(g)*x, g [128,1152,1,1]", 1, [] { return std::vector<Tensor>{sigmoid(f32({128, 1152, 1, 1})) * f32({128, 1152, 7, 7})}; }},
      {"batch norm, inference, [128,2048,7,7]", 1, batch_norm({128, 2048, 7, 7})},
      {"batch norm, inference, [5,64,56,56]", 1, batch_norm({5, 64, 56, 56})},
      {"batch norm, inference, [2,64,7,7]", 1, batch_norm({2, 64, 7, 7})},
      {"(32,128) beside (32,128,1)", 1,
       [] {
         const Tensor x = f32({32, 128, 768});
         return std::vector<Tensor>{sum(exp(x), -1), max(sqrt(x), -1, true)};
       }},
      {"sum of an axis of size 1", 1, [] { return std::vector<Tensor>{sum(sqrt(f32({64, 1, 768})), 1) * 2.f}; }},
      {"softmax(x)[:, 0], rows computed once", 1, [] { return std::vector<Tensor>{softmax(f32({512, 512, 512}))(Slice{}, 0)}; }},
      {"concatenate of ten, work before and after", 1,
       [] {
         std::vector<Tensor> parts;
         for (int k = 0; k < 10; ++k) parts.push_back(exp(f32({100, 50}) * 2.f));
         return std::vector<Tensor>{concatenate(parts, 1) + 1.f};
       }},
  };
}

}  // namespace sinter::fusion
