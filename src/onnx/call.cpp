#include "onnx/call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <set>
#include <unordered_map>

#include "onnx/sequences.hpp"
#include "sinter/counted.hpp"
#include "sinter/ops.hpp"
#include "sinter/whole.hpp"

namespace sinter::onnx {
namespace {

/// Recorded operations may always point to a file's name, so names are never freed, and models that are loaded again share them.
const char* interned(std::string text) {
  static std::mutex mutex;
  static std::set<std::string>* names = new std::set<std::string>;  // never destroyed, because errors at exit may name it
  const std::lock_guard lock(mutex);
  return names->insert(std::move(text)).first->c_str();
}

}  // namespace

Location Call::location(const Graph& graph, const Node& node) {
  return {interned(node.name.empty() ? fmt::format("{}, {}", graph.file, node.op) : fmt::format("{}, {} '{}'", graph.file, node.op, node.name)),
          static_cast<std::uint32_t>(node.place)};
}

void Call::refuse(const std::string& why) const { throw ModelError(fmt::format("{}: {}: {}", graph_.file, describe(node_), why)); }

const Tensor& Call::tensor(std::size_t i) const {
  if (!has(i)) refuse(fmt::format("input {} is missing", i));
  return inputs_[i];
}

const std::vector<Tensor>& Call::tensors() const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) tensor(i);
  return inputs_;
}

// Only types that models use for such numbers are accepted; an input of another type stays an operand.
std::optional<double> Call::constant_number(std::size_t i) const {
  if (!is_constant(i) || inputs_[i].size() != 1) return {};
  switch (inputs_[i].dtype()) {
    case DType::float32: return inputs_[i].item<float>();
    case DType::float64: return inputs_[i].item<double>();
    default: return {};
  }
}

bool Call::is_constant(std::size_t i) const { return own_ && i < node_.inputs.size() && graph_.constants.contains(node_.inputs[i]) && has(i); }

bool Call::is_constant_zero(std::size_t i) const {
  if (!is_constant(i)) return false;
  const auto zeros = [](const auto& list) { return std::all_of(list.begin(), list.end(), [](auto number) { return number == 0; }); };
  switch (inputs_[i].dtype()) {
    case DType::int8: return zeros(inputs_[i].to_vector<std::int8_t>());
    case DType::uint8: return zeros(inputs_[i].to_vector<std::uint8_t>());
    default: return false;
  }
}

template <class T> const T* Call::attribute(std::string_view name) const {
  const auto found = node_.attributes.find(name);
  if (found == node_.attributes.end()) return nullptr;
  const T* value = std::get_if<T>(&found->second);
  if (!value) refuse(fmt::format("the attribute '{}' has another type", name));
  return value;
}

namespace {

template <class T> T or_else(const Call& call, std::string_view name, const T* value, std::optional<T> otherwise) {
  if (value) return *value;
  if (!otherwise) call.refuse(fmt::format("the attribute '{}' is missing", name));
  return *std::move(otherwise);
}

}  // namespace

std::int64_t Call::integer(std::string_view name, std::optional<std::int64_t> otherwise) const {
  return or_else(*this, name, attribute<std::int64_t>(name), otherwise);
}
double Call::number(std::string_view name, std::optional<double> otherwise) const {
  const float* value = attribute<float>(name);
  const std::optional<double> wide = value ? std::optional<double>(*value) : std::nullopt;
  return or_else(*this, name, wide ? &*wide : nullptr, otherwise);
}
std::string Call::text(std::string_view name, std::optional<std::string> otherwise) const {
  return or_else(*this, name, attribute<std::string>(name), std::move(otherwise));
}
std::vector<std::int64_t> Call::integers(std::string_view name, std::optional<std::vector<std::int64_t>> otherwise) const {
  return or_else(*this, name, attribute<std::vector<std::int64_t>>(name), std::move(otherwise));
}
std::vector<float> Call::numbers(std::string_view name, std::optional<std::vector<float>> otherwise) const {
  return or_else(*this, name, attribute<std::vector<float>>(name), std::move(otherwise));
}
std::vector<std::string> Call::texts(std::string_view name, std::optional<std::vector<std::string>> otherwise) const {
  return or_else(*this, name, attribute<std::vector<std::string>>(name), std::move(otherwise));
}
const Tensor* Call::constant(std::string_view name) const { return attribute<Tensor>(name); }
std::int64_t Call::size(std::string_view name, std::optional<std::int64_t> otherwise) const {
  return within({integer(name, otherwise)}, fmt::format("the attribute '{}'", name), 1)[0];
}

std::vector<std::int64_t> Call::values(std::size_t i) const {
  if (!is_integer(tensor(i).dtype())) refuse(fmt::format("input {} has to hold integers, not {}", i, name(tensor(i).dtype())));
  return read_(node_, i, inputs_[i]);
}

std::int64_t Call::value(std::size_t i) const {
  const std::vector<std::int64_t> numbers = values(i);
  if (numbers.size() != 1) refuse(fmt::format("input {} has to be one number, not {}", i, numbers.size()));
  return numbers[0];
}

double Call::real(std::size_t i) const {
  if (tensor(i).size() != 1) refuse(fmt::format("input {} has to be one number, not of shape {}", i, to_string(tensor(i).shape())));
  return astype((*this)[i], DType::float64).to_vector<double>(where_)[0];
}

std::vector<std::int64_t> Call::within(std::vector<std::int64_t> numbers, std::string_view what, std::int64_t low, std::int64_t high) const {
  for (const std::int64_t number : numbers)
    if (number < low || number > high) refuse(fmt::format("{}: {} is not between {} and {}", what, number, low, high));
  return numbers;
}

Shape Call::shape(std::vector<std::int64_t> sizes, std::string_view what) const {
  double count = 1;
  for (const std::int64_t size : sizes) {
    if (size < 0) refuse(fmt::format("{}: the size {} is negative", what, size));
    count *= static_cast<double>(size);
  }
  if (count > static_cast<double>(graph_.max_elements))
    refuse(fmt::format("{}: {} elements are more than the limit of {} (ModelOptions::max_elements)", what, to_string(sizes), graph_.max_elements));
  return Shape(sizes.begin(), sizes.end());
}

std::int64_t Call::whole(double number, std::string_view what) const {
  if (!(std::fabs(number) <= static_cast<double>(kFar))) refuse(fmt::format("{}: {} is not a size", what, number));
  return *detail::whole(std::floor(number));
}

void Call::check_work(double products) const {
  const double max_products = kMaxWork * static_cast<double>(graph_.max_elements);
  if (products > max_products)
    refuse(fmt::format("its windows need {:.3g} products; the limit is {:.3g} (a multiple of ModelOptions::max_elements)", products, max_products));
}

std::optional<std::vector<std::int64_t>> Call::axes(std::string_view name, std::size_t input) const {
  if (given(name)) return integers(name);
  if (has(input)) return values(input);
  return {};
}

std::int64_t Call::axis(std::int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank) refuse(fmt::format("axis {} is out of bounds for a tensor of {}", axis, sinter::counted(rank, "dimension")));
  return axis < 0 ? axis + rank : axis;
}

std::vector<std::span<const Operator>> operator_families() {
  return {elementwise_operators(), reduction_operators(), shape_operators(),       indexing_operators(), network_operators(), quantized_operators(),
          attention_operators(),   recurrent_operators(), convolution_operators(), vision_operators(),   signal_operators(),  runtime_quantized_operators()};
}

const Operator* find_operator(std::string_view name) {
  static const auto* table = [] {
    auto* rows = new std::unordered_map<std::string_view, const Operator*>;
    for (const auto family : operator_families())
      for (const Operator& row : family) rows->emplace(row.name, &row);
    return rows;
  }();
  const auto found = table->find(name);
  return found == table->end() ? nullptr : found->second;
}

void check_inputs(const std::string& file, const Node& node) {
  const Operator* op = find_operator(node.op);
  const SequenceOperator* sequence = find_sequence_operator(node.op);
  if (!op && !sequence) return;
  const Inputs takes = op ? op->inputs : sequence->inputs;
  const std::size_t given = node.inputs.size();
  const auto refuse = [&](const std::string& why) { throw ModelError(fmt::format("{}: {}: {}", file, describe(node), why)); };
  if (given > takes.max) refuse(fmt::format("{}; the operator takes at most {}", sinter::counted(given, "input"), takes.max));
  for (std::size_t i = 0; i < takes.min; ++i)
    if (i >= given || node.inputs[i].empty()) refuse(fmt::format("input {} is missing; the operator takes at least {}", i, takes.min));
}

std::vector<std::string_view> operator_names() {
  std::vector<std::string_view> names;
  for (const auto family : operator_families())
    for (const Operator& row : family) names.push_back(row.name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace sinter::onnx
