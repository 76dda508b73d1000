// Index expressions against brute force: every simplification is checked at every point of the axes.
#include <doctest/doctest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>

#include "fuse/index.hpp"
#include "host_data_stub.hpp"
#include "seed.hpp"

using namespace sinter;
using fuse::IndexExpr;
using fuse::Map;
using fuse::Node;
using trace::Op;

namespace {

using Point = std::vector<std::int64_t>;
using fuse::sizes_of;

std::int64_t value(const IndexExpr& expr, const Point& point) {
  std::int64_t sum = expr.constant().hint();
  for (const auto& term : expr.terms()) {
    if (term.axis >= 0) {
      sum += term.coeff.hint() * point[term.axis];
      continue;
    }
    const std::int64_t inner = value(term.inner, point);
    REQUIRE(inner >= 0);  // executors divide without a sign
    const std::int64_t quotient = inner / term.div.hint();
    sum += term.coeff.hint() * (term.whole() ? quotient : quotient % term.mod.hint());
  }
  return sum;
}

void each_point(const Point& sizes, const std::function<void(const Point&)>& visit) {
  Point point(sizes.size());
  if (std::any_of(sizes.begin(), sizes.end(), [](auto s) { return s == 0; })) return;
  for (;;) {
    visit(point);
    std::size_t k = sizes.size();
    while (k > 0 && ++point[k - 1] == sizes[k - 1]) point[--k] = 0;
    if (k == 0) return;
  }
}

std::vector<Shape> factorisations(std::int64_t count, int max_factors) {
  std::vector<Shape> all{{count}};
  if (max_factors == 1) return all;
  for (std::int64_t first = 1; first <= count; ++first)
    if (count % first == 0 && (first > 1 || max_factors > 2))
      for (auto rest : factorisations(count / first, max_factors - 1)) {
        rest.insert(rest.begin(), first);
        all.push_back(rest);
      }
  return all;
}

Map identity_map(std::size_t rank) {
  Map map;
  for (std::size_t k = 0; k < rank; ++k) map.push_back(IndexExpr::of_axis(static_cast<int>(k)));
  return map;
}

}  // namespace

TEST_CASE("div_mod equals floor division and remainder for every small expression") {
  const fuse::IndexSpace::Scope scope(std::make_shared<fuse::IndexSpace>());
  int checked = 0;
  const Point sizes{4, 3, 5};
  for (std::int64_t c0 : {0, 1, 3, 4, 6, 12, -1})
    for (std::int64_t c1 : {0, 1, 2, 4, 12, 15})
      for (std::int64_t c2 : {0, 1, 4, 8})
        for (std::int64_t constant : {0, 3, 7})
          for (std::int64_t div : {1, 2, 3, 4, 5, 12})
            for (std::int64_t mod : {0, 1, 2, 3, 4, 6}) {
              const IndexExpr expr =
                  IndexExpr::of_axis(0) * c0 + IndexExpr::of_axis(1) * c1 + IndexExpr::of_axis(2) * c2 + IndexExpr::of(c0 < 0 ? constant + 3 : constant);
              const IndexExpr result = fuse::div_mod(expr, div, mod, sizes_of(sizes));
              each_point(sizes, [&](const Point& point) {
                const std::int64_t x = value(expr, point) / div, want = mod ? x % mod : x;
                if (value(result, point) == want) return;
                INFO(fuse::to_string(expr) << " / " << div << " % " << mod << " gave " << fuse::to_string(result));
                REQUIRE(value(result, point) == want);
              });
              ++checked;
            }
  CHECK(checked == 7 * 6 * 4 * 3 * 6 * 6);
}

TEST_CASE("a reshape and its inverse are the identity, for every pair of shapes") {
  const fuse::IndexSpace::Scope scope(std::make_shared<fuse::IndexSpace>());
  for (const std::int64_t count : {12, 24, 36})
    for (const Shape& from : factorisations(count, 3))
      for (const Shape& by : factorisations(count, 3)) {
        const Map there = fuse::reshape_map(identity_map(from.size()), sizes_of(from), sizes_of(by), sizes_of(from), false).map;
        const Map back = fuse::reshape_map(there, sizes_of(by), sizes_of(from), sizes_of(from), false).map;
        // An axis of size 1 may come back as 0.
        for (std::size_t k = 0; k < from.size(); ++k) {
          INFO(to_string(from) << " by " << to_string(by) << ": " << fuse::to_string(back));
          CHECK((back[k] == IndexExpr::of_axis(static_cast<int>(k)) || (from[k] == 1 && back[k] == IndexExpr::of(0))));
        }
      }
}

TEST_CASE("random chains of views read the same elements as copies") {
  const bool fixed = std::getenv("SINTER_TEST_SEED");
  const unsigned first = sinter::testing::test_seed();
  for (unsigned round = 0; round < (fixed ? 1 : 400); ++round) {
    const unsigned seed = first + round;
    INFO("SINTER_TEST_SEED=" << seed);
    const fuse::IndexSpace::Scope scope(std::make_shared<fuse::IndexSpace>());
    std::mt19937 rng(seed);
    const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(rng() % n); };
    const std::int64_t counts[] = {24, 30, 48, 210};
    Shape shape = {counts[pick(4)]};
    const Shape input = shape;
    std::vector<std::int64_t> elements(static_cast<std::size_t>(shape[0]));  // the positions in the input that the view reads
    std::iota(elements.begin(), elements.end(), 0);
    struct View {
      Node node;
      Shape input, shape;
    };
    std::vector<View> views;
    const std::size_t length = 1 + pick(7);
    for (std::size_t step = 0; step < length; ++step) {
      View view{{}, shape, {}};
      Node& node = view.node;
      Shape& to = view.shape;
      std::vector<std::int64_t> ints;
      std::vector<std::int64_t> moved;
      const auto at = [&](const Point& point) {
        std::int64_t flat = 0;
        for (std::size_t k = 0; k < shape.size(); ++k) flat = flat * shape[k] + point[k];
        return elements[static_cast<std::size_t>(flat)];
      };
      switch (pick(3)) {
        case 0: {
          const auto shapes = factorisations(element_count(shape), 4);
          node.op = Op::reshape;
          to = shapes[pick(shapes.size())];
          moved = elements;
          break;
        }
        case 1: {
          node.op = Op::permute;
          for (std::size_t k = 0; k < shape.size(); ++k) ints.push_back(static_cast<std::int64_t>(k));
          std::shuffle(ints.begin(), ints.end(), rng);
          for (auto axis : ints) to.push_back(shape[axis]);
          each_point(to, [&](const Point& point) {
            Point from(point.size());
            for (std::size_t k = 0; k < point.size(); ++k) from[ints[k]] = point[k];
            moved.push_back(at(from));
          });
          break;
        }
        default: {
          node.op = Op::slice;
          for (auto size : shape) {
            const std::int64_t step_by = pick(2) ? 1 : -1;
            const std::int64_t length_of = size > 2 && pick(4) == 0 ? size / 2 : size;
            ints.push_back(step_by > 0 ? static_cast<std::int64_t>(pick(static_cast<std::size_t>(size - length_of + 1))) : size - 1);
            ints.push_back(step_by);
            to.push_back(length_of);
          }
          each_point(to, [&](const Point& point) {
            Point from(point.size());
            for (std::size_t k = 0; k < point.size(); ++k) from[k] = ints[2 * k] + ints[2 * k + 1] * point[k];
            moved.push_back(at(from));
          });
        }
      }
      node.shape = sizes_of(to);
      node.ints = sizes_of(ints);
      shape = to;
      elements = moved;
      views.push_back(std::move(view));
    }
    Map map = identity_map(shape.size());
    for (std::size_t k = views.size(); k-- > 0;) map = fuse::through(views[k].node, sizes_of(views[k].input), map, sizes_of(shape), false).map;
    const IndexExpr flat = fuse::linear(map, sizes_of(input));
    std::size_t number = 0;
    each_point(shape, [&](const Point& point) {
      if (value(flat, point) != elements[number]) {
        INFO(to_string(shape) << ": " << fuse::to_string(flat));
        REQUIRE(value(flat, point) == elements[number]);
      }
      ++number;
    });
  }
}

TEST_CASE("composed views stay small") {
  const fuse::IndexSpace::Scope scope(std::make_shared<fuse::IndexSpace>());
  // Powers of two: a thousand reshapes and transposes are one permutation of digits.
  const fuse::Sizes from{4, 8}, to{8, 4};
  Map map = identity_map(2);
  Node turn;
  turn.op = Op::permute;
  turn.ints = {1, 0};
  turn.shape = to;
  for (int k = 0; k < 1000; ++k) {
    map = fuse::reshape_map(fuse::through(turn, from, map, to, false).map, from, to, to, false).map;
    CHECK(fuse::divisions(map) <= 6);
  }
  CHECK(fuse::IndexSpace::current()->size() < 2000);
}

TEST_CASE("views with symbolic sizes agree with views of numbers at every size that meets the guards") {
  const unsigned first = sinter::testing::fresh_seed();
  int held = 0;
  for (unsigned round = 0; round < 200; ++round) {
    const unsigned seed = first + round;
    INFO("seed " << seed);
    std::mt19937 rng(seed);
    const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(rng() % n); };
    const fuse::IndexSpace::Scope scope(std::make_shared<fuse::IndexSpace>());
    fuse::SizeSpace space;
    const std::vector<std::int64_t> today{2 + static_cast<std::int64_t>(pick(5)), 2 + static_cast<std::int64_t>(pick(5)),
                                          2 + static_cast<std::int64_t>(pick(5))};
    const fuse::Size a = space.symbol("a", today[0], 2), b = space.symbol("b", today[1], 2), c = space.symbol("c", today[2], 2);
    // Reshapes and permutes of (a, b, c) through shapes of products.
    fuse::Sizes shape{a, b, c};
    const fuse::Sizes input = shape;
    struct View {
      Node node;
      fuse::Sizes input;
    };
    std::vector<View> views;
    for (std::size_t step = 1 + pick(4); step-- > 0;) {
      View view{{}, shape};
      if (pick(2)) {
        view.node.op = Op::permute;
        std::vector<std::int64_t> axes(shape.size());
        std::iota(axes.begin(), axes.end(), 0);
        std::shuffle(axes.begin(), axes.end(), rng);
        for (auto axis : axes) view.node.shape.push_back(shape[axis]);
        view.node.ints = sizes_of(axes);
      } else {
        const fuse::Sizes shapes[] = {{a * b * c}, {a * b, c}, {a, b * c}, {c, a * b}, {b * c, a}, {c * a, b}, {a, b, c}};
        view.node.op = Op::reshape;
        view.node.shape = shapes[pick(7)];
      }
      shape = view.node.shape;
      views.push_back(std::move(view));
    }
    Map map = identity_map(shape.size());
    for (std::size_t k = views.size(); k-- > 0;) map = fuse::through(views[k].node, views[k].input, map, shape, false).map;
    const IndexExpr flat = fuse::linear(map, input);
    // Every number in the expression, bound again.
    fuse::Sizes numbers;
    std::vector<IndexExpr> stack{flat};
    std::map<int, std::size_t> first_number;
    while (!stack.empty()) {
      const IndexExpr at = stack.back();
      stack.pop_back();
      if (!first_number.emplace(at.order(), numbers.size()).second) continue;
      numbers.push_back(at.constant());
      for (const auto& term : at.terms()) {
        numbers.insert(numbers.end(), {term.coeff, term.div, term.mod});
        if (term.divides()) stack.push_back(term.inner);
      }
    }
    const std::size_t shapes_at = numbers.size();
    numbers.insert(numbers.end(), shape.begin(), shape.end());
    for (const auto& view : views) {
      numbers.insert(numbers.end(), view.input.begin(), view.input.end());
    }
    const fuse::SizeProgram program(space, numbers);
    REQUIRE(program.holds(today));
    for (int other = 0; other < 10; ++other) {
      const std::vector<std::int64_t> sizes{2 + static_cast<std::int64_t>(pick(5)), 2 + static_cast<std::int64_t>(pick(5)),
                                            2 + static_cast<std::int64_t>(pick(5))};
      if (!program.holds(sizes)) continue;
      ++held;
      std::vector<std::int64_t> bound;
      program.evaluate(sizes, bound);
      const std::function<std::int64_t(const IndexExpr&, const Point&)> at = [&](const IndexExpr& expr, const Point& point) {
        std::size_t n = first_number.at(expr.order());
        std::int64_t sum = bound[n++];
        for (const auto& term : expr.terms()) {
          const std::int64_t coeff = bound[n], div = bound[n + 1], mod = bound[n + 2];
          n += 3;
          if (term.axis >= 0) {
            sum += coeff * point[term.axis];
            continue;
          }
          const std::int64_t inner = at(term.inner, point);
          REQUIRE(inner >= 0);
          sum += coeff * (mod == 0 ? inner / div : inner / div % mod);
        }
        return sum;
      };
      // The same view computed with numbers.
      std::vector<std::int64_t> elements(static_cast<std::size_t>(sizes[0] * sizes[1] * sizes[2]));
      std::iota(elements.begin(), elements.end(), 0);
      std::size_t at_number = shapes_at + shape.size();
      for (std::size_t v = 0; v < views.size(); ++v) {
        Point from(bound.begin() + static_cast<long>(at_number), bound.begin() + static_cast<long>(at_number + views[v].input.size()));
        at_number += views[v].input.size();
        if (views[v].node.op == Op::reshape) continue;
        Point to;
        for (const auto& axis : views[v].node.ints) to.push_back(from[axis.hint()]);
        std::vector<std::int64_t> moved;
        each_point(to, [&](const Point& point) {
          Point source(point.size());
          for (std::size_t k = 0; k < point.size(); ++k) source[views[v].node.ints[k].hint()] = point[k];
          std::int64_t number = 0;
          for (std::size_t k = 0; k < from.size(); ++k) number = number * from[k] + source[k];
          moved.push_back(elements[static_cast<std::size_t>(number)]);
        });
        elements = moved;
      }
      const Point to(bound.begin() + static_cast<long>(shapes_at), bound.begin() + static_cast<long>(shapes_at + shape.size()));
      std::size_t number = 0;
      each_point(to, [&](const Point& point) {
        const std::int64_t got = at(flat, point);
        if (got != elements[number]) REQUIRE(got == elements[number]);
        ++number;
      });
    }
  }
  CHECK(held > 100);
}
