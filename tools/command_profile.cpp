// --profile: the time of each step, as text or JSON, and what changed since an earlier profile.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "commands.hpp"
#include "sinter/errors.hpp"

namespace sinter::tools {
namespace {

using nlohmann::json;

struct Fastest {
  double seconds = 0;
  std::string from;
};
using Runs = std::map<std::string, Fastest>;

/// Returns the fastest run of each step at each size, by kind and name.
Runs fastest_runs(const json& profile) {
  Runs runs;
  for (const json& step : profile.at("steps"))
    for (const json& size : step.at("sizes"))
      runs[fmt::format("{}{}", step.at("kind").get<std::string>() == "interpret" ? "(interpreted) " : "", size.at("name").get<std::string>())] = {
          size.at("fastest").get<double>(), step.at("from").get<std::string>()};
  return runs;
}

Runs earlier_runs(const std::string& path) {
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path)) throw IoError(fmt::format("--since {}: the file cannot be read", path));
  std::stringstream text;
  text << file.rdbuf();
  const json profile = json::parse(text.str(), nullptr, false);
  try {
    if (const json& schema = profile.at("schema"); schema != 1)
      throw ValueError(fmt::format("--since {}: schema {} is of another version of sinter", path, schema.dump()));
    return fastest_runs(profile);
  } catch (const json::exception&) {
    throw ValueError(fmt::format("--since {}: not the output of --profile=json", path));
  }
}

/// A step's fastest runs in two profiles. A run is null if the step is not in that profile.
struct Change {
  std::string name;
  const Fastest *then, *now;
  double difference() const { return std::abs((now ? now->seconds : 0) - (then ? then->seconds : 0)); }
  const std::string& from() const { return (now ? now : then)->from; }
};

/// Returns the changes between two profiles, the largest difference first.
std::vector<Change> changes(const Runs& then, const Runs& now) {
  std::vector<Change> all;
  for (const auto& [name, run] : now) all.push_back({name, then.contains(name) ? &then.at(name) : nullptr, &run});
  for (const auto& [name, run] : then)
    if (!now.contains(name)) all.push_back({name, &run, nullptr});
  std::stable_sort(all.begin(), all.end(), [](const Change& a, const Change& b) { return a.difference() > b.difference(); });
  return all;
}

void print_changes(const std::vector<Change>& all, std::FILE* to) {
  fmt::print(to, "{:>10} {:>10} {:>8}  {}\n", "then us", "now us", "change", "step (its fastest run)");
  const auto text = [](const Fastest* run) { return run ? fmt::format("{:.1f}", 1e6 * run->seconds) : "-"; };
  for (const Change& one : all)
    fmt::print(to, "{:>10} {:>10} {:>8}  {}{}\n", text(one.then), text(one.now),
               !one.then  ? "new"
               : !one.now ? "gone"
                          : fmt::format("{:.2f} x", one.now->seconds / std::max(one.then->seconds, 1e-9)),
               one.name, one.from().empty() ? "" : ", from " + one.from());
}

json changes_json(const std::vector<Change>& all) {
  json list = json::array();
  const auto seconds = [](const Fastest* run) { return run ? json(run->seconds) : json(); };
  for (const Change& one : all) list.push_back({{"step", one.name}, {"from", one.from()}, {"then", seconds(one.then)}, {"now", seconds(one.now)}});
  return list;
}

}  // namespace

void ProfileRequest::check() const {
  if (!since.empty()) earlier_runs(since);
}

void print_profile(const ProfileRequest& request, std::optional<Profile>& profile, int times, const std::function<void()>& run, std::FILE* to) {
  Runs then;
  if (!request.since.empty()) then = earlier_runs(request.since);
  synchronize();  // so that the runs do not wait for the compiler and the cache
  if (profile) profile->restart();
  else profile.emplace();
  for (int i = 0; i < (times > 0 ? times : 10); ++i) run();
  synchronize();
  if (request.format == "text") fmt::print(to, "{}", to_string(*profile));
  json all = json::parse(to_json(*profile));
  const Runs now = fastest_runs(all);
  if (request.format == "json") {
    if (!request.since.empty()) all["changes"] = changes_json(changes(then, now));
    fmt::print("{}\n", all.dump(2));
  } else if (!request.since.empty()) {
    print_changes(changes(then, now), to);
  }
  profile.reset();
}

}  // namespace sinter::tools
