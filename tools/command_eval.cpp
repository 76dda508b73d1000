// sinter eval: read, record, compute, show.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "bindings.hpp"
#include "commands.hpp"
#include "sinter/sinter.hpp"

namespace sinter::tools {
namespace {

using Clock = std::chrono::steady_clock;

/// Until the result is there: on a GPU eval() returns when the work is queued, and reading an element waits for it.
void wait_for(const Tensor& result, bool queued) {
  if (!queued || result.size() == 0) return;
  to_string(reshape(result, {-1}).at({Index(0)}));
}

struct Timings {
  double first_ms = 0;
  std::vector<double> rest_ms;  // sorted
};

/// Each evaluation records anew, as a program would; the last one's result is kept.
Timings time_evaluations(const EvalRequest& request, const Bindings& bindings, Tensor& result) {
  const bool queued = options().device != "cpu";
  Timings timings;
  for (int i = 0; i < request.time; ++i) {
    result = Tensor();  // frees the buffer for this round
    const auto start = Clock::now();
    result = evaluate(request.expression, bindings).result;
    eval(result);
    wait_for(result, queued);
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    if (i == 0) timings.first_ms = ms;
    else timings.rest_ms.push_back(ms);
  }
  std::sort(timings.rest_ms.begin(), timings.rest_ms.end());
  return timings;
}

void print_timings(const Timings& timings, const Counters& cold, const Tensor& result) {
  fmt::print("first   {:10.3f} ms   {} compiled, {} from disk\n", timings.first_ms, cold.kernels_compiled, cold.kernels_from_disk);
  if (timings.rest_ms.empty()) return;
  const double min = timings.rest_ms.front(), median = timings.rest_ms[timings.rest_ms.size() / 2];
  const double bytes = nlohmann::json::parse(explain(result, Format::json)).value("bytes_moved", 0.0);
  fmt::print("min     {:10.3f} ms   {:.2f} GB/s\n", min, bytes / min * 1e-6);
  fmt::print("median  {:10.3f} ms   {:.2f} GB/s   ({} more, {:.0f} bytes moved)\n", median, bytes / median * 1e-6,
             timings.rest_ms.size(), bytes);
}

void apply_settings(const EvalRequest& request) {
  if (request.device.empty() && request.backend.empty() && request.fuse.empty()) return;
  Options settings = options();
  if (!request.device.empty()) settings.device = request.device;
  if (!request.backend.empty()) settings.backend = request.backend;
  if (!request.fuse.empty()) settings.fuse = request.fuse == "on";
  configure(settings);
}

}  // namespace

void print_explanation(std::string_view text) {
  fmt::print("{}{}", text, text.ends_with('\n') ? "" : "\n");
}

void warn_unused(const std::vector<std::string>& names) {
  for (const std::string& name : names) fmt::print(stderr, "sinter: warning: '{}' is given and not used\n", name);
}

int run_eval(const EvalRequest& request) {
  apply_settings(request);
  const Bindings bindings = bind_values(request.bindings);
  Evaluated evaluated = evaluate(request.expression, bindings);
  warn_unused(evaluated.unused);
  Tensor& result = evaluated.result;

  const Counters before = counters();
  Timings timings;
  if (request.time > 0) timings = time_evaluations(request, bindings, result);
  else eval(result);
  Counters done = counters();
  done.kernels_compiled -= before.kernels_compiled;
  done.kernels_from_disk -= before.kernels_from_disk;

  if (request.out.empty()) fmt::print("{}\n", to_string(result));
  else save_npy(request.out, result);
  if (request.time > 0) print_timings(timings, done, result);
  if (!request.dump.empty())
    for (const std::string& path : dump_kernels(result, request.dump)) fmt::print("wrote {}\n", path);
  if (!request.explain.empty())
    print_explanation(explain(result, request.explain == "json" ? Format::json : Format::text));
  return 0;
}

}  // namespace sinter::tools
