#include "onnx/types.hpp"

#include <fmt/format.h>

namespace sinter::onnx {

std::optional<DType> element_type(std::int64_t number) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (kDTypes[i].onnx == number && number != 0) return static_cast<DType>(i);
  return {};
}

std::string element_type_name(std::int64_t number) {
  if (const std::optional<DType> dtype = element_type(number)) return std::string(name(*dtype));
  switch (number) {  // types that sinter lacks
    case 0: return "undefined";
    case 8: return "string";
    case 14: return "complex64";
    case 15: return "complex128";
    case 18: return "float8e4m3fnuz";
    case 20: return "float8e5m2fnuz";
    case 21: return "uint4";
    case 22: return "int4";
    case 23: return "float4e2m1";
    default: return fmt::format("number {}", number);
  }
}

DType element_type(const Call& call, std::int64_t number) {
  const std::optional<DType> dtype = element_type(number);
  if (!dtype) call.refuse(fmt::format("the element type {}, which sinter lacks", element_type_name(number)));
  return *dtype;
}

}  // namespace sinter::onnx
