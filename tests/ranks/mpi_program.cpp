// The program that mpi.py runs under mpirun. It prints the bits of its results, or makes one rank fail.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <sinter/ranks.hpp>
#include <sinter/sinter.hpp>
#include <stdexcept>
#include <string>
#include <thread>

namespace sn = sinter;
namespace ranks = sinter::ranks;
using sn::Tensor;

int main(int, char** argv) {
  const std::string what = argv[1];
  const ranks::World world = ranks::init();
  const ranks::Mesh mesh(world, {{"data", world.size()}});
  const Tensor x = ranks::shard(sn::random::normal(sn::random::Key(7), {1000, 33}), mesh, {"data", ""});
  const int last = world.size() - 1;
  if (what == "bits") {
    Tensor u = x;
    for (int step = 0; step < 5; ++step) u = u + 0.1 * (sn::roll(u, 1, 0) - 2 * u + sn::roll(u, -1, 0));
    const Tensor product = sn::matmul(x.T(), sn::tanh(u)), spread = sn::softmax(u, 0);
    std::uint64_t hash = 1469598103934665603u;
    for (const Tensor& result : {u, product, spread, sn::sum(x), sn::cumsum(x, 0), ranks::shard(ranks::shard(u, mesh, {"", "data"}) * 2, mesh, {"data", ""})})
      for (const double value : result.to_vector<double>()) {
        std::uint64_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        hash = (hash ^ bits) * 1099511628211u;
      }
    std::printf("rank %d bits %016llx\n", world.rank(), static_cast<unsigned long long>(hash));
    return 0;
  }
  std::printf("%g\n", sn::sum(x).item<double>());  // the ranks work at first
  const bool at_fault = world.rank() == last;
  if (what == "exits" && at_fault) return 0;
  if (what == "throws" && at_fault) throw std::runtime_error("the disk is full");
  if (what == "killed" && at_fault) std::raise(SIGKILL);
  if (what == "alone") {
    if (at_fault) std::printf("%g\n", sn::max(x).item<double>());
    std::this_thread::sleep_for(std::chrono::seconds(20));
    return 0;
  }
  if (what == "slow" && at_fault) std::this_thread::sleep_for(std::chrono::milliseconds(700));
  const Tensor y = what == "other" && at_fault ? sn::min(x) : sn::max(x);
  std::printf("rank %d ends with %g\n", world.rank(), y.item<double>());
  return 0;
}
