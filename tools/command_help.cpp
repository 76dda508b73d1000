// sinter help FUNCTION, sinter functions: the table's description of a function, and its example with the computed result.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "expression.hpp"
#include "sinter/sinter.hpp"
#include "table/arguments.hpp"
#include "table/descriptions.hpp"

namespace sinter::tools {
namespace {

/// Returns whether a function's results are types or numbers that are known when a formula is recorded: it names types, or its example gives single numbers
/// without any computation.
bool is_known_at_once(std::string_view name, const std::vector<Tensor>& results, const nlohmann::json& plan) {
  constexpr std::string_view kTypes[] = {"common_type", "min_scalar_type", "promote_types", "result_type"};
  if (std::find(std::begin(kTypes), std::end(kTypes), name) != std::end(kTypes)) return true;
  return std::all_of(results.begin(), results.end(), [](const Tensor& result) { return result.ndim() == 0; }) &&
         std::all_of(plan.at("kernels").begin(), plan.at("kernels").end(),
                     [](const nlohmann::json& kernel) { return kernel.at("ops").empty() && kernel.at("inputs").empty(); });
}

/// Returns the plan of an elementwise operation on the example's first result.
nlohmann::json plan_of_reader(std::string_view example) {
  return nlohmann::json::parse(explain({astype(evaluate(example, {}).results.front(), DType::float64) + 1.5}, Format::json));
}

/// Returns a sentence about how a function is computed. It is derived from the plan of the function's example, and from the counters before, between and after
/// recording and computing the example.
std::string_view role_of(std::string_view name, std::string_view example, const std::vector<Tensor>& results, const Counters& before, const Counters& recorded,
                         const Counters& computed) {
  const bool library = computed.library_calls > before.library_calls;
  if (recorded.library_calls + recorded.kernels_launched > before.library_calls + before.kernels_launched)
    return library ? "Computed in part when it is recorded, by a library call: a step of its own, between kernels."
                   : "Computed in part when it is recorded, in steps of its own; the rest becomes part of the kernels around it.";
  const auto plan = nlohmann::json::parse(explain(results, Format::json)), more = plan_of_reader(example);
  const auto& calls = more.at("library_calls");
  const auto has_epilogue = [](const nlohmann::json& call) { return !call.at("epilogue").is_null(); };
  if (library && std::any_of(calls.begin(), calls.end(), has_epilogue))
    return "A step of its own: a library call computes it, between kernels; elementwise operations on its result can be its epilogue.";
  if (library) return "A step of its own: a library call computes it, between kernels.";
  if (plan.at("kernels").empty()) return "Recorded, but takes no work: it is index algebra, or a known value.";
  if (is_known_at_once(name, results, plan)) return "Known when the formula is recorded: no kernel computes it.";
  if (more.at("kernels").size() > plan.at("kernels").size()) return "A step of its own: its result is stored in memory.";
  return "Composed of primitives: becomes part of the kernels around it.";
}

}  // namespace

int run_help(std::string_view name) {
  // Returns a function's name in expressions: "np.sum", "np.linalg.norm".
  std::string_view module;
  for (std::string_view prefix : {"np.", "numpy."})
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  if (const std::size_t dot = name.rfind('.'); dot != std::string_view::npos) module = name.substr(0, dot), name.remove_prefix(dot + 1);
  const Function* function = find_member(module, name);
  if (!function) {
    std::vector<std::string_view> known;
    for (const Function& row : functions()) known.push_back(row.name);
    const std::string near = nearest(name, known);
    throw ValueError(
        fmt::format("unknown function '{}'{}", name, near.empty() ? "; `sinter help` lists commands and functions" : fmt::format(": did you mean {}?", near)));
  }
  fmt::print("{}({})\n", function->name, signature(parameters_of(*function)));
  if (const auto others = other_names(*function); !others.empty()) fmt::print("  also {}\n", fmt::join(others, ", "));
  const Description* description = find_description(*function);
  if (!description) return 0;
  Options settings = options();  // an example is small, so no compiler is loaded for it
  settings.device = "cpu";
  settings.backend = "interpreter";
  configure(settings);
  const Counters before = counters();
  const Evaluated evaluated = evaluate(description->example, {});
  const Counters recorded = counters();
  eval(evaluated.results);
  const Counters computed = counters();
  const std::string_view role = role_of(function->name, description->example, evaluated.results, before, recorded, computed);
  fmt::print("  {}\n  {}\n\n  $ sinter eval \"{}\"\n", description->text, role, description->example);
  for (const Tensor& result : evaluated.results) {
    std::string text = to_string(result);
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 3) text.insert(at + 1, "  ");
    fmt::print("  {}\n", text);
  }
  return 0;
}

int run_functions() {
  for (const Function& function : functions()) {
    const Description* description = find_description(function);
    fmt::print("{}({})\t{}\t{}\n", function.name, signature(parameters_of(function)), description ? description->text : "",
               fmt::join(other_names(function), ", "));
  }
  return 0;
}

}  // namespace sinter::tools
