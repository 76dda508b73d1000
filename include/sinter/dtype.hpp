// Element types. The numbering is part of the on-disk cache key: append, never reorder.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace sinter {

/// The element type of a tensor. float16, bfloat16 and the narrow and unsigned integers exist as
/// values (they have names, sizes and promotion rules), but no primitive computes on them yet:
/// recording an operation on one throws DTypeError.
enum class DType : std::uint8_t {
  bool_, int8, uint8, int16, uint16, int32, uint32, int64, uint64, float16, bfloat16, float32, float64
};
inline constexpr int kDTypeCount = 13;

/// Bytes per element; a bool takes one byte, 0 or 1.
constexpr std::size_t itemsize(DType t) {
  constexpr std::uint8_t bytes[kDTypeCount] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8};
  return bytes[static_cast<int>(t)];
}
/// NumPy's name of the type: "float32", "bool", ...
constexpr std::string_view name(DType t) {
  constexpr std::string_view names[kDTypeCount] = {"bool",   "int8",  "uint8",  "int16",   "uint16",   "int32",  "uint32",
                                                   "int64", "uint64", "float16", "bfloat16", "float32", "float64"};
  return names[static_cast<int>(t)];
}
constexpr bool is_floating(DType t) { return t >= DType::float16; }
constexpr bool is_integer(DType t) { return t >= DType::int8 && t <= DType::uint64; }
constexpr bool is_bool(DType t) { return t == DType::bool_; }
/// True for the types that primitives compute on today.
constexpr bool is_computable(DType t) {
  return t == DType::bool_ || t == DType::int32 || t == DType::int64 || t == DType::float32 || t == DType::float64;
}

namespace detail {
template <class T> constexpr DType dtype_of_impl() {
  if constexpr (std::is_same_v<T, bool>) return DType::bool_;
  else if constexpr (std::is_same_v<T, float>) return DType::float32;
  else if constexpr (std::is_same_v<T, double>) return DType::float64;
  else {
    static_assert(std::is_integral_v<T>, "sinter tensors hold bool, integers, float and double");
    constexpr bool s = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1) return s ? DType::int8 : DType::uint8;
    else if constexpr (sizeof(T) == 2) return s ? DType::int16 : DType::uint16;
    else if constexpr (sizeof(T) == 4) return s ? DType::int32 : DType::uint32;
    else return s ? DType::int64 : DType::uint64;
  }
}
}  // namespace detail
/// The DType of a C++ type: dtype_of<float> == DType::float32.
template <class T> inline constexpr DType dtype_of = detail::dtype_of_impl<std::remove_cv_t<T>>();

}  // namespace sinter
