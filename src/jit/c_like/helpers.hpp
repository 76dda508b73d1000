// Writes types and primitives, and the sn_ helper functions that they call, in C-like languages. This is the part that CUDA C++ and OpenCL C share.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sinter/dtype.hpp"
#include "trace/primitives.hpp"

namespace sinter::jit::c_like {

/// The spellings that differ between the languages.
struct Dialect {
  std::string_view language;                                 // "CUDA"
  std::string_view function;                                 // before the result's type of a helper function
  bool overloads = false;                                    // functions of different types may have one name; otherwise the type's name is appended
  bool suffixes = false;                                     // a function on float has the suffix f
  std::string_view long_type, long_suffix, unsigned_suffix;  // the signed type of 64 bits, and the suffixes of literals
  std::string_view as_int, as_float;                         // the functions that give a float's bits, and the float with some bits
  std::string_view infinity, long_infinity;                  // infinity of float and of double
};

/// The helper functions that one kernel uses. Spelling an op adds its helpers; text() defines them, and the functions that they call, in a fixed order.
class Helpers {
 public:
  explicit Helpers(const Dialect& dialect) : dialect_(dialect) {}
  virtual ~Helpers() = default;

  /// Returns the type of an element in memory: "float", "long long", ...
  virtual std::string_view type(DType dtype) const = 0;
  /// Returns the expression of an elementwise op other than cast, on operands of one dtype.
  std::string spell(trace::Op op, DType operand, const std::string& a, const std::string& b = {}, const std::string& c = {});
  std::string cast(DType from, DType to, const std::string& a);
  /// Returns the neutral element of a reduction.
  std::string neutral(trace::Op reduction, DType dtype);
  /// Returns the name of a struct of `width` elements that is read and written by accesses of up to 16 bytes.
  std::string vector_type(DType dtype, int width);
  /// Returns an element of a vector as a float; its type is one of the narrow floats that are only stored.
  virtual std::string widened(DType dtype, const std::string& vector, const std::string& lane);
  /// Rounds a float to a type of 16 bits and returns it as a float.
  virtual std::string rounded(DType dtype, const std::string& a);
  /// Returns the type of a prepared divisor.
  virtual std::string divisor_type(DType dtype) = 0;

  virtual std::string text() const;

 protected:
  void use(std::string_view name, DType dtype);
  /// Returns a helper that only this language has, which is preferred to the common one, or an empty text. helpers.cpp explains the placeholders in such a
  /// text.
  virtual std::string own_text(std::string_view name, DType dtype) const = 0;
  /// Returns the spelling of an op, as in the table of primitives.
  virtual std::string column(trace::Op op, DType operand) const;
  /// Returns whether other helpers may call this one.
  virtual bool comes_first(const std::string&, DType) const { return false; }
  virtual std::string vector_text(const std::string& name, std::size_t bytes, DType dtype, int width) const = 0;
  std::string_view suffix(DType t) const { return dialect_.suffixes && t == DType::float32 ? "f" : ""; }
  std::string infinity(DType t) const;

 private:
  void use_all_in(const std::string& expression, DType dtype);
  std::string function_text(std::string_view name, DType dtype) const;
  /// Returns the text with each helper's name replaced by its name for operands of this type.
  std::string named(const std::string& text, DType dtype) const;
  std::string instantiate(std::string_view text, DType dtype) const;
  std::string integer(std::int64_t value) const;
  std::string limit(DType t, bool largest) const;

  const Dialect& dialect_;
  std::vector<std::pair<std::string, DType>> functions_;
  std::vector<std::pair<DType, int>> vectors_;
};

}  // namespace sinter::jit::c_like
