// sinter tune: times the possible schedules of an expression's kernels, and stores the fastest for later processes.
#include <fmt/format.h>

#include "bindings.hpp"
#include "commands.hpp"
#include "progress.hpp"
#include "sinter/counted.hpp"
#include "sinter/sinter.hpp"
#include "sinter/tune.hpp"

namespace sinter::tools {
namespace {

/// Binds files and numbers. For a type and shape, makes elements of all sizes and signs, the same in each run.
Bindings bind_samples(const std::vector<std::string>& arguments) {
  std::vector<std::string> values, types;
  for (const std::string& argument : arguments) (argument.ends_with(']') ? types : values).push_back(argument);
  Bindings bindings = bind_values(values);
  for (const std::string& argument : values)  // the number of a size: B=512 of x=f32[B,1024]
    if (bindings.at(argument.substr(0, argument.find('='))).as<std::int64_t>()) types.push_back(argument);
  for (auto& [name, value] : bind_types(types).names) {
    if (const auto* wanted = value.as<Tensor>()) {
      const Tensor number = arange(wanted->size());
      Tensor sample = where(remainder(number, 7) == 0, -1.0, 0.37) * (remainder(number * 31, 97) - 48);
      sample = reshape(astype(sample, wanted->dtype()), wanted->shape());
      eval(Arg(sample, Location{}));
      value = Value{sample};
    }
    if (!bindings.emplace(name, value).second && value.as<Tensor>()) throw ValueError(fmt::format("'{}' is given twice", name));
  }
  return bindings;
}

}  // namespace

int run_tune(const TuneRequest& request) {
  apply_settings(request.device, request.backend);
  const Evaluated evaluated = evaluate(request.expression, bind_samples(request.bindings));
  warn_unused(evaluated.unused);
  Progress bar;
  const std::vector<TunedKernel> kernels = tune(evaluated.results, [&](double done, std::string_view kernel) { bar.show(done, kernel); });
  bar.clear();
  int stored = 0;
  for (const TunedKernel& kernel : kernels) {
    fmt::print("{}\n   chosen  {}\n", kernel.name, kernel.chosen);
    const std::string tried = counted(kernel.tried, "other schedule was", "other schedules were");
    if (kernel.stored) fmt::print("   best    {}\n   gain    {:.2f} times as fast; {} timed, the best is stored\n", kernel.best, 1 / kernel.ratio, tried);
    else fmt::print("   gain    none that can be measured; {} timed, none is stored\n", tried);
    stored += kernel.stored;
  }
  if (kernels.empty()) fmt::print("no kernel computes this expression, so there is nothing to tune\n");
  else if (stored > 0) fmt::print("{} stored in {}\n", counted(stored, "schedule"), cache_settings().directory.string());
  return 0;
}

}  // namespace sinter::tools
