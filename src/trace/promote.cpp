#include "trace/promote.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "trace/build.hpp"

namespace sinter::trace {
namespace {

/// Returns the type of this kind and size; if there is none, float64, as NumPy does.
DType type_of(DTypeKind kind, std::size_t size) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kDTypes[i].kind == kind && kDTypes[i].size == size) return static_cast<DType>(i);
  }
  return DType::float64;
}

DType promote_integers(DType a, DType b) {
  if (is_unsigned(a) == is_unsigned(b)) return itemsize(a) >= itemsize(b) ? a : b;
  const DType u = is_unsigned(a) ? a : b, s = is_unsigned(a) ? b : a;
  return itemsize(s) > itemsize(u) ? s : type_of(DTypeKind::signed_integer, 2 * itemsize(u));
}

std::optional<DType> promote_floats(DType a, DType b) {
  if (itemsize(a) != itemsize(b)) return itemsize(a) > itemsize(b) ? a : b;
  if (a == b) return a;
  return itemsize(a) == 1 ? std::nullopt : std::optional(DType::float32);  // float16 with bfloat16
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
  } else if ((primitive(op).accepts & accepts::F) == 0) {
    advice = "; it works on integers and bool: convert with astype first";
  } else {
    advice = "; convert with astype(int32) or another type first";
  }
  fail<DTypeError>(site, fmt::format("not supported for {}{}", types, advice));
}

DType operand_type(Op op, const Site& site, DType common, std::span<const Arg* const> operands) {
  const Primitive& row = primitive(op);
  if (row.rule == TypeRule::floating) common = traits(common).real;
  if (row.rule == TypeRule::quotient && !is_floating(common)) common = DType::float64;
  if (row.rule == TypeRule::counting && is_bool(common)) common = DType::int8;
  if ((dtype_class(common) & row.accepts) == 0) {
    refuse(op, site, operands.empty() ? std::string(name(common)) : list_types(operands));
  }
  return common;
}

}  // namespace

std::optional<DType> promotion(DType a, DType b) {
  if (a == b || is_bool(b)) return a;
  if (is_bool(a)) return b;
  if (is_integer(a) && is_integer(b)) return promote_integers(a, b);
  if (is_floating(a) && is_floating(b)) return promote_floats(a, b);
  const DType f = is_floating(a) ? a : b, i = is_floating(a) ? b : a;
  return is_numpy(f) ? promote_floats(f, traits(i).real) : f;
}

DType promote(const Site& site, DType a, DType b) {
  const std::optional<DType> type = promotion(a, b);
  if (!type) fail<DTypeError>(site, fmt::format("{} and {} have no common type; convert one of them with astype first", name(a), name(b)));
  return *type;
}

bool same_kind(DType from, DType to) {
  if (is_bool(from) || is_bool(to)) return is_bool(from);
  if (is_floating(from) || is_floating(to)) return is_floating(to);
  return is_unsigned(from) || !is_unsigned(to);
}

DType common_type(const Site& site, std::span<const Arg* const> operands) {
  bool any_tensor = false;
  DType strong = DType::bool_;
  int weak = 0;                   // 1: bool, 2: integer, 3: integer beyond int64, 4: floating
  DType floating = DType::bool_;  // the type to which the floating scalars promote
  for (const Arg* a : operands) {
    if (a->is_tensor()) {
      const DType t = node_of(site, a->tensor())->dtype;
      strong = !any_tensor || t == strong ? t : promote(site, strong, t);
      any_tensor = true;
    } else {
      const Arg::Kind kind = a->kind();
      if (kind == Arg::Kind::floating) floating = promote(site, floating, a->native());
      weak = std::max(weak, kind == Arg::Kind::floating ? 4 : kind == Arg::Kind::too_large ? 3 : kind == Arg::Kind::boolean ? 1 : 2);
    }
  }
  if (weak == 4) return is_floating(strong) ? strong : floating;
  if (weak >= 2 && is_bool(strong)) return weak == 3 ? DType::uint64 : DType::int64;
  return strong;
}

DType operand_type(Op op, const Site& site, std::span<const Arg* const> operands) {
  if (primitive(op).rule == TypeRule::floating &&
      std::all_of(operands.begin(), operands.end(), [](const Arg* a) { return a->is_tensor() && !is_floating(a->tensor().dtype()); })) {
    DType real = traits(operands.front()->tensor().dtype()).real;  // int8 with uint8 is float16, though int16 is float32
    for (const Arg* a : operands) real = promote(site, real, traits(a->tensor().dtype()).real);
    return operand_type(op, site, real, operands);
  }
  return operand_type(op, site, common_type(site, operands), operands);
}
DType operand_type(Op op, const Site& site, DType common) { return operand_type(op, site, common, {}); }

}  // namespace sinter::trace
