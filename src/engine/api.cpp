// The public functions, implemented over the engine.
#include "base/interrupt.hpp"
#include "engine/engine.hpp"
#include "sinter/control.hpp"
#include "sinter/errors.hpp"
#include "trace/host_access.hpp"

namespace sinter {
namespace {

std::vector<trace::RecordedPtr> nodes_of(const std::vector<Tensor>& tensors) {
  std::vector<trace::RecordedPtr> nodes;
  for (const auto& tensor : tensors) nodes.push_back(tensor.node());
  return nodes;
}

// A loop that never evaluates is evaluated here, iteration by iteration.
const bool hooked = [] {
  trace::set_evaluate_hook(
      [](const std::vector<trace::RecordedPtr>& nodes) { engine::Engine::get().evaluate(nodes, {nodes.front()->called, nodes.front()->where}, false); });
  return true;
}();

}  // namespace

void eval(const std::vector<Tensor>& tensors, Location where) {
  (void)hooked;
  engine::Engine::get().evaluate(nodes_of(tensors), {"eval", where});
}
void eval(std::initializer_list<Tensor> tensors, Location where) { eval(std::vector<Tensor>(tensors), where); }

void eval_fused(const std::vector<Tensor>& tensors, Location where) { engine::Engine::get().evaluate_fused(nodes_of(tensors), {"fused", where}); }

std::string explain(const std::vector<Tensor>& tensors, const ExplainOptions& options) {
  return engine::explanation(engine::Engine::get().histories_of(nodes_of(tensors), options.target), options);
}
std::string explain(const std::vector<Tensor>& tensors, Format format, std::string_view target) {
  return explain(tensors, {.format = format, .target = std::string(target)});
}
std::string explain(const Tensor& tensor, Format format, std::string_view target) { return explain(std::vector<Tensor>{tensor}, format, target); }

std::string explain_boundary(const Tensor& a, const Tensor& b, const std::vector<Tensor>& wanted, const ExplainOptions& options) {
  return engine::Engine::get().boundary_of(nodes_of({a, b}), nodes_of(wanted), options);
}

std::vector<std::string> dump_kernels(const std::vector<Tensor>& tensors, std::string_view directory, std::string_view target, bool assembly) {
  std::vector<std::string> paths;
  for (const engine::Explained& explained : engine::Engine::get().histories_of(nodes_of(tensors), target)) {
    const auto& [history, planned] = explained;
    if (history.kernels + history.calls == 0) continue;
    if (!planned) throw ValueError("dump_kernels: the plan of this evaluation is no longer in memory; record the formula again");
    for (const auto& step : planned->steps) {
      const auto write = [&](const jit::LoopNest& nest, const jit::Source& source) {
        const auto written =
            engine::write_strings(std::string(directory), nest, source, runtime::kind_of(planned->limits), assembly, engine::source_notes(explained, step));
        paths.insert(paths.end(), written.begin(), written.end());
      };
      for (const auto& made : step.call_kernels) write(engine::nest_named(made.source().entry), made.source());
      if (!step.library) write(step.nest, step.made.source());
    }
  }
  return paths;
}
std::vector<std::string> dump_kernels(const Tensor& tensor, std::string_view directory, std::string_view target, bool assembly) {
  return dump_kernels(std::vector<Tensor>{tensor}, directory, target, assembly);
}

std::vector<TunedKernel> tune(const std::vector<Tensor>& tensors, const std::function<void(double, std::string_view)>& progress) {
  return engine::Engine::get().tune(nodes_of(tensors), progress);
}

Counters counters() { return engine::Engine::get().counters(); }
void reset_peak() { engine::Engine::get().reset_peak(); }
void synchronize() { engine::Engine::get().synchronize(); }
void trim() { engine::Engine::get().trim(); }
void around_evaluations(Around calls) { engine::Engine::surround(calls); }
void interrupt() noexcept { request_interrupt(); }
void withdraw_interrupt() noexcept { withdraw_interrupts(); }
Options options() { return engine::Engine::get().options(); }
void configure(const Options& options) { engine::Engine::get().configure(options); }
std::string_view version() { return SINTER_VERSION; }

}  // namespace sinter

namespace sinter::trace {
const void* host_data(const RecordedPtr& node, const Site& site) { return engine::Engine::get().host_data(node, site); }
}  // namespace sinter::trace
