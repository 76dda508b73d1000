// --profile: the time of each step, as text or JSON, and what changed since an earlier profile.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "sinter/errors.hpp"

namespace sinter::tools {
namespace {

using nlohmann::json;

struct Fastest {
  double seconds = 0;
  std::string from;
};

/// The fastest run of each step at each size, by kind and name.
std::map<std::string, Fastest> fastest_runs(const json& profile) {
  std::map<std::string, Fastest> runs;
  for (const json& step : profile.at("steps"))
    for (const json& size : step.at("sizes"))
      runs[fmt::format("{}{}", step.at("kind") == "interpret" ? "(interpreted) " : "", size.at("name").get<std::string>())] = {size.at("fastest"),
                                                                                                                               step.at("from")};
  return runs;
}

json read_profile(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw IoError(fmt::format("--since {}: the file cannot be read", path));
  json profile = json::parse(file, nullptr, false);
  if (!profile.is_object() || !profile.contains("schema") || !profile.contains("steps"))
    throw ValueError(fmt::format("--since {}: not the output of --profile=json", path));
  if (profile["schema"] != 1) throw ValueError(fmt::format("--since {}: schema {} is of another version of sinter", path, profile["schema"].dump()));
  return profile;
}

/// A line for each step, the largest difference first: its fastest runs then and now.
void print_changes(const json& then_all, const json& now_all) {
  const auto then = fastest_runs(then_all), now = fastest_runs(now_all);
  std::vector<std::pair<double, std::string>> lines;
  const auto add = [&](const std::string& name, const Fastest* before, const Fastest* after) {
    const auto text = [](const Fastest* run) { return run ? fmt::format("{:.1f}", 1e6 * run->seconds) : "-"; };
    const std::string change = !before ? "new" : !after ? "gone" : fmt::format("{:.2f} x", after->seconds / std::max(before->seconds, 1e-9));
    const std::string& from = (after ? after : before)->from;
    lines.emplace_back(-std::abs((after ? after->seconds : 0) - (before ? before->seconds : 0)),
                       fmt::format("{:>10} {:>10} {:>8}  {}{}\n", text(before), text(after), change, name, from.empty() ? "" : ", from " + from));
  };
  for (const auto& [name, run] : now) add(name, then.contains(name) ? &then.at(name) : nullptr, &run);
  for (const auto& [name, run] : then)
    if (!now.contains(name)) add(name, &run, nullptr);
  std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  fmt::print("{:>10} {:>10} {:>8}  {}\n", "then us", "now us", "change", "step (its fastest run)");
  for (const auto& [difference, line] : lines) fmt::print("{}", line);
}

}  // namespace

void print_profile(const ProfileRequest& request, std::optional<Profile>& profile, int times, const std::function<void()>& run) {
  json then;
  if (!request.since.empty()) then = read_profile(request.since);
  if (profile) profile->restart();
  else profile.emplace();
  for (int i = 0; i < (times > 0 ? times : 10); ++i) run();
  synchronize();
  if (request.format == "json") fmt::print("{}\n", to_json(*profile));
  else if (!request.format.empty()) fmt::print("{}", to_string(*profile));
  if (!request.since.empty()) print_changes(then, json::parse(to_json(*profile)));
  profile.reset();
}

}  // namespace sinter::tools
