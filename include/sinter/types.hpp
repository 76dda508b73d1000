// What element types are beside each other, and their limits. docs/types.md has the rules.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "sinter/tensor.hpp"

namespace sinter {

/// The type of what two tensors of these types make together. Throws DTypeError for two that have no common type.
DType promote_types(DType a, DType b, Location where = Location::current());

/// A tensor, a number or a type, of which only the type counts; refers to its tensor.
class TypeOperand {
 public:
  TypeOperand(DType dtype) : dtype_(dtype), is_dtype_(true) {}
  TypeOperand(const Tensor& tensor) : dtype_(tensor.dtype()), is_dtype_(true) {}
  template <Element E> TypeOperand(E value) : number_(value) {}
  bool is_dtype() const { return is_dtype_; }
  DType dtype() const { return dtype_; }
  const Arg& number() const { return number_; }

 private:
  DType dtype_{};
  Arg number_ = 0;
  bool is_dtype_ = false;
};
/// The type that they make together; numbers are weak, as beside tensors: result_type({x, DType::int8, 2.5f}). ValueError for none.
DType result_type(std::initializer_list<TypeOperand> operands, Location where = Location::current());
DType result_type(const TypeOperand* first, std::size_t count, Location where = Location::current());

/// Which casts are allowed: none, to a type that holds the values (of 64-bit integers float64 counts), within a kind or to a higher one, all.
enum class Casting : std::uint8_t { no, safe, same_kind, unsafe };
bool can_cast(DType from, DType to, Casting casting = Casting::safe);

/// The bytes of x as elements of another type, NumPy's x.view(dtype): of another size the last axis becomes as much longer or shorter. Evaluates x; the
/// memory is shared. Of bytes that are seen as bool each is true that is not 0.
Tensor view(const Arg& x, DType dtype);

/// Of which kind a type is: "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating" (none is), "numeric".
/// Throws ValueError for another word.
bool isdtype(DType dtype, std::string_view kind, Location where = Location::current());

struct FloatInfo {
  DType dtype;
  int bits;
  double eps;  ///< from 1 to the next number
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
/// Throws DTypeError for a type that is no integer.
IntegerInfo iinfo(DType dtype, Location where = Location::current());

}  // namespace sinter
