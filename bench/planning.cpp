// Measures the planning time per op, which must not grow with the graph, and the memory of planning: chains of ops, chains of views, trees, wide graphs, many
// outputs, norms, each from 10^2 to 10^6 nodes; then whole programs (recordings.hpp). Only scheduling runs; no kernel is generated. The time is the
// processor's, the least of five rounds up to 20,000 nodes, with the share of the operating system, which provides memory page by page. The memory is the
// peak growth of the process while the last round plans.
//   bench_planning [LARGEST [GRAPH]]
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <string>

#include "../tests/support/graph_builder.hpp"
#include "fuse/schedule.hpp"
#include "recordings.hpp"
#include "trace/host_access.hpp"
#include "trace/structural_key.hpp"

namespace sinter::trace {
const void* host_data(const RecordedPtr&, const Site&) { return nullptr; }  // nothing is computed here
}  // namespace sinter::trace

namespace {

using sinter::Shape;
using sinter::testing::GraphBuilder;
using sinter::trace::Graph;
using sinter::trace::Op;

const Shape kShape{64, 32};

Graph chain(int n) {
  GraphBuilder g;
  int x = g.data(kShape);
  for (int k = 0; k < n; ++k) x = g.op(k % 3 ? Op::sqrt : Op::negative, {x});
  return g.done({x});
}

Graph views(int n) {
  GraphBuilder g;
  int x = g.data(kShape);
  for (int k = 0; k < n; k += 2) {
    x = g.permute(x, {1, 0});
    x = g.view(Op::slice, x, g.shape(x), {0, 1, g.shape(x)[1] - 1, -1});
  }
  return g.done({x});
}

Graph tree(int n) {
  GraphBuilder g;
  std::vector<int> level;
  for (int k = 0; k < n / 2; ++k) level.push_back(g.data(kShape));
  while (level.size() > 1) {
    std::vector<int> next;
    for (std::size_t k = 0; k + 1 < level.size(); k += 2) next.push_back(g.op(Op::add, {level[k], level[k + 1]}));
    if (level.size() % 2) next.push_back(level.back());
    level = std::move(next);
  }
  return g.done({level[0]});
}

// Many values side by side, mixed in every layer.
Graph wide(int n) {
  GraphBuilder g;
  constexpr int kWidth = 64;
  std::vector<int> layer;
  for (int k = 0; k < kWidth; ++k) layer.push_back(g.data(kShape));
  for (int done = 0; done < n; done += kWidth) {
    std::vector<int> next;
    for (int k = 0; k < kWidth; ++k) next.push_back(g.op(Op::add, {layer[k], layer[(k + 1) % kWidth]}));
    layer = std::move(next);
  }
  return g.done(layer);
}

Graph outputs(int n) {
  GraphBuilder g;
  const int x = g.data(kShape);
  std::vector<int> all;
  for (int k = 0; k < n / 2; ++k) all.push_back(g.op(Op::multiply, {x, g.literal(k, kShape)}));
  return g.done(all);
}

// Records row kernels one after another, each dependent on the last.
Graph norms(int n) {
  GraphBuilder g;
  int x = g.data(kShape);
  for (int k = 0; k < n; k += 4) {
    const int s = g.reduce(k % 8 ? Op::reduce_max : Op::reduce_sum, x, {k / 4 % 2});
    const int back = k / 4 % 2 ? g.broadcast(g.reshape(s, {64, 1}), kShape) : g.broadcast(s, kShape);
    x = g.op(Op::subtract, {x, back});
  }
  return g.done({x});
}

double megabytes(const char* field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind(field, 0) == 0) return std::atof(line.c_str() + std::string(field).size() + 1) / 1024;
  return 0;
}

// Returns the processor time of this process so far, in seconds.
struct Spent {
  double all = 0, system = 0;
};
Spent spent() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6; };
  return {seconds(usage.ru_utime) + seconds(usage.ru_stime), seconds(usage.ru_stime)};
}

void plan(const std::string& name, const Graph& graph) {
  const auto limits = sinter::fuse::cpu_limits();
  std::size_t kernels = 0;
  double grown = 0;
  Spent best{1e9, 0};
  for (int round = 0; round < (graph.nodes.size() <= 20000 ? 5 : 1); ++round) {
    std::ofstream("/proc/self/clear_refs") << 5;  // the peak is counted from here
    const double before = megabytes("VmRSS:");
    const Spent start = spent();
    kernels = sinter::fuse::schedule(sinter::fuse::prepare(graph, limits), limits).steps.size();
    const Spent end = spent();
    if (end.all - start.all < best.all) best = {end.all - start.all, end.system - start.system};
    grown = megabytes("VmHWM:") - before;
  }
  const double nodes = static_cast<double>(graph.nodes.size());
  fmt::print("{:28} {:10} {:10} {:12.2f} {:10.0f} {:10.0f} {:10.1f}\n", name, graph.nodes.size(), kernels, best.all * 1e3, best.all * 1e9 / nodes,
             best.system * 1e9 / nodes, grown);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int largest = argc > 1 ? std::atoi(argv[1]) : 1000000;
  const std::string only = argc > 2 ? argv[2] : "";
  const std::map<std::string, std::function<Graph(int)>> shapes{{"chain", chain}, {"views", views},     {"tree", tree},
                                                                {"wide", wide},   {"outputs", outputs}, {"norms", norms}};
  fmt::print("{:28} {:>10} {:>10} {:>12} {:>10} {:>10} {:>10}\n", "graph", "nodes", "kernels", "ms", "ns a node", "system's", "MB");
  for (const auto& [name, make] : shapes)
    for (int n = 100; n <= largest; n *= 10)
      if (name.find(only) != std::string::npos) plan(name, make(n));
  for (const auto& recording : sinter::recordings::all()) {
    if (recording.name.find(only) == std::string::npos) continue;
    std::vector<sinter::trace::RecordedPtr> wanted;
    for (const auto& tensor : recording.record()) wanted.push_back(tensor.node());
    plan(recording.name, sinter::trace::linearize(wanted).graph);
  }
}
