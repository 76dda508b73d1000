#include "onnx/types.hpp"

#include <fmt/format.h>

#include <iterator>

namespace sinter::onnx {

std::optional<DType> element_type(std::int64_t number) {
  switch (number) {
    case 1: return DType::float32;
    case 2: return DType::uint8;
    case 3: return DType::int8;
    case 4: return DType::uint16;
    case 5: return DType::int16;
    case 6: return DType::int32;
    case 7: return DType::int64;
    case 9: return DType::bool_;
    case 10: return DType::float16;
    case 11: return DType::float64;
    case 12: return DType::uint32;
    case 13: return DType::uint64;
    case 16: return DType::bfloat16;
    default: return {};
  }
}

std::string element_type_name(std::int64_t number) {
  constexpr const char* kNames[] = {"undefined", "float32",      "uint8",          "int8",       "uint16",         "int16",  "int32",     "int64",
                                    "string",    "bool",         "float16",        "float64",    "uint32",         "uint64", "complex64", "complex128",
                                    "bfloat16",  "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",  "int4",      "float4e2m1"};
  return number >= 0 && number < static_cast<std::int64_t>(std::size(kNames)) ? kNames[number] : fmt::format("number {}", number);
}

DType element_type(const Call& call, std::int64_t number) {
  const std::optional<DType> dtype = element_type(number);
  if (!dtype) call.refuse(fmt::format("the element type {}, which sinter has not", element_type_name(number)));
  return *dtype;
}

}  // namespace sinter::onnx
