// The commands, without the syntax of their arguments. Each returns the exit code and throws sinter's errors.
#pragma once
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/disk_cache.hpp"
#include "expression.hpp"
#include "sinter/engine.hpp"
#include "sinter/profile.hpp"
#include "table/fault.hpp"

namespace CLI {
class App;
}

namespace sinter::tools {

using namespace table;

/// The options of every command that explains a plan.
struct Shown {
  bool guards = false;           // every condition on the sizes
  std::vector<std::string> why;  // two names of an expression: why they are not in one kernel
  std::string html, svg, dot;    // files for pictures of the plan; empty: no picture
  /// Throws if `guards` has no effect, because nothing is explained.
  void check(bool explained) const {
    if (guards && !explained) throw ValueError("--guards has no effect without --explain: it adds the guards to an explanation");
  }
};

/// The options of every command that profiles.
struct ProfileRequest {
  std::string format;  // "text", "json"; empty: none
  std::string since;   // file of an earlier profile, to compare with; empty: none
  bool wanted() const { return !format.empty() || !since.empty(); }
  /// Throws if `since` is no profile, before a command computes anything.
  void check() const;
};

struct EvalRequest {
  std::string expression;
  std::vector<std::string> bindings;
  std::string out;              // one file for each result, separated by commas, or one archive; empty: print
  std::string device, backend;  // empty: the environment decides
  std::string fuse;             // "on", "off", empty
  std::string explain;          // "text", "json"; empty: none
  Shown shown;
  std::string dump;  // folder; empty: none
  int time = 0;      // evaluations to time; 0: none
  ProfileRequest profile;
  std::string trace;  // file of the timeline; empty: none
};
int run_eval(const EvalRequest& request);

struct KernelsRequest {
  std::string expression;
  std::vector<std::string> bindings;
  std::string target = "cpu", dump;
  bool json = false;
  Shown shown;
};
int run_kernels(const KernelsRequest& request);

struct TuneRequest {
  std::string expression;
  std::vector<std::string> bindings;
  std::string device, backend;  // empty: the environment decides
};
int run_tune(const TuneRequest& request);

struct ModelRequest {
  std::string file;
  std::vector<std::string> bindings;
  std::string out;  // a folder for NAME.npy of each output; empty: print
  std::string device, backend, fuse, precision;
  std::vector<std::string> sizes;    // NAME=8: the number of a symbol in the inputs' shapes
  std::vector<std::string> without;  // names of rewrites that are not applied
  std::vector<std::string> fixed;    // NAME=VALUE: inputs that become constants
  bool random = false;               // inputs that are not given are random
  bool explain = false, rewrite = true, json = false;
  ProfileRequest profile;
  Shown shown;
  int time = 0;
  std::string trace;  // as for eval
};
int run_model(const ModelRequest& request);
/// Prints each model's properties and missing operators; runs nothing.
int check_models(const ModelRequest& request, const std::vector<std::string>& files);
/// Plans and compiles each model into the cache, for each combination of the sizes.
int warm_cache(const ModelRequest& request, const std::vector<std::string>& files);
/// Describes a function of the table. Throws ValueError for an unknown one.
int run_help(std::string_view function);
/// Prints a line for each function.
int run_functions();

/// Returns a script for a shell that completes the arguments of `app`.
std::string completion(const CLI::App& app, std::string_view shell);

/// Prints the devices or, with a target, the model of that device.
int run_info(const std::string& target);

int run_cache_stats();
int run_cache_clear();
int run_cache_verify();
int run_cache_tuned();
/// Lists the entries: key, bytes, age, hits, name, and the split reason.
int run_cache_list();
/// Shows the entry whose key begins with this text, with its source.
int run_cache_show(const std::string& key);
/// Writes all entries to a file, for another machine. Imported entries are executed later, so the file of an import has to be trusted.
int run_cache_export(const std::string& path);
int run_cache_import(const std::string& path);

/// Applies the given settings. If a text is empty, the environment decides about that setting. fuse: "on" or "off".
void apply_settings(const std::string& device, const std::string& backend, const std::string& fuse = {});
/// Warns of bindings that an expression does not use; for every command that takes an expression.
void warn_unused(const std::vector<std::string>& names);
/// Prints the time of each step of `run` over `runs` runs. `run` has run before, so nothing is compiled any more. `profile`: the profile of those earlier runs,
/// if there is one.
void print_profile(const ProfileRequest& request, std::optional<Profile>& profile, int times, const std::function<void()>& run, std::FILE* to = stdout);
/// Prints the text, ending in one newline.
void print_explanation(std::string_view text, std::FILE* to = stdout);
/// Writes the requested pictures; `explain` gives each format.
void write_pictures(const Shown& shown, const std::function<std::string(Format)>& explain);
/// Prints explain() of the results and, if requested, why two of their values are not in one kernel.
void print_explanation(const Evaluated& evaluated, const ExplainOptions& options, const Shown& shown, std::FILE* to = stdout);

/// Returns the settings of the cache that the engine uses.
cache::Settings cache_settings();
/// Returns a text such as "340.2 KiB".
std::string readable_bytes(std::uint64_t bytes);

}  // namespace sinter::tools
