// The functions of neural networks, compared with plain loops in double, for random shapes and options.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "program.hpp"
#include "reference.hpp"
#include "seed.hpp"

using namespace sinter::testing;

namespace {

using Ints = std::vector<std::int64_t>;
using Widths = std::vector<std::pair<std::int64_t, std::int64_t>>;

std::mt19937 rng{test_seed()};
int rounds(int many) { return on_gpu() ? std::max(1, many / 10) : many; }  // an emulated kernel needs a compiler

double unit(DType dtype) {
  switch (dtype) {
    case DType::float64: return 1e-13;
    case DType::float32: return 2e-6;
    case DType::float16: return 1.5e-3;
    case DType::bfloat16: return 1.2e-2;
    default: return 0;
  }
}
/// Errors are measured against the largest value.
void same(const Tensor& got, const Ref& want, double slack = 1) {
  REQUIRE(sn::to_string(got.shape()) == sn::to_string(want.shape));
  const auto list = values(got);
  double scale = 1e-30;
  for (double w : want.v)
    if (std::isfinite(w)) scale = std::max(scale, std::abs(w));
  for (std::size_t k = 0; k < list.size(); ++k) {
    const bool close =
        list[k] == want.v[k] || std::abs(list[k] - want.v[k]) <= slack * scale * unit(got.dtype()) || (std::isnan(list[k]) && std::isnan(want.v[k]));
    if (!close) FAIL_CHECK("element " << k << " is " << list[k] << ", not " << want.v[k]);
    if (!close) return;
  }
}

double at(const Ref& x, const Coords& place) {
  for (std::size_t k = 0; k < place.size(); ++k)
    if (place[k] < 0 || place[k] >= x.shape[k]) return 0;
  return x.v[static_cast<std::size_t>(flat(x.shape, place))];
}

Ref conv_of(const Ref& x, const Ref& w, const Ref* bias, const Ints& stride, const Widths& widths, const Ints& dilation, std::int64_t groups) {
  const std::size_t axes = stride.size();
  Shape shape{x.shape[0], w.shape[0]};
  for (std::size_t k = 0; k < axes; ++k)
    shape.push_back((x.shape[k + 2] + widths[k].first + widths[k].second - dilation[k] * (w.shape[k + 2] - 1) - 1) / stride[k] + 1);
  const Shape taps(w.shape.begin() + 1, w.shape.end());
  return make(shape, [&](const Coords& o) {
    double sum = bias ? bias->v[static_cast<std::size_t>(o[1])] : 0;
    each(taps, [&](const Coords& t) {
      Coords from{o[0], o[1] / (w.shape[0] / groups) * w.shape[1] + t[0]}, weight{o[1]};
      weight.insert(weight.end(), t.begin(), t.end());
      for (std::size_t k = 0; k < axes; ++k) from.push_back(o[k + 2] * stride[k] + t[k + 1] * dilation[k] - widths[k].first);
      sum += at(x, from) * at(w, weight);
    });
    return sum;
  });
}

/// Spreads every element of x over the result by the weights.
Ref transposed_of(const Ref& x, const Ref& w, const Ints& stride, const Widths& widths, const Ints& more, const Ints& dilation, std::int64_t groups) {
  const std::size_t axes = stride.size();
  Shape shape{x.shape[0], w.shape[1] * groups};
  for (std::size_t k = 0; k < axes; ++k)
    shape.push_back((x.shape[k + 2] - 1) * stride[k] - widths[k].first - widths[k].second + dilation[k] * (w.shape[k + 2] - 1) + more[k] + 1);
  Ref out{shape, std::vector<double>(static_cast<std::size_t>(sn::element_count(shape)))};
  const Shape taps(w.shape.begin() + 1, w.shape.end());
  each(x.shape, [&](const Coords& i) {
    each(taps, [&](const Coords& t) {
      Coords to{i[0], i[1] / (x.shape[1] / groups) * w.shape[1] + t[0]}, weight{i[1]};
      weight.insert(weight.end(), t.begin(), t.end());
      bool inside = true;
      for (std::size_t k = 0; k < axes; ++k) {
        to.push_back(i[k + 2] * stride[k] + t[k + 1] * dilation[k] - widths[k].first);
        inside &= to.back() >= 0 && to.back() < shape[k + 2];
      }
      if (inside) out.v[static_cast<std::size_t>(flat(shape, to))] += at(x, i) * at(w, weight);
    });
  });
  return out;
}

/// Computes a pool by PyTorch's rules from the values of a window inside x and the number of positions that count.
Ref pool_of(const Ref& x, const Ints& taps, const Ints& stride, const Widths& widths, const Ints& dilation, bool ceil_mode, bool count_pad,
            const std::function<double(const std::vector<double>&, double)>& reduced) {
  const std::size_t axes = taps.size(), first = x.shape.size() - axes;
  Shape shape(x.shape.begin(), x.shape.begin() + static_cast<long>(first));
  for (std::size_t k = 0; k < axes; ++k) {
    const std::int64_t space = x.shape[first + k] + widths[k].first + widths[k].second - dilation[k] * (taps[k] - 1) - 1;
    std::int64_t n = (ceil_mode ? (space + stride[k] - 1) / stride[k] : space / stride[k]) + 1;
    if (ceil_mode && (n - 1) * stride[k] >= x.shape[first + k] + widths[k].first) --n;
    shape.push_back(n);
  }
  return make(shape, [&](const Coords& o) {
    std::vector<double> seen;
    double count = 0;
    each(taps, [&](const Coords& t) {
      Coords from(o.begin(), o.begin() + static_cast<long>(first));
      bool inside = true, padded = true;
      for (std::size_t k = 0; k < axes; ++k) {
        from.push_back(o[first + k] * stride[k] + t[k] * dilation[k] - widths[k].first);
        inside &= from.back() >= 0 && from.back() < x.shape[first + k];
        padded &= from.back() < x.shape[first + k] + widths[k].second;
      }
      if (inside) seen.push_back(at(x, from));
      count += count_pad ? padded : inside;
    });
    return reduced(seen, count);
  });
}

struct Options {
  Ints size, taps, stride, dilation;
  Widths widths;
};
Options options(std::size_t axes, bool for_pool) {
  Options o;
  for (std::size_t k = 0; k < axes; ++k) {
    o.taps.push_back(pick(1, 4));
    o.stride.push_back(pick(1, 3));
    o.dilation.push_back(pick(1, 2));
    const std::int64_t reach = (o.taps[k] - 1) * o.dilation[k] + 1, max_padding = for_pool ? reach - 1 : 3;
    o.widths.emplace_back(pick(0, max_padding), pick(0, max_padding));
    o.size.push_back(pick(std::max<std::int64_t>(1, reach - o.widths[k].first - o.widths[k].second), 9) + (axes == 1 ? 40 : 0));
  }
  return o;
}

const std::vector<DType> kTypes{DType::float32, DType::float64, DType::float16, DType::bfloat16};

}  // namespace

TEST_CASE("convolutions of random shapes") {
  for (int round = 0; round < rounds(60) && !time_is_over(); ++round) {
    const std::size_t axes = static_cast<std::size_t>(pick(1, 3));
    const Options o = options(axes, false);
    const std::int64_t groups = pick(1, 3), channels = groups * pick(1, 3), filters = groups * pick(1, 4), batch = pick(1, 3);
    const DType type = kTypes[static_cast<std::size_t>(pick(0, 3))];
    Shape sx{batch, channels}, sw{filters, channels / groups};
    sx.insert(sx.end(), o.size.begin(), o.size.end());
    sw.insert(sw.end(), o.taps.begin(), o.taps.end());
    const auto [x, rx] = random(rng, sx, type, -1, 1);
    const auto [w, rw] = random(rng, sw, type, -1, 1);
    const auto [b, rb] = random(rng, {filters}, type, -1, 1);
    CAPTURE(sn::to_string(sx));
    CAPTURE(sn::to_string(sw));
    CAPTURE(groups);
    CAPTURE(sn::name(type));
    const sn::ConvOptions how{o.stride, o.widths, o.dilation, groups};
    same(sn::conv(x, w, b, how), conv_of(rx, rw, &rb, o.stride, o.widths, o.dilation, groups), 4);
    if (round % 4 == 0) {  // with a prologue and an epilogue, which is another plan
      const Ref want = map(conv_of(map(rx, [](double v) { return v * 2; }), rw, nullptr, o.stride, o.widths, o.dilation, groups),
                           [](double v) { return std::max(v, 0.0) + 1; });
      same(sn::relu(sn::conv(x * 2, w, {}, how)) + 1, want, 8);
    }
  }
}

TEST_CASE("convolutions large enough for tiles and threads, of views") {
  struct Case {
    Shape x, w;
    Ints stride, pad, dilation;
    std::int64_t groups;
  };
  const std::vector<Case> cases{{{2, 16, 30, 31}, {24, 16, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1}, {{1, 64, 7, 7}, {96, 64, 1, 1}, {1, 1}, {0, 0}, {1, 1}, 1},
                                {{3, 32, 28, 28}, {32, 1, 3, 3}, {2, 2}, {1, 1}, {1, 1}, 32}, {{1, 3, 40, 40}, {16, 3, 7, 7}, {2, 2}, {3, 3}, {1, 1}, 1},
                                {{2, 40, 12, 13}, {20, 20, 3, 3}, {1, 1}, {2, 2}, {2, 2}, 2}, {{1, 400, 9, 9}, {33, 400, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
                                {{2, 32, 450, 1}, {40, 32, 5, 1}, {2, 1}, {2, 0}, {2, 1}, 1}, {{1, 24, 450, 1}, {24, 1, 5, 1}, {1, 2}, {2, 0}, {1, 1}, 24}};
  for (std::size_t k = 0; k < (on_gpu() ? 2 : cases.size()); ++k) {
    const Case& c = cases[k];
    for (DType type : {DType::float32, DType::float64}) {
      if (on_gpu() && type == DType::float64) continue;
      const auto [x, rx] = random(rng, c.x, type, -1, 1);
      const auto [w, rw] = random(rng, c.w, type, -1, 1);
      const sn::ConvOptions how{c.stride, c.pad, c.dilation, c.groups};
      const Widths widths{{c.pad[0], c.pad[0]}, {c.pad[1], c.pad[1]}};
      CAPTURE(sn::to_string(c.x));
      same(sn::conv2d(x, w, {}, how), conv_of(rx, rw, nullptr, c.stride, widths, c.dilation, c.groups), 10);
      if (c.x[3] == 1) continue;
      // x and weights are transposed: the call takes them in their layout.
      const Tensor turned = sn::permute(x, {0, 1, 3, 2}), flipped = sn::flip(w, {2, 3});
      const Ref want =
          conv_of(permute(rx, {0, 1, 3, 2}), strided(rw, c.w, {0, 0, c.w[2] - 1, c.w[3] - 1}, {1, 1, -1, -1}), nullptr, c.stride, widths, c.dilation, c.groups);
      same(sn::conv2d(turned, flipped, {}, how), want, 10);
    }
  }
}

TEST_CASE("integers can be convolved, bools cannot; batches and channels may be omitted or empty") {
  const auto [x, rx] = random(rng, {1, 2, 9}, DType::int32, -9, 9);
  const auto [w, rw] = random(rng, {3, 2, 4}, DType::int32, -9, 9);
  same(sn::conv1d(x, w), conv_of(rx, rw, nullptr, {1}, {{0, 0}}, {1}, 1));
  CHECK(sn::conv1d(sn::astype(x, DType::int64), w).dtype() == DType::int64);
  const auto [y, ry] = random(rng, {2, 9}, DType::float32, -1, 1);
  Ref alone = conv_of({{1, 2, 9}, ry.v}, rw, nullptr, {1}, {{1, 1}}, {1}, 1);
  alone.shape = {3, 8};
  same(sn::conv1d(y, sn::astype(w, DType::float32), {}, {.padding = 1}), alone, 4);
  CHECK(sn::conv2d(sn::zeros({0, 3, 8, 8}, DType::float32), sn::zeros({4, 3, 3, 3}, DType::float32)).shape() == Shape{0, 4, 6, 6});
  same(sn::conv2d(sn::zeros({1, 0, 8, 8}, DType::float32), sn::zeros({4, 0, 3, 3}, DType::float32)), make({1, 4, 6, 6}, [](const Coords&) { return 0; }));
  same(sn::conv1d(sn::ones({1, 1, 5}, DType::float32), sn::ones({1, 1, 4}, DType::float32), {}, {.padding = sn::Padding::same()}),
       {{1, 1, 5}, {3, 4, 4, 3, 2}});
}

TEST_CASE("transposed convolutions of random shapes") {
  for (int round = 0; round < rounds(50) && !time_is_over(); ++round) {
    const std::size_t axes = static_cast<std::size_t>(pick(1, round % 5 == 0 ? 3 : 2));
    const std::int64_t groups = pick(1, 2), channels = groups * pick(1, 3), filters = pick(1, 3), batch = pick(1, 2);
    Shape sx{batch, channels}, sw{channels, filters};
    Ints stride, dilation, more;
    Widths widths;
    for (std::size_t k = 0; k < axes; ++k) {
      sx.push_back(pick(1, 6));
      sw.push_back(pick(1, 5));
      stride.push_back(pick(1, 3));
      dilation.push_back(pick(1, 2));
      more.push_back(pick(0, std::max(stride[k], dilation[k]) - 1));
      const std::int64_t full = (sx[k + 2] - 1) * stride[k] + dilation[k] * (sw[k + 2] - 1) + more[k] + 1;
      widths.emplace_back(pick(0, std::min<std::int64_t>(4, full - 1)), 0);
      widths[k].second = pick(0, std::min<std::int64_t>(4, full - 1 - widths[k].first));
    }
    const DType type = kTypes[static_cast<std::size_t>(pick(0, 1))];
    const auto [x, rx] = random(rng, sx, type, -1, 1);
    const auto [w, rw] = random(rng, sw, type, -1, 1);
    CAPTURE(sn::to_string(sx));
    CAPTURE(sn::to_string(sw));
    same(sn::conv_transpose(x, w, {}, {stride, widths, more, groups, dilation}), transposed_of(rx, rw, stride, widths, more, dilation, groups), 4);
  }
}

TEST_CASE("pools of random shapes") {
  for (int round = 0; round < rounds(40) && !time_is_over(); ++round) {
    const std::size_t axes = static_cast<std::size_t>(pick(1, 3));
    const Options o = options(axes, true);
    const bool ceil_mode = pick(0, 1), count_pad = pick(0, 1);
    Shape sx{pick(1, 2), pick(1, 3)};
    sx.insert(sx.end(), o.size.begin(), o.size.end());
    const DType type = kTypes[static_cast<std::size_t>(pick(0, 3))];
    const auto [x, rx] = random(rng, sx, type, -1, 1);
    CAPTURE(sn::to_string(sx));
    CAPTURE(ceil_mode);
    CAPTURE(count_pad);
    sn::PoolOptions how;
    how.stride = o.stride;
    how.padding = o.widths;
    how.dilation = o.dilation;
    how.ceil_mode = ceil_mode;
    how.count_include_pad = count_pad;
    const auto pooled = [&](auto reduced) { return pool_of(rx, o.taps, o.stride, o.widths, o.dilation, ceil_mode, count_pad, reduced); };
    const auto total = [](const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 0.0); };
    switch (round % 3) {
      case 0:
        same(sn::max_pool(x, o.taps, how), pooled([](const std::vector<double>& v, double) {
               return v.empty() ? -std::numeric_limits<double>::infinity() : *std::max_element(v.begin(), v.end());
             }));
        break;
      case 1: same(sn::avg_pool(x, o.taps, how), pooled([&](const std::vector<double>& v, double count) { return total(v) / count; }), 2); break;
      default:
        same(sn::lp_pool(x, 2, o.taps, how), pooled([](const std::vector<double>& v, double) {
               double sum = 0;
               for (double value : v) sum += value * value;
               return std::sqrt(sum);
             }),
             2);
    }
  }
  for (std::int64_t step : {1, 2, 7}) {  // more positions than the unrolled form supports
    const auto [wide, rwide] = random(rng, {1, 2, 15, 16}, DType::float32, -1, 1);
    const Widths widths{{3, 3}, {3, 3}};
    same(sn::max_pool2d(wide, 7, {.stride = step, .padding = 3}),
         pool_of(rwide, {7, 7}, {step, step}, widths, {1, 1}, false, true,
                 [](const std::vector<double>& v, double) { return *std::max_element(v.begin(), v.end()); }));
    same(sn::avg_pool2d(wide, 7, {.stride = step, .padding = 3}),
         pool_of(rwide, {7, 7}, {step, step}, widths, {1, 1}, false, true,
                 [](const std::vector<double>& v, double count) { return std::accumulate(v.begin(), v.end(), 0.0) / count; }),
         2);
  }
  const auto [x, rx] = random(rng, {2, 3, 7, 10}, DType::float32, -1, 1);
  const auto adaptive = [&](bool is_max) {
    return make({2, 3, 3, 5}, [&](const Coords& o) {
      double sum = 0, top = -1e30, count = 0;
      for (std::int64_t i = o[2] * 7 / 3; i < ((o[2] + 1) * 7 + 2) / 3; ++i)
        for (std::int64_t j = o[3] * 2; j < o[3] * 2 + 2; ++j) {
          const double v = at(rx, {o[0], o[1], i, j});
          sum += v, ++count, top = std::max(top, v);
        }
      return is_max ? top : sum / count;
    });
  };
  same(sn::adaptive_avg_pool(x, {3, 5}), adaptive(false), 2);
  same(sn::adaptive_max_pool(x, {3, 5}), adaptive(true));
  // One number stands for all spatial axes.
  const auto alike = [](const Tensor& one, const Tensor& each) {
    REQUIRE(one.shape() == each.shape());
    CHECK(values(one) == values(each));
  };
  alike(sn::max_pool(x, 2), sn::max_pool2d(x, 2));
  alike(sn::avg_pool(x, 3, {.stride = 1}), sn::avg_pool(x, {3, 3}, {.stride = 1}));
  alike(sn::adaptive_avg_pool(x, 2), sn::adaptive_avg_pool(x, {2, 2}));
  same(sn::global_avg_pool(x),
       make({2, 3, 1, 1},
            [&](const Coords& o) {
              double sum = 0;
              each({7, 10}, [&](const Coords& p) { sum += at(rx, {o[0], o[1], p[0], p[1]}); });
              return sum / 70;
            }),
       2);
  CHECK(sn::max_pool2d(sn::astype(x * 9, DType::int32), 2).dtype() == DType::int32);
  CHECK(sn::max_pool2d(sn::zeros({0, 3, 8, 8}, DType::float32), 2).shape() == Shape{0, 3, 4, 4});
}

TEST_CASE("norms over channels and groups") {
  for (DType type : kTypes) {
    const std::int64_t n = pick(1, 3), c = 2 * pick(1, 3), h = pick(1, 5), w = pick(1, 6);
    const auto [x, rx] = random(rng, {n, c, h, w}, type, -2, 3);
    const auto [mean, rm] = random(rng, {c}, type, -1, 1);
    const auto [var, rv] = random(rng, {c}, type, 0.5, 2);
    const auto [weight, rw] = random(rng, {c}, type, -1, 1);
    const auto [bias, rb] = random(rng, {c}, type, -1, 1);
    const auto v = [](const Ref& r, std::int64_t k) { return r.v[static_cast<std::size_t>(k)]; };
    same(sn::batch_norm(x, mean, var, weight, bias),
         make(rx.shape, [&](const Coords& p) { return (at(rx, p) - v(rm, p[1])) / std::sqrt(v(rv, p[1]) + 1e-5) * v(rw, p[1]) + v(rb, p[1]); }), 4);
    const auto grouped = [&](std::int64_t groups) {
      return make(rx.shape, [&](const Coords& p) {
        const std::int64_t each_group = c / groups, first = p[1] / each_group * each_group;
        double sum = 0, squares = 0;
        each({each_group, h, w}, [&](const Coords& q) { sum += at(rx, {p[0], first + q[0], q[1], q[2]}); });
        const double count = static_cast<double>(each_group * h * w), m = sum / count;
        each({each_group, h, w}, [&](const Coords& q) { squares += std::pow(at(rx, {p[0], first + q[0], q[1], q[2]}) - m, 2); });
        return (at(rx, p) - m) / std::sqrt(squares / count + 1e-5) * v(rw, p[1]) + v(rb, p[1]);
      });
    };
    if (h * w > 1) same(sn::instance_norm(x, weight, bias), grouped(c), 20);
    if (c * h * w > 2) same(sn::group_norm(x, 2, weight, bias), grouped(2), 20);
    same(sn::local_response_norm(x, 3, 0.1, 0.75, 2),
         make(rx.shape,
              [&](const Coords& p) {
                double squares = 0;
                for (std::int64_t k = -1; k <= 1; ++k) squares += std::pow(at(rx, {p[0], p[1] + k, p[2], p[3]}), 2);
                return at(rx, p) / std::pow(2 + 0.1 * squares / 3, 0.75);
              }),
         4);
  }
}

TEST_CASE("attention with masks, causal masks, scales and shared heads") {
  for (int round = 0; round < rounds(8) && !time_is_over(); ++round) {
    const std::int64_t batch = pick(1, 2), own = pick(1, 2), heads = own * pick(1, 2), queries = pick(1, 6), keys = pick(1, 7), features = pick(1, 9),
                       out = pick(1, 5);
    const DType type = round % 2 ? DType::float32 : DType::float64;
    const auto [q, rq] = random(rng, {batch, heads, queries, features}, type, -1, 1);
    const auto [k, rk] = random(rng, {batch, own, keys, features}, type, -1, 1);
    const auto [v, rv] = random(rng, {batch, own, keys, out}, type, -1, 1);
    auto [flags, rf] = random(rng, {queries, keys}, DType::bool_, 0, 2);
    const auto [added, ra] = random(rng, {batch, 1, queries, keys}, type, -2, 2);
    const int kind = round % 4;
    const double scale = kind == 3 ? 0.3 : 1 / std::sqrt(static_cast<double>(features));
    sn::AttentionOptions how;
    how.enable_gqa = own != heads;
    if (kind == 1) how.is_causal = true;
    if (kind == 2) how.mask = added;
    if (kind == 3) how.mask = sn::where(sn::arange(keys) == 0, true, flags), how.scale = scale;
    const Ref want = make({batch, heads, queries, out}, [&](const Coords& p) {
      std::vector<double> weight;
      double largest = -1e300, total = 0, sum = 0;
      const std::int64_t head = p[1] / (heads / own);
      for (std::int64_t j = 0; j < keys; ++j) {
        double score = 0;
        for (std::int64_t f = 0; f < features; ++f) score += at(rq, {p[0], p[1], p[2], f}) * at(rk, {p[0], head, j, f});
        score *= scale;
        if (kind == 1 && j > p[2]) score = -1e300;
        if (kind == 2) score += at(ra, {p[0], 0, p[2], j});
        if (kind == 3 && j > 0 && at(rf, {p[2], j}) == 0) score = -1e300;
        weight.push_back(score);
        largest = std::max(largest, score);
      }
      for (std::int64_t j = 0; j < keys; ++j) {
        const double e = std::exp(weight[static_cast<std::size_t>(j)] - largest);
        total += e;
        sum += e * at(rv, {p[0], head, j, p[3]});
      }
      return sum / total;
    });
    same(sn::scaled_dot_product_attention(q, k, v, how), want, 8);
  }
}

TEST_CASE("embedding, one_hot, linear, unfold and pixel_shuffle") {
  const auto [table, rt] = random(rng, {7, 5}, DType::float32, -1, 1);
  const auto [index, ri] = random(rng, {2, 3}, DType::int64, 0, 7);
  same(sn::embedding(index, table), make({2, 3, 5}, [&](const Coords& p) { return at(rt, {static_cast<std::int64_t>(at(ri, {p[0], p[1]})), p[2]}); }));
  same(sn::one_hot(index, 7), make({2, 3, 7}, [&](const Coords& p) { return at(ri, {p[0], p[1]}) == static_cast<double>(p[2]); }));
  const auto [x, rx] = random(rng, {2, 3, 5}, DType::float32, -1, 1);
  const auto [b, rb] = random(rng, {7}, DType::float32, -1, 1);
  same(sn::linear(x, table, b),
       make({2, 3, 7},
            [&](const Coords& p) {
              double sum = rb.v[static_cast<std::size_t>(p[2])];
              for (std::int64_t k = 0; k < 5; ++k) sum += at(rx, {p[0], p[1], k}) * at(rt, {p[2], k});
              return sum;
            }),
       4);
  const auto [m, rm] = random(rng, {2, 3, 6, 7}, DType::float32, -1, 1);
  same(sn::unfold(m, {2, 3}, {2, 1}, 1, {2, 3}), make({2, 18, 3 * 3}, [&](const Coords& p) {
         const std::int64_t c = p[1] / 6, i = p[1] % 6 / 3, j = p[1] % 3, row = p[2] / 3, column = p[2] % 3;
         return at(rm, {p[0], c, row * 2 + i * 2 - 1, column * 3 + j - 1});
       }));
  const auto [s, rs] = random(rng, {2, 12, 3, 5}, DType::float32, -1, 1);
  const Ref shuffled = make({2, 3, 6, 10}, [&](const Coords& p) { return at(rs, {p[0], p[1] * 4 + p[2] % 2 * 2 + p[3] % 2, p[2] / 2, p[3] / 2}); });
  same(sn::pixel_shuffle(s, 2), shuffled);
  same(sn::pixel_unshuffle(sn::pixel_shuffle(s, 2), 2), rs);
}

TEST_CASE("resize: PyTorch's and ONNX's examples") {
  const Tensor x = sn::reshape(Tensor{1.f, 2.f, 3.f, 4.f}, {1, 1, 2, 2});
  const auto square = [](std::vector<double> v) { return Ref{{1, 1, 4, 4}, std::move(v)}; };
  same(sn::interpolate(x, {.scale_factor = {2}, .mode = "nearest"}), square({1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4}));
  same(sn::interpolate(x, {.scale_factor = {2}, .mode = "bilinear"}), square({1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4}));
  const double t = 1. / 3;
  same(sn::interpolate(x, {.size = {4}, .mode = "bilinear", .align_corners = true}),
       square({1, 1 + t, 1 + 2 * t, 2, 1 + 2 * t, 2, 2 + t, 2 + 2 * t, 2 + t, 2 + 2 * t, 3, 3 + t, 3, 3 + t, 3 + 2 * t, 4}));
  const Tensor y = sn::reshape(sn::arange(1.f, 17.f), {1, 1, 4, 4});
  const Tensor cubic = sn::resize(y, {8, 8}, {.mode = sn::Interpolation::cubic});
  same(cubic(0, 0, 0), Ref{{8}, {0.47265625, 0.76953125, 1.24609375, 1.875, 2.28125, 2.91015625, 3.38671875, 3.68359375}});
  same(sn::resize(y, {2, 2}, {.mode = sn::Interpolation::linear, .scales = {0.6, 0.6}}), Ref{{1, 1, 2, 2}, {2.6666665, 4.3333331, 9.3333321, 10.9999990}}, 2);
  same(sn::resize(y, {1, 2}, {.coordinates = sn::Coordinates::asymmetric, .rounding = sn::NearestRounding::floor}), Ref{{1, 1, 1, 2}, {1, 3}});
}

TEST_CASE("resize of random shapes along both axes") {
  for (int round = 0; round < rounds(12) && !time_is_over(); ++round) {
    const std::int64_t h = pick(1, 6), w = pick(1, 6), oh = pick(1, 9), ow = pick(1, 9);
    const auto how = static_cast<sn::Coordinates>(pick(0, 3));
    const bool cubic = pick(0, 1);
    const auto [x, rx] = random(rng, {2, h, w}, DType::float64, -1, 1);
    // Computes each element as a sum over all positions, weighted by distance.
    const auto weight = [&](std::int64_t o, std::int64_t out, std::int64_t in, std::int64_t place) {
      const double scale = static_cast<double>(out) / static_cast<double>(in), i = static_cast<double>(o);
      double at = (i + 0.5) / scale - 0.5;
      if (how == sn::Coordinates::asymmetric) at = i / scale;
      if (how == sn::Coordinates::align_corners) at = out == 1 ? 0 : i * static_cast<double>(in - 1) / static_cast<double>(out - 1);
      if (how == sn::Coordinates::pytorch_half_pixel && out == 1) at = 0;
      if (out == in) return o == place ? 1.0 : 0.0;
      double sum = 0;
      for (std::int64_t k = -8; k < in + 16; ++k) {  // positions outside repeat the outermost elements
        if (std::clamp<std::int64_t>(k, 0, in - 1) != place) continue;
        const double d = std::abs(at - static_cast<double>(k)), a = -0.75;
        if (!cubic) sum += std::max(0.0, 1 - d);
        else if (d < 1) sum += (a + 2) * d * d * d - (a + 3) * d * d + 1;
        else if (d < 2) sum += a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a;
      }
      return sum;
    };
    CAPTURE(static_cast<int>(how));
    CAPTURE(sn::to_string(rx.shape));
    const Ref want = make({2, oh, ow}, [&](const Coords& p) {
      double sum = 0;
      each({h, w}, [&](const Coords& q) { sum += weight(p[1], oh, h, q[0]) * weight(p[2], ow, w, q[1]) * at(rx, {p[0], q[0], q[1]}); });
      return sum;
    });
    same(sn::resize(x, {oh, ow}, {.mode = cubic ? sn::Interpolation::cubic : sn::Interpolation::linear, .coordinates = how}), want, 20);
  }
}

TEST_CASE("activations") {
  const auto [x, rx] = random(rng, {2, 3, 11}, DType::float32, -8, 8);
  const auto [a, ra] = random(rng, {3}, DType::float32, -1, 1);
  same(sn::prelu(x, a), make(rx.shape, [&](const Coords& p) { return at(rx, p) < 0 ? at(rx, p) * ra.v[static_cast<std::size_t>(p[1])] : at(rx, p); }));
  const auto by = [&](const Tensor& got, const std::function<double(double)>& f) { same(got, map(rx, f), 2); };
  by(sn::relu6(x), [](double v) { return std::clamp(v, 0.0, 6.0); });
  by(sn::hardtanh(x, -2, 3), [](double v) { return std::clamp(v, -2.0, 3.0); });
  by(sn::threshold(x, 0.5, 7), [](double v) { return v > 0.5 ? v : 7; });
  by(sn::softsign(x), [](double v) { return v / (1 + std::abs(v)); });
  by(sn::logsigmoid(x), [](double v) { return -std::log1p(std::exp(-v)); });
  by(sn::tanhshrink(x), [](double v) { return v - std::tanh(v); });
  by(sn::hardshrink(x, 1), [](double v) { return std::abs(v) > 1 ? v : 0; });
  by(sn::softshrink(x, 1), [](double v) { return v > 1 ? v - 1 : v < -1 ? v + 1 : 0; });
}

TEST_CASE("one thread and several threads give the same bits") {
  if (on_gpu()) return;
  const auto [x, rx] = random(rng, {1, 24, 33, 35}, DType::float32, -1, 1);
  const auto [w, rw] = random(rng, {50, 24, 3, 3}, DType::float32, -1, 1);
  const auto [d, rd] = random(rng, {24, 1, 5, 5}, DType::float32, -1, 1);
  std::vector<std::vector<float>> seen;
  for (int threads : {1, 2, 3}) {
    const auto scope = with_threads(threads);
    auto bits = sn::conv2d(x, w, {}, {.padding = 1}).to_vector<float>();
    const auto more = sn::conv2d(x, d, {}, {.padding = 2, .groups = 24}).to_vector<float>();
    bits.insert(bits.end(), more.begin(), more.end());
    seen.push_back(bits);
  }
  CHECK(seen[0] == seen[1]);
  CHECK(seen[0] == seen[2]);
}

TEST_CASE("the epilogue of a convolution or product runs on its pieces and gives the same bits") {
  if (on_gpu() || !sn::options().fuse) return;
  const auto [x, rx] = random(rng, {2, 12, 21, 33}, DType::float32, -1, 1);
  const auto [w, rw] = random(rng, {40, 12, 3, 3}, DType::float32, -1, 1);
  const auto [d, rd] = random(rng, {12, 1, 3, 3}, DType::float32, -1, 1);
  const auto [scale, rs] = random(rng, {40, 1, 1}, DType::float32, -1, 1);
  const auto [b, rb] = random(rng, {40}, DType::float32, -1, 1);
  const auto [residual, rr] = random(rng, {2, 40, 21, 33}, DType::float32, -1, 1);
  const auto [m, rm] = random(rng, {390, 12}, DType::float32, -1, 1);
  const auto [n, rn] = random(rng, {12, 777}, DType::float32, -1, 1);
  const auto [row, rrow] = random(rng, {777}, DType::float32, -1, 1);
  const auto conv = [&] { return sn::conv2d(x, w, {}, {.padding = 1}); };
  const auto product = [&] { return sn::matmul(m, n); };
  struct Case {
    std::string what;
    std::function<std::vector<Tensor>(const Tensor&)> rest;
    std::function<Tensor()> call;
    int epilogues;
    bool transposes = false;  // the product of the transposed operands is computed, whose sums have another order
  };
  const std::vector<Case> cases{
      {"scale, shift, relu", [&](const Tensor& y) -> std::vector<Tensor> { return {sn::relu(y * scale + 0.5f)}; }, conv, 1},
      {"bias, residual, relu", [&](const Tensor& y) -> std::vector<Tensor> { return {sn::relu(y + b.reshape({40, 1, 1}) + residual)}; }, conv, 1},
      {"depthwise, clip", [&](const Tensor& y) -> std::vector<Tensor> { return {sn::relu6(y)}; },
       [&] { return sn::conv2d(x, d, {}, {.padding = 1, .groups = 12}); }, 1},
      {"bias, gelu", [&](const Tensor& y) -> std::vector<Tensor> { return {sn::gelu(y + row)}; }, product, 1},
      {"a residual in another order",
       [&](const Tensor& y) -> std::vector<Tensor> { return {y + sn::permute(sn::permute(residual, {0, 1, 3, 2}) * 1, {0, 1, 3, 2})}; }, conv, 1},
      {"another type", [&](const Tensor& y) -> std::vector<Tensor> { return {sn::astype(y * 2, DType::float64)}; }, product, 1},
      {"a column of the rows", [&](const Tensor& y) -> std::vector<Tensor> { return {sn::silu(y * y(Slice{}, Slice{0, 1}))}; }, product, 0},
      {"wanted elsewhere too", [&](const Tensor& y) -> std::vector<Tensor> { return {sn::relu(y), y}; }, conv, 1},
      {"two results", [&](const Tensor& y) -> std::vector<Tensor> { return {sn::exp(y), sn::sin(y)}; }, product, 1},
      {"rows", [&](const Tensor& y) -> std::vector<Tensor> { return {sn::softmax(y, -1)}; }, product, 0},
      {"turned", [&](const Tensor& y) -> std::vector<Tensor> { return {sn::contiguous(y.T()) * 2}; }, product, 1, true},
      {"a part", [&](const Tensor& y) -> std::vector<Tensor> { return {y(Slice{0, 100}) * 2}; }, product, 1},
      {"transposed, a part", [&](const Tensor& y) -> std::vector<Tensor> { return {sn::relu(sn::permute(y, {1, 0})(Slice{5, {}}, Slice{7, 300}))}; }, product,
       1, true},
      {"two parts", [&](const Tensor& y) -> std::vector<Tensor> { return {y(Slice{0, 100}) * 2, y(Slice{100, {}}) * 3}; }, product, 0},
      {"another shape", [&](const Tensor& y) -> std::vector<Tensor> { return {sn::relu(y.reshape({2, 40, 693}) + b.reshape({40, 1}))}; }, conv, 1},
      {"channels last", [&](const Tensor& y) -> std::vector<Tensor> { return {sn::relu(sn::permute(y, {0, 2, 3, 1}) + b)}; }, conv, 0},
      {"a product of it", [&](const Tensor& y) -> std::vector<Tensor> { return {sn::relu(sn::matmul(y, n.T()))}; }, product, 1}};
  for (const Case& c : cases) {
    CAPTURE(c.what);
    const Tensor apart = c.call();
    sn::eval(apart);
    const std::vector<Tensor> want = c.rest(apart);
    for (const Tensor& tensor : want) sn::eval(tensor);
    const auto before = sn::counters().epilogues;
    const std::vector<Tensor> got = c.rest(c.call());
    sn::eval(got);
    CHECK(sn::counters().epilogues - before == static_cast<std::uint64_t>(c.epilogues));
    for (std::size_t k = 0; k < got.size(); ++k)
      CHECK((c.transposes ? sn::abs(got[k] - want[k]).max().item<float>() < 1e-5f : values(got[k]) == values(want[k])));
  }
  CHECK(sn::explain(sn::relu(conv())).find("it runs on each piece of that step's result, in place") != std::string::npos);
  CHECK(sn::explain(sn::softmax(product(), -1)).find("epilogue none: its first reader is a kernel with row axes") != std::string::npos);
}

TEST_CASE("other sizes make no new plan") {
  const auto run = [](std::int64_t batch, std::int64_t h, std::int64_t w) {
    const Tensor x = sn::random::normal(sn::random::Key(1), {batch, 4, h, w}, 0, 1, DType::float32),
                 k = sn::random::normal(sn::random::Key(2), {6, 4, 3, 3}, 0, 1, DType::float32);
    sn::eval(x, k);
    const auto before = sn::counters().plans_made;
    sn::eval(sn::relu(sn::max_pool2d(sn::conv2d(x, k, {}, {.padding = 1}) * 0.5f, 2)));
    return sn::counters().plans_made - before;
  };
  CHECK(run(5, 36, 40) == 1);
  CHECK(run(7, 34, 40) == 0);
  CHECK(run(5, 44, 48) == 0);
}

TEST_CASE("a product of a few rows with a large transposed matrix") {
  if (on_gpu()) return;
  const Tensor a = sn::random::normal(sn::random::Key(1), {21, 2051}, 0, 1, DType::float32),
               b = sn::random::normal(sn::random::Key(2), {2053, 2051}, 0, 1, DType::float32), turned = sn::contiguous(b.T());
  sn::eval(a, b, turned);
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 3}) {
    const auto scope = with_threads(threads);
    results.push_back(sn::matmul(a, b.T()).to_vector<float>());
    CHECK(sn::max(sn::absolute(sn::from_span(results.back(), {21, 2053}) - sn::matmul(a, turned))).item<float>() < 1e-3f);
  }
  CHECK(results[0] == results[1]);
}

TEST_CASE("a product that is large enough for a library, transposed and not") {
  if (on_gpu()) return;
  const auto [a, ra] = random(rng, {211, 203}, DType::float32, -1, 1);
  const auto [b, rb] = random(rng, {203, 199}, DType::float32, -1, 1);
  const Ref want = make({211, 199}, [&](const Coords& p) {
    double sum = 0;
    for (std::int64_t k = 0; k < 203; ++k) sum += ra.v[static_cast<std::size_t>(p[0] * 203 + k)] * rb.v[static_cast<std::size_t>(k * 199 + p[1])];
    return sum;
  });
  same(sn::matmul(a, b), want, 10);
  const Tensor at_ = sn::contiguous(a.T()), bt = sn::contiguous(b.T());
  same(sn::matmul(at_.T(), bt.T()), want, 10);
  const bool off = std::getenv("SINTER_ONEDNN") && std::string(std::getenv("SINTER_ONEDNN")) == "off";
  if (off) CHECK(sn::explain(sn::matmul(a, b)).find("library Eigen") != std::string::npos);
}

TEST_CASE("errors name the function, the shapes and the numbers") {
  const Tensor x = sn::zeros({1, 3, 8, 8}, DType::float32), w = sn::zeros({4, 3, 3, 3}, DType::float32);
  CHECK_THROWS_WITH_AS(sn::conv2d(x, sn::zeros({4, 2, 3, 3}, DType::float32)),
                       doctest::Contains("conv2d: weight of shape (4, 2, 3, 3) reads 2 channels where x of shape (1, 3, 8, 8) has 3"), sn::ShapeError);
  CHECK_THROWS_WITH_AS(sn::conv1d(x, w), doctest::Contains("conv1d: weight of shape (4, 3, 3, 3)"), sn::ShapeError);
  CHECK_THROWS_WITH_AS(sn::conv2d(x, w, sn::zeros({3}, DType::float32)), doctest::Contains("bias of shape (3,) for 4 filters"), sn::ShapeError);
  CHECK_THROWS_WITH_AS(sn::conv2d(x, w, {}, {.dilation = 5}), doctest::Contains("3 taps, 5 apart, do not fit into axis 2"), sn::ShapeError);
  CHECK_THROWS_WITH_AS(sn::conv2d(x, w, {}, {.stride = 0}), doctest::Contains("stride of 0"), sn::ValueError);
  CHECK_THROWS_WITH_AS(sn::conv2d(x, w, {}, {.groups = 2}), doctest::Contains("2 groups do not divide 3 channels and 4 filters"), sn::ShapeError);
  CHECK_THROWS_AS(sn::conv2d(sn::astype(x, DType::bool_), sn::astype(w, DType::bool_)), sn::DTypeError);
  CHECK_THROWS_WITH_AS(sn::conv_transpose2d(x, w), doctest::Contains("reads 4 channels"), sn::ShapeError);
  CHECK_THROWS_WITH_AS(sn::max_pool2d(x, 9), doctest::Contains("windows of 9 do not fit into axis 2"), sn::ShapeError);
  CHECK_THROWS_WITH_AS(sn::max_pool2d(x, 2, {.padding = 2}), doctest::Contains("a window would contain only padding"), sn::ValueError);
  CHECK_THROWS_WITH_AS(sn::batch_norm(x, sn::zeros({4}), sn::zeros({3})), doctest::Contains("running_mean of shape (4,) for 3 channels"), sn::ShapeError);
  CHECK_THROWS_WITH_AS(sn::group_norm(x, 2), doctest::Contains("2 groups do not divide 3 channels"), sn::ValueError);
  CHECK_THROWS_WITH_AS(sn::interpolate(x, {.size = {4}, .mode = "linear"}), doctest::Contains("mode 'linear' for 2 spatial axes"), sn::ValueError);
  CHECK_THROWS_WITH_AS(sn::scaled_dot_product_attention(x, sn::zeros({1, 3, 8, 7}), x), doctest::Contains("the same number of features"), sn::ShapeError);
}
