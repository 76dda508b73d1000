// Programs that sort, group, count and choose: over tables, rankings, graphs and samples.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "programs.hpp"

namespace sinter::testing {
namespace {

std::size_t at(double v) { return static_cast<std::size_t>(v); }
template <class F> Numbers table(std::size_t n, F f) {
  Numbers out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(static_cast<double>(f(i)));
  return out;
}
std::vector<std::size_t> order_of(const Numbers& v) {
  std::vector<std::size_t> order(v.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return v[a] < v[b]; });
  return order;
}
Numbers sorted(Numbers v) {
  std::sort(v.begin(), v.end());
  return v;
}

void rankings(Desk& d) {
  const int n = 30;
  const auto [x, v] = d.integers({n}, 0, 12);
  const Tensor s = sort(x), competition = searchsorted(s, x) + 1, dense = unique_inverse(x).second + 1, ordinal = argsort(argsort(x)) + 1;
  const Tensor shared = (searchsorted(s, x) + searchsorted(s, x, Side::right) + 1) / 2.;
  d.step(competition, dense, ordinal, shared);
  const std::set<double> distinct(v.begin(), v.end());
  const auto below = [&](double a) { return std::count_if(v.begin(), v.end(), [&](double b) { return b < a; }); };
  d.expect(competition, table(n, [&](std::size_t i) { return below(v[i]) + 1; }));
  d.expect(dense, table(n, [&](std::size_t i) { return std::distance(distinct.begin(), distinct.find(v[i])) + 1; }));
  d.expect(ordinal, table(n, [&](std::size_t i) { return below(v[i]) + std::count(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(i), v[i]) + 1; }));
  d.expect(shared,
           table(n, [&](std::size_t i) { return static_cast<double>(below(v[i])) + (static_cast<double>(std::count(v.begin(), v.end(), v[i])) + 1) / 2; }));
}

void deduplicated_in_order(Desk& d) {
  const auto [x, v] = d.integers({50}, 0, 15);
  const Tensor firsts = sort(unique_with(x).indices), kept = x(firsts);
  d.step(firsts, kept);
  Numbers want;
  for (const double a : v)
    if (std::find(want.begin(), want.end(), a) == want.end()) want.push_back(a);
  d.expect(kept, want);
}

void means_by_key(Desk& d) {
  const int n = 60, groups = 7;
  const auto [key, vk] = d.integers({n}, 0, groups);
  const auto [x, vx] = d.random({n, 2});
  const Tensor sums = add_at(zeros({groups, 2}, d.real), key, x), counts = bincount(key, {}, groups);
  const Tensor means = sums / maximum(counts, 1)(kAll, newaxis).astype(d.real), centred = x - means(key);
  d.step(sums, means, centred);
  Numbers want(groups * 2), size(groups);
  for (std::size_t i = 0; i < n; ++i) {
    ++size[at(vk[i])];
    for (std::size_t c = 0; c < 2; ++c) want[at(vk[i]) * 2 + c] += vx[2 * i + c];
  }
  d.expect(counts, size), d.expect(sums, want);
  for (std::size_t k = 0; k < want.size(); ++k) want[k] /= std::max(size[k / 2], 1.);
  d.expect(means, want);
  d.expect(centred, table(2 * n, [&](std::size_t i) { return vx[i] - want[at(vk[i / 2]) * 2 + i % 2]; }));
}

void run_lengths(Desk& d) {
  const auto [x, v] = d.integers({70}, 0, 2);
  const Tensor change = concatenate({ones({1}, DType::bool_), x(Slice{1, {}}) != x(Slice{0, -1})});
  const Tensor starts = flatnonzero(change), values = x(starts), lengths = diff(concatenate({starts, Tensor{70}}));
  const Tensor back = values(cumsum(change) - 1), again = take(values, searchsorted(cumsum(lengths), arange(70), Side::right));
  d.step(values, lengths, back);
  Numbers want_values, want_lengths;
  for (std::size_t i = 0; i < v.size(); ++i) {
    if (i == 0 || v[i] != v[i - 1]) want_values.push_back(v[i]), want_lengths.push_back(0);
    ++want_lengths.back();
  }
  d.expect(values, want_values), d.expect(lengths, want_lengths), d.expect(back, v), d.expect(again, v);
}

void sampled_from_the_top(Desk& d) {
  const int n = 20, k = 4, draws = 300;
  const auto [logits, v] = d.random({n});
  const auto [best, places] = topk(logits, k);
  const Tensor drawn = places(random::categorical(random::Key(3), best, -1, Shape{draws}));
  const Tensor cut = where(logits >= best(k - 1), logits, -std::numeric_limits<double>::infinity()), p = softmax(cut);
  const Tensor often = bincount(drawn, {}, n) / static_cast<double>(draws);
  d.step(drawn, p, often);
  const auto order = order_of(v);
  Numbers want(n);
  double sum = 0;
  for (std::size_t i = n - k; i < n; ++i) sum += want[order[i]] = std::exp(v[order[i]]);
  for (double& w : want) w /= sum;
  d.expect(p, want);
  const auto found = testing::values(often);
  for (std::size_t i = 0; i < n; ++i) CHECK(std::abs(found[i] - want[i]) <= 6 * std::sqrt(want[i] / draws));
}

void equalised_histogram(Desk& d) {
  const auto [image, v] = d.integers({12, 16}, 20, 90, DType::uint8);
  const Tensor counts = bincount(image.ravel(), {}, 256), sums = cumsum(counts), smallest = sums(argmax(counts > 0));
  const Tensor map = clip(rint((sums - smallest).astype(d.real) / (192 - smallest).astype(d.real) * 255), 0, 255).astype(DType::uint8), result = map(image);
  d.step(map, result);
  const double lowest = *std::min_element(v.begin(), v.end());
  const auto up_to = [&](double a) { return static_cast<double>(std::count_if(v.begin(), v.end(), [&](double b) { return b <= a; })); };
  Numbers want = v;
  for (double& a : want)
    a = d.real == DType::float32 ? std::nearbyint(static_cast<float>(up_to(a) - up_to(lowest)) / static_cast<float>(192 - up_to(lowest)) * 255.f)
                                 : std::nearbyint((up_to(a) - up_to(lowest)) / (192 - up_to(lowest)) * 255);
  d.expect(result, want);
}

void distribution_function(Desk& d) {
  const auto [x, v] = d.random({45});
  const auto [q, vq] = d.random({4, 5});
  const Tensor below = searchsorted(sort(x), q, Side::right).astype(d.real) / 45., distance = max(abs(below - (q + 2) / 4));
  d.step(below, distance);
  const auto fraction = [&](double a) { return static_cast<double>(std::count_if(v.begin(), v.end(), [&](double b) { return b <= a; })) / 45; };
  double largest = 0;
  for (const double a : vq) largest = std::max(largest, std::abs(fraction(a) - (a + 2) / 4));
  d.expect(below, table(20, [&](std::size_t i) { return fraction(vq[i]); })), d.expect(distance, largest);
}

void joined_tables(Desk& d) {
  const int n = 30, m = 12;
  const auto [foreign, vf] = d.integers({n}, 0, 20);
  const Tensor ids = random::permutation(random::Key(4), 20)(Slice{0, m});
  const auto [price, vp] = d.random({m});
  const Tensor order = argsort(ids), sorted_ids = ids(order), place = searchsorted(sorted_ids, foreign);
  const Tensor there = sorted_ids(minimum(place, m - 1)) == foreign, rows = flatnonzero(there);
  const Tensor prices = price(order(place(rows)));
  d.step(there, prices);
  const auto vi = testing::values(ids);
  Numbers want, want_rows;
  for (std::size_t i = 0; i < n; ++i) {
    const auto found = std::find(vi.begin(), vi.end(), vf[i]);
    if (found == vi.end()) continue;
    want.push_back(vp[static_cast<std::size_t>(found - vi.begin())]), want_rows.push_back(static_cast<double>(i));
  }
  d.expect(rows, want_rows), d.expect(prices, want);
}

void moving_median(Desk& d) {
  const int n = 40, w = 5;
  const auto [x, v] = d.random({n});
  const Tensor padded = pad(x, {{w / 2, w / 2}}, PadMode::edge), smooth = median(sliding_window_view(padded, {w}), -1), spikes = abs(x - smooth) > 1;
  d.step(smooth, spikes);
  const Numbers want = table(n, [&](std::size_t i) {
    Numbers window;
    for (int k = -w / 2; k <= w / 2; ++k) window.push_back(v[at(std::clamp(static_cast<int>(i) + k, 0, n - 1))]);
    return sorted(window)[w / 2];
  });
  d.expect(smooth, want), d.expect(spikes, table(n, [&](std::size_t i) { return std::abs(v[i] - want[i]) > 1; }));
}

void winsorised(Desk& d) {
  const auto [x, v] = d.random({41, 3});
  const Tensor low = quantile(x, 0.05, 0), high = quantile(x, 0.95, 0), clipped = clip(x, low, high);
  d.step(low, high, clipped);
  Numbers want = v;
  for (std::size_t c = 0; c < 3; ++c) {
    const Numbers s = sorted(table(41, [&](std::size_t i) { return v[3 * i + c]; }));
    for (std::size_t i = 0; i < 41; ++i) want[3 * i + c] = std::clamp(v[3 * i + c], s[2], s[38]);  // 5% of 40 steps
  }
  d.expect(clipped, want);
}

void confusion_matrix(Desk& d) {
  const auto [truth, vt] = d.integers({80}, 0, 4);
  const auto [guess, vg] = d.integers({80}, 0, 4);
  const Tensor counts = add_at(zeros({4, 4}, DType::int64), {truth, guess}, 1), right = diagonal(counts), recall = right / maximum(sum(counts, 1), 1);
  d.step(counts, recall);
  Numbers want(16), recalls(4);
  for (std::size_t i = 0; i < 80; ++i) ++want[at(vt[i]) * 4 + at(vg[i])];
  for (std::size_t k = 0; k < 4; ++k) recalls[k] = want[5 * k] / std::max(1., want[4 * k] + want[4 * k + 1] + want[4 * k + 2] + want[4 * k + 3]);
  d.expect(counts, want), d.expect(recall, recalls);
}

void page_rank(Desk& d) {
  const int n = 12, edges = 40;
  const auto [from, vf] = d.integers({edges}, 0, n);
  const auto [to, vt] = d.integers({edges}, 0, n);
  const Tensor degree = bincount(from, {}, n).astype(d.real), share = where(degree > 0, 1. / maximum(degree, 1.), 0.);
  Tensor rank = full({n}, 1. / n, d.real);
  Numbers want(n, 1. / n), count(n);
  for (const double f : vf) ++count[at(f)];
  for (int round = 0; round < 6; ++round) {
    const Tensor lost = sum(where(degree == 0, rank, 0.));
    rank = 0.15 / n + 0.85 * (add_at(zeros({n}, d.real), to, (rank * share)(from)) + lost / n);
    d.step(rank);
    Numbers next(n, 0.15 / n);
    double nowhere = 0;
    for (std::size_t i = 0; i < n; ++i) nowhere += count[i] == 0 ? want[i] : 0;
    for (std::size_t e = 0; e < edges; ++e) next[at(vt[e])] += 0.85 * want[at(vf[e])] / count[at(vf[e])];
    for (double& r : next) r += 0.85 * nowhere / n;
    want = next;
  }
  d.expect(rank, want), d.expect(sum(rank), 1.);
}

void sparse_times_vector(Desk& d) {
  const int rows = 9, columns = 7, count = 25;
  const auto [i, vi] = d.integers({count}, 0, rows);
  const auto [j, vj] = d.integers({count}, 0, columns);
  const auto [a, va] = d.random({count});
  const auto [x, vx] = d.random({columns, 2});
  const Tensor product = add_at(zeros({rows, 2}, d.real), i, a(kAll, newaxis) * x(j)), dense = add_at(zeros({rows, columns}, d.real), {i, j}, a);
  d.step(product, dense);
  Numbers want(rows * 2);
  for (std::size_t e = 0; e < count; ++e)
    for (std::size_t c = 0; c < 2; ++c) want[at(vi[e]) * 2 + c] += va[e] * vx[at(vj[e]) * 2 + c];
  d.expect(product, want), d.expect(matmul(dense, x), want);
}

void peaks(Desk& d) {
  const auto [x, v] = d.random({60});
  const Tensor inner = x(Slice{1, -1}), higher = (inner > x(Slice{0, -2})) & (inner > x(Slice{2, {}}));
  const Tensor places = flatnonzero(higher) + 1, heights = x(places), best = places(argmax(heights)), tall = places(heights > 1.f);
  d.step(places, heights, best);
  Numbers want, want_tall;
  for (std::size_t i = 1; i < 59; ++i)
    if (v[i] > v[i - 1] && v[i] > v[i + 1]) {
      want.push_back(static_cast<double>(i));
      if (v[i] > 1) want_tall.push_back(static_cast<double>(i));
    }
  d.expect(places, want), d.expect(tall, want_tall);
  d.expect(best, *std::max_element(want.begin(), want.end(), [&](double a, double b) { return v[at(a)] < v[at(b)]; }));
}

void quantile_normalised(Desk& d) {
  const int n = 15, m = 3;
  const auto [x, v] = d.random({n, m});
  const Tensor typical = mean(sort(x, 0), 1), result = typical(argsort(argsort(x, 0), 0));
  d.step(typical, result);
  Numbers mean_of(n), want(n * m);
  std::vector<std::vector<std::size_t>> orders;
  for (std::size_t c = 0; c < m; ++c) {
    orders.push_back(order_of(table(n, [&](std::size_t i) { return v[m * i + c]; })));
    for (std::size_t i = 0; i < n; ++i) mean_of[i] += v[m * orders[c][i] + c] / m;
  }
  for (std::size_t c = 0; c < m; ++c)
    for (std::size_t i = 0; i < n; ++i) want[m * orders[c][i] + c] = mean_of[i];
  d.expect(result, want);
}

void stratified_split(Desk& d) {
  const int n = 60;
  const auto [label, v] = d.integers({n}, 0, 3);
  const Tensor mixed = random::permutation(random::Key(11), n), by_class = mixed(argsort(label(mixed)));
  const Tensor counts = bincount(label, {}, 3), first = cumsum(counts) - counts, number = arange(n) - first(label(by_class));
  const Tensor train = by_class(number < floor_divide(counts, 2)(label(by_class))), test = setdiff1d(arange(n), train);
  d.step(train, test);
  Numbers half(3);
  for (const double c : v) half[at(c)] += 1;
  for (double& h : half) h = std::floor(h / 2);
  d.expect(bincount(label(train), {}, 3), half);
  d.expect(sort(concatenate({train, test})), table(n, [](std::size_t i) { return i; }));
}

void connected_parts(Desk& d) {  // every node takes the least label among its neighbours
  const int n = 14, edges = 10;
  const auto [a, va] = d.integers({edges}, 0, n);
  const auto [b, vb] = d.integers({edges}, 0, n);
  Tensor label = arange(n);
  for (int round = 0; round < n; ++round) {
    const Tensor smallest = minimum(label(a), label(b)), order = argsort(smallest, -1, true);  // of several values the least is written last
    label(a(order)) = minimum(label(a), smallest)(order);
    label(b(order)) = minimum(label(b), smallest)(order);
    d.step(label);
  }
  Numbers want = table(n, [](std::size_t i) { return i; });
  for (int round = 0; round < n; ++round)
    for (std::size_t e = 0; e < edges; ++e) want[at(va[e])] = want[at(vb[e])] = std::min(want[at(va[e])], want[at(vb[e])]);
  d.expect(label, want);
  d.expect(Tensor(unique(label).size()), static_cast<double>(std::set<double>(want.begin(), want.end()).size()));
}

void sieve(Desk& d) {
  const int n = 200;
  Tensor prime = ones({n}, DType::bool_);
  prime(Slice{0, 2}) = false;
  for (int k = 2; k * k < n; ++k)
    if (prime(k).item<bool>()) prime(Slice{k * k, {}, k}) = false;
  const Tensor primes = flatnonzero(prime), gaps = diff(primes), often = bincount(gaps), twins = primes(flatnonzero(gaps == 2));
  d.step(primes, often);
  Numbers want, want_twins;
  for (int k = 2; k < n; ++k) {
    bool is = true;
    for (int a = 2; a * a <= k; ++a) is &= k % a != 0;
    if (is && !want.empty() && k - want.back() == 2) want_twins.push_back(want.back());
    if (is) want.push_back(k);
  }
  d.expect(primes, want), d.expect(twins, want_twins);
}

void merged_intervals(Desk& d) {
  const auto [begin, vb] = d.integers({25}, 0, 100);
  const auto [length, vl] = d.integers({25}, 1, 9);
  const Tensor order = argsort(begin), from = begin(order), to = (begin + length)(order), reach = cummax(to);
  const Tensor fresh = concatenate({ones({1}, DType::bool_), from(Slice{1, {}}) > reach(Slice{0, -1})});
  const Tensor starts = from(fresh), ends = reach(concatenate({flatnonzero(fresh)(Slice{1, {}}) - 1, Tensor{24}})), covered = sum(ends - starts);
  d.step(starts, ends, covered);
  std::vector<std::pair<double, double>> list;
  for (const std::size_t i : order_of(vb)) {
    if (list.empty() || vb[i] > list.back().second) list.emplace_back(vb[i], vb[i] + vl[i]);
    else list.back().second = std::max(list.back().second, vb[i] + vl[i]);
  }
  d.expect(starts, table(list.size(), [&](std::size_t i) { return list[i].first; })),
      d.expect(ends, table(list.size(), [&](std::size_t i) { return list[i].second; }));
}

void similar_sets(Desk& d) {
  const auto [a, va] = d.integers({30}, 0, 25);
  const auto [b, vb] = d.integers({20}, 5, 40);
  const Tensor both = intersect1d(a, b), either = union1d(a, b);
  const std::set<double> sa(va.begin(), va.end()), sb(vb.begin(), vb.end());
  Numbers want_both, want_either, only;
  std::set_intersection(sa.begin(), sa.end(), sb.begin(), sb.end(), std::back_inserter(want_both));
  std::set_union(sa.begin(), sa.end(), sb.begin(), sb.end(), std::back_inserter(want_either));
  std::set_symmetric_difference(sa.begin(), sa.end(), sb.begin(), sb.end(), std::back_inserter(only));
  d.expect(both, want_both), d.expect(either, want_either), d.expect(setxor1d(a, b), only);
  CHECK(both.size() + setxor1d(a, b).size() == either.size());
}

void area_under_the_curve(Desk& d) {
  const auto [score, vs] = d.random({50});
  const auto [label, vl] = d.integers({50}, 0, 2);
  const Tensor s = sort(score), rank = (searchsorted(s, score) + searchsorted(s, score, Side::right) + 1) / 2., positive = sum(label), negative = 50 - positive;
  const Tensor area = (sum(where(label == 1, rank, 0.)) - positive * (positive + 1) / 2.) / maximum(positive * negative, 1);
  d.step(area);
  double wins = 0, pairs = 0;
  for (std::size_t i = 0; i < 50; ++i)
    for (std::size_t j = 0; j < 50; ++j)
      if (vl[i] == 1 && vl[j] == 0) ++pairs, wins += vs[i] > vs[j] ? 1 : vs[i] == vs[j] ? 0.5 : 0;
  d.expect(area, wins / std::max(1., pairs));
}

void drawn_by_a_table(Desk& d) {  // the inverse of a distribution function, from its values at some points
  const Tensor points = linspace(0., 3., 31), function = 1. - exp(-points), u = random::uniform(random::Key(21), {40}) * 0.9, x = interp(u, function, points);
  d.step(x);
  const auto vu = testing::values(u);
  d.expect(x,
           table(40,
                 [&](std::size_t i) {
                   std::size_t k = 0;
                   const auto f = [](std::size_t j) { return 1 - std::exp(-0.1 * static_cast<double>(j)); };
                   while (f(k + 1) <= vu[i]) ++k;
                   return 0.1 * static_cast<double>(k) + 0.1 * (vu[i] - f(k)) / (f(k + 1) - f(k));
                 }),
           100);
}

void resampled_particles(Desk& d) {
  const int n = 32;
  const auto [x, v] = d.random({n});
  Tensor weight = exp(-square(x - 0.5));
  const Tensor sums = cumsum(weight) / sum(weight), places = searchsorted(sums, (arange(n).astype(d.real) + 0.37) / n), chosen = x(minimum(places, n - 1));
  d.step(sums, chosen);
  Numbers total(n);
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) total[i] = sum += std::exp(-(v[i] - 0.5) * (v[i] - 0.5));
  const auto found = testing::values(places);
  for (std::size_t i = 0; i < n; ++i) {  // if two sums are nearly equal, rounding decides
    const double wanted = (static_cast<double>(i) + 0.37) / n * sum;
    CHECK(total[at(found[i])] >= wanted - 1e-4);
    if (found[i] > 0) CHECK(total[at(found[i]) - 1] <= wanted + 1e-4);
  }
}

void robust_outliers(Desk& d) {
  auto [x, v] = d.random({40});
  x(Tensor{3, 17}) = 100.f;
  v[3] = v[17] = 100;
  const Tensor middle = median(x), deviation = median(abs(x - middle)), far = abs(x - middle) > 6. * deviation, clean = x(!far);
  d.step(deviation, far);
  const auto half = [](const Numbers& s) { return (s[19] + s[20]) / 2; };
  const double m = half(sorted(v)), mad = half(sorted(table(40, [&](std::size_t i) { return std::abs(v[i] - m); })));
  Numbers want;
  for (const double a : v)
    if (std::abs(a - m) <= 6 * mad) want.push_back(a);
  d.expect(deviation, mad), d.expect(clean, want), d.expect(mean(clean), std::accumulate(want.begin(), want.end(), 0.) / static_cast<double>(want.size()));
}

void bigrams(Desk& d) {
  const auto [text, v] = d.integers({200}, 0, 6);
  const Tensor counts = add_at(zeros({6, 6}, DType::int64), {text(Slice{0, -1}), text(Slice{1, {}})}, 1);
  const Tensor probability = (counts + 1) / sum(counts + 1, 1, true), next = argmax(counts, 1), guess = next(text(Slice{0, -1})) == text(Slice{1, {}});
  d.step(counts, probability, guess);
  Numbers want(36);
  for (std::size_t i = 0; i + 1 < v.size(); ++i) ++want[at(v[i]) * 6 + at(v[i + 1])];
  double right = 0;
  for (std::size_t i = 0; i + 1 < v.size(); ++i) {
    const auto row = want.begin() + static_cast<std::ptrdiff_t>(at(v[i]) * 6);
    right += std::max_element(row, row + 6) - row == static_cast<std::ptrdiff_t>(v[i + 1]);
  }
  d.expect(counts, want), d.expect(sum(guess), right), d.expect(sum(probability, 1), Numbers(6, 1.));
}

void beam_search(Desk& d) {
  const int beams = 3, words = 8;
  const auto [step_scores, v] = d.random({4, words, words});
  Tensor score = zeros({1}, d.real), last = zeros({1}, DType::int64), history = zeros({1, 0}, DType::int64);
  std::vector<std::pair<double, std::vector<double>>> want{{0, {0}}};
  for (int t = 0; t < 4; ++t) {
    const Tensor all = score(kAll, newaxis) + step_scores(t)(last);
    const auto [best, flat] = topk(all.ravel(), std::min<std::int64_t>(beams, all.size()));
    const auto place = unravel_index(flat, all.shape());
    score = best, last = place[1];
    history = concatenate({history(place[0]), last(kAll, newaxis)}, 1);
    d.step(score, last, history);
    std::vector<std::pair<double, std::vector<double>>> next;
    for (const auto& [s, path] : want)
      for (std::size_t w = 0; w < words; ++w) {
        auto longer = path;
        longer.push_back(static_cast<double>(w));
        next.emplace_back(s + v[(static_cast<std::size_t>(t) * words + at(path.back())) * words + w], longer);
      }
    std::stable_sort(next.begin(), next.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    next.resize(beams);
    want = next;
  }
  d.expect(score, table(beams, [&](std::size_t i) { return want[i].first; }));
  d.expect(history, table(beams * 4, [&](std::size_t i) { return want[i / 4].second[i % 4 + 1]; }));
}

void zero_crossings(Desk& d) {
  const auto [x, v] = d.random({80});
  const Tensor places = flatnonzero(diff(sign(x)) != 0), a = x(places), b = x(places + 1), where_exactly = places.astype(d.real) + a / (a - b);
  d.step(places, where_exactly);
  Numbers want;
  for (std::size_t i = 0; i + 1 < v.size(); ++i)
    if ((v[i] > 0) != (v[i + 1] > 0)) want.push_back(static_cast<double>(i) + v[i] / (v[i] - v[i + 1]));
  d.expect(where_exactly, want);
}

void embedding_gradient(Desk& d) {  // rows that several tokens share add up the values of all of them
  const int words = 10, width = 4, tokens = 15;
  const auto [table_of, vt] = d.random({words, width});
  const auto [token, vk] = d.integers({tokens}, 0, words);
  const auto [g, vg] = d.random({tokens, width});
  Tensor weights = table_of;
  Numbers want = vt;
  for (int step = 0; step < 3; ++step) {
    const Tensor gradient = add_at(zeros({words, width}, d.real), token, g * weights(token));
    weights = weights - 0.1 * gradient;
    d.step(weights);
    Numbers sums(want.size());
    for (std::size_t i = 0; i < tokens; ++i)
      for (std::size_t c = 0; c < width; ++c) sums[at(vk[i]) * width + c] += vg[i * width + c] * want[at(vk[i]) * width + c];
    for (std::size_t k = 0; k < want.size(); ++k) want[k] -= 0.1 * sums[k];
  }
  d.expect(weights, want);
}

}  // namespace

std::vector<Program> selection_programs() {
  return {{"rankings", rankings},
          {"deduplicated in order", deduplicated_in_order},
          {"means by key", means_by_key},
          {"run lengths", run_lengths},
          {"sampled from the top", sampled_from_the_top},
          {"equalised histogram", equalised_histogram},
          {"distribution function", distribution_function},
          {"joined tables", joined_tables},
          {"moving median", moving_median},
          {"winsorised", winsorised},
          {"confusion matrix", confusion_matrix},
          {"page rank", page_rank},
          {"sparse times vector", sparse_times_vector},
          {"peaks", peaks},
          {"quantile normalised", quantile_normalised},
          {"stratified split", stratified_split},
          {"connected parts", connected_parts},
          {"sieve", sieve},
          {"merged intervals", merged_intervals},
          {"similar sets", similar_sets},
          {"area under the curve", area_under_the_curve},
          {"drawn by a table", drawn_by_a_table},
          {"resampled particles", resampled_particles},
          {"robust outliers", robust_outliers},
          {"bigrams", bigrams},
          {"beam search", beam_search},
          {"zero crossings", zero_crossings},
          {"embedding gradient", embedding_gradient}};
}

}  // namespace sinter::testing
