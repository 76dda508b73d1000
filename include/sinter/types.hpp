// Type promotion, casts and the limits of element types. docs/types.md has the rules.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "sinter/errors.hpp"
#include "sinter/tensor.hpp"

namespace sinter {

/// Thrown for a number outside the range of the integer type that it is converted to.
struct OverflowError : ValueError {
  using ValueError::ValueError;
};

/// Returns the common type of two tensors of these types. Throws DTypeError if there is no common type.
DType promote_types(DType a, DType b, Location where = Location::current());

/// A tensor, a number or a type. Only the type matters, and no tensor is stored.
class TypeOperand {
 public:
  TypeOperand(DType dtype) : dtype_(dtype), is_dtype_(true) {}
  TypeOperand(const Tensor& tensor) : dtype_(tensor.dtype()), is_dtype_(true) {}
  template <Element E> TypeOperand(E value) : number_(value) {}
  bool is_dtype() const { return is_dtype_; }    ///< true for a type or a tensor, false for a number
  DType dtype() const { return dtype_; }         ///< valid only if is_dtype()
  const Arg& number() const { return number_; }  ///< valid only if not is_dtype()

 private:
  DType dtype_{};
  Arg number_ = 0;
  bool is_dtype_ = false;
};
/// Returns the common type; numbers are weak, as in operations: result_type({x, DType::int8, 2.5f}). Throws ValueError for no operands.
DType result_type(std::initializer_list<TypeOperand> operands, Location where = Location::current());
DType result_type(const TypeOperand* first, std::size_t count, Location where = Location::current());

/// The casts that can_cast() allows.
enum class Casting : std::uint8_t {
  no,         ///< none
  safe,       ///< to a type that holds all values; also from 64-bit integers to float64
  same_kind,  ///< the safe ones, and all casts within a kind or to a higher kind
  unsafe,     ///< all
};
bool can_cast(DType from, DType to, Casting casting = Casting::safe);

/// Returns the bytes of x as elements of another type: NumPy's x.view(dtype). If the types have different sizes, the last axis becomes longer or shorter.
/// Evaluates x, and shares its memory. If the new type is bool, every byte that is not 0 is true.
Tensor view(const Arg& x, DType dtype);

/// Tests the kind of a type: "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating" (false for every type), "numeric".
/// Throws ValueError for another word.
bool isdtype(DType dtype, std::string_view kind, Location where = Location::current());

struct FloatInfo {
  DType dtype;
  int bits;
  double eps;  ///< distance from 1 to the next number
  double min, max;
  double smallest_normal, smallest_subnormal;
};
/// Throws DTypeError for a type that is not floating.
FloatInfo finfo(DType dtype, Location where = Location::current());
struct IntegerInfo {
  DType dtype;
  int bits;
  std::int64_t min;
  std::uint64_t max;
};
/// Throws DTypeError for a type that is not an integer type.
IntegerInfo iinfo(DType dtype, Location where = Location::current());

}  // namespace sinter
