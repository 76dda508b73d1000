// Index expressions against brute force: every simplification is checked at every point of the axes.
#include <doctest/doctest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <random>

#include "fuse/index.hpp"
#include "host_data_stub.hpp"

using namespace sinter;
using fuse::IndexExpr;
using fuse::Map;
using trace::Node;
using trace::Op;

namespace {

using Sizes = std::vector<std::int64_t>;

std::int64_t value(const IndexExpr& expr, const Sizes& point) {
  std::int64_t sum = expr.constant();
  for (const auto& term : expr.terms()) {
    if (term.axis >= 0) {
      sum += term.coeff * point[term.axis];
      continue;
    }
    const std::int64_t inner = value(term.inner, point);
    REQUIRE(inner >= 0);  // executors divide without a sign
    const std::int64_t quotient = inner / term.div;
    sum += term.coeff * (term.mod ? quotient % term.mod : quotient);
  }
  return sum;
}

void each_point(const Sizes& sizes, const std::function<void(const Sizes&)>& visit) {
  Sizes point(sizes.size());
  if (std::any_of(sizes.begin(), sizes.end(), [](auto s) { return s == 0; })) return;
  for (;;) {
    visit(point);
    std::size_t k = sizes.size();
    while (k > 0 && ++point[k - 1] == sizes[k - 1]) point[--k] = 0;
    if (k == 0) return;
  }
}

std::vector<Shape> factorisations(std::int64_t count, int most) {
  std::vector<Shape> all{{count}};
  if (most == 1) return all;
  for (std::int64_t first = 1; first <= count; ++first)
    if (count % first == 0 && (first > 1 || most > 2))
      for (auto rest : factorisations(count / first, most - 1)) {
        rest.insert(rest.begin(), first);
        all.push_back(rest);
      }
  return all;
}

Map identity(std::size_t rank) {
  Map map;
  for (std::size_t k = 0; k < rank; ++k) map.push_back(IndexExpr::of_axis(static_cast<int>(k)));
  return map;
}

}  // namespace

TEST_CASE("div_mod equals floor division and remainder for every small expression") {
  const fuse::IndexSpace::Scope scope(std::make_shared<fuse::IndexSpace>());
  int checked = 0;
  const Sizes sizes{4, 3, 5};
  for (std::int64_t c0 : {0, 1, 3, 4, 6, 12, -1})
    for (std::int64_t c1 : {0, 1, 2, 4, 12, 15})
      for (std::int64_t c2 : {0, 1, 4, 8})
        for (std::int64_t constant : {0, 3, 7})
          for (std::int64_t div : {1, 2, 3, 4, 5, 12})
            for (std::int64_t mod : {0, 1, 2, 3, 4, 6}) {
              const IndexExpr expr = IndexExpr::of_axis(0) * c0 + IndexExpr::of_axis(1) * c1 + IndexExpr::of_axis(2) * c2 +
                                     IndexExpr::of(c0 < 0 ? constant + 3 : constant);
              const IndexExpr result = fuse::div_mod(expr, div, mod, sizes);
              each_point(sizes, [&](const Sizes& point) {
                const std::int64_t x = value(expr, point) / div, want = mod ? x % mod : x;
                if (value(result, point) == want) return;
                INFO(fuse::to_string(expr) << " / " << div << " % " << mod << " gave " << fuse::to_string(result));
                REQUIRE(value(result, point) == want);
              });
              ++checked;
            }
  CHECK(checked == 7 * 6 * 4 * 3 * 6 * 6);
}

TEST_CASE("a reshape there and back is the identity, for every pair of shapes") {
  const fuse::IndexSpace::Scope scope(std::make_shared<fuse::IndexSpace>());
  for (const std::int64_t count : {12, 24, 36})
    for (const Shape& from : factorisations(count, 3))
      for (const Shape& by : factorisations(count, 3)) {
        const Map there = fuse::reshape_map(identity(from.size()), from, by, from, false);
        const Map back = fuse::reshape_map(there, by, from, from, false);
        // An axis of size 1 may come back as 0.
        for (std::size_t k = 0; k < from.size(); ++k) {
          INFO(to_string(from) << " by " << to_string(by) << ": " << fuse::to_string(back));
          CHECK((back[k] == IndexExpr::of_axis(static_cast<int>(k)) || (from[k] == 1 && back[k] == IndexExpr::of(0))));
        }
      }
}

TEST_CASE("random chains of views find the elements that moving them by hand finds") {
  const char* fixed = std::getenv("SINTER_TEST_SEED");
  const unsigned first = fixed ? static_cast<unsigned>(std::strtoul(fixed, nullptr, 10)) : std::random_device{}();
  for (unsigned round = 0; round < (fixed ? 1 : 400); ++round) {
    const unsigned seed = first + round;
    INFO("SINTER_TEST_SEED=" << seed);
    const fuse::IndexSpace::Scope scope(std::make_shared<fuse::IndexSpace>());
    std::mt19937 rng(seed);
    const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(rng() % n); };
    const std::int64_t counts[] = {24, 30, 48, 210};
    Shape shape = {counts[pick(4)]};
    const Shape input = shape;
    std::vector<std::int64_t> elements(static_cast<std::size_t>(shape[0]));  // of the input, as the view shows them
    std::iota(elements.begin(), elements.end(), 0);
    struct View { Node node; Shape input; };
    std::vector<View> views;
    const std::size_t length = 1 + pick(7);
    for (std::size_t step = 0; step < length; ++step) {
      View view{{}, shape};
      Node& node = view.node;
      std::vector<std::int64_t> moved;
      const auto at = [&](const Sizes& point) {
        std::int64_t flat = 0;
        for (std::size_t k = 0; k < shape.size(); ++k) flat = flat * shape[k] + point[k];
        return elements[static_cast<std::size_t>(flat)];
      };
      switch (pick(3)) {
        case 0: {
          const auto shapes = factorisations(element_count(shape), 4);
          node.op = Op::reshape;
          node.shape = shapes[pick(shapes.size())];
          moved = elements;
          break;
        }
        case 1: {
          node.op = Op::permute;
          for (std::size_t k = 0; k < shape.size(); ++k) node.ints.push_back(static_cast<std::int64_t>(k));
          std::shuffle(node.ints.begin(), node.ints.end(), rng);
          for (auto axis : node.ints) node.shape.push_back(shape[axis]);
          each_point(node.shape, [&](const Sizes& point) {
            Sizes from(point.size());
            for (std::size_t k = 0; k < point.size(); ++k) from[node.ints[k]] = point[k];
            moved.push_back(at(from));
          });
          break;
        }
        default: {
          node.op = Op::slice;
          for (auto size : shape) {
            const std::int64_t step_by = pick(2) ? 1 : -1;
            const std::int64_t length_of = size > 2 && pick(4) == 0 ? size / 2 : size;
            node.ints.push_back(step_by > 0 ? static_cast<std::int64_t>(pick(static_cast<std::size_t>(size - length_of + 1))) : size - 1);
            node.ints.push_back(step_by);
            node.shape.push_back(length_of);
          }
          each_point(node.shape, [&](const Sizes& point) {
            Sizes from(point.size());
            for (std::size_t k = 0; k < point.size(); ++k) from[k] = node.ints[2 * k] + node.ints[2 * k + 1] * point[k];
            moved.push_back(at(from));
          });
        }
      }
      shape = node.shape;
      elements = moved;
      views.push_back(std::move(view));
    }
    Map map = identity(shape.size());
    for (std::size_t k = views.size(); k-- > 0;) map = fuse::through(views[k].node, views[k].input, map, shape, false);
    const IndexExpr flat = fuse::linear(map, input);
    std::size_t number = 0;
    each_point(shape, [&](const Sizes& point) {
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
  const Shape from{4, 8}, to{8, 4};
  Map map = identity(2);
  Node turn;
  turn.op = Op::permute;
  turn.ints = {1, 0};
  turn.shape = to;
  for (int k = 0; k < 1000; ++k) {
    map = fuse::reshape_map(fuse::through(turn, from, map, to, false), from, to, to, false);
    CHECK(fuse::divisions(map) <= 6);
  }
  CHECK(fuse::IndexSpace::current()->size() < 2000);
}
