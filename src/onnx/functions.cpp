#include "onnx/functions.hpp"

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "sinter/counted.hpp"
#include "sinter/model.hpp"

namespace sinter::onnx {
namespace {

using Names = std::map<std::string, std::string, std::less<>>;
using Attributes = std::map<std::string, const format::Attribute*, std::less<>>;

constexpr int kDeepest = 64;          // depth of nested calls
constexpr int kMaxNodes = 1'000'000;  // nodes after inlining, because a few functions that call each other twice could become very many nodes
constexpr std::size_t kMaxBytes = std::size_t{256} << 20;  // bytes of the inlined nodes
constexpr std::size_t kShown = 80;                         // characters of a name that becomes part of other names

std::string domain_of(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

std::int64_t opset_of(const google::protobuf::RepeatedPtrField<format::Opset>& imports) {
  for (const format::Opset& import : imports)
    if (domain_of(import.domain()).empty()) return import.version();
  return 0;
}

class Inliner {
 public:
  using Functions = google::protobuf::RepeatedPtrField<format::Function>;
  Inliner(const Functions& functions, std::int64_t opset, const std::string& file) : file_(file), opset_(opset) {
    for (const format::Function& function : functions)
      functions_.emplace(std::tuple(domain_of(function.domain()), function.name(), function.overload()), &function);
  }

  void graph(format::Graph& graph, int depth) {
    google::protobuf::RepeatedPtrField<format::Node> nodes;
    nodes.Swap(graph.mutable_node());
    for (format::Node& node : nodes) this->node(std::move(node), graph, depth);
  }

 private:
  /// Adds the node or, for a call, the nodes of the function's body.
  void node(format::Node&& node, format::Graph& to, int depth) {
    const auto found = functions_.find(std::tuple(domain_of(node.domain()), node.op_type(), node.overload()));
    if (found == functions_.end()) {
      for (format::Attribute& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) graph(*attribute.mutable_g(), depth);
        for (format::Graph& inner : *attribute.mutable_graphs()) graph(inner, depth);
      }
      *to.add_node() = std::move(node);
      return;
    }
    const format::Function& function = *found->second;
    const std::string called = function.domain().empty() ? function.name() : fmt::format("{}.{}", function.domain(), function.name());
    if (depth >= kDeepest) throw ModelError(fmt::format("{}: the function {} calls itself, or calls are nested more than {} deep", file_, called, kDeepest));
    if (const std::int64_t opset = opset_of(function.opset_import()); opset != 0 && opset_ != 0 && opset != opset_)
      throw ModelError(fmt::format("{}: the function {} has opset {} and the model has {}; they must be the same", file_, called, opset, opset_));
    if (node.input_size() > function.input_size() || node.output_size() > function.output_size())
      throw ModelError(fmt::format("{}: node '{}' calls {} with {} and {}; it has {} and {}", file_, node.name(), called,
                                   sinter::counted(node.input_size(), "input"), sinter::counted(node.output_size(), "output"), function.input_size(),
                                   function.output_size()));
    const std::string prefix = fmt::format("{}#{}/", function.name().substr(0, kShown), ++calls_), within = node.name().substr(0, kShown) + '/';
    Names names{{"", ""}};
    for (int k = 0; k < function.input_size(); ++k) names[function.input(k)] = k < node.input_size() ? node.input(k) : "";
    Names inputs = names;
    for (int k = 0; k < function.output_size(); ++k)
      if (k < node.output_size() && !node.output(k).empty() && !inputs.contains(function.output(k))) names[function.output(k)] = node.output(k);
    Attributes attributes;
    for (const format::Attribute& attribute : function.attribute_proto()) attributes[attribute.name()] = &attribute;
    for (const format::Attribute& attribute : node.attribute()) attributes[attribute.name()] = &attribute;
    for (const format::Node& from : function.node()) {
      format::Node copy = renamed(from, names, attributes, prefix);
      copy.set_name(within + from.name());
      if ((bytes_ += copy.ByteSizeLong()) > kMaxBytes) throw ModelError(fmt::format("{}: its functions expand to more than {} bytes", file_, kMaxBytes));
      if (++nodes_ > kMaxNodes) throw ModelError(fmt::format("{}: its functions expand to more than {} nodes", file_, kMaxNodes));
      this->node(std::move(copy), to, depth + 1);
    }
    for (int k = 0; k < node.output_size(); ++k) {  // an output may be an input of the function
      const auto input = inputs.find(function.output(k));
      if (input == inputs.end() || node.output(k).empty()) continue;
      format::Node* same = to.add_node();
      same->set_op_type("Identity");
      same->set_name(within + "Identity");
      same->add_input(input->second);
      same->add_output(node.output(k));
    }
  }

  static std::string renamed(const std::string& name, const Names& names, const std::string& prefix) {
    const auto known = names.find(name);
    return known == names.end() ? prefix + name : known->second;
  }

  static format::Node renamed(const format::Node& from, const Names& names, const Attributes& attributes, const std::string& prefix) {
    format::Node node = from;
    for (std::string& input : *node.mutable_input()) input = renamed(input, names, prefix);
    for (std::string& output : *node.mutable_output()) output = renamed(output, names, prefix);
    node.clear_attribute();
    for (const format::Attribute& attribute : from.attribute()) {
      if (!attribute.ref_attr_name().empty()) {  // the call's attribute, else the function's default; omitted if neither has it
        const auto given = attributes.find(attribute.ref_attr_name());
        if (given == attributes.end()) continue;
        format::Attribute* copy = node.add_attribute();
        *copy = *given->second;
        copy->set_name(attribute.name());
        continue;
      }
      format::Attribute* copy = node.add_attribute();
      *copy = attribute;
      if (copy->has_g()) rename(*copy->mutable_g(), names, attributes, prefix);
      for (format::Graph& inner : *copy->mutable_graphs()) rename(inner, names, attributes, prefix);
    }
    return node;
  }

  /// Renames the values of an inner graph of a function's body, so that its local names are distinct from all others.
  static void rename(format::Graph& graph, const Names& names, const Attributes& attributes, const std::string& prefix) {
    for (format::Node& node : *graph.mutable_node()) node = renamed(node, names, attributes, prefix);
    for (format::Tensor& constant : *graph.mutable_initializer()) constant.set_name(renamed(constant.name(), names, prefix));
    for (format::ValueInfo& input : *graph.mutable_input()) input.set_name(renamed(input.name(), names, prefix));
    for (format::ValueInfo& output : *graph.mutable_output()) output.set_name(renamed(output.name(), names, prefix));
  }

  const std::string& file_;
  std::int64_t opset_;
  std::map<std::tuple<std::string, std::string, std::string>, const format::Function*> functions_;
  int calls_ = 0, nodes_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

void inline_functions(format::Model& model, const std::string& file) {
  if (model.functions_size() == 0) return;
  google::protobuf::RepeatedPtrField<format::Function> functions;
  functions.Swap(model.mutable_functions());
  Inliner(functions, opset_of(model.opset_import()), file).graph(*model.mutable_graph(), 0);
}

}  // namespace sinter::onnx
