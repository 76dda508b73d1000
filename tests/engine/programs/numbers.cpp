// Programs with integers, sorting, finance, statistics and series.
#include <numeric>

#include "programs.hpp"

namespace sinter::testing {
namespace {

template <class F> Numbers list(std::int64_t n, F f) {
  Numbers out;
  for (std::int64_t i = 0; i < n; ++i) out.push_back(static_cast<double>(f(i)));
  return out;
}

void bitonic_sort(Desk& d) {
  const int n = 32;
  auto [x, v] = d.random({n});
  for (int k = 2; k <= n; k *= 2)
    for (int j = k / 2; j > 0; j /= 2) {
      const Tensor pairs = x.reshape({n / (2 * j), 2, j}), other = flip(pairs, 1).reshape({n});
      const Tensor i = arange(n), lower = (i & j) == 0, up = (i & k) == 0;
      x = where(lower == up, minimum(x, other), maximum(x, other));
      d.step(x);
    }
  std::sort(v.begin(), v.end());
  d.expect(x, v);
}

void rank_sort(Desk& d) {
  const int n = 17;
  const auto [x, v] = d.integers({n}, 0, 9);
  const Tensor i = arange(n), column = x(kAll, newaxis);
  const Tensor rank = sum((x < column) | ((x == column) & (i < i(kAll, newaxis))), 1);
  const Tensor sorted = sum(where(rank == i(kAll, newaxis), x, 0), 1), median = sorted(n / 2);
  d.step(rank, sorted, median);
  Numbers want = v;
  std::sort(want.begin(), want.end());
  d.expect(sorted, want), d.expect(median, want[n / 2]);
}

void odd_even_passes(Desk& d) {  // neighbours change places, as two halves of a reshape
  const int n = 8;
  auto [x, v] = d.integers({n}, 0, 50);
  for (int t = 0; t < n; ++t) {
    const Tensor i = arange(n), first = i % 2 == t % 2;
    const Tensor partner = where(first, i + 1, i - 1), valid = (partner >= 0) & (partner < n);
    const Tensor other = sum(where(partner(kAll, newaxis) == i, x, 0), 1);
    x = where(valid, where(first, minimum(x, other), maximum(x, other)), x);
    d.step(x);
  }
  std::sort(v.begin(), v.end());
  d.expect(x, v);
}

void collatz(Desk& d) {
  const int n = 30;
  Tensor x = arange(1, n + 1), steps = zeros({n}, DType::int64);
  for (int t = 0; t < 120; ++t) {
    const Tensor running = x > 1;
    x = where(running, where(x % 2 == 0, floor_divide(x, 2), 3 * x + 1), x);
    steps += running;
    if (t % 20 == 0) d.step(x, steps);
  }
  d.expect(steps, list(n, [](std::int64_t k) {
             int count = 0;
             for (std::int64_t a = k + 1; a > 1; ++count) a = a % 2 ? 3 * a + 1 : a / 2;
             return count;
           }));
}

void gcd_table(Desk& d) {
  const int n = 12;
  Tensor a = broadcast_to(arange(1, n + 1)(kAll, newaxis), {n, n}), b = broadcast_to(arange(1, n + 1), {n, n});
  for (int t = 0; t < 8; ++t) {
    const Tensor done = b == 0, rest = where(done, 0, a % where(done, 1, b));
    a = where(done, a, b), b = rest;
    d.step(a, b);
  }
  const Tensor coprime = sum(a == 1, 1);
  d.step(coprime, a);
  d.expect(a, list(n * n, [&](std::int64_t k) { return std::gcd(k / n + 1, k % n + 1); }));
  d.expect(coprime, list(n, [&](std::int64_t i) {
             int c = 0;
             for (int j = 1; j <= n; ++j) c += std::gcd(i + 1, std::int64_t{j}) == 1;
             return c;
           }));
}

void fibonacci(Desk& d) {
  Tensor a = full({4}, std::int64_t{0}), b = arange(1, 5);
  Numbers av(4, 0), bv{1, 2, 3, 4};
  for (int t = 0; t < 50; ++t) {
    const Tensor next = (a + b) % 10007;
    a = b, b = next;
    for (int i = 0; i < 4; ++i) {
      const double n = std::fmod(av[i] + bv[i], 10007);
      av[i] = bv[i], bv[i] = n;
    }
  }
  d.step(a, b);
  d.expect(a, av), d.expect(b, bv);
}

void bit_count(Desk& d) {
  const auto [x, v] = d.integers({40}, 0, 1 << 30);
  Tensor y = x, count = zeros({40}, DType::int64), gray = x ^ (x >> 1);
  for (int t = 0; t < 32; ++t) count += y & 1, y = y >> 1;
  const Tensor parity = count % 2;
  d.step(count, parity, gray);
  d.expect(count, list(40, [&, &p = v](std::int64_t i) { return __builtin_popcountll(static_cast<std::uint64_t>(p[i])); }));
  d.expect(gray, list(40, [&, &p = v](std::int64_t i) {
             const auto k = static_cast<std::int64_t>(p[i]);
             return k ^ (k >> 1);
           }));
}

void random_numbers(Desk& d) {  // a linear congruential generator; wraps
  Tensor state = arange(1, 9).astype(DType::int32);
  std::vector<std::uint32_t> want{1, 2, 3, 4, 5, 6, 7, 8};
  for (int t = 0; t < 20; ++t) {
    state = state * 1664525 + 1013904223;
    d.step(state);
    for (auto& w : want) w = w * 1664525u + 1013904223u;
  }
  const Tensor unit = ((state >> 8) & 0xffff) / 65536.0;
  d.expect(state, list(8, [&](std::int64_t i) { return static_cast<std::int32_t>(want[i]); }));
  d.expect(unit, list(8, [&](std::int64_t i) { return ((static_cast<std::int32_t>(want[i]) >> 8) & 0xffff) / 65536.0; }));
}

void xorshift(Desk& d) {
  Tensor x = arange(1, 6);
  std::vector<std::uint64_t> want{1, 2, 3, 4, 5};
  for (int t = 0; t < 12; ++t) {
    x = x ^ (x << 13);
    x = x ^ ((x >> 7) & ((std::int64_t{1} << 57) - 1));  // a logical shift
    x = x ^ (x << 17);
    d.step(x);
    for (auto& w : want) w ^= w << 13, w ^= w >> 7, w ^= w << 17;
  }
  const auto got = x.to_vector<std::int64_t>();
  for (std::size_t i = 0; i < 5; ++i) CHECK(got[i] == static_cast<std::int64_t>(want[i]));
}

void fizz_buzz(Desk& d) {
  const Tensor i = arange(1, 31), y = where(i % 15 == 0, -15, where(i % 5 == 0, -5, where(i % 3 == 0, -3, i)));
  d.expect(y, list(30, [](std::int64_t k) { return ++k % 15 == 0 ? -15 : k % 5 == 0 ? -5 : k % 3 == 0 ? -3 : k; }));
}

void division_table(Desk& d) {
  const Tensor a = arange(-6, 7).astype(DType::int32)(kAll, newaxis), b = arange(-3, 4).astype(DType::int32), safe = where(b == 0, 1, b);
  const Tensor q = floor_divide(a, safe), r = a % safe, back = q * safe + r - a;
  d.step(q, r, back);
  const auto at = [](std::int64_t k) { return std::pair{k / 7 - 6, k % 7 - 3 == 0 ? std::int64_t{1} : k % 7 - 3}; };
  d.expect(q, list(91, [&](std::int64_t k) {
             const auto [x, y] = at(k);
             return std::floor(double(x) / double(y));
           }));
  d.expect(back, Numbers(91, 0));
}

void pascal(Desk& d) {
  const int n = 10;
  const Tensor i = arange(n)(kAll, newaxis), j = arange(n), step = astype((i == j) | (i + 1 == j), DType::int64);
  Tensor row = astype(arange(n) == 0, DType::int64);
  for (int t = 0; t < 8; ++t) {
    row = matmul(row, step);
    d.step(row);
  }
  Numbers want(n);
  want[0] = 1;
  for (int k = 1; k <= 8; ++k) want[k] = want[k - 1] * (9 - k) / k;
  d.expect(row, want);
}

void implied_volatility(Desk& d) {  // Newton's steps
  const auto [price, pv] = d.random({6}, 8, 12);
  Tensor sigma = full({6}, 0.3, d.real);
  Numbers sv(6, 0.3);
  for (int t = 0; t < 8; ++t) {
    const Tensor d1 = 0.5 * sigma, value = 100 * erf(d1 / std::sqrt(2.0)), vega = 100 * exp(-d1 * d1 / 2) / std::sqrt(2 * 3.141592653589793);
    sigma = sigma - (value - price) / vega;
    d.step(sigma);
    for (int i = 0; i < 6; ++i) {
      const double a = 0.5 * sv[i];
      sv[i] -= (100 * std::erf(a / std::sqrt(2.0)) - pv[i]) / (100 * std::exp(-a * a / 2) / std::sqrt(2 * 3.141592653589793));
    }
  }
  d.expect(sigma, sv, 5);
}

void binomial_option(Desk& d) {
  const int n = 12;
  const double up = 1.05, p = 0.53;
  Tensor v = maximum(100 * power(up, astype(n - 2 * arange(n + 1), d.real)) - 100, 0);
  Numbers w = list(n + 1, [&](std::int64_t i) { return std::max(100 * std::pow(up, n - 2 * static_cast<double>(i)) - 100, 0.0); });
  for (int t = 0; t < n; ++t) {
    v = 0.999 * (p * v(Slice{{}, -1}) + (1 - p) * v(Slice{1, {}}));
    d.step(v);
    for (std::size_t i = 0; i + 1 < w.size(); ++i) w[i] = 0.999 * (p * w[i] + (1 - p) * w[i + 1]);
    w.pop_back();
  }
  d.expect(v, w, 10);
}

void smoothing(Desk& d) {
  const int n = 20;
  const auto [x, v] = d.random({n, 3});
  Tensor level = x(0), worst = zeros({3}, d.real);
  Numbers lv(v.begin(), v.begin() + 3), wv(3);
  for (int t = 1; t < n; ++t) {
    worst = maximum(worst, abs(x(t) - level));
    level = 0.3 * x(t) + 0.7 * level;
    d.step(level, worst);
    for (int i = 0; i < 3; ++i) wv[i] = std::max(wv[i], std::abs(v[t * 3 + i] - lv[i])), lv[i] = 0.3 * v[t * 3 + i] + 0.7 * lv[i];
  }
  d.expect(level, lv), d.expect(worst, wv);
}

void differences(Desk& d) {
  const int n = 18;
  const auto [x, v] = d.random({n});
  const Tensor first = x(Slice{1, {}}) - x(Slice{{}, -1}), second = first(Slice{1, {}}) - first(Slice{{}, -1}),
               central = (x(Slice{2, {}}) - x(Slice{{}, -2})) / 2;
  const Tensor rising = sum(first > 0), steepest = max(abs(first));
  d.step(first, second, central, rising, steepest);
  Numbers w1, w2, wc;
  for (int i = 1; i < n; ++i) w1.push_back(v[i] - v[i - 1]);
  for (int i = 2; i < n; ++i) w2.push_back(v[i] - 2 * v[i - 1] + v[i - 2]), wc.push_back((v[i] - v[i - 2]) / 2);
  double up = 0, largest = 0;
  for (double a : w1) up += a > 0, largest = std::max(largest, std::abs(a));
  d.expect(first, w1), d.expect(second, w2), d.expect(central, wc), d.expect(rising, up), d.expect(steepest, largest);
}

void calendars(Desk& d) {
  const Tensor year = arange(1896, 1906), leap = ((year % 4 == 0) & (year % 100 != 0)) | (year % 400 == 0);
  const Tensor days = 365 + leap, total = sum(days),
               first = floor_divide(year - 1, 4) - floor_divide(year - 1, 100) + floor_divide(year - 1, 400) + 365 * (year - 1);
  d.step(days, total, first);
  const auto is_leap = [](std::int64_t y) { return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0; };
  d.expect(days, list(10, [&](std::int64_t i) { return 365 + is_leap(1896 + i); }));
  d.expect(total, 3652);
  d.expect(first, list(10, [&](std::int64_t i) {
             std::int64_t n = 0;
             for (std::int64_t y = 1; y < 1896 + i; ++y) n += 365 + is_leap(y);
             return n;
           }));
}

void empty_batches(Desk& d) {  // a loop over minibatches meets an empty last one
  const auto [x, v] = d.random({10, 3});
  Tensor total = zeros({3}, d.real), count = zeros({}, DType::int64);
  for (int k = 0; k <= 10; k += 5) {
    const Tensor batch = x(Slice{k, k + 5});
    total += sum(batch * 2, 0), count += sum(batch > 0);
    d.step(total, count);
  }
  Numbers want(3);
  double n = 0;
  for (int i = 0; i < 30; ++i) want[i % 3] += 2 * v[i], n += v[i] > 0;
  d.expect(total, want, 3), d.expect(count, n);
}

}  // namespace

std::vector<Program> number_programs() {
  return {{"bitonic sort", bitonic_sort},
          {"rank sort", rank_sort},
          {"odd-even sort", odd_even_passes},
          {"Collatz", collatz},
          {"table of divisors", gcd_table},
          {"Fibonacci", fibonacci},
          {"bits", bit_count},
          {"random numbers", random_numbers},
          {"xorshift", xorshift},
          {"fizz buzz", fizz_buzz},
          {"division table", division_table},
          {"Pascal", pascal},
          {"implied volatility", implied_volatility},
          {"binomial option", binomial_option},
          {"smoothing", smoothing},
          {"differences", differences},
          {"calendar", calendars},
          {"empty batches", empty_batches}};
}

}  // namespace sinter::testing
