// Writes small .onnx files, as exporters do.
#pragma once
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <vector>

#include "onnx.pb.h"

namespace sinter::testing {

class OnnxBuilder {
 public:
  explicit OnnxBuilder(int opset = 17) {
    model.set_ir_version(8);
    model.add_opset_import()->set_version(opset);
  }

  /// Sizes below 0 are the symbol "N".
  OnnxBuilder& input(const std::string& name, const std::vector<std::int64_t>& shape, int type = 1) {
    return value(model.mutable_graph()->add_input(), name, shape, type);
  }
  OnnxBuilder& output(const std::string& name, const std::vector<std::int64_t>& shape = {}, int type = 1) {
    return value(model.mutable_graph()->add_output(), name, shape, type);
  }
  OnnxBuilder& constant(const std::string& name, const std::vector<std::int64_t>& shape, const std::vector<float>& numbers) {
    onnx::format::Tensor* tensor = model.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(1);
    for (const std::int64_t size : shape) tensor->add_dims(size);
    tensor->set_raw_data(numbers.data(), numbers.size() * sizeof(float));
    return *this;
  }
  /// Adds a constant of uint8 (2), int8 (3) or int32 (6).
  OnnxBuilder& whole(const std::string& name, const std::vector<std::int64_t>& shape, const std::vector<int>& numbers, int type) {
    onnx::format::Tensor* tensor = model.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(type);
    for (const std::int64_t size : shape) tensor->add_dims(size);
    std::string raw;
    for (const int number : numbers) raw.append(reinterpret_cast<const char*>(&number), type == 6 ? 4 : 1);  // the low byte comes first
    tensor->set_raw_data(raw);
    return *this;
  }
  OnnxBuilder& integers(const std::string& name, const std::vector<std::int64_t>& numbers) {
    onnx::format::Tensor* tensor = model.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(7);
    tensor->add_dims(static_cast<std::int64_t>(numbers.size()));
    for (const std::int64_t number : numbers) tensor->add_int64_data(number);
    return *this;
  }

  struct Attribute {
    Attribute(std::string n, std::int64_t i) { message.set_name(std::move(n)), message.set_type(2), message.set_i(i); }
    Attribute(std::string n, int i) : Attribute(std::move(n), std::int64_t{i}) {}
    Attribute(std::string n, float f) { message.set_name(std::move(n)), message.set_type(1), message.set_f(f); }
    Attribute(std::string n, const char* s) { message.set_name(std::move(n)), message.set_type(3), message.set_s(s); }
    Attribute(std::string n, const std::vector<std::int64_t>& list) {
      message.set_name(std::move(n)), message.set_type(7);
      for (const std::int64_t i : list) message.add_ints(i);
    }
    static Attribute floats(const std::string& n, const std::vector<float>& list) {
      Attribute made(n, 0);
      made.message.clear_i(), made.message.set_type(6);
      for (const float v : list) made.message.add_floats(v);
      return made;
    }
    static Attribute texts(const std::string& n, const std::vector<std::string>& list) {
      Attribute made(n, 0);
      made.message.clear_i(), made.message.set_type(8);
      for (const std::string& v : list) made.message.add_strings(v);
      return made;
    }
    Attribute(std::string n, const onnx::format::Graph& graph) {
      message.set_name(std::move(n)), message.set_type(5);
      *message.mutable_g() = graph;
    }
    onnx::format::Attribute message;
  };
  OnnxBuilder& node(const std::string& op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                    const std::vector<Attribute>& attributes = {}, const std::string& domain = "") {
    onnx::format::Node* node = model.mutable_graph()->add_node();
    node->set_op_type(op);
    node->set_domain(domain);
    node->set_name(op + std::to_string(model.graph().node_size()));
    for (const std::string& name : inputs) node->add_input(name);
    for (const std::string& name : outputs) node->add_output(name);
    for (const Attribute& attribute : attributes) *node->add_attribute() = attribute.message;
    return *this;
  }

  std::string bytes() const { return model.SerializeAsString(); }
  std::string save(const std::filesystem::path& path) const {
    std::ofstream(path, std::ios::binary) << bytes();
    return path.string();
  }

  onnx::format::Model model;

 private:
  OnnxBuilder& value(onnx::format::ValueInfo* info, const std::string& name, const std::vector<std::int64_t>& shape, int type) {
    info->set_name(name);
    onnx::format::TensorType* tensor = info->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    if (shape.empty()) return *this;
    for (const std::int64_t size : shape) {
      onnx::format::Dimension* dim = tensor->mutable_shape()->add_dim();
      if (size < 0) dim->set_dim_param("N");
      else dim->set_dim_value(size);
    }
    return *this;
  }
};

}  // namespace sinter::testing
