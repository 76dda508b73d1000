// Element types: the enumeration, and the table of their properties (sinter/dtypes.def) as data.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>

#include "sinter/half.hpp"

namespace sinter {

/// The element type of a tensor: bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float8_e4m3, float8_e4m3fn, float8_e5m2, float16, bfloat16,
/// float32, float64. The floating types of 8 and 16 bits are storage types: operations on them compute in float32 and round each result.
enum class DType : std::uint8_t {
#define SINTER_DTYPE(id, ...) id,
#include "sinter/dtypes.def"
#undef SINTER_DTYPE
};

// Short names of the types, except where sinter has a C++ type of that name: zeros({2, 3}, float32).
inline constexpr DType bool_ = DType::bool_, int8 = DType::int8, int16 = DType::int16, int32 = DType::int32, int64 = DType::int64, uint8 = DType::uint8,
                       uint16 = DType::uint16, uint32 = DType::uint32, uint64 = DType::uint64, float16 = DType::float16, float32 = DType::float32,
                       float64 = DType::float64;

enum class DTypeKind : std::uint8_t { boolean, signed_integer, unsigned_integer, floating };

/// A row of the table of element types; sinter/dtypes.def explains the columns.
struct DTypeTraits {
  std::string_view name, alias;
  DTypeKind kind;
  std::size_t size;  ///< bytes of an element
  DType compute, sum, real;
  std::string_view cuda, llvm, npy, safetensors;
  int onnx, dlpack;
};
inline constexpr DTypeTraits kDTypes[] = {
#define SINTER_DTYPE(id, name, alias, storage, kind, compute, sum, real, cuda, llvm, npy, safetensors, onnx, dlpack) \
  {name, alias, DTypeKind::kind, sizeof(storage), DType::compute, DType::sum, DType::real, cuda, llvm, npy, safetensors, onnx, dlpack},
#include "sinter/dtypes.def"
#undef SINTER_DTYPE
};
inline constexpr int kDTypeCount = static_cast<int>(std::size(kDTypes));

constexpr const DTypeTraits& traits(DType t) { return kDTypes[static_cast<int>(t)]; }  ///< the row of the table of types
/// Returns the bytes per element; a bool takes one byte, 0 or 1.
constexpr std::size_t itemsize(DType t) { return traits(t).size; }
/// Returns NumPy's name of the type: "float32", "bool", ...
constexpr std::string_view name(DType t) { return traits(t).name; }
constexpr bool is_floating(DType t) { return traits(t).kind == DTypeKind::floating; }          ///< true for floating-point types, the narrow ones included
constexpr bool is_unsigned(DType t) { return traits(t).kind == DTypeKind::unsigned_integer; }  ///< true for unsigned integers; false for bool
constexpr bool is_integer(DType t) { return traits(t).kind == DTypeKind::signed_integer || is_unsigned(t); }  ///< true for signed and unsigned integers
constexpr bool is_bool(DType t) { return traits(t).kind == DTypeKind::boolean; }                              ///< true for bool
/// Returns true for a storage type: arithmetic uses another type.
constexpr bool is_storage_only(DType t) { return traits(t).compute != t; }
/// Returns true for a type that NumPy itself has. Such types promote as in NumPy.
constexpr bool is_numpy(DType t) { return !traits(t).npy.empty(); }

/// Calls `f.template operator()<T>()` with the C++ type of an element in memory.
template <class Function> constexpr decltype(auto) visit_storage(DType t, Function&& f) {
  switch (t) {
#define SINTER_DTYPE(id, name, alias, storage, ...) \
  case DType::id: return f.template operator()<storage>();
#include "sinter/dtypes.def"
#undef SINTER_DTYPE
  }
  return f.template operator()<bool>();  // unreachable: not a value of the enumeration
}

namespace detail {
template <DType> struct StorageOf;
#define SINTER_DTYPE(id, name, alias, storage, ...) \
  template <> struct StorageOf<DType::id> {         \
    using type = storage;                           \
  };
#include "sinter/dtypes.def"
#undef SINTER_DTYPE

/// Finds the DType of a C++ type: the row with this type, or for an integer the row of the same kind and size.
template <class T> constexpr DType dtype_of_impl() {
#define SINTER_DTYPE(id, name, alias, storage, ...)           \
  if constexpr (std::is_same_v<T, storage>) return DType::id; \
  else
#include "sinter/dtypes.def"
#undef SINTER_DTYPE
  {
    static_assert(std::is_integral_v<T>, "sinter tensors hold bool, integers and the floating types of sinter/dtypes.def");
    constexpr DTypeKind kind = std::is_signed_v<T> ? DTypeKind::signed_integer : DTypeKind::unsigned_integer;
    constexpr int row = [] {
      for (int i = 0; i < kDTypeCount; ++i)
        if (kDTypes[i].kind == kind && kDTypes[i].size == sizeof(T)) return i;
      return -1;
    }();
    static_assert(row >= 0, "sinter tensors do not hold integers of this size and sign");
    return static_cast<DType>(row);
  }
}
}  // namespace detail
/// The DType of a C++ type: dtype_of<float> == DType::float32.
template <class T> inline constexpr DType dtype_of = detail::dtype_of_impl<std::remove_cv_t<T>>();
/// The C++ type of a DType's elements.
template <DType t> using storage_type = typename detail::StorageOf<t>::type;

/// Returns the layout of a narrow floating type.
constexpr FloatFormat float_format(DType t) {
  return visit_storage(t, []<class T>() {
    if constexpr (Narrow<T>) return T::format;
    else return FloatFormat{};
  });
}

/// Calls `f.template operator()<T>()` with the C++ type that arithmetic uses: float for the narrow floating types.
template <class Function> constexpr decltype(auto) visit_compute(DType t, Function&& f) {
  return visit_storage(t, [&]<class T>() -> decltype(auto) { return f.template operator()<storage_type<traits(dtype_of<T>).compute>>(); });
}

}  // namespace sinter
