// Programs that process images: filters, colours, views of views.
#include "programs.hpp"

namespace sinter::testing {
namespace {

constexpr int kH = 10, kW = 14;
double at(const Numbers& v, int i, int j) { return v[static_cast<std::size_t>(i * kW + j)]; }

/// x shifted by (di, dj), the inner part of a 3x3 filter.
Tensor part(const Tensor& x, int di, int dj) { return x(Slice{1 + di, kH - 1 + di}, Slice{1 + dj, kW - 1 + dj}); }
template <class F> Numbers inner(F f) {
  Numbers out;
  for (int i = 1; i + 1 < kH; ++i)
    for (int j = 1; j + 1 < kW; ++j) out.push_back(f(i, j));
  return out;
}
template <class F> Numbers grid(int h, int w, F f) {
  Numbers out;
  for (int i = 0; i < h; ++i)
    for (int j = 0; j < w; ++j) out.push_back(f(i, j));
  return out;
}

void unsharp(Desk& d) {
  const auto [x, v] = d.random({kH, kW}, 0, 1);
  const Tensor blur = (part(x, -1, 0) + part(x, 1, 0) + part(x, 0, -1) + part(x, 0, 1) + 4 * part(x, 0, 0)) / 8;
  const Tensor y = clip(part(x, 0, 0) * 2 - blur, 0, 1);
  d.step(blur, y);
  const auto b = [&, &p = v](int i, int j) { return (at(p, i - 1, j) + at(p, i + 1, j) + at(p, i, j - 1) + at(p, i, j + 1) + 4 * at(p, i, j)) / 8; };
  d.expect(blur, inner(b));
  d.expect(y, inner([&, &p = v](int i, int j) { return std::clamp(2 * at(p, i, j) - b(i, j), 0.0, 1.0); }));
}

void separable(Desk& d) {
  const auto [x, v] = d.random({kH, kW});
  const double tap[] = {0.25, 0.5, 0.25};
  Tensor rows = zeros({kH, kW - 2}, d.real), y = zeros({kH - 2, kW - 2}, d.real);
  for (int k = 0; k < 3; ++k) rows += tap[k] * x(kAll, Slice{k, kW - 2 + k});
  for (int k = 0; k < 3; ++k) y += tap[k] * rows(Slice{k, kH - 2 + k});
  d.step(rows, y);
  d.expect(y, inner([&, &p = v](int i, int j) {
             double s = 0;
             for (int a = 0; a < 3; ++a)
               for (int b = 0; b < 3; ++b) s += tap[a] * tap[b] * at(p, i + a - 1, j + b - 1);
             return s;
           }));
}

void pooling(Desk& d) {
  const auto [x, v] = d.random({kH, kW});
  const Tensor tiles = x.reshape({kH / 2, 2, kW / 2, 2});
  const Tensor top = max(tiles, {1, 3}), average = mean(tiles, {1, 3}), corner = x(Slice{{}, {}, 2}, Slice{{}, {}, 2});
  d.step(top, average, corner);
  const auto pooled = [&, &p = v](auto f) {
    return grid(kH / 2, kW / 2,
                [&](int i, int j) { return f(at(p, 2 * i, 2 * j), at(p, 2 * i, 2 * j + 1), at(p, 2 * i + 1, 2 * j), at(p, 2 * i + 1, 2 * j + 1)); });
  };
  d.expect(top, pooled([](double a, double b, double c, double e) { return std::max({a, b, c, e}); }));
  d.expect(average, pooled([](double a, double b, double c, double e) { return (a + b + c + e) / 4; }));
  d.expect(corner, pooled([](double a, double, double, double) { return a; }));
}

void enlarge(Desk& d) {
  const auto [x, v] = d.random({3, 4});
  const Tensor y = broadcast_to(x(kAll, newaxis, kAll, newaxis), {3, 2, 4, 3}).reshape({6, 12}), shifted = y + arange(12);
  d.step(y, shifted);
  d.expect(y, grid(6, 12, [&, &p = v](int i, int j) { return p[static_cast<std::size_t>(i / 2 * 4 + j / 3)]; }));
  d.expect(shifted, grid(6, 12, [&, &p = v](int i, int j) { return p[static_cast<std::size_t>(i / 2 * 4 + j / 3)] + j; }));
}

void grey(Desk& d) {
  const auto [x, v] = d.random({kH, kW, 3}, 0, 1);
  const Tensor dots = 0.299 * x(ellipsis, 0) + 0.587 * x(ellipsis, 1) + 0.114 * x(ellipsis, 2);
  const Tensor by_matrix = matmul(x, Tensor{0.299, 0.587, 0.114}.astype(d.real)), gamma = power(dots, 1 / 2.2);
  d.step(dots, by_matrix, gamma);
  const Numbers want = grid(kH, kW, [&, &p = v](int i, int j) {
    const double* c = &p[static_cast<std::size_t>(i * kW + j) * 3];
    return 0.299 * c[0] + 0.587 * c[1] + 0.114 * c[2];
  });
  Numbers bright = want;
  for (double& b : bright) b = std::pow(b, 1 / 2.2);
  d.expect(dots, want), d.expect(by_matrix, want), d.expect(gamma, bright, 3);
}

void saturation(Desk& d) {
  const auto [x, v] = d.random({5, 6, 3}, 0, 1);
  const Tensor high = max(x, -1), low = min(x, -1), s = where(high > 0, (high - low) / high, 0), mid = sum(x, -1) - high - low;
  d.step(s, mid, high);
  Numbers ws, wm;
  for (std::size_t i = 0; i < 30; ++i) {
    const double a = std::max({v[3 * i], v[3 * i + 1], v[3 * i + 2]}), b = std::min({v[3 * i], v[3 * i + 1], v[3 * i + 2]});
    ws.push_back((a - b) / a), wm.push_back(v[3 * i] + v[3 * i + 1] + v[3 * i + 2] - a - b);
  }
  d.expect(s, ws), d.expect(mid, wm);
}

void blend(Desk& d) {
  const auto [a, av] = d.random({kH, kW, 3}, 0, 1);
  const auto [b, bv] = d.random({3}, 0, 1);
  const auto [alpha, lv] = d.random({kH, kW}, 0, 1);
  const Tensor y = a * alpha(ellipsis, newaxis) + b * (1 - alpha(ellipsis, newaxis)), red = y(ellipsis, 0);
  d.step(y, red);
  Numbers want, first;
  for (std::size_t i = 0; i < av.size(); ++i) want.push_back(av[i] * lv[i / 3] + bv[i % 3] * (1 - lv[i / 3]));
  for (std::size_t i = 0; i < av.size(); i += 3) first.push_back(want[i]);
  d.expect(y, want), d.expect(red, first);
}

void vignette(Desk& d) {
  const auto [x, v] = d.random({kH, kW}, 0, 1);
  const Tensor i = (arange(kH) - (kH - 1) / 2.0)(kAll, newaxis), j = arange(kW) - (kW - 1) / 2.0;
  const Tensor y = x * exp(-(i * i + j * j) / 50);
  d.expect(y, grid(kH, kW, [&, &p = v](int a, int b) { return at(p, a, b) * std::exp(-(std::pow(a - 4.5, 2) + std::pow(b - 6.5, 2)) / 50); }));
}

void checkerboard(Desk& d) {
  const Tensor board = (floor_divide(arange(kH)(kAll, newaxis), 2) + arange(kW)) & 1;
  const Tensor count = sum(board), inverse = 1 - board, corner = board(Slice{{}, 3}, Slice{-3, {}});
  d.step(board, count, inverse, corner);
  const Numbers want = grid(kH, kW, [](int i, int j) { return (i / 2 + j) & 1; });
  double total = 0;
  for (double w : want) total += w;
  d.expect(board, want), d.expect(count, total);
  d.expect(corner, grid(3, 3, [](int i, int j) { return (i / 2 + j + kW - 3) & 1; }));
  d.expect(inverse, grid(kH, kW, [](int i, int j) { return 1 - ((i / 2 + j) & 1); }));
}

void turns(Desk& d) {
  const auto [x, v] = d.random({kH, kW});
  const Tensor quarter = flip(x.T(), 0), half = flip(flip(x, 0), 1), back = flip(quarter, 0).T(), mixed = half + x, strip = quarter(Slice{2, 5}, 0);
  d.step(quarter, half, back, mixed, strip);
  d.expect(quarter, grid(kW, kH, [&, &p = v](int i, int j) { return at(p, j, kW - 1 - i); }));
  d.expect(half, grid(kH, kW, [&, &p = v](int i, int j) { return at(p, kH - 1 - i, kW - 1 - j); }));
  d.expect(back, v);
  d.expect(mixed, grid(kH, kW, [&, &p = v](int i, int j) { return at(p, i, j) + at(p, kH - 1 - i, kW - 1 - j); }));
  d.expect(strip, grid(1, 3, [&, &p = v](int, int i) { return at(p, 0, kW - 3 - i); }));
}

void views_of_views(Desk& d) {
  const auto [x, v] = d.random({kH, kW});
  const Tensor y = exp(x), a = y(Slice{1, {}, 2}).T()(Slice{{}, {}, -3}), b = a.reshape({-1})(Slice{2, -2}), c = broadcast_to(b(newaxis), {3, b.size()}).T();
  d.step(c, y, b);
  Numbers flat;
  for (int j = kW - 1; j >= 0; j -= 3)
    for (int i = 1; i < kH; i += 2) flat.push_back(std::exp(at(v, i, j)));
  flat = Numbers(flat.begin() + 2, flat.end() - 2);
  Numbers wide;
  for (double f : flat) wide.insert(wide.end(), 3, f);
  d.expect(b, flat), d.expect(c, wide);
}

void integral_image(Desk& d) {
  const auto [x, v] = d.integers({kH, kW}, 0, 9, DType::int32);
  const Tensor i = arange(kH), j = arange(kW);
  const Tensor rows = astype(i(kAll, newaxis) >= i, DType::int64), columns = astype(j(kAll, newaxis) <= j, DType::int64);
  const Tensor sums = matmul(matmul(rows, x), columns);
  const Tensor box =
      sums(Slice{3, {}}, Slice{3, {}}) - sums(Slice{{}, -3}, Slice{3, {}}) - sums(Slice{3, {}}, Slice{{}, -3}) + sums(Slice{{}, -3}, Slice{{}, -3});
  d.step(sums, box);
  d.expect(box, grid(kH - 3, kW - 3, [&, &p = v](int a, int b) {
             double s = 0;
             for (int r = a + 1; r <= a + 3; ++r)
               for (int c = b + 1; c <= b + 3; ++c) s += at(p, r, c);
             return s;
           }));
}

void edges(Desk& d) {  // morphology: a min filter of a max filter
  const auto [x, v] = d.integers({kH, kW}, 0, 100, DType::int32);
  const auto filtered = [](const Tensor& t, auto pick) {
    const auto h = t.shape()[0], w = t.shape()[1];
    Tensor y = t(Slice{1, h - 1}, Slice{1, w - 1});
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) y = pick(y, t(Slice{i, h - 2 + i}, Slice{j, w - 2 + j}));
    return y;
  };
  const Tensor wide = filtered(x, [](const Tensor& a, const Tensor& b) { return maximum(a, b); });
  const Tensor closed = filtered(wide, [](const Tensor& a, const Tensor& b) { return minimum(a, b); });
  d.step(wide, closed);
  const auto high = [&, &p = v](int i, int j) {
    double m = 0;
    for (int a = -1; a <= 1; ++a)
      for (int b = -1; b <= 1; ++b) m = std::max(m, at(p, i + a, j + b));
    return m;
  };
  Numbers want;
  for (int i = 2; i + 2 < kH; ++i)
    for (int j = 2; j + 2 < kW; ++j) {
      double m = 1e9;
      for (int a = -1; a <= 1; ++a)
        for (int b = -1; b <= 1; ++b) m = std::min(m, high(i + a, j + b));
      want.push_back(m);
    }
  d.expect(closed, want), d.expect(wide, inner(high));
}

}  // namespace

std::vector<Program> image_programs() {
  return {{"unsharp mask", unsharp},
          {"separable blur", separable},
          {"pooling", pooling},
          {"enlarge", enlarge},
          {"grey and gamma", grey},
          {"saturation", saturation},
          {"alpha blend", blend},
          {"vignette", vignette},
          {"checkerboard", checkerboard},
          {"turns", turns},
          {"views of views", views_of_views},
          {"integral image", integral_image},
          {"closing", edges}};
}

}  // namespace sinter::testing
