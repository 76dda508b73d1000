// sinter kernels: plans, generates and compiles for a target, without data or a GPU.
#include <fmt/format.h>

#include "bindings.hpp"
#include "commands.hpp"
#include "sinter/sinter.hpp"

namespace sinter::tools {

int run_kernels(const KernelsRequest& request) {
  const TypeBindings bindings = bind_types(request.bindings);
  Evaluated evaluated = evaluate(request.expression, bindings.names);
  std::erase_if(evaluated.unused, [&](const std::string& name) { return bindings.letters.contains(name); });
  warn_unused(evaluated.unused);
  ExplainOptions options{.format = request.json ? Format::json : Format::text, .target = request.target, .guards = request.shown.guards};
  options.sizes.assign(bindings.letters.begin(), bindings.letters.end());
  write_pictures(request.shown, [&](Format format) { return explain(evaluated.results, {.format = format, .target = request.target}); });
  print_explanation(evaluated, options, request.shown);
  if (request.dump.empty()) return 0;
  for (const std::string& path : dump_kernels(evaluated.results, request.dump, request.target)) fmt::print(request.json ? stderr : stdout, "wrote {}\n", path);
  return 0;
}

}  // namespace sinter::tools
