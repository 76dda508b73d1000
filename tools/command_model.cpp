// sinter run, check, compile, explain, cache warm: trained models, or their plans, on .npy files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>

#include "command_plan.hpp"
#include "commands.hpp"
#include "progress.hpp"
#include "sinter/counted.hpp"
#include "sinter/freeze_model.hpp"
#include "sinter/model.hpp"
#include "sinter/profile.hpp"
#include "sinter/sinter.hpp"

namespace sinter::tools {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::time_point since) { return std::chrono::duration<double, std::milli>(Clock::now() - since).count(); }

void print_values(const char* title, const std::vector<ModelValue>& values) {
  for (const ModelValue& value : values) fmt::print("{:<8} {}\n", title, to_string(value));
}

void print_rewrites(const Model& model) {
  fmt::print("nodes    {} in the file, {} after the rewrites\n", model.nodes_in_file(), model.nodes());
  for (const Rewrite& rewrite : model.rewrites())
    if (rewrite.count > 0) fmt::print("rewrite  {} x {}: {}\n", rewrite.name, rewrite.count, rewrite.what);
}

/// Prints the model's properties, and the operators that sinter lacks.
int check(const Model& model, const std::string& file) {
  print_values("input", model.inputs());
  print_values("output", model.outputs());
  print_rewrites(model);
  const std::vector<MissingOperator> missing = model.missing();
  for (const MissingOperator& op : missing) fmt::print("missing  {}: {}, the first is {}\n", op.op, counted(op.nodes, "node"), op.first);
  if (missing.empty()) fmt::print("{}: sinter has every operator\n", file);
  return missing.empty() ? 0 : 1;
}

/// Returns a file name for an output, whose own name may contain characters that file names may not.
std::string file_name(const std::string& output) {
  std::string name = output;
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '/' || c == ':' || c == '\\' || static_cast<unsigned char>(c) < 32; }, '_');
  return name + ".npy";
}

/// Returns random numbers of the input's type: floats between -1 and 1, and zeros for integers, because these are often positions in a table.
Tensor made_up(const ModelValue& input, const std::map<std::string, std::int64_t>& sizes, std::uint64_t seed) {
  if (!input.shape) throw ValueError(fmt::format("the input {} has no shape, so random numbers cannot be made for it", to_string(input)));
  Shape shape;
  for (const ModelSize& size : *input.shape) {
    const auto given = sizes.find(size.symbol);
    if (!size.size && given == sizes.end()) throw ValueError(fmt::format("the input {} needs a size: --size {}=1", to_string(input), size.symbol));
    shape.push_back(size.size ? *size.size : given->second);
  }
  if (!is_floating(input.dtype)) return zeros(shape, input.dtype);
  return astype(random::uniform(random::Key(seed), shape, -1.0, 1.0), input.dtype);
}

bool is_prime(std::int64_t number) {
  for (std::int64_t by = 2; by * by <= number; ++by)
    if (number % by == 0) return false;
  return number > 1;
}

/// Returns sizes to plan for, so that a plan is valid for every size from low to high: the smallest ones, which have separate plans, and others about a
/// factor of eight apart. The others are distinct primes, because planning would treat equal sizes of a model as one.
std::vector<std::int64_t> sizes_between(std::int64_t low, std::int64_t high, std::set<std::int64_t>& taken) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t near = high; near > 1; near /= 8) {
    std::int64_t size = near;
    while (size > 1 && (!is_prime(size) || taken.contains(size))) --size;
    if (size > 1 && (size >= low || sizes.empty())) taken.insert(size), sizes.push_back(size);
    if (near / 8 < low) break;
  }
  if (low <= 1) sizes.push_back(1);
  if (low <= 0) sizes.push_back(0);
  return sizes;
}

/// A range of --size NAME=1..64.
struct SizeRange {
  std::string name;
  std::int64_t low, high;
};

/// --size NAME=8, NAME=1,8, NAME=1..64. `ranges` receives the ranges, whose sizes to plan for are in the result.
std::map<std::string, std::vector<std::int64_t>> sizes_of(const ModelRequest& request, std::vector<SizeRange>* ranges = nullptr) {
  std::map<std::string, std::vector<std::int64_t>> sizes;
  std::set<std::int64_t> taken;
  for (const std::string& argument : request.sizes) {
    const auto refuse = [&] { return ValueError(fmt::format("--size {}: not of the form NAME=8, NAME=1,8 or NAME=1..64", argument)); };
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos) throw refuse();
    auto& list = sizes[argument.substr(0, equals)];
    const char *next = argument.data() + equals, *end = argument.data() + argument.size();
    while (next != end) {
      std::int64_t size = 0, last = 0;
      auto [stop, error] = std::from_chars(++next, end, size);
      if (error != std::errc() || size < 0) throw refuse();
      if (std::string_view(stop, static_cast<std::size_t>(end - stop)).starts_with("..")) {
        const auto [after, no_number] = std::from_chars(stop + 2, end, last);
        if (no_number != std::errc() || last < size) throw refuse();
        const std::vector<std::int64_t> between = sizes_between(size, last, taken);
        list.insert(list.end(), between.begin(), between.end());
        if (ranges) ranges->push_back({argument.substr(0, equals), size, last});
        stop = after;
      } else {
        list.push_back(size);
      }
      if (stop != end && *stop != ',') throw refuse();
      next = stop;
    }
    if (list.empty()) throw refuse();
  }
  return sizes;
}

/// Returns every choice of one size for each name of the model's inputs.
std::vector<std::map<std::string, std::int64_t>> combinations(const std::map<std::string, std::vector<std::int64_t>>& sizes, const Model& model) {
  std::vector<std::map<std::string, std::int64_t>> all(1);
  for (const auto& [name, list] : sizes) {
    const auto has = [&, &name = name](const ModelValue& input) {
      return input.shape && std::any_of(input.shape->begin(), input.shape->end(), [&](const ModelSize& size) { return size.symbol == name; });
    };
    const std::vector<ModelValue>& inputs = model.inputs();
    if (std::none_of(inputs.begin(), inputs.end(), has)) continue;  // the name belongs to another model of the command line
    std::vector<std::map<std::string, std::int64_t>> longer;
    for (const auto& chosen : all)
      for (const std::int64_t size : list) longer.emplace_back(chosen)[name] = size;
    all = std::move(longer);
  }
  return all;
}

/// Reads NAME=FILE.npy or NAME=NUMBER; a model's names may contain anything but =.
std::map<std::string, Tensor> tensors_by_name(const std::vector<std::string>& arguments) {
  std::map<std::string, Tensor> tensors;
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    if (equals == std::string::npos || name.empty()) throw ValueError(fmt::format("'{}' is not of the form NAME=FILE.npy or NAME=NUMBER", argument));
    const char *from = argument.data() + equals + 1, *end = argument.data() + argument.size();
    double number = 0;
    const auto [stop, error] = std::from_chars(from, end, number);
    const bool is_number = error == std::errc() && stop == end;
    if (!tensors.emplace(name, is_number ? Tensor(number) : load_npy(from, Location{})).second) throw ValueError(fmt::format("'{}' is given twice", name));
  }
  return tensors;
}

/// `sizes`: the sizes of random inputs, unless the request gives others. If an input's sizes are known, a number gives all its elements this value.
std::map<std::string, Tensor> inputs_by_name(const ModelRequest& request, const std::vector<ModelValue>& values, std::map<std::string, std::int64_t> sizes) {
  std::map<std::string, Tensor> inputs = tensors_by_name(request.bindings);
  for (const auto& [name, tensor] : inputs)
    if (std::none_of(values.begin(), values.end(), [&](const ModelValue& input) { return input.name == name; })) {
      std::vector<std::string> known;
      for (const ModelValue& input : values) known.push_back(to_string(input));
      throw ValueError(
          fmt::format("{} has no input '{}'; its inputs are {}", request.file, name, known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
    }
  for (const ModelValue& input : values) {
    const auto given = inputs.find(input.name);
    const auto known = [](const ModelSize& size) { return size.size.has_value(); };
    if (given == inputs.end() || given->second.ndim() > 0 || !input.shape || !std::all_of(input.shape->begin(), input.shape->end(), known)) continue;
    Shape shape;
    for (const ModelSize& size : *input.shape) shape.push_back(*size.size);
    given->second = broadcast_to(astype(given->second, input.dtype), shape);
  }
  if (!request.random) return inputs;
  for (const auto& [name, list] : sizes_of(request)) sizes[name] = list.front();
  std::uint64_t seed = 0;
  for (const ModelValue& input : values)
    if (!inputs.contains(input.name)) inputs.emplace(input.name, made_up(input, sizes, ++seed));
  for (const auto& [name, tensor] : inputs) eval(tensor);  // evaluated before anything is counted or timed
  return inputs;
}

}  // namespace

namespace {

ExplainOptions options_of(const ModelRequest& request) { return {.format = request.json ? Format::json : Format::text, .guards = request.shown.guards}; }

/// Returns whether the file is a plan, by its first bytes.
bool is_plan(const std::string& path) {
  char start[6] = {};
  std::ifstream(path, std::ios::binary).read(start, sizeof start);
  return std::string_view(start, sizeof start) == "snplan";
}

Model load_model(const ModelRequest& request) {
  if (is_plan(request.file)) throw ValueError(fmt::format("{} is a plan file, which already holds its kernels; this command takes a model", request.file));
  DType precision = DType::float32;
  for (const DType dtype : {DType::float64, DType::float16, DType::bfloat16})
    if (request.precision == name(dtype)) precision = dtype;
  return Model::load(request.file, {.rewrite = request.rewrite, .without = request.without, .precision = precision, .fixed = tensors_by_name(request.fixed)});
}

/// Loads a plan, and refuses the options that decide how it is compiled.
Function load_plan(const ModelRequest& request, bool with_sizes = true) {
  const std::tuple<bool, const char*, const char*> options[] = {
      {!request.precision.empty(), "--precision", "precision was"},
      {!request.rewrite, "--no-rewrite", "nodes were"},
      {!request.without.empty(), "--without", "nodes were"},
      {!request.fixed.empty(), "--set", "constants were"},
      {!request.fuse.empty(), "--fuse", "kernels were"},
      {!with_sizes && !request.sizes.empty(), "--size", "sizes were"},
  };
  for (const auto& [given, option, what] : options)
    if (given)
      throw ValueError(
          fmt::format("{0} has no effect on {1}: it is a plan, whose {2} fixed when it was compiled; give {0} to sinter compile", option, request.file, what));
  return Function::load(request.file, Location{});
}

/// Refuses a name of --size that no input's shape has.
void refuse_unknown_sizes(const ModelRequest& request, const std::set<std::string>& known) {
  for (const auto& [name, list] : sizes_of(request))
    if (!known.contains(name))
      throw ValueError(fmt::format("--size {}: no input has a size of this name; {}", name,
                                   known.empty() ? "their sizes are fixed" : fmt::format("the names are {}", fmt::join(known, ", "))));
}

void add_size_names(std::set<std::string>& names, const std::vector<ModelValue>& inputs) {
  for (const ModelValue& input : inputs)
    for (std::size_t axis = 0; input.shape && axis < input.shape->size(); ++axis)
      if (const ModelSize& size = (*input.shape)[axis]; !size.size) names.insert(size.symbol);
}

/// A model or a plan: both take inputs by name.
struct Runnable {
  std::vector<ModelValue> inputs;
  std::map<std::string, std::int64_t> sizes;  // the sizes of its first plan
  std::function<std::map<std::string, Tensor>(const std::map<std::string, Tensor>&)> run;
  std::function<std::string(const std::map<std::string, Tensor>& results, const ExplainOptions& options)> explain;
};

Runnable runnable(const Model& model, const ModelRequest& request) {
  const auto said = sizes_of(request);
  auto sizes = usual_sizes(model, said);
  if (request.random && !sizes.empty()) {
    try {
      std::vector<Tensor> inputs;
      for (const auto& [name, list] : said) sizes[name] = list.front();
      for (const ModelValue& input : model.inputs()) inputs.push_back(made_up(input, sizes, 1));
      model(inputs, {});
    } catch (const ShapeError&) {  // the same choice as in freeze()
      sizes = usual_sizes(model, said, true);
    }
  }
  return {model.inputs(), sizes, [model](const auto& inputs) { return model.run(inputs, {}); },
          [](const std::map<std::string, Tensor>& results, const ExplainOptions& options) {
            std::vector<Tensor> all;
            for (const auto& [name, tensor] : results) all.push_back(tensor);
            return explain(all, options);
          }};
}

std::vector<ModelValue> inputs_of(const Function& function) {
  std::vector<ModelValue> values;
  for (const InputSpec& spec : function.inputs()) {
    ModelValue& value = values.emplace_back(ModelValue{spec.name, spec.dtype, std::vector<ModelSize>()});
    for (const AxisSize& axis : spec.shape) value.shape->push_back(axis.name.empty() ? ModelSize{axis.size, {}} : ModelSize{{}, axis.name});
  }
  return values;
}

Runnable runnable(const Function& function) {
  std::map<std::string, std::int64_t> sizes;
  for (const InputSpec& spec : function.inputs())
    for (const AxisSize& axis : spec.shape)
      if (!axis.name.empty()) sizes[axis.name] = axis.size;
  return {inputs_of(function), sizes,
          [function](const std::map<std::string, Tensor>& inputs) {
            std::vector<Tensor> ordered;
            for (const InputSpec& spec : function.inputs()) {
              const auto given = inputs.find(spec.name);
              if (given == inputs.end()) throw ValueError(fmt::format("the input {} is not given", to_string(spec)));
              ordered.push_back(given->second);
            }
            const std::vector<Tensor> results = function(ordered, Location{});
            std::map<std::string, Tensor> named;
            for (std::size_t k = 0; k < results.size(); ++k) named.emplace(function.outputs()[k], results[k]);
            return named;
          },
          [function](const auto&, const ExplainOptions& options) { return function.explain(options); }};
}

/// Freezes a model at the sizes of its inputs. Returns nothing for a model that has to be recorded at each call, because it depends on elements of its inputs.
std::optional<Runnable> frozen(const Model& model, const std::map<std::string, Tensor>& inputs) {
  std::map<std::string, std::vector<std::int64_t>> sizes;
  for (const ModelValue& input : model.inputs())
    for (std::size_t axis = 0; input.shape && axis < input.shape->size(); ++axis)
      if (const ModelSize& size = (*input.shape)[axis]; !size.size) sizes[size.symbol] = {inputs.at(input.name).size(static_cast<int>(axis))};
  try {
    Runnable made = runnable(freeze(model, sizes, Location{}));
    made.run(inputs);
    return made;
  } catch (const Error&) {  // the recorded model runs
    return {};
  }
}

/// Prints the sizes that a loaded function serves.
void print_served(const Function& function) {
  const std::vector<std::string> serves = function.serves(), limits = function.limits();
  for (std::size_t k = 0; k < serves.size(); ++k) {
    fmt::print("serves   {}\n", serves[k]);
    std::istringstream lines(limits[k]);
    for (std::string line; std::getline(lines, line);) fmt::print("         {}\n", line);
  }
  constexpr std::size_t kShown = 3;
  const std::vector<std::string> missing = function.missing();
  for (std::size_t k = 0; k < std::min(kShown, missing.size()); ++k) fmt::print("missing  {}\n", missing[k]);
  if (missing.size() > kShown) fmt::print("missing  {} without a plan\n", counted(missing.size() - kShown, "more path is", "more paths are"));
}

int check(const Function& function, const std::string& file) {
  print_values("input", inputs_of(function));
  for (const std::string& output : function.outputs()) fmt::print("{:<8} {}\n", "output", output);
  print_served(function);
  fmt::print("{}: {}\n", file, counted(function.plans(), "plan"));
  return 0;
}

void print_figures(const Function& function) {
  for (const FrozenFigures& one : function.figures()) {
    std::string sizes;
    for (const auto& [axis, size] : one.sizes) sizes += fmt::format("{}={} ", axis, size);
    fmt::print("plan     {}{}, {}; memory of intermediate values {}, at least {} live at once, {} without reuse\n", sizes, counted(one.kernels, "kernel"),
               counted(one.library_calls, "library call"), readable_bytes(one.arena_bytes), readable_bytes(one.least_bytes), readable_bytes(one.apart_bytes));
  }
}

/// Plans for the requested sizes. `chosen_sizes` receives the sizes that were chosen for other names. `single`: if no size was requested, also plans for a
/// batch of one, which needs a separate plan.
Function planned(const ModelRequest& request, const Model& model, bool single, std::string& chosen_sizes) {
  CompilingShown bar;
  const auto sizes = sizes_of(request);
  const auto frozen = [&] {
    const auto all = combinations(sizes, model);
    auto first = sizes;
    for (auto& [name, list] : first) list.resize(1);
    bar.part(0, all.size());
    const Function function = freeze(model, first, Location{});
    for (std::size_t k = 1; k < all.size(); ++k) {
      bar.part(k, all.size());
      function.prepare(all[k], Location{});
    }
    return function;
  };
  std::vector<std::string> unsaid;
  for (const ModelValue& input : model.inputs())
    for (std::size_t axis = 0; input.shape && axis < input.shape->size(); ++axis) {
      const ModelSize& size = (*input.shape)[axis];
      const std::string& name = size.symbol;
      if (!size.size && !sizes.contains(name) && std::find(unsaid.begin(), unsaid.end(), name) == unsaid.end()) unsaid.push_back(name);
    }
  if (unsaid.empty()) return frozen();
  const std::string advice = fmt::format("choose sizes by --size {0}=8, {0}=1,8 or {0}=1..64", unsaid[0]);
  try {
    const Function function = frozen();
    std::map<std::string, std::string> chosen;
    for (const InputSpec& spec : function.inputs())
      for (const AxisSize& axis : spec.shape) chosen[axis.name] = fmt::format("{} = {}", axis.name, axis.size);
    const AxisSize* batch = function.inputs().front().shape.empty() ? nullptr : &function.inputs().front().shape.front();
    if (single && sizes.empty() && batch && !batch->name.empty()) {
      try {
        function.prepare({{batch->name, 1}}, Location{});
        chosen[batch->name] += " and 1";
      } catch (const ShapeError&) {  // the model refuses a size of one
      }
    }
    std::vector<std::string> list;
    for (const std::string& name : unsaid) list.push_back(chosen[name]);
    chosen_sizes = fmt::format("sizes    planned for {}, because no sizes were given: {}\n", fmt::join(list, ", "), advice);
    return function;
  } catch (const ShapeError& error) {
    throw ShapeError(fmt::format("{}; no size was given for {}: {}", error.what(), fmt::join(unsaid, ", "), advice));
  }
}

/// Returns the sizes of a range that no plan of a file serves while the other names have their planned sizes. Of a long range it tries every n-th.
std::vector<std::int64_t> unserved(const Function& file, const SizeRange& range) {
  std::vector<std::int64_t> missing;
  const std::int64_t step = std::max<std::int64_t>(1, (range.high - range.low) >> 16);
  for (std::int64_t size = range.low; size <= range.high; size += step)
    if (!file.has_plan_for({{range.name, size}})) missing.push_back(size);
  return missing;
}

/// Makes the plans that a range of sizes lacks, for a model whose operations differ from size to size, and writes the file again.
void cover_ranges(const Function& function, const ModelRequest& request) {
  constexpr std::size_t kMostPlans = 64;
  std::vector<SizeRange> ranges;
  sizes_of(request, &ranges);
  if (ranges.empty()) return;
  const Function file = Function::load(request.out, Location{});
  bool made = false;
  for (const SizeRange& range : ranges) {
    const std::vector<std::int64_t> missing = unserved(file, range);
    if (missing.size() > kMostPlans) {
      fmt::print("missing  {} = {} and {} more: they would need a plan each; --size {}=SIZE,SIZE names those that are needed\n", range.name, missing.front(),
                 counted(missing.size() - 1, "size"), range.name);
      continue;
    }
    for (const std::int64_t size : missing) function.prepare({{range.name, size}}, Location{});
    made |= !missing.empty();
  }
  if (made) function.save(request.out, Location{});
}

}  // namespace

int compile_model(const ModelRequest& request) {
  apply_settings(request.device, request.backend, request.fuse);
  const Clock::time_point start = Clock::now();
  const Counters before = counters();
  std::string sizes;
  const Function function = planned(request, load_model(request), true, sizes);
  function.save(request.out, Location{});
  cover_ranges(function, request);
  fmt::print("{}", sizes);
  const double took = milliseconds(start);
  const Counters after = counters();
  print_figures(function);
  print_served(Function::load(request.out, Location{}));
  fmt::print("wrote {}: {}, {}, in {:.0f} ms; {} compiled, {} from disk\n", request.out, readable_bytes(std::filesystem::file_size(request.out)),
             counted(function.plans(), "plan"), took, counted(after.kernels_compiled - before.kernels_compiled, "kernel"),
             after.kernels_from_disk - before.kernels_from_disk);
  if (request.explain) print_explanation(function.explain(options_of(request)));
  return 0;
}

int explain_model(const ModelRequest& request) {
  apply_settings(request.device, request.backend, request.fuse);
  if (is_plan(request.file)) {
    const Function function = load_plan(request, false);
    write_pictures(request.shown, [&](Format format) { return function.explain({.format = format}); });
    if (!request.json) check(function, request.file);
    print_explanation(function.explain(options_of(request)));
    return 0;
  }
  const Model model = load_model(request);
  std::string sizes;
  const Function function = planned(request, model, false, sizes);
  write_pictures(request.shown, [&](Format format) { return function.explain({.format = format}); });
  if (request.json) {
    print_explanation(function.explain(options_of(request)));
    return 0;
  }
  fmt::print("{}", sizes);
  print_values("input", model.inputs());
  print_values("output", model.outputs());
  print_rewrites(model);
  print_figures(function);
  for (const FrozenFigures& one : function.figures())
    fmt::print("launches {} {}, {:.1f} in each\nmoves    {:.1f} MB, {:.1f} MB with a launch for each operation ({:.1f}x)\n",
               counted(one.kernels + one.library_calls, "step computes", "steps compute"), counted(one.operations, "operation"),
               one.operations / static_cast<double>(std::max(one.kernels + one.library_calls, 1)), one.bytes_moved / 1e6, one.bytes_unfused / 1e6,
               one.bytes_unfused / std::max(one.bytes_moved, 1.0));
  print_explanation(function.explain(options_of(request)));
  return 0;
}

int check_models(const ModelRequest& request, const std::vector<std::string>& files) {
  Progress bar;
  int bad = 0;
  for (std::size_t k = 0; k < files.size(); ++k) {
    ModelRequest one = request;
    one.file = files[k];
    if (files.size() > 1) bar.show(static_cast<double>(k) / static_cast<double>(files.size()), one.file);
    const auto answer = [&] {
      if (is_plan(one.file)) {
        const Function function = load_plan(one);
        bar.clear();
        return check(function, one.file);
      }
      const Model model = load_model(one);
      bar.clear();
      return check(model, one.file);
    };
    if (files.size() == 1) return answer();
    try {
      bad += answer() != 0;
    } catch (const Error& error) {  // continues with the other models
      bar.clear();
      fmt::print("{}: {}\n", one.file, error.what());
      ++bad;
    }
  }
  fmt::print("{} of {} models can be run\n", files.size() - static_cast<std::size_t>(bad), files.size());
  return bad == 0 ? 0 : 1;
}

int warm_cache(const ModelRequest& request, const std::vector<std::string>& files) {
  apply_settings(request.device, request.backend);
  if (const std::string reason = cache::DiskCache(cache_settings()).disabled_reason(); !reason.empty())
    throw ValueError(fmt::format("the disk cache is off: {}", reason));
  std::set<std::string> names;
  for (std::size_t k = 0; k < files.size(); ++k) {
    ModelRequest one = request;
    one.file = files[k];
    const Counters before = counters();
    std::size_t planned = 0;
    {
      CompilingShown bar;
      bar.part(k, files.size());
      const Model model = load_model(one);
      add_size_names(names, model.inputs());
      if (k + 1 == files.size()) refuse_unknown_sizes(request, names);
      const auto all = combinations(sizes_of(one), model);
      for (const auto& sizes : all) {
        bar.part(k * all.size() + planned, files.size() * all.size(), files.size() > 1 ? fmt::format("{} of {} models", k + 1, files.size()) : "");
        std::vector<Tensor> inputs;
        for (const ModelValue& input : model.inputs()) inputs.push_back(made_up(input, sizes, inputs.size() + 1));
        eval(inputs, Location{});
        explain(model(inputs, Location{}));  // plans and compiles like a run, but runs nothing
        ++planned;
      }
      synchronize();
    }
    const Counters after = counters();
    fmt::print("{}: {} made, {} from disk; {} compiled, {} from disk; for {} of sizes\n", one.file, counted(after.plans_made - before.plans_made, "plan"),
               after.plans_from_disk - before.plans_from_disk, counted(after.kernels_compiled - before.kernels_compiled, "kernel"),
               after.kernels_from_disk - before.kernels_from_disk, counted(planned, "set"));
  }
  return 0;
}

int run_model(const ModelRequest& request) {
  request.profile.check();
  request.shown.check(request.explain);
  for (const auto& [name, list] : sizes_of(request)) {
    if (!request.random) throw ValueError(fmt::format("--size {} has no effect without --random: the inputs that are given have their own sizes", name));
    if (list.size() > 1) throw ValueError(fmt::format("--size {}: run takes one size for each name; sinter compile takes several", name));
  }
  apply_settings(request.device, request.backend, request.fuse);
  const Clock::time_point loading = Clock::now();
  std::optional<Model> recorded;
  if (!is_plan(request.file)) recorded = load_model(request);
  Runnable model = recorded ? runnable(*recorded, request) : runnable(load_plan(request));
  std::set<std::string> names;
  add_size_names(names, model.inputs);
  refuse_unknown_sizes(request, names);
  const double load_ms = milliseconds(loading);

  std::optional<Timeline> timeline;
  if (!request.trace.empty()) timeline.emplace(request.trace);
  const std::map<std::string, Tensor> inputs = inputs_by_name(request, model.inputs, model.sizes);
  const Counters before = counters();
  std::optional<Profile> profile;
  if (request.profile.wanted() && request.time == 0) profile.emplace();
  std::vector<double> times;
  const auto run = [&] {
    const Clock::time_point start = Clock::now();
    std::map<std::string, Tensor> results = model.run(inputs);
    synchronize();
    times.push_back(milliseconds(start));
    return results;
  };
  const auto results = [&] {
    const CompilingShown shown;
    return run();
  }();
  const Counters after = counters();
  std::string freezing;
  if (recorded && request.time > 1) {  // a program that calls a model often freezes it
    const CompilingShown shown;
    const Clock::time_point start = Clock::now();
    if (std::optional<Runnable> made = frozen(*recorded, inputs)) {
      model = std::move(*made);
      freezing = fmt::format("freeze  {:10.3f} ms\n", milliseconds(start));
    }
  }
  while (std::ssize(times) < request.time) run();

  const bool for_programs = request.profile.format == "json";  // then the standard output must be only JSON
  std::FILE* const for_people = for_programs ? stderr : stdout;
  if (!request.out.empty()) {
    const std::filesystem::path folder(request.out);
    if (folder.has_parent_path() && !std::filesystem::is_directory(folder.parent_path()))
      throw IoError(fmt::format("-o {}: there is no folder {} to make it in", request.out, folder.parent_path().string()));
    if (!std::filesystem::is_directory(folder)) std::filesystem::create_directory(folder);
    for (const auto& [name, tensor] : results) {
      const std::string path = (std::filesystem::path(request.out) / file_name(name)).string();
      save_npy(path, tensor);
      fmt::print(for_people, "wrote {}\n", path);
    }
  } else if (!for_programs) {
    for (const auto& [name, tensor] : results) fmt::print("{}  {} {}\n{}\n", name, sinter::name(tensor.dtype()), to_string(tensor.shape()), to_string(tensor));
  }
  if (request.time > 0) {
    fmt::print(for_people, "load    {:10.3f} ms\nfirst   {:10.3f} ms   {} compiled, {} from disk\n", load_ms, times.front(),
               after.kernels_compiled - before.kernels_compiled, after.kernels_from_disk - before.kernels_from_disk);
    std::vector<double> rest(times.begin() + 1, times.end());
    std::sort(rest.begin(), rest.end());
    if (!rest.empty())
      fmt::print(for_people, "{}min     {:10.3f} ms\nmedian  {:10.3f} ms   ({} more)\n", freezing, rest.front(), rest[rest.size() / 2], rest.size());
  }
  if (request.profile.wanted()) print_profile(request.profile, profile, request.time, [&] { model.run(inputs); }, for_people);
  write_pictures(request.shown, [&](Format format) { return model.explain(results, {.format = format}); });
  if (request.explain) print_explanation(model.explain(results, options_of(request)), for_people);
  if (timeline) timeline->write();
  return 0;
}

}  // namespace sinter::tools
