// sinter kernels: plan, generate and compile for a target, with no data and no GPU.
#include <fmt/format.h>

#include "bindings.hpp"
#include "commands.hpp"
#include "sinter/sinter.hpp"

namespace sinter::tools {

int run_kernels(const KernelsRequest& request) {
  const Evaluated evaluated = evaluate(request.expression, bind_types(request.bindings));
  warn_unused(evaluated.unused);
  print_explanation(explain(evaluated.results, request.json ? Format::json : Format::text, request.target));
  if (request.dump.empty()) return 0;
  for (const std::string& path : dump_kernels(evaluated.results, request.dump, request.target))
    fmt::print(request.json ? stderr : stdout, "wrote {}\n", path);
  return 0;
}

}  // namespace sinter::tools
