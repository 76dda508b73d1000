// sinter run, sinter check: a trained model on .npy files.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "commands.hpp"
#include "sinter/model.hpp"
#include "sinter/sinter.hpp"

namespace sinter::tools {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::time_point since) { return std::chrono::duration<double, std::milli>(Clock::now() - since).count(); }

void print_values(const char* title, const std::vector<ModelValue>& values) {
  for (const ModelValue& value : values) fmt::print("{:<8} {}\n", title, to_string(value));
}

/// What the model is, and what of it sinter lacks.
int check(const Model& model, const std::string& file) {
  print_values("input", model.inputs());
  print_values("output", model.outputs());
  fmt::print("nodes    {} in the file, {} after the rewrites\n", model.nodes_in_file(), model.nodes());
  for (const Rewrite& rewrite : model.rewrites())
    if (rewrite.count > 0) fmt::print("rewrite  {} x {}: {}\n", rewrite.name, rewrite.count, rewrite.what);
  const std::vector<MissingOperator> missing = model.missing();
  for (const MissingOperator& op : missing) fmt::print("missing  {}: {} node{}, the first is {}\n", op.op, op.nodes, op.nodes == 1 ? "" : "s", op.first);
  if (missing.empty()) fmt::print("{}: every operator is there\n", file);
  return missing.empty() ? 0 : 1;
}

/// A file's name from an output's, which may hold what no file's name may.
std::string file_name(const std::string& output) {
  std::string name = output;
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '/' || c == ':' || c == '\\' || static_cast<unsigned char>(c) < 32; }, '_');
  return name + ".npy";
}

/// Numbers of the input's type: floats within 1, integers 0 (which are places in a table as often as not).
Tensor made_up(const ModelValue& input, const std::map<std::string, std::int64_t>& sizes, std::uint64_t seed) {
  if (!input.shape) throw ValueError(fmt::format("--random: the input {} has no shape", to_string(input)));
  Shape shape;
  for (const ModelSize& size : *input.shape) {
    const auto given = sizes.find(size.symbol);
    if (!size.size && given == sizes.end())
      throw ValueError(fmt::format("--random: the input {} needs a size: --size {}=1", to_string(input), size.symbol.empty() ? "?" : size.symbol));
    shape.push_back(size.size ? *size.size : given->second);
  }
  if (!is_floating(input.dtype)) return zeros(shape, input.dtype);
  return astype(random::uniform(random::Key(seed), shape, -1.0, 1.0), input.dtype);
}

/// NAME=FILE.npy or NAME=NUMBER; a model's names may hold anything but =.
std::map<std::string, Tensor> bind(const ModelRequest& request, const Model& model) {
  std::map<std::string, Tensor> inputs;
  for (const std::string& argument : request.bindings) {
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    if (equals == std::string::npos || name.empty()) throw ValueError(fmt::format("'{}' is not of the form NAME=FILE.npy", argument));
    if (!inputs.emplace(name, load_npy(argument.substr(equals + 1), Location{})).second) throw ValueError(fmt::format("'{}' is given twice", name));
  }
  if (!request.random) return inputs;
  std::map<std::string, std::int64_t> sizes;
  for (const std::string& argument : request.sizes) {
    const std::size_t equals = argument.find('=');
    std::int64_t size = 0;
    const char *begin = argument.data() + std::min(equals + 1, argument.size()), *end = argument.data() + argument.size();
    if (equals == std::string::npos || std::from_chars(begin, end, size).ptr != end || begin == end || size < 0)
      throw ValueError(fmt::format("--size {}: not of the form NAME=8", argument));
    sizes[argument.substr(0, equals)] = size;
  }
  std::uint64_t seed = 0;
  for (const ModelValue& input : model.inputs())
    if (!inputs.contains(input.name)) inputs.emplace(input.name, made_up(input, sizes, ++seed));
  return inputs;
}

}  // namespace

int run_model(const ModelRequest& request) {
  apply_settings(request.device, request.backend, request.fuse);
  const Clock::time_point loading = Clock::now();
  const Model model = Model::load(request.file, {.rewrite = request.rewrite});
  const double load_ms = milliseconds(loading);
  if (request.check) return check(model, request.file);

  const std::map<std::string, Tensor> inputs = bind(request, model);
  const Counters before = counters();
  std::map<std::string, Tensor> results;
  std::vector<double> times;
  for (int i = 0; i < std::max(request.time, 1); ++i) {
    results.clear();
    const Clock::time_point start = Clock::now();
    results = model.run(inputs);
    synchronize();
    times.push_back(milliseconds(start));
  }
  const Counters after = counters();

  if (!request.out.empty()) {
    std::filesystem::create_directories(request.out);
    for (const auto& [name, tensor] : results) {
      const std::string path = (std::filesystem::path(request.out) / file_name(name)).string();
      save_npy(path, tensor);
      fmt::print("wrote {}\n", path);
    }
  } else {
    for (const auto& [name, tensor] : results) fmt::print("{}  {} {}\n{}\n", name, sinter::name(tensor.dtype()), to_string(tensor.shape()), to_string(tensor));
  }
  if (request.time > 0) {
    fmt::print("load    {:10.3f} ms\nfirst   {:10.3f} ms   {} compiled, {} from disk\n", load_ms, times.front(), after.kernels_compiled - before.kernels_compiled,
               after.kernels_from_disk - before.kernels_from_disk);
    std::vector<double> rest(times.begin() + 1, times.end());
    std::sort(rest.begin(), rest.end());
    if (!rest.empty()) fmt::print("min     {:10.3f} ms\nmedian  {:10.3f} ms   ({} more)\n", rest.front(), rest[rest.size() / 2], rest.size());
  }
  if (request.explain) {
    std::vector<Tensor> all;
    for (const auto& [name, tensor] : results) all.push_back(tensor);
    print_explanation(explain(all));
  }
  return 0;
}

}  // namespace sinter::tools
