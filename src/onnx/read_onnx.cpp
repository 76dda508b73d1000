// Reads an .onnx file as a Graph. Every size that the file states is checked against the file's contents.
#include <fcntl.h>
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <set>

#include "onnx.pb.h"
#include "onnx/call.hpp"
#include "onnx/functions.hpp"
#include "onnx/graph.hpp"
#include "onnx/types.hpp"
#include "sinter/counted.hpp"
#include "sinter/ops.hpp"

namespace sinter::onnx {
namespace {

/// The bytes of a file, mapped into memory.
class Mapping {
 public:
  /// `of`: a description of the contents, for errors. A pipe is refused, because reading it could wait forever.
  explicit Mapping(const std::string& path, const std::string& of = {}) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) throw IoError(fmt::format("{}{}: {}", of, path, std::strerror(errno)));
    struct stat about {};
    if (::fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
      ::close(file);
      throw IoError(fmt::format("{}{}: not a file", of, path));
    }
    size_ = static_cast<std::size_t>(about.st_size);
    if (size_ > 0) {
      void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
      if (mapped != MAP_FAILED) data_ = static_cast<const char*>(mapped);
    }
    ::close(file);
    if (size_ > 0 && !data_) throw IoError(fmt::format("{}{}: cannot be mapped: {}", of, path, std::strerror(errno)));
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (data_) ::munmap(const_cast<char*>(data_), size_);
  }
  const char* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Prepares text of a file for an error: removes control characters and shortens it.
std::string shown(std::string_view text) {
  std::string clean;
  for (const char c : text.substr(0, 80)) clean += static_cast<unsigned char>(c) < 32 || c == 127 ? '?' : c;
  return text.size() > 80 ? clean + "..." : clean;
}

class Reader {
 public:
  Reader(std::string path, std::string file, const ModelOptions& options) : path_(std::move(path)), file_(std::move(file)), options_(options) {}

  /// The inputs and outputs of a graph `within` another one need no type, because their values have types.
  Graph graph(const format::Graph& from, int opset, bool within = false) {
    Graph graph;
    graph.file = file_;
    graph.opset = opset;
    graph.max_elements = options_.max_elements;
    graph.max_unrolled = options_.max_unrolled;
    if (from.sparse_initializer_size() > 0) fail("sparse initializers are not supported");
    for (const format::Tensor& constant : from.initializer()) {
      if (constant.name().empty()) fail("an initializer has no name");
      graph.constants.insert_or_assign(constant.name(), tensor(constant, fmt::format("initializer '{}'", shown(constant.name()))));
      if (is_four_bits(constant)) four_bits_.insert(constant.name());
    }
    for (const format::ValueInfo& input : from.input())
      if (!graph.constants.contains(input.name())) graph.inputs.push_back(value(input, "input", within));
    for (const format::ValueInfo& output : from.output()) graph.outputs.push_back(value(output, "output", within));
    int place = 0;
    for (const format::Node& node : from.node()) graph.nodes.push_back(read_node(node, place++, opset));
    return graph;
  }

  Tensor tensor(const format::Tensor& from, const std::string& what) {
    if (is_four_bits(from)) return four_bits(from, what);
    const std::optional<DType> dtype = element_type(from.data_type());
    if (!dtype) fail(fmt::format("{} holds {}, which sinter lacks", what, element_type_name(from.data_type())));
    const Shape shape = shape_of(from, what);
    const std::int64_t count = element_count(shape);
    const std::size_t bytes = static_cast<std::size_t>(count) * itemsize(*dtype);
    if (from.data_location() == 1) return made(external(from, bytes, what), *dtype, shape, bytes);
    if (!from.raw_data().empty() || count == 0) {
      if (from.raw_data().size() != bytes) fail(fmt::format("{} has {}, but its shape and type need {}", what, counted(from.raw_data().size(), "byte"), bytes));
      return made(from.raw_data().data(), *dtype, shape, bytes);
    }
    return visit_storage(*dtype, [&]<class T>() -> Tensor {
      if constexpr (std::is_same_v<T, float>) return list<float>(from.float_data(), shape, count, what);
      else if constexpr (std::is_same_v<T, double>) return list<double>(from.double_data(), shape, count, what);
      else if constexpr (std::is_same_v<T, std::int64_t>) return list<std::int64_t>(from.int64_data(), shape, count, what);
      else if constexpr (std::is_same_v<T, std::uint64_t> || std::is_same_v<T, std::uint32_t>) return list<T>(from.uint64_data(), shape, count, what);
      else if constexpr (std::is_arithmetic_v<T>) return list<T>(from.int32_data(), shape, count, what);
      else {  // narrow floats are stored as bits in int32_data
        if (from.int32_data_size() != count)
          fail(fmt::format("{} has {}, but its shape needs {}", what, sinter::counted(from.int32_data_size(), "number"), count));
        std::vector<decltype(T::bits)> bits(from.int32_data().begin(), from.int32_data().end());
        return made(bits.data(), *dtype, shape, bytes);
      }
    });
  }

  [[noreturn]] void fail(const std::string& what) const { throw ModelError(fmt::format("{}: {}", file_, what)); }

 private:
  std::string path_, file_;
  ModelOptions options_;
  std::map<std::string, std::unique_ptr<Mapping>> external_;
  std::set<std::string> four_bits_;  // constants that have 4 bits in the file

  /// The bytes need not be aligned for the type.
  static Tensor made(const void* data, DType dtype, const Shape& shape, std::size_t bytes) {
    if (dtype != DType::bool_) return from_pointer(data, dtype, shape);
    std::vector<unsigned char> flags(bytes);
    for (std::size_t i = 0; i < bytes; ++i) flags[i] = static_cast<const char*>(data)[i] != 0;
    return from_pointer(flags.data(), dtype, shape);
  }

  template <class T, class List> Tensor list(const List& numbers, const Shape& shape, std::int64_t count, const std::string& what) {
    if (numbers.size() != count) fail(fmt::format("{} has {}, but its shape needs {}", what, sinter::counted(numbers.size(), "number"), count));
    if constexpr (std::is_same_v<T, bool>) {
      std::vector<unsigned char> flags;
      for (const auto number : numbers) flags.push_back(number != 0);
      return from_pointer(flags.data(), DType::bool_, shape);
    } else {
      const std::vector<T> elements(numbers.begin(), numbers.end());
      return from_pointer(elements.data(), dtype_of<T>, shape);
    }
  }

  Shape shape_of(const format::Tensor& from, const std::string& what) const {
    Shape shape;
    std::int64_t count = 1;
    for (const std::int64_t size : from.dims()) {
      if (size < 0 || (size > 0 && count > std::numeric_limits<std::int64_t>::max() / 16 / size))
        fail(fmt::format("{} has the impossible size {} in its shape", what, size));
      count *= size;
      shape.push_back(size);
    }
    return shape;
  }

  static bool is_four_bits(const format::Tensor& from) { return from.data_type() == 21 || from.data_type() == 22; }  // uint4, int4

  /// Widens 4-bit integers, two in a byte, to 8 bits. Only DequantizeLinear reads them, whose result is the same.
  Tensor four_bits(const format::Tensor& from, const std::string& what) {
    const Shape shape = shape_of(from, what);
    const auto count = static_cast<std::size_t>(element_count(shape)), bytes = (count + 1) / 2;
    std::string packed;
    if (from.data_location() == 1) packed.assign(external(from, bytes, what), bytes);
    else if (!from.raw_data().empty() || count == 0) packed = from.raw_data();
    else
      for (const std::int32_t pair : from.int32_data()) packed += static_cast<char>(pair);
    if (packed.size() != bytes) fail(fmt::format("{} has {}, but its shape and type need {}", what, counted(packed.size(), "byte"), bytes));
    std::vector<std::uint8_t> numbers(count);
    for (std::size_t i = 0; i < count; ++i) {
      const int half = static_cast<unsigned char>(packed[i / 2]) >> (i % 2 ? 4 : 0) & 15;
      numbers[i] = static_cast<std::uint8_t>(from.data_type() == 22 && half > 7 ? half - 16 : half);
    }
    return from_pointer(numbers.data(), from.data_type() == 22 ? DType::int8 : DType::uint8, shape);
  }

  const char* external(const format::Tensor& from, std::size_t bytes, const std::string& what) {
    std::string location;
    std::uint64_t offset = 0, length = bytes;
    for (const format::Entry& entry : from.external_data()) {
      if (entry.key() == "location") location = entry.value();
      else if (entry.key() == "offset") offset = number(entry, what);
      else if (entry.key() == "length") length = number(entry, what);
    }
    // A model may name only files in its own folder.
    const std::filesystem::path relative(location);
    bool leaves = location.empty() || relative.is_absolute();
    for (const auto& part : relative) leaves |= part == "..";
    if (leaves) fail(fmt::format("{} is in '{}', which is not in the model's folder", what, shown(location)));
    const std::string path = (std::filesystem::path(path_).parent_path() / relative).string();
    auto& mapping = external_[path];
    if (!mapping) mapping = std::make_unique<Mapping>(path, fmt::format("{}: {} lies in ", file_, what));
    if (length != bytes) fail(fmt::format("{} has {} in {}, but its shape and type need {}", what, counted(length, "byte"), shown(location), bytes));
    if (offset > mapping->size() || length > mapping->size() - offset)
      fail(fmt::format("{} ends at byte {} of {}, which has only {}", what, offset + length, shown(location), mapping->size()));
    return mapping->data() + offset;
  }

  std::uint64_t number(const format::Entry& entry, const std::string& what) const {
    std::uint64_t value = 0;
    for (const char c : entry.value()) {
      if (c < '0' || c > '9' || value > (std::numeric_limits<std::uint64_t>::max() - 9) / 10)
        fail(fmt::format("{} has the {} '{}'", what, shown(entry.key()), shown(entry.value())));
      value = value * 10 + static_cast<std::uint64_t>(c - '0');
    }
    return value;
  }

  ModelValue value(const format::ValueInfo& from, const char* kind, bool within) const {
    const std::string what = fmt::format("{} '{}'", kind, shown(from.name()));
    if (from.name().empty()) fail(fmt::format("an {} has no name", kind));
    if (within && (from.type().value_case() == format::Type::VALUE_NOT_SET || from.type().value_case() == format::Type::kSequenceType))
      return {from.name(), DType::float32, {}};
    if (from.type().value_case() == format::Type::VALUE_NOT_SET)
      fail(fmt::format("{} has no type; onnx.shape_inference.infer_shapes writes those of outputs into a file", what));
    if (from.type().value_case() != format::Type::kTensorType) fail(fmt::format("{} is not a tensor but a sequence, a map or an optional value", what));
    const format::TensorType& type = from.type().tensor_type();
    const std::optional<DType> dtype = element_type(type.elem_type());
    if (!dtype) fail(fmt::format("{} is of {}, which sinter lacks", what, element_type_name(type.elem_type())));
    ModelValue value{from.name(), *dtype, {}};
    if (!type.has_shape()) return value;
    value.shape.emplace();
    for (const format::Dimension& size : type.shape().dim()) {
      const bool is_number = size.value_case() == format::Dimension::kDimValue;
      if (is_number && size.dim_value() >= 0) {
        value.shape->push_back({size.dim_value(), {}});
        continue;
      }
      // Exporters write "?", an empty name or a negative number for an unknown size. Each such size is independent.
      const bool named = !is_number && !size.dim_param().empty() && size.dim_param() != "?";
      value.shape->push_back({{}, named ? size.dim_param() : fmt::format("{}.{}", from.name(), value.shape->size())});
    }
    return value;
  }

  Node read_node(const format::Node& from, int place, int opset) {
    Node node;
    node.op = from.domain().empty() || from.domain() == "ai.onnx" ? from.op_type() : fmt::format("{}.{}", from.domain(), from.op_type());
    node.op = shown(node.op);
    if (from.domain() == "sinter") fail(fmt::format("{} uses the domain 'sinter', which is reserved", describe(node)));
    node.name = shown(from.name());
    node.place = place;
    node.inputs.assign(from.input().begin(), from.input().end());
    node.outputs.assign(from.output().begin(), from.output().end());
    if (node.outputs.empty()) fail(fmt::format("{} has no output", describe(node)));
    while (!node.inputs.empty() && node.inputs.back().empty()) node.inputs.pop_back();
    if (node.op == "Loop") node.inputs.resize(std::max<std::size_t>(node.inputs.size(), 2));  // each of the first two inputs may be omitted
    check_inputs(file_, node);
    for (const format::Attribute& attribute : from.attribute()) {
      node.attributes.insert_or_assign(attribute.name(), read(attribute, node, opset));
      if (attribute.type() == 4 && is_four_bits(attribute.t())) four_bits_.insert(node.outputs[0]);
    }
    // The zero point's type decides the type of the result.
    if (node.op == "QuantizeLinear" && node.inputs.size() > 2 && four_bits_.contains(node.inputs[2]))
      fail(fmt::format("{} quantizes to 4 bits, which sinter lacks", describe(node)));
    return node;
  }

  Attribute read(const format::Attribute& from, const Node& node, int opset) {
    const std::string what = fmt::format("the attribute '{}' of {}", shown(from.name()), describe(node));
    if (!from.ref_attr_name().empty()) fail(fmt::format("{} refers to a function's attribute", what));
    switch (from.type()) {
      case 1: return from.f();
      case 2: return static_cast<std::int64_t>(from.i());
      case 3: return from.s();
      case 4: return tensor(from.t(), what);
      case 5: return std::make_shared<const Graph>(graph(from.g(), opset, true));
      case 6: return std::vector<float>(from.floats().begin(), from.floats().end());
      case 7: return std::vector<std::int64_t>(from.ints().begin(), from.ints().end());
      case 8: return std::vector<std::string>(from.strings().begin(), from.strings().end());
      default: fail(fmt::format("{} is of a kind that is not supported (number {})", what, from.type()));
    }
  }
};

template <class Message> void parse(Message& message, const Mapping& mapping, const std::string& file) {
  if (mapping.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw ModelError(fmt::format("{}: larger than the 2 GiB that an ONNX file may have; store its tensors in files beside it", file));
  const google::protobuf::LogSilencer quiet;  // faults are thrown, not printed
  google::protobuf::io::ArrayInputStream stream(mapping.data(), static_cast<int>(mapping.size()));
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetRecursionLimit(64);
  if (!message.ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage()) throw ModelError(fmt::format("{}: not an ONNX file, or a damaged one", file));
}

}  // namespace

std::string file_name(std::string_view path) { return shown(std::filesystem::path(path).filename().string()); }

Graph read_onnx(const std::string& path, const ModelOptions& options) {
  const Mapping mapping(path);
  const std::string file = file_name(path);
  format::Model model;
  parse(model, mapping, file);
  Reader reader(path, file, options);
  if (!model.has_graph() || model.graph().output_size() == 0) reader.fail("not an ONNX file: it has no graph with an output");
  int opset = 0;
  for (const format::Opset& imported : model.opset_import())
    if (imported.domain().empty() || imported.domain() == "ai.onnx") opset = static_cast<int>(std::min<std::int64_t>(imported.version(), 1000));
  if (opset <= 0) opset = 1;
  inline_functions(model, file);
  Graph graph = reader.graph(model.graph(), opset);
  sort_nodes(graph);
  return graph;
}

Tensor read_onnx_tensor(const std::string& path) {
  const Mapping mapping(path);
  const std::string file = file_name(path);
  format::Tensor tensor;
  parse(tensor, mapping, file);
  return Reader(path, file, {}).tensor(tensor, "the tensor");
}

}  // namespace sinter::onnx
