// Five programs over sharded tensors. Each is the function that it is without ranks; only its inputs are sharded. Run alone it uses four threads as ranks;
// `mpirun -n 4 ranks` uses processes. Results are compared with those of the same functions on whole tensors.
#include <sinter/ranks.hpp>

#include "example.hpp"

namespace sn = sinter;
namespace ranks = sinter::ranks;
using sn::newaxis, sn::Slice, sn::Tensor;

namespace {

// --- the programs
/// A training step of a small network: each rank has some of the examples, all have the weights. The gradients' sums bring the ranks together.
std::vector<Tensor> train(const Tensor& x, const Tensor& y, Tensor w1, Tensor w2, int steps) {
  for (int step = 0; step < steps; ++step) {
    const Tensor h = sn::tanh(sn::matmul(x, w1)), error = sn::matmul(h, w2) - y;
    const Tensor back = sn::matmul(error, w2.T()) * (1 - h * h);
    w2 = w2 - 0.05f * sn::matmul(h.T(), error) / x.size(0);
    w1 = w1 - 0.05f * sn::matmul(x.T(), back) / x.size(0);
    sn::eval(w1, w2);
  }
  return {w1, w2};
}

/// Heat in a plate whose border is kept at 0; the rows beside a rank's own come from its neighbours.
Tensor heat(Tensor u, int steps) {
  for (int step = 0; step < steps; ++step) {
    const Tensor inner = u(Slice{1, -1}, Slice{1, -1});
    const Tensor around = u(Slice{0, -2}, Slice{1, -1}) + u(Slice{2, {}}, Slice{1, -1}) + u(Slice{1, -1}, Slice{0, -2}) + u(Slice{1, -1}, Slice{2, {}});
    u = sn::pad(inner + 0.2 * (around - 4 * inner), {{1, 1}, {1, 1}});
    sn::eval(u);
  }
  return u;
}

/// The means of the points that are nearest to each centre.
Tensor kmeans(const Tensor& points, Tensor centres, int steps) {
  for (int step = 0; step < steps; ++step) {
    const Tensor apart = sn::sum(sn::square(points(Slice{}, newaxis) - centres(newaxis)), -1);
    const Tensor mine = (sn::argmin(apart, 1)(Slice{}, newaxis) == sn::arange(centres.size(0))).astype(points.dtype());
    centres = sn::matmul(mine.T(), points) / sn::maximum(sn::sum(mine, 0)(Slice{}, newaxis), 1);
    sn::eval(centres);
  }
  return centres;
}

/// The share of visits to each page: links(i, j) is the probability of going from j to i. Each rank has some of the rows, and all have the shares.
Tensor page_rank(const Tensor& links, int steps) {
  Tensor share = sn::full({links.size(1)}, 1.0 / static_cast<double>(links.size(1)));
  for (int step = 0; step < steps; ++step) share = ranks::unshard(0.15 / static_cast<double>(links.size(1)) + 0.85 * sn::sum(links * share, 1));
  return share;
}
// ---

void check(example::Checks& checks, const char* what, const Tensor& sharded, const Tensor& whole) {
  const auto got = sharded.astype(sn::DType::float64).to_vector<double>(), expected = whole.astype(sn::DType::float64).to_vector<double>();
  checks.close<double, double>(what, got, expected, 1e-4);
}

void programs(const ranks::World& world, example::Checks& checks) {
  const int n = world.size();
  const ranks::Mesh mesh(world, {{"data", n}});
  const Tensor x = example::numbers({600, 8}, 1), y = sn::sum(sn::sin(x), 1, true), w1 = example::numbers({8, 16}, 2), w2 = example::numbers({16, 1}, 3);
  check(checks, "training", train(ranks::shard(x, mesh, {"data", ""}), ranks::shard(y, mesh, {"data", ""}), w1, w2, 10)[0], train(x, y, w1, w2, 10)[0]);

  const Tensor plate = sn::pad(example::numbers({126, 94}, 4), {{1, 1}, {1, 1}});
  check(checks, "heat", heat(ranks::shard(plate, mesh, {"data", ""}), 20), heat(plate, 20));
  const int rows = n % 2 == 0 ? n / 2 : n;
  const ranks::Mesh grid(world, {{"rows", rows}, {"columns", n / rows}});
  check(checks, "heat on a grid of ranks", heat(ranks::shard(plate, grid, {"rows", "columns"}), 20), heat(plate, 20));

  const Tensor points = example::numbers({3000, 2}, 5), centres = points(Slice{0, 16});
  check(checks, "k-means", kmeans(ranks::shard(points, mesh, {"data", ""}), centres, 4), kmeans(points, centres, 4));

  const Tensor links = sn::square(example::numbers({200, 200}, 6)), shares = links / sn::sum(links, 0);
  check(checks, "PageRank", page_rank(ranks::shard(shares, mesh, {"data", ""}), 10), page_rank(shares, 10));

  const Tensor a = example::numbers({96, 80}, 7), b = example::numbers({80, 64}, 8);
  const Tensor product = sn::matmul(ranks::shard(a, grid, {"rows", ""}), ranks::shard(b, grid, {"", "columns"}));
  check(checks, "a product on a grid of ranks", product, sn::matmul(a, b));
}

int all() {
  const ranks::World world = ranks::init();
  std::vector<example::Checks> checks(world.size() > 1 ? 1 : 4);
  if (world.size() > 1) programs(world, checks[0]);
  else ranks::run(4, [&](const ranks::World& one) { programs(one, checks[static_cast<std::size_t>(one.rank())]); });
  for (const auto& check : checks)
    if (check.exit_code() != 0) return check.exit_code();
  return 0;
}

}  // namespace

int main() { return example::run(all); }
