// ONNX's numbers for element types.
#pragma once
#include <optional>
#include <string>

#include "onnx/call.hpp"
#include "sinter/dtype.hpp"

namespace sinter::onnx {

/// Returns the element type of this number, if sinter has it.
std::optional<DType> element_type(std::int64_t number);
std::string element_type_name(std::int64_t number);
/// Conversions to these types saturate unless their node says otherwise.
constexpr bool is_float8(DType dtype) { return is_floating(dtype) && itemsize(dtype) == 1; }
/// Returns the element type of this number, which a node names. Throws a ModelError for a type that sinter lacks.
DType element_type(const Call& call, std::int64_t number);

}  // namespace sinter::onnx
