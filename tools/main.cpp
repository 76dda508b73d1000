// The `sinter` command: the syntax of its arguments, and its exit codes: 0; 1 for a fault in the input (on stderr, "sinter: error: ..."); 2 for invalid
// arguments; 130 after an interrupt.
#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>

#include "command_plan.hpp"
#include "commands.hpp"
#include "sinter/engine.hpp"
#include "sinter/errors.hpp"
#include "table/functions.hpp"

namespace {

namespace tools = sinter::tools;

constexpr const char* kEnvironment = R"(
`sinter help COMMAND` shows a command's options and examples, `sinter help FUNCTION` describes a function, `sinter help` lists both.

Environment (a flag overrides its variable):
  SINTER_DEVICE       cpu, cuda, cuda:N, opencl or opencl:N
  SINTER_BACKEND      llvm or interpreter: how the CPU runs kernels
  SINTER_FUSE         on, or off for one kernel per operation
  SINTER_FAST_MATH    on for approximate math
  SINTER_THREADS      0 is every core
  SINTER_MEMORY       the most memory that tensors may hold, such as 4G
  SINTER_SCHEDULE     schedule overrides, applied where possible: unroll=4 or vector=2,threads=128
  SINTER_TUNED        off to ignore the schedules that `sinter tune` stored
  SINTER_WAIT         on (the default of this command): wait for the compiler; off: interpret kernels until they are compiled, with the same bits
  SINTER_CACHE_DIR    the folder of the cache
  SINTER_CACHE_SIZE   the limit of the cache, such as 512M; 0 turns it off
  SINTER_DUMP         a folder that receives every kernel's source
  SINTER_LOG          trace, debug, info, warn, error or off
  SINTER_TRACE        a file that receives a timeline of the process
  SINTER_LLVM, SINTER_NVRTC, SINTER_CUDA_DRIVER   the file of the library, if the loader does not find it
)";

std::string names_of_functions() {
  std::string text, line = " ";
  for (const tools::Function& function : tools::functions()) {
    if (line.size() + function.name.size() > 100) {
      text += line + "\n";
      line = " ";
    }
    line += fmt::format(" {}", function.name);
  }
  return text + line + "\n";
}

/// Returns the text of a command's examples.
std::string examples(std::initializer_list<const char*> lines) {
  std::string text = "\nExamples:\n";
  for (const char* line : lines) text += fmt::format("  {}\n", line);
  return text;
}

std::string function_list() {
  return "\nThe expression has NumPy's syntax; statements end with ; or a newline, # starts a comment.\n"
         "The last statement is the result. If it has commas (y, y[:, 0:3]), it has several results, which are computed together.\n"
         "The statements before it assign: a = x + 1; q, r = divmod(x, 3); a += 1; a[0] = 2.\n"
         "@FILE in place of the expression reads it from a file, @- from the standard input.\n"
         "python -c 'import sinter as np; …' runs programs, with loops and functions.\n"
         "Write -- before an expression that starts with -.\n\nFunctions (sinter help NAME describes one):\n" +
         names_of_functions();
}

std::string read_expression(const std::string& path) {
  std::ifstream file(path == "-" ? "/dev/stdin" : path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw sinter::IoError(fmt::format("{}: the expression's file cannot be read", path));
  return text;
}

/// Unless -f gave the expression, it is the first argument, or the contents of FILE if that argument is @FILE.
void split(const std::vector<std::string>& positional, const std::string& file, std::string& expression, std::vector<std::string>& bindings) {
  if (file.empty() && positional.empty()) throw CLI::ValidationError("EXPR", "an expression, @FILE or -f FILE is required");
  if (!file.empty()) expression = read_expression(file);
  else if (positional[0].starts_with('@')) expression = read_expression(positional[0].substr(1));
  else if (std::error_code too_long; std::filesystem::is_regular_file(positional[0], too_long))
    throw CLI::ValidationError("EXPR", fmt::format("{} is a file; write @{} to read the expression from it", positional[0], positional[0]));
  else expression = positional[0];
  bindings.assign(positional.begin() + (file.empty() ? 1 : 0), positional.end());
}

/// CLI11 reads an argument in brackets as a list of arguments. With a space after it, the argument is read as a plain text.
std::vector<std::string> raw_arguments(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  for (std::string& argument : arguments)
    if (argument.starts_with('[') && argument.ends_with(']')) argument += ' ';
  std::reverse(arguments.begin(), arguments.end());  // CLI11 expects the arguments in reverse order
  return arguments;
}

const CLI::App* find_command(const CLI::App& app, std::string_view name) {
  const auto found = app.get_subcommands([&](const CLI::App* command) { return command->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

/// Returns the message for a missing or unknown command.
std::string no_such_command(const CLI::App& app) {
  std::vector<std::string_view> known;
  std::string list;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    known.push_back(command->get_name());
    list += (list.empty() ? "" : ", ") + command->get_name();
  }
  const std::vector<std::string> rest = app.remaining();
  if (rest.empty()) return fmt::format("a command is missing; the commands are {}", list);
  const std::string near = tools::nearest(rest[0], known);
  return fmt::format("unknown command '{}'; {}", rest[0], near.empty() ? "the commands are " + list : fmt::format("did you mean {}?", near));
}

int run(int argc, char** argv) {
  CLI::App app("sinter: NumPy-like tensors that fuse themselves");
  app.name("sinter");
  app.footer(kEnvironment);
  app.require_subcommand(1);
  app.set_version_flag("--version", [] { return fmt::format("sinter {}", sinter::version()); });

  std::vector<std::string> positional;
  std::string file;

  const auto show_options = [](CLI::App* command, tools::Shown& shown, bool names) {
    command->add_flag("--guards", shown.guards, "With an explanation, show every condition on the sizes under which the plan is valid");
    command->add_option("--html", shown.html, "Write a page that shows the plan: regions, sources, reasons, live ranges; the page needs no network")
        ->type_name("FILE");
    command->add_option("--svg", shown.svg, "Write the plan as a drawing")->type_name("FILE");
    command->add_option("--dot", shown.dot, "Write the plan for Graphviz")->type_name("FILE");
    if (names)
      command->add_option("--why", shown.why, "Say why one kernel does not compute both of two values, given by their names in the expression")
          ->expected(2)
          ->type_name("A B");
  };

  const auto profile_options = [](CLI::App* command, tools::ProfileRequest& profile, std::string_view runs) {
    command
        ->add_flag("--profile{text}", profile.format,
                   fmt::format("Time each step in N more {} (10 without --time), and compare it with the machine's limits; =json prints JSON", runs))
        ->check(CLI::IsMember({"text", "json"}))
        ->type_name("[=text|json]");
    command->add_option("--since", profile.since, "Compare each step's fastest run with an earlier output of --profile=json")->type_name("FILE");
  };

  tools::EvalRequest eval;
  CLI::App* eval_command = app.add_subcommand("eval", "Compute an expression over files and numbers");
  eval_command->add_option("EXPR", positional, "The expression, then the values of its names")->type_name("NAME=FILE NAME=NUMBER");
  eval_command->add_option("-f,--file", file, "Read the expression from a file")->type_name("FILE");
  eval_command->add_option("-o,--output", eval.out, "Write the result here instead of printing it; several results need one file each")
      ->type_name("OUT[,OUT2…]");
  eval_command->add_option("--device", eval.device, "cpu, cuda, cuda:N, opencl or opencl:N")->type_name("cpu|cuda|cuda:N|opencl|opencl:N");
  eval_command->add_option("--backend", eval.backend, "How the CPU runs kernels: compiled by LLVM, or interpreted")
      ->check(CLI::IsMember({"llvm", "interpreter"}));
  eval_command->add_option("--fuse", eval.fuse, "off: one kernel per operation")->check(CLI::IsMember({"on", "off"}));
  eval_command->add_flag("--explain{text}", eval.explain, "Show each kernel and its split reason; =json prints JSON")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("[=text|json]");
  show_options(eval_command, eval.shown, true);
  eval_command->add_option("--dump", eval.dump, "Write every kernel's source into this folder")->type_name("DIR");
  eval_command->add_option("--time", eval.time, "Evaluate N times and show the first, the fastest and the median")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
  profile_options(eval_command, eval.profile, "evaluations");
  eval_command->add_option("--trace", eval.trace, "Write a timeline for chrome://tracing and ui.perfetto.dev")->type_name("FILE");
  eval_command->footer(examples({"sinter eval 'softmax(gelu(x*s + b), axis=-1)' x=x.npy s=s.npy b=b.npy -o y.npy --explain",
                                 "sinter eval 'u = x - x.mean(axis=0); (u**2).sum(axis=0) / (n - 1)' x=x.npy n=100",
                                 "sinter eval 'x[1:-1:2, None, ..., 0].T @ w' x=x.npy w=w.npy --backend interpreter --time 10",
                                 "sinter eval 'm = x.mean(axis=0); m, ((x - m)**2).mean(axis=0)' x=x.npy -o mean.npy,var.npy",
                                 "sinter eval 'softmax(x @ x.T, axis=-1)' x=x.npy --profile=json > before.json",
                                 "sinter eval 'softmax(x @ x.T, axis=-1)' x=x.npy --profile --since before.json", "sinter eval @expression.txt x=x.npy"}) +
                       function_list());

  tools::KernelsRequest kernels;
  CLI::App* kernels_command = app.add_subcommand("kernels", "Plan, generate and compile the kernels of an expression, without data and without a GPU");
  kernels_command->add_option("EXPR", positional, "The expression, then the types of its names")->type_name("NAME=f32[4096,1024] NAME=f32[B,1024] NAME=NUMBER");
  kernels_command->add_option("-f,--file", file, "Read the expression from a file")->type_name("FILE");
  kernels_command->add_option("--target", kernels.target, "The target to compile for")
      ->type_name("cpu|x86-64|aarch64|opencl|sm_75|sm_80|sm_86|sm_89|sm_90|sm_100|sm_120")
      ->capture_default_str();
  kernels_command->add_option("--dump", kernels.dump, "Write every kernel's source into this folder")->type_name("DIR");
  kernels_command->add_flag("--json", kernels.json, "Print the plan as JSON");
  show_options(kernels_command, kernels.shown, true);
  kernels_command->footer(examples({"sinter kernels 'layer_norm(x, w, b)' x=f32[4096,1024] w=f32[1024] b=f32[1024] --target sm_90 --dump kernels/",
                                    "sinter kernels 'softmax(x, axis=-1)' x=f32[B,1024] --guards",
                                    "sinter kernels 'm = x.sum(axis=0); n = x.sum(axis=1); m, n' x=f32[512,768] --why m n --html plan.html"}) +
                          function_list());

  tools::TuneRequest tune;
  CLI::App* tune_command = app.add_subcommand("tune", "Time other schedules of an expression's kernels on this machine, and store the fastest");
  tune_command->add_option("EXPR", positional, "The expression, then the values of its names")->type_name("NAME=FILE.npy NAME=NUMBER NAME=f32[4096,1024]");
  tune_command->add_option("-f,--file", file, "Read the expression from a file")->type_name("FILE");
  tune_command->add_option("--device", tune.device, "cpu, cuda, cuda:N, opencl or opencl:N")->type_name("cpu|cuda|cuda:N|opencl|opencl:N");
  tune_command->add_option("--backend", tune.backend, "How the CPU runs kernels: compiled by LLVM, or interpreted")
      ->check(CLI::IsMember({"llvm", "interpreter"}));

  tune_command->footer(examples({"sinter tune 'softmax(x, axis=-1)' x=f32[4096,1024]", "sinter cache tuned"}));

#ifdef SINTER_MODELS
  tools::ModelRequest model;
  std::vector<std::string> models;
  const CLI::IsMember precisions({"float32", "float64", "float16", "bfloat16"});
  const auto rewrite_options = [&model](CLI::App* command) {
    command->add_flag("--no-rewrite", [&model](std::int64_t) { model.rewrite = false; }, "Run the nodes of the file without rewrites");
    command->add_option("--set", model.fixed, "Make an input a constant of the model")->type_name("NAME=NUMBER|NAME=FILE.npy");
    command->add_option("--without", model.without, "Rewrites to leave out, by the names that `sinter check` prints")->type_name("NAME,...")->delimiter(',');
  };
  CLI::App* run_command = app.add_subcommand("run", "Run a trained model (an .onnx file or its plan file) on .npy files");
  run_command->add_option("MODEL", model.file, "The model")->type_name("MODEL.onnx|MODEL.plan")->required();
  run_command->add_option("INPUTS", model.bindings, "The inputs")->type_name("NAME=FILE.npy");
  run_command->add_option("-o,--output", model.out, "Write each output to NAME.npy in this folder instead of printing it")->type_name("DIR");
  run_command->add_option("--device", model.device, "cpu, cuda, cuda:N, opencl or opencl:N")->type_name("cpu|cuda|cuda:N|opencl|opencl:N");
  run_command->add_option("--backend", model.backend, "How the CPU runs kernels: compiled by LLVM, or interpreted")
      ->check(CLI::IsMember({"llvm", "interpreter"}));
  run_command->add_option("--fuse", model.fuse, "off: one kernel per operation")->check(CLI::IsMember({"on", "off"}));
  run_command->add_flag("--random", model.random, "Use random numbers for inputs that are not given");
  run_command->add_option("--size", model.sizes, "With --random: the size of a name in the inputs' shapes")->type_name("NAME=8");
  run_command->add_option("--time", model.time, "Run N times and show the first, the fastest and the median")->type_name("N")->check(CLI::Range(1, 1000000));
  profile_options(run_command, model.profile, "runs");
  run_command->add_option("--trace", model.trace, "Write a timeline for chrome://tracing and ui.perfetto.dev")->type_name("FILE");
  run_command->add_flag("--explain", model.explain, "Show each kernel and its split reason");
  show_options(run_command, model.shown, false);
  run_command->add_option("--precision", model.precision, "The type that stores float32 values and weights; 16-bit types are computed in float32")
      ->check(precisions);
  rewrite_options(run_command);
  run_command->footer(examples({"sinter run resnet50.onnx data=picture.npy -o results --time 10", "sinter run resnet50.plan --random --profile"}));
  CLI::App* check_command = app.add_subcommand("check", "Show a trained model's inputs and outputs, and the operators that sinter lacks");
  check_command->add_option("MODEL", models, "The models")->type_name("MODEL.onnx|MODEL.plan ...")->required();
  rewrite_options(check_command);
  check_command->footer(examples({"sinter check resnet50.onnx", "sinter check models/*.onnx"}));
  CLI::App* compile_command =
      app.add_subcommand("compile", "Plan and compile a trained model for this machine, into a file that runs without planning or compiling");
  compile_command->add_option("MODEL", model.file, "The model")->type_name("MODEL.onnx")->required();
  compile_command->add_option("-o,--output", model.out, "The plan file to write")->type_name("MODEL.plan")->required();
  compile_command
      ->add_option("--size", model.sizes,
                   "For a name in the inputs' shapes, the sizes to plan for, or a range that plans must cover; other sizes run if a plan is valid for them")
      ->type_name("NAME=1,8|NAME=1..64");
  compile_command->add_option("--device", model.device, "cpu, cuda, cuda:N, opencl or opencl:N")->type_name("cpu|cuda|cuda:N|opencl|opencl:N");
  compile_command->add_option("--fuse", model.fuse, "off: one kernel per operation")->check(CLI::IsMember({"on", "off"}));
  compile_command->add_flag("--explain", model.explain, "Show each kernel and its split reason");
  compile_command->add_option("--precision", model.precision, "The type that stores float32 values and weights; 16-bit types are computed in float32")
      ->check(precisions);
  rewrite_options(compile_command);
  compile_command->footer(examples(
      {"sinter compile resnet50.onnx -o resnet50.plan --size N=1", "sinter compile minilm.onnx -o minilm.plan --size batch=1..64 --size sequence=1..512"}));
  CLI::App* explain_command = app.add_subcommand("explain", "Explain the plan of a trained model: rewrites, layouts, steps, and the split reason of each step");
  explain_command->add_option("MODEL", model.file, "The model, or its plan file")->type_name("MODEL.onnx|MODEL.plan")->required();
  explain_command->add_flag("--json", model.json, "Print the plan as JSON");
  show_options(explain_command, model.shown, false);
  explain_command->add_option("--size", model.sizes, "The size of a name in the inputs' shapes")->type_name("NAME=8");
  explain_command->add_option("--device", model.device, "cpu, cuda, cuda:N, opencl or opencl:N")->type_name("cpu|cuda|cuda:N|opencl|opencl:N");
  explain_command->add_option("--precision", model.precision, "The type that stores float32 values and weights; 16-bit types are computed in float32")
      ->check(precisions);
  rewrite_options(explain_command);
  explain_command->footer(examples({"sinter explain resnet50.onnx --size N=1", "sinter explain resnet50.plan --html plan.html"}));
#endif
  std::vector<std::string> topic;
  CLI::App* help_command = app.add_subcommand("help", "Describe a function, with an example, or a command; without a name, list both");
  help_command->add_option("NAME", topic, "The function, or the words of a command; without it, all are listed");
  help_command->footer(examples({"sinter help", "sinter help softmax", "sinter help kernels", "sinter help cache warm"}));

  CLI::App* functions_command = app.add_subcommand("functions", "List all functions: signature, description, other names, separated by tabs");

  std::string shell;
  CLI::App* completion_command = app.add_subcommand("completion", "Print a script that completes sinter's commands, options and functions in a shell");
  completion_command->add_option("SHELL", shell)->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion_command->footer(examples({"source <(sinter completion bash)"}));

  CLI::App* info_command = app.add_subcommand("info", "Show the version, and this machine's devices, compilers and cache");
  std::string info_target;
  info_command->add_option("--target", info_target, "Show the model of a device instead: cpu, aarch64, opencl, sm_90, ..");
  info_command->footer(examples({"sinter info", "sinter info --target sm_90"}));

  CLI::App* cache_command = app.add_subcommand("cache", "Manage the cache on disk: kernels, plans and tuned schedules");
  cache_command->require_subcommand(1);
  std::string entry_key, cache_file;
  CLI::App* list_command = cache_command->add_subcommand("list", "List all entries: key, bytes, age, hits, name, and the split reason");
  CLI::App* show_command = cache_command->add_subcommand("show", "Show an entry: its generator and compiler, the compiler's report, and the source");
  show_command->add_option("KEY", entry_key, "The first digits of the entry's key")->required();
  CLI::App* export_command = cache_command->add_subcommand("export", "Write all entries to a file, for another machine with the same processor and libraries");
  export_command->add_option("FILE", cache_file)->required();
  CLI::App* import_command = cache_command->add_subcommand("import", "Import exported entries; they are machine code, so the file has to be trusted");
  import_command->add_option("FILE", cache_file)->required();
#ifdef SINTER_MODELS
  CLI::App* warm_command = cache_command->add_subcommand("warm", "Plan and compile models into the cache, so that their first run need not");
  warm_command->add_option("MODEL", models)->type_name("MODEL.onnx ...")->required();
  warm_command->add_option("--size", model.sizes, "The size of a name in the inputs' shapes; several sizes are planned one after another")
      ->type_name("NAME=1,8");
  warm_command->add_option("--device", model.device, "cpu, cuda, cuda:N, opencl or opencl:N")->type_name("cpu|cuda|cuda:N|opencl|opencl:N");
  warm_command->add_option("--precision", model.precision, "The type that stores float32 values and weights; 16-bit types are computed in float32")
      ->check(precisions);
  rewrite_options(warm_command);
#endif
  cache_command->footer(examples({"sinter cache list", "sinter cache show 895d67", "sinter cache export kernels.cache", "sinter cache import kernels.cache",
                                  "sinter cache warm minilm.onnx --size batch=1,8 --size sequence=128", "sinter cache verify"}));
  CLI::App* stats_command = cache_command->add_subcommand("stats", "Show the folder, the number of entries and their size");
  CLI::App* tuned_command = cache_command->add_subcommand("tuned", "List the schedules that `sinter tune` stored");
  CLI::App* clear_command = cache_command->add_subcommand("clear", "Delete every entry");
  CLI::App* verify_command = cache_command->add_subcommand("verify", "Check every entry and delete damaged ones; the exit code is 1 if there were any");

  // Handles `sinter --help softmax` and `sinter eval --help softmax`.
  const std::string_view last = argc > 2 ? argv[argc - 1] : "", before = argc > 2 ? argv[argc - 2] : "";
  if ((before == "--help" || before == "-h") && !last.starts_with('-') && !find_command(app, last)) return tools::run_help(last);
  try {
    app.parse(raw_arguments(argc, argv));
    if (*eval_command) {
      split(positional, file, eval.expression, eval.bindings);
      return tools::run_eval(eval);
    }
    if (*kernels_command) {
      split(positional, file, kernels.expression, kernels.bindings);
      return tools::run_kernels(kernels);
    }
    if (*tune_command) {
      split(positional, file, tune.expression, tune.bindings);
      return tools::run_tune(tune);
    }
#ifdef SINTER_MODELS
    if (*run_command) return tools::run_model(model);
    if (*compile_command) return tools::compile_model(model);
    if (*explain_command) return tools::explain_model(model);
    if (*check_command) return tools::check_models(model, models);
    if (*warm_command) return tools::warm_cache(model, models);
#endif
    if (*help_command) {
      if (topic.empty()) {
        fmt::print("Commands:\n");
        for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
          fmt::print("  {:<12}{}\n", command->get_name(), command->get_description());
        fmt::print("\nFunctions:\n{}\n`sinter help NAME` describes one.\n", names_of_functions());
        return 0;
      }
      const CLI::App* command = &app;
      std::string words;
      for (const std::string& word : topic) {
        words += (words.empty() ? "sinter" : " " + command->get_name());
        const CLI::App* const next = find_command(*command, word);
        if (!next && command == &app && topic.size() == 1) return tools::run_help(word);
        if (!next) throw sinter::ValueError(fmt::format("there is no command '{}'; `sinter help` lists the commands and functions", fmt::join(topic, " ")));
        command = next;
      }
      fmt::print("{}", command->help(words));
      return 0;
    }
    if (*functions_command) return tools::run_functions();
    if (*completion_command) {
      fmt::print("{}", tools::completion(app, shell));
      return 0;
    }
    if (*info_command) return tools::run_info(info_target);
    if (*list_command) return tools::run_cache_list();
    if (*show_command) return tools::run_cache_show(entry_key);
    if (*export_command) return tools::run_cache_export(cache_file);
    if (*import_command) return tools::run_cache_import(cache_file);
    if (*stats_command) return tools::run_cache_stats();
    if (*tuned_command) return tools::run_cache_tuned();
    if (*clear_command) return tools::run_cache_clear();
    if (*verify_command) return tools::run_cache_verify();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    const CLI::App* at = &app;
    while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
    const bool no_command = dynamic_cast<const CLI::RequiredError*>(&error) && (at == &app || at == cache_command);
    const std::string command = at == &app ? "" : at == cache_command || at->get_parent() == &app ? at->get_name() + " " : "cache ";
    const bool minus = dynamic_cast<const CLI::ExtrasError*>(&error) && argc > 2 && argv[2][0] == '-' && argv[2][1] != '-' &&
                       (at == eval_command || at == kernels_command || at == tune_command);
    if (minus) fmt::print(stderr, "sinter: error: write -- before an expression that starts with -: sinter {} -- '{}'\n", at->get_name(), argv[2]);
    else fmt::print(stderr, "sinter: error: {}\nRun `sinter {}--help` for help.\n", no_command ? no_such_command(*at) : error.what(), command);
    return 2;
  }
  return 2;
}

}  // namespace

/// The first interrupt (Ctrl-C) stops the evaluation; a second one ends the process at once.
void stop_at_interrupt() {
  struct sigaction action {};
  action.sa_handler = [](int) { sinter::interrupt(); };
  action.sa_flags = SA_RESETHAND;
  sigaction(SIGINT, &action, nullptr);
}

int main(int argc, char** argv) {
  setenv("SINTER_WAIT", "on", 0);  // otherwise the command would have to wait for the background compiler after its result
  stop_at_interrupt();
  try {
    const int code = run(argc, argv);
    if (std::fflush(stdout) != 0) throw sinter::IoError("the output cannot be written");
    return code;
  } catch (const std::bad_alloc&) {
    std::fputs("sinter: error: not enough memory\n", stderr);
  } catch (const sinter::Interrupted&) {
    std::fputs("sinter: interrupted\n", stderr);
    return 130;  // the exit code that shells use for SIGINT
  } catch (const std::exception& error) {
    std::fflush(stdout);
    fmt::print(stderr, "sinter: error: {}\n", error.what());
  }
  return 1;
}
