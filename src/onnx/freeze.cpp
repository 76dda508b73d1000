// Implements sinter/freeze_model.hpp.
#include "sinter/freeze_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "onnx/naming.hpp"

namespace sinter {
namespace {

/// Returns a size for the k-th name without a requested size. If two names had the same size, or a size that occurs elsewhere in the model, planning would
/// treat them as one number. Primes seldom occur elsewhere. The sides of pictures, which networks halve several times, are primes times 32. Small sizes are for
/// models that refuse the usual ones, for example because a table of positions is short.
std::int64_t usual_size(std::size_t k, bool side, bool small) {
  constexpr std::int64_t kSizes[] = {41, 43, 47, 53, 59, 61}, kSmall[] = {5, 7, 11, 13, 17, 19}, kSides[] = {224, 352, 416, 544, 608, 736};
  k = std::min(k, std::size(kSizes) - 1);
  return side ? kSides[k] : small ? kSmall[k] : kSizes[k];
}

Function frozen(const Model& model, const std::map<std::string, std::vector<std::int64_t>>& sizes, const std::map<std::string, std::int64_t>& chosen,
                Location where) {
  std::vector<InputSpec> specs;
  std::map<std::string, std::vector<std::int64_t>> named;
  std::map<std::string, std::string> like;
  for (const ModelValue& input : model.inputs()) {
    if (!input.shape) throw ModelError(fmt::format("the input {} has no shape, so nothing can be planned{}", to_string(input), onnx::at(where)));
    InputSpec& spec = specs.emplace_back();
    spec.dtype = input.dtype;
    spec.name = input.name;
    std::set<std::string> in_input;
    for (const ModelSize& size : *input.shape) {
      if (size.size) {
        spec.shape.emplace_back(*size.size);
        continue;
      }
      // A name that occurs twice in one input may stand for other sizes. The later ones are named after their axes, and are planned with the first one's
      // size unless they are given.
      std::string axis = size.symbol;
      if (!in_input.insert(axis).second) {
        axis = fmt::format("{}.{}", input.name, spec.shape.size());
        if (const auto own = sizes.find(axis); own == sizes.end() || own->second.empty()) {
          like.emplace(axis, size.symbol);
          spec.shape.emplace_back(axis, named[size.symbol].front());
          continue;
        }
      }
      const auto given = sizes.find(axis);
      if (given != sizes.end() && !given->second.empty()) named[axis] = given->second;
      else named[axis] = {chosen.at(axis)};
      spec.shape.emplace_back(axis, named[axis].front());
    }
  }
  std::vector<std::string> unknown;
  for (const auto& [axis, list] : sizes)
    if (!named.contains(axis)) unknown.push_back(fmt::format("'{}'", axis));
  if (!unknown.empty()) {
    std::vector<std::string> known;
    for (const auto& [axis, list] : named) known.push_back(fmt::format("'{}'", axis));
    for (const auto& [axis, first] : like) known.push_back(fmt::format("'{}'", axis));
    throw ValueError(fmt::format("no input has a size called {}; {}{}", fmt::join(unknown, " or "),
                                 known.empty() ? "all sizes are numbers" : fmt::format("the sizes are {}", fmt::join(known, ", ")), onnx::at(where)));
  }
  std::vector<std::string> outputs;
  for (const ModelValue& output : model.outputs()) outputs.push_back(output.name);
  const Function function =
      sinter::freeze(Function::Formula([model, where](const std::vector<Tensor>& inputs) { return model(inputs, where); }), specs, std::move(outputs), where);
  // Returns all combinations of the sizes; the last name's size changes fastest.
  std::vector<std::map<std::string, std::int64_t>> combinations{{}};
  for (const auto& [axis, list] : named) {
    std::vector<std::map<std::string, std::int64_t>> longer;
    for (const auto& combination : combinations)
      for (const std::int64_t size : list) {
        longer.push_back(combination);
        longer.back()[axis] = size;
      }
    combinations = std::move(longer);
  }
  for (auto& combination : combinations) {
    for (const auto& [axis, first] : like) combination[axis] = combination.at(first);
    function.prepare(combination, where);
  }
  return function;
}

}  // namespace

std::map<std::string, std::int64_t> usual_sizes(const Model& model, const std::map<std::string, std::vector<std::int64_t>>& sizes, bool small) {
  std::map<std::string, std::int64_t> chosen;
  for (const ModelValue& input : model.inputs())
    for (std::size_t axis = 0; input.shape && axis < input.shape->size(); ++axis) {
      const ModelSize& size = (*input.shape)[axis];
      const auto said = sizes.find(size.symbol);
      if (size.size || (said != sizes.end() && !said->second.empty()) || chosen.contains(size.symbol)) continue;
      const bool side = is_floating(input.dtype) && input.shape->size() >= 4 && axis > 0;
      chosen.emplace(size.symbol, usual_size(chosen.size(), side, small));
    }
  return chosen;
}

Function freeze(const Model& model, const std::map<std::string, std::vector<std::int64_t>>& sizes, Location where) {
  const auto chosen = usual_sizes(model, sizes);
  try {
    return frozen(model, sizes, chosen, where);
  } catch (const ShapeError&) {
    if (chosen.empty()) throw;
  }
  return frozen(model, sizes, usual_sizes(model, sizes, true), where);
}

}  // namespace sinter
