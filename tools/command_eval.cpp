// sinter eval: reads and records the expression, computes it, and shows the results.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "bindings.hpp"
#include "commands.hpp"
#include "sinter/counted.hpp"
#include "sinter/profile.hpp"
#include "sinter/sinter.hpp"
#include "table/files.hpp"

namespace sinter::tools {
namespace {

using Clock = std::chrono::steady_clock;

/// Waits until the result is complete. On a GPU eval() returns when the work is queued, so this function reads an element, which waits for the work.
void wait_for(const Tensor& result, bool queued) {
  if (!queued || result.size() == 0) return;
  to_string(reshape(result, {-1}).at({Index(0)}));
}

struct Timings {
  double first_ms = 0;
  std::vector<double> rest_ms;  // in ascending order
};

/// Each evaluation records again, as a program would. Only the results of the last evaluation are kept.
Timings time_evaluations(const EvalRequest& request, const Bindings& bindings, std::vector<Tensor>& results) {
  const bool queued = options().device != "cpu";
  Timings timings;
  for (int i = 0; i < request.time; ++i) {
    results.clear();  // frees their memory before this evaluation
    const auto start = Clock::now();
    results = evaluate(request.expression, bindings).results;
    eval(results, Location{});
    for (const Tensor& result : results) wait_for(result, queued);
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    if (i == 0) timings.first_ms = ms;
    else timings.rest_ms.push_back(ms);
  }
  std::sort(timings.rest_ms.begin(), timings.rest_ms.end());
  return timings;
}

void print_timings(const Timings& timings, const Counters& cold, const std::vector<Tensor>& results, std::FILE* to) {
  fmt::print(to, "first   {:10.3f} ms   {} compiled, {} from disk\n", timings.first_ms, cold.kernels_compiled, cold.kernels_from_disk);
  if (timings.rest_ms.empty()) return;
  const double min = timings.rest_ms.front(), median = timings.rest_ms[timings.rest_ms.size() / 2];
  const double bytes = nlohmann::json::parse(explain(results, Format::json)).value("bytes_moved", 0.0);
  fmt::print(to, "min     {:10.3f} ms   {:.2f} GB/s\n", min, bytes / min * 1e-6);
  fmt::print(to, "median  {:10.3f} ms   {:.2f} GB/s   ({} more, {} moved)\n", median, bytes / median * 1e-6, timings.rest_ms.size(),
             counted(static_cast<std::int64_t>(bytes), "byte"));
}

std::string archive_name(const std::string& label, std::size_t number) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const bool name = !label.empty() && letter(label[0]) && std::all_of(label.begin(), label.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
  return name && label != "result" ? label : fmt::format("arr_{}", number);
}

/// Returns the files of -o, one for each result. Throws ValueError.
std::vector<std::string> output_files(const std::string& list, const Evaluated& evaluated) {
  std::vector<std::string> files;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    std::string file = list.substr(begin, end - begin);
    file.erase(0, file.find_first_not_of(' '));
    file.erase(file.find_last_not_of(' ') + 1);
    if (file.empty()) throw ValueError(fmt::format("-o {}: a file's name is empty", list));
    if (const std::string ending = std::filesystem::path(file).extension().string(); !ending.empty() && !is_file_name(file))
      throw ValueError(
          fmt::format("-o {}: sinter cannot write files that end with {}; it writes .npy, .npz, .safetensors, .csv, .tsv, .png, .ppm and .pgm", file, ending));
    if (std::find(files.begin(), files.end(), file) != files.end())
      throw ValueError(fmt::format("-o {}: {} is named twice; the second result would replace the first", list, file));
    files.push_back(std::move(file));
    begin = end + 1;
  }
  const std::size_t count = evaluated.results.size();
  if (files.size() == count || (files.size() == 1 && is_archive(files[0]))) return files;
  std::string text = fmt::format("-o {}: {} for {}", list, counted(files.size(), "file"), counted(count, "result"));
  for (std::size_t k = 0; count > 1 && k < count; ++k) text += fmt::format("\n  {}", evaluated.labels[k]);
  if (files.size() < count) text += "\ngive each a file, with commas between: -o a.npy,b.npy";
  throw ValueError(text);
}

/// In an archive, a result that is a variable has the variable's name. Other results are arr_0, arr_1, ... as in NumPy.
void save(const std::vector<std::string>& files, const Evaluated& evaluated) {
  const auto& results = evaluated.results;
  if (!is_archive(files[0]) || files.size() > 1) {
    for (std::size_t k = 0; k < files.size(); ++k) {
      if (is_archive(files[k])) save_archive(files[k], std::span(&results[k], 1), {archive_name(evaluated.labels[k], 0)});
      else save_file(files[k], results[k]);
    }
    return;
  }
  std::vector<std::string> names;
  for (std::size_t k = 0; k < results.size(); ++k) {
    names.push_back(archive_name(evaluated.labels[k], k));
    if (std::find(names.begin(), names.end() - 1, names.back()) != names.end() - 1) names.back() = fmt::format("arr_{}", k);
  }
  save_archive(files[0], results, names);
}

/// Prints a single result without a heading, and several each under a line with its name.
void print_results(const Evaluated& evaluated) {
  const auto& results = evaluated.results;
  if (results.size() == 1) {
    fmt::print("{}\n", to_string(results[0]));
    return;
  }
  for (std::size_t k = 0; k < results.size(); ++k)
    fmt::print("{}  {} {}\n{}\n", evaluated.labels[k], name(results[k].dtype()), to_string(results[k].shape()), to_string(results[k]));
}

}  // namespace

void apply_settings(const std::string& device, const std::string& backend, const std::string& fuse) {
  if (device.empty() && backend.empty() && fuse.empty()) return;
  Options settings = options();
  if (!device.empty()) settings.device = device;
  if (!backend.empty()) settings.backend = backend;
  if (!fuse.empty()) settings.fuse = fuse == "on";
  configure(settings);
}

void print_explanation(std::string_view text, std::FILE* to) { fmt::print(to, "{}{}", text, text.ends_with('\n') ? "" : "\n"); }

void write_pictures(const Shown& shown, const std::function<std::string(Format)>& explain) {
  for (const auto& [path, format] : {std::pair(&shown.html, Format::html), std::pair(&shown.svg, Format::svg), std::pair(&shown.dot, Format::dot)}) {
    if (path->empty()) continue;
    std::ofstream file(*path, std::ios::binary);
    file << explain(format);
    file.close();
    if (!file) throw IoError(fmt::format("{}: the picture cannot be written", *path));
    fmt::print(stderr, "wrote {}\n", *path);
  }
}

void print_explanation(const Evaluated& evaluated, const ExplainOptions& options, const Shown& shown, std::FILE* to) {
  if (shown.why.empty()) return print_explanation(explain(evaluated.results, options), to);
  const auto named = [&](const std::string& name) {
    const auto found = evaluated.variables.find(name);
    if (found != evaluated.variables.end()) return found->second;
    std::vector<std::string_view> names;
    for (const auto& [known, tensor] : evaluated.variables) names.push_back(known);
    throw ValueError(fmt::format(
        "--why {}: no value of the expression has this name; the names are {}. Give a part of the expression a name first, as in 'm = x.mean(); x - m'", name,
        fmt::join(names, ", ")));
  };
  print_explanation(explain_boundary(named(shown.why[0]), named(shown.why[1]), evaluated.results, options), to);
}

void warn_unused(const std::vector<std::string>& names) {
  for (const std::string& name : names) fmt::print(stderr, "sinter: warning: '{}' is given but not used\n", name);
}

int run_eval(const EvalRequest& request) {
  if (request.explain == "json" && request.profile.format == "json")
    throw ValueError("--explain=json and --profile=json each print one object to the standard output; ask for one of them");
  request.profile.check();
  request.shown.check(!request.explain.empty() || !request.shown.why.empty());
  apply_settings(request.device, request.backend, request.fuse);
  std::optional<Timeline> timeline;
  if (!request.trace.empty()) timeline.emplace(request.trace);
  const Bindings bindings = bind_values(request.bindings);
  std::optional<Profile> profile;
  if (request.profile.wanted() && request.time == 0) profile.emplace();  // reports the first evaluation's plans and compilations, too
  Evaluated evaluated = evaluate(request.expression, bindings);
  warn_unused(evaluated.unused);
  std::vector<std::string> files;
  if (!request.out.empty()) files = output_files(request.out, evaluated);
  std::vector<Tensor>& results = evaluated.results;
  const Counters before = counters();
  Timings timings;
  if (request.time > 0) timings = time_evaluations(request, bindings, results);
  else eval(results, Location{});
  Counters done = counters();
  done.kernels_compiled -= before.kernels_compiled;
  done.kernels_from_disk -= before.kernels_from_disk;

  const bool for_programs = request.explain == "json" || request.profile.format == "json";  // then the standard output must be only JSON
  std::FILE* const for_people = for_programs ? stderr : stdout;
  if (files.empty() && !for_programs) print_results(evaluated);
  if (!files.empty()) save(files, evaluated);
  if (request.time > 0) print_timings(timings, done, results, for_people);
  if (!request.dump.empty())
    for (const std::string& path : dump_kernels(results, request.dump)) fmt::print(for_people, "wrote {}\n", path);
  if (request.profile.wanted())
    print_profile(request.profile, profile, request.time, [&] { eval(evaluate(request.expression, bindings).results, Location{}); }, for_people);
  if (!request.shown.why.empty())
    evaluated = evaluate(request.expression, bindings);  // records again, because an evaluated value has no fusion boundary any more
  write_pictures(request.shown, [&](Format format) { return explain(results, {.format = format}); });
  if (!request.explain.empty() || !request.shown.why.empty())
    print_explanation(evaluated, {.format = request.explain == "json" ? Format::json : Format::text, .guards = request.shown.guards}, request.shown,
                      request.explain == "json" ? stdout : for_people);
  if (timeline) timeline->write();
  return 0;
}

}  // namespace sinter::tools
