// sinter kernels: plan, generate and compile for a target, with no data and no GPU.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "bindings.hpp"
#include "commands.hpp"
#include "sinter/sinter.hpp"

namespace sinter::tools {
namespace {

using Letters = decltype(TypeBindings::letters);

const std::string* letter_of(const Letters& letters, std::int64_t size) {
  for (const auto& [letter, value] : letters)
    if (value == size) return &letter;
  return nullptr;
}

/// "float32 (1024, 64)" -> "float32 (B, 64)"
std::string with_named_shapes(const std::string& line, const Letters& letters) {
  static const std::regex shape(R"((bool|u?int\d+|b?float\d+) \(([0-9, ]+)\))"), number(R"(\d+)");
  std::string text;
  auto rest = line.cbegin();
  for (std::sregex_iterator found(line.cbegin(), line.cend(), shape), none; found != none; ++found) {
    const std::string sizes = (*found)[2];
    text.append(rest, (*found)[2].first);
    auto at = sizes.cbegin();
    for (std::sregex_iterator size(sizes.cbegin(), sizes.cend(), number); size != std::sregex_iterator(); ++size) {
      text.append(at, (*size)[0].first);
      const std::string* letter = letter_of(letters, std::stoll((*size)[0]));
      text += letter ? *letter : std::string((*size)[0]);
      at = (*size)[0].second;
    }
    text.append(at, sizes.cend());
    rest = (*found)[2].second;
  }
  return text.append(rest, line.cend());
}

/// The guards of a plan over the letters' names, all of them: what its sizes may be.
std::string holds_text(const nlohmann::json& plan, const Letters& letters) {
  std::vector<std::string> planned, guards;
  std::vector<std::pair<std::regex, std::string>> names;
  for (const auto& size : plan.at("sizes")) {
    const std::string symbol = size.at("name");
    const std::int64_t value = size.at("value");
    const std::string* letter = letter_of(letters, value);
    if (letter) names.emplace_back(std::regex("\\b" + symbol + "\\b"), *letter);
    planned.push_back(fmt::format("{}={}", letter ? *letter : symbol, value));
  }
  for (std::string guard : plan.at("guards")) {
    for (const auto& [symbol, letter] : names) guard = std::regex_replace(guard, symbol, letter);
    guards.push_back(std::move(guard));
  }
  return fmt::format("planned for {}; holds {}\n", fmt::join(planned, ", "),
                     guards.empty() ? "for all sizes" : fmt::format("where {}", fmt::join(guards, ", ")));
}

std::string named(const std::string& text, const nlohmann::json& json, const Letters& letters) {
  std::string result;
  std::size_t plan = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const std::string line = text.substr(begin, end - begin);
    result += line.starts_with("planned for ") ? holds_text(json.at("plans").at(plan++), letters) : with_named_shapes(line, letters);
    begin = end;
  }
  return result;
}

}  // namespace

int run_kernels(const KernelsRequest& request) {
  const TypeBindings bindings = bind_types(request.bindings);
  Evaluated evaluated = evaluate(request.expression, bindings.names);
  std::erase_if(evaluated.unused, [&](const std::string& name) { return bindings.letters.contains(name); });
  warn_unused(evaluated.unused);
  std::string text = explain(evaluated.results, request.json ? Format::json : Format::text, request.target);
  if (!request.json && !bindings.letters.empty())
    text = named(text, nlohmann::json::parse(explain(evaluated.results, Format::json, request.target)), bindings.letters);
  print_explanation(text);
  if (request.dump.empty()) return 0;
  for (const std::string& path : dump_kernels(evaluated.results, request.dump, request.target)) fmt::print(request.json ? stderr : stdout, "wrote {}\n", path);
  return 0;
}

}  // namespace sinter::tools
