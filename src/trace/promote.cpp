#include "trace/promote.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace sinter::trace {
namespace {

bool is_unsigned(DType t) {
  return t == DType::uint8 || t == DType::uint16 || t == DType::uint32 || t == DType::uint64;
}

DType promote_integers(DType a, DType b) {
  if (is_unsigned(a) == is_unsigned(b)) return itemsize(a) >= itemsize(b) ? a : b;
  const DType u = is_unsigned(a) ? a : b, s = is_unsigned(a) ? b : a;
  if (itemsize(s) > itemsize(u)) return s;
  switch (u) {  // the next signed type holds both
    case DType::uint8: return DType::int16;
    case DType::uint16: return DType::int32;
    case DType::uint32: return DType::int64;
    default: return DType::float64;
  }
}

DType promote_floats(DType a, DType b) {
  if (itemsize(a) == itemsize(b)) return a == b ? a : DType::float32;  // float16 with bfloat16
  return itemsize(a) > itemsize(b) ? a : b;
}

/// The smallest floating type that NumPy lets hold an integer type, seen from the floating operand `f`.
DType float_for(DType integer, DType f) {
  if (itemsize(integer) == 1) return f;
  return itemsize(integer) == 2 ? DType::float32 : DType::float64;
}

std::string list_types(std::span<const Arg* const> operands) {
  static constexpr const char* kinds[] = {"", "a bool literal", "an integer literal", "a floating literal", "an integer literal"};
  std::string text;
  for (const Arg* a : operands) {
    if (!text.empty()) text += " and ";
    text += a->is_tensor() ? std::string(name(a->tensor().dtype())) : kinds[static_cast<int>(a->kind())];
  }
  return text;
}

[[noreturn]] void refuse(Op op, const Site& site, const std::string& types) {
  std::string advice;
  if (op == Op::subtract) {
    advice = "; use bitwise_xor (^) or logical_xor";
  } else if (op == Op::negative) {
    advice = "; use bitwise_not (~) or logical_not";
  } else if (primitive(op).rule == TypeRule::bitwise) {
    advice = types.find("float") != std::string::npos ? "; it works on integers and bool: convert with astype first"
                                                      : "; convert with astype(DType::int32) first";
  } else {
    advice = "; convert with astype(DType::int32) or another type first";
  }
  fail<DTypeError>(site, fmt::format("not supported for {}{}", types, advice));
}

DType operand_type(Op op, const Site& site, DType common, std::span<const Arg* const> operands) {
  const Primitive& row = primitive(op);
  if (row.rule == TypeRule::floating && !is_floating(common)) common = DType::float64;
  if ((dtype_class(common) & row.accepts) == 0) {
    refuse(op, site, operands.empty() ? std::string(name(common)) : list_types(operands));
  }
  check_computable(site, common);
  return common;
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b || is_bool(b)) return a;
  if (is_bool(a)) return b;
  if (is_integer(a) && is_integer(b)) return promote_integers(a, b);
  if (is_floating(a) && is_floating(b)) return promote_floats(a, b);
  const DType f = is_floating(a) ? a : b, i = is_floating(a) ? b : a;
  return promote_floats(f, float_for(i, f));
}

DType common_type(std::span<const Arg* const> operands) {
  bool any_tensor = false;
  DType strong = DType::bool_;
  int weak = 0;  // 1 bool, 2 integer, 3 floating
  for (const Arg* a : operands) {
    if (a->is_tensor()) {
      const DType t = a->tensor().dtype();
      strong = any_tensor ? promote(strong, t) : t;
      any_tensor = true;
    } else {
      weak = std::max(weak, a->kind() == Arg::Kind::floating ? 3 : a->kind() == Arg::Kind::boolean ? 1 : 2);
    }
  }
  if (weak == 3) return is_floating(strong) ? strong : DType::float64;
  if (weak == 2) return is_bool(strong) ? DType::int64 : strong;
  return strong;
}

DType operand_type(Op op, const Site& site, std::span<const Arg* const> operands) {
  for (const Arg* a : operands) {
    if (a->is_tensor()) check_computable(site, a->tensor().dtype());
  }
  return operand_type(op, site, common_type(operands), operands);
}
DType operand_type(Op op, const Site& site, DType common) { return operand_type(op, site, common, {}); }

void check_computable(const Site& site, DType type) {
  if (is_computable(type)) return;
  fail<DTypeError>(site, fmt::format("{} is a storage type only: nothing computes on it yet; load or create the data as bool, "
                                     "int32, int64, float32 or float64",
                                     name(type)));
}

}  // namespace sinter::trace
