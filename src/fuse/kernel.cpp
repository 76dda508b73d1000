#include "fuse/kernel.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "fuse/arrange.hpp"

namespace sinter::fuse {
namespace {

// Sorts the entries and leaves one for each node.
void sum_by_node(std::vector<KernelWork::Reads>& reads) {
  std::sort(reads.begin(), reads.end(), [](const auto& a, const auto& b) { return std::pair(a.node, a.elements) < std::pair(b.node, b.elements); });
  std::size_t count = 0;
  for (const auto& read : reads) {
    if (count > 0 && reads[count - 1].node == read.node) reads[count - 1].elements += read.elements;
    else reads[count++] = read;
  }
  reads.resize(count);
}

}  // namespace

double Points::of(std::uint64_t axes) {
  double points = 1;
  for (std::size_t axis = 0; axis < sizes_.size(); ++axis) {
    if (!(axes >> axis & 1)) continue;
    if (sizes_[axis] < 0) sizes_[axis] = as_double(kernel_->sizes[axis]);
    points *= sizes_[axis];
  }
  return points;
}

Size Kernel::parallel_points() const { return std::accumulate(sizes.begin(), sizes.begin() + parallel, Size(1), std::multiplies<>()); }
Size Kernel::row_points() const { return std::accumulate(sizes.begin() + parallel, sizes.end(), Size(1), std::multiplies<>()); }

int root_pass(const Kernel& kernel, const Root& root) {
  // A root whose index contains a row axis is stored in a row pass; another root after the passes on which it depends.
  const bool at_rows = root.index.axes() >> kernel.parallel != 0;
  return at_rows ? kernel.values[root.value].ready : -1;
}

int Kernel::passes() const {
  int passes = 0;
  for (const auto& value : values)
    if (value.kind == Value::Kind::reduced) passes = std::max(passes, value.ready);
  for (const auto& root : roots) passes = std::max(passes, root_pass(*this, root) + 1);
  for (const auto& check : checks)
    if (const Value& condition = values[check.condition]; condition.row) passes = std::max(passes, condition.ready + 1);
  return passes;
}

int Kernel::ops() const { return static_cast<int>(std::count_if(values.begin(), values.end(), is_computed)); }

bool is_computed(const Value& value) { return value.kind == Value::Kind::op || value.kind == Value::Kind::reduced || value.kind == Value::Kind::scan; }

bool is_root(const Kernel& kernel, int value) {
  return std::any_of(kernel.roots.begin(), kernel.roots.end(), [&](const Root& r) { return r.value == value; });
}

bool has_ranges(const Kernel& kernel) {
  return std::any_of(kernel.values.begin(), kernel.values.end(), [](const Value& v) { return v.kind == Value::Kind::reduced && v.args[1] >= 0; });
}

bool has_scan(const Kernel& kernel) {
  return std::any_of(kernel.values.begin(), kernel.values.end(), [](const Value& v) { return v.kind == Value::Kind::scan; });
}

Size persistent_bytes(const Kernel& kernel) {
  Size bytes = 0;
  for (auto dtype : kernel.persistent) bytes += kernel.row_points() * static_cast<std::int64_t>(itemsize(dtype));
  return bytes;
}

std::vector<RowPass> row_passes(const Kernel& kernel) {
  const int count = static_cast<int>(kernel.values.size());
  std::vector<RowPass> passes(kernel.passes());
  std::vector<std::vector<int>> sinks(passes.size());
  for (const auto& value : kernel.values)
    if (value.kind == Value::Kind::reduced) sinks[value.ready - 1].push_back(value.args[0]);
  for (const auto& root : kernel.roots)
    if (const int pass = root_pass(kernel, root); pass >= 0) sinks[pass].insert(sinks[pass].end(), {root.value, root.guard});
  for (const auto& check : kernel.checks)
    if (const Value& condition = kernel.values[check.condition]; condition.row) sinks[condition.ready].push_back(check.condition);
  std::vector<char> staged(count), filled(count);
  for (const auto& keep : kernel.staged) staged[keep.value] = 1;
  std::vector<int> seen(count, -1);
  for (int pass = 0; pass < static_cast<int>(passes.size()); ++pass) {
    std::vector<int> stack = std::move(sinks[pass]);
    while (!stack.empty()) {
      const int v = stack.back();
      stack.pop_back();
      if (v < 0 || seen[v] == pass || !kernel.values[v].row) continue;
      seen[v] = pass;
      if (staged[v] && filled[v]) {
        passes[pass].taken.push_back(v);
        continue;
      }
      passes[pass].computed.push_back(v);
      for (int arg : kernel.values[v].args) stack.push_back(arg);
    }
    std::sort(passes[pass].computed.begin(), passes[pass].computed.end());
    std::sort(passes[pass].taken.begin(), passes[pass].taken.end());
    for (int v : passes[pass].computed) filled[v] = staged[v];
  }
  return passes;
}

int parameter_bytes(const Kernel& kernel) {
  int loads = 0, scalars = 0;
  for (const auto& value : kernel.values) {
    loads += value.kind == Value::Kind::load;
    scalars += value.kind == Value::Kind::scalar;
  }
  const int accesses = loads + static_cast<int>(kernel.roots.size());
  // A kernel has a pointer for each buffer, up to one stride for each further axis, the axis sizes, and 8 bytes for each literal.
  const int axes = static_cast<int>(kernel.sizes.size());
  return accesses * 8 + (axes > 1 ? accesses * 8 * (axes - 1) : 0) + axes * 8 + scalars * 8;
}

int staged_registers(const Kernel& kernel) {
  int registers = 0;
  for (const DType dtype : kernel.persistent) registers += registers_of(dtype);
  return registers;
}

int estimated_registers(const Kernel& kernel, int vector, int staged_steps) {
  const int count = static_cast<int>(kernel.values.size());
  std::vector<int> last_use(count, -1);
  for (int v = 0; v < count; ++v)
    for (int arg : kernel.values[v].args)
      if (arg >= 0) last_use[arg] = v;
  for (const auto& root : kernel.roots)
    for (const int v : {root.value, root.guard})
      if (v >= 0) last_use[v] = std::max(last_use[v], v);
  for (const auto& check : kernel.checks) {
    last_use[check.condition] = std::max(last_use[check.condition], check.condition);
    last_use[check.value] = std::max(last_use[check.value], check.condition);
  }
  int live = 0, largest = 0;
  std::vector<int> weight(count);
  for (int v = 0; v < count; ++v) {
    const Value& value = kernel.values[v];
    if (value.kind == Value::Kind::scalar) continue;  // read from the parameter bank
    weight[v] = registers_of(value.dtype) * vector;
    live += weight[v];
    largest = std::max(largest, live);
    for (auto operand = value.args.begin(); operand != value.args.end(); ++operand) {
      const int arg = *operand;
      if (arg < 0 || last_use[arg] != v || std::find(value.args.begin(), operand, arg) != operand) continue;
      live -= weight[arg];
    }
    if (last_use[v] <= v) live -= weight[v];
  }
  return largest + staged_steps * vector * staged_registers(kernel) + 24;  // addresses, indices, and registers that the compiler itself needs
}

int halving_node(const Kernel& kernel) {
  // Represents the ops below each value as bits and counts them. The result is the op with nearly half of all ops below it that depends on no reduction and is
  // not a root.
  const int count = static_cast<int>(kernel.values.size());
  const std::size_t words = static_cast<std::size_t>(count + 63) / 64;
  std::vector<std::uint64_t> cones(words * static_cast<std::size_t>(count));
  const int total = kernel.ops();
  int best = -1, best_distance = 1 << 30;
  for (int v = 0; v < count; ++v) {
    const Value& value = kernel.values[v];
    const auto cone = cones.begin() + static_cast<long>(words) * v;
    for (int arg : value.args)
      if (arg >= 0) std::transform(cone, cone + static_cast<long>(words), cones.begin() + static_cast<long>(words) * arg, cone, std::bit_or<>());
    if (value.kind != Value::Kind::op) continue;
    cone[v / 64] |= std::uint64_t{1} << (v % 64);
    if (value.node < 0 || value.ready > 0 || is_root(kernel, v)) continue;
    int ops = 0;
    for (std::size_t w = 0; w < words; ++w) ops += __builtin_popcountll(cone[static_cast<long>(w)]);
    if (ops < 2 || std::abs(2 * ops - total) >= best_distance) continue;
    best = value.node;
    best_distance = std::abs(2 * ops - total);
  }
  return best;
}

double bytes_read(const Graph& graph, int node, double elements) {
  return std::min(elements, as_double(graph.nodes[node].elements)) * static_cast<double>(itemsize(graph.nodes[node].dtype));
}

double bytes_of(const Graph& graph, int node) { return bytes_read(graph, node, std::numeric_limits<double>::infinity()); }

void Traffic::add(double bytes, const Size& elements) {
  const auto same = std::find_if(terms.begin(), terms.end(), [&](const Term& term) { return term.elements.same(elements); });
  if (same != terms.end()) same->bytes += bytes;
  else terms.push_back({bytes, elements});
}

void Traffic::add(const Traffic& other) {
  for (const Term& term : other.terms) add(term.bytes, term.elements);
  readings.insert(readings.end(), other.readings.begin(), other.readings.end());
}

void Traffic::add_reading(const Graph& graph, int node, Traffic parts) {
  const Term whole{static_cast<double>(itemsize(graph.nodes[node].dtype)), graph.nodes[node].elements};
  const bool same = parts.terms.size() == 1 && parts.terms[0].bytes >= whole.bytes && parts.terms[0].elements.same(whole.elements);
  if (same) add(whole.bytes, whole.elements);
  else readings.push_back({whole, std::move(parts.terms)});
}

double Traffic::now() const {
  const auto sum = [](const std::vector<Term>& all) {
    double bytes = 0;
    for (const Term& term : all) bytes += term.bytes * static_cast<double>(term.elements.hint());
    return bytes;
  };
  double bytes = sum(terms);
  for (const Reading& reading : readings) bytes += std::min(sum({reading.whole}), sum(reading.some));
  return bytes;
}

Traffic traffic_of(const Graph& graph, int node) {
  Traffic traffic;
  traffic.add(static_cast<double>(itemsize(graph.nodes[node].dtype)), graph.nodes[node].elements);
  return traffic;
}

namespace {

/// A load of a kernel: its pass over the rows (-1: once for each parallel point), its axes, and the share of their points at which it reads.
struct Reading {
  int node, pass;
  double share;
  std::uint64_t axes;
};

/// Returns the loads in groups, each of which reads an element only once. A pass reads an element once for all its values; outside of passes an element is read
/// once.
std::vector<std::vector<Reading>> readings_of(const Kernel& kernel) {
  std::vector<Reading> readings;
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - kernel.sizes.size()), parallel = (std::uint64_t{1} << kernel.parallel) - 1;
  const auto reads = [&](const Value& value, int pass) {
    if (value.kind != Value::Kind::load) return;
    // A computed position may differ at every point.
    const std::uint64_t axes = value.args[Value::kIndexed] < 0 ? value.index.axes() : value.row ? all : parallel;
    readings.push_back({value.node, pass, value.share, axes});
  };
  for (const Value& value : kernel.values)
    if (!value.row) reads(value, -1);
  const auto passes = row_passes(kernel);
  for (std::size_t pass = 0; pass < passes.size(); ++pass)
    for (int v : passes[pass].computed) reads(kernel.values[v], static_cast<int>(pass));
  const auto before = [](const Reading& a, const Reading& b) { return std::pair(a.node, a.pass) < std::pair(b.node, b.pass); };
  std::stable_sort(readings.begin(), readings.end(), before);
  std::vector<std::vector<Reading>> groups;
  for (const Reading& reading : readings) {
    if (groups.empty() || before(groups.back().front(), reading)) groups.emplace_back();
    groups.back().push_back(reading);
  }
  return groups;
}

Size points(const Kernel& kernel, std::uint64_t axes) {
  Size count = 1;
  for (std::size_t axis = 0; axis < kernel.sizes.size(); ++axis)
    if (axes >> axis & 1) count *= kernel.sizes[axis];
  return count;
}

/// Returns for each value the axes along which it changes: those of its index or operands; for a reduction, without the rows.
std::vector<std::uint64_t> axes_of_change(const Kernel& kernel) {
  const std::uint64_t parallel = (std::uint64_t{1} << kernel.parallel) - 1, all = ~std::uint64_t{0} >> (64 - kernel.sizes.size());
  std::vector<std::uint64_t> axes(kernel.values.size());
  for (std::size_t v = 0; v < axes.size(); ++v) {
    const Value& value = kernel.values[v];
    if (value.kind == Value::Kind::load || value.kind == Value::Kind::index) axes[v] = value.index.axes();
    for (const int arg : value.args)
      if (arg >= 0) axes[v] |= axes[static_cast<std::size_t>(arg)];
    if (value.kind == Value::Kind::reduced) axes[v] &= parallel;
    if (value.kind == Value::Kind::scan) axes[v] |= all & ~parallel;
  }
  return axes;
}

/// Returns the axes at whose points a value is computed that changes along the axes `changes`.
std::uint64_t axes_of_work(const Kernel& kernel, const Value& value, std::uint64_t changes, const Limits& limits) {
  const std::uint64_t parallel = (std::uint64_t{1} << kernel.parallel) - 1, all = ~std::uint64_t{0} >> (64 - kernel.sizes.size());
  if (value.kind == Value::Kind::reduced) return all;
  std::uint64_t computed = value.row ? all : parallel;
  // A loop computes invariant work once.
  if (limits.hoists)
    for (int axis = static_cast<int>(kernel.sizes.size()) - 1; axis >= 0 && !(changes >> axis & 1); --axis) computed &= ~(std::uint64_t{1} << axis);
  return computed;
}

/// Returns the bytes of an element up to which a cache has the elements that a pass read when the next pass reads them.
double cached_itemsize(const Graph& graph, const Kernel& kernel, const Limits& limits) {
  constexpr double kLanes = 16, kWarps = 64;  // rows that a core's vectors, and the warps of a multiprocessor, compute side by side
  if (kernel.passes() < 2) return 0;
  const Estimating estimate;
  const bool along = lanes_along_rows(graph, kernel, limits);
  if (limits.backend == Backend::cpu) return static_cast<double>(limits.cached_bytes) / (as_double(kernel.row_points()) * (along ? 1 : kLanes));
  return along ? static_cast<double>(limits.cache_bytes) / (as_double(kernel.row_points()) * kWarps * limits.units) : 0;
}

/// Returns the bytes of memory that are read and written, for an estimate.
double bytes_moved(const Graph& graph, const Kernel& kernel) {
  Points points(kernel);
  double bytes = 0;
  for (const auto& group : readings_of(kernel)) {
    double elements = 0;
    for (const Reading& reading : group) elements += reading.share * points.of(reading.axes);
    bytes += bytes_read(graph, group.front().node, elements);
  }
  for (const auto& root : kernel.roots) bytes += bytes_of(graph, root.node);
  return bytes;
}

}  // namespace

Traffic traffic(const Graph& graph, const Kernel& kernel, const Limits& limits) {
  Traffic all;
  const double cached = cached_itemsize(graph, kernel, limits);
  int row_of = -1;  // the node whose row was read last; the groups are in the order of nodes and passes
  for (const auto& group : readings_of(kernel)) {
    const Node& node = graph.nodes[group.front().node];
    const bool again = group.front().pass >= 0 && std::exchange(row_of, group.front().node) == group.front().node;
    if (again && static_cast<double>(itemsize(node.dtype)) <= cached) continue;
    Traffic some;
    for (const Reading& reading : group) some.add(reading.share * static_cast<double>(itemsize(node.dtype)), points(kernel, reading.axes));
    all.add_reading(graph, group.front().node, std::move(some));
  }
  for (const auto& root : kernel.roots) all.add(traffic_of(graph, root.node));
  return all;
}

Traffic arithmetic(const Kernel& kernel, const Limits& limits) {
  const std::vector<std::uint64_t> axes = axes_of_change(kernel);
  Traffic all;
  for (std::size_t v = 0; v < axes.size(); ++v)
    if (const Value& value = kernel.values[v]; is_computed(value) && value.cost > 0)
      all.add(value.cost * value.share, points(kernel, axes_of_work(kernel, value, axes[v], limits)));
  return all;
}

double Work::seconds(const Limits& limits) const { return std::max(bytes / limits.bandwidth, ops / limits.throughput); }

KernelWork::KernelWork(const Graph& graph, const Kernel& kernel, const Limits& limits)
    : graph_(graph), kernel_(kernel), points_(kernel), uses_(kernel.values.size()), axes_(axes_of_change(kernel)), share_(kernel.values.size()) {
  const int count = static_cast<int>(kernel.values.size());
  for (const auto& root : kernel.roots)
    for (const int value : {root.value, root.guard})
      if (value >= 0) ++uses_[value];
  for (const auto& check : kernel.checks) ++uses_[check.condition];
  for (int v = count - 1; v >= 0; --v) {
    if (uses_[v] == 0) continue;
    for (int arg : kernel.values[v].args)
      if (arg >= 0) ++uses_[arg];
  }
  for (int v = 0; v < count; ++v) {
    const Value& value = kernel.values[v];
    if (uses_[v] == 0 || value.kind == Value::Kind::scalar) continue;
    if (value.kind == Value::Kind::load) {
      reads_.push_back({value.node, share_[v] = value.share * points_.of(axes_[v])});
      continue;
    }
    all_.ops += share_[v] = value.cost * value.share * points_.of(axes_of_work(kernel, value, axes_[v], limits));
  }
  sum_by_node(reads_);
  for (const auto& reads : reads_) all_.bytes += bytes_read(graph, reads.node, reads.elements);
  for (const auto& root : kernel.roots) all_.bytes += bytes_of(graph, root.node);
}

Work KernelWork::reading(int node) {
  Work work = all_;
  std::vector<Reads> more;
  std::vector<int> released, gone;
  const auto release = [&](int v) {
    for (int arg : kernel_.values[v].args) {
      if (arg < 0) continue;
      released.push_back(arg);
      if (--uses_[arg] == 0) gone.push_back(arg);
    }
  };
  for (int v = static_cast<int>(kernel_.values.size()) - 1; v >= 0; --v) {  // users are visited first
    const Value& value = kernel_.values[v];
    if (value.node != node || value.kind == Value::Kind::load || uses_[v] == 0) continue;
    work.ops -= share_[v];
    more.push_back({node, value.share * points_.of(axes_[v])});
    release(v);
    while (!gone.empty()) {
      const int below = gone.back();
      gone.pop_back();
      if (kernel_.values[below].kind == Value::Kind::load) more.push_back({kernel_.values[below].node, -share_[below]});
      else work.ops -= share_[below];
      release(below);
    }
  }
  for (int v : released) ++uses_[v];
  sum_by_node(more);
  for (const Reads& change : more) {
    Reads reads = change;
    const auto before = std::lower_bound(reads_.begin(), reads_.end(), change.node, [](const Reads& r, int id) { return r.node < id; });
    if (before != reads_.end() && before->node == change.node) {
      work.bytes -= bytes_read(graph_, before->node, before->elements);
      reads.elements += before->elements;
    }
    work.bytes += bytes_read(graph_, reads.node, reads.elements);
  }
  return work;
}

Work launched_work(const Graph& graph, const Kernel& kernel, const Limits& limits) {
  return {bytes_moved(graph, kernel), KernelWork(graph, kernel, limits).all().ops};
}

double launched_seconds(const Graph& graph, const Kernel& kernel, const Limits& limits) {
  return launched_work(graph, kernel, limits).seconds(limits) + limits.launch_seconds;
}

}  // namespace sinter::fuse
