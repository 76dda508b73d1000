// Makes broken ONNX models by one or several changes of a model's structure, or of its bytes. Each change follows from the given random numbers.
#pragma once
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "onnx.pb.h"

namespace sinter::testing {

/// A model as read from a file, and the inputs of its own test, by name.
struct OnnxSample {
  std::string name;
  onnx::format::Model model;
  std::vector<onnx::format::Tensor> inputs;
};

class OnnxMutator {
 public:
  OnnxMutator(const std::vector<OnnxSample>& samples, std::uint64_t seed) : samples_(samples), random_(seed) {}

  /// Returns the bytes of a broken model that was made from this model.
  std::string broken(const OnnxSample& sample) {
    onnx::format::Model model = sample.model;
    for (const onnx::format::Tensor& input : sample.inputs)
      if (one_in(2)) fix(*model.mutable_graph(), input);
    if (one_in(4)) return changed_bytes(model.SerializeAsString());
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) change(model);
    std::string bytes = model.SerializeAsString();
    return one_in(16) ? changed_bytes(std::move(bytes)) : bytes;
  }

  std::uint64_t below(std::uint64_t count) { return count == 0 ? 0 : random_() % count; }
  bool one_in(std::uint64_t count) { return below(count) == 0; }
  std::int64_t nasty_integer() {
    constexpr std::int64_t kNasty[] = {0,
                                       -1,
                                       1,
                                       2,
                                       3,
                                       4,
                                       7,
                                       -2,
                                       -3,
                                       16,
                                       100,
                                       255,
                                       65536,
                                       1000003,
                                       std::int64_t{1} << 31,
                                       (std::int64_t{1} << 31) - 1,
                                       -(std::int64_t{1} << 31),
                                       std::int64_t{1} << 32,
                                       std::int64_t{1} << 40,
                                       std::int64_t{1} << 62,
                                       std::numeric_limits<std::int64_t>::max(),
                                       std::numeric_limits<std::int64_t>::max() - 1,
                                       std::numeric_limits<std::int64_t>::min(),
                                       std::numeric_limits<std::int64_t>::min() + 1};
    return kNasty[below(std::size(kNasty))];
  }
  float nasty_float() {
    constexpr float kNasty[] = {0,
                                -0.f,
                                1,
                                -1,
                                0.5f,
                                2,
                                1e-45f,
                                1e-30f,
                                65504,
                                3e9f,
                                1e19f,
                                -1e19f,
                                3e38f,
                                std::numeric_limits<float>::infinity(),
                                -std::numeric_limits<float>::infinity(),
                                std::numeric_limits<float>::quiet_NaN()};
    return kNasty[below(std::size(kNasty))];
  }

 private:
  const std::vector<OnnxSample>& samples_;
  std::mt19937_64 random_;

  const OnnxSample& any_sample() { return samples_[below(samples_.size())]; }

  /// Makes an input a constant of the model.
  static void fix(onnx::format::Graph& graph, const onnx::format::Tensor& value) {
    auto* inputs = graph.mutable_input();
    for (int k = 0; k < inputs->size(); ++k)
      if (inputs->Get(k).name() == value.name()) {
        inputs->DeleteSubrange(k, 1);
        *graph.add_initializer() = value;
        return;
      }
  }

  void change(onnx::format::Model& model) {
    onnx::format::Graph& graph = any_graph(*model.mutable_graph());
    switch (below(16)) {
      case 0:
      case 1:
      case 2: return change_attribute(any_node(graph));
      case 3:
      case 4: return change_inputs(graph, any_node(graph));
      case 5: return change_outputs(graph, any_node(graph));
      case 6: return change_nodes(graph);
      case 7: return any_node(graph).set_op_type(any_op());
      case 8:
      case 9:
      case 10:
        return graph.initializer_size() > 0 ? change_tensor(*graph.mutable_initializer(static_cast<int>(below(graph.initializer_size()))))
                                            : change_attribute(any_node(graph));
      case 11: return change_declared(graph);
      case 12: return wrap(model);
      case 13: return change_opset(model);
      case 14: return splice(graph);
      default: return add_function(model);
    }
  }

  /// Returns the graph, or one within it.
  onnx::format::Graph& any_graph(onnx::format::Graph& graph) {
    std::vector<onnx::format::Graph*> graphs{&graph};
    for (onnx::format::Node& node : *graph.mutable_node())
      for (onnx::format::Attribute& attribute : *node.mutable_attribute())
        if (attribute.has_g()) graphs.push_back(attribute.mutable_g());
    return *graphs[below(graphs.size())];
  }
  onnx::format::Node& any_node(onnx::format::Graph& graph) {
    return graph.node_size() == 0 ? *graph.add_node() : *graph.mutable_node(static_cast<int>(below(graph.node_size())));
  }
  std::string any_op() {
    static constexpr const char* kMore[] = {"If",
                                            "Loop",
                                            "Scan",
                                            "SequenceConstruct",
                                            "SequenceAt",
                                            "SplitToSequence",
                                            "ConcatFromSequence",
                                            "Identity",
                                            "Resize",
                                            "Constant",
                                            "LSTM",
                                            "GRU",
                                            "RNN",
                                            "QLinearConv",
                                            "QLinearMatMul",
                                            "DequantizeLinear",
                                            "QuantizeLinear",
                                            "Attention",
                                            "RotaryEmbedding",
                                            "RMSNormalization",
                                            "Swish"};
    if (one_in(4)) return kMore[below(std::size(kMore))];
    const onnx::format::Graph& graph = any_sample().model.graph();
    return graph.node_size() == 0 ? "Add" : graph.node(static_cast<int>(below(graph.node_size()))).op_type();
  }
  /// Returns the name of a value of the graph, or an unknown name.
  std::string any_value(const onnx::format::Graph& graph) {
    std::vector<std::string> names{"", "nothing"};
    for (const onnx::format::ValueInfo& input : graph.input()) names.push_back(input.name());
    for (const onnx::format::Tensor& constant : graph.initializer()) names.push_back(constant.name());
    for (const onnx::format::Node& node : graph.node()) names.insert(names.end(), node.output().begin(), node.output().end());
    return names[below(names.size())];
  }

  void change_inputs(onnx::format::Graph& graph, onnx::format::Node& node) {
    const int at = static_cast<int>(below(node.input_size()));
    const std::uint64_t how = node.input_size() == 0 ? 0 : below(6);
    if (how == 0) node.add_input(any_value(graph));
    else if (how == 1) node.mutable_input()->DeleteSubrange(at, 1);
    else if (how == 2) node.mutable_input()->SwapElements(at, static_cast<int>(below(node.input_size())));
    else if (how == 3) node.set_input(at, "");
    else if (how == 4) node.clear_input();
    else node.set_input(at, any_value(graph));
  }
  void change_outputs(onnx::format::Graph& graph, onnx::format::Node& node) {
    const int at = static_cast<int>(below(node.output_size()));
    const std::uint64_t how = node.output_size() == 0 ? 0 : below(5);
    if (how == 0) node.add_output("more");
    else if (how == 1) node.mutable_output()->DeleteSubrange(at, 1);
    else if (how == 2) node.mutable_output()->SwapElements(at, static_cast<int>(below(node.output_size())));
    else if (how == 3) node.set_output(at, any_value(graph));
    else node.set_output(at, "");
  }
  void change_nodes(onnx::format::Graph& graph) {
    if (graph.node_size() == 0) return;
    const int at = static_cast<int>(below(graph.node_size()));
    const std::uint64_t how = below(4);
    if (how == 0) return graph.mutable_node()->DeleteSubrange(at, 1);
    if (how == 1) return graph.mutable_node()->SwapElements(at, static_cast<int>(below(graph.node_size())));
    onnx::format::Node* copy = graph.add_node();
    *copy = graph.node(at);
    if (how == 2) return;
    for (std::string& output : *copy->mutable_output()) output += "'";  // a chain of the same operator
    if (copy->input_size() > 0 && graph.node(at).output_size() > 0) copy->set_input(0, graph.node(at).output(0));
    if (copy->output_size() > 0 && graph.output_size() > 0) graph.mutable_output(0)->set_name(copy->output(0));
  }

  void change_attribute(onnx::format::Node& node) {
    static constexpr const char* kNames[] = {"axis",
                                             "axes",
                                             "kernel_shape",
                                             "strides",
                                             "dilations",
                                             "pads",
                                             "group",
                                             "blocksize",
                                             "to",
                                             "keepdims",
                                             "num_outputs",
                                             "split",
                                             "epsilon",
                                             "hidden_size",
                                             "auto_pad",
                                             "mode",
                                             "block_size",
                                             "size",
                                             "ceil_mode",
                                             "output_shape",
                                             "output_padding",
                                             "perm",
                                             "direction",
                                             "activations",
                                             "clip",
                                             "batch_dims",
                                             "num_scan_inputs",
                                             "scan_input_axes",
                                             "alpha",
                                             "beta",
                                             "output_height",
                                             "sampling_ratio",
                                             "k",
                                             "depth",
                                             "num_groups",
                                             "q_num_heads",
                                             "kv_num_heads",
                                             "num_heads",
                                             "rotary_embedding_dim",
                                             "p",
                                             "saturate",
                                             "value",
                                             "shape",
                                             "scales",
                                             "cubic_coeff_a",
                                             "antialias",
                                             "keep_aspect_ratio_policy",
                                             "onesided",
                                             "output_datatype",
                                             "then_branch",
                                             "body",
                                             "reduction",
                                             "storage_order",
                                             "count_include_pad",
                                             "transB",
                                             "layout"};
    if (node.attribute_size() == 0 || one_in(5)) {
      onnx::format::Attribute* added = node.add_attribute();
      added->set_name(kNames[below(std::size(kNames))]);
      return fill(*added);
    }
    const int at = static_cast<int>(below(node.attribute_size()));
    onnx::format::Attribute& attribute = *node.mutable_attribute(at);
    switch (below(8)) {
      case 0: return node.mutable_attribute()->DeleteSubrange(at, 1);
      case 1: return fill(attribute);
      case 2: return attribute.set_name(kNames[below(std::size(kNames))]);
      case 3: return attribute.set_type(static_cast<int>(below(16)) - 1);
      default: return change_value(attribute);
    }
  }
  void change_value(onnx::format::Attribute& attribute) {
    switch (attribute.type()) {
      case 1: return attribute.set_f(nasty_float());
      case 2: return attribute.set_i(nasty_integer());
      case 3: return attribute.set_s(any_text());
      case 4: return change_tensor(*attribute.mutable_t());
      case 6: return change_list(*attribute.mutable_floats(), [this] { return nasty_float(); });
      case 7: return change_list(*attribute.mutable_ints(), [this] { return nasty_integer(); });
      case 8: {
        if (attribute.strings_size() == 0 || one_in(3)) attribute.add_strings(any_text());
        else attribute.set_strings(static_cast<int>(below(attribute.strings_size())), any_text());
        return;
      }
      default: return fill(attribute);
    }
  }
  /// Returns another value, of any kind.
  void fill(onnx::format::Attribute& attribute) {
    const int types[] = {1, 2, 3, 4, 6, 7, 8, 5};
    attribute.set_type(types[below(std::size(types))]);
    if (attribute.type() == 5) *attribute.mutable_g() = any_sample().model.graph();
    else if (attribute.type() == 4) attribute.mutable_t()->set_data_type(static_cast<int>(below(24)));
    else change_value(attribute);
  }
  template <class List, class Draw> void change_list(List& list, Draw draw) {
    const std::uint64_t how = list.empty() ? 0 : below(6);
    if (how == 0) list.Add(draw());
    else if (how == 1) list.RemoveLast();
    else if (how == 2) list.Clear();
    else if (how == 3)
      for (auto& number : list) number = draw();
    else list.Set(static_cast<int>(below(list.size())), draw());
  }
  std::string any_text() {
    static constexpr const char* kTexts[] = {"",        "NOTSET",        "SAME_UPPER",  "SAME_LOWER", "VALID",    "linear",     "cubic",
                                             "nearest", "bidirectional", "reverse",     "max",        "CRD",      "not_larger", "tf_crop_and_resize",
                                             "Affine",  "ij,jk->ik",     "...ii->...i", "a,b,c->",    "\xff\xfe", "reflect",    "wrap",
                                             "edge",    "mul",           "add"};
    return one_in(16) ? std::string(below(100000), 'a') : kTexts[below(std::size(kTexts))];
  }

  void change_tensor(onnx::format::Tensor& tensor) {
    std::string& raw = *tensor.mutable_raw_data();
    switch (below(9)) {
      case 0: return change_list(*tensor.mutable_dims(), [this] { return nasty_integer(); });
      case 1: return tensor.set_data_type(static_cast<int>(below(26)) - 1);
      case 2: return raw.resize(below(raw.size() + 1));
      case 3: return void(raw.append(below(64), '\x01'));
      case 4: {
        tensor.set_data_location(1);
        static constexpr const char* kPlaces[] = {"", "/etc/passwd", "../x", ".", "missing", "a/../../b"};
        static constexpr const char* kSizes[] = {"0", "-1", "18446744073709551615", "9223372036854775807", "abc", "4"};
        for (const char* key : {"location", "offset", "length"}) {
          onnx::format::Entry* entry = tensor.add_external_data();
          entry->set_key(key);
          entry->set_value(std::string_view(key) == "location" ? kPlaces[below(std::size(kPlaces))] : kSizes[below(std::size(kSizes))]);
        }
        return;
      }
      case 5: tensor.add_float_data(nasty_float()); return;
      default: return change_numbers(tensor);
    }
  }
  void change_numbers(onnx::format::Tensor& tensor) {
    std::string& raw = *tensor.mutable_raw_data();
    if (raw.empty()) return change_list(*tensor.mutable_int64_data(), [this] { return nasty_integer(); });
    const bool all = one_in(4), wide = tensor.data_type() == 7, floats = tensor.data_type() == 1;
    const std::size_t size = wide || tensor.data_type() == 11 ? 8 : floats || tensor.data_type() == 6 ? 4 : 1;
    const std::size_t count = raw.size() / size;
    for (std::size_t k = all ? 0 : below(count), end = all ? std::min<std::size_t>(count, 1000) : std::min(k + 1, count); k < end; ++k) {
      const std::int64_t whole = nasty_integer();
      const float number = nasty_float();
      raw.replace(k * size, size, reinterpret_cast<const char*>(floats ? static_cast<const void*>(&number) : &whole), size);
    }
  }

  void change_declared(onnx::format::Graph& graph) {
    auto& values = one_in(3) ? *graph.mutable_output() : *graph.mutable_input();
    if (values.empty()) return;
    const int at = static_cast<int>(below(values.size()));
    onnx::format::ValueInfo& value = *values.Mutable(at);
    onnx::format::TensorType& type = *value.mutable_type()->mutable_tensor_type();
    switch (below(8)) {
      case 0: return values.DeleteSubrange(at, 1);
      case 1: return void(*values.Add() = values.Get(at));
      case 2: return value.set_name(any_value(graph));
      case 3: return type.set_elem_type(static_cast<int>(below(26)) - 1);
      case 4: return type.clear_shape();
      case 5: return value.clear_type();
      default: break;
    }
    onnx::format::Shape& shape = *type.mutable_shape();
    if (shape.dim_size() == 0 || one_in(4)) shape.add_dim()->set_dim_value(one_in(2) ? nasty_integer() : 2);
    else if (one_in(4)) shape.mutable_dim()->RemoveLast();
    else if (one_in(3)) shape.mutable_dim(static_cast<int>(below(shape.dim_size())))->set_dim_param("N");
    else shape.mutable_dim(static_cast<int>(below(shape.dim_size())))->set_dim_value(one_in(2) ? nasty_integer() : static_cast<std::int64_t>(below(6)));
  }
  static void change_opset_to(onnx::format::Model& model, std::int64_t version) {
    for (onnx::format::Opset& import : *model.mutable_opset_import()) import.set_version(version);
  }
  void change_opset(onnx::format::Model& model) {
    constexpr std::int64_t kVersions[] = {1, 7, 9, 10, 11, 12, 13, 15, 17, 18, 20, 21, 23, 1000, -1, std::numeric_limits<std::int64_t>::max()};
    change_opset_to(model, kVersions[below(std::size(kVersions))]);
  }

  static void add_graph(onnx::format::Node& node, const char* name, const onnx::format::Graph& graph) {
    onnx::format::Attribute* attribute = node.add_attribute();
    attribute->set_name(name);
    attribute->set_type(5);
    *attribute->mutable_g() = graph;
  }
  std::string add_number(onnx::format::Graph& graph, std::int64_t number, int type) {
    onnx::format::Tensor* tensor = graph.add_initializer();
    tensor->set_name("number" + std::to_string(graph.initializer_size()));
    tensor->set_data_type(type);
    if (one_in(8)) tensor->add_dims(static_cast<std::int64_t>(below(3)));
    tensor->set_raw_data(reinterpret_cast<const char*>(&number), type == 7 ? 8 : 1);
    return tensor->name();
  }
  /// Moves all nodes into an If, a Loop or a Scan, sometimes many levels deep.
  void wrap(onnx::format::Model& model) {
    const bool deep = one_in(16);
    for (std::size_t depth = deep ? 40 : 1; depth > 0; --depth) {
      onnx::format::Graph inner = model.graph(), outer;
      *outer.mutable_input() = inner.input();
      *outer.mutable_output() = inner.output();
      inner.clear_input();
      onnx::format::Node& node = *outer.add_node();
      for (const onnx::format::ValueInfo& output : outer.output()) node.add_output(output.name());
      switch (below(3)) {
        case 0:
          node.set_op_type("If");
          if (!one_in(6)) node.add_input(add_number(outer, static_cast<std::int64_t>(below(2)), 9));
          if (!one_in(6)) add_graph(node, "then_branch", inner);
          if (!one_in(6))
            add_graph(node, "else_branch", deep || one_in(4) ? any_sample().model.graph() : inner);  // doubling at each level would make it too long
          break;
        case 1: {
          node.set_op_type("Loop");
          node.add_input(one_in(4) ? "" : add_number(outer, nasty_integer(), 7));
          node.add_input(one_in(4) ? "" : add_number(outer, static_cast<std::int64_t>(below(2)), 9));
          if (!one_in(4)) {
            for (const char* name : {"round", "going"}) inner.add_input()->set_name(name);
            onnx::format::ValueInfo* going = inner.add_output();
            going->set_name("going");
            for (int k = inner.output_size() - 1; k > 0; --k) inner.mutable_output()->SwapElements(k, k - 1);
          }
          add_graph(node, "body", inner);
          break;
        }
        default: {
          node.set_op_type("Scan");
          onnx::format::Attribute* count = node.add_attribute();
          count->set_name("num_scan_inputs");
          count->set_type(2);
          count->set_i(one_in(3) ? nasty_integer() : 1);
          for (const onnx::format::ValueInfo& input : outer.input()) node.add_input(input.name());
          *inner.mutable_input() = outer.input();
          add_graph(node, "body", inner);
        }
      }
      *model.mutable_graph() = std::move(outer);
    }
  }
  /// Adds nodes of another model that read this one's values.
  void splice(onnx::format::Graph& graph) {
    const OnnxSample& other = any_sample();
    for (onnx::format::Node node : other.model.graph().node()) {
      for (std::string& input : *node.mutable_input()) {
        bool own = false;
        for (const onnx::format::ValueInfo& outside : other.model.graph().input()) own |= outside.name() == input;
        input = own ? any_value(graph) : input.empty() ? "" : "spliced_" + input;
      }
      for (std::string& output : *node.mutable_output()) output = output.empty() ? "" : "spliced_" + output;
      *graph.add_node() = node;
    }
    for (onnx::format::Tensor constant : other.model.graph().initializer()) {
      constant.set_name("spliced_" + constant.name());
      *graph.add_initializer() = constant;
    }
    if (graph.output_size() > 0 && other.model.graph().output_size() > 0) graph.mutable_output(0)->set_name("spliced_" + other.model.graph().output(0).name());
  }
  /// Adds a function with a node's operator name. Its body has the nodes of another model, or calls the function itself.
  void add_function(onnx::format::Model& model) {
    const onnx::format::Node& node = any_node(*model.mutable_graph());
    onnx::format::Function function;
    function.set_name(node.op_type());
    function.set_domain(node.domain());
    const onnx::format::Graph& body = one_in(2) ? model.graph() : any_sample().model.graph();
    for (const onnx::format::ValueInfo& input : body.input()) function.add_input(input.name());
    for (const onnx::format::ValueInfo& output : body.output()) function.add_output(output.name());
    *function.mutable_node() = body.node();
    *model.add_functions() = function;
  }

  std::string changed_bytes(std::string bytes) {
    for (std::size_t changes = 1 + below(4); changes > 0 && !bytes.empty(); --changes) {
      const std::size_t at = below(bytes.size()), length = 1 + below(16);
      switch (below(8)) {
        case 0:
        case 1:
        case 2: bytes[at] = static_cast<char>(bytes[at] ^ 1 << below(8)); break;
        case 3: bytes[at] = static_cast<char>(random_()); break;
        case 4: bytes.resize(at); break;
        case 5: bytes.insert(at, std::string(length, static_cast<char>(random_()))); break;
        case 6: bytes.erase(at, length); break;
        default: {
          const std::string other = any_sample().model.SerializeAsString();
          const std::size_t from = below(other.size());
          bytes.replace(at, length, other, from, 1 + below(200));
        }
      }
    }
    return bytes;
  }
};

}  // namespace sinter::testing
